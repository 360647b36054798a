"""Random filters, limits, orders and aggregates: rows are those of the same query where nothing can be pushed down."""

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as f

import mmapqueue
from conftest import LONG

from .conftest import SMALL

pytestmark = pytest.mark.usefixtures("interpreted")

ROUNDS = 400 if LONG else 6
SEED = int(os.environ.get("SEED", time.time_ns() % 1_000_000))
OFFSETS = ["-1", "0", "1", "7", "39", "40", "41", "119", "120", "9223372036854775807", "-9223372036854775808"]
OTHER_NUMBERS = ["10.5", "'12'", "NULL", "1e300", "cast(3 as tinyint)", "9223372036854775808"]
OTHER_CONDITIONS = [
    "value = '7'",
    "length(value) > 1",
    "offset % 3 = 1",
    "offset = partition",
    "cast(offset AS int) < 30",
    "cast(offset AS string) = '7'",
    "cast(timestamp AS date) > DATE '2020-01-01'",
    "true",
    "false",
]
ZONES = ["UTC", "America/New_York", "Asia/Kolkata"]


@pytest.fixture(scope="module")
def mixed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A queue and its archive: partitions of 120 records with timestamps, without, and of both kinds."""
    path = tmp_path_factory.mktemp("mixed")
    for partition, kinds in enumerate([[True] * 3, [False] * 3, [False, True, False], [True, False, True]]):
        for timestamps in kinds:
            settings: dict[str, Any] = {
                **SMALL,
                "archive_uri": path / "archive",
                "ship_period": "10ms",
                "flush_period": "10ms",
                "timestamps": timestamps,
            }
            with mmapqueue.Queue(path / "queue" / f"p={partition}", spark=spark, **settings) as queue:
                if "keep" not in queue.consumers():
                    queue.create_consumer("keep")  # what is shipped need not be retained
                for _ in range(2):
                    queue.push_many([b"%d" % i for i in range(20)], shipped=True)
    return path


@pytest.fixture(scope="module")
def everything(spark: SparkSession, mixed: Path) -> DataFrame:
    """The same rows where nothing can be pushed down."""
    rows = spark.read.format("mmapqueue").load(str(mixed / "queue")).collect()
    assert len(rows) == 4 * 120
    return spark.createDataFrame(rows, "value binary, partition int, offset long, timestamp timestamp")


@pytest.fixture(scope="module", autouse=True)
def zone(spark: SparkSession) -> Iterator[None]:
    """Restores the session's time zone."""
    before = spark.conf.get("spark.sql.session.timeZone")
    yield
    spark.conf.set("spark.sql.session.timeZone", str(before))


class Queries:
    """Makes random SQL."""

    def __init__(self, chance: random.Random, everything: DataFrame) -> None:
        self.chance = chance
        micros = {int(row.t) for row in everything.selectExpr("unix_micros(timestamp) AS t").collect() if row.t}
        near = sorted(micros | {each + 1 for each in micros} | {each - 1 for each in micros})
        self.times = [f"timestamp_micros({each})" for each in near]
        self.times += ["TIMESTAMP '1960-01-01'", "TIMESTAMP '2300-01-01 00:00:00Z'", "DATE '2020-02-02'", "NULL"]
        self.times += ["'2001-01-01 12:00'", "TIMESTAMP_NTZ '2030-01-01 00:00:00'"]

    def condition(self, depth: int = 3) -> str:
        kind = self.chance.random()
        if depth == 0 or kind < 0.3:
            return self.atom()
        if kind < 0.45:
            return f"NOT ({self.condition(depth - 1)})"
        word = self.chance.choice(["AND", "OR"])
        return f"({self.condition(depth - 1)}) {word} ({self.condition(depth - 1)})"

    def atom(self) -> str:
        column = self.chance.choice(["offset"] * 3 + ["timestamp"] * 3 + ["partition"] * 2 + ["other"])
        if column == "other":
            return self.chance.choice(OTHER_CONDITIONS)
        shape = self.chance.randrange(8)
        if shape == 0:
            return f"{column} IS {self.chance.choice(['', 'NOT'])} NULL"
        if shape == 1:
            values = ", ".join(self.literal(column) for _ in range(self.chance.randint(1, 5)))
            return f"{column} {self.chance.choice(['', 'NOT'])} IN ({values})"
        if shape == 2:
            return f"{column} BETWEEN {self.literal(column)} AND {self.literal(column)}"
        sides = [column, self.literal(column)]
        self.chance.shuffle(sides)
        return self.chance.choice(["=", "<", "<=", ">", ">=", "<>", "<=>"]).join(sides)

    def literal(self, column: str) -> str:
        if column == "timestamp":
            return self.chance.choice(self.times)
        if self.chance.random() < 0.1:
            return self.chance.choice(OTHER_NUMBERS)
        if column == "partition":
            return str(self.chance.randint(-1, 5))
        return self.chance.choice(OFFSETS) if self.chance.random() < 0.3 else str(self.chance.randint(0, 125))


def values(rows: list[Row]) -> list[str]:
    return sorted(map(str, rows))


AGGREGATES = [
    ["count(*)"],
    ["min(offset)", "max(offset)"],
    ["min(timestamp)", "max(offset)"],
    ["max(timestamp)"],
    ["count(timestamp)", "min(offset)"],
    ["count(*) FILTER (WHERE offset < 9)", "count(value)"],
]

ORDERS = {
    "offset, partition": (["offset", "partition"], [True, True]),
    "offset DESC, partition": (["offset", "partition"], [False, True]),
    "partition DESC, offset DESC": (["partition", "offset"], [False, False]),
    "timestamp, partition, offset": (["timestamp", "partition", "offset"], [True, True, True]),
    "timestamp DESC, partition DESC, offset DESC": (["timestamp", "partition", "offset"], [False, False, False]),
}


def check_rows(table: DataFrame, expected: list[Row], what: str) -> None:
    assert values(table.collect()) == values(expected), what
    keys = [Row(partition=row.partition, offset=row.offset) for row in expected]
    assert values(table.select("partition", "offset").collect()) == values(keys), what


def check_aggregates(table: DataFrame, plain: DataFrame, chance: random.Random, what: str) -> None:
    functions = [f.expr(each) for each in chance.choice(AGGREGATES)]
    keys = chance.choice([[], ["partition"]])
    found, expected = (each.groupBy(*keys).agg(*functions).collect() for each in (table, plain))
    assert values(found) == values(expected), (what, functions, keys)


def check_limits(table: DataFrame, expected: list[Row], chance: random.Random, what: str) -> None:
    count, skip = chance.choice([0, 1, 5, 100]), chance.choice([0, 1, 30, 1000])
    some, rows = chance.choice(
        [
            (table.limit(count), expected[:count]),
            (table.offset(skip), expected[skip:]),
            (table.offset(skip).limit(count), expected[skip : skip + count]),
            (table.limit(count).offset(skip), expected[skip:count]),
            (table.limit(100).offset(skip).limit(count), expected[:100][skip : skip + count]),
        ]
    )
    found = some.collect()
    assert len(set(found)) == len(found) == len(rows), (what, count, skip)
    assert set(found) <= set(expected), (what, count, skip)


def check_orders(table: DataFrame, plain: DataFrame, chance: random.Random, what: str) -> None:
    order, (columns, ascending) = chance.choice(list(ORDERS.items()))
    count, skip = chance.choice([0, 1, 5, 100]), chance.choice([0, 1, 30])
    found, expected = (
        each.orderBy(columns, ascending=ascending).offset(skip).limit(count).collect() for each in (table, plain)
    )
    assert found == expected, (what, order, count, skip)


@pytest.mark.slow
@pytest.mark.long_form
@pytest.mark.parametrize("kind", ["queue", "archive"])
def test_random_queries(kind: str, mixed: Path, everything: DataFrame, spark: SparkSession) -> None:
    chance = random.Random(f"{kind} {SEED}")
    queries = Queries(chance, everything)
    for _ in range(ROUNDS):
        spark.conf.set("spark.sql.session.timeZone", chance.choice(ZONES))
        condition = queries.condition()
        what = f"SEED={SEED}, {kind}, {condition}"
        print(what)  # of an exception
        table = spark.read.format("mmapqueue").load(str(mixed / kind)).where(condition)
        plain = everything.where(condition)
        expected = plain.collect()
        check_rows(table, expected, what)
        check_aggregates(table, plain, chance, what)
        check_limits(table, expected, chance, what)
        check_orders(table, plain, chance, what)
