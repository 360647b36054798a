"""Metrics of scans and writes, in the SQL tab and in the progress of queries."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession

import mmapqueue
import sessions
from conftest import eventually, flip

from .conftest import SMALL, Fill, Load
from .streams import SECONDS, Streams, progresses

#: Units of numbers in the SQL tab.
Shown = dict[str, int]

SCAN = {
    "records read",
    "payload bytes read",
    "records not retained any more",
    "records skipped because of damage",
    "segments read",
    "ms waited for a segment in memory",
    "ms waited for records",
}
LAG = {"lag in records", "lag in bytes", "lag in ms"}
ROOM_BEFORE = "ms the micro-batch before waited for room"
DRIVER = {"segments written", "ms waited for other commits", "ms waited for room", "ms of the commit"}


class Execution(NamedTuple):
    """A query, or a micro-batch, in the SQL tab: numbers by name, the texts of the nodes, and the details."""

    numbers: Shown
    nodes: list[str]
    details: str


@pytest.fixture
def executions(spark: SparkSession) -> Callable[[], list[Execution]]:
    """The queries of the SQL tab that have numbers, oldest first."""
    store = spark._jsparkSession.sharedState().statusStore()
    before = {execution.executionId() for execution in each(store.executionsList())}

    def found(execution: Any) -> Execution:
        names = {metric.accumulatorId(): metric.name() for metric in each(execution.metrics())}
        pairs = each(store.executionMetrics(execution.executionId()))
        values = {names[pair._1()]: pair._2().replace(",", "") for pair in pairs}
        numbers = {name: int(value) for name, value in values.items() if value.isdigit()}
        nodes = [node.desc() for node in each(store.planGraph(execution.executionId()).allNodes())]
        return Execution(numbers, nodes, execution.physicalPlanDescription())

    def ended() -> list[Execution]:
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(60_000)
        new = [found(one) for one in each(store.executionsList()) if one.executionId() not in before]
        return [one for one in new if one.numbers]

    return ended


@pytest.fixture
def shown(executions: Callable[[], list[Execution]]) -> Callable[[], Shown]:
    """The numbers of the last query that has ended."""
    return lambda: executions()[-1].numbers


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
        "records not retained any more": 0,
        "records skipped because of damage": 0,
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


def text_of(execution: Execution, node: str) -> str:
    (text,) = (text for text in execution.nodes if text.startswith(node))
    return text


def test_the_nodes_of_a_batch_name_the_queue_and_the_offsets(
    spark: SparkSession, load: Load, queue_dir: Path, executions: Callable[[], list[Execution]]
) -> None:
    rows = spark.range(1, 100, 1, 1).selectExpr("cast(id as string) as value")
    rows.write.format("mmapqueue").mode("append").option("partitions", 2).options(**SMALL).save(str(queue_dir))
    assert load().where("offset < 40").select("value").count() == 80
    assert len(load().where("offset >= 40").select("value").collect()) == 19
    written, _, read = executions()
    assert f"mmapqueue {queue_dir}\n" in written.details
    assert "Offsets: [0: 40..49, 1: 40..48]" in text_of(read, f"BatchScan mmapqueue.{queue_dir}")


def test_each_micro_batch_shows_its_offsets_and_the_lag(
    spark: SparkSession, fill: Fill, queue_dir: Path, tmp_path: Path, executions: Callable[[], list[Execution]]
) -> None:
    fill([b"x" * 1000] * 90, partition=0)
    fill([b"x" * 1000] * 30, partition=1)
    frame = spark.readStream.format("mmapqueue").option("maxOffsetsPerTrigger", 60).load(str(queue_dir))
    writer = frame.select("value").writeStream.format("mmapqueue").options(**SMALL).trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(tmp_path / "cp")).start(str(tmp_path / "out"))
    assert query.awaitTermination(SECONDS)
    first, last = executions()
    assert "Offsets: [0: 0..44, 1: 0..14])" in text_of(first, "MicroBatchScan")
    assert f"mmapqueue {queue_dir} (consumer spark-" in text_of(first, "MicroBatchScan")
    assert "Offsets: [0: 45..89, 1: 15..29])" in text_of(last, "MicroBatchScan")
    assert f"mmapqueue {tmp_path / 'out'} (producer spark-{query.id})" in last.details
    assert first.numbers["lag in records"] == 60
    assert 60_000 <= first.numbers["lag in bytes"] <= 80_000
    assert first.numbers["lag in ms"] > 0
    assert of(LAG, last.numbers) == dict.fromkeys(LAG, 0)
    assert first.numbers[ROOM_BEFORE] == last.numbers[ROOM_BEFORE] == 0


def test_partitions_in_the_progress(spark: SparkSession, fill: Fill, queue_dir: Path, tmp_path: Path) -> None:
    for partition in range(12):
        fill([b"x" * 1000] * (5 + partition), partition=partition)
    query = Streams(spark, queue_dir, tmp_path / "checkpoint").run(startingOffsets="latest")
    assert not progresses(query)[-1]["sources"][0]["numInputRows"]
    fill([b"x" * 1000] * 20, partition=3)
    fill([b"x" * 1000] * 40, partition=7)
    query = Streams(spark, queue_dir, tmp_path / "checkpoint").run(maxOffsetsPerTrigger=30)
    first, last = (each["sources"][0]["metrics"] for each in progresses(query) if each["numInputRows"])
    assert (first["partitions"], first["partitions_behind"]) == ("12", "2")
    slowest = json.loads(first["slowest_partitions"])
    assert len(slowest) == 10
    assert [each["partition"] for each in slowest[:4]] == [7, 3, 0, 1]
    assert (slowest[0]["offset"], slowest[0]["end"], slowest[0]["lag_records"]) == (32, 52, 20)
    assert (slowest[1]["offset"], slowest[1]["end"], slowest[1]["lag_records"]) == (18, 28, 10)
    assert slowest[2] == {
        "partition": 0, "offset": 5, "end": 5, "lag_records": 0, "lag_bytes": 0, "oldest_unacked_age_seconds": 0.0,
    }  # fmt: skip
    assert sum(each["lag_bytes"] for each in slowest) == int(first["lag_bytes"])
    assert max(each["oldest_unacked_age_seconds"] for each in slowest) == float(first["oldest_unacked_age_seconds"])
    assert (last["partitions"], last["partitions_behind"]) == ("12", "0")


def test_damaged_and_dropped_records(
    spark: SparkSession, fill: Fill, queue_dir: Path, tmp_path: Path, executions: Callable[[], list[Execution]]
) -> None:
    streams = Streams(spark, queue_dir, tmp_path / "checkpoint")
    options = {"onDamage": "skip", "failOnDataLoss": "false", "consumer": "q", "maxOffsetsPerTrigger": "1000"}

    def run() -> Any:
        frame = spark.readStream.format("mmapqueue").options(**options).load(str(queue_dir))
        writer = frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint"))
        return streams.end(writer.trigger(availableNow=True).start())

    fill([b"%d" % i * 20 for i in range(20)])
    run()
    fill([b"%d" % i * 20 for i in range(280)])
    with mmapqueue.Queue(queue_dir, spark=spark) as queue:
        queue.delete_consumer("q")
        queue.create_consumer("q")
        with queue.consumer("q") as consumer:
            consumer.seek(150)
        queue.gc()
        stats = queue.stats()
    dropped = stats.first_offset - 20
    assert dropped > 0
    last = stats.low_watermark // 4096 + stats.segments_in_use - 1
    flip(queue_dir / f"{last - 1}_segment.dat", 1000)
    (finding,) = mmapqueue.verify(queue_dir, spark=spark).findings
    lost = finding.last_lost - finding.first_lost + 1
    (metrics,) = (each["sources"][0]["metrics"] for each in progresses(run()) if each["numInputRows"])
    assert int(metrics["dropped_records_total"]) == dropped
    assert int(metrics["damaged_records_total"]) == lost
    numbers = executions()[-1].numbers
    assert numbers["records skipped because of damage"] == lost
    assert numbers["records not retained any more"] == 0, "the driver has found the loss"


def test_the_wait_of_a_sink_for_room(
    spark: SparkSession, fill: Fill, queue_dir: Path, tmp_path: Path, executions: Callable[[], list[Execution]]
) -> None:
    out = tmp_path / "out"
    fill([b"x" * 1000] * 90)
    frame = spark.readStream.format("mmapqueue").option("maxOffsetsPerTrigger", 30).load(str(queue_dir))
    small: dict[str, Any] = {**SMALL, "queue_capacity_segments": 12}
    with mmapqueue.Queue(out, spark=spark, **small) as queue:
        queue.create_consumer("slow")
        writer = frame.select("value").writeStream.format("mmapqueue").trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(tmp_path / "cp")).start(str(out))
        try:
            assert eventually(lambda: is_waiting_for_room(spark), SECONDS), query.status
            with queue.consumer("slow") as consumer:

                def make_room() -> bool:
                    consumer.seek("latest")
                    return not query.isActive

                assert eventually(make_room, SECONDS), query.status
            assert query.awaitTermination(SECONDS)
        finally:
            query.stop()
    waits = [float(each["sink"]["metrics"]["room_wait_seconds"]) for each in progresses(query)]
    assert waits[0] == 0
    assert waits[1] > 0
    numbers = [execution.numbers for execution in executions()]
    assert [each[ROOM_BEFORE] for each in numbers] == [0, 0, int(waits[1] * 1000)]
    said = [each["sink"]["metrics"] for each in progresses(query)]
    assert [each["records_written"] for each in said] == ["30"] * 3
    assert all(30_000 < int(each["bytes_written"]) < 40_000 for each in said)


def is_waiting_for_room(spark: SparkSession) -> bool:
    """Whether the thread of a query waits in a push of the sink."""
    threads = sessions.jvm(spark).java.lang.Thread.getAllStackTraces().keySet()
    queries = [thread for thread in threads if thread.getName().startswith("stream execution")]
    stacks = [{frame.getClassName().rpartition(".")[2] for frame in thread.getStackTrace()} for thread in queries]
    return any({"ManifestPusher", "Signal"} <= classes for classes in stacks)
