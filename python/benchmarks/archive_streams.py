"""Measures the driver of a stream over a large archive: many runs in one partition, then many partitions.

python archive_streams.py [--runs N…] [--partitions N…] [--each N…] [--directory DIR]

The files of the runs are empty: the driver plans by their names. The batches are planned, not read. Needs the jar, on
file: alone. It prints a table for each.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import archive_names
import mmapqueue
from bench_report.words import number, table

_RECORDS = 1_000  # of a run
_BATCHES = 20
_IDLE = 20
_STARTS = 3


class _Stream:
    """A query that plans its batches and reads none."""

    def __init__(self, spark: SparkSession, archive: Path, directory: Path, **options: object) -> None:
        self.begun: list[float] = []
        self.directory = directory
        reader = spark.readStream.format("mmapqueue")
        for key, value in options.items():
            reader.option(key, str(value))
        stream = reader.load(archive.as_uri())
        writer = stream.writeStream.foreachBatch(self._batch)
        writer = writer.option("checkpointLocation", str(directory / "checkpoint"))
        self.started = time.perf_counter()
        self.query: Any = writer.start()

    def _batch(self, frame: DataFrame, _: int) -> None:
        begin = time.perf_counter()
        execution: Any = frame._jdf.queryExecution()  # type: ignore[operator]
        execution.toRdd().getNumPartitions()  # plans, and runs nothing
        self.begun.append(begin)

    def wait(self, condition: Callable[[], bool]) -> None:
        """Waits for a state of the query.

        Raises:
            RuntimeError: The query has failed.
        """
        while not condition():
            if not self.query.isActive:
                raise RuntimeError(self.query.exception())
            time.sleep(0.005)

    def triggers(self, key: str) -> list[float]:
        """A duration of all triggers, in ms."""
        return [each["durationMs"][key] for each in self.query.recentProgress if key in each["durationMs"]]


def _heap(spark: SparkSession) -> float:
    """The driver's live heap, in MB."""
    runtime: Any = spark._jvm.java.lang.Runtime.getRuntime()  # type: ignore[union-attr]
    runtime.gc()
    return float(runtime.totalMemory() - runtime.freeMemory()) / 1e6


def _ms(seconds: float) -> str:
    return number(seconds * 1e3)


def _many_runs(spark: SparkSession, directory: Path, sizes: list[int]) -> None:
    rows = []
    for runs in sizes:
        archive = directory / f"runs-{runs}"
        archive_names.write(archive, 1, runs, _RECORDS)
        near_end = json.dumps({"0": (runs - _BATCHES - 5) * _RECORDS})
        for what, options in (
            ("last runs", {"startingOffsets": near_end, "maxOffsetsPerTrigger": _RECORDS}),
            ("all, by records", {"startingOffsets": "earliest", "maxOffsetsPerTrigger": 20 * _RECORDS}),
            ("all, by bytes", {"startingOffsets": "earliest", "maxBytesPerTrigger": 20 * archive_names.RUN_BYTES}),
        ):
            before = _heap(spark)
            stream = _Stream(spark, archive, directory / str(uuid.uuid4()), **options)
            stream.wait(lambda begun=stream.begun: len(begun) > _BATCHES)
            begun = stream.begun
            steps = [b - a for a, b in itertools.pairwise(begun)]
            held = _heap(spark) - before
            stream.query.stop()
            start = _ms(begun[0] - stream.started)
            rows.append([number(runs), what, start, _ms(statistics.median(steps)), _ms(max(steps)), f"{held:.0f}"])
            print(rows[-1], file=sys.stderr)
        shutil.rmtree(archive)
    head = ["runs", "stream of", "start, ms", "batch, ms", "batch, max, ms", "heap, MB"]
    print(table(head, rows, left=2), end="\n\n")


def _many_partitions(spark: SparkSession, directory: Path, sizes: list[int], runs: int) -> list[list[str]]:
    rows = []
    for partitions in sizes:
        archive = directory / f"partitions-{partitions}"
        archive_names.write(archive, partitions, runs, _RECORDS)
        starts, restarts = [], []
        for attempt in range(_STARTS):
            own = directory / str(uuid.uuid4())
            stream = _Stream(spark, archive, own, startingOffsets="latest")
            stream.wait(lambda query=stream.query: len(query.recentProgress) > 0)
            starts.append(time.perf_counter() - stream.started)
            stream.wait(lambda stream=stream: len(stream.triggers("latestOffset")) > _IDLE)
            idle = stream.triggers("triggerExecution")[-_IDLE:]
            stream.query.stop()
            for partition in range(partitions):
                first = (runs + attempt) * _RECORDS
                archive_names.store(archive, partition, first, first + _RECORDS)
            again = _Stream(spark, archive, own, startingOffsets="latest")
            again.wait(lambda begun=again.begun: len(begun) > 0)
            restarts.append(again.begun[0] - again.started)
            again.query.stop()
        rows.append(
            [
                number(partitions),
                number(runs),
                _ms(statistics.median(starts)),
                _ms(max(starts)),
                number(statistics.median(idle)),
                number(max(idle)),
                _ms(statistics.median(restarts)),
            ]
        )
        print(rows[-1], file=sys.stderr)
        shutil.rmtree(archive)
    return rows


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(prog="archive_streams", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, nargs="*", default=[1_000, 100_000, 1_000_000])
    parser.add_argument("--partitions", type=int, nargs="*", default=[10, 100, 1_000])
    parser.add_argument("--each", type=int, nargs="*", default=[20, 200])
    parser.add_argument("--directory", type=Path)
    options = parser.parse_args()
    builder = SparkSession.builder.master("local[2]").appName("archive-streams")
    builder.config("spark.ui.enabled", "false").config("spark.driver.memory", "2g")
    builder.config("spark.sql.streaming.noDataProgressEventInterval", "0")
    builder.config("spark.sql.streaming.numRecentProgressUpdates", "1000")
    spark = mmapqueue.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory(dir=options.directory) as temporary:
        directory = Path(temporary)
        archive_names.write(directory / "warm", 1, 100, _RECORDS)
        options_of_warm_up = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": _RECORDS}
        stream = _Stream(spark, directory / "warm", directory / "w", **options_of_warm_up)
        stream.wait(lambda: len(stream.begun) > _BATCHES)
        stream.query.stop()
        if options.runs:
            _many_runs(spark, directory, options.runs)
        rows = [row for runs in options.each for row in _many_partitions(spark, directory, options.partitions, runs)]
        head = ["partitions", "runs of each", "start, ms", "start, max, ms", "idle trigger, ms", "idle, max, ms"]
        print(table([*head, "restart with a batch, ms"], rows, left=0))
    spark.stop()


if __name__ == "__main__":
    main()
