"""Operations that an archive does not support: each error names the operation."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark import __version__ as spark_version
from pyspark.errors import IllegalArgumentException
from pyspark.sql import Row, SparkSession

import mmapqueue

from .archives import run_files
from .conftest import Fill, QueryFailed
from .streams import SECONDS, Streams

Sql = Callable[[str], list[Row]]

needs_four = pytest.mark.skipif(spark_version < "4", reason="from Spark 4.0 on")
#: Only Spark 4 can load a catalog with procedures.
CATALOG = "QueueCatalog" if spark_version < "4" else "QueueCatalogWithProcedures"


@pytest.fixture
def archive(ship: Fill, archive_dir: Path) -> Path:
    """An archive of ten records."""
    ship(10)
    return archive_dir


@pytest.fixture
def sql(spark: SparkSession, archive: Path) -> Sql:
    own = spark.newSession()
    own.conf.set("spark.sql.catalog.q", f"org.mmapqueue.spark.{CATALOG}")
    own.conf.set("spark.sql.catalog.q.path", str(archive.parent))
    return lambda text: own.sql(text).collect()


def run(writer: Any) -> None:
    """Runs a query to its end; raises its failure, also one at the start."""
    writer.start().awaitTermination(SECONDS)


def refusal(archive: Path, action: str) -> str:
    return f"the archive {archive} is read in batches and micro-batches, and written by shippers alone: {action} needs"


@pytest.mark.parametrize(
    ("statement", "action"),
    [
        ("INSERT INTO q.archive VALUES ('a')", "a write"),
        ("TRUNCATE TABLE q.archive", "TRUNCATE TABLE"),
        ("DELETE FROM q.archive", "TRUNCATE TABLE"),
        ("DROP TABLE q.archive", "DROP TABLE"),
        pytest.param("CALL q.system.consumers(table => 'archive')", "CALL", marks=needs_four),
        pytest.param("CALL q.system.gc(table => 'archive')", "CALL", marks=needs_four),
    ],
)
def test_statements(sql: Sql, archive: Path, statement: str, action: str) -> None:
    with pytest.raises(QueryFailed) as caught:
        sql(statement)
    assert refusal(archive, action) in str(caught.value)
    assert len(run_files(archive)) == 1
    assert sql("SELECT count(*) FROM q.archive") == [(10,)]


def test_writes_of_frames(spark: SparkSession, archive: Path, tmp_path: Path) -> None:
    with pytest.raises(QueryFailed) as caught:
        mmapqueue.write(spark.sql("SELECT 'a' AS value"), archive)
    assert refusal(archive, "a write") in str(caught.value)
    rows = spark.readStream.format("mmapqueue").load(str(archive))
    with pytest.raises(QueryFailed) as caught:
        run(mmapqueue.write_stream(rows, archive, checkpoint=tmp_path / "cp"))
    assert refusal(archive, "a write") in str(caught.value)


def test_a_scheme_without_its_classes(spark: SparkSession) -> None:
    own = spark.newSession()
    own.conf.set("fs.gone.impl", "org.example.Gone")
    with pytest.raises(IllegalArgumentException) as caught:
        own.read.format("mmapqueue").load("gone://bucket/archive").count()
    said = str(caught.value)
    assert "option path = gone://bucket/archive; allowed: an archive on a file system that this host reaches" in said
    assert "the class path does not have the file system of this scheme, such as hadoop-aws for s3a" in said
    assert "org.example.Gone" in said


def test_real_time_mode(spark: SparkSession, archive: Path, tmp_path: Path) -> None:
    if tuple(map(int, spark_version.split(".")[:2])) < (4, 1):
        pytest.skip("real-time mode begins with Spark 4.1")
    frame = mmapqueue.read_stream(archive, spark=spark)
    writer = mmapqueue.real_time(frame.writeStream.foreach(print).outputMode("update"), "5 seconds")
    with pytest.raises(QueryFailed) as caught:
        run(writer.option("checkpointLocation", str(tmp_path / "cp")))
    assert refusal(archive, "real-time mode") in str(caught.value)


@needs_four
def test_a_table_of_an_archive(spark: SparkSession, archive: Path, tmp_path: Path) -> None:
    spark.sql(f"CREATE TABLE shared USING mmapqueue LOCATION '{archive.as_uri()}'")
    try:
        assert spark.sql("SELECT count(*), max(offset) FROM shared").collect() == [(10, 9)]
        described = {row.col_name: row.data_type for row in spark.sql("DESCRIBE EXTENDED shared").collect()}
        assert 'queue.latestOffsets={"0":10}' in described["Table Properties"]
        streams = Streams(spark, archive, tmp_path / "checkpoint")
        query = (
            spark.readStream.table("shared")
            .writeStream.option("checkpointLocation", str(streams.checkpoint))
            .foreachBatch(streams.batches)
            .trigger(availableNow=True)
            .start()
        )
        streams.end(query)
        assert len(streams.batches.all()) == 10
        with pytest.raises(QueryFailed, match="written by shippers alone"):
            spark.sql("INSERT INTO shared VALUES ('a')")
    finally:
        spark.sql("DROP TABLE shared")
    assert len(run_files(archive)) == 1


def test_a_view_of_an_archive(spark: SparkSession, archive: Path) -> None:
    spark.sql(f"CREATE TEMPORARY VIEW few USING mmapqueue OPTIONS (path '{archive}', startingOffsets '7')")
    assert spark.sql("SELECT min(offset) FROM few").collect() == [(7,)]
    spark.catalog.dropTempView("few")
