"""The option onDamage."""

from pathlib import Path

import pytest
from pyspark.errors import IllegalArgumentException
from pyspark.sql import SparkSession

import mmapqueue
from conftest import flip

from .conftest import SMALL, Fill, Load, QueryFailed, pushing
from .streams import Streams


@pytest.fixture
def lost(fill: Fill, spark: SparkSession, queue_dir: Path) -> int:
    """The offset of a damaged record among 300."""
    fill([b"%d" % i * 20 for i in range(300)], **SMALL)
    flip(queue_dir / "1_segment.dat", 1000)
    (finding,) = mmapqueue.verify(queue_dir, spark=spark).findings
    return finding.first_lost


def test_lost_records_do_not_count(lost: int, load: Load, queue_dir: Path, spark: SparkSession) -> None:
    repaired = queue_dir.with_name("repaired")
    report = mmapqueue.repair(queue_dir, to=repaired, spark=spark)
    assert [(each.first_lost, each.last_lost) for each in report.lost] == [(lost, lost)]
    frame, exact = load(repaired), load(repaired, onDamage="skip")
    whole = [offset for offset in range(300) if offset != lost]
    for each in (frame, exact):
        assert [row.offset for row in each.select("offset", "value").collect()] == whole
        assert each.count() == 299
        assert [row.offset for row in each.limit(lost + 1).collect()] == whole[: lost + 1]
        assert [row.offset for row in each.offset(lost).limit(3).collect()] == whole[lost : lost + 3]
        assert [row.offset for row in each.orderBy("offset").limit(lost + 1).collect()] == whole[: lost + 1]
        assert [row.offset for row in each.select("offset").collect()] == whole
        assert each.where(f"offset <= {lost}").agg({"offset": "max"}).collect()[0][0] == lost - 1
    for condition in (f"offset >= {lost}", f"offset <= {lost}"):  # records without a time at one end
        times = [each.where(condition).selectExpr("min(timestamp)", "max(timestamp)") for each in (frame, exact)]
        assert times[0].collect() == times[1].collect()


def test_lost_records_of_an_archive_do_not_count(
    lost: int, load: Load, queue_dir: Path, spark: SparkSession, archive_dir: Path
) -> None:
    mmapqueue.repair(queue_dir, in_place=True, spark=spark)
    pushing(spark, queue_dir, archive_uri=archive_dir, archive_host="w1")([b"last"])
    frame = load(archive_dir)
    whole = [offset for offset in range(301) if offset != lost]
    assert [row.offset for row in frame.collect()] == whole
    assert frame.count() == 300
    assert frame.where(f"offset > {lost}").count() == 300 - lost
    assert [row.offset for row in frame.limit(lost + 1).select("offset").collect()] == whole[: lost + 1]


def test_damage_is_an_error_unless_skipped(lost: int, load: Load) -> None:
    with pytest.raises(QueryFailed, match=r"1_segment\.dat"):
        load().collect()
    frame = load(onDamage="skip")
    assert [row.offset for row in frame.collect()] == [offset for offset in range(300) if offset != lost]
    # Neither counts nor limits are computed from offsets.
    assert frame.count() == 299
    assert frame.select("offset").where(f"offset = {lost}").count() == 0
    assert len(frame.limit(lost + 1).collect()) == lost + 1
    with pytest.raises(IllegalArgumentException, match="error or skip"):
        load(onDamage="ignore").collect()


@pytest.mark.parametrize("at", [968, 1000], ids=["header", "payload"])
def test_a_stream_skips_a_damaged_record(
    at: int, fill: Fill, queue_dir: Path, spark: SparkSession, tmp_path: Path
) -> None:
    fill([b"%d" % i * 20 for i in range(140)])
    flip(queue_dir / "1_segment.dat", at)
    (finding,) = mmapqueue.verify(queue_dir, spark=spark).findings
    assert (finding.first_lost, finding.last_lost) == (91, 91)
    streams = Streams(spark, queue_dir, tmp_path / "checkpoint")
    # One batch ends before the record: its progress tells the age of the next one. Others end after it in its segment.
    streams.run(onDamage="skip", maxOffsetsPerTrigger=7, startingOffsets="84")
    assert [offset for _, offset, _ in streams.batches.all()] == [i for i in range(84, 140) if i != 91]


def test_a_damaged_segment_header_is_skipped(
    fill: Fill, load: Load, queue_dir: Path, spark: SparkSession, tmp_path: Path
) -> None:
    streams = Streams(spark, queue_dir, tmp_path / "checkpoint")
    items = fill([b"%d" % i * 20 for i in range(50)])
    streams.run()
    items += fill([b"%d" % i * 20 for i in range(50, 300)])
    flip(queue_dir / "1_segment.dat", 40)
    left = [bytes(row.value) for row in load(onDamage="skip").collect()]
    assert set(left) < set(items)
    assert 200 < len(left) < 300
    timed = "timestamp > '2000-01-01'"
    assert [bytes(row.value) for row in load(onDamage="skip").where(timed).collect()] == left
    with pytest.raises(QueryFailed, match=r"1_segment\.dat"):
        load().where(timed).collect()
    streams.run(onDamage="skip", maxOffsetsPerTrigger=20)
    assert streams.batches.values() == left


@pytest.mark.parametrize("start", ["log start", "time", "acked"])
def test_a_stream_starts_after_a_damaged_segment_header(
    start: str, fill: Fill, load: Load, queue_dir: Path, spark: SparkSession, tmp_path: Path
) -> None:
    """The damage hides the log start, or the record of the time; one of them is in the middle of a segment."""
    fill([b"%d" % i * 20 for i in range(300)])
    segment = 0
    options = {}
    with mmapqueue.Queue(queue_dir, spark=spark, **SMALL) as queue:
        if start == "time":
            options["startingTimestamp"] = queue.read_at(0).timestamp_micros // 1000
        if start == "acked":
            segment = 1
            queue.create_consumer("other")
            with queue.consumer("other") as other:
                other.seek(100)
    left = [row.offset for row in load(onDamage="skip", startingOffsets="earliest").collect()]
    flip(queue_dir / f"{segment}_segment.dat", 40)
    after = [row.offset for row in load(onDamage="skip", **options).collect()]
    assert 0 < len(after) < len(left) <= 300
    assert after == left[-len(after) :]
    streams = Streams(spark, queue_dir, tmp_path / "checkpoint")
    with pytest.raises(QueryFailed, match=rf"{segment}_segment\.dat"):
        streams.run(**options)
    streams.run(onDamage="skip", **options)
    assert [offset for _, offset, _ in streams.batches.all()] == after
