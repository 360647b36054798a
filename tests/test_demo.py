"""The log pipeline of examples/: its Spark job, and one run with both kills."""

from __future__ import annotations

import datetime
import io
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "log_pipeline"
sys.path.insert(0, str(EXAMPLE))

from pyspark.sql import DataFrame, SparkSession  # noqa: E402
from rich.console import Console  # noqa: E402

import job  # noqa: E402
import mmapqueue  # noqa: E402
import parsing  # noqa: E402
import report  # noqa: E402
import shared  # noqa: E402

PUSHED = datetime.datetime(2026, 3, 1, 12, 0, 0)


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session: SparkSession = mmapqueue.configure(builder.config("spark.sql.shuffle.partitions", "2")).getOrCreate()
    return session


# The job


def rows_of(spark: SparkSession, lines: Sequence[bytes], pushed: datetime.datetime = PUSHED) -> DataFrame:
    records = [(number, pushed, "/log", number * 100, number + 1, raw) for number, raw in enumerate(lines)]
    return spark.createDataFrame(records, parsing.RECORD_SCHEMA)


PARSED: list[tuple[bytes, tuple[str, str | None, str | None, str | None]]] = [
    (
        b"2025-06-24 14:36:25 status half-configured libc6:amd64 2.36\n",
        ("dpkg", "2025-06-24 14:36:25", "status", "half-configured libc6:amd64 2.36"),
    ),
    (b"2025-06-24 14:36:25 startup archives unpack\n", ("dpkg", "2025-06-24 14:36:25", "startup", "archives unpack")),
    (
        b"update-alternatives 2025-06-24 14:36:53: link group pager updated to point to /usr/bin/less\n",
        ("alternatives", "2025-06-24 14:36:53", "link group", "pager updated to point to /usr/bin/less"),
    ),
    (b"Start-Date: 2025-06-24  14:36:29\n", ("apt", "2025-06-24 14:36:29", "Start-Date", None)),
    (b"Log ended: 2025-06-24  14:36:29\n", ("apt", "2025-06-24 14:36:29", "Log ended", None)),
    (b"Commandline: apt-get install git\n", ("apt", None, "Commandline", "apt-get install git")),
    (b"Setting up git (1:2.39) ...\r\n", ("apt", None, "Setting up", "git (1:2.39) ...")),
    (b"Feb  3 04:05:06 host sshd[12]: bye: now\n", ("syslog", "2026-02-03 04:05:06", "sshd", "bye: now")),
    (b"Dec 31 23:59:59 host kernel: [1.5] up\n", ("syslog", "2025-12-31 23:59:59", "kernel", "[1.5] up")),
    (
        b"2026-01-02T03:04:05.678901+02:00 host cron[9]: (root) CMD (true)\n",
        ("syslog", "2026-01-02 03:04:05", "cron", "(root) CMD (true)"),
    ),
    (b"2026-01-02 03:04:05,678 WARN disk: 90 %\n", ("dated", "2026-01-02 03:04:05", "WARN", "disk: 90 %")),
    (b"[2026-01-02T03:04:05Z] [error] gone\n", ("dated", "2026-01-02 03:04:05", "error", "gone")),
    (b"2026-01-02 03:04:05 information\n", ("dated", "2026-01-02 03:04:05", None, "information")),
    (b"2026-13-45 25:61:61 ERROR no such time\n", ("dated", None, "ERROR", "no such time")),
    (b"    at Main.java:3\n", ("other", None, None, "    at Main.java:3")),
    (b"10%\r20%\r\n", ("other", None, None, "10%\r20%")),
    (b"caf\xe9 \xff\n", ("other", None, None, "caf� �")),
    (b"\n", ("other", None, None, None)),
]


def test_lines_are_parsed(spark: SparkSession) -> None:
    parsed = parsing.parse(rows_of(spark, [raw for raw, _ in PARSED])).orderBy("offset").collect()
    assert [bytes(row.raw) for row in parsed] == [raw for raw, _ in PARSED]
    found = [(row.format, row.time and f"{row.time:%Y-%m-%d %H:%M:%S}", row.action, row.message) for row in parsed]
    assert found == [expected for _, expected in PARSED]


def test_duplicates_are_dropped_by_offset_and_by_position(spark: SparkSession) -> None:
    records = [
        (0, PUSHED, "a", 0, 1, b"one\n"),
        (0, PUSHED, "a", 0, 1, b"one\n"),  # written twice
        (1, PUSHED, "a", 4, 2, b"two\n"),
        (2, PUSHED, "a", 4, 2, b"two\n"),  # pushed twice
        (3, PUSHED, "b", 4, 2, b"two\n"),  # another file
    ]
    rows = spark.createDataFrame(records, parsing.RECORD_SCHEMA)
    kept = parsing.without_duplicates(rows).orderBy("offset").collect()
    assert [row.offset for row in kept] == [0, 1, 3]


def test_a_line_without_a_time_counts_in_the_minute_of_the_one_before(spark: SparkSession) -> None:
    lines = [b"no time yet\n", b"2026-01-02 03:04:05 INFO a\n", b"  more\n", b"2026-01-02 03:05:00 INFO b\n"]
    minutes = parsing.per_minute(parsing.parse(rows_of(spark, lines))).collect()
    assert [(row.minute and f"{row.minute:%H:%M}", row.lines, row.bytes) for row in minutes] == [
        (None, 1, 12),
        ("03:04", 2, 34),
        ("03:05", 1, 27),
    ]


def test_a_batch_done_again_takes_the_place_of_its_first_attempt(spark: SparkSession, tmp_path: Path) -> None:
    def messages(count: int) -> list[Any]:
        lines = [shared.Line("/log", number, number, b"%d\n" % number) for number in range(count)]
        pushed = int(PUSHED.timestamp() * 1e6)
        return [mmapqueue.Message(shared.pack(line), 40 + line.line, pushed, 1) for line in lines]

    job.write_batch(spark, messages(3), tmp_path)
    job.write_batch(spark, messages(5), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [f"batch={40:020d}"]
    rows = spark.read.parquet(str(tmp_path)).orderBy("offset").collect()
    assert [row.offset for row in rows] == [40, 41, 42, 43, 44]


# All of it


def write_logs(directory: Path) -> int:
    """Make logs with everything that lines can have; return how many lines."""
    directory.mkdir()
    dated = b"".join(b"2026-01-02 03:%02d:%02d INFO line %d\n" % (n // 60 % 60, n % 60, n) for n in range(2500))
    (directory / "app.log").write_bytes(dated)
    odd = b"\n\n\r\n\xff\xfe\n10%\r20%\r\n" + b"x" * 50_000 + b"\n" + b"caf\xe9\tbar \n" * 300 + b"no end"
    (directory / "odd.log").write_bytes(odd)
    return dated.count(b"\n") + odd.count(b"\n") + 1


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, subprocess.CompletedProcess[str]]:
    """One run of the demo, both kills included."""
    base = tmp_path_factory.mktemp("demo")
    lines = write_logs(base / "logs")
    command = [sys.executable, str(EXAMPLE / "demo.py"), "--out", str(base / "out"), "--seconds", "8"]
    environment = {**os.environ, "LOGS": str(base / "logs")}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    return base / "out", lines, run


def test_nothing_is_lost_when_both_are_killed(
    finished: tuple[Path, int, subprocess.CompletedProcess[str]],
) -> None:
    out, lines, run = finished
    assert run.returncode == 0, run.stdout + run.stderr
    outcome = json.loads((out / "report.json").read_text())
    sources = outcome["sources"].values()
    assert outcome["faithful"]
    assert sum(source["lines_in"] for source in sources) == lines
    assert sum(source["lines_out"] for source in sources) == lines
    assert sum(source["lost"] for source in sources) == 0
    assert outcome["redelivered"] > 0, "the job was not killed with records in hand"
    events = [event["event"] for event in shared.read_status(out / "events.jsonl")]
    assert sorted(events) == ["agent back", "agent killed", "job back", "job killed"]
    agent_status = shared.read_status(out / "agent.jsonl")
    again = max(number for number, entry in enumerate(agent_status) if entry["event"] == "ready")
    first = [entry["end"] for entry in agent_status[:again] if entry["event"] == "pushed"]
    assert max(first) < lines, "the agent was killed when it had pushed all"
    assert "Spark is starting" in run.stdout
    assert (out / "depth.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("damage", ["remove", "alter"])
def test_a_line_gone_or_changed_in_the_output_is_noticed(
    finished: tuple[Path, int, subprocess.CompletedProcess[str]],
    spark: SparkSession,
    damage: str,
) -> None:
    out, _, _ = finished
    rows = spark.read.parquet(str(out / "rows")).select("batch", "offset", "source", "position").collect()
    # Not one that the killed agent pushed twice: its twin would still be there.
    times = Counter((row.source, row.position) for row in rows)
    victim_row = max((row for row in rows if times[row.source, row.position] == 1), key=lambda row: row.offset)
    victim = victim_row.offset
    batch = next(path for path in (out / "rows").glob("batch=*") if int(path.name[6:]) == victim_row.batch)
    harm = {
        "remove": f"SELECT * FROM {{rows}} WHERE offset <> {victim}",
        "alter": f"SELECT * EXCEPT (raw), if(offset = {victim}, X'21', raw) AS raw FROM {{rows}}",
    }[damage]
    kept = batch.rename(batch.with_name("_kept"))
    try:
        spark.sql(harm, rows=spark.read.parquet(str(kept))).write.parquet(str(batch))
        assert report.run(out, Console(file=io.StringIO())) == 1
        sources = json.loads((out / "report.json").read_text())["sources"].values()
        assert sum(source["lost"] for source in sources) == 1
        assert sum(source["altered"] for source in sources) == (damage == "alter")
    finally:
        subprocess.run(["rm", "-r", str(batch)], check=True)
        kept.rename(batch)
    assert report.run(out, Console(file=io.StringIO())) == 0
