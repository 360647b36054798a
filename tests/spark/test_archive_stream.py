"""Streams of an archive: hosts that come, the consumer's file, restarts, losses, replaced archives."""

import json
import shutil
import time
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import mmapqueue
from archive_runs import properties, write_properties

from .archives import compact, consumers, drop_partition, run_files
from .conftest import Fill, pushing
from .streams import SECONDS, Streams, progresses

Hosts = dict[str, Fill]


@pytest.fixture
def streams(spark: SparkSession, archive_dir: Path, tmp_path: Path) -> Streams:
    return Streams(spark, archive_dir, tmp_path / "checkpoint")


@pytest.fixture
def hosts(spark: SparkSession, archive_dir: Path, tmp_path: Path) -> Hosts:
    """Pushes on three hosts, each of which ships its own queue."""
    return {
        name: pushing(spark, tmp_path / name, archive_uri=archive_dir, archive_host=name) for name in ("w1", "w2", "w3")
    }


def position(archive: Path) -> dict[str, str]:
    """The only consumer's offsets by partition."""
    ((_, file),) = consumers(archive).items()
    return {key.removeprefix("offset."): value for key, value in file.items() if key.startswith("offset.")}


def test_hosts_that_come_while_a_query_runs(streams: Streams, hosts: Hosts) -> None:
    first = hosts["w1"]([b"w1 %d" % i for i in range(10)])
    query = streams.start(startingOffsets="latest")
    query.processAllAvailable()
    assert streams.batches.all() == []
    second = hosts["w2"]([b"w2 %d" % i for i in range(5)])
    query.processAllAvailable()
    more = hosts["w1"]([b"more"])
    query.processAllAvailable()
    query.stop()
    assert streams.batches.all() == [(1, i, value) for i, value in enumerate(second)] + [(0, len(first), more[0])]
    third = hosts["w3"]([b"w3 %d" % i for i in range(5)])
    streams.run(startingOffsets="latest")
    assert streams.batches.all()[6:] == [(2, i, value) for i, value in enumerate(third)]


def test_a_query_that_is_stopped_while_it_lists_has_not_failed(
    spark: SparkSession, streams: Streams, hosts: Hosts
) -> None:
    for fill in hosts.values():
        fill(3)
    spark.conf.set("spark.sql.streaming.pollingDelay", "0")  # it lists all the time
    try:
        for delay in range(12):
            query = streams.start()
            query.processAllAvailable()
            time.sleep(delay / 1000)  # the load: a stop at another moment of its listing
            query.stop()
            assert query.exception() is None
    finally:
        spark.conf.unset("spark.sql.streaming.pollingDelay")
    assert len(streams.batches.all()) == 9


def test_an_archive_without_runs_is_waited_for(streams: Streams, hosts: Hosts) -> None:
    hosts["w1"]([])
    query = streams.start()
    query.processAllAvailable()
    records = hosts["w1"]([b"one", b"two"])
    query.processAllAvailable()
    query.stop()
    assert streams.batches.values() == records


def test_a_host_that_began_to_ship_late(streams: Streams, hosts: Hosts, spark: SparkSession, tmp_path: Path) -> None:
    hosts["w1"](3)
    query = streams.start()
    query.processAllAvailable()
    local = pushing(spark, tmp_path / "w2", queue_capacity_segments=8)
    for _ in range(40):
        local([b"x" * 300] * 10)
        with mmapqueue.Queue(tmp_path / "w2", spark=spark) as queue:
            queue.ack_up_to(queue.pop_many(10)[-1])
    hosts["w2"]([b"new"], queue_capacity_segments=8)
    query.processAllAvailable()
    query.stop()
    assert query.exception() is None
    seen = [offset for partition, offset, _ in streams.batches.all() if partition == 1]
    assert seen[0] > 0
    assert seen == list(range(seen[0], 401))


def test_the_consumer_is_a_file_in_the_archive(streams: Streams, hosts: Hosts, archive_dir: Path) -> None:
    hosts["w1"](10)
    hosts["w2"](4)
    streams.run(maxOffsetsPerTrigger=7)
    ((name, file),) = consumers(archive_dir).items()
    assert name.startswith("spark-")
    assert file["label"].replace("\\", "") == f"checkpoint file:{streams.checkpoint}/sources/0"
    assert position(archive_dir) == {"0": "5", "1": "2"}  # the last batch may be asked for again
    streams.run()
    assert position(archive_dir) == {"0": "10", "1": "4"}
    streams.run(consumer="mine")
    assert set(consumers(archive_dir)) == {name, "mine"}


def test_a_query_that_cannot_be_restarted_leaves_no_consumer(
    spark: SparkSession, hosts: Hosts, archive_dir: Path
) -> None:
    hosts["w1"](10)
    frame = spark.readStream.format("mmapqueue").load(str(archive_dir))
    query = frame.writeStream.format("noop").start()
    query.processAllAvailable()
    assert len(consumers(archive_dir)) == 1
    query.stop()
    assert consumers(archive_dir) == {}


def test_a_consumer_belongs_to_one_checkpoint(spark: SparkSession, streams: Streams, hosts: Hosts) -> None:
    hosts["w1"](10)
    query = streams.start(consumer="one")
    query.processAllAvailable()
    other = Streams(spark, streams.queue_dir, streams.checkpoint.with_name("other"))
    with pytest.raises(StreamingQueryException, match=r"consumer one of the archive .* is in use by the query with"):
        other.run(consumer="one")
    query.stop()
    with pytest.raises(StreamingQueryException, match="which exists; each query needs a consumer of its own"):
        other.run(consumer="one")
    shutil.rmtree(streams.checkpoint)
    new = hosts["w1"]([b"new"])
    other.run(consumer="one", startingOffsets="committed")
    assert other.batches.values()[-1:] == new


@pytest.mark.parametrize(
    ("starting", "first"),
    [("earliest", 0), ("latest", 10), ("4", 4), ('{"0":7}', 7), ('{"0":-2}', 0), ('{"0":-1}', 10)],
)
def test_where_a_new_query_begins(streams: Streams, hosts: Hosts, starting: str, first: int) -> None:
    hosts["w1"](10)
    query = streams.start(startingOffsets=starting)
    query.processAllAvailable()
    hosts["w1"]([b"new"])
    query.processAllAvailable()
    query.stop()
    assert [offset for _, offset, _ in streams.batches.all()] == list(range(first, 11))


def test_a_new_query_begins_at_a_time(spark: SparkSession, streams: Streams, bursts: Path, tmp_path: Path) -> None:
    rows = spark.read.format("mmapqueue").load(str(bursts / "queue")).where("partition = 0")
    text = "date_format(timestamp, \"yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX\")"
    times: dict[int, str] = {row[0]: row[1] for row in rows.selectExpr("offset", text).collect()}
    time = times[120]
    first = min(offset for offset in times if times[offset] == time)
    at = Streams(spark, bursts / "archive", streams.checkpoint)
    at.run(startingTimestamp=time)
    local = Streams(spark, bursts / "queue", tmp_path / "local")
    local.run(startingTimestamp=time)
    assert at.batches.all() == local.batches.all()
    assert at.batches.all()[0][:2] == (0, first)


def test_runs_that_are_compacted_while_a_query_is_stopped(
    spark: SparkSession, streams: Streams, hosts: Hosts, archive_dir: Path
) -> None:
    records = [item for burst in range(20) for item in hosts["w1"]([b"%d.%d" % (burst, i) for i in range(10)])]
    streams.run(maxOffsetsPerTrigger=60)
    first = dict(streams.batches.rows)
    streams.forget_last_commit()
    compact(spark, archive_dir)
    streams.batches.rows.clear()
    records += hosts["w1"]([b"more"])
    streams.run()
    assert streams.batches.rows[3] == first[3]
    assert first[0] + first[1] + first[2] + streams.batches.all() == [(0, i, value) for i, value in enumerate(records)]


def test_progress_reports_the_lag(streams: Streams, hosts: Hosts) -> None:
    hosts["w1"]([b"x" * 1000] * 90)
    hosts["w2"]([b"x" * 1000] * 30)
    query = streams.run(maxOffsetsPerTrigger=60)
    said = [each["sources"][0] for each in progresses(query) if each["numInputRows"] > 0]
    lagging, read = (each["metrics"] for each in said)
    assert (lagging["minOffsetsBehindLatest"], lagging["maxOffsetsBehindLatest"]) == ("15", "45")
    assert lagging["lag_records"] == "60"
    assert 55_000 <= int(lagging["lag_bytes"]) <= 80_000
    assert float(lagging["oldest_unacked_age_seconds"]) > 0
    assert len(json.loads(read.pop("slowest_partitions"))) == 2
    assert read == {
        "minOffsetsBehindLatest": "0",
        "maxOffsetsBehindLatest": "0",
        "avgOffsetsBehindLatest": "0.0",
        "lag_records": "0",
        "lag_bytes": "0",
        "oldest_unacked_age_seconds": "0.0",
        "partitions": "2",
        "partitions_behind": "0",
        "dropped_records_total": "0",
        "damaged_records_total": "0",
    }
    assert said[-1]["description"].startswith(f"mmapqueue {streams.queue_dir} (consumer spark-")


def test_runs_that_are_gone_are_an_error(streams: Streams, hosts: Hosts, archive_dir: Path) -> None:
    hosts["w1"](3)
    streams.run()
    streams.run()
    for _ in range(3):
        hosts["w1"](10)
    for run in run_files(archive_dir)[:2]:
        run.unlink()
    with pytest.raises(StreamingQueryException, match=r"lost the records with offsets 3\.\.12, ") as caught:
        streams.run()
    assert "failOnDataLoss = false" in str(caught.value)
    streams.run(failOnDataLoss=False)
    assert [offset for _, offset, _ in streams.batches.all()] == [0, 1, 2, *range(13, 33)]


def test_runs_in_the_middle_that_are_gone(streams: Streams, hosts: Hosts, archive_dir: Path) -> None:
    for _ in range(4):
        hosts["w1"](10)
    run_files(archive_dir)[2].unlink()
    query = streams.start(maxOffsetsPerTrigger=10)
    with pytest.raises(StreamingQueryException, match=r"offsets 20\.\.29 were requested, but their files"):
        query.processAllAvailable()
    assert [offset for _, offset, _ in streams.batches.all()] == list(range(20))  # the records before it
    streams.run(maxOffsetsPerTrigger=10, failOnDataLoss=False)
    assert [offset for _, offset, _ in streams.batches.all()] == [*range(20), *range(30, 40)]


def test_the_last_runs_are_waited_for(streams: Streams, hosts: Hosts, archive_dir: Path) -> None:
    """What is shipped again has the same offsets, so it is not read again."""
    hosts["w1"](10)
    hosts["w1"](5)
    streams.run()
    run = run_files(archive_dir)[-1]
    run.rename(archive_dir / "away")
    with pytest.raises(StreamingQueryException, match=r"offsets 10\.\.14, .* the queue ends at offset 10, so runs"):
        streams.run()
    streams.run(failOnDataLoss=False)
    (archive_dir / "away").rename(run)
    hosts["w1"]([b"new"])
    streams.run()
    assert [offset for _, offset, _ in streams.batches.all()] == list(range(16))


def test_a_partition_that_is_gone_is_an_error(streams: Streams, hosts: Hosts, archive_dir: Path) -> None:
    hosts["w1"](3)
    hosts["w2"](3)
    streams.run()
    drop_partition(archive_dir, 0)
    with pytest.raises(StreamingQueryException, match="the partition does not exist any more"):
        streams.run()
    hosts["w2"]([b"new"])
    streams.run(failOnDataLoss=False)
    assert streams.batches.all()[6:] == [(1, 3, b"new")]


def test_an_archive_that_was_made_again(streams: Streams, hosts: Hosts, archive_dir: Path, tmp_path: Path) -> None:
    hosts["w1"](3)
    streams.run()
    archive_dir.rename(archive_dir.with_name("away"))
    shutil.rmtree(tmp_path / "w1")
    again = hosts["w1"]([b"again %d" % i for i in range(5)])
    with pytest.raises(StreamingQueryException, match=r"was reading was replaced: it had the id .*, the present one"):
        streams.run()
    streams.run(failOnDataLoss=False)
    assert streams.batches.all()[3:] == [(0, i, value) for i, value in enumerate(again)]
    hosts["w1"]([b"new"])
    streams.run()
    assert streams.batches.values()[-1] == b"new"


def test_an_archive_that_is_replaced_while_a_query_runs(streams: Streams, hosts: Hosts, archive_dir: Path) -> None:
    hosts["w1"](3)
    hosts["w2"](3, archive_uri=archive_dir.with_name("other"))
    query = streams.start()
    query.processAllAvailable()
    away = archive_dir.with_name("away")
    archive_dir.rename(away)
    archive_dir.with_name("other").rename(archive_dir)
    with pytest.raises(StreamingQueryException, match="archive"):  # or what is found between the two renames
        query.awaitTermination(SECONDS)


def test_the_same_queues_in_a_new_archive_are_read_on(streams: Streams, hosts: Hosts, archive_dir: Path) -> None:
    hosts["w1"](3)
    streams.run()
    shutil.copytree(archive_dir, archive_dir.with_name("copy"))
    hosts["w1"]([b"new"])
    file = archive_dir / "archive.properties"
    write_properties(file, {**properties(file), "id": "00000000-0000-4000-8000-000000000001"})
    with pytest.raises(
        StreamingQueryException, match="the present one has the id 00000000-0000-4000-8000-000000000001"
    ):
        streams.run()
    streams.run(failOnDataLoss=False)
    assert streams.batches.all()[3:] == [(0, 3, b"new")]


def test_a_query_continues_while_its_consumer_cannot_be_stored(
    streams: Streams, hosts: Hosts, archive_dir: Path
) -> None:
    records = hosts["w1"](10)
    query = streams.start()
    query.processAllAvailable()
    ((name, before),) = consumers(archive_dir).items()
    # A directory in the place of the file: a rename onto it fails, as on a full or read-only file system.
    file = archive_dir / "consumers" / f"{name}.properties"
    kept = file.rename(file.with_name("kept"))
    (file / "obstacle").mkdir(parents=True)
    for _ in range(3):
        records += hosts["w1"](2)
        query.processAllAvailable()
    records_of_another = hosts["w2"](3)
    query.processAllAvailable()
    assert query.exception() is None
    (file / "obstacle").rmdir()
    file.rmdir()
    kept.rename(file)
    assert consumers(archive_dir)[name] == before
    records += hosts["w1"](2)  # the next commit stores the consumer
    query.processAllAvailable()
    assert position(archive_dir) == {"0": str(len(records) - 2), "1": "3"}
    query.stop()
    assert [value for partition, _, value in streams.batches.all() if partition == 0] == records
    assert [value for partition, _, value in streams.batches.all() if partition == 1] == records_of_another


def test_a_new_query_needs_its_consumer(streams: Streams, hosts: Hosts, archive_dir: Path) -> None:
    hosts["w1"](10)
    file = archive_dir / "consumers" / "one.properties"
    (file / "obstacle").mkdir(parents=True)
    with pytest.raises(StreamingQueryException, match=r"consumer one of the archive .* cannot be stored"):
        streams.run(consumer="one")


def test_small_partitions_share_a_task(
    spark: SparkSession, archive_dir: Path, tmp_path: Path, streams: Streams
) -> None:
    """Each micro-batch of twelve hosts writes two files on two cores, and keeps the order of each host."""
    out = tmp_path / "out"
    hosts = [pushing(spark, tmp_path / f"w{i}", archive_uri=archive_dir, archive_host=f"w{i}") for i in range(12)]

    def run(**options: int) -> list[Path]:
        """The files of one more micro-batch."""
        before = set(out.glob("*.parquet"))
        frame = spark.readStream.format("mmapqueue").options(**options).load(str(archive_dir))
        rows = frame.selectExpr("partition", "offset", "CAST(value AS STRING) AS text", "timestamp")
        query = rows.writeStream.format("parquet").option("checkpointLocation", str(streams.checkpoint))
        streams.end(query.trigger(availableNow=True).start(str(out)))
        return sorted(set(out.glob("*.parquet")) - before)

    expected: list[tuple[int, int, str]] = []
    cases: list[tuple[dict[str, int], int]] = [({}, 2), ({}, 2), ({"minPartitions": 6}, 6), ({"minPartitions": 1}, 1)]
    for options, files in cases:
        for number, fill in enumerate(hosts):
            first = sum(1 for partition, _, _ in expected if partition == number)
            expected += [
                (number, first + i, record.decode())
                for i, record in enumerate(fill([b"%d %d" % (number, len(expected) + i) for i in range(20)]))
            ]
        written = run(**options)
        assert len(written) == files
        for file in written:
            rows = [(row.partition, row.offset) for row in spark.read.parquet(str(file)).collect()]
            assert rows == sorted(rows), "the order within each partition"
    found = spark.read.parquet(str(out)).orderBy("partition", "offset").collect()
    assert [(row.partition, row.offset, row.text) for row in found] == sorted(expected)
    assert all(row.timestamp for row in found)
