"""Pushes records into a host's queue at a steady rate, from the queue's end on, until SIGTERM or COUNT are in it.

    python writer.py QUEUE HOST [--rate 1000] [--size 200] [--count N] [--capacity 64m] [--shipped]
        [--consumer NAME]… [--option KEY=VALUE]…

The number of records that are in the queue is in QUEUE/../pushed, which is replaced after each push that returned;
QUEUE/../batches has a line for each push: the number of records before it and after it, its time in ns.
"""

from __future__ import annotations

import argparse
import os
import signal
import time
from pathlib import Path
from typing import Any

import mmapqueue
from cluster.records import make

#: Between two batches.
_PERIOD = 0.02


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("queue", type=Path)
    parser.add_argument("host")
    parser.add_argument("--rate", type=int, default=1000, help="records a second")
    parser.add_argument("--size", type=int, default=200, help="bytes of a record")
    parser.add_argument("--count", type=int, default=1 << 60, help="records in the queue at the end")
    parser.add_argument("--capacity", default="64m")
    parser.add_argument("--shipped", action="store_true", help="wait until the archive has each batch")
    parser.add_argument("--option", action="append", default=[], help="KEY=VALUE of the queue's configuration")
    parser.add_argument("--consumer", action="append", default=[], help="made before the first push")
    arguments = parser.parse_args()
    ending: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: ending.append(number))
    arguments.queue.parent.mkdir(parents=True, exist_ok=True)
    options: dict[str, Any] = dict(option.split("=", 1) for option in arguments.option)
    push: dict[str, Any] = {"shipped": True} if arguments.shipped else {}
    with mmapqueue.Queue(arguments.queue, capacity=arguments.capacity, **options) as queue:
        for consumer in arguments.consumer:
            queue.create_consumer(consumer, start="earliest")
        end = queue.stats().end_offset
        directory = arguments.queue.parent
        with Pushed(directory / "pushed") as pushed, (directory / "batches").open("a", buffering=1) as batches:
            pushed.note(end)
            print("pushing", flush=True)
            start, first = time.monotonic(), end
            while not ending and end < arguments.count:
                due = min(first + int((time.monotonic() - start) * arguments.rate), arguments.count, end + 5000)
                if due > end:
                    nanos = time.time_ns()
                    batch = [make(arguments.host, number, nanos, arguments.size) for number in range(end, due)]
                    queue.push_many(batch, **push)
                    batches.write(f"{end} {due} {nanos}\n")
                    end = due
                    pushed.note(end)
                time.sleep(_PERIOD)
        print("pushed", end, flush=True)


class Pushed:
    """A file with a number that another process reads at any time."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT)

    def __enter__(self) -> Pushed:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def note(self, number: int) -> None:
        """Replaces the number; the digits are as many each time."""
        os.pwrite(self._file, f"{number:020}".encode(), 0)


if __name__ == "__main__":
    main()
