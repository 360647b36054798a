"""Files: every line once, whatever becomes of the files and of the fetcher."""

import asyncio
import os
import random
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mmapqueue
from conftest import LONG, Open, Script, data, eventually, is_running
from mmapqueue.pipeline import Event, EventType
from mmapqueue.pipeline.gather.fetchers import _birth, _follow, _tail
from mmapqueue.pipeline.gather.fetchers._lines import LineEncoder
from mmapqueue.pipeline.gather.fetchers.files import FileFetcher
from mmapqueue.pipeline.gather.inbox import QueueInbox
from pipeline.tailing import FakeHost, MemoryInbox, Steps, joined, line, texts

Make = Callable[..., Steps]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "app.log"


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[Steps] = []

    def make_one(inbox: MemoryInbox | None = None, **options: Any) -> Steps:
        steps = Steps(inbox or MemoryInbox(), **{"paths": [str(tmp_path / "*.log")], **options})
        made.append(steps)
        steps.start()
        return steps

    yield make_one
    for each in made:
        each.close()


def append(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)


# ---- events


def test_each_line_is_an_event(log: Path, make: Make) -> None:
    log.write_bytes(b"one\n\nthree\r\nlast")
    steps = make()
    steps.look()
    event = Event.FromString(steps.inbox.records[2])
    assert (event.type, event.content_type, event.data) == (EventType.LOGGING, "text/plain", b"three\r")
    assert (event.source, event.name, event.remote) == (str(log), "app.log", True)
    assert dict(event.meta) == {"inode": str(log.stat().st_ino), "position": "5"}
    assert event.timestamp > 1_700_000_000_000
    assert texts(steps.inbox.records) == [b"one", b"", b"three\r"]


def test_a_last_line_waits_for_its_newline_or_idle(log: Path, make: Make) -> None:
    log.write_bytes(b"one\nhal")
    steps = make()
    steps.look()
    append(log, b"f\ntw")
    steps.look()
    assert texts(steps.inbox.records) == [b"one", b"half"]
    steps.look_after(idle="0s")
    append(log, b"o\nthree")
    steps.look()
    steps.look_after(idle="0s")
    append(log, b"\nfour\n")
    steps.look()
    found = [line(each) for each in steps.inbox.records[2:]]
    assert [each.data for each in found] == [b"tw", b"o", b"three", b"four"]
    assert [(each.continuation, each.incomplete) for each in found] == [
        (False, True),
        (True, False),
        (False, True),
        (False, False),
    ]


@pytest.mark.parametrize("length", [3000, 1 << 20, 3 << 20])
def test_long_lines_become_several_events(log: Path, make: Make, length: int) -> None:
    long = random.Random(length).randbytes(length).replace(b"\n", b"")
    log.write_bytes(b"short\n" + long + b"\nafter\n" + long)
    steps = make(MemoryInbox(max_event_size=2000))
    steps.look()
    steps.look_after(idle="0s")
    assert joined(steps.inbox.records) == [b"short", long, b"after", long]
    assert max(map(len, steps.inbox.records)) <= 2000
    pieces = [line(each) for each in steps.inbox.records[1:-1]]
    assert not pieces[0].continuation
    assert pieces[0].incomplete
    assert pieces[1].continuation


def test_a_line_longer_than_a_batch_is_one_event(log: Path, make: Make) -> None:
    long = b"x" * (3 << 20)
    log.write_bytes(b"short\n" + long + b"\nafter\n")
    steps = make(MemoryInbox(max_event_size=4 << 20))
    steps.look()
    assert texts(steps.inbox.records) == [b"short", long, b"after"]


def test_batches_shrink_until_the_queue_takes_them(log: Path, make: Make) -> None:
    log.write_bytes(b"".join(b"%d\n" % i for i in range(2000)))
    inbox = MemoryInbox()
    inbox.max_batch = 5000
    steps = make(inbox)
    steps.look()
    assert texts(inbox.records) == [b"%d" % i for i in range(2000)]


def test_an_event_that_no_queue_takes_is_an_error(log: Path, make: Make) -> None:
    log.write_bytes(b"x" * 5000 + b"\n")
    inbox = MemoryInbox()
    inbox.max_batch = 4000
    steps = make(inbox)
    with pytest.raises(mmapqueue.TooLarge):
        steps.look()


def test_lines_of_one_event(log: Path, make: Make) -> None:
    log.write_bytes(b"  lost\n2026 a\n  b\n  c\n2026 d\n20")
    steps = make(multiline={"start": r"\d{4} "})
    steps.look()
    assert texts(steps.inbox.records) == [b"  lost", b"2026 a\n  b\n  c"]
    append(log, b"26 e\n  f\n")
    steps.look()
    assert texts(steps.inbox.records)[2:] == [b"2026 d"]
    steps.look_after(idle="0s")
    assert texts(steps.inbox.records)[3:] == [b"2026 e\n  f"]


@given(
    lines=st.lists(st.binary(max_size=400).map(lambda each: each.replace(b"\n", b"")), max_size=30),
    rest=st.binary(max_size=400).map(lambda each: each.replace(b"\n", b"")),
    most=st.integers(1, 40),
    everything=st.booleans(),
    grouped=st.booleans(),
)
def test_events_cover_the_file_without_gaps(
    lines: list[bytes], rest: bytes, most: int, everything: bool, grouped: bool
) -> None:
    pattern = FileFetcher(paths=["x"], multiline={"start": "[a-z]"}).start_pattern if grouped else None
    encoder = LineEncoder("/var/log/x.log", 7, 400, pattern)
    content = b"".join(each + b"\n" for each in lines) + rest
    records: list[bytes] = []
    done = 0
    while True:
        events = encoder.events(
            content[done:],
            done,
            after_newline=content[:done][-1:] in (b"", b"\n"),
            everything=everything,
            most=most,
        )
        if not events.size:
            break
        records += events.records
        done += events.size
    if everything:
        assert done == len(content)
    end = 0
    for record in records:
        found = line(record)
        assert len(record) <= 400
        assert found.position - end in (0, 1)
        assert content[end : found.position] in (b"", b"\n")
        assert content[found.position :].startswith(found.data)
        assert found.continuation == (content[: found.position][-1:] not in (b"", b"\n"))
        end = found.position + len(found.data)
    assert content[end:done] in (b"", b"\n")
    if not grouped:
        whole = lines + ([rest] if rest and everything else [])
        assert joined(records)[: len(lines)] == whole[: len(lines)]


# ---- files


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


def test_two_fetchers_of_one_name_are_noticed(log: Path, make: Make) -> None:
    inbox = MemoryInbox()
    first, second = make(inbox), make(inbox)
    log.write_bytes(b"1\n")
    first.look()
    with pytest.raises(mmapqueue.MmapQueueError, match="another fetcher named 'files'"):
        second.look()
    assert texts(inbox.records) == [b"1"]


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
    with pytest.raises(ValueError, match="max_event_size = 200 leaves no room"):
        LineEncoder("/x" * 100, 1, 200)


# ---- with a queue


def test_it_follows_by_itself(log: Path, open_queue: Open) -> None:
    log.write_bytes(b"1\n")
    queue = open_queue()

    async def follow() -> None:
        stored: asyncio.Queue[int] = asyncio.Queue()
        inbox = QueueInbox(queue, count=lambda _status, records: stored.put_nowait(records))
        fetcher = FileFetcher(paths=[str(log)], poll="1h", idle="1h")
        task = asyncio.create_task(fetcher.run(FakeHost(inbox)))
        for step in (
            lambda: append(log, b"2\n"),
            lambda: (log.rename(log.with_name("old")), append(log.with_name("old"), b"3\n")),
            lambda: log.write_bytes(b"4\n"),
        ):
            # By notices alone: the next poll is an hour away.
            while not await asyncio.wait_for(stored.get(), 60):
                pass
            step()
        while not await asyncio.wait_for(stored.get(), 60):
            pass
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await inbox.close()

    asyncio.run(follow())
    assert texts(data(queue.pop_many(10))) == [b"1", b"2", b"3", b"4"]


_FOLLOW = """
    import asyncio, logging, sys
    import mmapqueue
    from mmapqueue import _standalone
    from mmapqueue.pipeline.gather.fetchers import _follow
    from mmapqueue.pipeline.gather.fetchers.files import FileFetcher
    from mmapqueue.pipeline.gather.inbox import QueueInbox
    from pipeline.tailing import FakeHost
    _follow.BATCH_BYTES = 3000
    async def main():
        queue = mmapqueue.Queue(None, sys.argv[1], lock_timeout=60)
        print(_standalone._running.process.pid, flush=True)
        inbox = QueueInbox(queue, count=lambda status, records: print(records, flush=True))
        await FileFetcher(paths=[sys.argv[2]], poll="20ms").run(FakeHost(inbox))
    asyncio.run(main())
"""


@pytest.mark.long_form
def test_kills_at_random_lose_and_repeat_nothing(script: Script, log: Path, open_queue: Open) -> None:
    path = script.directory / "queue"
    chance = random.Random(7)
    written: list[bytes] = []
    stop = threading.Event()

    def write() -> None:
        number = 0
        rotations = 0
        while not stop.wait(0.002):
            lines = [b"%06d %s" % (i, b"x" * (i % 90)) for i in range(number, number + 1 + number % 25)]
            number += len(lines)
            append(log, b"".join(each + b"\n" for each in lines))
            written.extend(lines)
            if number // 4000 > rotations:
                rotations += 1
                log.rename(log.with_name(f"app.log.{rotations}"))

    append(log, b"")
    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(20 if LONG else 6):
            process = script.start(_FOLLOW, path, f"{log}*", PYTHONPATH=os.pathsep.join((*_PATHS, "")))
            assert process.stdout is not None
            jvm = int(process.stdout.readline())
            for _ in range(chance.randrange(30)):
                assert process.stdout.readline()
            os.kill(jvm, signal.SIGKILL)  # First, or it would close the queue.
            process.kill()
            process.communicate()
            assert eventually(lambda jvm=jvm: not is_running(jvm))
    finally:
        stop.set()
        writer.join()
    queue = open_queue(path)

    async def finish() -> None:
        inbox = QueueInbox(queue)
        follower = _follow.Follower(FileFetcher(paths=[f"{log}*"]), FakeHost(inbox))
        await follower.start()
        while await follower.turn():
            pass
        follower.close()
        await inbox.close()

    asyncio.run(finish())
    found = texts(data(queue.pop_many(queue.end_offset() + 1)))
    assert len(found) == len(written)
    assert sorted(found) == written


_PATHS = [str(Path(mmapqueue.__file__).parents[1]), str(Path(__file__).parents[1])]
