"""Order and partitions of a scan: the records that ORDER BY … LIMIT reads, and plans without a shuffle or a sort."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark import __version__ as spark_version
from pyspark.sql import Column, DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as f

import mmapqueue

from .conftest import SMALL, Fill, Load, QueryFailed, explained

pytestmark = pytest.mark.usefixtures("interpreted")


@pytest.fixture
def table(timed: Path, load: Load) -> DataFrame:
    """Two partitions of 300 records, in bursts of the same time."""
    return load(timed)


def records_read(frame: DataFrame) -> int:
    """The metric of the scan of a frame that was collected."""
    metrics = frame._jdf.queryExecution().executedPlan().collectLeaves().head().metrics()
    return int(metrics.apply("recordsRead").value())


def ordered(frame: DataFrame, order: str) -> DataFrame:
    return frame.orderBy([f.expr(key) if "DESC" not in key else descending(key) for key in order.split(", ")])


def descending(key: str) -> Column:
    column = f.col(key.split()[0])
    return column.desc_nulls_first() if key.endswith("FIRST") else column.desc()


def keys(order: str, rows: list[Row]) -> list[list[object]]:
    """What the order compares: rows that are equal in it come in any order."""
    return [[row[key.split()[0]] for key in order.split(", ")] for row in rows]


# ---- ORDER BY … LIMIT

#: Orders that need the first or last records of each partition alone, and the keys that decide, as the plan has them.
PUSHED = {
    "offset DESC": "offset DESC",
    "offset": "offset ASC",
    "offset DESC, value": "offset DESC",
    "partition, offset": "partition ASC, offset ASC",
    "partition DESC, offset DESC": "partition DESC, offset DESC",
    "partition": "partition ASC",
    "timestamp DESC": "timestamp DESC",
    "timestamp DESC, partition, offset DESC": "timestamp DESC, partition ASC, offset DESC",
}


@pytest.mark.parametrize("order", PUSHED)
def test_an_order_with_a_limit_reads_its_records(order: str, table: DataFrame, plain: DataFrame) -> None:
    frame = ordered(table, order).limit(5)
    assert f"PushedTopN: [{PUSHED[order]} LIMIT 5]" in explained(frame)
    rows = frame.collect()
    assert records_read(frame) == 2 * 5
    assert keys(order, rows) == keys(order, ordered(plain, order).limit(5).collect())


@pytest.mark.parametrize(
    "order",
    ["value", "partition, value", "timestamp", "timestamp DESC NULLS FIRST", "timestamp DESC, offset"],
)
def test_orders_that_need_all_records(order: str, table: DataFrame, plain: DataFrame) -> None:
    frame = ordered(table, order).limit(5)
    assert "PushedTopN" not in explained(frame)
    rows = frame.collect()
    assert records_read(frame) == 600
    assert keys(order, rows) == keys(order, ordered(plain, order).limit(5).collect())
    assert "PushedTopN" not in explained(table.orderBy(f.col("offset") % 7).limit(5))


@pytest.mark.parametrize(
    ("condition", "order", "read"),
    [
        ("partition = 1 AND offset BETWEEN 50 AND 100", "offset DESC", 5),
        ("offset IN (3, 5, 100, 200, 250, 251, 298)", "offset DESC", 10),
        ("offset IN (3, 5, 100, 200, 250, 251, 298)", "offset", 10),
        ("offset < 3", "offset DESC", 6),
        ("timestamp IS NOT NULL", "timestamp", 10),
        ("timestamp > timestamp_micros({third})", "offset DESC", 10),
        ("timestamp <= timestamp_micros({third}) AND partition = 0", "timestamp DESC", 5),
    ],
)
def test_an_order_after_a_filter(condition: str, order: str, read: int, table: DataFrame, plain: DataFrame) -> None:
    third = plain.select(f.unix_micros("timestamp").alias("t")).distinct().sort("t").collect()[2].t
    frame = ordered(table.where(condition.format(third=third)), order).limit(5)
    rows = frame.collect()
    assert records_read(frame) == read
    expected = ordered(plain.where(condition.format(third=third)), order).limit(5).collect()
    assert keys(order, rows) == keys(order, expected)


def test_an_order_with_offset_and_limit(table: DataFrame) -> None:
    frame = table.where("partition = 0").orderBy(f.desc("offset")).select("offset")
    some = frame.offset(3).limit(2)
    assert some.collect() == [(296,), (295,)]
    assert records_read(some) == 5
    assert frame.limit(4).offset(3).collect() == [(296,)]
    assert frame.limit(1000).count() == 300
    assert table.limit(5).orderBy(f.desc("offset")).limit(2).select("offset").collect() == [(4,), (3,)]
    assert table.groupBy("partition").agg(f.max("offset").alias("offset")).orderBy(f.desc("offset")).limit(1).count()


@pytest.mark.parametrize(
    ("order", "last_has_time", "limit", "read"),
    [
        ("timestamp DESC", True, 50, 50),
        ("timestamp DESC", True, 150, 400),
        ("timestamp DESC", False, 50, 400),
        ("offset DESC", False, 50, 50),
    ],
)
def test_records_without_a_time_are_sorted_by_spark(
    order: str,
    last_has_time: bool,
    limit: int,
    read: int,
    spark: SparkSession,
    load: Load,
    queue_dir: Path,
) -> None:
    for burst in range(4):
        with mmapqueue.Queue(queue_dir, spark=spark, **SMALL, timestamps=(burst % 2 == 1) == last_has_time) as queue:
            queue.push_many([b"x"] * 100)
    everything = spark.createDataFrame(load().collect(), load().schema)
    frame = ordered(load(), order).limit(limit)
    rows = frame.collect()
    assert records_read(frame) == read
    assert keys(order, rows) == keys(order, ordered(everything, order).limit(limit).collect())
    timed = load().where("timestamp > '2000-01-01'").orderBy(f.desc("offset")).limit(limit)
    expected = everything.where("timestamp IS NOT NULL").orderBy(f.desc("offset")).limit(limit)
    assert timed.select("offset").collect() == expected.select("offset").collect()


def test_times_of_many_bytes_are_not_read_in_planning(fill: Fill, load: Load) -> None:
    fill([b"x" * (1 << 20)] * 20, segment_size="4m", queue_capacity_segments=16, max_event_size=1 << 21)
    for limit, read in {10: 10, 17: 20}.items():
        frame = load().orderBy(f.desc("timestamp")).select("offset").limit(limit)
        assert len(frame.collect()) == limit
        assert records_read(frame) == read


def test_damage_is_reported_by_the_task(fill: Fill, load: Load, queue_dir: Path) -> None:
    fill([b"x" * 1000] * 30)
    segment = queue_dir / "2_segment.dat"
    damaged = bytearray(segment.read_bytes())
    damaged[1000] ^= 1
    segment.write_bytes(damaged)
    frame = load().orderBy(f.desc("timestamp")).limit(29)
    assert "PushedTopN" in explained(frame)
    with pytest.raises(QueryFailed, match=r"2_segment\.dat"):
        frame.collect()


# ---- partitions and order of a scan


@pytest.fixture
def bucketing(spark: SparkSession) -> Iterator[None]:
    """Lets Spark use the partitions that sources report, which Spark 3.5 does not by default."""
    key = "spark.sql.sources.v2.bucketing.enabled"
    spark.conf.set(key, "true")
    yield
    spark.conf.unset(key)


def shuffles(frame: DataFrame) -> bool:
    return re.search(r"\bExchange\b", explained(frame)) is not None


def sorts(frame: DataFrame) -> bool:
    return re.search(r"\bSort\b", explained(frame)) is not None


def sums(frame: DataFrame) -> DataFrame:
    return frame.groupBy("partition").agg(f.sum("offset"), f.max("value"))


def ranks(frame: DataFrame) -> DataFrame:
    offsets = Window.partitionBy("partition").orderBy("offset")
    return frame.withColumn("rank", f.row_number().over(offsets)).where("rank = offset + 1")


@pytest.mark.usefixtures("bucketing")
def test_one_task_for_each_partition_needs_neither_shuffle_nor_sort(table: DataFrame, plain: DataFrame) -> None:
    assert not shuffles(sums(table))
    assert sorted(sums(table).collect()) == sorted(sums(plain).collect())
    assert not shuffles(ranks(table))
    assert not sorts(ranks(table))
    assert ranks(table).count() == 600
    assert not sorts(table.sortWithinPartitions("partition", "offset"))
    assert not sorts(table.select("offset").sortWithinPartitions("offset"))
    assert sums(table.where("offset < 0")).collect() == []


@pytest.mark.usefixtures("bucketing")
def test_several_tasks_for_a_partition(timed: Path, load: Load, plain: DataFrame) -> None:
    split = load(timed, minPartitions=8)
    assert split.rdd.getNumPartitions() >= 8, "they run in parallel where no query needs them as one"
    # Newer versions merge them, in an order that Spark does not rely on.
    merges = tuple(map(int, spark_version.split(".")[:2])) >= (4, 2)
    assert shuffles(sums(split)) != merges
    assert sorted(sums(split).collect()) == sorted(sums(plain).collect())
    assert shuffles(ranks(split)) != merges
    assert sorts(ranks(split))
    assert ranks(split).count() == 600


@pytest.mark.usefixtures("bucketing")
def test_a_join_by_partition_needs_no_shuffle(table: DataFrame, plain: DataFrame) -> None:
    def joined(frame: DataFrame) -> DataFrame:
        some = frame.where("offset < 5")
        return some.alias("a").join(some.alias("b").hint("merge"), "partition").selectExpr("a.offset", "b.offset")

    assert not shuffles(joined(table))
    assert sorted(joined(table).collect()) == sorted(joined(plain).collect())


def test_without_the_setting_spark_shuffles(spark: SparkSession, table: DataFrame) -> None:
    spark.conf.set("spark.sql.sources.v2.bucketing.enabled", "false")
    try:
        assert shuffles(sums(table))
        assert shuffles(ranks(table))
        assert not sorts(table.sortWithinPartitions("partition", "offset"))
    finally:
        spark.conf.unset("spark.sql.sources.v2.bucketing.enabled")
