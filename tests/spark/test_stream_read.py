"""Streaming reads: batches, restarts, limits, starting offsets, progress."""

import ast
import json
import shutil
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import mmapqueue

pytest.importorskip("pyspark")

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from .conftest import SMALL, Fill, Load
from .streams import Streams, progresses


@pytest.fixture
def streams(spark: SparkSession, queue_dir: Path, tmp_path: Path) -> Streams:
    return Streams(spark, queue_dir, tmp_path / "checkpoint")


def offsets(directory: Path) -> list[str]:
    """The ends of all batches, as the checkpoint has them."""
    numbers = sorted(int(file.name) for file in (directory / "offsets").iterdir() if file.name.isdigit())
    return [(directory / "offsets" / str(number)).read_text().splitlines()[2] for number in numbers]


def test_batches_are_ranges_and_a_restart_goes_on(streams: Streams, fill: Fill) -> None:
    records = fill(250)
    streams.run(maxOffsetsPerTrigger=100)
    assert streams.batches.sizes() == [100, 100, 50]
    assert streams.batches.values() == records
    assert offsets(streams.checkpoint) == ['{"0":100}', '{"0":200}', '{"0":250}']
    records += fill([b"more", b"and more"])
    streams.run()
    assert streams.batches.sizes() == [100, 100, 50, 2]
    assert streams.batches.values() == records
    streams.run()
    assert streams.batches.values() == records


def test_a_batch_that_was_not_committed_is_the_same_again(streams: Streams, fill: Fill) -> None:
    records = fill(250)
    streams.run(maxOffsetsPerTrigger=100)
    first = dict(streams.batches.rows)
    records += fill(100)
    streams.forget_last_commit()
    streams.batches.rows.clear()
    streams.run(maxOffsetsPerTrigger=1000, startingOffsets="latest")
    assert streams.batches.rows[2] == first[2]
    assert streams.batches.sizes() == [50, 100]
    assert first[0] + first[1] + streams.batches.all() == [(0, i, records[i]) for i in range(350)]


def test_the_first_batch_begins_again_where_it_began(streams: Streams, fill: Fill) -> None:
    records = fill(20)
    streams.run(startingOffsets="4")
    assert streams.batches.all() == [(0, i, records[i]) for i in range(4, 20)]
    fill(5)
    streams.forget_last_commit()
    streams.run(startingOffsets="earliest")  # counts for a new query only
    assert streams.batches.sizes() == [16, 5]


def test_limits_in_offsets_are_shared_by_size(streams: Streams, fill: Fill) -> None:
    zero, one = fill(300, partition=0), fill(100, partition=1)
    fill([], partition=2)
    streams.run(maxOffsetsPerTrigger=100)
    assert offsets(streams.checkpoint) == [
        f'{{"0":{75 * n},"1":{25 * n},"2":0}}' for n in (1, 2, 3, 4)
    ]  # fmt: skip
    assert [value for partition, _, value in sorted(streams.batches.all()) if partition == 0] == zero
    assert [value for partition, _, value in sorted(streams.batches.all()) if partition == 1] == one


def test_limits_in_bytes_are_kept_about(streams: Streams, fill: Fill) -> None:
    records = fill([b"%04d" % i + b"x" * 996 for i in range(200)])
    streams.run(maxBytesPerTrigger="20k")
    assert streams.batches.values() == records
    # A record takes 1024 bytes and a bit, with what the segments hold besides.
    assert all(14 <= size <= 22 for size in streams.batches.sizes()[:-1]), streams.batches.sizes()
    assert len(streams.batches.sizes()) >= 10


def test_a_record_larger_than_the_limit_is_a_batch(streams: Streams, fill: Fill) -> None:
    records = fill([b"x" * 5000, b"y" * 5000])
    streams.run(maxBytesPerTrigger=1)
    assert streams.batches.values() == records
    assert streams.batches.sizes() == [1, 1]


def test_once_takes_everything(streams: Streams, fill: Fill) -> None:
    fill(100)
    streams.end(streams.start({"once": True}, maxOffsetsPerTrigger=7, maxBytesPerTrigger=50))
    assert streams.batches.sizes() == [100]


def test_few_records_wait_for_more(streams: Streams, fill: Fill) -> None:
    fill(3)
    query = streams.start(minOffsetsPerTrigger=20, maxOffsetsPerTrigger=50, maxTriggerDelay="1h")
    query.processAllAvailable()
    assert streams.batches.sizes() == [3]  # nothing has waited for the first batch
    fill(19)
    query.processAllAvailable()
    assert streams.batches.sizes() == [3]
    fill(1)
    query.processAllAvailable()
    assert streams.batches.sizes() == [3, 20]
    fill(19)
    query.processAllAvailable()
    query.stop()
    assert streams.batches.sizes() == [3, 20]
    streams.run(minOffsetsPerTrigger=20)
    assert streams.batches.sizes() == [3, 20, 19]  # AvailableNow reads everything


def test_few_records_do_not_wait_for_ever(streams: Streams, fill: Fill) -> None:
    fill(3)
    query = streams.start(minOffsetsPerTrigger=1000, maxTriggerDelay="1ms")
    query.processAllAvailable()
    fill(4)
    query.processAllAvailable()
    query.stop()
    assert sum(streams.batches.sizes()) == 7


@pytest.mark.parametrize(
    ("starting", "first"),
    [("earliest", 0), ("latest", 10), ("4", 4), ('{"0":7}', 7), ('{"0":-2}', 0), ('{"0":-1}', 10), ("committed", 6)],
)
def test_where_a_new_query_begins(
    spark: SparkSession, streams: Streams, fill: Fill, queue_dir: Path, starting: str, first: int
) -> None:
    fill(10)
    with mmapqueue.Queue(queue_dir, spark=spark, **SMALL) as queue:
        queue.create_consumer("other")
        queue.consumer("mine").seek(6)
    query = streams.start(startingOffsets=starting, consumer="mine")
    query.processAllAvailable()
    fill([b"new"])
    query.processAllAvailable()
    query.stop()
    assert [offset for _, offset, _ in streams.batches.all()] == list(range(first, 11))


def test_a_new_query_begins_at_a_time(spark: SparkSession, streams: Streams, fill: Fill, queue_dir: Path) -> None:
    fill(10)
    with mmapqueue.Queue(queue_dir, spark=spark, **SMALL) as queue:
        last = queue.read_at(9).timestamp
        first = next(i for i in range(10) if queue.read_at(i).timestamp == last)
    assert last is not None
    streams.run(startingTimestamp=last.astimezone(timezone.utc).isoformat().replace("+00:00", "Z"))
    assert [offset for _, offset, _ in streams.batches.all()] == list(range(first, 10))
    later = Streams(spark, queue_dir, streams.checkpoint.with_name("later"))
    at = datetime.now(timezone.utc) + timedelta(hours=1)
    later.run(startingTimestamp=int(at.timestamp() * 1000))
    assert later.batches.all() == []


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"startingOffsets": "99"}, "startingOffsets = 99; allowed: .* offset 99 is out of range; available: 0..9"),
        ({"startingOffsets": '{"0":1,"1":2}'}, r"startingOffsets = .* \[0, 1\], but the queue has \[0\]"),
        ({"maxOffsetsPerTrigger": "0"}, "maxOffsetsPerTrigger = 0; allowed: a whole number of at least 1"),
        ({"maxBytesPerTrigger": "much"}, "maxBytesPerTrigger = much; allowed: a number of bytes"),
        ({"maxTriggerDelay": "soon"}, "maxTriggerDelay = soon; allowed:"),
        ({"consumer": "a b"}, "consumer = a b; allowed:"),
    ],
)
def test_wrong_options_are_named(streams: Streams, fill: Fill, options: dict[str, str], text: str) -> None:
    fill(10)
    with pytest.raises(StreamingQueryException, match=text):
        streams.run(**options)


def test_partitions_that_are_added_are_read_from_their_beginning(streams: Streams, fill: Fill) -> None:
    fill(10, partition=0)
    query = streams.start(startingOffsets="latest")
    query.processAllAvailable()
    added = fill(20, partition=1)
    query.processAllAvailable()
    query.stop()
    assert streams.batches.all() == [(1, i, value) for i, value in enumerate(added)]
    more = fill(5, partition=2)
    streams.run(startingOffsets="latest")
    assert streams.batches.all()[20:] == [(2, i, value) for i, value in enumerate(more)]


def test_a_partition_is_read_before_those_with_lower_numbers_exist(streams: Streams, fill: Fill) -> None:
    late = fill(20, partition=2)
    query = streams.start()
    query.processAllAvailable()
    assert streams.batches.all() == [(2, i, value) for i, value in enumerate(late)]
    first = fill(10, partition=0)
    query.processAllAvailable()
    query.stop()
    assert streams.batches.all()[20:] == [(0, i, value) for i, value in enumerate(first)]


def test_progress_reports_the_lag(streams: Streams, fill: Fill) -> None:
    fill([b"x" * 1000] * 90, partition=0)
    fill([b"x" * 1000] * 30, partition=1)
    query = streams.run(maxOffsetsPerTrigger=60)
    said = [each["sources"][0] for each in progresses(query) if each["numInputRows"] > 0]
    lagging, read = (each["metrics"] for each in said)
    assert (lagging["minOffsetsBehindLatest"], lagging["maxOffsetsBehindLatest"]) == ("15", "45")
    assert lagging["avgOffsetsBehindLatest"] == "30.0"
    assert lagging["lag_records"] == "60"
    assert 60_000 <= int(lagging["lag_bytes"]) <= 80_000
    assert float(lagging["oldest_unacked_age_seconds"]) > 0
    assert read.pop("slowest_consumer").startswith("spark-")
    assert int(read.pop("slowest_consumer_lag_bytes")) > 40_000, "the last batch is not committed"
    assert len(json.loads(read.pop("slowest_partitions"))) == 2
    assert read == {
        "minOffsetsBehindLatest": "0",
        "maxOffsetsBehindLatest": "0",
        "avgOffsetsBehindLatest": "0.0",
        "lag_records": "0",
        "lag_bytes": "0",
        "oldest_unacked_age_seconds": "0.0",
        "partitions": "2",
        "partitions_behind": "0",
        "dropped_records_total": "0",
        "damaged_records_total": "0",
    }
    assert said[-1]["description"].startswith("mmapqueue ")
    assert "consumer spark-" in said[-1]["description"]
    assert end_offset(said[-1]) == {"0": 90, "1": 30}


def end_offset(said: dict[str, Any]) -> Any:
    end = said["endOffset"]  # text in JSON, a dict, or the text of a dict, from one Spark to the next
    return ast.literal_eval(end) if isinstance(end, str) else end


def test_one_column(spark: SparkSession, streams: Streams, fill: Fill) -> None:
    fill(30)
    seen: list[int] = []
    frame = spark.readStream.format("mmapqueue").load(str(streams.queue_dir)).select("offset")
    query = (
        frame.writeStream.option("checkpointLocation", str(streams.checkpoint))
        .foreachBatch(lambda batch, _: seen.extend(row.offset for row in batch.collect()))
        .trigger(availableNow=True)
        .start()
    )
    streams.end(query)
    assert sorted(seen) == list(range(30))


def test_a_query_that_did_not_begin_holds_nothing(spark: SparkSession, streams: Streams, fill: Fill) -> None:
    fill(10)
    with pytest.raises(StreamingQueryException):
        streams.run(startingOffsets="99")
    with mmapqueue.Queue(streams.queue_dir, spark=spark, **SMALL) as queue:
        assert queue.consumers() == []


def test_a_start_that_is_refused_in_a_partition_frees_nothing(streams: Streams, fill: Fill, load: Load) -> None:
    for partition in range(2):
        fill(10, partition=partition)
    with pytest.raises(StreamingQueryException, match=r"partition 1: .*offset 99 is out of range"):
        streams.run(startingOffsets='{"0":-1,"1":99}')
    assert load().count() == 20


def test_a_start_that_fails_in_a_partition_holds_nothing(streams: Streams, fill: Fill) -> None:
    for partition in range(2):
        fill(10, partition=partition)
    (streams.queue_dir / "p=1" / "meta.dat").write_bytes(b"x" * 8192)
    with pytest.raises(StreamingQueryException, match=r"meta\.dat"):
        streams.run()
    with mmapqueue.Queue(streams.queue_dir / "p=0", spark=streams.spark) as queue:
        assert queue.consumers() == []


def test_a_start_without_the_checkpoint_leaves_the_consumer(streams: Streams, fill: Fill, tmp_path: Path) -> None:
    fill(10)
    streams.run()
    consumer = streams.consumer()
    fill(10)
    aside = streams.checkpoint.rename(tmp_path / "aside")  # as if its file system were not mounted
    with pytest.raises(StreamingQueryException, match="startingOffsets = 99"):
        streams.run(startingOffsets="99")
    assert streams.consumer() == consumer
    shutil.rmtree(streams.checkpoint)
    aside.rename(streams.checkpoint)
    streams.run(startingOffsets="99")
    assert len(streams.batches.all()) == 20


@pytest.mark.parametrize("options", [{}, {"startingOffsets": "latest"}, {"startingTimestamp": "0"}])
def test_no_queue_is_an_error(streams: Streams, options: dict[str, str]) -> None:
    with pytest.raises(StreamingQueryException) as caught:
        streams.run(**options)
    text = str(caught.value)
    assert f"option path = {streams.queue_dir}; allowed: the directory of a queue; it does not exist" in text
    assert "option starting" not in text


def test_a_start_outside_of_the_log(streams: Streams, fill: Fill, tmp_path: Path) -> None:
    fill(10)
    streams.run(startingOffsets="12", failOnDataLoss=False)
    fill(2)
    streams.run()
    assert [offset for _, offset, _ in streams.batches.all()] == [10, 11]
    with mmapqueue.Queue(streams.queue_dir, spark=streams.spark, **SMALL) as queue:
        for _ in range(400):
            queue.push_many([b"x" * 1000] * 10)
            queue.ack_up_to(queue.pop_many(10)[-1])
            with queue.consumer(streams.consumer()) as consumer:
                consumer.seek("latest")
        # Otherwise segments are reclaimed in the background.
        queue.create_consumer("keep")
        first = queue.first_offset()
        assert first > 5
        late = Streams(streams.spark, streams.queue_dir, tmp_path / "late")
        late.run(startingOffsets="5", failOnDataLoss=False)
        assert late.batches.all()[0][1] == first
