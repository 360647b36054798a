"""Spark reads an archive in a bucket; its settings are those of the session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from conftest import Open
from s3.store import Store, report, s3a_jars
from sessions import spark_session

FAST = {"ship_period": "10ms", "flush_period": "10ms"}


@pytest.fixture(scope="module")
def spark(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    settings = {f"spark.hadoop.{key}": value for key, value in store.settings().items()}
    jars = ":".join(s3a_jars())
    with spark_session(
        2, tmp_path_factory.mktemp("warehouse"), "WARN", **settings, spark_driver_extraClassPath=jars
    ) as session:
        yield session


def rows(spark: SparkSession, archive: str) -> list[tuple[int, int, bytes]]:
    frame = spark.read.format("mmapqueue").load(archive).orderBy("partition", "offset")
    return [(row.partition, row.offset, bytes(row.value)) for row in frame.collect()]


def test_a_batch_read(spark: SparkSession, store: Store, archive: str, open_queue: Open, tmp_path: Path) -> None:
    expected = []
    for host in range(3):
        queue = open_queue(tmp_path / f"queue-{host}", archive_uri=archive, archive_host=f"host-{host}", **FAST)
        for burst in range(4):
            queue.push_many([b"%d %d %d" % (host, burst, number) for number in range(100)], shipped=True)
        expected += [(host, 100 * burst + i, b"%d %d %d" % (host, burst, i)) for burst in range(4) for i in range(100)]
        queue.close()
    store.counts()
    assert rows(spark, archive) == expected
    report("a read of 3 partitions with 4 runs each", store.counts())
    frame = spark.read.format("mmapqueue").load(archive)
    assert frame.where("partition = 1 and offset between 90 and 109").count() == 20
    report("a read of a range in one partition", store.counts())
    assert frame.count() == 1200
    report("a count by names", store.counts())


def test_runs_above_the_size_of_a_part_are_read(
    spark: SparkSession, store: Store, archive: str, open_queue: Open
) -> None:
    with open_queue(capacity="128m", flush_period="10ms") as queue:
        queue.create_consumer("ship")
        pushed = [b"%09d" % number + bytes(range(256)) * 40 for number in range(2000)]
        queue.push_many(pushed)
    queue = open_queue(archive_uri=archive, ship_bytes="32m", **FAST)
    assert queue.await_shipped(len(pushed) - 1, timeout=240)
    store.counts()
    assert rows(spark, archive) == [(0, offset, value) for offset, value in enumerate(pushed)]
    report("a read of 20 MB in one run", store.counts())


def test_a_stream_into_an_exactly_once_sink(
    spark: SparkSession, store: Store, archive: str, open_queue: Open, tmp_path: Path
) -> None:
    def run() -> None:
        frame = spark.readStream.format("mmapqueue").option("maxOffsetsPerTrigger", 150).load(archive)
        writer = frame.select("partition", "offset", "value").writeStream.format("parquet")
        writer = writer.option("path", str(tmp_path / "sink")).option(
            "checkpointLocation", str(tmp_path / "checkpoint")
        )
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(240)

    def ship(first: int) -> None:
        for number, queue in enumerate(queues):
            for burst in range(5):
                start = first + 40 * burst
                queue.push_many([b"%d %d" % (number, i) for i in range(start, start + 40)], shipped=True)

    queues = [
        open_queue(tmp_path / f"queue-{host}", archive_uri=archive, archive_host=f"host-{host}", **FAST)
        for host in range(2)
    ]
    ship(0)
    run()
    commits = sorted((tmp_path / "checkpoint" / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    commits[-1].unlink()  # As after a kill: the last batch is run again.
    for crc in (tmp_path / "checkpoint" / "commits").glob(".*.crc"):
        crc.unlink()
    ship(200)
    run()
    found: dict[int, list[tuple[int, bytes]]] = {}
    for row in spark.read.parquet(str(tmp_path / "sink")).orderBy("partition", "offset").collect():
        found.setdefault(row.partition, []).append((row.offset, bytes(row.value)))
    # Either queue may have come first.
    assert sorted(found.values(), key=lambda each: each[0][1]) == [
        [(offset, b"%d %d" % (number, offset)) for offset in range(400)] for number in range(2)
    ]
    run()  # Spark commits the last batch of a run in the next one.
    copy = store.copy(archive, tmp_path / "copy")
    (consumer,) = (copy / "consumers").iterdir()
    assert "offset.0=400" in consumer.read_text()
    assert "offset.1=400" in consumer.read_text()
