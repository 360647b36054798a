"""Metrics of scans and writes, in the SQL tab and in the progress of queries."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import mmapqueue
import sessions
from conftest import eventually

from .conftest import SMALL, Fill, Load
from .streams import SECONDS, Streams, progresses

#: Units of numbers in the SQL tab.
Shown = dict[str, int]

SCAN = {
    "records read",
    "payload bytes read",
    "records not retained any more, or skipped because of damage",
    "segments read",
    "ms waited for a segment in memory",
    "ms waited for records",
}
DRIVER = {"segments written", "ms waited for other commits", "ms waited for room", "ms of the commit"}


@pytest.fixture
def shown(spark: SparkSession) -> Callable[[], Shown]:
    """The queue's own metrics of the last query that has ended, from the SQL tab."""
    store = spark._jsparkSession.sharedState().statusStore()

    def numbers() -> Shown:
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(60_000)
        execution = store.executionsList().last()
        names = {metric.accumulatorId(): metric.name() for metric in each(execution.metrics())}
        values = {names[pair._1()]: pair._2() for pair in each(store.executionMetrics(execution.executionId()))}
        return {name: int(value.replace(",", "")) for name, value in values.items() if value.replace(",", "").isdigit()}

    return numbers


def each(collection: Any) -> Iterator[Any]:
    iterator = collection.iterator()
    while iterator.hasNext():
        yield iterator.next()


def segments_in_use(spark: SparkSession, path: Path) -> int:
    with mmapqueue.Queue(path, spark=spark) as queue:
        return int(queue.stats().segments_in_use)


def of(words: set[str], numbers: Shown) -> Shown:
    return {word: number for word, number in numbers.items() if word in words}


def test_a_scan(spark: SparkSession, fill: Fill, load: Load, queue_dir: Path, shown: Callable[[], Shown]) -> None:
    items = fill(1000)
    load().collect()
    expected = {
        "records read": 1000,
        "payload bytes read": sum(map(len, items)),
        "records not retained any more, or skipped because of damage": 0,
        "segments read": segments_in_use(spark, queue_dir),
        "ms waited for records": 0,
    }
    numbers = of(SCAN, shown())
    assert numbers.pop("ms waited for a segment in memory") >= 0
    assert numbers == expected
    assert expected["segments read"] > 3


def test_a_scan_of_offsets_reads_in_no_segment(fill: Fill, load: Load, shown: Callable[[], Shown]) -> None:
    fill(1000)
    load().select("offset").collect()
    assert of({"records read", "segments read"}, shown()) == {"records read": 1000, "segments read": 0}


def test_a_batch_that_is_written(spark: SparkSession, queue_dir: Path, shown: Callable[[], Shown]) -> None:
    rows = spark.range(1000).selectExpr("cast(id as string) as value")
    rows.write.format("mmapqueue").mode("append").options(**SMALL).save(str(queue_dir))
    numbers = shown()
    assert (numbers["records written"], numbers["bytes written"]) == (1000, 2890)
    write = sessions.jvm(spark).java.lang.Class.forName("org.apache.spark.sql.connector.write.Write")
    if "reportDriverMetrics" not in {method.getName() for method in write.getMethods()}:
        assert not DRIVER & set(numbers)
        return
    assert numbers["segments written"] == segments_in_use(spark, queue_dir)
    assert numbers["ms waited for room"] == numbers["ms waited for other commits"] == 0
    assert numbers["ms of the commit"] >= 0


def test_a_stream_from_queue_to_queue(
    spark: SparkSession, fill: Fill, queue_dir: Path, tmp_path: Path, shown: Callable[[], Shown]
) -> None:
    items = fill(1000)
    frame: DataFrame = spark.readStream.format("mmapqueue").load(str(queue_dir)).select("value")
    writer = frame.writeStream.format("mmapqueue").options(**SMALL)
    query = (
        writer.option("checkpointLocation", str(tmp_path / "cp"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "out"))
    )
    assert query.awaitTermination(SECONDS)
    numbers = shown()
    assert (numbers["records read"], numbers["records written"]) == (1000, 1000)
    assert numbers["segments read"] == segments_in_use(spark, queue_dir)
    assert numbers["bytes written"] == sum(map(len, items))
    assert not DRIVER & set(numbers), "of a stream's driver the progress tells"
    [said] = [each["sink"]["metrics"] for each in progresses(query) if each["numInputRows"]]
    assert int(said["segments_written"]) == segments_in_use(spark, tmp_path / "out")
    assert said["room_wait_seconds"] == "0.0"
    assert float(said["lock_wait_seconds"]) >= 0
    assert float(said["commit_seconds"]) > 0


def test_progress_of_a_batch_that_is_run_again_and_has_nothing_of_a_queue(
    spark: SparkSession, tmp_path: Path, fill: Fill
) -> None:
    fill(10, path=tmp_path / "one")
    fill(10, path=tmp_path / "two")
    streams = Streams(spark, tmp_path / "one", tmp_path / "checkpoint")

    def start(trigger: dict[str, Any]) -> Any:
        one, two = (spark.readStream.format("mmapqueue").load(str(tmp_path / name)) for name in ("one", "two"))
        writer = one.union(two).writeStream.format("noop").option("checkpointLocation", str(streams.checkpoint))
        return writer.trigger(**trigger).start()

    streams.end(start({"availableNow": True}))
    fill(5, path=tmp_path / "one")
    streams.end(start({"availableNow": True}))
    streams.forget_last_commit()
    query = start({"processingTime": "0 seconds"})
    try:
        assert eventually(lambda: any(each["numInputRows"] == 5 for each in progresses(query)), SECONDS), query.status
        [again] = [each for each in progresses(query) if each["numInputRows"] == 5]
    finally:
        query.stop()
    for source in again["sources"]:
        assert source["metrics"]["maxOffsetsBehindLatest"] == "0"
