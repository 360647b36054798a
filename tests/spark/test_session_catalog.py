"""Tables of Spark's own catalog, and those of reads and writes without one: options, columns, DROP."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark import __version__ as spark_version
from pyspark.errors import IllegalArgumentException
from pyspark.sql import Row, SparkSession

import mmapqueue

from .conftest import Fill, QueryFailed
from .streams import SECONDS

Sql = Callable[[str], list[Row]]

needs_tables = pytest.mark.skipif(spark_version < "4", reason="Spark's own catalog takes such sources from 4.0 on")


@pytest.fixture
def sql(spark: SparkSession) -> Iterator[Sql]:
    """Runs SQL; in the end it drops the tables."""
    yield lambda text: spark.sql(text).collect()
    for row in spark.sql("SHOW TABLES").collect():
        if not row.isTemporary:
            spark.sql(f"DROP TABLE {row.tableName}")


@pytest.fixture
def events(fill: Fill, queue_dir: Path) -> Path:
    """A queue with five records."""
    fill([b"%d" % i for i in range(5)])
    return queue_dir


def values(sql: Sql, table: str) -> list[bytes]:
    return [bytes(row.value) for row in sql(f"SELECT value FROM {table} ORDER BY offset")]


COLUMNS = "(value BINARY, partition INT, offset BIGINT, timestamp TIMESTAMP)"


@needs_tables
@pytest.mark.parametrize(
    "definition",
    [
        "USING mmapqueue OPTIONS (path '{events}')",
        "USING mmapqueue LOCATION '{events}'",
        COLUMNS + " USING mmapqueue LOCATION '{events}' TBLPROPERTIES (owner_team = 'shop')",
    ],
)
def test_a_table_of_an_existing_queue(sql: Sql, spark: SparkSession, events: Path, definition: str) -> None:
    sql("CREATE TABLE t " + definition.format(events=events))
    sql("INSERT INTO t VALUES ('x')")
    assert values(sql, "t") == [b"0", b"1", b"2", b"3", b"4", b"x"]
    assert spark.read.option("startingOffsets", "4").table("t").count() == 2
    assert len(sql("SELECT _queue_id FROM t WHERE offset = 1")[0]._queue_id) == 36
    described = {row.col_name: row.data_type for row in sql("DESCRIBE EXTENDED t")}
    assert (described["Provider"], described["Type"]) == ("mmapqueue", "EXTERNAL")
    assert described["Location"] == events.as_uri() + "/"
    assert 'queue.latestOffsets={"0":6}' in described["Table Properties"]
    # The queue is not Spark's: it is still complete after the table is dropped.
    sql("DROP TABLE t")
    sql(f"CREATE TABLE t USING mmapqueue LOCATION '{events}'")
    assert len(values(sql, "t")) == 6


@needs_tables
def test_the_first_rows_make_the_queue(sql: Sql, tmp_path: Path) -> None:
    path = tmp_path / "later"
    sql(f"CREATE TABLE later USING mmapqueue OPTIONS (path '{path}', segment_size '64k')")
    assert [row.col_name for row in sql("DESCRIBE EXTENDED later")][:2] == ["value", "partition"]
    with pytest.raises(QueryFailed, match=r"option path = .*/later; allowed: the directory of a queue"):
        sql("SELECT * FROM later")
    sql("INSERT INTO later VALUES ('x')")
    properties = {row.key: row.value for row in sql("SHOW TBLPROPERTIES later")}
    assert properties["queue.segmentSize"] == "65536"


@needs_tables
def test_streams_of_tables(sql: Sql, spark: SparkSession, events: Path, tmp_path: Path) -> None:
    sql(f"CREATE TABLE source USING mmapqueue OPTIONS (path '{events}')")
    sql(f"CREATE TABLE target USING mmapqueue OPTIONS (path '{tmp_path / 'target'}')")
    writer = spark.readStream.option("maxOffsetsPerTrigger", 3).table("source").select("value").writeStream
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    running = query.toTable("target")
    assert running.awaitTermination(SECONDS)
    assert [progress["numInputRows"] for progress in running.recentProgress if progress["numInputRows"]] == [3, 2]
    assert values(sql, "target") == [b"0", b"1", b"2", b"3", b"4"]
    spark.range(1).selectExpr("'appended' AS value").writeTo("target").append()
    assert values(sql, "target")[5:] == [b"appended"]


@needs_tables
@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("CREATE TABLE t USING mmapqueue", "needs OPTIONS (path '…') or LOCATION '…'"),
        (f"CREATE TABLE t {COLUMNS} USING mmapqueue", "needs OPTIONS (path '…') or LOCATION '…'"),
        ("CREATE TABLE t USING mmapqueue OPTIONS (path '{path}', segmentSise '3')", "did you mean segment_size?"),
        ("CREATE TABLE t USING mmapqueue OPTIONS (path 'hdfs://nodes/a?b')", "a URI such as hdfs://nodes/archive"),
        ("CREATE TABLE t (a INT) USING mmapqueue LOCATION '{path}'", "DATA_SOURCE_TABLE_SCHEMA_MISMATCH"),
        (f"CREATE TABLE t {COLUMNS} USING mmapqueue PARTITIONED BY (partition) LOCATION '{{path}}'", "partitions = n"),
        ("CREATE TABLE t USING mmapqueue LOCATION '{path}' AS SELECT 'a' AS value", "SCHEMA_MISMATCH"),
    ],
)
def test_what_can_not_be_created(sql: Sql, tmp_path: Path, statement: str, said: str) -> None:
    path = tmp_path / "new"
    with pytest.raises(QueryFailed, match=re.escape(said)):
        sql(statement.format(path=path))
    assert not path.exists()
    assert sql("SHOW TABLES LIKE 't'") == []


@needs_tables
@pytest.mark.parametrize("statement", ["TRUNCATE TABLE t", "DELETE FROM t"])
def test_a_table_is_purged(sql: Sql, spark: SparkSession, events: Path, statement: str) -> None:
    sql(f"CREATE TABLE t USING mmapqueue LOCATION '{events}'")
    with mmapqueue.Queue(events, spark=spark) as queue:
        queue.pop()
        with pytest.raises(
            IllegalArgumentException, match=r"consumer default of the queue in .* is open in this process"
        ):
            sql(statement)
        assert len(values(sql, "t")) == 5
    sql(statement)
    assert values(sql, "t") == []
    sql("INSERT INTO t VALUES ('x')")
    assert values(sql, "t") == [b"x"]


@needs_tables
def test_a_table_with_another_column_is_not_read(sql: Sql, events: Path) -> None:
    sql(f"CREATE TABLE t USING mmapqueue LOCATION '{events}'")
    sql("ALTER TABLE t ADD COLUMN extra INT")
    with pytest.raises(QueryFailed, match=r"the columns struct<.*extra:int> are not those of a queue"):
        values(sql, "t")


@pytest.mark.skipif(spark_version >= "4", reason="for older versions of Spark")
def test_older_versions_have_no_tables_of_such_sources(sql: Sql, events: Path) -> None:
    sql(f"CREATE TABLE t USING mmapqueue OPTIONS (path '{events}')")
    for statement in ("SELECT * FROM t", "INSERT INTO t VALUES ('x')"):
        with pytest.raises(QueryFailed, match="mmapqueue is not a valid Spark SQL Data Source"):
            sql(statement)
    sql("DROP TABLE t")
    assert events.is_dir()


def test_columns_of_a_read(spark: SparkSession, events: Path) -> None:
    assert spark.read.format("mmapqueue").schema(COLUMNS[1:-1]).load(str(events)).count() == 5
    for schema in ("value STRING, partition INT, offset BIGINT, timestamp TIMESTAMP", "value BINARY"):
        with pytest.raises(QueryFailed, match=r"the columns struct<value:.*> are not those of a queue"):
            spark.read.format("mmapqueue").schema(schema).load(str(events)).collect()


def test_a_write_is_not_partitioned_by_columns(spark: SparkSession, events: Path) -> None:
    rows = spark.range(1).selectExpr("'x' AS value", "0 AS partition")
    with pytest.raises(QueryFailed, match="its option partitions = n makes n partitions"):
        rows.write.format("mmapqueue").mode("append").partitionBy("partition").save(str(events))
    rows.write.format("mmapqueue").mode("append").save(str(events))
    assert spark.read.format("mmapqueue").load(str(events)).count() == 6
