"""Reading a queue as a table: rows, options, partitions, and errors."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import IllegalArgumentException
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as f

import mmapqueue
from conftest import Ring

from .conftest import SMALL, Fill, Load, QueryFailed, plan

SCHEMA = "struct<value:binary,partition:int,offset:bigint,timestamp:timestamp>"


def offsets(frame: Any) -> list[int]:
    return [row.offset for row in frame.select("offset").collect()]


def values(frame: Any) -> list[bytes]:
    return [bytes(row.value) for row in frame.select("value").collect()]


def message(caught: pytest.ExceptionInfo[Exception]) -> str:
    return str(caught.value)


def test_every_column_of_every_record(fill: Fill, load: Load, spark: SparkSession, queue_dir: Path) -> None:
    items = fill([b"", b"one", b"x" * 7000, bytes(range(256))] + [b"%d" % i for i in range(1000)])
    frame = load()
    assert frame.schema.simpleString() == SCHEMA
    rows = frame.collect()
    assert [bytes(row.value) for row in rows] == items
    assert [row.offset for row in rows] == list(range(len(items)))
    assert {row.partition for row in rows} == {0}
    with mmapqueue.Queue(queue_dir, spark=spark) as queue:
        stamps = [record.timestamp_micros for record in queue.read_many(0, len(items))]
    assert [row.t for row in frame.select(f.unix_micros("timestamp").alias("t")).collect()] == stamps


@pytest.mark.parametrize(
    "columns", [["value"], ["timestamp"], ["offset", "value"], ["timestamp", "partition"], ["partition", "offset"]]
)
def test_any_columns_in_any_order(columns: list[str], fill: Fill, load: Load) -> None:
    fill(300)
    whole = load().collect()
    assert load().select(*columns).collect() == [Row(*columns)(*(row[name] for name in columns)) for row in whole]


def test_a_record_is_as_large_as_it_may_be(fill: Fill, load: Load) -> None:
    items = [bytes([i]) * (3 << 20) for i in range(3)]
    fill(items, segment_size="1m", max_event_size="4m")
    assert values(load()) == items


def test_an_empty_queue(fill: Fill, load: Load) -> None:
    fill(0)
    assert load().collect() == []
    assert load().count() == 0
    assert load().agg(f.min("offset"), f.max("timestamp")).collect()[0][:] == (None, None)


def test_no_timestamps(fill: Fill, load: Load) -> None:
    fill(10, timestamps=False)
    assert [row.timestamp for row in load().collect()] == [None] * 10
    assert load().where("timestamp is null").count() == 10
    assert load().where("timestamp > '2000-01-01'").count() == 0


def test_values_stay_when_the_next_batch_is_read(fill: Fill, load: Load) -> None:
    items = fill(20_000, segment_size="64k")
    row = load().agg(f.max("value").alias("most"), f.min("value").alias("least")).first()
    assert row is not None
    assert (bytes(row.most), bytes(row.least)) == (max(items), min(items))
    assert {bytes(row.value) for row in load(minPartitions=1).collect()} == set(items)


def test_what_is_pushed_meanwhile_is_not_of_this_read(load: Load, spark: SparkSession, queue_dir: Path) -> None:
    with mmapqueue.Queue(queue_dir, spark=spark, **SMALL) as queue:
        queue.push_many([b"a", b"b"])
        frame = load()
        queue.push(b"c")
        assert values(frame) == [b"a", b"b", b"c"]  # planned now
        queue.push(b"d")
        assert values(load()) == [b"a", b"b", b"c", b"d"]
        assert queue.pop().data == b"a"  # reading moves nobody


def test_the_path_may_be_a_uri(fill: Fill, spark: SparkSession, queue_dir: Path) -> None:
    items = fill(3)
    assert values(spark.read.format("mmapqueue").option("path", f"file://{queue_dir}").load()) == items
    assert values(spark.read.format("mmapqueue").load(str(queue_dir))) == items


# ---- start and end


def test_offsets(fill: Fill, load: Load) -> None:
    fill(100)
    assert offsets(load(startingOffsets="earliest", endingOffsets="latest")) == list(range(100))
    assert offsets(load(startingOffsets=" 40 ", endingOffsets="60")) == list(range(40, 60))
    assert offsets(load(STARTINGOFFSETS='{"0": 90}')) == list(range(90, 100))
    assert offsets(load(startingOffsets='{"0": -2}', endingOffsets='{"0": -1}')) == list(range(100))
    assert offsets(load(startingOffsets="100")) == []
    assert offsets(load(endingOffsets="0")) == []


def test_committed(fill: Fill, load: Load, spark: SparkSession, queue_dir: Path) -> None:
    fill(100)
    with mmapqueue.Queue(queue_dir, spark=spark) as queue:
        queue.pop_many(40)
        queue.ack_up_to(29)
        queue.consumer("other").seek(70)
        assert offsets(load(startingOffsets="committed")) == list(range(30, 100))
        assert offsets(load(startingOffsets="committed", consumer="other")) == list(range(70, 100))
        assert offsets(load(endingOffsets="committed", consumer="other", startingOffsets="60")) == list(range(60, 70))
        with pytest.raises(IllegalArgumentException) as caught:
            load(startingOffsets="committed", consumer="nobody").collect()
        assert "option consumer = nobody; allowed: a consumer that partition 0 has" in message(caught)
        assert "default, other" in message(caught)


def test_timestamps(load: Load, spark: SparkSession, queue_dir: Path) -> None:
    with mmapqueue.Queue(queue_dir, spark=spark, **SMALL) as queue:
        queue.push_many([b"early"] * 10)
        early = queue.read_at(9).timestamp_micros
        while queue.read_at(queue.push(b"late")).timestamp_micros == early:
            pass
        end = queue.stats().end_offset
        late = queue.read_at(end - 1)
        assert late.timestamp is not None
    assert offsets(load(startingTimestamp=late.timestamp_micros // 1000)) == [end - 1]
    assert offsets(load(endingTimestamp=late.timestamp_micros // 1000)) == list(range(end - 1))
    instant = late.timestamp.isoformat().replace("+00:00", "Z")
    assert offsets(load(startingTimestamp=instant)) == [end - 1]
    assert offsets(load(startingTimestamp="2100-01-01T00:00:00Z")) == []
    for far in ("9999-12-31T23:59:59Z", 253402300799000):  # beyond the range of a long of ns
        assert offsets(load(startingTimestamp=far)) == []
        assert offsets(load(endingTimestamp=far)) == list(range(end))
    assert offsets(load(startingTimestamp="0001-01-01T00:00:00Z")) == list(range(end))
    assert offsets(load(startingTimestamp=0, endingTimestamp="2100-01-01T00:00:00Z")) == list(range(end))


BAD = {
    "startingOffsets=somewhere": "option startingOffsets = somewhere; allowed: earliest, latest, committed, an offset",
    "startingOffsets=-5": "option startingOffsets = -5; allowed: earliest",
    'startingOffsets={"0": -3}': "allowed: earliest",
    'startingOffsets={"zero": 3}': "allowed: earliest",
    "startingOffsets={}": "allowed: earliest",
    'startingOffsets={"0":1.7}': "allowed: earliest",
    'startingOffsets={"0":1,"0":2}': "allowed: earliest",
    'startingOffsets={"0":1,"00":2}': "allowed: earliest",
    'startingOffsets={"0":1}{"1":2}': "allowed: earliest",
    "startingOffsets=latest": "option startingOffsets = latest; allowed: a batch begins at earliest",
    'startingOffsets={"0": -1}': "a batch begins at earliest",
    "endingOffsets=earliest": "option endingOffsets = earliest; allowed: a batch ends at latest",
    "endingOffsets=11": "option endingOffsets = 11; allowed: at most 10 in partition 0, which ends there, in ",
    "startingOffsets=11": "option startingOffsets = 11; allowed: at most 10 in partition 0",
    'startingOffsets={"0": 1, "1": 1}': "allowed: an offset for each of the partitions that the queue has: 0",
    "startingOffsets=5 endingOffsets=3": "option endingOffsets = 3; allowed: at least startingOffsets, which is 5",
    "startingTimestamp=yesterday": "option startingTimestamp = yesterday; allowed: milliseconds since 1970, or an",
    "startingTimestamp=0 startingOffsets=0": "option startingOffsets = 0; allowed: not together with startingTimestamp",
    "endingTimestamp=0 endingOffsets=0": "not together with endingTimestamp",
    "minPartitions=0": "option minPartitions = 0; allowed: a whole number of at least 1",
    "minPartitions=2000000": "option minPartitions = 2000000; allowed: 1 to 1048576",
    "maxPartitionBytes=much": "option maxPartitionBytes = much; allowed: a number of bytes",
    "failOnDataLoss=maybe": "option failOnDataLoss = maybe; allowed: true, false",
    "consumer=a/b": "option consumer = a/b; allowed: 1 to 100 letters",
    "maxOffsetsPerTrigger=0": "option maxOffsetsPerTrigger = 0; allowed: a whole number of at least 1",
    "minOffsetsPerTrigger=5 maxOffsetsPerTrigger=4": "option minOffsetsPerTrigger = 5; allowed: at most maxOffsets",
    "maxTriggerDelay=soon": "option maxTriggerDelay = soon; allowed: a time such as",
    "maxBytesPerTrigger=-1": "option maxBytesPerTrigger = -1; allowed: a number of bytes",
}


@pytest.fixture(scope="module")
def ten(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A queue of ten records."""
    path = tmp_path_factory.mktemp("ten") / "queue"
    with mmapqueue.Queue(path, spark=spark, **SMALL) as queue:
        queue.push_many([b"x"] * 10)
    return path


@pytest.mark.parametrize("options", BAD)
def test_bad_options_are_refused(options: str, ten: Path, spark: SparkSession) -> None:
    reader = spark.read.format("mmapqueue").options(**_named(options))
    with pytest.raises(IllegalArgumentException) as caught:
        reader.load(str(ten)).collect()
    assert BAD[options] in message(caught)


def _named(options: str) -> dict[str, str]:
    words = options.split(" ") if options.count("=") > 1 else [options]
    return dict(word.split("=", 1) for word in words)


def test_no_queue(load: Load, spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(IllegalArgumentException, match="directory of a queue; it does not exist on host"):
        load(tmp_path / "nowhere").collect()
    with pytest.raises(IllegalArgumentException, match="directory of a queue; it holds no queue on host"):
        load(tmp_path).collect()
    (tmp_path / "file").write_text("")
    with pytest.raises(IllegalArgumentException, match="directory of a queue; it is a file on host"):
        load(tmp_path / "file").collect()
    with pytest.raises(IllegalArgumentException, match="option path = null"):
        spark.read.format("mmapqueue").load().collect()
    with pytest.raises(IllegalArgumentException, match="option path = hdfs://host/queue; allowed: an archive"):
        load("hdfs://host/queue").collect()


def test_offsets_after_the_end(ten: Path, load: Load) -> None:
    # As with Kafka's source: an error, or nothing from that partition.
    for name, value in {"startingOffsets": "12", "endingOffsets": '{"0": 12}'}.items():
        with pytest.raises(IllegalArgumentException, match=f"option {name} = .*at most 10 in partition 0"):
            load(ten, **{name: value}).collect()
    assert offsets(load(ten, startingOffsets="12", failOnDataLoss=False)) == []
    assert load(ten, startingOffsets='{"0": 12}', failOnDataLoss=False).count() == 0
    assert offsets(load(ten, startingOffsets="8", endingOffsets="12", failOnDataLoss=False)) == [8, 9]
    assert offsets(load(ten, startingOffsets="12", endingOffsets="14", failOnDataLoss=False)) == []


# ---- partitions


def test_partitions(fill: Fill, load: Load) -> None:
    for partition in range(3):
        fill([b"%d.%d" % (partition, i) for i in range(100)], partition=partition)
    rows = load().collect()
    assert [(row.partition, row.offset) for row in rows] == [(p, i) for p in range(3) for i in range(100)]
    assert all(bytes(row.value) == b"%d.%d" % (row.partition, row.offset) for row in rows)
    some = load(startingOffsets='{"0": 98, "1": -2, "2": 100}', endingOffsets='{"0": -1, "1": 1, "2": -1}')
    assert values(some) == [b"0.98", b"0.99", b"1.0"]
    with pytest.raises(IllegalArgumentException, match="an offset for each partition, as the queue has 3"):
        load(startingOffsets="5").collect()
    with pytest.raises(IllegalArgumentException, match="for each of the partitions that the queue has: 0, 1, 2"):
        load(startingOffsets='{"0": 5, "2": 5}').collect()


def test_parts_for_tasks(fill: Fill, load: Load) -> None:
    items = fill([b"x" * 1000] * 5000, segment_size="256k", max_in_mem_segments=10)

    def parts(**options: Any) -> int:
        frame = load(**options)
        assert values(frame) == items
        assert offsets(frame.select("offset", "timestamp")) == list(range(len(items)))
        return int(frame.rdd.getNumPartitions())

    assert parts() == 2  # as many as cores
    assert parts(maxPartitionBytes="1m") == 6  # the ring's 5 MB, rounded up to what keeps both cores at work
    assert parts(maxPartitionBytes="1g") == 2
    assert parts(minPartitions=1) == 1
    assert parts(minPartitions=16) == 16
    assert parts(minPartitions=4, maxPartitionBytes="600k") == 9


def test_tasks_prefer_the_host_that_spark_knows(fill: Fill, load: Load, spark: SparkSession) -> None:
    """Preferred locations have the name of the block manager, which is not that of the machine here."""
    fill(10)
    scan = load()._jdf.queryExecution().executedPlan().collectLeaves().apply(0)
    assert list(scan.inputPartitions().apply(0).preferredLocations()) == [spark.conf.get("spark.driver.host")]


def test_little_is_one_task(fill: Fill, load: Load) -> None:
    fill(1000, segment_size="64k")
    assert load().rdd.getNumPartitions() == 1
    assert load().select("offset").rdd.getNumPartitions() == 1
    assert load(minPartitions=3).rdd.getNumPartitions() == 3


# ---- lost records


@pytest.fixture
def trimmed(spark: SparkSession, queue_dir: Path) -> mmapqueue.Queue:
    """A queue with its first records overwritten."""
    ring: Ring = {**SMALL, "queue_capacity_segments": 8}
    queue = mmapqueue.Queue(queue_dir, spark=spark, **ring)
    for _ in range(40):
        queue.push_many([b"x" * 300] * 10)
        queue.ack_up_to(queue.pop_many(10)[-1]) if queue.qsize() > 50 else None
    return queue


def test_lost_records_are_an_error(trimmed: mmapqueue.Queue, load: Load, queue_dir: Path) -> None:
    with trimmed:
        trimmed.create_consumer("keep")  # otherwise segments are reclaimed in the background
        first = trimmed.stats().first_offset
        assert first > 10
        with pytest.raises(QueryFailed) as caught:
            load(startingOffsets=5).collect()
        expected = f"partition 0 of the queue in {queue_dir}: the records with offsets 5..{first - 1} were requested"
        assert expected in message(caught)
        assert "failOnDataLoss" in message(caught)
        assert offsets(load(startingOffsets=5, failOnDataLoss=False)) == list(range(first, 400))
        # These records are not requested here.
        assert offsets(load(startingOffsets=5).where(f"offset >= {first}")) == list(range(first, 400))
        assert offsets(load()) == list(range(first, 400))


def test_records_that_go_while_they_are_read(trimmed: mmapqueue.Queue, load: Load) -> None:
    with trimmed:
        trimmed.create_consumer("keep")
        first = trimmed.stats().first_offset
        failing, going_on = plan(load()), plan(load(failOnDataLoss=False).select("value", "offset"))
        trimmed.delete_consumer("keep")
        while trimmed.stats().first_offset < first + 20:
            trimmed.ack_up_to(trimmed.pop_many(10)[-1])
            trimmed.push_many([b"y" * 300] * 10)
        trimmed.create_consumer("keep")
        new_first = trimmed.stats().first_offset
        with pytest.raises(QueryFailed) as caught:
            failing.collect()
        assert f"the records with offsets {first}..{new_first - 1} were requested" in message(caught)
        assert f"the log starts at offset {new_first}" in message(caught)
        assert [row.offset for row in going_on.collect()] == list(range(new_first, 400))


def test_a_replaced_queue_is_an_error(fill: Fill, load: Load, queue_dir: Path) -> None:
    fill(10)
    frame = plan(load())
    shutil.rmtree(queue_dir)
    with pytest.raises(QueryFailed) as caught:
        frame.collect()
    assert f"partition 0 cannot be read in {queue_dir} on host " in message(caught)
    assert "there is no such directory; it was planned on host " in message(caught)
    assert "executors must run on that host, and see the directory under the same path" in message(caught)
    fill(10)
    with pytest.raises(QueryFailed, match="the queue in the directory has the id "):
        frame.collect()


def test_each_partition_is_read_whatever_others_exist(fill: Fill, load: Load, queue_dir: Path) -> None:
    for partition in (0, 2, 10):
        fill(partition + 1, partition=partition)
    (queue_dir / "p=1").mkdir()
    (queue_dir / "p=03").mkdir()
    assert load().groupBy("partition").count().orderBy("partition").collect() == [
        Row(partition=0, count=1),
        Row(partition=2, count=3),
        Row(partition=10, count=11),
    ]
    shutil.rmtree(queue_dir / "p=0")
    assert load(startingOffsets='{"2":1,"10":-2}').count() == 13


def test_damage_is_an_error(fill: Fill, load: Load, queue_dir: Path) -> None:
    fill([b"x" * 1000] * 30)
    segment = queue_dir / "2_segment.dat"
    damaged = bytearray(segment.read_bytes())
    damaged[1000] ^= 1
    segment.write_bytes(damaged)
    with pytest.raises(QueryFailed, match="checksum"):
        load(failOnDataLoss=False).collect()


def test_metrics(fill: Fill, load: Load) -> None:
    items = fill(1000)

    def counted(frame: Any) -> dict[str, int]:
        frame.collect()
        scan = frame._jdf.queryExecution().executedPlan().collectLeaves().head()
        names = "recordsRead", "bytesRead", "recordsDropped", "recordsDamaged", "numOutputRows"
        return {name: scan.metrics().apply(name).value() for name in names}

    size = sum(len(item) for item in items)
    whole = {"recordsDropped": 0, "recordsDamaged": 0}
    assert counted(load()) == {"recordsRead": 1000, "bytesRead": size, "numOutputRows": 1000, **whole}
    few = load(startingOffsets=990).select("offset")
    assert counted(few) == {"recordsRead": 10, "bytesRead": 0, "numOutputRows": 10, **whole}


def test_plans_that_take_no_batches(fill: Fill, load: Load) -> None:
    items = fill(4200, segment_size="64k")
    batch = load()._jdf.queryExecution().executedPlan().collectLeaves().head().scan().toBatch()
    [part] = batch.planInputPartitions()
    reader = batch.createReaderFactory().createReader(part)
    for offset in range(len(items)):
        assert reader.next()
        row = reader.get()
        assert (bytes(row.getBinary(0)), row.getInt(1), row.getLong(2)) == (items[offset], 0, offset)
        assert not row.isNullAt(3)
    assert not reader.next()
    reader.close()
