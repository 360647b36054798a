"""The measurements of `bench`: pushes and pops of a queue on a disk, and fsyncs of a file."""

import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import mmapqueue
from mmapqueue._values.arguments import absolute
from mmapqueue._values.errors import MmapQueueError

#: Bytes of the ring; the disk needs a little more.
_RING_BYTES = 256 << 20
_BATCH_BYTES = 1 << 20
_FSYNC_BYTES = 4096
_CONSUMER = "bench"


class Rate(NamedTuple):
    """The records that passed in some time.

    Attributes:
        records: The number of records.
        size: Bytes of a record.
        seconds: The time.
    """

    records: int
    size: int
    seconds: float

    @property
    def per_second(self) -> float:
        """Records a second."""
        return self.records / self.seconds

    @property
    def bytes_per_second(self) -> float:
        """Bytes of payload a second."""
        return self.per_second * self.size


class Latency(NamedTuple):
    """The latency of single operations, in seconds.

    Attributes:
        operations: The number of operations.
        seconds: The total time.
        median: Half of them took less.
        p99: 99 % of them took less.
        highest: The longest.
    """

    operations: int
    seconds: float
    median: float
    p99: float
    highest: float

    @classmethod
    def of(cls, seconds: list[float]) -> "Latency":
        """The latency of operations that took this long, at least one."""
        ordered = sorted(seconds)
        count = len(ordered)
        return cls(count, sum(ordered), ordered[count // 2], ordered[min(count - 1, count * 99 // 100)], ordered[-1])


class Bench:
    """Measures with a queue of its own. For one thread.

    Args:
        queue: The queue, empty.
        size: Bytes of a record.
    """

    def __init__(self, queue: "mmapqueue.Queue[bytes]", size: int) -> None:
        self._queue = queue
        self._size = size
        self._record = os.urandom(size)
        self._batch = [self._record] * max(1, _BATCH_BYTES // size)
        config = queue.config
        ring = config["queue_capacity_segments"] * config["segment_size"]
        # Half of the ring, so that neither phase reaches the end of the ring.
        self._rounds = max(1, ring // 2 // (len(self._batch) * (size + 16)))

    def push_and_pop(self, seconds: float) -> tuple[Rate, Rate]:
        """Pushes in batches into half of the ring, pops all of it, and again."""
        consumer = self._queue.consumer(_CONSUMER)
        pushed = popped = 0
        push_seconds = pop_seconds = 0.0
        while push_seconds + pop_seconds < seconds:
            begin = perf_counter()
            for _ in range(self._rounds):
                pushed += self._queue.push_many(self._batch)
            middle = perf_counter()
            push_seconds += middle - begin
            while messages := consumer.pop_many(len(self._batch)):
                popped += len(messages)
                consumer.ack_up_to(messages[-1])
            pop_seconds += perf_counter() - middle
        return Rate(pushed, self._size, push_seconds), Rate(popped, self._size, pop_seconds)

    def both(self, seconds: float) -> Rate:
        """Pushes in one thread, and pops and acks in another."""
        consumer = self._queue.consumer(_CONSUMER)
        end = perf_counter() + seconds
        failures: list[BaseException] = []

        def push() -> None:
            try:
                while perf_counter() < end:
                    # A slower consumer makes the producer wait.
                    self._queue.push_many(self._batch, timeout=seconds)
            except BaseException as error:
                failures.append(error)

        producer = threading.Thread(target=push, name="mmapqueue-bench")
        begin = perf_counter()
        producer.start()
        popped = 0
        while producer.is_alive() or consumer.qsize():
            if messages := consumer.pop_many(len(self._batch), timeout=0.1):
                popped += len(messages)
                consumer.ack_up_to(messages[-1])
        elapsed = perf_counter() - begin
        producer.join()
        if failures:
            raise failures[0]
        return Rate(popped, self._size, elapsed)

    def durable(self, seconds: float) -> Latency:
        """Pushes record by record, each durable before the next one."""
        consumer = self._queue.consumer(_CONSUMER)
        self._queue.flush()  # Otherwise the first push would wait for the fsync of earlier phases.
        found = _timed(lambda: self._queue.push(self._record, sync=True), seconds)
        consumer.seek("latest")
        return found


def fsyncs(directory: str, seconds: float) -> Latency:
    """Writes 4 KiB to a file and fsyncs it, again and again."""
    data = os.urandom(_FSYNC_BYTES)
    file = os.open(Path(directory) / "fsync", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.pwrite(file, data, 0)
        os.fsync(file)

        def write() -> None:
            os.pwrite(file, data, 0)
            os.fsync(file)

        return _timed(write, seconds)
    finally:
        os.close(file)


def _timed(operation: Callable[[], object], seconds: float) -> Latency:
    times = []
    now = perf_counter()
    end = now + seconds
    while now < end:
        before = now
        operation()
        now = perf_counter()
        times.append(now - before)
    return Latency.of(times)


@contextmanager
def directory_for_bench(parent: str) -> Iterator[str]:
    """A new directory in an existing one, removed at the end with all that is in it.

    Raises:
        MmapQueueError: `parent` is not a directory, or the disk has no room for the ring.
        OSError: The directory cannot be created.
    """
    path = absolute("DIR", parent)
    if not Path(path).is_dir():
        raise MmapQueueError(f"{path} is not a directory")
    free = shutil.disk_usage(path).free
    if free < 2 * _RING_BYTES:
        raise MmapQueueError(f"{path} has {free >> 20} MiB free, and bench needs {2 * _RING_BYTES >> 20} MiB")
    with tempfile.TemporaryDirectory(prefix="mmapqueue-bench-", dir=path) as directory:
        yield directory


def open_bench(directory: str, size: int) -> "mmapqueue.Queue[bytes]":
    """A new queue for a bench with records of a size."""
    return mmapqueue.Queue(str(Path(directory) / "queue"), capacity=_RING_BYTES, max_event_size=size)
