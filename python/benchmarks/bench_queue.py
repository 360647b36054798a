"""What the Python module costs, beside a py4j call that does nothing.

python python/benchmarks/bench_queue.py [--spark] [--size 1024] [--directory DIR]

Single operations are medians in microseconds, many at a time is the best of some rounds in MB/s, after the ring of the
queue has gone round.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mmapqueue
from mmapqueue import _standalone

BATCH_BYTES = 64 << 20
ROUNDS = 5
TURNS = 40
CALLS_A_TURN = 100


def per_call(operations: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Median time of each operation in microseconds.

    They take turns: where the system puts the two processes makes a call take 20 or 60 µs, for seconds on end.
    """
    times: dict[str, list[int]] = {name: [] for name in operations}
    for turn in range(TURNS):
        for name, operation in operations.items():
            for _ in range(CALLS_A_TURN):
                start = time.perf_counter_ns()
                operation()
                if turn >= TURNS // 4:
                    times[name].append(time.perf_counter_ns() - start)
    return {name: statistics.median(taken) / 1000 for name, taken in times.items()}


def best_rate(operation: Callable[[], int], between: Callable[[], Any]) -> float:
    """Bytes moved per second, the best of some rounds, in MB/s."""
    rates = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        moved = operation()
        rates.append(moved / (time.perf_counter() - start) / 1e6)
        between()
    return max(rates)


def measure(spark: object, path: Path, size: int) -> None:
    """Prints one line for each operation."""
    with mmapqueue.Queue(spark, path, capacity="256m", segment_size="1m") as queue:  # type: ignore[arg-type]
        record = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
        records = [record] * (BATCH_BYTES // size)
        # A method of an object that gives back a number, called the way py4j does it.
        jvm = _standalone.jvm() if spark is None else spark._jvm  # type: ignore[attr-defined]
        null = jvm.java.lang.Object().hashCode

        def drain() -> int:
            """Pops all, in batches."""
            moved = 0
            while batch := queue.pop_many(10_000):
                moved += len(batch) * size
                queue.ack(batch[-1])
            return moved

        for _ in range(5):
            queue.push_many(records)
            drain()
        print(f"record of {size} bytes")
        singles = {"null call": null, "push": lambda: queue.push(record), "pop": queue.pop}
        for name, taken in per_call(singles).items():
            print(f"  {name:14} {taken:9.1f} µs")
        drain()

        def push_all() -> int:
            queue.push_many(records)
            return BATCH_BYTES

        print(f"  push_many      {best_rate(push_all, drain):9.0f} MB/s")
        push_all()
        print(f"  pop_many       {best_rate(drain, push_all):9.0f} MB/s")
        print(f"  iteration      {len(records) / iterate(queue):9.0f} records/s")
        queue.seek("committed")
        print(f"  aconsume       {len(records) / asyncio.run(iterate_async(queue)):9.0f} records/s")
        queue.seek("committed")
        messages = queue.pop_many(10_000)
        start = time.perf_counter()
        queue.ack_many(messages)
        print(f"  ack_many       {len(messages) / (time.perf_counter() - start):9.0f} records/s")
        queue.seek("committed")
        start = time.perf_counter()
        handled = queue.consume(handler=lambda _message: None, workers=2, timeout=0)
        print(f"  2 workers      {handled / (time.perf_counter() - start):9.0f} records/s")
        push_all()
        start = time.perf_counter()
        found = queue.get_many(queue.first_offset(), len(records))
        print(f"  get_many       {len(found) * size / (time.perf_counter() - start) / 1e6:9.0f} MB/s")


def iterate(queue: mmapqueue.Queue) -> float:
    """Seconds to go over what is there."""
    start = time.perf_counter()
    for _message in queue:
        pass
    return time.perf_counter() - start


async def iterate_async(queue: mmapqueue.Queue) -> float:
    """Seconds to go over what is there, under asyncio."""
    start = time.perf_counter()
    async for _message in queue.aconsume(timeout=0):
        pass
    return time.perf_counter() - start


def main() -> None:
    """Reads the arguments and measures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spark", action="store_true", help="in a Spark session, local[1]")
    parser.add_argument("--size", type=int, nargs="*", default=[100, 1024, 8192], help="bytes of a record")
    parser.add_argument("--directory", default=None, help="where the queue is made")
    options = parser.parse_args()
    spark = None
    if options.spark:
        from pyspark.sql import SparkSession

        spark = mmapqueue.configure(SparkSession.builder.master("local[1]")).getOrCreate()
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        for size in options.size:
            measure(spark, Path(directory) / str(size), size)


if __name__ == "__main__":
    main()
