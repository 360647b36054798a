"""Queries without a checkpoint of their own: they free no record while nothing else consumes the queue."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mmapqueue
from conftest import eventually

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from conftest import Ring

from .conftest import SMALL, Fill, Load
from .streams import SECONDS, Batches

#: Full after some 60 records of 500 bytes.
TINY: Ring = {**SMALL, "queue_capacity_segments": 8}


@pytest.fixture
def queue(spark: SparkSession, queue_dir: Path) -> Iterator[mmapqueue.Queue]:
    """Open in the driver beside the queries."""
    with mmapqueue.Queue(queue_dir, spark=spark, **TINY) as opened:
        yield opened


class Look:
    """Queries without checkpointLocation."""

    def __init__(self, spark: SparkSession, queue_dir: Path) -> None:
        self.spark = spark
        self.queue_dir = queue_dir

    def start(self, batches: Batches, trigger: dict[str, Any] | None = None, **options: Any) -> StreamingQuery:
        frame = self.spark.readStream.format("mmapqueue").options(**options).load(str(self.queue_dir))
        return frame.writeStream.foreachBatch(batches).trigger(**(trigger or {"processingTime": "0 seconds"})).start()

    def run(self, **options: Any) -> list[bytes]:
        batches = Batches()
        query = self.start(batches, {"availableNow": True}, **options)
        try:
            assert query.awaitTermination(SECONDS), query.status
        finally:
            query.stop()
        return batches.values()


@pytest.fixture
def look(spark: SparkSession, queue_dir: Path) -> Look:
    return Look(spark, queue_dir)


@pytest.mark.parametrize(
    ("options", "seen"),
    [
        ({}, slice(None)),
        ({"maxOffsetsPerTrigger": 7}, slice(None)),
        ({"startingOffsets": "latest"}, slice(0)),
        ({"startingOffsets": "5"}, slice(5, None)),
        ({"startingTimestamp": "2000-01-01T00:00:00Z"}, slice(None)),
        ({"startingTimestamp": "2100-01-01T00:00:00Z"}, slice(0)),
    ],
)
def test_a_look_leaves_all_records(
    look: Look, fill: Fill, load: Load, spark: SparkSession, options: dict[str, Any], seen: slice
) -> None:
    records = fill(20)
    for _ in range(2):
        assert look.run(**options) == records[seen]
        assert load().count() == 20
    with mmapqueue.Queue(look.queue_dir, spark=spark) as queue:
        assert queue.consumers() == []
        assert [message.data for message in queue.pop_many(100)] == records


def test_an_offset_outside_of_the_log(look: Look, fill: Fill) -> None:
    fill(20)
    with pytest.raises(Exception, match=r"startingOffsets = 21; allowed: a position in the log.*0\.\.19"):
        look.run(startingOffsets="21")


def running(look: Look, batches: Batches, records: list[bytes]) -> StreamingQuery:
    """A query that has read all records."""
    query = look.start(batches)
    assert eventually(lambda: batches.values() == records or not query.isActive, SECONDS), query.status
    assert query.exception() is None
    return query


def test_producers_learn_what_retains_the_ring(look: Look, queue: mmapqueue.Queue) -> None:
    records = [b"%03d" % i + b"x" * 497 for i in range(40)]
    queue.push_many(records)
    query = running(look, Batches(), records)
    try:
        with pytest.raises(mmapqueue.Full, match=r"the slowest consumer is spark-temporary-[0-9a-f]{16}, "):
            queue.push_many([b"x" * 500] * 60, block=False)
        assert queue.read_at(0).data == records[0]
    finally:
        query.stop()


def test_a_lasting_consumer_decides_alone(look: Look, queue: mmapqueue.Queue) -> None:
    """Beside it, a query without a checkpoint retains only what it has not read."""
    queue.create_consumer("lasting", start="earliest")
    batches = Batches()
    records = [b"%03d" % i for i in range(10)]
    queue.push_many(records)
    query = running(look, batches, records)
    try:
        (name,) = (name for name in queue.consumers() if re.fullmatch("spark-temporary-[0-9a-f]{16}", name))
        queue.push(b"one more")  # the next micro-batch acks the first one
        assert eventually(lambda: queue.consumer_stats()[name].committed_offset >= 10, SECONDS)
        assert queue.consumer_stats()["lasting"].committed_offset == 0
    finally:
        query.stop()
    assert queue.consumers() == ["lasting"]
