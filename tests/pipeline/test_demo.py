"""One whole run of the demo, with both kills, and what its report says when the output is damaged."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from rich.console import Console

sys.path.insert(0, str(Path(__file__).parents[1] / "log_pipeline"))

import outputs
import report

DEMO = Path(report.__file__).parent
LINES, RECORDS = 20_000, 5_000


def write_logs(directory: Path) -> int:
    """Logs with everything that lines can have. Returns the number of lines."""
    directory.mkdir()
    dated = b"".join(b"2026-01-02 03:%02d:%02d INFO line %d\n" % (n // 60 % 60, n % 60, n) for n in range(2500))
    (directory / "app.log").write_bytes(dated)
    odd = b"\n\n\r\n\xff\xfe\n10%\r20%\r\n" + b"x" * 50_000 + b"\n" + b"caf\xe9\tbar \n" * 300
    (directory / "odd [1].log").write_bytes(odd)
    return dated.count(b"\n") + odd.count(b"\n")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, subprocess.CompletedProcess[str]]:
    """One run, both kills included."""
    base = tmp_path_factory.mktemp("demo")
    lines = write_logs(base / "logs")
    command = [sys.executable, str(DEMO / "demo.py"), "--out", str(base / "out"), "--lines", str(LINES)]
    command += ["--records", str(RECORDS), "--seconds", "5"]
    environment = {**os.environ, "LOGS": str(base / "logs")}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    return base / "out", lines, run


@pytest.mark.slow
def test_everything_accepted_comes_out_when_both_are_killed(
    finished: tuple[Path, int, subprocess.CompletedProcess[str]],
) -> None:
    out, lines, run = finished
    assert run.returncode == 0, run.stdout + run.stderr
    outcome = json.loads((out / "report.json").read_text())
    assert outcome["exact"]
    assert [each["name"] for each in outcome["senders"]] == ["archive", "copy"]
    for sender in outcome["senders"]:
        assert sum(each["found"] for each in sender["lines"]) == lines + LINES
        accepted = {each["kind"]: each["accepted"] for each in sender["records"]}
        assert accepted["logs"] == RECORDS
        assert accepted["spans"] == RECORDS // 10
        assert accepted.keys() == {"logs", "spans", "segments", "stream logs"}
    marks = [mark["text"] for mark in json.loads((out / "run.json").read_text())["marks"]]
    expected = ["gather up", "gather killed", "gather back", "process killed", "process back", "all written"]
    assert marks == expected
    assert "Spark is starting" in run.stdout
    killed = next(line for line in run.stdout.splitlines() if "process killed in a micro-batch of" in line)
    assert " of 0 records" not in killed
    assert (out / "run.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["remove", "alter"])
def test_a_line_gone_or_changed_in_the_output_is_noticed(
    finished: tuple[Path, int, subprocess.CompletedProcess[str]], damage: str
) -> None:
    out, _, _ = finished
    path, rows = next(
        (path, rows)
        for path in outputs.committed_files(out / "archive")
        if outputs.LINE in (rows := parquet.read_table(path)).column("content_type").to_pylist()
    )
    row = rows.column("content_type").to_pylist().index(outputs.LINE)
    kept = path.rename(path.with_name("_kept"))
    try:
        if damage == "remove":
            harmed = rows.filter([number != row for number in range(len(rows))])
        else:
            data = rows.column("data").to_pylist()
            data[row] = b"!"
            position = rows.schema.get_field_index("data")
            harmed = rows.set_column(position, rows.schema.field("data"), [data])
        parquet.write_table(harmed, path)
        assert report.run(out, Console(file=io.StringIO())) == 1
        archive = json.loads((out / "report.json").read_text())["senders"][0]["lines"]
        assert sum(each["lost"] for each in archive) == 1
        assert sum(each["altered"] for each in archive) == (damage == "alter")
    finally:
        path.unlink(missing_ok=True)
        kept.rename(path)
