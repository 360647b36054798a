"""What the driver of a stream lists of a large archive."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import DataFrame, SparkSession

import archive_names

from .test_stream_read import end_offset

_RECORDS = archive_names.BUCKET // 5
_BUCKETS = 20


def _overlap(archive: Path, bucket: int) -> None:
    """Makes each listing of a bucket an error."""
    first = bucket * archive_names.BUCKET
    archive_names.store(archive, 0, first + 1, first + _RECORDS + 1)


def _planned(spark: SparkSession, archive: Path, checkpoint: Path, batches: int, **options: object) -> list[Any]:
    """The metrics of each batch of a stream that plans its batches and reads none."""

    def plan(frame: DataFrame, _: int) -> None:
        execution: Any = frame._jdf.queryExecution()
        execution.toRdd().getNumPartitions()

    reader = spark.readStream.format("mmapqueue")
    for key, value in options.items():
        reader.option(key, str(value))
    writer = reader.load(str(archive)).writeStream.foreachBatch(plan)
    query: Any = writer.option("checkpointLocation", str(checkpoint)).start()
    try:
        while len(query.recentProgress) < batches and query.isActive:
            query.awaitTermination(0.05)
        assert query.exception() is None
        return [each["sources"][0] for each in query.recentProgress[:batches]]
    finally:
        query.stop()


@pytest.mark.parametrize(
    "limit", [{"maxBytesPerTrigger": 3 * archive_names.RUN_BYTES}, {"maxOffsetsPerTrigger": 3 * _RECORDS}]
)
def test_a_backlog_is_not_listed(spark: SparkSession, tmp_path: Path, limit: dict[str, int]) -> None:
    archive = tmp_path / "archive"
    archive_names.write(archive, 1, _BUCKETS * 5 - 2, _RECORDS)
    for bucket in range(4, _BUCKETS - 1):
        _overlap(archive, bucket)
    sources = _planned(spark, archive, tmp_path / str(uuid.uuid4()), 3, startingOffsets="earliest", **limit)
    ends = [end_offset(each)["0"] for each in sources]
    assert ends == [3 * _RECORDS, 6 * _RECORDS, 9 * _RECORDS]
    left = [_BUCKETS * 5 - 2 - end // _RECORDS for end in ends]
    assert [int(each["metrics"]["lag_bytes"]) for each in sources] == [runs * archive_names.RUN_BYTES for runs in left]


def test_a_stream_from_an_offset_lists_its_buckets(spark: SparkSession, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    archive_names.write(archive, 1, _BUCKETS * 5 - 2, _RECORDS)
    for bucket in range(1, _BUCKETS - 3):
        _overlap(archive, bucket)
    start = (_BUCKETS - 2) * archive_names.BUCKET
    (first, *_) = _planned(spark, archive, tmp_path / "checkpoint", 1, startingOffsets=json.dumps({"0": start}))
    assert end_offset(first)["0"] == (_BUCKETS * 5 - 2) * _RECORDS


def test_the_progress_of_a_thousand_partitions_stays_short(spark: SparkSession, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    archive_names.write(archive, 1000, 3, _RECORDS)
    options = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": 1000 * _RECORDS}
    (first, *_) = _planned(spark, archive, tmp_path / "checkpoint", 1, **options)
    metrics = first["metrics"]
    assert (metrics["partitions"], metrics["partitions_behind"]) == ("1000", "1000")
    slowest = json.loads(metrics["slowest_partitions"])
    assert [each["partition"] for each in slowest] == list(range(10))
    assert {each["lag_records"] for each in slowest} == {2 * _RECORDS}
    assert len(json.dumps(metrics)) < 3000
