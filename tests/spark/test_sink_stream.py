"""Streaming writes: no epoch is lost or duplicate, in every output mode, however often it is repeated."""

import fcntl
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import mmapqueue
from conftest import eventually

from .conftest import Fill
from .sinks import SMALL, flat, numbers, partitions, records, staged

Run = Callable[..., None]


@pytest.fixture
def source(spark: SparkSession, tmp_path: Path) -> Callable[[int, int], DataFrame]:
    """Adds a file of numbers to a directory, which is a batch of its own; returns the stream of the directory."""
    files = tmp_path / "source"

    def add(first: int, end: int) -> DataFrame:
        files.mkdir(exist_ok=True)
        (files / f"{len(list(files.iterdir()))}.txt").write_text("".join(f"{i}\n" for i in range(first, end)))
        return spark.readStream.format("text").option("maxFilesPerTrigger", 1).load(str(files))

    return add


@pytest.fixture
def run(tmp_path: Path, queue_dir: Path) -> Run:
    """Writes all there is, one file to a batch, as a query that continues where it ended the last time."""

    def until_done(rows: DataFrame, mode: str = "append", path: Path = queue_dir, **options: Any) -> None:
        writer = rows.writeStream.format("mmapqueue").outputMode(mode).options(**SMALL).options(**options)
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        query = writer.start(str(path))
        try:
            assert query.awaitTermination(120)
        finally:
            query.stop()

    return until_done


def undo_last_commit(checkpoint: Path) -> int:
    """Removes the commit of the last batch, so that Spark repeats it."""
    last = max((file for file in (checkpoint / "commits").iterdir() if file.name.isdigit()), key=lambda f: int(f.name))
    last.unlink()
    last.with_name(f".{last.name}.crc").unlink(missing_ok=True)
    return int(last.name)


def test_epochs_of_a_thousand_dead_checkpoints(
    source: Callable[[int, int], DataFrame], run: Run, spark: SparkSession, queue_dir: Path, tmp_path: Path
) -> None:
    with mmapqueue.Queue(queue_dir, spark=spark, **SMALL) as queue:
        for query in range(1000):
            queue.push_once(f"spark-{query}", 0, [])
    run(source(0, 10))
    run(source(10, 20))
    undo_last_commit(tmp_path / "checkpoint")
    run(source(20, 30))
    assert records(spark, queue_dir) == numbers(0, 30)
    with mmapqueue.Queue(queue_dir, spark=spark) as queue:
        assert len(queue.producers()) == 1001
        assert all(queue.last_sequence(f"spark-{query}") == 0 for query in range(1000))


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("sync", [False, True])
def test_an_epoch_that_is_run_again_goes_in_once(
    spark: SparkSession,
    source: Callable[[int, int], DataFrame],
    run: Run,
    queue_dir: Path,
    tmp_path: Path,
    count: int,
    sync: bool,
) -> None:
    source(0, 10)
    rows = source(10, 30)
    run(rows, partitions=count, sync=sync)
    assert undo_last_commit(tmp_path / "checkpoint") == 1
    run(rows, partitions=count, sync=sync)
    assert undo_last_commit(tmp_path / "checkpoint") == 1
    # Rows are distributed in another way than the first time.
    run(source(30, 40).repartition(5), partitions=count, sync=sync)
    found = [records(spark, queue_dir)] if count == 1 else partitions(spark, queue_dir)
    assert sorted(flat(found), key=int) == numbers(0, 40)
    assert staged(queue_dir) == []
    with mmapqueue.Queue(queue_dir if count == 1 else queue_dir / "p=0", spark=spark) as queue:
        assert queue.stats().end_offset == len(found[0])


def lose_last_epoch(checkpoint: Path) -> int:
    """Removes the last epoch from the checkpoint, as a loss of power can: Spark does not fsync the checkpoint."""
    last = max(int(file.name) for file in (checkpoint / "offsets").iterdir() if file.name.isdigit())
    for log in ("offsets", "commits"):
        (checkpoint / log / str(last)).unlink()
        (checkpoint / log / f".{last}.crc").unlink(missing_ok=True)
    return last


@pytest.mark.parametrize("count", [1, 3])
def test_an_epoch_that_the_checkpoint_has_lost(
    spark: SparkSession, fill: Fill, queue_dir: Path, tmp_path: Path, count: int
) -> None:
    source, checkpoint = tmp_path / "source", tmp_path / "checkpoint"

    def run(**options: Any) -> None:
        rows = spark.readStream.format("mmapqueue").load(str(source)).select("value")
        writer = rows.writeStream.format("mmapqueue").options(**SMALL, partitions=count).options(**options)
        query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start(str(queue_dir))
        try:
            assert query.awaitTermination(120)
        finally:
            query.stop()

    def found() -> list[bytes]:
        rows = spark.read.format("mmapqueue").load(str(queue_dir)).collect()
        return sorted((bytes(row.value) for row in rows), key=int)

    fill(numbers(0, 10), path=source)
    run()
    fill(numbers(10, 20), path=source)
    run()
    assert lose_last_epoch(checkpoint) == 1
    run()
    assert found() == numbers(0, 20), "Spark plans the same batch, and the sink knows it"
    assert lose_last_epoch(checkpoint) == 1
    fill(numbers(20, 25), path=source)
    held = r"[0-9]+ rows with the checksum [0-9a-f]{16}"
    with pytest.raises(StreamingQueryException, match=rf"epoch 1 of query .* it holds {held} now; it held {held}") as e:
        run()
    assert "it holds 15 rows" in str(e.value)
    assert "it held 10 rows" in str(e.value)
    assert found() == numbers(0, 20)
    assert staged(queue_dir) == []
    run(failOnDataLoss=False)
    fill(numbers(25, 30), path=source)
    run()
    assert found() == numbers(0, 20) + numbers(25, 30), "the dropped rows are missing"


def test_a_new_query_writes_anew(
    spark: SparkSession, source: Callable[[int, int], DataFrame], run: Run, queue_dir: Path, tmp_path: Path
) -> None:
    run(source(0, 10))
    shutil.rmtree(tmp_path / "checkpoint")
    run(source(10, 11))
    assert sorted(records(spark, queue_dir), key=int) == sorted(numbers(0, 10) * 2 + numbers(10, 11), key=int)


def test_growing_between_runs(
    spark: SparkSession, source: Callable[[int, int], DataFrame], run: Run, queue_dir: Path, tmp_path: Path
) -> None:
    run(source(0, 10), partitions=2)
    undo_last_commit(tmp_path / "checkpoint")
    run(source(10, 30), partitions=4)
    found = partitions(spark, queue_dir)
    assert sorted(flat(found), key=int) == numbers(0, 30)
    assert len(found) == 4
    assert all(found)


def counts(rows: DataFrame) -> DataFrame:
    """The number of values by last digit."""
    digit = sf.substring("value", -1, 1)
    return rows.groupBy(digit.alias("digit")).count().select(sf.concat_ws(":", "digit", "count").alias("value"))


def test_update_appends_what_has_changed(
    spark: SparkSession, source: Callable[[int, int], DataFrame], run: Run, queue_dir: Path
) -> None:
    source(0, 10)
    run(counts(source(10, 12)), "update")
    found = records(spark, queue_dir)
    assert sorted(found[:10]) == [b"%d:1" % i for i in range(10)]
    assert sorted(found[10:]) == [b"0:2", b"1:2"]


def test_complete_appends_the_whole_result_each_time(
    spark: SparkSession, source: Callable[[int, int], DataFrame], run: Run, queue_dir: Path
) -> None:
    source(0, 2)
    run(counts(source(10, 11)), "complete")
    found = records(spark, queue_dir)
    assert sorted(found[:2]) == [b"0:1", b"1:1"]
    assert sorted(found[2:]) == [b"0:2", b"1:1"]


@pytest.mark.parametrize(("count", "width"), [(1, 84), (2, 184)])
def test_an_epoch_that_finds_no_room_comes_later(
    spark: SparkSession, source: Callable[[int, int], DataFrame], run: Run, queue_dir: Path, count: int, width: int
) -> None:
    ring = {"queue_capacity_segments": 4, "partitions": count, "pushTimeout": "100ms"}
    source(0, 100)
    rows = source(100, 200).select(sf.rpad("value", width, ".").alias("value"))
    with pytest.raises(StreamingQueryException, match=r"epoch 1 of query [0-9a-f-]+ takes \d+ bytes of"):
        run(rows, **ring)
    paths = [queue_dir] if count == 1 else [queue_dir / "p=0", queue_dir / "p=1"]
    got = []
    for path in paths:
        with mmapqueue.Queue(path, spark=spark) as queue:
            messages = queue.pop_many(1000)
            got += [message.data for message in messages]
            queue.ack_up_to(messages[-1])
    assert len(got) == 100
    run(rows, **ring)
    got += flat(records(spark, path) for path in paths)
    assert sorted(int(record.rstrip(b".")) for record in got) == list(range(200))


def test_an_epoch_larger_than_the_ring(
    spark: SparkSession, source: Callable[[int, int], DataFrame], run: Run, queue_dir: Path
) -> None:
    rows = source(0, 400).select(sf.rpad("value", 84, ".").alias("value"))
    with pytest.raises(StreamingQueryException, match=r"epoch 0 of query .* its ring holds 12096 .*maxOffsetsPer"):
        run(rows, queue_capacity_segments=4)
    assert records(spark, queue_dir) == []


def test_two_queries_on_one_queue(
    spark: SparkSession, source: Callable[[int, int], DataFrame], queue_dir: Path, tmp_path: Path
) -> None:
    source(0, 50)
    rows = source(50, 100)
    queries = [
        rows.writeStream.format("mmapqueue")
        .options(**SMALL, partitions=2, checkpointLocation=str(tmp_path / name))
        .trigger(availableNow=True)
        .start(str(queue_dir))
        for name in ("one", "two")
    ]
    for query in queries:
        assert query.awaitTermination(120)
    assert sorted(flat(partitions(spark, queue_dir)), key=int) == sorted(numbers(0, 100) * 2, key=int)
    assert staged(queue_dir) == []


def test_a_push_of_the_driver_goes_in_between(
    spark: SparkSession, source: Callable[[int, int], DataFrame], run: Run, queue_dir: Path
) -> None:
    with mmapqueue.Queue(queue_dir, spark=spark, **SMALL) as queue:
        queue.push(b"0")
        run(source(1, 10))
        queue.push(b"10")
        run(source(11, 20))
        assert [message.data for message in queue.pop_many(100)] == numbers(0, 20)


def test_a_progress_says_how_many_rows(
    source: Callable[[int, int], DataFrame], queue_dir: Path, tmp_path: Path
) -> None:
    writer = source(0, 12).writeStream.format("mmapqueue").option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(queue_dir))
    assert query.awaitTermination(120)
    assert sum(progress["sink"]["numOutputRows"] for progress in query.recentProgress) == 12


def is_open(queue_dir: Path) -> bool:
    """Whether a sink, which keeps queues open for some seconds, has any partition open."""
    for lock in queue_dir.rglob("lock"):
        with lock.open("r+") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return True
    return False


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("lost", ["restored", "deleted"])
def test_a_queue_that_has_lost_epochs(
    spark: SparkSession,
    source: Callable[[int, int], DataFrame],
    run: Run,
    queue_dir: Path,
    tmp_path: Path,
    lost: str,
    count: int,
) -> None:
    run(source(0, 10), partitions=count)
    run(source(10, 20).where("value < 0"), partitions=count)  # an epoch without rows is stored, too
    backup = tmp_path / "backup"
    assert eventually(lambda: not is_open(queue_dir))
    shutil.copytree(queue_dir, backup)
    run(source(20, 30), partitions=count)
    run(source(30, 40), partitions=count)
    assert eventually(lambda: not is_open(queue_dir))
    shutil.rmtree(queue_dir)
    if lost == "restored":
        backup.rename(queue_dir)
    found = "the last epoch there is 1, so epoch 2" if lost == "restored" else "has stored no epoch .*, so epoch 0"
    rows = source(40, 50)
    with pytest.raises(StreamingQueryException, match=rf"epoch 4 of query .* cannot follow in .*{found} was expected"):
        run(rows, partitions=count)

    def stored() -> list[bytes]:
        rows = spark.read.format("mmapqueue").load(str(queue_dir)).collect()
        return sorted((bytes(row.value) for row in rows), key=int)

    kept = numbers(0, 10) if lost == "restored" else []
    assert stored() == kept
    assert staged(queue_dir) == []
    run(rows, partitions=count, failOnDataLoss=False)
    run(source(50, 60), partitions=count)
    assert stored() == kept + numbers(40, 60)
