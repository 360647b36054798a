"""Real-time mode, where Spark has it: records are passed on while a batch runs."""

import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import mmapqueue
import sessions
from conftest import Ring, eventually

pyspark = pytest.importorskip("pyspark")

from pyspark.sql import SparkSession  # noqa: E402
from pyspark.sql import functions as sf  # noqa: E402
from pyspark.sql.streaming.query import StreamingQuery  # noqa: E402

from .conftest import SMALL, Fill, QueryFailed  # noqa: E402
from .streams import SECONDS, Streams  # noqa: E402

#: Spark refuses shorter batches than this in its default configuration.
SHORTEST = "5 seconds"

VERSION = tuple(map(int, pyspark.__version__.split(".")[:2]))
HAS_REAL_TIME = VERSION >= (4, 1)
HAS_STATE = VERSION >= (4, 3)
needs_real_time = pytest.mark.skipif(not HAS_REAL_TIME, reason="real-time mode begins with Spark 4.1")


@pytest.mark.skipif(HAS_REAL_TIME, reason="for older versions of Spark")
def test_before_it_began(spark: SparkSession, streams: Streams, fill: Fill, tmp_path: Path) -> None:
    fill(1)
    with pytest.raises(NotImplementedError, match=r"real-time mode begins with Spark 4\.1"):
        start(spark, streams, tmp_path / "out", SHORTEST)


def start(spark: SparkSession, streams: Streams, out: Path, batch: str, **options: Any) -> StreamingQuery:
    def keep(row: Any) -> None:
        with out.open("a") as file:
            file.write(f"{row.partition} {row.offset} {bytes(row.value).decode()} {row.timestamp is not None}\n")

    frame = spark.readStream.format("mmapqueue").options(**options).load(str(streams.queue_dir))
    writer = mmapqueue.real_time(frame.writeStream.foreach(keep).outputMode("update"), batch)
    return writer.option("checkpointLocation", str(streams.checkpoint)).start()


def await_count(query: StreamingQuery, counted: Callable[[], int], wanted: int) -> None:
    assert eventually(lambda: counted() >= wanted or not query.isActive, SECONDS), query.status
    assert query.exception() is None
    assert counted() >= wanted


def kept(out: Path) -> list[str]:
    """The whole lines."""
    return out.read_text().rpartition("\n")[0].splitlines() if out.exists() else []


def expected(records: list[bytes]) -> list[str]:
    return [f"0 {offset} {record.decode()} True" for offset, record in enumerate(records)]


@pytest.fixture
def streams(spark: SparkSession, queue_dir: Path, tmp_path: Path) -> Streams:
    return Streams(spark, queue_dir, tmp_path / "checkpoint")


@needs_real_time
def test_records_do_not_wait_for_the_batch_to_end(
    spark: SparkSession, streams: Streams, fill: Fill, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    query = None
    try:
        for wave in (1, 2, 3):
            fill([b"x" * 300] * 5000, queue_capacity_segments=4096)
            query = query or start(spark, streams, out, "10 minutes")
            # Spark passes rows on to Python in batches of its own, the last of which is not full.
            await_count(query, lambda: len(kept(out)), 1000 * wave)
        assert not (streams.checkpoint / "commits" / "0").exists()
        offsets = [int(line.split()[1]) for line in kept(out)[:3000]]
        assert offsets == list(range(3000))
    finally:
        if query:
            query.stop()


def batches(streams: Streams) -> int:
    """The number of batches that Spark has committed."""
    return len(list((streams.checkpoint / "commits").glob("[0-9]*")))


def await_batch(query: StreamingQuery, streams: Streams) -> None:
    """Returns when a whole batch has ended since: the one that has passed on the last records may have just begun."""
    begun = len(list((streams.checkpoint / "offsets").glob("[0-9]*")))
    await_count(query, lambda: batches(streams), begun + 1)


@needs_real_time
def test_a_restart_continues_after_the_last_batch(
    spark: SparkSession, streams: Streams, fill: Fill, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    records = fill(10)
    query = start(spark, streams, out, SHORTEST)
    await_count(query, lambda: len(kept(out)), len(records))
    await_batch(query, streams)
    query.stop()
    assert kept(out) == expected(records)
    records += fill(5)
    query = start(spark, streams, out, SHORTEST)
    await_count(query, lambda: len(kept(out)), len(records))
    query.stop()
    assert kept(out) == expected(records)


@needs_real_time
def test_a_queue_in_place_of_the_former_one_is_read_once(
    spark: SparkSession, streams: Streams, fill: Fill, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    former = fill(10)
    query = start(spark, streams, out, SHORTEST)
    await_count(query, lambda: len(kept(out)), 10)
    await_batch(query, streams)
    query.stop()
    shutil.rmtree(streams.queue_dir)
    present = fill([b"other %d" % i for i in range(5)])
    query = start(spark, streams, out, SHORTEST, failOnDataLoss=False)
    try:
        await_count(query, lambda: len(kept(out)), 15)
        await_count(query, lambda: batches(streams), batches(streams) + 3)
    finally:
        query.stop()
    assert kept(out) == expected(former) + expected(present)
    name = streams.consumer()
    with mmapqueue.Queue(streams.queue_dir, spark=spark) as queue:
        assert queue.consumer_stats()[name].committed_offset == 5


@needs_real_time
def test_a_partition_that_comes_back_is_read_on(
    spark: SparkSession, streams: Streams, fill: Fill, tmp_path: Path
) -> None:
    out, away = tmp_path / "out", tmp_path / "away"
    for number in range(2):
        fill(5, partition=number)
    wanted = 10
    for step in ("both", "one", "both again"):
        if step == "one":
            (streams.queue_dir / "p=1").rename(away)
        elif step == "both again":
            away.rename(streams.queue_dir / "p=1")
            wanted += len(fill([b"new"], partition=1))
        query = start(spark, streams, out, SHORTEST, failOnDataLoss=False)
        try:
            await_count(query, lambda: len(kept(out)), wanted)
            await_batch(query, streams)
        finally:
            query.stop()
    rows = [f"{number} {offset} record {offset} True" for number in range(2) for offset in range(5)]
    assert sorted(kept(out)) == sorted([*rows, "1 5 new True"])


def semaphore(spark: SparkSession, path: Path) -> Any:
    """What tasks that read a partition, which is open here, take a permit from."""
    jvm = sessions.jvm(spark)
    gateway: Any = spark.sparkContext._gateway
    product = jvm.org.mmapqueue.spark
    directory = product.common.PartitionDirectory(0, str(path))
    queue = product.source.LocalPartitionLocation(directory, "here").open()
    try:
        loader = queue.getClass().getClassLoader()
        permits = loader.loadClass("org.mmapqueue.spark.read.task.ReadPermits")
        kinds, given = gateway.new_array(jvm.Class, 1), gateway.new_array(jvm.Object, 1)
        kinds[0], given[0] = loader.loadClass("org.mmapqueue.spark.source.PartitionRecords"), queue
        make = permits.getDeclaredMethod("of", kinds)
        make.setAccessible(True)
        found = make.invoke(None, given)
        for name in ("shared", "permits"):
            field = found.getClass().getDeclaredField(name)
            field.setAccessible(True)
            found = field.get(found)
        return found
    finally:
        queue.close()


@needs_real_time
def test_a_task_takes_its_turn_with_others(spark: SparkSession, streams: Streams, fill: Fill, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ring: Ring = {**SMALL, "max_in_mem_segments": 6}
    with mmapqueue.Queue(streams.queue_dir, spark=spark, **ring):
        records = fill(10, max_in_mem_segments=6)
        permits = semaphore(spark, streams.queue_dir)
        assert permits.availablePermits() == 1
        permits.acquire()
        query = start(spark, streams, out, SHORTEST)
        try:
            assert eventually(lambda: permits.getQueueLength() == 1, SECONDS), query.status
            assert kept(out) == []
            permits.release()
            await_count(query, lambda: len(kept(out)), len(records))
        finally:
            query.stop()
    assert kept(out) == expected(records)


@needs_real_time
def test_from_python(spark: SparkSession, streams: Streams, fill: Fill, tmp_path: Path) -> None:
    """As in docs/reference/spark.md: projections and filters, to an object."""
    fill(10)
    frame = spark.readStream.format("mmapqueue").load(str(streams.queue_dir))
    rows = frame.where("offset >= 5").select(sf.concat(sf.col("value").cast("string"), sf.lit("!")).alias("value"))
    out = tmp_path / "out"

    class Keep:
        def process(self, row: Any) -> None:
            with out.open("a") as file:
                file.write(f"{row.value}\n")

    writer = mmapqueue.real_time(rows.writeStream.foreach(Keep()).outputMode("update"), timedelta(seconds=5))
    query = writer.option("checkpointLocation", str(streams.checkpoint)).start()
    try:
        await_count(query, lambda: len(kept(out)), 5)
    finally:
        query.stop()
    assert kept(out) == [f"record {i}!" for i in range(5, 10)]


@needs_real_time
@pytest.mark.parametrize("sink", ["foreachBatch", "memory", "mmapqueue"])
def test_sinks_that_spark_refuses(spark: SparkSession, streams: Streams, fill: Fill, tmp_path: Path, sink: str) -> None:
    fill(1)
    rows = spark.readStream.format("mmapqueue").load(str(streams.queue_dir)).select("value")
    writer = rows.writeStream.queryName(f"refused_{sink}").outputMode("update")
    writer = writer.foreachBatch(streams.batches) if sink == "foreachBatch" else writer.format(sink)
    writer = writer.option("path", str(tmp_path / "sink")) if sink == "mmapqueue" else writer
    writer = mmapqueue.real_time(writer, SHORTEST).option("checkpointLocation", str(streams.checkpoint))
    with pytest.raises(QueryFailed, match="not in the sink allowlist"):
        streams.end(writer.start())


@needs_real_time
@pytest.mark.parametrize("name", ["maxOffsetsPerTrigger", "minPartitions"])
def test_options_without_effect(spark: SparkSession, streams: Streams, fill: Fill, tmp_path: Path, name: str) -> None:
    fill(1)
    query = start(spark, streams, tmp_path / "out", SHORTEST, **{name: 2})
    with pytest.raises(QueryFailed, match=f"option {name} has no effect on a read in real-time mode"):
        streams.end(query)


@pytest.mark.slow
@needs_real_time
def test_a_stopped_query_leaves_its_consumer(spark: SparkSession, streams: Streams, fill: Fill, tmp_path: Path) -> None:
    """Real-time mode commits asynchronously, also after the stop: each restart needs the same consumer."""
    out = tmp_path / "out"
    records: list[bytes] = []
    for _ in range(6):
        records += fill(5)
        query = start(spark, streams, out, SHORTEST)
        await_count(query, lambda: len(set(kept(out))), len(records))
        # The stop comes while the batch's end is logged.
        next_batch = len(list((streams.checkpoint / "offsets").glob("[0-9]*")))
        assert eventually((streams.checkpoint / "offsets" / str(next_batch)).exists, SECONDS)
        query.stop()
    assert sorted(set(kept(out))) == sorted(expected(records))


@pytest.mark.skipif(not HAS_STATE, reason="real-time mode has state from Spark 4.3 on")
@pytest.mark.parametrize("way", ["aggregate", "dropDuplicates"])
def test_a_query_with_state(spark: SparkSession, streams: Streams, fill: Fill, tmp_path: Path, way: str) -> None:
    out = tmp_path / "out"

    def keep(row: Any) -> None:
        with out.open("a") as file:
            file.write(" ".join(map(str, row)) + "\n")

    words = spark.readStream.format("mmapqueue").load(str(streams.queue_dir))
    words = words.select(sf.col("value").cast("string").alias("word"))
    rows = words.groupBy("word").count() if way == "aggregate" else words.dropDuplicates(["word"])
    partitions = spark.conf.get("spark.sql.shuffle.partitions")
    assert partitions is not None
    # All tasks of all stages run at the same time.
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    fill([b"a", b"b", b"a"])
    writer = mmapqueue.real_time(rows.writeStream.foreach(keep).outputMode("update"), SHORTEST)
    query = writer.option("checkpointLocation", str(streams.checkpoint)).start()
    try:
        wanted = {"a 2", "b 1"} if way == "aggregate" else {"a", "b"}
        await_count(query, lambda: len(wanted & set(kept(out))), 2)
        fill([b"a", b"c"])
        wanted = {"a 3", "c 1"} if way == "aggregate" else {"c"}
        await_count(query, lambda: len(wanted & set(kept(out))), len(wanted))
    finally:
        query.stop()
        spark.conf.set("spark.sql.shuffle.partitions", partitions)
    if way == "dropDuplicates":
        assert sorted(kept(out)) == ["a", "b", "c"]
