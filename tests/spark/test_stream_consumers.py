"""Streaming reads: retained records, losses, and other users of the queue."""

import shutil
import struct
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mmapqueue
from conftest import LONG, Script, eventually, kill_with_children

pytest.importorskip("pyspark")

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from conftest import Ring

from .conftest import SMALL, Fill
from .streams import SECONDS, Streams

#: Soon full.
TINY: Ring = {**SMALL, "queue_capacity_segments": 8}


@pytest.fixture
def streams(spark: SparkSession, queue_dir: Path, tmp_path: Path) -> Streams:
    return Streams(spark, queue_dir, tmp_path / "checkpoint")


@pytest.fixture
def queue(spark: SparkSession, queue_dir: Path) -> Iterator[mmapqueue.Queue]:
    """Open in the driver beside the queries; full after some 60 records of 500 bytes."""
    with mmapqueue.Queue(queue_dir, spark=spark, **TINY) as opened:
        yield opened


def push_until_full(queue: mmapqueue.Queue) -> int:
    count = 0
    try:
        while True:
            queue.push(b"%03d" % count + b"x" * 497, block=False)
            count += 1
    except mmapqueue.Full:
        return count


def committed(queue: mmapqueue.Queue, name: str) -> int:
    return queue.consumer_stats()[name].committed_offset


def taken_up(streams: Streams, queue: mmapqueue.Queue) -> str:
    """The name of the query's consumer, which is the only one."""
    streams.run()
    name = streams.consumer()
    assert queue.consumers() == [name]
    return name


def test_space_is_held_until_it_is_committed(streams: Streams, queue: mmapqueue.Queue) -> None:
    name = taken_up(streams, queue)
    first = push_until_full(queue)
    streams.end(streams.start({"once": True}))
    # Read, but only the next batch, or the next run, commits this one.
    assert streams.batches.sizes() == [first]
    assert committed(queue, name) == 0
    with pytest.raises(mmapqueue.Full):
        queue.push(b"x" * 500, block=False)
    streams.end(streams.start({"once": True}))
    assert committed(queue, name) == first
    more = push_until_full(queue)
    assert more >= first - 10
    streams.run()
    assert [offset for _, offset, _ in streams.batches.all()] == list(range(first + more))


def test_a_batch_that_may_be_asked_for_again_is_held(streams: Streams, queue: mmapqueue.Queue) -> None:
    name = taken_up(streams, queue)
    first = push_until_full(queue)
    streams.end(streams.start({"once": True}))
    streams.forget_last_commit()
    streams.end(streams.start({"once": True}))
    assert streams.batches.sizes() == [first]  # the same rows again
    assert committed(queue, name) == 0


def test_commits_free_the_space(streams: Streams, queue: mmapqueue.Queue) -> None:
    name = taken_up(streams, queue)
    pushed = push_until_full(queue)
    streams.run(maxOffsetsPerTrigger=10)
    assert committed(queue, name) == pushed - streams.batches.sizes()[-1]
    more = push_until_full(queue)
    assert more >= pushed // 2
    streams.run()
    assert [offset for _, offset, _ in streams.batches.all()] == list(range(pushed + more))


@pytest.mark.parametrize("options", [{}, {"minOffsetsPerTrigger": 1000, "maxTriggerDelay": "1h"}], ids=["", "waiting"])
def test_no_batch_blocks_the_next_one(streams: Streams, queue: mmapqueue.Queue, options: dict[str, Any]) -> None:
    """A batch is retained until there are new records, which need room in a ring of the minimum capacity."""
    taken_up(streams, queue)
    records = [b"%04d" % i + b"x" * 496 for i in range(400)]
    query = streams.start(**options)
    assert queue.push_many(records, timeout=SECONDS) == len(records)
    query.stop()
    streams.run()
    assert streams.batches.values() == records


def test_a_batch_leaves_room_in_the_ring(streams: Streams, queue: mmapqueue.Queue) -> None:
    taken_up(streams, queue)
    pushed = push_until_full(queue)
    streams.run()
    assert sum(streams.batches.sizes()) == pushed
    # 8 segments, each with 7 of these records.
    assert max(streams.batches.sizes()) <= 28


PUSH = """
import sys
import mmapqueue
with mmapqueue.Queue(sys.argv[1]) as queue:
    for i in range(0, 2000, 100):
        queue.push_many([b"%d" % n for n in range(i, i + 100)], timeout=60)
"""


def test_pushed_meanwhile_by_another_process(streams: Streams, fill: Fill, script: Script) -> None:
    fill([])
    query = streams.start()
    script.run(PUSH, streams.queue_dir)
    query.processAllAvailable()
    query.stop()
    assert streams.batches.values() == [b"%d" % i for i in range(2000)]


def test_two_queries_with_a_consumer_each(spark: SparkSession, streams: Streams, fill: Fill) -> None:
    records = fill(100)
    other = Streams(spark, streams.queue_dir, streams.checkpoint.with_name("other"))
    queries = [streams.start(), other.start(maxOffsetsPerTrigger=30)]
    for query in queries:
        query.processAllAvailable()
    for query in queries:
        query.stop()
    assert streams.batches.values() == other.batches.values() == records


def test_two_queries_with_one_consumer(spark: SparkSession, streams: Streams, fill: Fill) -> None:
    fill(10)
    other = Streams(spark, streams.queue_dir, streams.checkpoint.with_name("other"))
    query = streams.start(consumer="one")
    query.processAllAvailable()
    with pytest.raises(StreamingQueryException) as caught:
        other.run(consumer="one")
    said = str(caught.value)
    assert f"consumer one of the queue in {streams.queue_dir} is in use by the query with checkpoint file:" in said
    assert str(streams.checkpoint) in said
    assert "option consumer" in said
    query.stop()
    other.run(consumer="one")
    assert len(other.batches.all()) == 10


def test_a_run_that_fails_at_one_source_leaves_the_others_free(
    spark: SparkSession, streams: Streams, fill: Fill, tmp_path: Path
) -> None:
    """Spark stops no source of a query with availableNow if one of them fails before the first trigger."""
    records = fill(10)
    paths = (streams.queue_dir, tmp_path / "two")

    def run() -> None:
        frames = [spark.readStream.format("mmapqueue").load(str(path)) for path in paths]
        writer = frames[0].union(frames[1]).writeStream.foreachBatch(streams.batches)
        streams.end(writer.option("checkpointLocation", str(streams.checkpoint)).trigger(availableNow=True).start())

    with pytest.raises(StreamingQueryException, match=r"option path = .*/two; allowed: the directory of a queue"):
        run()
    records += fill([b"of the other"], path=paths[1])
    run()
    assert sorted(streams.batches.values()) == sorted(records)


OWN = """
import sys
import mmapqueue
with mmapqueue.Queue(sys.argv[1], read_only=True) as queue:
    queue.consumer("one").peek()
    print("owned", flush=True)
    sys.stdin.read()
"""


def test_a_consumer_that_another_process_owns(streams: Streams, fill: Fill, script: Script) -> None:
    fill(10)
    process = script.start(OWN, streams.queue_dir)
    assert process.stdout is not None
    assert process.stdout.readline() == "owned\n"
    with pytest.raises(StreamingQueryException, match=r"consumer one of the queue in .* is in use by process [0-9]+"):
        streams.run(consumer="one")
    process.communicate()
    streams.run(consumer="one")
    assert len(streams.batches.all()) == 10


def lose_the_oldest(streams: Streams, queue: mmapqueue.Queue) -> int:
    """Deletes the consumer of a stopped query; returns the offset of the first record that remains."""
    queue.delete_consumer(streams.consumer())
    consumer = queue.consumer("default")
    for _ in range(3):
        push_until_full(queue)
        for message in consumer.pop_many(10_000):
            last = message
        consumer.ack_up_to(last)
        consumer.seek("committed")
    push_until_full(queue)
    return queue.first_offset()


def test_records_that_are_not_retained_are_an_error(streams: Streams, queue: mmapqueue.Queue) -> None:
    queue.push_many([b"one", b"two", b"three"])
    streams.run()
    first = lose_the_oldest(streams, queue)
    with pytest.raises(StreamingQueryException) as caught:
        streams.run()
    assert f"partition 0 of the queue in {streams.queue_dir}" in str(caught.value)
    assert f"offsets 3..{first - 1}, " in str(caught.value)
    assert "failOnDataLoss = false" in str(caught.value)
    streams.run(failOnDataLoss=False)
    assert [offset for _, offset, _ in streams.batches.all()] == [0, 1, 2, *range(first, queue.end_offset())]
    streams.run()


def test_a_batch_that_was_logged_and_is_lost(streams: Streams, queue: mmapqueue.Queue) -> None:
    queue.push_many([b"one", b"two", b"three"])
    streams.run()
    streams.forget_last_commit()
    first = lose_the_oldest(streams, queue)
    with pytest.raises(StreamingQueryException, match=r"offsets 0\.\.2, "):
        streams.run()
    streams.batches.rows.clear()
    streams.run(failOnDataLoss=False)
    assert [offset for _, offset, _ in streams.batches.all()] == list(range(first, queue.end_offset()))


def test_a_queue_that_was_made_again_is_another_one(streams: Streams, fill: Fill) -> None:
    fill(10)
    streams.run()
    shutil.rmtree(streams.queue_dir)
    again = fill(25)
    with pytest.raises(
        StreamingQueryException, match=r"the queue was replaced by a different one.*sources with names may change"
    ):
        streams.run()
    streams.run(failOnDataLoss=False)
    assert streams.batches.all()[10:] == [(0, i, value) for i, value in enumerate(again)]
    fill([b"new"])
    streams.run()
    assert streams.batches.values()[35:] == [b"new"]


def test_a_tail_that_was_lost(streams: Streams, fill: Fill, tmp_path: Path) -> None:
    fill(10)
    shutil.copytree(streams.queue_dir, tmp_path / "before")
    fill(5)
    streams.run()
    # As after a crash of the machine before the last records were durable.
    shutil.rmtree(streams.queue_dir)
    shutil.copytree(tmp_path / "before", streams.queue_dir)
    with pytest.raises(StreamingQueryException, match=r"offsets 10\.\.14, .* the queue ends at offset 10"):
        streams.run()
    streams.run(failOnDataLoss=False)
    new = fill(3)
    streams.run(failOnDataLoss=False)
    assert streams.batches.all()[15:] == [(0, 10 + i, value) for i, value in enumerate(new)]


def test_a_consumer_that_is_deleted_under_its_query(streams: Streams, queue: mmapqueue.Queue) -> None:
    queue.push_many([b"one", b"two"])
    query = streams.start()
    try:
        query.processAllAvailable()
        consumer = streams.consumer()
        queue.delete_consumer(consumer)
        queue.push(b"three")
        said = (
            rf"consumer {consumer} of the queue in {queue.path} was deleted or closed in this process while the query"
        )
        with pytest.raises(StreamingQueryException, match=said):
            query.processAllAvailable()
    finally:
        query.stop()
    streams.run()
    assert streams.batches.values() == [b"one", b"two", b"three"]


def test_a_query_without_a_checkpoint_leaves_no_consumer(spark: SparkSession, queue: mmapqueue.Queue) -> None:
    queue.push(b"one")
    frame = spark.readStream.format("mmapqueue").load(str(queue.path))
    query = frame.writeStream.format("noop").start()
    query.processAllAvailable()
    assert len(queue.consumers()) == 1
    query.stop()
    assert queue.consumers() == []


def queue_id(path: Path) -> str:
    """The queue's id, at its offset in docs/reference/format.md."""
    high, low = struct.unpack_from("<2Q", (path / "meta.dat").read_bytes(), 88)
    return str(uuid.UUID(int=high << 64 | low))


def replaced(path: Path, by: Path) -> tuple[str, str]:
    """Replaces a queue by another one; returns both ids."""
    ids = queue_id(path), queue_id(by)
    path.rename(path.with_name("away"))
    by.rename(path)
    return ids


def test_a_queue_that_is_replaced_while_the_query_runs(streams: Streams, fill: Fill, tmp_path: Path) -> None:
    fill(10)
    fill(3, path=tmp_path / "other")
    query = streams.start()
    query.processAllAvailable()
    former, new = replaced(streams.queue_dir, tmp_path / "other")
    with pytest.raises(StreamingQueryException, match="was replaced while the query with checkpoint") as caught:
        query.awaitTermination(SECONDS)
    assert f"the present queue has the id {new}" in str(caught.value)
    assert f"the one that it was reading has the id {former}" in str(caught.value)
    assert len(streams.batches.all()) == 10


def test_a_query_with_a_replaced_partition_leaves_the_others(streams: Streams, fill: Fill, tmp_path: Path) -> None:
    for number in range(3):
        fill(10, path=streams.queue_dir / f"p={number}")
    again = fill([b"other %d" % i for i in range(5)], path=tmp_path / "other")
    query = streams.start()
    query.processAllAvailable()
    (streams.queue_dir / "p=1").rename(tmp_path / "away")
    (tmp_path / "other").rename(streams.queue_dir / "p=1")
    with pytest.raises(StreamingQueryException, match=r"partition 1 of the queue in .* was replaced"):
        query.awaitTermination(SECONDS)
    streams.run(failOnDataLoss=False)
    streams.run(failOnDataLoss=False)
    assert streams.batches.values()[30:] == again


def test_a_replaced_queue_is_read_on_when_asked_for(streams: Streams, fill: Fill, tmp_path: Path) -> None:
    fill(10)
    again = fill([b"other %d" % i for i in range(5)], path=tmp_path / "other")
    query = streams.start(failOnDataLoss=False)
    query.processAllAvailable()
    replaced(streams.queue_dir, tmp_path / "other")
    assert eventually(lambda: len(streams.batches.all()) == 15 or not query.isActive, SECONDS)
    query.stop()
    assert query.exception() is None
    assert streams.batches.values()[10:] == again


def test_a_sink_whose_queue_is_replaced(spark: SparkSession, fill: Fill, queue_dir: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    fill(10, path=source)
    fill(1, path=tmp_path / "other")
    writer = spark.readStream.format("mmapqueue").load(str(source)).select("value").writeStream.format("mmapqueue")
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start(str(queue_dir))
    query.processAllAvailable()
    former, new = replaced(queue_dir, tmp_path / "other")
    fill(10, path=source)
    with pytest.raises(StreamingQueryException, match="was replaced while it was written") as caught:
        query.awaitTermination(SECONDS)
    assert former in str(caught.value)
    assert new in str(caught.value)


def test_any_number_of_queries_on_one_queue(spark: SparkSession, fill: Fill, queue_dir: Path, tmp_path: Path) -> None:
    records = fill(100)
    all_of_them = [Streams(spark, queue_dir, tmp_path / f"checkpoint-{i}") for i in range(12)]
    queries = [each.start() for each in all_of_them]
    for query in queries:
        query.processAllAvailable()
    with mmapqueue.Queue(queue_dir, spark=spark, read_only=True) as queue:
        assert len(queue.consumers()) >= 12
    for query in queries:
        query.stop()
    for each in all_of_them:
        assert each.batches.values() == records


def test_a_consumer_says_whose_it_is(streams: Streams, fill: Fill) -> None:
    fill(10)
    streams.run()
    with mmapqueue.Queue(streams.queue_dir, spark=streams.spark) as queue:
        labels = {stats.name: stats.label for stats in queue.consumer_stats().values()}
    assert labels.pop(streams.consumer()) == f"checkpoint file:{streams.checkpoint}/sources/0"
    assert set(labels.values()) <= {""}


DRIVER = """
import sys
import mmapqueue
from pyspark.sql import SparkSession

_, queue, checkpoint, out = sys.argv
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
spark = mmapqueue.configure(builder.config("spark.driver.host", "127.0.0.1")).getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
frame = spark.readStream.format("mmapqueue").option("maxOffsetsPerTrigger", 50).load(queue)
writer = frame.select("offset", "value").writeStream.format("parquet").option("checkpointLocation", checkpoint)
writer.option("path", out).trigger(availableNow=True).start().awaitTermination()
"""


@pytest.mark.slow
@pytest.mark.long_form
def test_a_driver_that_is_killed(spark: SparkSession, streams: Streams, fill: Fill, script: Script) -> None:
    records = fill(800)
    out = script.directory / "out"
    for commits in (3, 9) if LONG else (3,):
        process = script.start(DRIVER, streams.queue_dir, streams.checkpoint, out)
        assert eventually((streams.checkpoint / "commits" / str(commits)).exists, 180), process.poll()
        kill_with_children(process)
    # This session is the next driver of the checkpoint.
    frame = spark.readStream.format("mmapqueue").load(str(streams.queue_dir)).select("offset", "value")
    writer = frame.writeStream.format("parquet").option("checkpointLocation", str(streams.checkpoint))
    query = writer.option("path", str(out)).trigger(availableNow=True).start()
    assert query.awaitTermination(SECONDS)
    assert query.exception() is None
    rows = spark.read.parquet(str(out)).orderBy("offset").collect()
    assert [(row.offset, bytes(row.value)) for row in rows] == list(enumerate(records))
