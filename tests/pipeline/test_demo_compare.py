"""The comparison of the demo: lines of files, records of clients."""

import io
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pytest
from rich.console import Console

sys.path.insert(0, str(Path(__file__).parents[1] / "log_pipeline"))

import compare
import outputs
import report
from compare import File, LineCheck, check_records
from journal import Request
from outputs import Row
from view import Sample


def line_rows(content: bytes, inode: int) -> list[Row]:
    """What a fetcher makes of a file."""
    rows = []
    position = 0
    for line in content.splitlines(keepends=True):
        rows.append(Row(outputs.LINE, line.removesuffix(b"\n"), {"inode": str(inode), "position": str(position)}))
        position += len(line)
    return rows


def checked(path: Path, rows: Sequence[Row], size: int | None = None) -> compare.Lines:
    status = path.stat()
    check = LineCheck([File(path, status.st_ino, status.st_size if size is None else size)])
    for row in rows:
        check.add(row)
    assert check.unknown == 0
    return check.results()[0]


@pytest.fixture
def content() -> bytes:
    return b"first\n\nthird \xff\xfe\nlast but one\nno end"


@pytest.fixture
def log(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "log"
    path.write_bytes(content)
    return path


def test_lines_in_any_order_are_exact(log: Path, content: bytes) -> None:
    rows = line_rows(content, log.stat().st_ino)
    assert checked(log, rows[::-1]) == compare.Lines(str(log), expected=5, found=5)


def test_a_line_in_two_pieces_is_exact(log: Path, content: bytes) -> None:
    rows = line_rows(content, log.stat().st_ino)
    first = rows.pop(0)
    pieces = [Row(outputs.LINE, first.data[:2], first.meta), first._replace(data=first.data[2:])]
    pieces[1] = pieces[1]._replace(meta={**first.meta, "position": "2"})
    assert checked(log, [*pieces, *rows]).exact


@pytest.mark.parametrize("missing", range(5))
def test_a_missing_line_is_lost(log: Path, content: bytes, missing: int) -> None:
    rows = line_rows(content, log.stat().st_ino)
    del rows[missing]
    result = checked(log, rows)
    assert not result.exact
    assert (result.lost, result.found) == (1, 4)


def test_an_altered_line_is_noticed(log: Path, content: bytes) -> None:
    rows = line_rows(content, log.stat().st_ino)
    rows[2] = rows[2]._replace(data=b"third   ")
    result = checked(log, rows)
    assert (result.altered, result.lost, result.exact) == (1, 1, False)


def test_a_line_that_is_there_twice_is_noticed(log: Path, content: bytes) -> None:
    rows = line_rows(content, log.stat().st_ino)
    result = checked(log, [*rows, rows[3]])
    assert (result.repeated, result.exact) == (1, False)


def test_what_was_written_after_the_measurement_does_not_count(log: Path, content: bytes) -> None:
    rows = line_rows(content + b" at last\nmore\n", log.stat().st_ino)
    assert checked(log, rows, size=content.rindex(b"\n") + 1) == compare.Lines(str(log), expected=4, found=4)


def test_a_row_of_another_file_is_noticed(log: Path) -> None:
    check = LineCheck([])
    check.add(line_rows(b"one\n", log.stat().st_ino)[0])
    assert check.unknown == 1
    outcome = compare.Outcome("archive", 1, [], [], unknown=1)
    assert not outcome.exact


def request(numbers: Sequence[int], sent: float, answered: float | None) -> Request:
    return Request("logs", list(numbers), sent, answered)


@pytest.mark.parametrize(
    ("found", "exact", "fields"),
    [
        ({1: 1, 2: 1}, True, {"found": 2}),
        ({1: 1}, False, {"lost": 1}),
        ({1: 2, 2: 1}, False, {"excess": 1}),
        ({1: 1, 2: 1, 9: 1}, False, {"foreign": 1}),
        ({}, False, {"lost": 2}),
    ],
)
def test_answered_records_come_out_once(found: dict[int, int], exact: bool, fields: dict[str, int]) -> None:
    result = check_records("logs", [request([1, 2], 10, 11)], found, kills=[9.0, 12.0])
    assert result.exact == exact
    assert result.accepted == 2
    assert {name: getattr(result, name) for name in fields} == fields


def test_a_kill_before_the_answer_explains_one_copy() -> None:
    sent = [request([1, 2], 10, 20)]
    assert check_records("logs", sent, {1: 2, 2: 2}, kills=[15.0]).repeated == 2
    assert check_records("logs", sent, {1: 2, 2: 2}, kills=[15.0]).exact
    assert not check_records("logs", sent, {1: 3, 2: 2}, kills=[15.0]).exact
    assert check_records("logs", sent, {1: 3, 2: 2}, kills=[15.0, 16.0]).exact


def test_records_that_were_given_up_come_out_once_or_not() -> None:
    sent = [request([1, 2], 10, None)]
    assert check_records("logs", sent, {1: 1}, kills=[]).exact
    assert check_records("logs", sent, {1: 1}, kills=[]).unanswered == 1
    assert not check_records("logs", sent, {1: 2}, kills=[]).exact


# ---- the report


def shown(lines: list[compare.Lines], records: list[compare.Records]) -> list[str]:
    """What the report prints of a run on a terminal of 80 columns."""
    outcomes = [compare.Outcome(name, 1, lines, records, 0, {"logs": 100_000}) for name in ("archive", "copy")]
    samples = [Sample(100.0, 0, 0, 0, {"archive": 0, "copy": 0}), Sample(102.0, 9, 9, 9, {"archive": 9, "copy": 9})]
    out = io.StringIO()
    report.show(Console(file=out, width=80), outcomes, {"started": 100.0, "ended": 102.0}, samples)
    return out.getvalue().splitlines()


def test_the_tables_of_the_report_fit_80_columns_with_all_their_digits() -> None:
    path = "/var/log/a-service/of-a-long-name/with-a-file-of-a-long-name.log"
    lines = [compare.Lines(path, 12_345_678, 12_345_678, 1_234, 2_345, 3_456)]
    records = [compare.Records("stream logs", 1_234_567, 1_234_568, 1_234, 2_345, 3_456, 4_567, 5_678)]
    said = shown(lines, records)
    assert max(map(len, said)) <= 80
    text = "\n".join(said)
    assert "…" not in text
    assert [text.count(number) for number in ("12,345,678", "1,234,567", "1,234,568")] == [3, 1, 2]
    assert all(word in text for word in ("went in", "accepted", "archive", "altered", "foreign", "resent", "gave up"))
    assert path in "".join(line.split(" ")[0] for line in said)


@pytest.mark.parametrize(
    ("repeated", "said"), [(0, None), (1, " 1 record came twice"), (1234, " 1,234 records came twice")]
)
def test_the_last_panel_counts_copies_only_if_there_are_some(
    repeated: int, said: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run.json").write_text('{"files": [], "marks": [], "started": 1.0, "ended": 2.0}')
    (tmp_path / "samples.jsonl").write_text(f"{json.dumps(asdict(Sample(1.0, 0, 0, 0, {'copy': 0})))}\n")
    outcome = compare.Outcome("copy", 1, [], [compare.Records("logs", 9999, 9999, repeated=repeated)], 0)
    monkeypatch.setattr(report, "examine", lambda *_: [outcome])
    out = io.StringIO()
    assert report.run(tmp_path, Console(file=out, width=200)) == 0
    panel = next(line for line in out.getvalue().splitlines() if "Exact:" in line)
    assert said in panel if said else "twice" not in panel
