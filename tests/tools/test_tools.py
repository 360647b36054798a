"""Verify and repair."""

from pathlib import Path

import pytest

import mmapqueue
from conftest import Open, Script, data, flip
from mmapqueue import FindingKind


def test_a_whole_queue(closed: Path, records: list[bytes]) -> None:
    told: list[tuple[int, int]] = []
    report = mmapqueue.verify(closed, progress=lambda done, total: told.append((done, total)))
    assert (report.whole, report.clean, report.version, report.lost) == (True, True, 2, 0)
    assert (report.records, report.first_offset, report.end_offset) == (100, 0, 100)
    assert report.payload_bytes == sum(map(len, records))
    assert [(state.name, state.offset) for state in report.consumers] == [("default", 10), ("other", 0)]
    assert report.findings == []
    assert told[-1][0] == told[-1][1] > 0


def test_a_finding_has_file_and_position(closed: Path) -> None:
    flip(closed / "1_segment.dat", 1000)
    report = mmapqueue.verify(str(closed))
    assert not report.whole
    (finding,) = report.findings
    assert finding.kind is FindingKind.CORRUPT
    assert finding.file == str(closed / "1_segment.dat")
    assert 64 <= finding.position <= 1000
    assert (finding.lost, finding.exact, report.lost, report.records) == (1, True, 1, 99)
    assert f"lost: offset {finding.first_lost}" in str(report)


def test_a_newline_in_a_path_stays(closed: Path, tmp_path: Path) -> None:
    path = closed.rename(tmp_path / "two\nlines")
    assert mmapqueue.verify(path).path == str(path)
    flip(path / "0_segment.dat", 20)
    report = mmapqueue.repair(path, to=tmp_path / 'a\n"copy" \\')
    assert (report.path, report.before.path) == (str(tmp_path / 'a\n"copy" \\'), str(path))
    assert {Path(each.file).parent for each in report.before.findings} <= {path, Path()}


def test_repair_resets_the_clock_on_request_alone(closed: Path, tmp_path: Path) -> None:
    report = mmapqueue.repair(closed, to=tmp_path / "plain")
    assert not any("clock" in action for action in report.actions)
    report = mmapqueue.repair(closed, to=tmp_path / "reset", reset_clock=True)
    assert "timestamps of 0 records that were ahead of the clock" in report.actions[-1]


def test_a_copy_is_repaired(closed: Path, records: list[bytes], tmp_path: Path, open_queue: Open) -> None:
    with (closed / "meta.dat").open("r+b") as meta:
        meta.truncate(80)
    before = (closed / "meta.dat").read_bytes()
    with pytest.raises(mmapqueue.Corrupt, match="Satellite"):
        open_queue(closed)
    report = mmapqueue.repair(closed, to=tmp_path / "copy")
    assert (report.path, report.lost) == (str(tmp_path / "copy"), [])
    assert any("meta page" in action for action in report.actions)
    assert (closed / "meta.dat").read_bytes() == before
    with open_queue(tmp_path / "copy") as queue:
        assert data(queue.pop_many()) == records[10:]
        assert queue.push(b"next") == 100


def test_in_place(closed: Path, records: list[bytes], open_queue: Open) -> None:
    flip(closed / "meta.dat", 100)
    with pytest.raises(ValueError, match="in_place"):
        mmapqueue.repair(closed)
    with pytest.raises(ValueError, match="in_place"):
        mmapqueue.repair(closed, to="elsewhere", in_place=True)
    report = mmapqueue.repair(closed, in_place=True)
    assert not report.before.whole
    assert mmapqueue.verify(closed).whole
    with open_queue(closed) as queue:
        assert data(queue.pop_many()) == records[10:]


def test_an_open_queue_raises_locked(closed: Path, open_queue: Open, tmp_path: Path) -> None:
    with open_queue(closed), pytest.raises(mmapqueue.Locked) as held:
        mmapqueue.verify(closed)
    assert held.value.pid
    with pytest.raises(mmapqueue.MmapQueueError, match="no directory"):
        mmapqueue.verify(tmp_path / "none")


def test_a_directory_of_version_1(tmp_path: Path) -> None:
    sample = Path(__file__).parents[1] / "data" / "v1-samples" / "a-three-small"
    report = mmapqueue.verify(sample)
    assert (report.whole, report.version, report.records) == (True, 1, 3)
    assert "no checksums" in str(report)
    with pytest.raises(mmapqueue.MmapQueueError, match="version 1"):
        mmapqueue.repair(sample, to=tmp_path / "copy")


def test_in_a_process_that_ends_at_once(closed: Path, script: Script) -> None:
    assert script.run("import sys, mmapqueue; print(mmapqueue.verify(sys.argv[1]).whole)", closed) == "True\n"
