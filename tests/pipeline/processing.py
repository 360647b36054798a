"""Pipelines for tests of the processor."""

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mmapqueue
from mmapqueue.pipeline import Event, EventType, encode
from mmapqueue.pipeline.config import DeadLetter, Pipe, Pipeline, QueueSettings
from mmapqueue.pipeline.plugins import Filter, Sender
from mmapqueue.pipeline.process.runner import Processor

KEYS: dict[str, Any] = {"capacity": 16 << 20, "segment_size": 64 << 10, "max_event_size": 256 << 10}
FAST = {"interval": "50ms"}
QUICK = {"backoff": {"first": "10ms", "most": "50ms"}, "timeout": "60s"}


def line(i: int) -> bytes:
    return b"line %d" % i


def push(directory: Path, records: list[bytes]) -> None:
    with mmapqueue.Queue(directory, lock_timeout=30, **KEYS) as queue:
        queue.push_many(records)


def lines(count: int, first: int = 0) -> list[bytes]:
    """Events of one line each."""
    return [
        encode(type=EventType.LOGGING, data=line(i), content_type="text/plain", time_ms=1_700_000_000_000 + i)
        for i in range(first, first + count)
    ]


def pipeline(
    directory: Path, *senders: Sender, filters: tuple[Filter, ...] = (), dead_letter: bool = True, name: str = "p"
) -> Pipeline:
    pipe = Pipe(
        name=name,
        queue=QueueSettings(dir=directory / "queue", **KEYS),
        filters=filters,
        on_undecodable="dead_letter" if dead_letter else "drop",
        dead_letter=DeadLetter(dir=directory / "dead") if dead_letter else None,
        senders=senders,
    )
    return Pipeline(name="test", pipes=(pipe,))


class Counts:
    """Telemetry that counts."""

    def __init__(self) -> None:
        self.counted: Counter[tuple[str, str, str]] = Counter()

    def attach(self, spark: Any) -> None:
        pass

    def sender_output(self, pipe: str, sender: str, status: str, count: int) -> None:
        self.counted[pipe, sender, status] += count

    def sender_waiting(self, pipe: str, sender: str, reason: str | None) -> None:
        pass


def process(spark: Any, configured: Pipeline, telemetry: Any = None) -> None:
    """Processes what the queues hold."""
    processor = Processor(configured, spark, once=True, telemetry=telemetry)
    processor.start()
    try:
        processor.wait()
    finally:
        processor.stop()


@contextmanager
def processing(spark: Any, configured: Pipeline, telemetry: Any = None) -> Iterator[Processor]:
    """A processor that is started; `look_until` keeps it running."""
    processor = Processor(configured, spark, telemetry=telemetry)
    processor.start()
    try:
        yield processor
    finally:
        processor.stop()
        assert not any(query.active for query in processor.queries)


def look_until(processor: Processor, condition: Callable[[], bool], what: str, seconds: float = 120.0) -> None:
    """Supervises the queries until a condition comes true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        for query in processor.queries:
            query.look()
        time.sleep(0.05)


def dead_letters(directory: Path, name: str = "dead") -> list[Event]:
    """Events of the dead-letter queue. Spark's sink may have it open still, so it is only read."""
    with mmapqueue.Queue(directory / name, read_only=True) as queue:
        return [Event.FromString(message.data) for message in queue.read_many(0, 1_000_000)]


def parquet(spark: Any, path: Path) -> list[bytes]:
    """Column `data` of what a sender has written, sorted."""
    # Files are there before the micro-batch that wrote them counts.
    if not any(path.glob("_spark_metadata/[0-9]*")):
        return []
    return sorted(bytes(row.data) for row in spark.read.parquet(str(path)).select("data").collect())


def forget_finished_requests(configured: Pipeline, sender: str) -> None:
    """As a loss of power may leave a checkpoint: it does not say which requests of its last batch were finished."""
    shutil.rmtree(configured.pipes[0].checkpoint(sender) / "finished")


def forget_last_commit(configured: Pipeline, sender: str) -> None:
    """As a driver leaves a checkpoint that is killed before it has noted that its last batch is done."""
    commits = configured.pipes[0].checkpoint(sender) / "commits"
    last = max(int(file.name) for file in commits.iterdir() if file.name.isdigit())
    (commits / str(last)).unlink()
    (commits / f".{last}.crc").unlink(missing_ok=True)
