"""Pushes into a queue that overflows and reads, or reads beside it, until it is killed; `overflow_kills.py` runs it.

    python overflow_process.py <directory> inside|outside

The journal of the consumer has "start", then an offset and the beginning of the payload for each delivery, and "ack"
with an offset for each ack that has returned.
"""

import itertools
import os
import sys
import threading
from pathlib import Path
from typing import Any, TextIO

import mmapqueue


def opened(directory: Path) -> "mmapqueue.Queue[bytes]":
    return mmapqueue.Queue(
        directory / "queue",
        ack_linger=0,
        capacity="512k",
        max_event_size="8k",
        archive_uri=directory / "archive",
        overflow="archive",
        ship_period="20ms",
        ship_bytes="64k",
        flush_period="5ms",
    )


def read(consumer: Any, journal: TextIO, seconds: float) -> None:
    """Pops a batch, notes it, acks it, and notes that."""
    messages = consumer.pop_many(300, timeout=seconds)
    if not messages:
        return
    for message in messages:
        journal.write(f"record {message.offset} {message.data[:20].decode().split('.')[0]}\n")
    journal.flush()
    consumer.ack_up_to(messages[-1])
    journal.write(f"ack {messages[-1].offset}\n")
    journal.flush()


def push(queue: "mmapqueue.Queue[bytes]") -> None:
    run = os.urandom(4).hex()
    for number in itertools.count():
        queue.push_many(b"%s-%d." % (run.encode(), 100 * number + each) + b"." * (each * 17) for each in range(100))


def main() -> None:
    directory, name = Path(sys.argv[1]), sys.argv[2]
    beside = name == "outside"
    queue = mmapqueue.Queue(directory / "queue", read_only=True, ack_linger=0) if beside else opened(directory)
    for each in ("inside", "outside"):
        queue.create_consumer(each)
    consumer = queue.consumer(name)
    with (directory / name).open("a") as journal:
        journal.write("start\n")
        print("ready", flush=True)
        if name == "inside":
            threading.Thread(target=push, args=(queue,), daemon=True).start()
        while True:
            read(consumer, journal, 60)


if __name__ == "__main__":
    main()
