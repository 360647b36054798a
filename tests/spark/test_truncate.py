"""TRUNCATE TABLE in a catalog of queues: a purge, while no program reads."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import IllegalArgumentException
from pyspark.sql import Row, SparkSession

import mmapqueue
from conftest import Open

from .conftest import Fill

Sql = Callable[[str], list[Row]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "queues"


@pytest.fixture
def session(spark: SparkSession, root: Path) -> SparkSession:
    root.mkdir()
    own = spark.newSession()
    own.conf.set("spark.sql.catalog.q", "org.mmapqueue.spark.QueueCatalog")
    own.conf.set("spark.sql.catalog.q.path", str(root))
    return own


@pytest.fixture
def sql(session: SparkSession) -> Sql:
    return lambda text: session.sql(text).collect()


@pytest.fixture
def parts(fill: Fill, root: Path, session: SparkSession) -> Path:
    """A queue of two partitions with consumers, the first of which is at offset 2 of 5."""
    for partition in range(2):
        fill([b"%d" % i for i in range(5)], path=root / "parts", partition=partition)
        with mmapqueue.Queue(root / "parts" / f"p={partition}", spark=session) as queue:
            queue.create_consumer("idle")
    with mmapqueue.Queue(root / "parts" / "p=0", spark=session) as queue:
        queue.ack_up_to(queue.pop_many(2)[-1])
    return root / "parts"


def lags(parts: Path, session: SparkSession) -> list[dict[str, int]]:
    """The lag of each consumer, by partition."""
    found = []
    for partition in range(2):
        with mmapqueue.Queue(parts / f"p={partition}", spark=session) as queue:
            found.append({name: each.lag_records for name, each in queue.consumer_stats().items()})
    return found


UNTOUCHED = [{"default": 3, "idle": 5}, {"idle": 5}]


@pytest.mark.parametrize("statement", ["TRUNCATE TABLE q.parts", "DELETE FROM q.parts"])
def test_all_partitions_are_purged(sql: Sql, session: SparkSession, parts: Path, statement: str) -> None:
    assert lags(parts, session) == UNTOUCHED
    sql(statement)
    assert lags(parts, session) == [{"default": 0, "idle": 0}, {"idle": 0}]
    assert sql("SELECT * FROM q.parts") == []
    sql("INSERT INTO q.parts (value, partition) VALUES ('x', 1)")
    assert [(row.partition, row.offset) for row in sql("SELECT * FROM q.parts")] == [(1, 5)]
    with mmapqueue.Queue(parts / "p=1", spark=session) as queue:
        assert queue.consumer("idle").pop().data == b"x"


def test_a_queue_without_a_consumer_is_purged(sql: Sql, fill: Fill, root: Path, session: SparkSession) -> None:
    fill(5, path=root / "events")
    sql("TRUNCATE TABLE q.events")
    assert sql("SELECT * FROM q.events") == []
    with mmapqueue.Queue(root / "events", spark=session) as queue:
        assert (queue.consumers(), queue.first_offset(), queue.end_offset()) == ([], 5, 5)


def test_a_consumer_of_this_driver_prevents_it(sql: Sql, session: SparkSession, parts: Path) -> None:
    with mmapqueue.Queue(parts / "p=1", spark=session) as queue:
        consumer = queue.consumer("idle")
        first = next(consumer.consume())
        said = rf"^TRUNCATE TABLE {parts}: consumer idle of the queue in .*p=1 is open in this process: close"
        with pytest.raises(IllegalArgumentException, match=said):
            sql("TRUNCATE TABLE q.parts")
        consumer.ack(first)
    assert lags(parts, session) == [{"default": 3, "idle": 5}, {"idle": 4}]


def test_a_running_query_prevents_it(sql: Sql, session: SparkSession, parts: Path, tmp_path: Path) -> None:
    frame = session.readStream.option("consumer", "idle").table("q.parts")
    query = frame.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint")).format("noop").start()
    try:
        query.processAllAvailable()
        with pytest.raises(IllegalArgumentException, match=r"consumer idle .* in use by the query with checkpoint"):
            sql("TRUNCATE TABLE q.parts")
    finally:
        query.stop()
    assert lags(parts, session)[0]["default"] == 3


def test_another_process_prevents_it(sql: Sql, session: SparkSession, parts: Path, open_queue: Open) -> None:
    reading = open_queue(parts / "p=1", read_only=True)
    reading.consumer("idle").pop()
    with pytest.raises(IllegalArgumentException, match="consumer idle"):
        sql("TRUNCATE TABLE q.parts")
    reading.close()
    assert lags(parts, session) == UNTOUCHED
    open_queue(parts / "p=1")
    with pytest.raises(IllegalArgumentException, match="is held by process"):
        sql("TRUNCATE TABLE q.parts")
    assert len(sql("SELECT * FROM q.parts")) == 10
