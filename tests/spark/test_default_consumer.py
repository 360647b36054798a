"""The consumer `default` of a queue that Spark's sink has made: it stays until a query has read, unless it is used."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

import mmapqueue

from .conftest import SMALL, Fill
from .sinks import append, records
from .streams import Streams

#: A ring of 28 KiB of records.
TINY = {**SMALL, "queue_capacity_segments": 8}


@pytest.fixture
def streams(spark: SparkSession, queue_dir: Path, tmp_path: Path) -> Streams:
    return Streams(spark, queue_dir, tmp_path / "checkpoint")


def write(spark: SparkSession, path: Path, count: int = 10) -> None:
    rows = spark.range(0, count, 1, 1).select(sf.rpad(sf.col("id").cast("string"), 500, ".").alias("value"))
    append(rows, path, **TINY)


def consumers(spark: SparkSession, path: Path) -> list[str]:
    with mmapqueue.Queue(spark, path) as queue:
        return queue.consumers()


def test_it_gives_way_to_the_first_query_that_has_read(spark: SparkSession, streams: Streams) -> None:
    write(spark, streams.queue_dir)
    streams.run()
    # The last batch of a run is committed when the next one begins.
    assert len(consumers(spark, streams.queue_dir)) == 2
    streams.run()
    assert consumers(spark, streams.queue_dir) == [streams.consumer()]
    assert len(streams.batches.all()) == 10


def test_a_pipeline_goes_on_for_ever(spark: SparkSession, streams: Streams) -> None:
    for turn in range(6):
        write(spark, streams.queue_dir, 20)
        streams.run(maxOffsetsPerTrigger=10)
        assert len(streams.batches.all()) == 20 * (turn + 1)


def test_records_stay_until_somebody_reads(spark: SparkSession, queue_dir: Path) -> None:
    write(spark, queue_dir, 20)
    assert spark.read.format("mmapqueue").load(str(queue_dir)).count() == 20
    write(spark, queue_dir, 20)
    assert len(records(spark, queue_dir)) == 40


def test_one_that_is_used_stays(spark: SparkSession, streams: Streams) -> None:
    write(spark, streams.queue_dir)
    with mmapqueue.Queue(spark, streams.queue_dir) as queue:
        assert queue.pop().offset == 0
    for _ in range(3):
        streams.run()
    assert "default" in consumers(spark, streams.queue_dir)
    assert len(records(spark, streams.queue_dir)) == 10


def test_that_of_other_queues_stays(spark: SparkSession, streams: Streams, fill: Fill) -> None:
    items = fill(10)
    for _ in range(3):
        streams.run()
    assert "default" in consumers(spark, streams.queue_dir)
    assert records(spark, streams.queue_dir) == items


def test_it_outlives_queries_without_a_checkpoint(spark: SparkSession, queue_dir: Path) -> None:
    write(spark, queue_dir)
    frame = spark.readStream.format("mmapqueue").option("maxOffsetsPerTrigger", 2).load(str(queue_dir))
    query = frame.writeStream.format("noop").start()
    query.processAllAvailable()
    query.stop()
    assert consumers(spark, queue_dir) == ["default"]
    assert len(records(spark, queue_dir)) == 10
