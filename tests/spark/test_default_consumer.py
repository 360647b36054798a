"""A queue has a consumer `default` only if a program reads with it: nothing else retains what Spark has read."""

import threading
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

import mmapqueue
from conftest import Ring

from .conftest import SMALL, Fill, QueryFailed
from .sinks import append, records
from .streams import SECONDS, Streams, progresses

#: A ring of 28 KiB of records.
TINY: Ring = {**SMALL, "queue_capacity_segments": 8}


@pytest.fixture
def streams(spark: SparkSession, queue_dir: Path, tmp_path: Path) -> Streams:
    return Streams(spark, queue_dir, tmp_path / "checkpoint")


def write(spark: SparkSession, path: Path, count: int = 10, **options: object) -> None:
    rows = spark.range(0, count, 1, 1).select(sf.rpad(sf.col("id").cast("string"), 500, ".").alias("value"))
    append(rows, path, **TINY, **options)


def consumers(spark: SparkSession, path: Path) -> list[str]:
    with mmapqueue.Queue(path, spark=spark) as queue:
        return queue.consumers()


def test_a_producer_and_one_query(spark: SparkSession, streams: Streams) -> None:
    """A producer and one query: 400 rows pass through a ring that holds some 50 of them."""
    rows = [b"%d" % i + b"." * 500 for i in range(400)]
    with mmapqueue.Queue(streams.queue_dir, spark=spark, **TINY) as queue:
        query = streams.start()
        try:
            for row in rows:
                queue.push(row, timeout=SECONDS)
            deadline = time.monotonic() + SECONDS
            while len(streams.batches.values()) < len(rows) and query.isActive and time.monotonic() < deadline:
                time.sleep(0.05)
        finally:
            query.stop()
        assert streams.batches.values() == rows
        assert queue.consumers() == [streams.consumer()]


def test_what_holds_the_ring_has_a_name(spark: SparkSession, streams: Streams) -> None:
    with mmapqueue.Queue(streams.queue_dir, spark=spark, **TINY) as queue:
        queue.create_consumer("idle")
        queue.push_many([b"x" * 500] * 20)
        query = streams.run()
        assert queue.stats().slowest_consumer == "idle"
        metrics = progresses(query)[-1]["sources"][0]["metrics"]
        assert metrics["maxOffsetsBehindLatest"] == "0"
        assert metrics["slowest_consumer"] == "idle"
        assert int(metrics["slowest_consumer_lag_bytes"]) > 20 * 500
        with pytest.raises(mmapqueue.Full, match=r"the slowest consumer is idle, [0-9]+ bytes behind"):
            queue.push_many([b"x" * 500] * 100, block=False)


def test_a_producer_that_waits_goes_on_when_the_holder_is_deleted(spark: SparkSession, streams: Streams) -> None:
    with mmapqueue.Queue(streams.queue_dir, spark=spark, **TINY) as queue:
        queue.create_consumer("idle")
        pushing = threading.Thread(target=queue.push_many, args=([b"x" * 500] * 200,))
        pushing.start()
        query = streams.start()
        try:
            deadline = time.monotonic() + SECONDS
            while not queue.full() and time.monotonic() < deadline:
                time.sleep(0.05)
            assert pushing.is_alive()
            queue.delete_consumer("idle")
            pushing.join(SECONDS)
            assert not pushing.is_alive()
        finally:
            query.stop()


def test_sink_to_stream_goes_on_for_ever(spark: SparkSession, streams: Streams) -> None:
    for turn in range(6):
        write(spark, streams.queue_dir, 20)
        streams.run(maxOffsetsPerTrigger=10)
        assert len(streams.batches.all()) == 20 * (turn + 1)
    assert consumers(spark, streams.queue_dir) == [streams.consumer()]


def test_records_stay_until_somebody_reads(spark: SparkSession, queue_dir: Path) -> None:
    write(spark, queue_dir, 20)
    assert spark.read.format("mmapqueue").load(str(queue_dir)).count() == 20
    write(spark, queue_dir, 20)
    assert consumers(spark, queue_dir) == []
    assert len(records(spark, queue_dir)) == 40


def test_a_sink_that_nobody_reads_says_so(spark: SparkSession, queue_dir: Path) -> None:
    write(spark, queue_dir, 40)
    with pytest.raises(QueryFailed, match="it has no consumer"):
        write(spark, queue_dir, 40, pushTimeout="100ms")


def test_one_that_reads_as_it_holds_what_it_has_not_acked(spark: SparkSession, streams: Streams) -> None:
    write(spark, streams.queue_dir)
    with mmapqueue.Queue(streams.queue_dir, spark=spark) as queue:
        assert queue.pop().offset == 0
    for _ in range(3):
        streams.run()
    assert consumers(spark, streams.queue_dir) == ["default", streams.consumer()]
    assert len(records(spark, streams.queue_dir)) == 10


def test_a_query_without_a_checkpoint_leaves_no_consumer(spark: SparkSession, queue_dir: Path) -> None:
    write(spark, queue_dir)
    frame = spark.readStream.format("mmapqueue").option("maxOffsetsPerTrigger", 2).load(str(queue_dir))
    query = frame.writeStream.format("noop").start()
    query.processAllAvailable()
    query.stop()
    assert consumers(spark, queue_dir) == []
    write(spark, queue_dir, 20)


def test_committed_without_it_is_the_beginning(spark: SparkSession, queue_dir: Path, fill: Fill) -> None:
    items = fill(10)
    frame = spark.read.format("mmapqueue").option("startingOffsets", "committed").load(str(queue_dir))
    assert sorted(bytes(row.value) for row in frame.collect()) == sorted(items)
    assert consumers(spark, queue_dir) == []
