"""Real-time mode, where Spark has it: records are handed on while a batch runs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mmapqueue
from conftest import eventually

pyspark = pytest.importorskip("pyspark")

from pyspark.sql import SparkSession  # noqa: E402
from pyspark.sql.streaming.query import StreamingQuery  # noqa: E402

from .conftest import SMALL, Fill  # noqa: E402
from .streams import SECONDS, Streams  # noqa: E402

#: Spark refuses shorter batches than this in its default configuration.
SHORTEST = "5 seconds"

pytestmark = pytest.mark.skipif(
    tuple(map(int, pyspark.__version__.split(".")[:2])) < (4, 1), reason="real-time mode begins with Spark 4.1"
)


def start(spark: SparkSession, streams: Streams, out: Path, batch: str, **options: Any) -> StreamingQuery:
    def keep(row: Any) -> None:
        with out.open("a") as file:
            file.write(f"{row.partition} {row.offset} {bytes(row.value).decode()} {row.timestamp is not None}\n")

    frame = spark.readStream.format("mmapqueue").options(**options).load(str(streams.queue_dir))
    writer = frame.writeStream.foreach(keep).outputMode("update")
    # PySpark has a word for it since 4.2.
    trigger = spark._jvm.org.apache.spark.sql.streaming.Trigger.RealTime(batch)
    writer._jwrite = writer._jwrite.trigger(trigger)
    return writer.option("checkpointLocation", str(streams.checkpoint)).start()


def await_count(query: StreamingQuery, counted: Callable[[], int], wanted: int) -> None:
    assert eventually(lambda: counted() >= wanted or not query.isActive, SECONDS), query.status
    assert query.exception() is None
    assert counted() >= wanted


def kept(out: Path) -> list[str]:
    return out.read_text().splitlines() if out.exists() else []


def expected(records: list[bytes]) -> list[str]:
    return [f"0 {offset} {record.decode()} True" for offset, record in enumerate(records)]


@pytest.fixture
def streams(spark: SparkSession, queue_dir: Path, tmp_path: Path) -> Streams:
    return Streams(spark, queue_dir, tmp_path / "checkpoint")


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


def test_a_restart_goes_on_behind_the_last_batch(
    spark: SparkSession, streams: Streams, fill: Fill, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    records = fill(10)
    query = start(spark, streams, out, SHORTEST)
    await_count(query, lambda: len(list((streams.checkpoint / "commits").glob("0"))), 1)
    query.stop()
    assert kept(out) == expected(records)
    records += fill(5)
    query = start(spark, streams, out, SHORTEST)
    await_count(query, lambda: len(kept(out)), len(records))
    query.stop()
    assert kept(out) == expected(records)


def semaphore(spark: SparkSession, path: Path) -> Any:
    """What tasks that read a partition, which is open here, take a permit from."""
    jvm, gateway = spark._jvm, spark.sparkContext._gateway
    queue = jvm.org.mmapqueue.queue.MmapQueue.openToRead(jvm.java.io.File(str(path)).toPath())
    try:
        permits = queue.getClass().getClassLoader().loadClass("org.mmapqueue.spark.read.ReadPermits")
        kinds, given = gateway.new_array(jvm.Class, 1), gateway.new_array(jvm.Object, 1)
        kinds[0], given[0] = queue.getClass(), queue
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


def test_a_task_takes_its_turn_with_others(spark: SparkSession, streams: Streams, fill: Fill, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with mmapqueue.Queue(spark, streams.queue_dir, **{**SMALL, "max_in_mem_segments": 6}):
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
