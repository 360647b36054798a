"""The metadata column _queue_id, which a query has to name."""

from pathlib import Path

import pytest
from pyspark import __version__ as spark_version
from pyspark.sql import SparkSession

import sessions

from .conftest import Fill, Load, explained
from .streams import SECONDS


@pytest.fixture
def ids(spark: SparkSession, fill: Fill, queue_dir: Path) -> list[str]:
    """The ids of a queue's two partitions, with 3 and 4 records."""
    jvm = sessions.jvm(spark)
    found = []
    for partition in range(2):
        fill(3 + partition, partition=partition)
        directory = jvm.java.io.File(str(queue_dir / f"p={partition}")).toPath()
        found.append(str(jvm.org.mmapqueue.MmapQueue.idIn(directory).get().toString()))
    assert found[0] != found[1]
    return found


def test_a_query_that_names_it_reads_it(load: Load, ids: list[str]) -> None:
    assert load().columns == ["value", "partition", "offset", "timestamp"]
    rows = load().select("*", "_queue_id").where("offset >= 2").collect()
    assert [(row.partition, row.offset, row._queue_id) for row in rows] == [
        (0, 2, ids[0]),
        (1, 2, ids[1]),
        (1, 3, ids[1]),
    ]
    assert load().select("_queue_id").distinct().count() == 2
    assert load().where(f"_queue_id = '{ids[1]}'").select("offset").collect() == [(0,), (1,), (2,), (3,)]


def test_rows_are_counted_by_it(load: Load, ids: list[str]) -> None:
    counted = load().groupBy("_queue_id").count()
    assert "PushedColumns: [_queue_id]" in explained(counted)
    assert sorted(counted.collect()) == sorted([(ids[0], 3), (ids[1], 4)])


@pytest.mark.skipif(spark_version < "4", reason="Spark 3.5 has no metadata columns in streams")
def test_a_stream_reads_it(spark: SparkSession, queue_dir: Path, ids: list[str]) -> None:
    stream = spark.readStream.format("mmapqueue").load(str(queue_dir))
    named = {"last": stream.select("offset", "_queue_id"), "first": stream.select("_queue_id", "offset")}
    for name, frame in named.items():
        query = frame.writeStream.format("memory").queryName(name).trigger(availableNow=True).start()
        assert query.awaitTermination(SECONDS)
        expected = [(ids[0], offset) for offset in range(3)] + [(ids[1], offset) for offset in range(4)]
        assert sorted(spark.table(name).select("_queue_id", "offset").collect()) == sorted(expected)
