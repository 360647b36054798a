"""A streaming query that has fallen behind a ring which overflows into its archive."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import mmapqueue

pytest.importorskip("pyspark")

from pyspark.sql import DataFrame, SparkSession

from conftest import eventually

from .streams import Streams

#: More than a ring.
MANY = 3000


@pytest.fixture
def queue(spark: SparkSession, queue_dir: Path, tmp_path: Path) -> Iterator["mmapqueue.Queue[bytes]"]:
    with mmapqueue.Queue(
        queue_dir,
        spark=spark,
        capacity="1m",
        archive_uri=tmp_path / "archive",
        overflow="archive",
        ship_period="10ms",
        flush_period="5ms",
    ) as opened:
        opened.create_consumer("audit")  # else a query begins after what is shipped
        yield opened


def record(number: int) -> bytes:
    return b"%d " % number + bytes(1000)


def test_a_query_reads_on_in_the_archive(
    queue: "mmapqueue.Queue[bytes]", spark: SparkSession, queue_dir: Path, tmp_path: Path
) -> None:
    streams = Streams(spark, queue_dir, tmp_path / "checkpoint")
    queue.push_many(map(record, range(10)))
    streams.run()
    (name,) = set(queue.consumers()) - {"audit", "ship"}
    for begin in range(10, MANY, 100):
        queue.push_many(map(record, range(begin, begin + 100)))
    assert eventually(lambda: queue.consumer_stats()[name].archived_records > 1000)
    streams.run(maxOffsetsPerTrigger=700)
    end = queue.end_offset()
    assert streams.batches.all() == [(0, i, record(i)) for i in range(end)]
    # It is in the ring again, and goes on there.
    queue.push_many(map(record, range(end, end + 50)))
    streams.run()
    assert streams.batches.all() == [(0, i, record(i)) for i in range(end + 50)]
    assert queue.consumer_stats()[name].archived_records == 0


def test_a_new_query_starts_at_a_record_that_only_the_archive_has(
    queue: "mmapqueue.Queue[bytes]", spark: SparkSession, queue_dir: Path, tmp_path: Path
) -> None:
    for begin in range(0, MANY, 100):
        queue.push_many(map(record, range(begin, begin + 100)))
    assert queue.consumer_stats()["audit"].archived_records > 1000
    streams = Streams(spark, queue_dir, tmp_path / "checkpoint")
    streams.run(startingOffsets=100, maxOffsetsPerTrigger=700)
    assert streams.batches.all() == [(0, i, record(i)) for i in range(100, MANY)]


def test_a_micro_batch_without_limits_is_not_bound_by_the_ring(
    queue: "mmapqueue.Queue[bytes]", spark: SparkSession, queue_dir: Path, tmp_path: Path
) -> None:
    streams = Streams(spark, queue_dir, tmp_path / "checkpoint")
    queue.push_many(map(record, range(10)))
    streams.run()
    for begin in range(10, MANY, 10):
        queue.push_many(map(record, range(begin, begin + 10)))
    streams.run()
    assert streams.batches.sizes() == [10, MANY - 10]


def test_a_batch_of_the_archive_that_was_not_committed_is_the_same_again(
    queue: "mmapqueue.Queue[bytes]", spark: SparkSession, queue_dir: Path, tmp_path: Path
) -> None:
    streams = Streams(spark, queue_dir, tmp_path / "checkpoint")
    queue.push_many(map(record, range(10)))
    streams.run()
    for begin in range(10, MANY, 100):
        queue.push_many(map(record, range(begin, begin + 100)))
    streams.run(maxOffsetsPerTrigger=2000)
    before = dict(streams.batches.rows)
    streams.forget_last_commit()
    streams.run(maxOffsetsPerTrigger=2000, failOnDataLoss="true")
    assert streams.batches.rows == before


def test_work_of_a_consumer_that_is_behind_the_ring(queue: "mmapqueue.Queue[bytes]", spark: SparkSession) -> None:
    queue.create_consumer("workers")
    for begin in range(0, MANY, 100):
        queue.push_many(map(record, range(begin, begin + 100)))
    assert queue.consumer_stats()["workers"].archived_records > 1000
    seen: dict[tuple[int, int], bytes] = {}

    def handle(batch: DataFrame) -> DataFrame:
        for row in batch.collect():
            key = (row.offset, row.attempt)
            assert key not in seen
            seen[key] = bytes(row.value)
        outcome = "IF(offset % 10 = 3 AND attempt = 1, 'nack', 'ack') AS outcome"
        return batch.selectExpr("offset", outcome, "0.0D AS delay")

    while queue.consumer_stats()["workers"].lag_records:
        writer = mmapqueue.process_stream(spark, queue, handle, consumer="workers", max_records=700)
        writer.trigger(availableNow=True).start().awaitTermination()
    first = {(offset, 1): record(offset) for offset in range(MANY)}
    again = {(offset, 2): record(offset) for offset in range(3, MANY, 10)}
    assert seen == {**first, **again}
    assert queue.consumer_stats()["workers"].archived_records == 0
