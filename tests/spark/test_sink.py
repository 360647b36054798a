"""Batch writes: rows become records, all of them or none."""

import datetime
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import mmapqueue
from conftest import Script

from .sinks import REFUSED, append, flat, numbers, partitions, records, staged


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    """0 … 99 as text, in 3 tasks."""
    return spark.range(0, 100, 1, 3).select(sf.col("id").cast("string").alias("value"))


def refused(rows: DataFrame, path: Path, **options: object) -> str:
    """The error of a failed append."""
    with pytest.raises(REFUSED) as caught:
        append(rows, path, **options)
    return str(caught.value)


@pytest.mark.parametrize("kind", ["string", "binary"])
def test_rows_become_records_in_the_order_of_their_tasks(
    rows: DataFrame, spark: SparkSession, queue_dir: Path, kind: str
) -> None:
    append(rows.select(sf.col("value").cast(kind)), queue_dir)
    append(rows.select(sf.col("value").cast(kind)), queue_dir)
    assert records(spark, queue_dir) == numbers(0, 100) * 2
    assert staged(queue_dir) == []


def test_rows_of_the_driver_and_of_no_bytes(spark: SparkSession, queue_dir: Path) -> None:
    values = [b"", b"\x00\xff", "ä".encode(), b"x" * 8000]
    append(spark.createDataFrame([(bytearray(value),) for value in values], "value binary").coalesce(1), queue_dir)
    assert records(spark, queue_dir) == values


def test_a_batch_without_rows(rows: DataFrame, spark: SparkSession, queue_dir: Path) -> None:
    append(rows.where("value = 'none'"), queue_dir)
    assert records(spark, queue_dir) == []
    append(rows.where("value = 'none'"), queue_dir.with_name("two"), partitions=2)
    assert partitions(spark, queue_dir.with_name("two")) == [[], []]


def test_large_rows_and_many_blocks(spark: SparkSession, queue_dir: Path) -> None:
    rows = spark.range(0, 600, 1, 2).select(sf.expr("repeat(cast(id as string), 1000)").alias("value"))
    append(rows, queue_dir, segment_size="64k")
    assert records(spark, queue_dir) == [b"%d" % i * 1000 for i in range(600)]


def test_what_was_read_can_be_written(spark: SparkSession, queue_dir: Path) -> None:
    # The columns of the read schema; offset and timestamp are ignored.
    now = datetime.datetime(2020, 1, 1)
    read = spark.createDataFrame(
        [(bytearray(b"a"), 1, 10, now), (bytearray(b"b"), 0, 11, now), (bytearray(b"c"), 1, 12, now)],
        "value binary, partition int, offset long, timestamp timestamp",
    )
    append(read.coalesce(1), queue_dir, partitions=2)
    assert partitions(spark, queue_dir) == [[b"b"], [b"a", b"c"]]
    with mmapqueue.Queue(queue_dir / "p=0", spark=spark) as queue:
        pushed = queue.pop().timestamp
        assert pushed is not None
        assert pushed.year > now.year


def test_each_partition_in_turn(rows: DataFrame, spark: SparkSession, queue_dir: Path) -> None:
    append(rows, queue_dir, partitions=4)
    found = partitions(spark, queue_dir)
    assert [len(each) for each in found] == [25, 25, 25, 25]
    assert sorted(flat(found)) == sorted(numbers(0, 100))
    assert all(each == sorted(each, key=int) for each in found)


@pytest.mark.parametrize("kind", ["string", "binary", "bigint", "int", "smallint", "boolean", "date", "timestamp"])
def test_a_key_has_its_partition(spark: SparkSession, queue_dir: Path, kind: str) -> None:
    keys = {
        "binary": "cast(cast(id as string) as binary)",
        "boolean": "id % 2 = 0",
        "date": "date_add(date'2020-01-01', cast(id as int))",
        "timestamp": "timestamp_seconds(id)",
    }
    key = keys.get(kind, f"cast(id as {kind})")
    rows = spark.range(0, 40, 1, 2).select(
        sf.expr("cast(id as string)").alias("value"), sf.expr(f"if(id = 7, null, {key})").alias("k")
    )
    append(rows, queue_dir, partitions=3, key="k")
    # Spark's own function, so that other programs can compute it.
    expected = rows.select("value", sf.expr("pmod(hash(k), 3)").alias("p")).collect()
    assert [sorted(each) for each in partitions(spark, queue_dir)] == [
        sorted(row.value.encode() for row in expected if row.p == p) for p in range(3)
    ]


def test_the_value_itself_may_be_the_key(rows: DataFrame, spark: SparkSession, queue_dir: Path) -> None:
    append(rows, queue_dir, partitions=2, key="value")
    append(rows, queue_dir, key="VALUE")
    found = partitions(spark, queue_dir)
    assert sorted(flat(found)) == sorted(numbers(0, 100) * 2)
    assert not set(found[0]) & set(found[1])


def test_partitions_are_added_and_never_taken_away(rows: DataFrame, spark: SparkSession, queue_dir: Path) -> None:
    append(rows, queue_dir, partitions=2)
    append(rows, queue_dir)
    append(rows, queue_dir, partitions=3)
    assert [len(each) for each in partitions(spark, queue_dir)] == [133, 133, 34]
    assert "partitions = 2; allowed: 3 or more" in refused(rows, queue_dir, partitions=2)
    append(rows, queue_dir.with_name("single"))
    assert "partitions = 2; allowed: 1, as the queue is in" in refused(
        rows, queue_dir.with_name("single"), partitions=2
    )


def test_a_row_that_names_no_partition_of_the_queue(spark: SparkSession, queue_dir: Path) -> None:
    rows = spark.range(3).select(sf.lit("x").alias("value"), sf.col("id").cast("int").alias("partition"))
    assert "the column partition is 2 in a row of task" in refused(rows, queue_dir, partitions=2)
    assert partitions(spark, queue_dir) == [[], []]
    assert staged(queue_dir) == []
    nulls = rows.select("value", sf.expr("if(partition = 2, null, partition)").alias("partition"))
    append(nulls, queue_dir)
    assert sum(len(each) for each in partitions(spark, queue_dir)) == 3


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ("id", "the column value is missing; found struct<id:bigint>; expected value (string or binary)"),
        ("id as value", "the column value is of type bigint; allowed: string or binary"),
        ("'x' as value, id as partition", "the column partition is of type bigint; allowed: int"),
        (
            "'x' as value, id, 1 as headers",
            "columns that cannot be stored: id (bigint), headers (int); expected value (string or binary)",
        ),
        ("'x' as value, 1 as timestamp", "columns that cannot be stored: timestamp (int)"),
    ],
)
def test_columns_that_are_refused(spark: SparkSession, queue_dir: Path, columns: str, text: str) -> None:
    assert text in refused(spark.range(3).selectExpr(*columns.split(", ")), queue_dir)
    assert not queue_dir.exists()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"key": "k"}, "option key = k; allowed: a column of the rows: struct<value:string>"),
        ({"key": " "}, "option key = ; allowed: the name of a column"),
        ({"partitions": "0"}, "option partitions = 0; allowed: a whole number of at least 1"),
        ({"partitions": "10001"}, "option partitions = 10001; allowed: 1..10000"),
        ({"pushTimeout": "soon"}, "option pushTimeout = soon; allowed: a time such as 500ms, 60s, 5m, 15 minutes"),
        ({"sync": "yes"}, "option sync = yes; allowed: true, false"),
        ({"format_version": "1"}, "option format_version = 1; allowed: 2"),
        ({"segment_size": "1"}, "option segment_size = 1; allowed: "),
        ({"capacity": "lots"}, "option capacity = lots; allowed: a number of bytes"),
        ({"capacity": "2m"}, "option capacity = 2097152; allowed: 1048576, as queue_capacity_segments is 256"),
    ],
)
def test_options_that_are_refused(rows: DataFrame, queue_dir: Path, options: dict[str, str], text: str) -> None:
    assert text in refused(rows, queue_dir, **options)


def test_a_path_that_is_refused(rows: DataFrame, queue_dir: Path) -> None:
    queue_dir.mkdir()
    (queue_dir / "other").write_text("")
    for path, why in ((queue_dir, "this one holds other"), (queue_dir / "other", "is a file")):
        text = refused(rows, path)
        assert f"option path = {path}; allowed: " in text
        assert why in text


@pytest.mark.parametrize("kind", ["string", "binary"])
def test_the_only_column_has_to_be_called_value(spark: SparkSession, queue_dir: Path, kind: str) -> None:
    rows = spark.range(3).selectExpr(f"cast(cast(id as string) as {kind}) as user")
    found = f"the column value is missing; found struct<user:{kind}>; expected value (string or binary)"
    assert found in refused(rows, queue_dir)
    assert not queue_dir.exists()
    append(rows.withColumnRenamed("user", "VALUE"), queue_dir)
    assert len(records(spark, queue_dir)) == 3


def test_a_key_and_a_partition(spark: SparkSession, queue_dir: Path) -> None:
    rows = spark.range(3).selectExpr("'x' as value", "1 as partition", "id as k")
    assert "the column partition and option key = k both select the partition" in refused(rows, queue_dir, key="k")
    array = spark.range(3).selectExpr("'x' as value", "array(id) as k")
    assert "the column k is of type array<bigint>; allowed: string, binary" in refused(array, queue_dir, key="k")


def test_rows_that_are_refused(spark: SparkSession, rows: DataFrame, queue_dir: Path) -> None:
    append(rows, queue_dir)
    nulls = spark.range(0, 10, 1, 1).select(sf.expr("if(id = 7, null, 'x')").alias("value"))
    assert "the column value is null in a row of task 0; allowed: a string or bytes" in refused(nulls, queue_dir)
    large = spark.range(0, 10, 1, 1).select(sf.expr("repeat('x', 7995 + cast(id as int))").alias("value"))
    assert "a row of task 0 has 8001 bytes, and the queue takes up to max_event_size = 8000" in refused(
        large, queue_dir
    )
    assert records(spark, queue_dir) == numbers(0, 100)
    assert staged(queue_dir) == []


@pytest.mark.parametrize("missing", [0, 1])
def test_a_write_needs_each_partition_up_to_the_last(
    rows: DataFrame, spark: SparkSession, queue_dir: Path, missing: int
) -> None:
    append(rows, queue_dir, partitions=3)
    (queue_dir / f"p={missing}").rename(queue_dir / "elsewhere")
    for options in ({}, {"partitions": 3}, {"partitions": 5}):
        text = refused(rows, queue_dir, **options)
        assert f"this one holds p={missing + 1} and no p={missing}: put that back" in text
    assert sorted(each.name for each in queue_dir.glob("p=*")) == [f"p={i}" for i in range(3) if i != missing]
    (queue_dir / "elsewhere").rename(queue_dir / f"p={missing}")
    append(rows, queue_dir)
    assert spark.read.format("mmapqueue").load(str(queue_dir)).count() == 200


def test_overwrite_is_refused(rows: DataFrame, spark: SparkSession, queue_dir: Path) -> None:
    append(rows, queue_dir)
    with pytest.raises(Exception, match="mode overwrite is not supported, use append"):
        rows.write.format("mmapqueue").mode("overwrite").save(str(queue_dir))
    assert records(spark, queue_dir) == numbers(0, 100)


@pytest.mark.parametrize(("count", "width", "needed"), [(1, 84, 10400), (2, 184, 10000)])
def test_a_full_queue_says_what_it_lacks(
    rows: DataFrame, spark: SparkSession, queue_dir: Path, count: int, width: int, needed: int
) -> None:
    ring = {"queue_capacity_segments": 4, "partitions": count, "pushTimeout": "0s"}
    thick = rows.select(sf.rpad("value", width, ".").alias("value"))
    append(thick, queue_dir, **ring)
    text = refused(thick, queue_dir, **ring)
    first = queue_dir if count == 1 else queue_dir / "p=0"
    assert f"the batch takes {needed} bytes of {first}, of which " in text
    assert "of 12096 are free, and there was no room within pushTimeout = 0ms; it has no consumer" in text
    assert staged(queue_dir) == []
    for path in [queue_dir] if count == 1 else [queue_dir / "p=0", queue_dir / "p=1"]:
        with mmapqueue.Queue(path, spark=spark) as queue:
            queue.ack_up_to(queue.pop_many(1000)[-1])
    append(thick, queue_dir, **ring)
    assert len(records(spark, first)) == 100 // count


@pytest.mark.parametrize("count", [1, 2])
def test_more_than_the_ring_holds(spark: SparkSession, queue_dir: Path, count: int) -> None:
    rows = spark.range(0, 400, 1, 2).select(sf.lit("x" * 84).alias("value"))
    text = refused(rows, queue_dir, queue_capacity_segments=4, partitions=count)
    assert f"the batch takes {41600 // count} bytes of {queue_dir}" in text
    assert "its ring holds 12096 (4 segments of 4096 bytes): write less at once" in text
    assert staged(queue_dir) == []


def test_sync(rows: DataFrame, spark: SparkSession, queue_dir: Path) -> None:
    append(rows, queue_dir, sync=True)
    append(rows, queue_dir.with_name("two"), sync=True, partitions=2)
    assert records(spark, queue_dir) == numbers(0, 100)
    assert sorted(flat(partitions(spark, queue_dir.with_name("two")))) == sorted(numbers(0, 100))


@pytest.mark.parametrize("sync", [False, True])
def test_sync_is_what_makes_rows_durable(rows: DataFrame, spark: SparkSession, queue_dir: Path, sync: bool) -> None:
    never = 2**31 - 1
    # Open in the driver: the sink shares it, and does not close it; a close would make all records durable.
    with mmapqueue.Queue(
        queue_dir, spark=spark, segment_size="64k", capacity="1m", flush_period="24d", flush_ceiling_num=never
    ) as queue:
        rows.write.format("mmapqueue").mode("append").option("sync", sync).save(str(queue_dir))
        stats = queue.stats()
        assert stats.end_offset == 100
        assert (stats.durable_position == stats.end_position) is sync


HOLDER = """
import sys
import mmapqueue
with mmapqueue.Queue(sys.argv[1], segment_size="4k", queue_capacity_segments=256) as queue:
    print("open", flush=True)
    sys.stdin.readline()
"""


def test_another_process_writes_the_queue(rows: DataFrame, queue_dir: Path, script: Script) -> None:
    holder = script.start(HOLDER, queue_dir)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "open\n"
    text = refused(rows, queue_dir)
    assert str(queue_dir) in text
    assert "LockedException" in text
    out, err = holder.communicate("\n", timeout=60)
    assert holder.returncode == 0, err
    append(rows, queue_dir)
    # After the write, other processes can open the queue at once.
    again = script.start(HOLDER, queue_dir)
    out, err = again.communicate("\n", timeout=60)
    assert (again.returncode, out) == (0, "open\n"), err


def test_a_queue_that_the_driver_has_open(rows: DataFrame, spark: SparkSession, queue_dir: Path) -> None:
    with mmapqueue.Queue(queue_dir, spark=spark, segment_size="8k") as queue:
        rows.write.format("mmapqueue").mode("append").save(str(queue_dir))
        assert len(queue.pop_many(1000)) == 100
        assert "option segment_size = 4096; allowed: " in refused(rows, queue_dir)
        queue.push(b"still open")
