"""Queries in real-time mode, and of work, beside a full disk, damage, a resize, a backup, a second query."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Literal

import pytest

import mmapqueue
from conftest import flip

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from .conftest import Fill, QueryFailed
from .test_process_stream import Work, acked, work
from .test_real_time_sink import Pipeline, pipeline
from .test_stream_real_time import SHORTEST, needs_real_time

__all__ = ["pipeline", "work"]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts a disk of a size, or gives it another one."""
    path = tmp_path / "disk"
    path.mkdir()

    def size(size: str) -> Path:
        options = f"size={size}" + (",remount" if path.is_mount() else "")
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "none", path], capture_output=True, check=False
        )
        if mounted.returncode:
            pytest.skip("no disk of a small size: mount needs root")
        return path

    yield size
    if path.is_mount():
        subprocess.run(["umount", "--lazy", path], check=True)


@needs_real_time
def test_a_full_disk_of_the_target(pipeline: Pipeline, fill: Fill, disk: Callable[[str], Path]) -> None:
    values = fill([b"%d " % i * 100 for i in range(1000)], capacity="4m", queue_capacity_segments=None)
    pipeline.target = disk("256k") / "target"
    said = pipeline.fails(pipeline.start(pipeline.rows(), capacity="8m"))
    assert "No space left" in said, said
    stored = pipeline.records()
    assert stored == [value.decode() for value in values[: len(stored)]]
    assert 0 < len(stored) < 1000
    disk("16m")
    query = pipeline.start(pipeline.rows(), capacity="8m")
    try:
        pipeline.await_count(query, 1000)
    finally:
        query.stop()
    assert pipeline.records() == [value.decode() for value in values]


def test_a_full_disk_of_work(work: Work, fill: Fill, disk: Callable[[str], Path]) -> None:
    work.path = disk("4m") / "work"
    fill(300, path=work.path)
    filler = work.path.with_name("filler")
    with filler.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
        file.writelines(repeat(bytes(4096)))
    with pytest.raises(QueryFailed, match=f"consumer default of {work.path}: .*No space left"):
        work.run(acked)
    assert work.attempts() == {}, "no handler was called"
    filler.unlink()
    work.run(acked)
    assert work.attempts() == {offset: [1] for offset in range(300)}
    assert work.lag() == 0


@needs_real_time
@pytest.mark.parametrize("on_damage", ["error", "skip"])
def test_damage_of_the_source(pipeline: Pipeline, fill: Fill, on_damage: Literal["error", "skip"]) -> None:
    values = [value.decode() for value in fill([b"%d" % i * 20 for i in range(300)])]
    flip(pipeline.source / "1_segment.dat", 1000)
    (finding,) = mmapqueue.verify(pipeline.source, spark=pipeline.spark).findings
    lost = finding.first_lost
    for _ in range(2):
        rows = mmapqueue.read_stream(pipeline.source, spark=pipeline.spark, on_damage=on_damage)
        query = pipeline.start(rows)
        if on_damage == "error":
            assert "1_segment.dat" in pipeline.fails(query)
            assert pipeline.records() == values[:lost]
        else:
            try:
                pipeline.await_count(query, 299)
            finally:
                query.stop()
            assert pipeline.records() == values[:lost] + values[lost + 1 :]


def test_damage_of_work(work: Work, fill: Fill, spark: SparkSession) -> None:
    fill([b"%d" % i * 20 for i in range(300)])
    flip(work.path / "1_segment.dat", 1000)
    (finding,) = mmapqueue.verify(work.path, spark=spark).findings
    for _ in range(2):
        with pytest.raises(QueryFailed, match=r"1_segment\.dat, byte \d+"):
            work.run(acked, max_records=20)
    mmapqueue.repair(work.path, in_place=True, spark=spark)
    work.run(acked, max_records=20)
    # No handler was called with the records of the failed micro-batch.
    assert work.attempts() == {offset: [1] for offset in range(300) if offset != finding.first_lost}
    assert work.lag() == 0


def test_damage_of_one_partition_of_work(work: Work, fill: Fill, spark: SparkSession) -> None:
    for partition in range(2):
        fill([b"%d" % i * 20 for i in range(300)], partition=partition)
    flip(work.path / "p=0" / "1_segment.dat", 1000)
    (finding,) = mmapqueue.verify(work.path / "p=0", spark=spark).findings
    for _ in range(3):
        with pytest.raises(QueryFailed, match=r"1_segment\.dat, byte \d+"):
            work.run(lambda _batch: "ack", max_records=20)
    mmapqueue.repair(work.path / "p=0", in_place=True, spark=spark)
    work.run(lambda _batch: "ack", max_records=20)
    # What the other partition had popped for the failed micro-batches counts no attempt.
    assert work.deliveries == {
        (partition, offset): [1]
        for partition in range(2)
        for offset in range(300)
        if (partition, offset) != (0, finding.first_lost)
    }


@needs_real_time
def test_a_source_that_is_resized(pipeline: Pipeline, fill: Fill) -> None:
    values = fill(50)
    query = pipeline.start(pipeline.rows())
    try:
        pipeline.await_count(query, 50)
        with pytest.raises(mmapqueue.Locked):
            mmapqueue.resize(pipeline.source, "2m", spark=pipeline.spark)
        values += fill(20)
        pipeline.await_count(query, 70)
    finally:
        query.stop()
    mmapqueue.resize(pipeline.source, "2m", spark=pipeline.spark)
    values += fill(20, queue_capacity_segments=None)
    query = pipeline.start(pipeline.rows())
    try:
        pipeline.await_count(query, 90)
    finally:
        query.stop()
    assert pipeline.records() == [value.decode() for value in values]


@needs_real_time
def test_a_source_from_a_backup(pipeline: Pipeline, fill: Fill) -> None:
    fill(10)
    shutil.copytree(pipeline.source, pipeline.source.with_name("backup"))
    fill(10)
    query = pipeline.start(pipeline.rows(), batch=SHORTEST)
    try:
        pipeline.await_count(query, 20)
        pipeline.await_batches(query, 1)
    finally:
        query.stop()
    shutil.rmtree(pipeline.source)
    pipeline.source.with_name("backup").rename(pipeline.source)
    said = pipeline.fails(pipeline.start(pipeline.rows()))
    assert "has lost the records with offsets 10..19" in said
    rows = mmapqueue.read_stream(pipeline.source, spark=pipeline.spark, fail_on_data_loss=False)
    fill([b"new %d" % i for i in range(15)])
    query = pipeline.start(rows)
    try:
        pipeline.await_count(query, 25)
    finally:
        query.stop()
    # The target has rows of the offsets below 20.
    assert pipeline.records()[20:] == [f"new {i}" for i in range(10, 15)]


@needs_real_time
def test_two_queries_of_one_checkpoint(pipeline: Pipeline, fill: Fill) -> None:
    fill(10)
    first = pipeline.start(pipeline.rows())
    try:
        pipeline.await_count(first, 10)
        second = pipeline.start(pipeline.rows())  # Spark stops the first one
        try:
            fill(10)
            pipeline.await_count(second, 20)
            assert not first.isActive
        finally:
            second.stop()
    finally:
        first.stop()
    assert pipeline.records() == [f"record {i}" for i in range(10)] * 2
