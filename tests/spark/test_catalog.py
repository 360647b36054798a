"""Queues in SQL: a catalog of the queues in a directory, and queues by their paths."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark import __version__ as spark_version
from pyspark.errors import AnalysisException, IllegalArgumentException, UnsupportedOperationException
from pyspark.sql import Row, SparkSession

import mmapqueue

from .conftest import SMALL, Fill, QueryFailed

CATALOG = "org.mmapqueue.spark.QueueCatalog"

Sql = Callable[[str], list[Row]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "queues"
    path.mkdir()
    return path


@pytest.fixture
def session(spark: SparkSession, root: Path) -> SparkSession:
    """A session with a catalog q, of its own: Spark makes each catalog once for a session."""
    own = spark.newSession()
    own.conf.set("spark.sql.catalog.q", CATALOG)
    own.conf.set("spark.sql.catalog.q.path", str(root))
    return own


@pytest.fixture
def sql(session: SparkSession) -> Sql:
    return lambda text: session.sql(text).collect()


@pytest.fixture
def events(fill: Fill, root: Path) -> Path:
    """A queue with five records."""
    fill([b"%d" % i for i in range(5)], path=root / "events")
    return root / "events"


def values(sql: Sql, table: str) -> list[bytes]:
    return [bytes(row.value) for row in sql(f"SELECT value FROM {table} ORDER BY partition, offset")]


def properties(sql: Sql, table: str) -> dict[str, str]:
    return {row.key: row.value for row in sql(f"SHOW TBLPROPERTIES {table}")}


@pytest.mark.usefixtures("events")
def test_the_queues_in_the_directory_are_its_tables(sql: Sql, root: Path, fill: Fill) -> None:
    fill(1, path=root / "parts", partition=0)
    (root / "no-queue").mkdir()
    (root / "file").touch()
    assert [row.tableName for row in sql("SHOW TABLES IN q")] == ["events", "parts"]
    assert [row.tableName for row in sql("SHOW TABLES IN q LIKE 'e*'")] == ["events"]


@pytest.mark.usefixtures("events")
def test_select(sql: Sql, session: SparkSession) -> None:
    rows = sql("SELECT offset, partition, CAST(value AS STRING) AS text FROM q.events WHERE offset BETWEEN 1 AND 2")
    assert rows == [Row(offset=1, partition=0, text="1"), Row(offset=2, partition=0, text="2")]
    assert sql("SELECT count(*), min(offset), max(offset) FROM q.events") == [(5, 0, 4)]
    sql("USE q")
    assert values(sql, "events") == [b"0", b"1", b"2", b"3", b"4"]
    assert session.read.option("startingOffsets", "3").table("q.events").count() == 2


def test_describe_shows_the_state(sql: Sql, events: Path) -> None:
    columns = [(row.col_name, row.data_type) for row in sql("DESCRIBE q.events")][:4]
    assert columns == [("value", "binary"), ("partition", "int"), ("offset", "bigint"), ("timestamp", "timestamp")]
    described = {row.col_name: row.data_type for row in sql("DESCRIBE EXTENDED q.events")}
    assert described["Provider"] == "mmapqueue"
    assert described["Location"] == events.as_uri() + "/"
    assert 'queue.latestOffsets={"0":5}' in described["Table Properties"]
    state = properties(sql, "q.events")
    capacity = str(SMALL["queue_capacity_segments"] * 4096)
    assert int(state.pop("queue.bytes")) > 5
    assert state == {
        "queue.partitions": "1",
        "queue.earliestOffsets": '{"0":0}',
        "queue.latestOffsets": '{"0":5}',
        "queue.records": "5",
        "queue.segmentSize": "4096",
        "queue.capacityBytes": capacity,
    }
    sql("INSERT INTO q.events (value) VALUES ('x')")
    assert properties(sql, "q.events")["queue.records"] == "6"


def test_describe_says_what_is_wrong(sql: Sql, events: Path) -> None:
    (events / "meta.dat").write_bytes(b"x" * 8192)
    assert "meta.dat" in properties(sql, "q.events")["queue.error"]


@pytest.mark.usefixtures("events")
def test_insert(sql: Sql, session: SparkSession) -> None:
    sql("INSERT INTO q.events VALUES ('a'), ('b')")
    sql("INSERT INTO q.events VALUES (X'00ff')")
    sql("INSERT INTO q.events (value) VALUES ('c')")
    sql("INSERT INTO q.events SELECT upper(CAST(value AS STRING)) FROM q.events WHERE offset = 5")
    session.range(1).selectExpr("'frame' AS value").writeTo("q.events").append()
    assert values(sql, "q.events")[5:] == [b"a", b"b", b"\x00\xff", b"c", b"A", b"frame"]


@pytest.mark.usefixtures("events")
def test_a_frame_names_its_columns(sql: Sql, session: SparkSession) -> None:
    rows = session.range(1).selectExpr("'x' AS name")
    by_name: tuple[Callable[[], object], ...] = (
        lambda: rows.writeTo("q.events").append(),
        lambda: rows.write.mode("append").saveAsTable("q.events"),
        lambda: sql("INSERT INTO q.events BY NAME SELECT 'x' AS name") if spark_version >= "3.5" else None,
        lambda: rows.writeTo("q.new").create(),
    )
    for write in by_name:
        with pytest.raises(QueryFailed, match="the column value is missing; found struct<name:string>"):
            write()
    assert len(values(sql, "q.events")) == 5
    assert [row.tableName for row in sql("SHOW TABLES IN q")] == ["events"]
    # By position, as Spark itself says of it.
    rows.write.insertInto("q.events")
    sql("WITH t AS (SELECT 'y' AS name) INSERT INTO q.events SELECT * FROM t")
    assert "AppendData" in sql("EXPLAIN EXTENDED INSERT INTO q.events VALUES ('z')")[0].plan
    assert values(sql, "q.events")[5:] == [b"x", b"y"]


@pytest.mark.usefixtures("events")
def test_what_can_not_be_inserted(sql: Sql) -> None:
    for statement, said in {
        "INSERT INTO q.events VALUES (1)": "value",
        "INSERT INTO q.events VALUES ('a', 'b')": "value",
        "INSERT OVERWRITE q.events VALUES ('a')": "append",
        "DELETE FROM q.events WHERE offset = 1": "delete",
        "UPDATE q.events SET value = X'00'": "UPDATE",
    }.items():
        with pytest.raises(QueryFailed, match=said):
            sql(statement)
    assert len(values(sql, "q.events")) == 5


def test_create(sql: Sql, root: Path) -> None:
    sql(
        "CREATE TABLE q.a (value BINARY, partition INT, offset BIGINT, timestamp TIMESTAMP)"
        " TBLPROPERTIES (partitions = 2, Segment_Size = '64k')"
    )
    sql("CREATE TABLE q.b USING mmapqueue OPTIONS (segment_size '64k', capacity '1m')")
    sql("CREATE TABLE q.c (value STRING)")
    sql("CREATE TABLE IF NOT EXISTS q.c")
    sql(f"CREATE TABLE q.`{root / 'd'}`")
    assert [row.tableName for row in sql("SHOW TABLES IN q")] == ["a", "b", "c", "d"]
    assert (root / "a" / "p=1" / "meta.dat").is_file()
    made = properties(sql, "q.a")
    assert (made["queue.partitions"], made["queue.segmentSize"]) == ("2", "65536")
    assert properties(sql, "q.b")["queue.capacityBytes"] == str(1 << 20)
    sql("INSERT INTO q.b VALUES ('x')")
    assert values(sql, "q.b") == [b"x"]


@pytest.mark.usefixtures("events")
def test_create_as_select(sql: Sql, session: SparkSession) -> None:
    sql("CREATE TABLE q.copy OPTIONS (segment_size '64k') AS SELECT value FROM q.events WHERE offset > 2")
    assert values(sql, "q.copy") == [b"3", b"4"]
    frame = session.range(1).selectExpr("'text' AS value")
    frame.writeTo("q.frame").tableProperty("segment_size", "64k").create()
    assert values(sql, "q.frame") == [b"text"]


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("CREATE TABLE q.bad USING parquet", "USING parquet; allowed: USING mmapqueue"),
        ("CREATE TABLE q.bad (a INT)", "the columns struct<a:int> are not those of a queue"),
        ("CREATE TABLE q.bad (value INT)", "the columns struct<value:int> are not those of a queue"),
        ("CREATE TABLE q.bad (offset BIGINT) PARTITIONED BY (offset)", "option partitions = n"),
        ("CREATE TABLE q.bad OPTIONS (segment_size '3')", "option segment_size = 3; allowed: 4096"),
        ("CREATE TABLE q.bad OPTIONS (partitions 0)", "option partitions = 0; allowed: "),
        ("CREATE TABLE q.bad OPTIONS (segment_sise '64k')", "option segment_sise has no effect: there is no such"),
        ("CREATE TABLE q.bad OPTIONS (segmentSise '64k')", "did you mean segment_size?"),
        ("CREATE TABLE q.bad OPTIONS (segmentSize '64k', segment_size '32k')", "are the same option"),
        ("CREATE TABLE q.bad OPTIONS (startingOffsets 0)", "option startingOffsets has no effect on a new table"),
        ("CREATE TABLE q.bad COMMENT 'x'", "option comment has no effect on a new table"),
        ("CREATE TABLE q.bad LOCATION '/nowhere'", "gives the directory of its queue"),
        ("CREATE TABLE q.`a/b`", "table a/b: a queue is named by a directory"),
        ("CREATE TABLE q.`..`", "table ..: a queue is named by a directory"),
    ],
)
def test_what_can_not_be_created(sql: Sql, root: Path, statement: str, said: str) -> None:
    with pytest.raises(IllegalArgumentException, match=re.escape(said)):
        sql(statement)
    assert list(root.iterdir()) == []


@pytest.mark.usefixtures("events")
def test_tables_are_not_replaced_or_altered(sql: Sql) -> None:
    with pytest.raises(AnalysisException, match="already exists"):
        sql("CREATE TABLE q.events")
    for statement, said in {
        "CREATE OR REPLACE TABLE q.events": "cannot be replaced in SQL: DROP TABLE deletes the one in .*/events",
        "ALTER TABLE q.events SET TBLPROPERTIES (a = 1)": "cannot be altered",
        "ALTER TABLE q.events ADD COLUMN a INT": "cannot be altered",
        "ALTER TABLE q.events RENAME TO q.other": "rename its directory .*/events",
    }.items():
        with pytest.raises(UnsupportedOperationException, match=said):
            sql(statement)
    assert len(values(sql, "q.events")) == 5


def test_drop_deletes_the_queue(sql: Sql, root: Path, events: Path) -> None:
    sql("CREATE TABLE q.parts OPTIONS (partitions 3, segment_size '64k')")
    sql("INSERT INTO q.parts SELECT CAST(id AS STRING) FROM range(10)")
    sql("INSERT INTO q.events VALUES ('x')")
    (events / "notes.txt").touch()
    for name in ("parts", "events"):
        sql(f"DROP TABLE q.{name}")
    assert sql("SHOW TABLES IN q") == []
    assert [file.relative_to(root) for file in root.rglob("*")] == [Path("events"), Path("events/notes.txt")]
    sql("DROP TABLE IF EXISTS q.parts")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        sql("DROP TABLE q.parts")
    # The next queue of that name is another one.
    (events / "notes.txt").unlink()
    sql("CREATE TABLE q.events OPTIONS (segment_size '64k')")
    sql("INSERT INTO q.events VALUES ('y')")
    assert values(sql, "q.events") == [b"y"]


def test_a_killed_drop_is_repeated(sql: Sql, root: Path) -> None:
    sql("CREATE TABLE q.parts OPTIONS (partitions 3, segment_size '64k')")
    sql("INSERT INTO q.parts SELECT CAST(id AS STRING) FROM range(10)")
    (root / "parts" / "p=2" / "meta.dat").unlink()  # the first step of the first partition's deletion
    assert sql("SELECT DISTINCT partition FROM q.parts ORDER BY partition") == [(0,), (1,)]
    sql("DROP TABLE q.parts")
    assert sql("SHOW TABLES IN q") == []
    assert [path.name for path in (root / "parts").iterdir()] == ["p=2"]


def test_an_open_queue_is_not_dropped(spark: SparkSession, sql: Sql, events: Path) -> None:
    with (
        mmapqueue.Queue(events, spark=spark),
        pytest.raises(IllegalArgumentException, match=r"^DROP TABLE events: .*has another handle in this process"),
    ):
        sql("DROP TABLE q.events")
    assert len(values(sql, "q.events")) == 5
    with (
        mmapqueue.Queue(events),
        pytest.raises(IllegalArgumentException, match=r"^DROP TABLE events: .*is held by process"),
    ):
        sql("DROP TABLE q.events")
    assert len(values(sql, "q.events")) == 5


def test_a_queue_with_one_partition_in_use_is_not_dropped(sql: Sql, spark: SparkSession, root: Path) -> None:
    sql("CREATE TABLE q.parts OPTIONS (partitions 3, segment_size '64k')")
    sql("INSERT INTO q.parts SELECT CAST(id AS STRING) FROM range(10)")
    for partition in (0, 1):  # the last partition is deleted first
        with (
            mmapqueue.Queue(root / "parts" / f"p={partition}", spark=spark),
            pytest.raises(IllegalArgumentException, match=rf"^DROP TABLE parts: .*/p={partition} has another handle"),
        ):
            sql("DROP TABLE q.parts")
        assert len(values(sql, "q.parts")) == 10
    sql("DROP TABLE q.parts")
    assert sql("SHOW TABLES IN q") == []


@pytest.mark.usefixtures("events")
@pytest.mark.parametrize("name", ["nope", "`..`", "`.`", "`events/../events`", "space.events", "`/nowhere`"])
def test_what_is_no_table(sql: Sql, name: str) -> None:
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        sql(f"SELECT * FROM q.{name}")


def test_a_directory_that_is_not_there(sql: Sql, root: Path) -> None:
    root.rmdir()
    with pytest.raises(QueryFailed, match=f"the directory of catalog q, {root}, cannot be read"):
        sql("SHOW TABLES IN q")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"colour": "red"}, "option colour has no effect"),
        ({"startingOffsets": "0"}, "option startingOffsets has no effect on a batch write"),
        ({"key": "nope"}, "option key = nope; allowed: a column of the rows"),
        ({"sync": "maybe"}, "option sync = maybe; allowed: true, false"),
        ({"partitions": "0"}, "option partitions = 0; allowed"),
        ({"segmentSize": "3"}, "option segment_size = 3; allowed: 4096"),
        ({"segment_size": "8k"}, "segment_size"),
    ],
)
def test_a_refused_option_leaves_no_queue(
    session: SparkSession, root: Path, options: dict[str, str], said: str
) -> None:
    rows = session.range(3).selectExpr("CAST(id AS STRING) AS value")
    writer = rows.writeTo("q.new").options(**options)
    if options == {"segment_size": "8k"}:
        writer = writer.tableProperty("segment_size", "64k").option("segmentSize", "16k")
    with pytest.raises(QueryFailed, match=said):
        writer.create()
    assert list(root.iterdir()) == []


def test_create_takes_the_options_of_its_write(session: SparkSession, sql: Sql, root: Path) -> None:
    rows = session.range(4).selectExpr("CAST(id AS STRING) AS value", "id AS user")
    rows.writeTo("q.new").option("partitions", "2").option("key", "user").option("segmentSize", "64k").create()
    assert sorted(values(sql, "q.new")) == [b"0", b"1", b"2", b"3"]
    assert properties(sql, "q.new")["queue.partitions"] == "2"
    assert properties(sql, "q.new")["queue.segmentSize"] == "65536"
    with pytest.raises(AnalysisException, match="already exists"):
        rows.select("value").writeTo("q.new").create()
    rows.select("value").limit(0).writeTo("q.none").option("partitions", "3").create()
    assert properties(sql, "q.none")["queue.partitions"] == "3"
    rows.select("value").write.saveAsTable("q.saved")
    assert len(values(sql, "q.saved")) == 4
    replacements: tuple[Callable[[], object], ...] = (
        lambda: rows.writeTo("q.new").replace(),
        lambda: rows.writeTo("q.new").createOrReplace(),
        lambda: rows.writeTo("q.other").createOrReplace(),
    )
    for write in replacements:
        with pytest.raises(UnsupportedOperationException, match="cannot be replaced in SQL"):
            write()
    assert sorted(path.name for path in root.iterdir()) == ["new", "none", "saved"]


def test_a_stream_into_a_new_table(session: SparkSession, sql: Sql, events: Path, tmp_path: Path) -> None:
    for name, form in {"plain": None, "named": "mmapqueue"}.items():
        writer = session.readStream.table(f"q.`{events}`").select("value").writeStream
        writer = writer.format(form) if form else writer
        query = writer.option("checkpointLocation", str(tmp_path / name)).trigger(availableNow=True)
        assert query.toTable(f"q.{name}").awaitTermination(180)
        assert values(sql, f"q.{name}") == [b"0", b"1", b"2", b"3", b"4"]


def test_options_of_a_catalog(spark: SparkSession, root: Path, fill: Fill) -> None:
    fill(5, path=root / "events")
    session = spark.newSession()
    session.conf.set("spark.sql.catalog.q", CATALOG)
    session.conf.set("spark.sql.catalog.q.path", str(root))
    # Of reads and of writes, batches and streams: each counts where it can.
    for name, value in {"startingOffsets": "2", "maxOffsetsPerTrigger": "3", "pushTimeout": "1s"}.items():
        session.conf.set(f"spark.sql.catalog.q.{name}", value)
    assert session.table("q.events").count() == 3
    assert session.read.option("starting_offsets", "4").table("q.events").count() == 1
    assert session.read.option("startingTimestamp", "1970-01-01T00:00:00Z").table("q.events").count() == 5
    session.sql("INSERT INTO q.events VALUES ('x')")
    session = spark.newSession()
    session.conf.set("spark.sql.catalog.q", CATALOG)
    session.conf.set("spark.sql.catalog.q.path", str(root))
    session.conf.set("spark.sql.catalog.q.startingOfset", "2")
    with pytest.raises(QueryFailed, match=r"option startingOfset has no effect: .* did you mean startingOffsets"):
        session.table("q.events").count()


def test_sizes_of_a_catalog_are_those_of_new_queues(spark: SparkSession, root: Path, fill: Fill) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.catalog.q", CATALOG)
    for name, value in {"path": root, "capacity": "2m", "segment_size": "64k", "partitions": "2"}.items():
        session.conf.set(f"spark.sql.catalog.q.{name}", str(value))

    def sql(text: str) -> list[Row]:
        return session.sql(text).collect()

    fill(5, path=root / "events", partition=0)
    sql("CREATE TABLE q.small OPTIONS (partitions 1, capacity '1m', segment_size '32k')")
    sql("CREATE TABLE q.made")
    made = properties(sql, "q.made")
    assert (made["queue.partitions"], made["queue.segmentSize"]) == ("2", "65536")
    for table, count in {"events": 6, "small": 1, "made": 1}.items():
        partitions = properties(sql, f"q.{table}")["queue.partitions"]
        sql(f"INSERT INTO q.{table} VALUES ('x')")
        assert properties(sql, f"q.{table}")["queue.partitions"] == partitions
        assert len(values(sql, f"q.{table}")) == count
        sql(f"TRUNCATE TABLE q.{table}")
        assert values(sql, f"q.{table}") == []
        sql(f"DROP TABLE q.{table}")
    assert sql("SHOW TABLES IN q") == []


def test_a_stream_between_tables(session: SparkSession, sql: Sql, events: Path, tmp_path: Path) -> None:
    sql("CREATE TABLE q.out OPTIONS (segment_size '64k')")
    writer = session.readStream.table(f"q.`{events}`").select("value").writeStream
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    assert query.toTable("q.out").awaitTermination(180)
    assert values(sql, "q.out") == [b"0", b"1", b"2", b"3", b"4"]


def test_a_view(sql: Sql, events: Path) -> None:
    sql(f"CREATE TEMPORARY VIEW recent USING mmapqueue OPTIONS (path '{events}', startingOffsets '3')")
    assert values(sql, "recent") == [b"3", b"4"]


def test_a_queue_by_its_path(spark: SparkSession, events: Path) -> None:
    session = spark.newSession()
    with pytest.raises(AnalysisException, match=r"UNSUPPORTED_DATASOURCE_FOR_DIRECT_QUERY|Unsupported data source"):
        session.sql(f"SELECT * FROM mmapqueue.`{events}`")
    # Spark asks a catalog of that name, where there is one.
    session = spark.newSession()
    session.conf.set("spark.sql.catalog.mmapqueue", CATALOG)
    assert session.sql(f"SELECT count(*) FROM mmapqueue.`{events}`").collect() == [(5,)]
    assert session.sql("SHOW TABLES IN mmapqueue").collect() == []
    with pytest.raises(IllegalArgumentException, match="table events: a queue is named by a directory's absolute path"):
        session.sql("CREATE TABLE mmapqueue.events")


def test_a_catalog_needs_a_path(spark: SparkSession) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.catalog.q", CATALOG)
    with pytest.raises(IllegalArgumentException, match="option path = null; allowed: the directory of a queue"):
        session.sql("SHOW TABLES IN q")


def test_a_queue_that_is_open_in_the_driver(spark: SparkSession, sql: Sql, events: Path) -> None:
    with mmapqueue.Queue(events, spark=spark) as queue:
        queue.push(b"pushed")
        sql("INSERT INTO q.events VALUES ('inserted')")
        assert values(sql, "q.events")[5:] == [b"pushed", b"inserted"]
        assert [queue.pop().data for _ in range(7)][5:] == [b"pushed", b"inserted"]
