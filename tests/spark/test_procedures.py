"""CALL q.system.…: administration of queues in SQL."""

import shutil
import uuid
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import pytest
from pyspark import __version__ as spark_version
from pyspark.errors import AnalysisException, IllegalArgumentException
from pyspark.sql import Row, SparkSession

import mmapqueue
import sessions
from conftest import Open

from .conftest import SMALL, Fill
from .streams import Streams

pytestmark = pytest.mark.skipif(spark_version < "4", reason="Spark has procedures from 4.0 on")

Call = Callable[[str], list[Row]]


@pytest.fixture
def queue_dir(tmp_path: Path) -> Path:
    return tmp_path / "queues" / "events"


@pytest.fixture
def session(spark: SparkSession, queue_dir: Path) -> SparkSession:
    own = spark.newSession()
    own.conf.set("spark.sql.catalog.q", "org.mmapqueue.spark.QueueCatalogWithProcedures")
    own.conf.set("spark.sql.catalog.q.path", str(queue_dir.parent))
    own.conf.set("spark.sql.catalog.q.max_in_mem_segments", str(SMALL["max_in_mem_segments"]))
    return own


@pytest.fixture
def call(session: SparkSession) -> Call:
    return lambda text: session.sql(f"CALL q.system.{text}").collect()


@pytest.fixture
def times(spark: SparkSession, queue_dir: Path) -> list[datetime]:
    """Of ten records in one queue."""
    with mmapqueue.Queue(queue_dir, spark=spark, **SMALL) as queue:
        queue.create_consumer("default")
        queue.create_consumer("c")
        queue.push_many([b"%d" % i for i in range(10)])
        found = [queue.read_at(i).timestamp for i in range(10)]
    return [time for time in found if time is not None]


@pytest.mark.usefixtures("times")
def test_ack_and_consumers(call: Call, session: SparkSession) -> None:
    assert call("ack_up_to(table => 'events', consumer => 'c', offset => 3)") == [(0, "c", 4)]
    assert call("ack_up_to('events', 'c', 1)") == [(0, "c", 4)], "what is acked stays acked"
    second, first = call("consumers('events')")
    assert first.asDict() | {"lag_bytes": 0, "lag_micros": 0} == {
        "partition": 0, "consumer": "default", "committed_offset": 0, "read_offset": 0, "end_offset": 10,
        "lag_records": 10, "lag_bytes": 0, "lag_micros": 0, "unacked": 0, "label": None,
    }  # fmt: skip
    assert (second.consumer, second.committed_offset, second.lag_records) == ("c", 4, 6)
    assert first.lag_bytes > second.lag_bytes > 0
    assert call("ack_up_to(table => 'events', consumer => 'c', offset => 9)") == [(0, "c", 10)]
    # The rows are a frame like any other.
    frame = session.sql("CALL q.system.consumers('events')").where("lag_records = 0")
    assert [row.consumer for row in frame.collect()] == ["c"]


def test_orphaned_consumers(spark: SparkSession, call: Call, fill: Fill, queue_dir: Path, tmp_path: Path) -> None:
    fill(10)
    kept, gone, in_use = (Streams(spark, queue_dir, tmp_path / name) for name in ("kept", "gone", "used"))
    kept.run()
    gone.run()
    query = in_use.start()
    query.processAllAvailable()
    labels = {row.label: row.consumer for row in call("consumers('events')")}
    orphan = labels[f"checkpoint file:{gone.checkpoint}/sources/0"]
    assert call("drop_orphaned_consumers('events')") == []
    shutil.rmtree(gone.checkpoint)
    in_use.checkpoint.rename(tmp_path / "hidden")
    found = (0, orphan, f"file:{gone.checkpoint}")
    assert call("drop_orphaned_consumers(table => 'events', dry_run => true)") == [(*found, False)]
    assert orphan in {row.consumer for row in call("consumers('events')")}
    assert call("drop_orphaned_consumers('events')") == [(*found, True)]
    assert set(labels.values()) - {row.consumer for row in call("consumers('events')")} == {orphan}
    assert call("drop_orphaned_consumers('events')") == []
    (tmp_path / "hidden").rename(in_use.checkpoint)
    query.stop()


def test_the_consumer_of_a_query_that_cannot_be_restarted(
    spark: SparkSession, call: Call, fill: Fill, queue_dir: Path, tmp_path: Path
) -> None:
    """As a kill of the driver leaves it: with its checkpoint, which Spark deletes only at the end of a query."""
    fill(10)
    checkpoint = tmp_path / f"temporary-{uuid.uuid4()}"
    checkpoint.mkdir()
    mmapqueue_ = sessions.jvm(spark).org.mmapqueue
    queue = mmapqueue_.MmapQueue.openToRead(sessions.jvm(spark).java.io.File(str(queue_dir)).toPath())
    consumer = queue.consumer("spark-temporary-0123456789abcdef", mmapqueue_.StartAt.EARLIEST)
    consumer.label(f"checkpoint file:{checkpoint}/sources/0")
    consumer.close()
    queue.close()
    found = (0, "spark-temporary-0123456789abcdef", f"file:{checkpoint}", True)
    assert call("drop_orphaned_consumers('events')") == [found]
    assert call("consumers('events')") == []


def test_seek(call: Call, session: SparkSession, times: list[datetime]) -> None:
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    utc = times[6].astimezone(timezone.utc).isoformat()
    for start, offset in {
        "'latest'": 10,
        "'EARLIEST'": 0,
        "7": 7,
        "'8'": 8,
        "10": 10,
        f"TIMESTAMP '{utc}'": next(i for i, time in enumerate(times) if time >= times[6]),
        f"'{utc}'": next(i for i, time in enumerate(times) if time >= times[6]),
        "TIMESTAMP '2000-01-01 00:00:00'": 0,
        "current_timestamp() + INTERVAL 1 HOUR": 10,
    }.items():
        assert call(f"seek(table => 'events', consumer => 'c', to => {start})") == [(0, "c", offset)], start
    assert call("seek('events', 'c', 2)") == [(0, "c", 2)]
    assert call("seek(to => 3, consumer => 'c', table => 'events')") == [(0, "c", 3)]


@pytest.mark.usefixtures("times")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("seek('events', 'c', 'somewhere')", "option to = somewhere; allowed: 'earliest', 'latest', an offset"),
        ("seek('events', 'c', '2026-01-31 12:00:00')", "a time with its zone"),
        ("seek('events', 'c', -1)", "option to = -1; allowed"),
        ("seek('events', 'c', NULL)", "option to = NULL; allowed"),
        ("seek('events', 'c', 11)", "11"),
        ("seek('events', 'nobody', 1)", r"consumer nobody: .* has no consumer of this name, but \[c, default\]"),
        ("ack_up_to('events', 'c', 10)", r"offset 10 is out of range; available: 0\.\.9"),
        ("ack_up_to('events', 'c', 9223372036854775807)", "offset 9223372036854775807 is out of range"),
        ("ack_up_to('events', 'c', -1)", "option offset = -1; allowed: an offset of at least 0"),
        ("ack_up_to('events', 'c', 1, 1)", "partition 1: the queue in .* has partitions 0 to 0"),
        ("consumers('nope')", "table nope: there is no such queue in"),
        ("consumers(NULL)", "option table = NULL"),
        ("delete_consumer('events', 'nobody')", "consumer nobody: .* has no consumer of this name"),
        ("create_consumer('events', 'a/b')", "consumer = a/b is invalid; allowed: 1 to 100 letters"),
    ],
)
def test_what_is_refused(call: Call, text: str, said: str) -> None:
    with pytest.raises(IllegalArgumentException, match=said):
        call(text)
    assert [row.committed_offset for row in call("consumers('events')")] == [0, 0]


def test_a_procedure_that_is_not_there(call: Call, session: SparkSession) -> None:
    with pytest.raises(AnalysisException, match="nope"):
        call("nope('events')")
    with pytest.raises(AnalysisException, match="other"):
        session.sql("CALL q.other.ack_up_to('events', 'c', 1)")
    with pytest.raises(AnalysisException, match="consumer"):
        call("ack_up_to(table => 'events')")


@pytest.mark.skipif(spark_version < "4.1", reason="SHOW PROCEDURES is new in 4.1")
def test_procedures_are_listed(session: SparkSession) -> None:
    listed = [row.procedure_name for row in session.sql("SHOW PROCEDURES IN q.system").collect()]
    assert sorted(listed) == [
        "ack_up_to", "consumers", "create_consumer", "delete_consumer", "drop_orphaned_consumers", "gc", "seek",
        "verify",
    ]  # fmt: skip


def test_partitions(call: Call, fill: Fill) -> None:
    for partition, records in enumerate((3, 5)):
        fill(records, partition=partition)
    call("create_consumer('events', 'other')")  # retains the records that the seeks skip
    assert call("create_consumer('events', 'c')") == [(0, "c", 0), (1, "c", 0)]
    assert call("seek('events', 'c', 'latest')") == [(0, "c", 3), (1, "c", 5)]
    assert call("seek('events', 'c', 2, partition => 1)") == [(1, "c", 2)]
    assert call("ack_up_to('events', 'c', 3, 1)") == [(1, "c", 4)]
    for text in ("ack_up_to('events', 'c', 1)", "seek('events', 'c', 1)", "create_consumer('events', 'd', 1)"):
        with pytest.raises(IllegalArgumentException, match="a partition is required"):
            call(text)
    assert call("create_consumer('events', 'd', 'latest', partition => 1)") == [(1, "d", 5)]
    assert call("create_consumer('events', 'd')") == [(0, "d", 0), (1, "d", 5)], "an existing consumer is kept"
    assert call("delete_consumer('events', 'd', partition => 0)") == [(0, "d")]
    assert call("delete_consumer('events', 'd')") == [(1, "d")]
    assert {row.consumer for row in call("consumers('events')")} == {"other", "c"}


def test_a_refusal_in_one_partition_leaves_the_others(
    call: Call, fill: Fill, queue_dir: Path, open_queue: Open
) -> None:
    for partition in range(2):
        fill(3, partition=partition)
    call("create_consumer('events', 'c', partition => 0)")
    with pytest.raises(IllegalArgumentException, match="p=1 has no consumer of this name"):
        call("seek('events', 'c', 'latest')")
    call("create_consumer('events', 'c')")
    other = open_queue(queue_dir / "p=1", read_only=True, consumer="c")
    other.pop()
    for text in ("seek('events', 'c', 'latest')", "delete_consumer('events', 'c')"):
        with pytest.raises(IllegalArgumentException, match="consumer c is held by process"):
            call(text)
    other.close()
    assert [(row.partition, row.committed_offset) for row in call("consumers('events')")] == [(0, 0), (1, 0)]
    assert call("seek('events', 'c', 'latest')") == [(0, "c", 3), (1, "c", 3)]
    assert call("delete_consumer('events', 'c')") == [(0, "c"), (1, "c")]


def test_gc(call: Call, fill: Fill, queue_dir: Path) -> None:
    records = fill([b"x" * 3000] * 40)
    [(_, ahead)] = call("gc('events')")  # files that were made ready for more records
    assert ahead < 20 * 4096
    call("create_consumer('events', 'default')")
    call(f"ack_up_to('events', 'default', {len(records) - 1})")
    [(partition, freed)] = call("gc('events')")
    assert partition == 0
    assert freed > 20 * 4096
    assert len(list(queue_dir.glob("*_segment.dat"))) < 10


def test_verify(call: Call, fill: Fill, queue_dir: Path) -> None:
    fill([b"%04d" % i * 250 for i in range(40)])
    assert call("verify('events')") == []
    [damaged] = [file for file in queue_dir.glob("*_segment.dat") if b"0005" * 10 in file.read_bytes()]
    content = bytearray(damaged.read_bytes())
    position = content.index(b"0005" * 10)
    content[position + 20] ^= 1
    damaged.write_bytes(content)
    [found] = call("verify('events')")
    assert (found.partition, found.file) == (0, str(damaged))
    assert position - 64 < found.position <= position
    assert found.first_unreadable == 5
    assert 5 <= found.last_unreadable < 12
    assert "checksum" in found.detail


def test_a_consumer_in_use(call: Call, spark: SparkSession, queue_dir: Path, times: list[datetime]) -> None:
    # A record that was popped ahead of the caller is in flight, too.
    with mmapqueue.Queue(queue_dir, spark=spark, prefetch=1, ack_linger=0, **SMALL) as queue:
        consumer = queue.consumer("c")
        popped = [consumer.pop() for _ in range(4)]
        assert call("ack_up_to('events', 'c', 1)") == [(0, "c", 2)]
        with pytest.raises(IllegalArgumentException, match="4"):
            call("ack_up_to('events', 'c', 4)")
        # The driver still owns the consumer, and popped records are in flight.
        consumer.ack_up_to(popped[3])
        assert consumer.pop().data == b"4"
        # A consumer that was not open before is released.
        assert call("ack_up_to('events', 'default', 0)") == [(0, "default", 1)]
    assert len(times) == 10


def test_an_ack_keeps_later_acks(call: Call, spark: SparkSession, queue_dir: Path) -> None:
    with mmapqueue.Queue(queue_dir, spark=spark, prefetch=1, ack_linger=0, **SMALL) as queue:
        queue.push_many([b"%d" % i for i in range(10)])
        consumer = queue.consumer("c")
        consumer.ack_many(consumer.pop_many(8)[4:7])
    assert call("ack_up_to('events', 'c', 1)") == [(0, "c", 2)]
    with mmapqueue.Queue(queue_dir, spark=spark, **SMALL) as queue:
        assert queue.acked_ranges("c") == [range(2), range(4, 7)]
    assert call("ack_up_to('events', 'c', 3)") == [(0, "c", 7)]
    with mmapqueue.Queue(queue_dir, spark=spark, **SMALL) as queue:
        assert [(each.offset, each.attempts) for each in queue.consumer("c")] == [(7, 2), (8, 1), (9, 1)]


def test_an_ack_of_what_python_has_popped_ahead(call: Call, spark: SparkSession, queue_dir: Path) -> None:
    with mmapqueue.Queue(queue_dir, spark=spark, **SMALL) as queue:
        queue.push_many([b"%d" % i for i in range(10)])
        consumer = queue.consumer("c")
        records = consumer.consume(timeout=0)
        assert next(records).offset == 0
        assert call("ack_up_to('events', 'c', 6)") == [(0, "c", 7)]
        # They are delivered once, and their acks do nothing.
        rest = list(records)
        assert [each.offset for each in rest] == list(range(1, 10))
        consumer.ack_up_to(rest[2])
        assert consumer.lag() == 3
        rest[-1].ack()
        assert (consumer.lag(), consumer.unacked()) == (2, 2)
    with mmapqueue.Queue(queue_dir, spark=spark, **SMALL) as queue:
        assert [each.offset for each in queue.consumer("c")] == [7, 8]


def test_another_process_keeps_its_consumer(call: Call, fill: Fill, queue_dir: Path, open_queue: Open) -> None:
    fill(3)
    other = open_queue(queue_dir)
    other.pop()
    with pytest.raises(IllegalArgumentException, match="consumer default"):
        call("seek('events', 'default', 'latest')")
    with pytest.raises(IllegalArgumentException, match=str(queue_dir)):
        call("gc('events')")
    other.close()
    assert call("seek('events', 'default', 'latest')") == [(0, "default", 3)]


def test_a_query_keeps_its_consumer(call: Call, session: SparkSession, fill: Fill, tmp_path: Path) -> None:
    fill(3)
    frame = session.readStream.option("consumer", "query").table("q.events")
    query = frame.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint")).format("noop").start()
    try:
        query.processAllAvailable()
        for text in ("ack_up_to('events', 'query', 0)", "seek('events', 'query', 'latest')",
                     "delete_consumer('events', 'query')"):  # fmt: skip
            with pytest.raises(
                IllegalArgumentException, match=r"consumer query .* in use by the query with checkpoint"
            ):
                call(text)
    finally:
        query.stop()
    assert call("delete_consumer('events', 'query')") == [(0, "query")]
