"""Files: renamed, truncated, replaced and forgotten ones."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import mmapqueue
from mmapqueue.pipeline.gather.fetchers import _birth, _tail
from mmapqueue.pipeline.gather.fetchers._discovery import directories
from mmapqueue.pipeline.gather.fetchers._lines import LineEncoder
from mmapqueue.pipeline.gather.fetchers.files import FileFetcher
from pipeline.tailing import Make, MemoryInbox, append, texts


def test_a_renamed_file_is_read_to_its_end(log: Path, make: Make) -> None:
    log.write_bytes(b"1\n")
    steps = make()
    steps.look()
    writer = log.open("ab", buffering=0)
    writer.write(b"2\n")
    log.rename(log.with_name("app.log.1"))
    log.write_bytes(b"4\n")
    steps.look()
    with writer:
        writer.write(b"3\n")
    steps.look()
    assert sorted(texts(steps.inbox.records)) == [b"1", b"2", b"3", b"4"]
    assert steps.follower is not None
    steps.look_after(close_after="0s")
    assert [each.matched for each in steps.follower.tails.values()] == [True]


@pytest.mark.parametrize("known", [False, True])
def test_a_file_that_was_renamed_while_nothing_ran(log: Path, make: Make, known: bool) -> None:
    log.write_bytes(b"1\n")
    steps = make(paths=[str(log) + ("*" if known else "")])
    steps.look()
    steps.stop()
    append(log, b"2\n")
    log.rename(log.with_name("app.log-20261122"))
    log.write_bytes(b"3\n")
    steps.start()
    steps.look()
    assert sorted(texts(steps.inbox.records)) == [b"1", b"2", b"3"]


def test_a_file_behind_a_link_that_was_renamed_while_nothing_ran(log: Path, make: Make) -> None:
    file = log.parent / "pod" / "0.log"
    file.parent.mkdir()
    file.write_bytes(b"1\n")
    log.symlink_to(file)
    steps = make(paths=[str(log)])
    steps.look()
    steps.stop()
    append(file, b"2\n")
    file.rename(file.with_name("0.log.20261122"))
    file.write_bytes(b"3\n")
    steps.start()
    steps.look()
    assert sorted(texts(steps.inbox.records)) == [b"1", b"2", b"3"]


def test_a_closed_file_that_is_renamed(log: Path, make: Make) -> None:
    log.write_bytes(b"1\n")
    steps = make()
    steps.look()
    steps.look_after(close_after="0s")
    assert steps.follower is not None
    assert [each.is_open for each in steps.follower.tails.values()] == [False]
    append(log, b"2\n")
    log.rename(log.with_name("other"))
    log.write_bytes(b"3\n")
    steps.look()
    assert sorted(texts(steps.inbox.records)) == [b"1", b"2", b"3"]


@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize("rest", [b"", b"2\n", b"a longer line than the first\n", b"1\n2\n"])
def test_a_truncated_file_begins_anew(log: Path, make: Make, running: bool, rest: bytes) -> None:
    log.write_bytes(b"first line\n" * 200)
    steps = make()
    steps.look()
    if not running:
        steps.stop()
    shutil.copyfile(log, log.with_name("copy"))
    os.truncate(log, 0)
    append(log, rest)
    if not running:
        steps.start()
    steps.look()
    append(log, b"end\n" * 2000)
    steps.look()
    assert texts(steps.inbox.records)[200:] == [*rest.split(b"\n")[:-1], *[b"end"] * 2000]
    # One generation is left.
    assert len([each for each in steps.inbox.sequences if "started" not in each]) == 1


def test_a_truncated_file_that_has_grown_beyond_the_position(log: Path, make: Make) -> None:
    lines = [b"%05d" % i for i in range(1000)]
    log.write_bytes(b"header\n" * 300 + b"\n".join(lines) + b"\n")
    steps = make()
    steps.look()
    count = len(steps.inbox.records)
    steps.stop()
    later = [b"%05d" % i for i in range(5000, 8000)]
    log.write_bytes(b"header\n" * 300 + b"\n".join(later) + b"\n")
    steps.start()
    steps.look()
    assert texts(steps.inbox.records)[count + 300 :] == later


def test_an_inode_that_is_used_again(log: Path, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    born = {"now": 1}
    monkeypatch.setattr(_tail, "birth_time", lambda _fd: born["now"])
    log.write_bytes(b"banner\n")
    steps = make()
    steps.look()
    steps.stop()
    # Another file of the same inode and the same first bytes.
    born["now"] = 2
    append(log, b"more\n")
    steps.start()
    steps.look()
    assert texts(steps.inbox.records) == [b"banner", b"banner", b"more"]
    steps.look_after(close_after="0s")
    born["now"] = 3
    append(log, b"third\n")
    steps.look()
    assert texts(steps.inbox.records)[3:] == [b"banner", b"more", b"third"]


@pytest.mark.parametrize("running", [False, True])
def test_another_file_with_the_inode_of_a_removed_one_is_not_read(
    log: Path, make: Make, monkeypatch: pytest.MonkeyPatch, running: bool
) -> None:
    born = {"now": 1}
    monkeypatch.setattr(_tail, "birth_time", lambda _fd: born["now"])
    log.write_bytes(b"banner\n")
    steps = make()
    steps.look()
    if running:
        steps.look_after(close_after="0s")
    else:
        steps.stop()
    # A file of the same directory that no path names, as far as names, inodes and birth times tell.
    born["now"] = 2
    log.rename(log.with_name("app.log.gz"))
    append(log.with_name("app.log.gz"), b"packed\n")
    if not running:
        steps.start()
    steps.look()
    steps.look()
    assert texts(steps.inbox.records) == [b"banner"]
    # A file that a path names is another matter.
    log.with_name("app.log.gz").rename(log)
    steps.look()
    assert texts(steps.inbox.records) == [b"banner", b"banner", b"packed"]


def test_a_file_system_that_begins_to_store_birth_times(log: Path, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_tail, "birth_time", lambda _fd: 0)
    log.write_bytes(b"1\n")
    steps = make()
    steps.look()
    steps.stop()
    monkeypatch.setattr(_tail, "birth_time", lambda _fd: 5)
    append(log, b"2\n")
    for _ in range(2):
        steps.start()
        steps.look()
        steps.stop()
    assert texts(steps.inbox.records) == [b"1", b"2"]


def test_birth_times(log: Path) -> None:
    log.write_bytes(b"")
    with log.open("rb") as file:
        born = _birth.birth_time(file.fileno())
        log.rename(log.with_name("other"))
        assert _birth.birth_time(file.fileno()) == born
        assert born == 0 or abs(born - log.with_name("other").stat().st_mtime_ns) < 10**9
    assert _birth.birth_time(-1) == 0


def test_end_skips_what_is_there_at_the_first_time(log: Path, make: Make) -> None:
    log.write_bytes(b"old\nol")
    steps = make(start="end")
    steps.stop()
    append(log, b"d\nnew\n")
    log.with_name("later.log").write_bytes(b"later\n")
    steps.start()
    steps.look()
    assert sorted(texts(steps.inbox.records)) == [b"d", b"later", b"new"]


def test_paths_and_exclude(tmp_path: Path, make: Make) -> None:
    for name in ("a.log", "b.log", "c.log.gz", "d.txt", "deep/er/e.log"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode() + b"\n")
    (tmp_path / "link.log").symlink_to(tmp_path / "a.log")
    (tmp_path / "dir.log").mkdir()
    steps = make(paths=[str(tmp_path / "**/*.log*"), str(tmp_path / "*.log")], exclude=["b.*", "*.gz"])
    steps.look()
    assert sorted(texts(steps.inbox.records)) == [b"a.log", b"deep/er/e.log"]


def test_files_that_have_gone_are_forgotten(log: Path, make: Make) -> None:
    log.write_bytes(b"1\n")
    steps = make()
    steps.look()
    log.unlink()
    steps.look_after(close_after="0s")
    assert len(steps.inbox.sequences) == 2
    steps.look_after(forget_after="0s")
    assert [each for each in steps.inbox.sequences if "started" not in each] == []


def test_two_fetchers_of_one_name_are_noticed(log: Path, make: Make, caplog: pytest.LogCaptureFixture) -> None:
    inbox = MemoryInbox()
    first, second = make(inbox), make(inbox)
    log.write_bytes(b"1\n")
    first.look()
    second.look()
    assert f"{log} cannot be followed: file.files." in caplog.text
    assert "another fetcher named 'files'" in caplog.text
    assert second.host.counted == [("fail", 1)]
    assert texts(inbox.records) == [b"1"]


def test_a_file_with_a_long_name_stops_no_other(
    tmp_path: Path, log: Path, make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    odd = tmp_path / f"{'a' * 200}.log"
    odd.write_bytes(b"odd\n")
    log.write_bytes(b"1\n")
    steps = make(MemoryInbox(max_event_size=len(str(odd)) + 250))
    steps.look()
    append(log, b"2\n")
    steps.look()
    assert texts(steps.inbox.records) == [b"1", b"2"]
    assert caplog.text.count(f"{odd} cannot be followed: max_event_size = ") == 1
    assert steps.host.counted == [("fail", 1)]


def test_a_file_whose_events_no_queue_takes_stops_no_other(
    log: Path, make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    inbox = MemoryInbox()
    inbox.max_batch = 1000
    steps = make(inbox)
    log.write_bytes(b"x" * 2000 + b"\n")
    log.with_name("other.log").write_bytes(b"1\n")
    for _ in range(3):
        steps.look()
    assert texts(inbox.records) == [b"1"]
    assert caplog.text.count(f"{log} cannot be followed: too large") == 1


def test_a_file_that_cannot_be_examined_stops_no_other(log: Path, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    log.write_bytes(b"1\n")
    other = log.with_name("other.log")
    other.write_bytes(b"2\n")
    steps = make()
    steps.look()
    due = _tail.Tail.due

    def refuse(tail: _tail.Tail, idle: float) -> bool:
        if tail.path == log:
            raise OSError(5, "Input/output error", str(log))
        return due(tail, idle)

    monkeypatch.setattr(_tail.Tail, "due", refuse)
    append(other, b"3\n")
    steps.look()
    assert sorted(texts(steps.inbox.records)) == [b"1", b"2", b"3"]


def test_an_error_of_the_queue_ends_the_fetcher(log: Path, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = make()
    log.write_bytes(b"1\n")

    async def poisoned(*_: object) -> bool:
        raise mmapqueue.Poisoned("an fsync has failed")

    monkeypatch.setattr(steps.inbox, "put_once", poisoned)
    with pytest.raises(mmapqueue.Poisoned):
        steps.look()


def test_a_directory_that_may_not_be_entered_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stat = os.stat

    def refuse(path: Any, *arguments: Any, **options: Any) -> os.stat_result:
        if "closed" in str(path):
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, *arguments, **options)

    monkeypatch.setattr(os, "stat", refuse)
    paths = [str(tmp_path / "closed" / "in" / "*.log"), str(tmp_path / "*.log")]
    assert directories(paths, []) == {tmp_path}


def test_a_file_that_cannot_be_read_stops_nothing(log: Path, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    log.write_bytes(b"1\n")
    log.with_name("other.log").write_bytes(b"2\n")
    steps = make()
    opened = _tail.Tail.open

    def refuse(tail: _tail.Tail) -> None:
        if tail.path == log:
            raise PermissionError(13, "denied", str(log))
        opened(tail)

    steps.stop()
    monkeypatch.setattr(_tail.Tail, "open", refuse)
    steps.start()
    steps.look()
    assert texts(steps.inbox.records) == [b"2"]
    assert steps.host.counted == [("fail", 1)]
    monkeypatch.undo()
    steps.look()
    assert texts(steps.inbox.records) == [b"2", b"1"]


def test_a_renamed_file_that_could_not_be_read_is_tried_again(
    log: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.write_bytes(b"1\n")
    steps = make(paths=[str(log)])
    steps.look()
    append(log, b"2\n")
    log.rename(log.with_name("app.log.1"))

    def refuse(tail: _tail.Tail, *_: object) -> None:
        raise OSError(5, "Input/output error", str(tail.path))

    monkeypatch.setattr(_tail.Tail, "read", refuse)
    steps.look()
    assert steps.host.counted == [("fail", 1)]
    monkeypatch.undo()
    steps.look()
    assert texts(steps.inbox.records) == [b"1", b"2"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"paths": []},
        {"paths": ["x"], "name": "a.b"},
        {"paths": ["x"], "start": "middle"},
        {"paths": ["x"], "poll": "1ms"},
        {"paths": ["x"], "multiline": {"start": "("}},
        {"paths": ["x"], "path": "y"},
    ],
)
def test_options_that_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        FileFetcher(**options)


def test_a_path_that_leaves_no_room() -> None:
    with pytest.raises(ValueError, match="max_event_size = 200 is too small for lines of"):
        LineEncoder("/x" * 100, 1, 200)
