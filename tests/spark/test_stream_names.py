"""Sources with names: a restarted query may gain, lose and reorder queues."""

from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import mmapqueue

from .streams import SECONDS

SETTING = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
VERSION = tuple(map(int, pyspark.__version__.split(".")[:2]))
HAS_NAMES = VERSION >= (4, 2)
needs_names = pytest.mark.skipif(not HAS_NAMES, reason="sources have names from Spark 4.2 on")


@pytest.fixture
def named(spark: SparkSession) -> Iterator[SparkSession]:
    """The session, with names for sources."""
    spark.conf.set(SETTING, "true")
    try:
        yield spark
    finally:
        spark.conf.unset(SETTING)


def push(spark: SparkSession, directory: Path, text: str) -> None:
    for name in "abc":
        with mmapqueue.Queue(directory / name, spark=spark) as queue:
            queue.push(f"{name}{text}".encode())


def run(spark: SparkSession, directory: Path, queues: str, *, named: bool = True) -> list[str]:
    """Runs a query on these queues until it has read all, and returns its rows."""
    rows: list[str] = []

    def take(frame: DataFrame, _batch: int) -> None:
        rows.extend(bytes(row.value).decode() for row in frame.select("value").collect())

    first, *others = (
        mmapqueue.read_stream(directory / name, spark=spark, name=name if named else None) for name in queues
    )
    for other in others:
        first = first.union(other)
    writer = first.writeStream.foreachBatch(take).option("checkpointLocation", str(directory / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    try:
        assert query.awaitTermination(SECONDS), query.status
    finally:
        query.stop()
    return sorted(rows)


@needs_names
def test_a_query_reorders_queues(named: SparkSession, tmp_path: Path) -> None:
    push(named, tmp_path, "1")
    assert run(named, tmp_path, "ab") == ["a1", "b1"]
    push(named, tmp_path, "2")
    assert run(named, tmp_path, "ba") == ["a2", "b2"]


@pytest.mark.skipif(VERSION < (4, 3), reason="the number of sources may change from Spark 4.3 on")
def test_a_query_gains_and_loses_queues(named: SparkSession, tmp_path: Path) -> None:
    push(named, tmp_path, "1")
    push(named, tmp_path, "2")
    assert run(named, tmp_path, "ab") == ["a1", "a2", "b1", "b2"]
    push(named, tmp_path, "3")
    assert run(named, tmp_path, "cba") == ["a3", "b3", "c1", "c2", "c3"]
    push(named, tmp_path, "4")
    assert run(named, tmp_path, "ca") == ["a4", "c4"]
    push(named, tmp_path, "5")
    assert run(named, tmp_path, "bc") == ["b4", "b5", "c5"]  # b has kept its place
    with mmapqueue.Queue(tmp_path / "a", spark=named) as queue:
        (consumer,) = queue.consumer_stats().values()
        assert (consumer.label.rpartition("/")[2], consumer.lag_records) == ("a", 2)


@needs_names
def test_a_look_leaves_all_records(named: SparkSession, tmp_path: Path) -> None:
    push(named, tmp_path, "1")
    for _ in range(2):
        frame = mmapqueue.read_stream(tmp_path / "a", spark=named, name="a")
        query = frame.writeStream.format("noop").trigger(availableNow=True).start()
        assert query.awaitTermination(SECONDS), query.status
        query.stop()
        assert query.recentProgress[0]["numInputRows"] == 1
    with mmapqueue.Queue(tmp_path / "a", spark=named) as queue:
        assert queue.consumers() == []
        assert queue.pop().data == b"a1"


@needs_names
def test_a_name_needs_the_setting(spark: SparkSession, tmp_path: Path) -> None:
    push(spark, tmp_path, "1")
    with pytest.raises(Exception, match=SETTING):
        run(spark, tmp_path, "a")


def test_a_query_without_names_says_what_has_changed(spark: SparkSession, tmp_path: Path) -> None:
    push(spark, tmp_path, "1")
    assert run(spark, tmp_path, "ab", named=False) == ["a1", "b1"]
    with pytest.raises(StreamingQueryException, match="in another order, restart it with the former ones"):
        run(spark, tmp_path, "ba", named=False)


@pytest.mark.skipif(HAS_NAMES, reason="for older versions of Spark")
def test_an_older_spark_has_no_names(spark: SparkSession, tmp_path: Path) -> None:
    push(spark, tmp_path, "1")
    with pytest.raises(NotImplementedError, match=r"name = 'orders': .* from Spark 4\.2 on"):
        mmapqueue.read_stream(tmp_path / "a", spark=spark, name="orders")
