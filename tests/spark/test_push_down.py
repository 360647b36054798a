"""Push-down, as the plan shows it; the rows are compared with those of Spark alone."""

import re
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as f

import mmapqueue

from .conftest import SMALL, Fill, Load, explained, plan

pytestmark = pytest.mark.usefixtures("interpreted")


@pytest.fixture(scope="module")
def rows(plain: DataFrame) -> list[Row]:
    """All rows, in order."""
    return plain.collect()


@pytest.fixture(scope="module")
def times(plain: DataFrame) -> dict[str, str]:
    """The timestamps of the records, as SQL."""
    stamps = plain.select(f.unix_micros("timestamp").alias("t")).distinct().sort("t").collect()
    return {f"T{i}": f"timestamp_micros({row.t})" for i, row in enumerate(stamps)}


@pytest.fixture
def table(timed: Path, load: Load) -> DataFrame:
    return load(timed)


def with_times(condition: str, times: dict[str, str]) -> str:
    return re.sub(r"T\d+", lambda name: times[name.group()], condition)


#: Filters that are pushed down completely, and their text in the plan.
TAKEN = {
    "offset = 7": "offset in [7]",
    "offset < 7": "offset in [..6]",
    "295 < offset": "offset in [296..]",
    "offset <= 7 and offset >= 0": "offset in [0..7]",
    "offset in (3, 5, 6, 290)": "offset in [3, 5..6, 290]",
    "offset < 3 or offset > 297 or offset = 100": "offset in [..2, 100, 298..]",
    "not (offset > 5 and offset < 295)": "offset in [..5, 295..]",
    "offset between 5 and 8 and partition = 1": "offset in [5..8], partition in [1]",
    "offset > 9223372036854775806": "offset in [9223372036854775807]",
    "offset > 10.5": "offset in [11..]",
    "partition in (1, 5)": "partition in [1, 5]",
    "partition <> 0": "partition in [..-1, 1..]",
    "offset = 5 and offset = 6": None,
    "timestamp = T2": "timestamp in [",
    "timestamp < T2": "timestamp in [..",
    "timestamp <= T2": "timestamp in [..",
    "timestamp > T2": "timestamp in [",
    "timestamp >= T2 and timestamp <= T4 and offset > 120": "offset in [121..], timestamp in [",
    "timestamp in (T0, T3, T5)": "timestamp in [",
    "timestamp is not null": "timestamp in [..]",
    "timestamp < '1960-01-01'": "timestamp in [..-",
    "timestamp > '2100-01-01'": "timestamp in [4102444800000001..]",
    "timestamp between '0001-01-01' and '9999-12-31'": "timestamp in [-62135596800000000..253402214400000000]",
    "timestamp < T1 or timestamp > T4": "timestamp in [..",
}


def filters_in(text: str) -> bool:
    return re.search(r"\bFilter\b", text) is not None


@pytest.mark.parametrize("condition", TAKEN)
def test_filters_that_are_pushed_down(
    condition: str, table: DataFrame, plain: DataFrame, times: dict[str, str]
) -> None:
    frame = table.where(with_times(condition, times))
    text = explained(frame)
    assert not filters_in(text)
    assert TAKEN[condition] is None or f"PushedFilters: [{TAKEN[condition]}" in text
    expected = plain.where(with_times(condition, times)).collect()
    assert frame.collect() == expected
    assert frame.select("offset").collect() == [(row.offset,) for row in expected]
    assert frame.count() == len(expected)


#: Filters that Spark evaluates.
LEFT = [
    "offset % 2 = 0",
    "offset > 290 or partition = 1",
    "value = '7'",
    "timestamp is null",
    "offset = partition",
    "length(value) = 1 and offset < 100",
]


@pytest.mark.parametrize("condition", LEFT)
def test_filters_that_stay_with_spark(condition: str, table: DataFrame, plain: DataFrame) -> None:
    frame = table.where(condition)
    assert filters_in(explained(frame))
    expected = plain.where(condition).collect()
    assert frame.collect() == expected
    assert frame.limit(5).count() == len(expected[:5])


def test_more_than_some_values_are_looked_for_by_spark(table: DataFrame, rows: list[Row]) -> None:
    frame = table.where(f"offset in ({', '.join(str(i) for i in range(0, 200, 2))})")
    assert "PushedFilters: [offset in [0..198]" in explained(frame)
    assert frame.collect() == [row for row in rows if row.offset < 200 and row.offset % 2 == 0]


def test_columns(table: DataFrame) -> None:
    assert "PushedColumns: [offset]" in explained(table.select("offset"))
    assert "PushedColumns: [value, timestamp]" in explained(table.select("timestamp", "value"))
    assert "PushedColumns: []" in explained(table.select(f.lit(1)))
    assert table.select(f.lit(1)).collect() == [(1,)] * 600


def test_offsets_alone_touch_no_record(fill: Fill, load: Load, queue_dir: Path) -> None:
    fill([b"x" * 1000] * 30)
    frame = plan(load().select("offset", "partition"))
    for segment in queue_dir.glob("*.dat"):
        segment.unlink()
    assert frame.collect() == [(i, 0) for i in range(30)]


# ---- limit and offset


@pytest.mark.parametrize("count", [0, 1, 300, 301, 600, 1000])
def test_limit(count: int, table: DataFrame, rows: list[Row]) -> None:
    assert table.limit(count).collect() == rows[:count]


def test_limit_in_the_plan(table: DataFrame) -> None:
    text = explained(table.limit(10))
    assert "PushedLimit: 10" in text
    assert "Limit 10" not in text.replace("PushedLimit", "")
    assert table.limit(10).rdd.getNumPartitions() == 1
    assert "PushedLimit: 10" in explained(table.where("offset > 5").limit(10))


def test_offset(table: DataFrame, rows: list[Row]) -> None:
    assert "PushedOffset: 250" in explained(table.offset(250))
    for skip in (0, 299, 305, 600):
        assert table.offset(skip).collect() == rows[skip:]
        assert table.offset(skip).limit(20).collect() == rows[skip : skip + 20]
        assert table.limit(310).offset(skip).collect() == rows[skip:310]
    assert table.where("offset >= 290").offset(15).collect() == [row for row in rows if row.offset >= 290][15:]


def test_limit_of_times(table: DataFrame, rows: list[Row], times: dict[str, str]) -> None:
    late = [row for row in rows if row.timestamp > sorted({each.timestamp for each in rows})[3]]
    frame = table.where(with_times("timestamp > T3", times))
    assert "PushedLimit: 130" in explained(frame.limit(130))
    for count in (1, 130, 1000):
        assert len(frame.limit(count).collect()) == min(count, len(late))
    assert len(frame.offset(7).collect()) == len(late) - 7


# ---- aggregates


AGGREGATES = [
    "count(*), count(1) + 1, count(offset), count(value)",
    "min(offset), max(offset)",
    "max(offset) + 1, count(*) * 2, min(timestamp), max(timestamp)",
]


@pytest.mark.parametrize("condition", [None, "offset > 100 and partition = 1", "offset < 0"])
@pytest.mark.parametrize("functions", AGGREGATES)
def test_aggregates(functions: str, condition: str | None, table: DataFrame, plain: DataFrame) -> None:
    def aggregate(frame: DataFrame) -> DataFrame:
        return (frame if condition is None else frame.where(condition)).selectExpr(*functions.split(", "))

    text = explained(aggregate(table))
    assert "PushedAggregates: [" in text
    assert "HashAggregate" not in text
    assert aggregate(table).collect() == aggregate(plain).collect()


@pytest.mark.parametrize("condition", ["timestamp > T1", "timestamp between T1 and T4", "timestamp < '1999-01-01'"])
def test_aggregates_by_time(condition: str, table: DataFrame, plain: DataFrame, times: dict[str, str]) -> None:
    def aggregate(frame: DataFrame) -> DataFrame:
        return frame.where(with_times(condition, times)).selectExpr("min(offset)", "max(offset)", "max(timestamp)")

    assert "PushedAggregates: [min(offset), max(offset), max(timestamp)]" in explained(aggregate(table))
    assert aggregate(table).collect() == aggregate(plain).collect()


def test_aggregates_by_partition(table: DataFrame, plain: DataFrame) -> None:
    def aggregate(frame: DataFrame) -> DataFrame:
        return frame.groupBy("partition").agg(f.count("*"), f.max("offset"), f.min("timestamp"))

    assert "PushedGroupBy: [partition]" in explained(aggregate(table))
    assert sorted(aggregate(table).collect()) == sorted(aggregate(plain).collect())
    assert aggregate(table.where("offset < 0")).collect() == []


@pytest.mark.parametrize(
    "functions", ["sum(offset)", "count(distinct offset)", "max(value)", "count(*), avg(offset)", "min(offset + 1)"]
)
def test_aggregates_that_stay_with_spark(functions: str, table: DataFrame, plain: DataFrame) -> None:
    frame = table.selectExpr(*functions.split(", "))
    assert "PushedAggregates" not in explained(frame)
    assert frame.collect() == plain.selectExpr(*functions.split(", ")).collect()


def test_a_limit_after_an_aggregate(table: DataFrame) -> None:
    assert table.groupBy("partition").count().limit(1).count() == 1
    assert table.selectExpr("count(*) as n").limit(1).collect() == [(600,)]
    assert table.limit(7).count() == 7
    assert table.limit(7).agg(f.max("offset")).collect() == [(6,)]


def test_aggregates_touch_no_record_without_times(fill: Fill, load: Load, queue_dir: Path) -> None:
    items = fill([b"x" * 1000] * 30)
    segment = queue_dir / "2_segment.dat"
    damaged = bytearray(segment.read_bytes())
    damaged[1000] ^= 1
    segment.write_bytes(damaged)
    assert load().count() == len(items)
    assert load().agg(f.min("offset"), f.max("offset")).collect() == [(0, 29)]


def test_records_with_and_without_times(load: Load, spark: SparkSession, queue_dir: Path) -> None:
    for timestamps in (False, True, False, True):
        with mmapqueue.Queue(queue_dir, spark=spark, **SMALL, timestamps=timestamps) as queue:
            queue.push_many([b"x"] * 100)
    rows = load().collect()
    assert [row.timestamp is None for row in rows] == [i // 100 % 2 == 0 for i in range(400)]
    timed = load().where("timestamp > '2000-01-01'")
    assert timed.collect() == [row for row in rows if row.timestamp is not None]
    assert timed.select("offset").count() == 200
    assert len(timed.limit(150).collect()) == 150
    assert load().agg(f.min("timestamp"), f.max("timestamp"), f.count("timestamp")).collect() == [
        (rows[100].timestamp, rows[399].timestamp, 200)
    ]
    with mmapqueue.Queue(queue_dir, spark=spark, timestamps=False):
        assert timed.count() == 200


def test_little_is_broadcast(table: DataFrame) -> None:
    stats = table._jdf.queryExecution().optimizedPlan().stats()
    assert 600 * 24 < int(str(stats.sizeInBytes())) < 1 << 20
    assert "BroadcastHashJoin" in explained(table.join(table.select("offset", "partition"), ["partition", "offset"]))
