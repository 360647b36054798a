"""An idle query acks its last micro-batch, once the checkpoint has the commit."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import mmapqueue
from conftest import eventually

pytest.importorskip("pyspark")

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from .archives import consumers
from .conftest import SMALL, Fill
from .streams import Streams


@pytest.fixture
def streams(spark: SparkSession, queue_dir: Path, tmp_path: Path) -> Streams:
    return Streams(spark, queue_dir, tmp_path / "checkpoint")


@pytest.fixture
def queue(spark: SparkSession, queue_dir: Path) -> Iterator[mmapqueue.Queue]:
    with mmapqueue.Queue(queue_dir, spark=spark, **SMALL) as opened:
        yield opened


def lag(queue: mmapqueue.Queue) -> list[int]:
    """The lags of the consumers."""
    return [each.lag_records for each in queue.consumer_stats().values()]


@pytest.mark.parametrize("interval", ["0 seconds", "2 seconds"])
def test_an_idle_query_has_no_lag(streams: Streams, queue: mmapqueue.Queue, interval: str) -> None:
    queue.push_many([b"one", b"two", b"three"])
    query = streams.start({"processingTime": interval})
    try:
        assert eventually(lambda: lag(queue) == [0]), query.status
        (consumer,) = queue.consumer_stats().values()
        assert consumer.lag_seconds == 0
        queue.push_many([b"four"])
        assert eventually(lambda: lag(queue) == [0] and len(streams.batches.values()) == 4), query.status
    finally:
        query.stop()
    assert streams.batches.values() == [b"one", b"two", b"three", b"four"]
    queue.push(b"five")
    streams.run()
    assert streams.batches.values()[4:] == [b"five"]


def test_a_query_that_waits_for_more_records_acks_what_is_done(streams: Streams, queue: mmapqueue.Queue) -> None:
    queue.push_many([b"%d" % n for n in range(10)])
    query = streams.start(minOffsetsPerTrigger=10, maxTriggerDelay="1h")
    try:
        assert eventually(lambda: len(streams.batches.values()) == 10), query.status
        queue.push_many([b"ten", b"eleven"])
        assert eventually(lambda: lag(queue) == [2]), query.status
    finally:
        query.stop()


@pytest.mark.parametrize("version", ["1", "2"])
def test_two_sources_of_an_idle_query(spark: SparkSession, tmp_path: Path, fill: Fill, version: str) -> None:
    spark.conf.set("spark.sql.streaming.offsetLog.formatVersion", version)  # earlier versions of Spark know version 1
    paths = [tmp_path / name for name in ("one", "two")]
    fill(10, path=paths[0])
    fill(25, path=paths[1])
    one, two = (spark.readStream.format("mmapqueue").load(str(path)) for path in paths)
    writer = one.union(two).writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint"))
    try:
        query = writer.start()
        for path in paths:
            with mmapqueue.Queue(path, read_only=True, spark=spark) as queue:
                assert eventually(lambda queue=queue: lag(queue) == [0]), query.status  # type: ignore[misc]
        query.stop()
    finally:
        spark.conf.unset("spark.sql.streaming.offsetLog.formatVersion")


def test_a_batch_that_the_checkpoint_does_not_show_as_done_stays_unacked(
    spark: SparkSession, streams: Streams, queue: mmapqueue.Queue, fill: Fill, tmp_path: Path
) -> None:
    queue.push_many([b"one", b"two", b"three"])
    planned = streams.checkpoint / "offsets" / "999"

    def another_is_planned(frame: DataFrame, batch: int) -> None:
        planned.write_text("v1\n{}\n-")
        streams.batches(frame, batch)

    frame = spark.readStream.format("mmapqueue").load(str(streams.queue_dir))
    query = (
        frame.writeStream.option("checkpointLocation", str(streams.checkpoint)).foreachBatch(another_is_planned).start()
    )
    fill([b"one"], path=tmp_path / "later")
    later = Streams(spark, tmp_path / "later", tmp_path / "later-checkpoint")
    try:
        query.processAllAvailable()
        beside = later.start()
        with mmapqueue.Queue(tmp_path / "later", read_only=True, spark=spark) as acked_later:
            assert eventually(lambda: lag(acked_later) == [0]), beside.status
        beside.stop()
        assert lag(queue) == [3]
        planned.unlink()
        assert eventually(lambda: lag(queue) == [0]), query.status
    finally:
        query.stop()


def test_a_batch_that_is_repeated_is_acked(streams: Streams, queue: mmapqueue.Queue) -> None:
    queue.push_many([b"one", b"two"])
    streams.run()
    streams.forget_last_commit()
    assert lag(queue) == [2]
    query = streams.start()
    try:
        assert eventually(lambda: lag(queue) == [0]), query.status
    finally:
        query.stop()
    assert streams.batches.values() == [b"one", b"two"]


def idle_and_rolled_back(streams: Streams, queue: mmapqueue.Queue) -> None:
    """The checkpoint of a query that was idle, without its last commit."""
    queue.push_many([b"%d" % n for n in range(20)])
    query = streams.start()
    try:
        assert eventually(lambda: lag(queue) == [0]), query.status
    finally:
        query.stop()
    streams.forget_last_commit()
    streams.batches.rows.clear()


def test_the_last_batch_of_an_idle_query_is_not_retained(streams: Streams, queue: mmapqueue.Queue) -> None:
    idle_and_rolled_back(streams, queue)
    with pytest.raises(StreamingQueryException, match=r"has lost the records with offsets 0\.\.19, "):
        streams.run()
    queue.push(b"next")
    streams.run(failOnDataLoss=False)
    assert streams.batches.values() == [b"next"]


def test_retention_keeps_the_last_batch_of_an_idle_query(
    spark: SparkSession, streams: Streams, queue_dir: Path
) -> None:
    with mmapqueue.Queue(queue_dir, spark=spark, **SMALL, retain_bytes="16k") as queue:
        idle_and_rolled_back(streams, queue)
        streams.run()
        assert streams.batches.values() == [b"%d" % n for n in range(20)]


def test_an_idle_query_on_an_archive_acks_there(streams: Streams, archive_dir: Path, ship: Fill) -> None:
    ship(10)
    streams.queue_dir = archive_dir

    def positions() -> list[str]:
        return [each["offset.0"] for each in consumers(archive_dir).values()]

    query = streams.start()
    try:
        assert eventually(lambda: [each["offset.0"] for each in consumers(archive_dir).values()] == ["10"]), (
            query.status
        )
    finally:
        query.stop()
