"""Batch reads of an archive: hosts, runs that names exclude, compacted runs, damage."""

import json
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import IllegalArgumentException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as f

import mmapqueue

from .archives import compact, drop_partition, opened, run_files, spoil
from .conftest import Fill, Load, QueryFailed, explained, plan, pushing


@pytest.fixture
def hosts(spark: SparkSession, archive_dir: Path, tmp_path: Path) -> dict[str, list[bytes]]:
    """The records of three hosts, which have shipped a queue each; they are partitions 0, 1 and 2."""
    records = {}
    for number, name in enumerate(("w1", "w2", "w3")):
        push = pushing(spark, tmp_path / name, archive_uri=archive_dir, archive_host=name)
        records[name] = push([b"%s %d" % (name.encode(), i) for i in range(20 + number)])
    return records


def offsets(frame: DataFrame) -> list[int]:
    return [row.offset for row in frame.select("value", "offset").collect()]


def test_the_records_of_all_hosts(hosts: dict[str, list[bytes]], load: Load, archive_dir: Path) -> None:
    rows = load(archive_dir).collect()
    assert [(row.partition, row.offset, bytes(row.value)) for row in rows] == [
        (partition, offset, value)
        for partition, values in enumerate(hosts.values())
        for offset, value in enumerate(values)
    ]


def test_the_path_may_be_a_uri(hosts: dict[str, list[bytes]], spark: SparkSession, archive_dir: Path) -> None:
    count = sum(len(values) for values in hosts.values())
    assert spark.read.format("mmapqueue").load(archive_dir.as_uri()).count() == count
    assert mmapqueue.read(archive_dir.as_uri(), spark=spark).count() == count
    assert mmapqueue.read(archive_dir, spark=spark).count() == count
    assert len(mmapqueue.read(archive_dir, spark=spark, starting_offsets={0: 18, 1: 0, 2: 0}).collect()) == count - 18


@pytest.mark.usefixtures("hosts")
def test_numbers_of_partitions_may_have_gaps(load: Load, archive_dir: Path) -> None:
    drop_partition(archive_dir, 1)
    frame = load(archive_dir)
    assert sorted(frame.groupBy("partition").count().collect()) == [(0, 20), (2, 22)]
    assert {row.partition for row in frame.collect()} == {0, 2}
    some = load(archive_dir, startingOffsets='{"0": 18, "2": 21}')
    assert [(row.partition, row.offset) for row in some.collect()] == [(0, 18), (0, 19), (2, 21)]
    assert frame.orderBy(f.desc("offset")).limit(1).select("partition", "offset").collect() == [(2, 21)]
    with pytest.raises(IllegalArgumentException, match="for each of the partitions that the queue has: 0, 2"):
        load(archive_dir, startingOffsets='{"0": 1, "1": 1}').collect()


def test_a_range_opens_no_other_run(ship: Fill, load: Load, archive_dir: Path) -> None:
    items = [item for burst in range(5) for item in ship([b"%d.%d" % (burst, i) for i in range(10)])]
    runs = run_files(archive_dir)
    assert len(runs) == 5
    for run in (runs[0], runs[1], runs[4]):
        spoil(run)
    frame = load(archive_dir).where("offset between 23 and 37")
    assert [bytes(row.value) for row in frame.collect()] == items[23:38]
    assert [bytes(row.value) for row in load(archive_dir, startingOffsets=20, endingOffsets=40).collect()] == items[
        20:40
    ]
    with pytest.raises(QueryFailed):
        load(archive_dir).collect()


def test_a_time_opens_no_other_run(bursts: Path, load: Load, tmp_path: Path, plain: DataFrame) -> None:
    archive = tmp_path / "copy"
    shutil.copytree(bursts / "archive", archive)
    times = sorted({row.timestamp for row in plain.where("partition = 0").collect()})
    for partition in range(2):
        for run in run_files(archive, partition):
            if not (partition == 0 and 100 <= int(run.name.split("-")[0]) < 200):
                spoil(run)
    rows = plain.where("partition = 0 and offset between 100 and 199").collect()
    low, high = rows[0].timestamp, rows[-1].timestamp
    assert times.index(low) > 0
    frame = load(archive).where((f.col("timestamp") >= low) & (f.col("timestamp") <= high) & (f.col("partition") == 0))
    assert frame.collect() == rows


def test_a_partition_lists_no_other_one(hosts: dict[str, list[bytes]], load: Load, archive_dir: Path) -> None:
    for partition in (0, 2):
        directory = archive_dir / "data" / f"{partition:05d}"
        directory.rename(directory.with_name(f"away{partition}"))
        directory.touch()  # a listing fails
    frame = load(archive_dir).where("partition = 1")
    assert [bytes(row.value) for row in frame.collect()] == hosts["w2"]
    assert frame.count() == 21


def test_names_alone_answer_aggregates(ship: Fill, load: Load, archive_dir: Path) -> None:
    for _ in range(3):
        ship(10)
    rows = load(archive_dir).collect()
    for run in run_files(archive_dir):
        spoil(run)
    frame = load(archive_dir)
    assert frame.count() == 30
    assert frame.agg(f.min("offset"), f.max("offset"), f.min("timestamp"), f.max("timestamp")).collect() == [
        (0, 29, rows[0].timestamp, rows[-1].timestamp)
    ]
    assert frame.where("offset >= 10").groupBy("partition").agg(f.count("*"), f.min("timestamp")).collect() == [
        (0, 20, rows[10].timestamp)
    ]
    assert frame.select("offset", "partition").where("offset > 27").collect() == [(28, 0), (29, 0)]


def test_a_range_within_runs_has_the_times_of_its_records(bursts: Path, load: Load, plain: DataFrame) -> None:
    def times(frame: DataFrame) -> list[Row]:
        some = frame.where("partition = 0 and offset between 60 and 222")
        return some.agg(f.min("timestamp"), f.max("timestamp")).collect()

    assert times(load(bursts / "archive")) == times(plain)
    assert "PushedAggregates" in explained(load(bursts / "archive").agg(f.max("timestamp")))


@pytest.mark.usefixtures("hosts")
def test_positions_of_consumers(spark: SparkSession, load: Load, archive_dir: Path, tmp_path: Path) -> None:
    stream = spark.readStream.format("mmapqueue").option("consumer", "one").load(str(archive_dir))
    for _ in range(2):  # the second run commits the batch of the first one
        query = stream.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "cp"))
        query.trigger(availableNow=True).start().awaitTermination()
    pushing(spark, tmp_path / "w2", archive_uri=archive_dir, archive_host="w2")([b"new"])
    rows = load(archive_dir, startingOffsets="committed", consumer="one").collect()
    assert [(row.partition, row.offset, bytes(row.value)) for row in rows] == [(1, 21, b"new")]
    assert load(archive_dir, startingOffsets="committed").count() == 64  # default has no position here
    with pytest.raises(IllegalArgumentException, match=r"option consumer = nobody; allowed: a consumer that .*: one"):
        load(archive_dir, startingOffsets="committed", consumer="nobody").collect()


def test_runs_that_were_compacted_after_planning(
    ship: Fill, load: Load, spark: SparkSession, archive_dir: Path
) -> None:
    items = [item for burst in range(20) for item in ship([b"%d.%d" % (burst, i) for i in range(10)])]
    frame = plan(load(archive_dir, minPartitions=3))
    compact(spark, archive_dir)
    assert len(run_files(archive_dir)) < 20
    assert [bytes(row.value) for row in frame.collect()] == items
    assert [bytes(row.value) for row in load(archive_dir).collect()] == items


def test_large_runs_are_several_tasks(ship: Fill, load: Load, archive_dir: Path) -> None:
    items = ship([b"x" * 1000] * 5000, segment_size="256k", max_in_mem_segments=10, ship_bytes="64m", ship_period="1h")

    def parts(**options: Any) -> int:
        frame = load(archive_dir, **options)
        assert [bytes(row.value) for row in frame.collect()] == items
        return int(frame.rdd.getNumPartitions())

    assert parts() == 2
    assert parts(minPartitions=1) == 1
    assert parts(minPartitions=8) >= 6


def test_damage_is_an_error_unless_it_is_skipped(ship: Fill, load: Load, archive_dir: Path) -> None:
    for _ in range(3):
        ship([b"x" * 1000] * 10)
    run = run_files(archive_dir)[1]
    damaged = bytearray(run.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    run.chmod(0o644)
    run.write_bytes(damaged)
    with pytest.raises(QueryFailed, match="checksum"):
        load(archive_dir, failOnDataLoss=False).collect()
    kept = offsets(load(archive_dir, onDamage="skip"))
    assert set(range(30)) - set(kept) <= set(range(10, 20))
    assert kept == sorted(set(kept))
    assert len(kept) >= 20
    assert load(archive_dir, onDamage="skip").count() == len(kept)


def test_records_that_retention_has_deleted(ship: Fill, load: Load, archive_dir: Path) -> None:
    for _ in range(3):
        ship(10)
    frame = plan(load(archive_dir))
    run_files(archive_dir)[0].unlink()
    assert offsets(load(archive_dir)) == list(range(10, 30))
    with pytest.raises(QueryFailed, match=r"offsets 5\.\.9 were requested, but the log starts at offset 10"):
        load(archive_dir, startingOffsets=5).collect()
    assert offsets(load(archive_dir, startingOffsets=5, failOnDataLoss=False)) == list(range(10, 30))
    with pytest.raises(QueryFailed, match=r"offsets 0\.\.9 were requested, but the log starts at offset 10"):
        frame.collect()


@pytest.mark.parametrize("marked", [False, True], ids=["vanished", "marked"])
def test_a_gap_is_an_error(spark: SparkSession, ship: Fill, load: Load, archive_dir: Path, marked: bool) -> None:
    for _ in range(3):
        ship(10)
    runs = run_files(archive_dir)
    runs[1].unlink()
    reason = "they were marked as lost" if marked else "their files have vanished from the archive"
    if marked:
        with closing(opened(spark, archive_dir)) as archive:
            archive.markLost(0, 0, 100)
    frame = load(archive_dir)
    for each in (frame, frame.select("offset"), frame.groupBy().count(), frame.agg(f.max("offset")), frame.limit(15)):
        with pytest.raises(QueryFailed, match=rf"offsets 10\.\.19 were requested, but {reason}"):
            each.collect()
    assert offsets(load(archive_dir, startingOffsets=20)) == list(range(20, 30))
    assert offsets(load(archive_dir, endingOffsets=10)) == list(range(10))
    assert offsets(frame.where("offset < 10")) == list(range(10))
    with pytest.raises(QueryFailed, match=r"offsets 12\.\.14 were requested, but"):
        load(archive_dir, startingOffsets=12, endingOffsets=15).collect()
    ((last,),) = load(archive_dir, startingOffsets=20).agg(f.max("timestamp")).collect()
    assert offsets(load(archive_dir).where(f.col("timestamp") >= last))[-1] == 29


def test_reading_continues_after_a_gap(ship: Fill, load: Load, archive_dir: Path) -> None:
    for _ in range(4):
        ship(10)
    run_files(archive_dir)[1].unlink()
    frame = load(archive_dir, failOnDataLoss=False)
    present = [*range(10), *range(20, 40)]
    assert offsets(frame) == present
    assert [row.offset for row in frame.select("offset").collect()] == present
    assert frame.count() == 30
    assert frame.groupBy().agg(f.count("*"), f.min("offset"), f.max("offset")).collect() == [(30, 0, 39)]
    assert frame.groupBy("partition").count().collect() == [(0, 30)]
    assert len(frame.limit(15).collect()) == 15
    assert [row.offset for row in frame.orderBy("partition", "offset").limit(15).collect()] == present[:15]
    assert [row.offset for row in frame.orderBy(f.desc("offset")).limit(25).collect()] == present[-25:][::-1]
    assert offsets(frame.where("offset BETWEEN 8 AND 21")) == [8, 9, 20, 21]
    assert offsets(load(archive_dir, failOnDataLoss=False, startingOffsets=12, endingOffsets=15)) == []
    assert offsets(load(archive_dir, failOnDataLoss=False, minPartitions=7)) == present


def test_a_file_that_vanishes_after_the_plan(ship: Fill, load: Load, archive_dir: Path) -> None:
    for _ in range(3):
        ship(10)
    frame = load(archive_dir, failOnDataLoss=False)
    failing = load(archive_dir)
    for each in (frame, failing):
        plan(each)
    run_files(archive_dir)[1].unlink()
    assert offsets(frame) == [*range(10), *range(20, 30)]
    with pytest.raises(QueryFailed, match=r"offsets 10\.\.19 were requested, but"):
        failing.collect()


def test_no_archive(load: Load, tmp_path: Path, ship: Fill, archive_dir: Path) -> None:
    with pytest.raises(IllegalArgumentException, match="it holds no queue"):
        load(tmp_path).collect()
    with pytest.raises(QueryFailed, match="nfs"):
        load("nfs://host/archive").collect()
    ship(1)
    (archive_dir / "archive.properties").write_text("format=99\nid=x\n")
    with pytest.raises(QueryFailed, match=r"archive\.properties"):
        load(archive_dir).collect()


def test_equal_scans_are_equal(ship: Fill, load: Load, archive_dir: Path) -> None:
    """Spark reads what is equal once."""
    ship(30)

    def batch() -> Any:
        return plan(load(archive_dir))._jdf.queryExecution().executedPlan().collectLeaves().head().scan().toBatch()

    assert batch().equals(batch())
    before = batch()
    ship(1)
    assert not before.equals(batch())


def test_rows_with_the_names_of_their_hosts(
    hosts: dict[str, list[bytes]], spark: SparkSession, load: Load, archive_dir: Path
) -> None:
    """As docs/howto/read-archive.md has it."""
    names = spark.read.text(f"{archive_dir}/partitions").selectExpr(
        "int(regexp_extract(_metadata.file_name, '^([0-9]+)', 1)) AS partition",
        "regexp_extract(value, '^host=(.*)', 1) AS host",
    )
    rows = load(archive_dir).join(names.where("host <> ''"), "partition")
    assert sorted(rows.groupBy("host").count().collect()) == [(name, len(values)) for name, values in hosts.items()]


@pytest.mark.usefixtures("hosts")
def test_the_state_of_an_archive(spark: SparkSession, archive_dir: Path) -> None:
    own = spark.newSession()
    own.conf.set("spark.sql.catalog.q", "org.mmapqueue.spark.QueueCatalog")
    own.conf.set("spark.sql.catalog.q.path", str(archive_dir.parent))
    (archive_dir.parent / "other").mkdir()
    assert [row.tableName for row in own.sql("SHOW TABLES IN q").collect()] == ["archive"]
    assert own.sql("SELECT count(*) FROM q.archive").collect() == [(63,)]
    assert own.sql(f"SELECT max(offset) FROM q.`{archive_dir.as_uri()}`").collect() == [(21,)]
    state = {row.key: row.value for row in own.sql("SHOW TBLPROPERTIES q.archive").collect()}
    assert int(state.pop("queue.bytes")) > 63
    assert json.loads(state.pop("queue.latestOffsets")) == {"0": 20, "1": 21, "2": 22}
    assert state.items() >= {"queue.partitions": "3", "queue.records": "63"}.items()
    assert "queue.capacityBytes" not in state
