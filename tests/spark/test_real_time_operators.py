"""What runs in real-time mode from PySpark, and what Spark refuses, as the table of docs/reference/spark.md says."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import mmapqueue
from conftest import eventually

pytest.importorskip("pyspark")

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from .conftest import Fill, QueryFailed
from .streams import SECONDS
from .test_real_time_sink import LONG
from .test_stream_real_time import SHORTEST, VERSION, needs_real_time

NOT_ALLOWED = "not in the operator allowlist"

#: The rows of one queue and of another one: value as text, partition, offset, timestamp.
Build = Callable[[DataFrame, DataFrame], DataFrame]


def broadcast(rows: DataFrame, _: DataFrame) -> DataFrame:
    names = rows.sparkSession.createDataFrame([("1", "one")], "value string, name string")
    return rows.join(sf.broadcast(names), "value", "left").drop("name")


def union(rows: DataFrame, other: DataFrame) -> DataFrame:
    return rows.withColumn("source", sf.lit("a")).union(other.withColumn("source", sf.lit("b")))


def exploded(rows: DataFrame, _: DataFrame) -> DataFrame:
    words = sf.posexplode(sf.split("value", " ")).alias("ordinal", "value")
    return rows.select(words, "partition", "offset")


def counts(rows: DataFrame, key: str | Column) -> DataFrame:
    """The rows of an aggregate, with the place of the record that changed them."""
    place = [sf.max("partition").alias("partition"), sf.max("offset").alias("offset")]
    found = rows.groupBy(key).agg(sf.count("*").alias("count"), *place)
    return found.selectExpr("CAST(count AS STRING) AS value", "partition", "offset")


def late(rows: DataFrame) -> DataFrame:
    return rows.withWatermark("timestamp", "1 hour")


def windows(rows: DataFrame, _: DataFrame) -> DataFrame:
    return counts(late(rows), sf.window("timestamp", "1 hour"))


def upper(rows: DataFrame, _: DataFrame) -> DataFrame:
    shout = sf.udf(lambda text: text.upper(), "string", useArrow=False)
    return rows.select(shout("value").alias("value"), "partition", "offset")


#: What runs from which version on.
RUNS: dict[str, tuple[tuple[int, int], Build]] = {
    "filter and projection": ((4, 1), lambda rows, _: rows.where("offset > 0").select("value", "partition", "offset")),
    "posexplode": ((4, 1), exploded),
    "join with a broadcast frame": ((4, 1), broadcast),
    "union of two queues": ((4, 1), union),
    "watermark": ((4, 1), lambda rows, _: late(rows)),
    "count": ((4, 3), lambda rows, _: counts(rows, "value")),
    "dropDuplicates": ((4, 3), lambda rows, _: rows.dropDuplicates(["value"])),
    "dropDuplicates with a watermark": ((4, 3), lambda rows, _: late(rows).dropDuplicates(["value", "timestamp"])),
    "windows": ((4, 3), windows),
    "repartition": ((4, 3), lambda rows, _: rows.repartition(1)),
}

#: What needs more tasks at a time than the session of the other tests has: three.
WIDE: dict[str, tuple[tuple[int, int], Build]] = {
    "windows over a union": ((4, 3), lambda rows, other: windows(rows.union(other.where("offset > 5")), other)),
}

#: Runs a query of WIDE in a session of its own, and prints its error.
PROGRAM = """
import sys
from pathlib import Path

from sessions import spark_session
from spark.conftest import pushing
from spark.test_real_time_operators import WIDE, outcome

name, directory = sys.argv[1], Path(sys.argv[2])
with spark_session(3, directory / "warehouse", "OFF", spark_sql_shuffle_partitions="1") as spark:
    said = outcome(spark, pushing(spark, directory / "queue"), directory, WIDE[name][1])
    print("said:", said)
"""

#: What no version runs, and a part of Spark's error.
REFUSED: dict[str, tuple[Build, str]] = {
    "union of a queue with itself": (
        lambda rows, _: rows.union(rows.where("offset > 5")),
        "union on two or more identical streaming data sources",
    ),
    "join of two streams": (
        lambda rows, other: rows.join(other.select("value"), "value"),
        f"{NOT_ALLOWED}|not supported in Update output mode",
    ),
    "dropDuplicatesWithinWatermark": (lambda rows, _: late(rows).dropDuplicatesWithinWatermark(["value"]), NOT_ALLOWED),
    "session windows": (
        lambda rows, _: counts(late(rows), sf.session_window("timestamp", "1 hour")),
        "not supported for session window",
    ),
    "Python UDF": (upper, NOT_ALLOWED),
    "coalesce": (lambda rows, _: rows.coalesce(1), NOT_ALLOWED),
    "limit": (lambda rows, _: rows.limit(3), "Limits are not supported"),
}


@pytest.fixture(name="spark")
def with_one_partition(spark: SparkSession) -> Iterator[SparkSession]:
    """The session of all tests, with a core for each task of a query here, as they run at the same time."""
    key = "spark.sql.shuffle.partitions"
    before = str(spark.conf.get(key))
    spark.conf.set(key, "1")
    yield spark
    spark.conf.set(key, before)


def outcome(spark: SparkSession, fill: Fill, tmp_path: Path, build: Build) -> str:
    """Runs a query until there are rows, and returns its error, if there is one."""
    frames = []
    for name in ("queue", "other"):
        fill([b"%d" % (i % 3) for i in range(6)], path=tmp_path / name)
        frame = mmapqueue.read_stream(tmp_path / name, spark=spark)
        frames.append(frame.selectExpr("CAST(value AS STRING) AS value", "partition", "offset", "timestamp"))
    target = tmp_path / "target"

    def has_rows() -> bool:
        if not (target / "meta.dat").exists():
            return False
        with mmapqueue.Queue(target, spark=spark) as queue:
            return queue.stats().end_offset > 0

    try:
        sink = mmapqueue.real_time_sink(build(*frames), target, checkpoint=tmp_path / "checkpoint", batch=LONG)
        query = sink.start()
        try:
            assert eventually(lambda: has_rows() or not query.isActive, SECONDS), query.status
            failure = query.exception()
        finally:
            query.stop()
    except QueryFailed as error:
        return str(error)
    return str(failure) if failure else ""


@needs_real_time
@pytest.mark.parametrize("name", RUNS)
def test_what_runs(spark: SparkSession, fill: Fill, tmp_path: Path, name: str) -> None:
    first, build = RUNS[name]
    check(first, outcome(spark, fill, tmp_path, build))


def check(first: tuple[int, int], said: str) -> None:
    """Checks the error of a query that runs from a version on."""
    if first <= VERSION:
        assert said == ""
    else:
        assert NOT_ALLOWED in said


@needs_real_time
@pytest.mark.parametrize("name", WIDE)
def test_what_runs_with_more_tasks(tmp_path: Path, name: str) -> None:
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, name, tmp_path],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    _, found, said = ended.stdout.partition("said: ")
    assert found, ended.stderr
    check(WIDE[name][0], said.strip())


@needs_real_time
@pytest.mark.parametrize("name", REFUSED)
def test_what_spark_refuses(spark: SparkSession, fill: Fill, tmp_path: Path, name: str) -> None:
    build, expected = REFUSED[name]
    said = outcome(spark, fill, tmp_path, build)
    assert any(part in said for part in expected.split("|")), said


@needs_real_time
@pytest.mark.parametrize("mode", ["append", "complete"])
def test_output_modes(spark: SparkSession, fill: Fill, tmp_path: Path, mode: str) -> None:
    fill(1, path=tmp_path / "queue")
    rows = mmapqueue.read_stream(tmp_path / "queue", spark=spark).select("value")
    rows = rows.groupBy("value").count() if mode == "complete" else rows
    writer = mmapqueue.real_time(rows.writeStream.foreach(print).outputMode(mode), LONG)
    with pytest.raises(QueryFailed, match=f"The output mode {mode.capitalize()} is not supported"):
        writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()


@needs_real_time
def test_the_console(spark: SparkSession, fill: Fill, tmp_path: Path) -> None:
    fill(1, path=tmp_path / "queue")
    rows = mmapqueue.read_stream(tmp_path / "queue", spark=spark).select("value")
    writer = mmapqueue.real_time(rows.writeStream.format("console").outputMode("update"), SHORTEST)
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        done = tmp_path / "checkpoint" / "commits" / "0"
        assert eventually(lambda: done.exists() or not query.isActive, SECONDS), query.status
        assert query.exception() is None
    finally:
        query.stop()
