"""The streaming variant of the log pipeline of examples/: its counts, and one run with a kill."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "log_pipeline"
sys.path.insert(0, str(EXAMPLE))

from pyspark.sql import SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402, N812
from rich.console import Console  # noqa: E402

import compare  # noqa: E402
import inputs  # noqa: E402
import mmapqueue  # noqa: E402
import shared  # noqa: E402
import stream_compare  # noqa: E402
import stream_demo  # noqa: E402
import stream_job  # noqa: E402
import stream_plot  # noqa: E402
import stream_report  # noqa: E402
from stream_compare import Count, Window  # noqa: E402

LEVELS = [
    (b"2026-01-02 03:04:05 INFO started\n", "INFO"),
    (b"[error] no such file, WARN later\n", "ERROR"),
    (b"a warning is a level, and warnings is none\n", "WARNING"),
    (b"warnings, error_code, errors and xDEBUG\n", "none"),
    (b"caf\xe9 \xff\xfeFatal\xff\n", "FATAL"),
    ("größINFOß\n".encode(), "INFO"),
    (b"\n", "none"),
    (b"", "none"),
    (b"first\rNotice\r\n", "NOTICE"),
    (b"x" * 5000 + b" critical", "CRITICAL"),
]


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session: SparkSession = mmapqueue.configure(builder.config("spark.sql.shuffle.partitions", "2")).getOrCreate()
    return session


# Counting without Spark


@pytest.mark.parametrize(("raw", "level"), LEVELS)
def test_the_first_word_that_names_a_level_counts(raw: bytes, level: str) -> None:
    assert stream_compare.level_of(raw) == level


def test_a_line_counts_in_the_window_of_its_first_push() -> None:
    counter = stream_compare.WindowCounter(5)
    copies = [
        (compare.Copy("a", 0, 3, b"INFO\n"), 14_999),
        (compare.Copy("a", 0, 9, b"INFO\n"), 15_000),
        (compare.Copy("a", 5, 4, b"ERROR\n"), 15_000),
        (compare.Copy("b", 5, 5, b"info 2\n"), 10_000),
    ]
    assert list(counter.passing(copies)) == [copy for copy, _ in copies]
    assert counter.windows == {Window(10_000, "INFO"): Count(2, 12), Window(15_000, "ERROR"): Count(1, 6)}


def test_files_are_counted_up_to_where_they_were_taken(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"INFO a\nERROR b\nINFO")
    taken = {str(path): inputs.measure(path)}
    with path.open("ab") as file:
        file.write(b" more\nERROR\n")
    assert stream_compare.count_files(taken) == {"INFO": Count(2, 11), "ERROR": Count(1, 8)}


EXPECTED = {Window(0, "INFO"): Count(3, 30), Window(0, "none"): Count(1, 9), Window(5000, "INFO"): Count(2, 20)}


def test_each_window_once_with_its_count_is_faithful() -> None:
    result = stream_compare.compare_windows(EXPECTED, EXPECTED.items())
    assert result == stream_compare.WindowComparison(right=3)
    assert result.faithful
    assert stream_compare.per_level(EXPECTED.items()) == {"INFO": Count(5, 50), "none": Count(1, 9)}


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        (list(EXPECTED.items())[1:], "missing"),
        ([*EXPECTED.items(), (Window(5000, "INFO"), Count(2, 20))], "repeated"),
        ([*EXPECTED.items(), (Window(10_000, "INFO"), Count(1, 1))], "surplus"),
        ([*list(EXPECTED.items())[1:], (Window(0, "INFO"), Count(3, 31))], "wrong"),
        ([*list(EXPECTED.items())[1:], (Window(0, "INFO"), Count(2, 30))], "wrong"),
    ],
)
def test_any_other_row_is_a_fault(rows: list[tuple[Window, Count]], fault: str) -> None:
    result = stream_compare.compare_windows(EXPECTED, rows)
    assert not result.faithful
    assert getattr(result, fault) == 1


# The plot


def test_a_batch_has_its_speed_from_its_beginning_to_its_end() -> None:
    batch = {"event": "batch", "query": "q", "time": 10.0, "rows": 100, "seconds": 2.0}
    job = [{"event": "ready", "time": 1.0}, batch, {**batch, "query": "r"}, {**batch, "time": 15.0, "rows": 40}]
    assert stream_plot.rates("q", job) == ("q", [8.0, 10.0, 13.0, 15.0], [50.0, 0.0, 20.0, 0.0])


def test_throughput_is_what_the_queue_grows_by() -> None:
    curve = stream_plot.throughput("q", [(10.0, 0), (10.5, 40), (11.2, 100), (13.5, 60), (13.9, 130)])
    assert curve == ("q", [10.0, 11.0, 12.0, 13.0], [40.0, 60.0, 0.0, 30.0])
    assert stream_plot.throughput("q", []) == ("q", [], [])


def test_the_lag_follows_pushes_and_batches() -> None:
    curve = stream_plot.lag("q", [(1.0, 10), (4.0, 12)], [(2.0, 4), (3.0, 2), (5.0, 12)])
    assert curve == ("q", [1.0, 2.0, 3.0, 4.0, 5.0], [10, 6, 6, 8, 0])


# What is unfinished


def test_a_batch_that_is_begun_and_not_committed_is_seen(tmp_path: Path) -> None:
    for log in ("offsets", "commits"):
        (tmp_path / log).mkdir()
    assert not stream_demo.in_a_batch(tmp_path)
    for name in ("9", "10", ".10.crc", "11.tmp"):
        (tmp_path / "offsets" / name).touch()
    (tmp_path / "commits" / "9").touch()
    assert stream_demo.in_a_batch(tmp_path)
    (tmp_path / "commits" / "10").touch()
    assert not stream_demo.in_a_batch(tmp_path)


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "", "86401", "five"])
def test_a_window_or_delay_without_length_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        stream_job.parse_arguments(["--queue", "q", "--out", "o", f"--delay={text}"])
    assert f"--delay: {text!r} is no whole number of seconds from 1 to 86400" in capsys.readouterr().err
    assert stream_job.whole_seconds("86400") == 86_400


# The queries


def pushes_of(spark: SparkSession, queue: Path) -> list[tuple[compare.Copy, int]]:
    """The records of a queue by source, position and offset, unpacked in Python, with their times in ms."""
    records = mmapqueue.read(spark, queue).withColumn("time", F.unix_millis("timestamp")).collect()
    lines = [(shared.unpack(bytes(row.value)), row.offset, row.time) for row in records]
    return sorted((compare.Copy(line.source, line.position, offset, line.raw), at) for line, offset, at in lines)


def test_records_are_unpacked_in_spark_as_in_python(spark: SparkSession, tmp_path: Path) -> None:
    lines = [shared.Line("/var/log/ä\n.log", 7 << 32 | number, number, raw) for number, (raw, _) in enumerate(LEVELS)]
    with mmapqueue.Queue(None, tmp_path / "queue", capacity="16m", segment_size="1m") as queue:
        queue.push_many([shared.pack(line) for line in lines])
    rows = stream_job.lines_of(mmapqueue.read(spark, tmp_path / "queue")).orderBy("offset").collect()
    assert [(row.source, row.position, bytes(row.raw)) for row in rows] == [
        (line.source, line.position, line.raw) for line in lines
    ]
    assert [row.level for row in rows] == [level for _, level in LEVELS]


def test_lines_that_are_pushed_again_count_once_and_by_their_first_push(spark: SparkSession, tmp_path: Path) -> None:
    lines = [shared.Line("/log", number * 10, number, b"INFO %d\n" % number) for number in range(40)]
    with mmapqueue.Queue(None, tmp_path / "queue", capacity="16m", segment_size="1m") as queue:
        queue.create_consumer("comparison")
        queue.push_many([shared.pack(line) for line in lines[:30]])
        second = int(time.time())
        while int(time.time()) == second:  # so that the others are in another window
            time.sleep(0.01)
        queue.push_many([shared.pack(line) for line in lines[10:]])
    stream = stream_job.lines_of(mmapqueue.read_stream(spark, tmp_path / "queue", max_offsets_per_trigger=25))
    query = (
        stream_job.counts(stream, window=1, delay=60)
        .writeStream.format("memory")
        .queryName("counted")
        .outputMode("update")  # rows of windows that are open, too: the latest of each counts
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    counted = spark.table("counted").groupBy(F.unix_millis("start").alias("start"), "level")
    rows = counted.agg(F.max("lines").alias("lines"), F.max("bytes").alias("bytes")).collect()
    counter = stream_compare.WindowCounter(1)
    copies = list(counter.passing(pushes_of(spark, tmp_path / "queue")))
    assert len(copies) == 60
    assert len(counter.windows) >= 2
    assert {Window(row.start, row.level): Count(row.lines, row.bytes) for row in rows} == counter.windows
    assert sum(row.lines for row in rows) == len(lines)


# All of it


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """One run of the demo on the sample, with a kill of the job."""
    out = tmp_path_factory.mktemp("demo") / "out"
    command = [sys.executable, str(EXAMPLE / "stream_demo.py"), "--out", str(out), "--logs", str(inputs.SAMPLE)]
    command += ["--spare-agent", "--seconds", "8", "--window", "2", "--delay", "1"]
    return out, subprocess.run(command, capture_output=True, text=True, timeout=600)


def test_what_is_counted_is_what_is_in_the_files(finished: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    out, run = finished
    assert run.returncode == 0, run.stdout + run.stderr
    outcome: dict[str, Any] = json.loads((out / "report.json").read_text())
    assert outcome["faithful"]
    assert outcome["unfinished"], "the job was not killed in the midst of a batch"
    assert sum(lines for lines, _ in outcome["files"].values()) == inputs.measure(inputs.SAMPLE).lines
    assert outcome["levels"] == {"parquet": outcome["files"], "results": outcome["files"]}
    for output in outcome["outputs"].values():
        assert output == {"right": outcome["windows"], "missing": 0, "wrong": 0, "repeated": 0, "surplus": 0}
    events = [event["event"] for event in shared.read_status(out / "events.jsonl")]
    assert events == ["job killed", "job back", "closing record pushed"]
    assert (out / "stream.png").read_bytes().startswith(b"\x89PNG")


def test_a_count_that_is_there_twice_is_noticed(
    finished: tuple[Path, subprocess.CompletedProcess[str]], spark: SparkSession
) -> None:
    out, _ = finished
    first = mmapqueue.read(spark, out / "results").orderBy("offset").first()
    assert first is not None
    with mmapqueue.Queue(None, out / "results") as queue:
        queue.push(bytes(first.value))
    assert stream_report.run(out, Console(file=io.StringIO())) == 1
    outputs = json.loads((out / "report.json").read_text())["outputs"]
    assert [output["repeated"] for output in outputs.values()] == [0, 1]
