"""The job of examples/log_pipeline: windowed counts of a pipeline's queue, across restarts."""

import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "log_pipeline"))

import job
import mmapqueue
from conftest import eventually
from mmapqueue.pipeline._event import encode
from mmapqueue.pipeline.event_pb2 import EventType


def push(path: Path, source: str, lines: int) -> None:
    records = [
        encode(type=EventType.LOGGING, content_type="text/plain", data=b"line %d" % n, source=source)
        for n in range(lines)
    ]
    with mmapqueue.Queue(path, capacity="4m", segment_size="64k", max_event_size=10_000, lock_timeout=30.0) as q:
        q.push_many(records)


def await_next_window() -> None:
    """Waits for the begin of the next second."""
    now = int(time.time())
    assert eventually(lambda: int(time.time()) > now)


def counted(spark: SparkSession, out: Path) -> list[tuple[str, int, int]]:
    rows = spark.read.parquet(str(out / "windows")).groupBy("source").sum("records", "bytes").collect()
    return sorted((row[0], row[1], row[2]) for row in rows)


def test_closed_windows_are_written_once(spark: SparkSession, tmp_path: Path) -> None:
    queue, out = tmp_path / "queue", tmp_path / "out"
    arguments = ["--queue", str(queue), "--out", str(out), "--window", "1 second", "--once"]
    for source, lines in (("/a", 10), ("/b", 5)):
        push(queue, source, lines)
        await_next_window()
    assert job.main(arguments) == 0
    assert counted(spark, out) == [("/a", 10, 60)], "the window of /b is open as long as nothing comes after it"
    push(queue, "/c", 1)
    assert job.main(arguments) == 0
    assert counted(spark, out) == [("/a", 10, 60), ("/b", 5, 30)]
