"""The parts of the log pipeline of examples/ that need no Spark: agent, inputs, comparison."""

from __future__ import annotations

import argparse
import io
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.progress import Progress

from conftest import eventually

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "log_pipeline"))

import agent
import compare
import demo
import inputs
import mmapqueue
import plot
import services
import shared

# The record


@pytest.mark.parametrize("raw", [b"plain\n", b"", b"\n", b"two\nlines\n", bytes(range(256)), b'{"a": 1}\r\n'])
def test_a_record_holds_any_bytes(raw: bytes) -> None:
    line = shared.Line("/var/log/ä b\n.log", 1 << 40, 7, raw)
    assert shared.unpack(shared.pack(line)) == line


def test_status_lines_that_a_kill_cut_short_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "status.jsonl"
    assert shared.read_status(path) == []
    shared.append_status(path, event="ready")
    with path.open("a") as file:
        file.write('{"time": 1, "ev\n')
    shared.append_status(path, event="pushed", end=3)
    assert [entry["event"] for entry in shared.read_status(path)] == ["ready", "pushed"]


# The agent


def tail(path: Path, place: agent.Place = agent.Place(), limit: int | None = None) -> agent.Tail:  # noqa: B008
    return agent.Tail(str(path), place, limit)


def test_an_unfinished_line_is_left_until_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one\ntw")
    follower = tail(path)
    assert [line.raw for line in follower.read(10)] == [b"one\n"]
    assert follower.read(10) == []
    with path.open("ab") as file:
        file.write(b"o\nthree\n")
    assert follower.read(10) == [
        shared.Line(str(path), 4, 2, b"two\n"),
        shared.Line(str(path), 8, 3, b"three\n"),
    ]
    assert follower.place == (14, 3)
    assert not follower.caught_up
    follower.close()


def test_a_limit_takes_what_was_there_and_no_more(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one\ntwo and more\n")
    follower = tail(path, limit=7)
    assert [line.raw for line in follower.read(10)] == [b"one\n", b"two"]
    assert follower.caught_up
    assert follower.read(10) == []
    follower.close()


@pytest.mark.parametrize("stop_after", range(7))
def test_reading_on_from_any_place_gives_the_same_lines(tmp_path: Path, stop_after: int) -> None:
    path = tmp_path / "a.log"
    content = b"one\n\n" + b"x" * (2 * agent.MAX_PIECE + 5) + b"\n\xff\x00\r\nend"
    path.write_bytes(content)
    whole = tail(path, limit=len(content))
    lines = whole.read(100)
    assert b"".join(line.raw for line in lines) == content
    assert [line.line for line in lines] == [1, 2, 3, 3, 3, 4, 5]
    before = tail(path, limit=len(content))
    first = before.read(stop_after)
    after = tail(path, before.place, len(content))
    assert first + after.read(100) == lines
    for follower in (whole, before, after):
        follower.close()


def test_a_file_that_shrank_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one\n")
    with pytest.raises(SystemExit, match="shorter"):
        tail(path, agent.Place(100, 5))


def test_every_file_gets_its_share(tmp_path: Path) -> None:
    for name, count in (("long", 100), ("short", 2)):
        (tmp_path / name).write_bytes(b"".join(b"%d\n" % number for number in range(count)))
    followers = [tail(tmp_path / "long"), tail(tmp_path / "short")]
    lines = agent.next_lines(followers, 10)
    assert len(lines) == 10
    assert sum(line.source.endswith("short") for line in lines) == 2
    assert len(agent.next_lines(followers, 1000)) == 92
    assert agent.next_lines(followers, 0) == []
    for follower in followers:
        follower.close()


def test_the_state_survives_and_is_never_half_written(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    assert agent.load_state(path) == {}
    places = {"/var/log/a": agent.Place(10, 2), "/var/log/b": agent.Place(0, 0)}
    agent.save_state(path, places)
    assert agent.load_state(path) == places
    path.with_name("state.json.new").write_text('{"/var/log/a": [1')  # an agent was killed while it saved
    assert agent.load_state(path) == places
    agent.save_state(path, {"/var/log/a": agent.Place(20, 4)})
    assert agent.load_state(path) == {"/var/log/a": (20, 4)}
    assert [entry.name for entry in tmp_path.iterdir()] == ["state.json"]


def test_the_pace_bounds_what_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    pace = agent.Pace(10)
    assert pace.due() == 0
    now[0] += 1
    assert pace.due() == 10
    pace.take(7)
    assert pace.due() == 3
    now[0] += 10_000
    assert pace.due() == agent.MAX_BATCH
    assert agent.Pace(0).due() == agent.MAX_BATCH


class FullQueue:
    """Takes three records at a time."""

    def __init__(self) -> None:
        self.records: list[bytes] = []

    def push_many(self, records: Sequence[bytes], timeout: float) -> None:
        assert timeout
        self.records += records[:3]
        if len(records) > 3:
            raise full(3)

    def pop_many(self, max_records: int) -> list[mmapqueue.Message]:
        assert max_records
        return []


def full(pushed: int) -> mmapqueue.Full:
    error = mmapqueue.Full("the queue is full")
    error.pushed = pushed
    return error


def test_a_full_queue_is_waited_for_and_gets_every_line_once() -> None:
    queue: Any = FullQueue()
    lines = [shared.Line("a", number, number, b"%d\n" % number) for number in range(8)]
    assert agent.push_all(queue, lines, threading.Event())
    assert [shared.unpack(record) for record in queue.records] == lines


def test_told_to_stop_the_agent_does_not_wait_for_a_full_queue() -> None:
    stop = threading.Event()
    stop.set()
    queue: Any = FullQueue()
    lines = [shared.Line("a", number, number, b"%d\n" % number) for number in range(8)]
    assert not agent.push_all(queue, lines, stop)
    assert len(queue.records) == 3


# The inputs


def test_directories_give_text_files_and_named_files_are_taken_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "logs" / "sub").mkdir(parents=True)
    for name, content in {
        "logs/a.log": b"text\n",
        "logs/sub/latin.log": b"caf\xe9\n",
        "logs/wtmp": b"\x01\x00\x00",
        "logs/old.log.gz": b"packed",
        "logs/empty.log": b"",
        "named.bin": b"\x00\n",
    }.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "logs" / "again.log").symlink_to(tmp_path / "logs" / "a.log")
    taken, left_out = inputs.find(f"{tmp_path}/logs:{tmp_path}/named.bin")
    assert [str(path.relative_to(tmp_path)) for path in taken] == ["logs/a.log", "logs/sub/latin.log", "named.bin"]
    assert left_out == []
    taken, left_out = inputs.find(str(tmp_path / "logs"), most_bytes=5)
    assert [path.name for path in taken] == ["a.log"]
    assert [path.name for path in left_out] == ["latin.log"]
    with pytest.raises(SystemExit, match=r"nowhere"):
        inputs.find(str(tmp_path / "nowhere"))


def test_the_sample_is_taken_where_there_is_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "LOGS", str(tmp_path))
    assert inputs.find(None) == ([inputs.SAMPLE], [])
    assert inputs.measure(inputs.SAMPLE).lines > 100


def test_growth_is_no_change_but_rewriting_is(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one\ntwo")
    before = inputs.measure(path)
    assert (before.size, before.lines) == (7, 2)
    inputs.save(tmp_path / "inputs.json", {str(path): before})
    assert inputs.load(tmp_path / "inputs.json") == {str(path): before}
    path.write_bytes(b"one\ntwo and more\n")
    assert inputs.unchanged(path, before)
    path.write_bytes(b"one\nTwo")
    assert not inputs.unchanged(path, before)
    path.write_bytes(b"one\n")
    assert not inputs.unchanged(path, before)


def test_only_what_a_run_has_left_is_removed(tmp_path: Path) -> None:
    demo.prepare(tmp_path / "out")
    (tmp_path / "out" / "inputs.json").touch()
    (tmp_path / "out" / "old").touch()
    demo.prepare(tmp_path / "out")
    assert not (tmp_path / "out" / "old").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    with pytest.raises(SystemExit, match="something else"):
        demo.prepare(tmp_path / "mine")
    assert (tmp_path / "mine" / "file").exists()


# The comparison

DATA = b"one\ntwo\n\nend"
COPIES = [(0, 0, b"one\n"), (4, 1, b"two\n"), (8, 3, b"\n"), (9, 5, b"end")]


def compared(copies: Sequence[tuple[int, int, bytes]]) -> compare.Comparison:
    return compare.compare(DATA, [compare.Copy("a", *copy) for copy in sorted(copies)])


def test_what_came_out_whole_is_faithful() -> None:
    result = compared(COPIES)
    assert result == compare.Comparison(lines_in=4, lines_out=4)
    assert result.faithful


@pytest.mark.parametrize("gone", range(4))
def test_a_line_that_is_gone_is_lost(gone: int) -> None:
    result = compared(COPIES[:gone] + COPIES[gone + 1 :])
    assert result == compare.Comparison(lines_in=4, lines_out=3, lost=1)
    assert not result.faithful


def test_nothing_out_is_all_lost() -> None:
    assert compared([]) == compare.Comparison(lines_in=4, lost=4)


@pytest.mark.parametrize("bad", [b"twO\n", b"two", b"two\r\n", b"two\n\n\n"])
def test_other_bytes_are_altered(bad: bytes) -> None:
    result = compared([COPIES[0], (4, 1, bad), *COPIES[2:]])
    assert not result.faithful
    assert result.altered or result.lost


def test_lines_in_another_order_are_misplaced() -> None:
    result = compared([(0, 1, b"one\n"), (4, 0, b"two\n"), *COPIES[2:]])
    assert result == compare.Comparison(lines_in=4, lines_out=4, misplaced=1)
    assert not result.faithful


def test_a_line_pushed_again_is_repeated_and_no_fault() -> None:
    result = compared([*COPIES, (4, 2, b"two\n"), (8, 4, b"\n")])
    assert result == compare.Comparison(lines_in=4, lines_out=4, repeated=2)
    assert result.faithful


def test_a_bad_second_copy_is_a_fault() -> None:
    assert compared([*COPIES, (4, 2, b"two?")]).altered == 1


def test_sources_that_no_one_took_or_that_did_not_come_out_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(DATA)
    results = compare.compare_all({str(path): inputs.measure(path)}, [compare.Copy("/other", 0, 0, b"x\n")])
    assert results[str(path)].lost == 4
    assert results["/other"].altered == 1


def test_the_depth_follows_pushes_and_acks() -> None:
    pushes: list[dict[str, Any]] = [
        {"time": 0, "event": "ready"},
        {"time": 1, "event": "pushed", "end": 10},
        {"time": 4, "end": 12},
    ]
    acks: list[dict[str, Any]] = [{"time": 2, "event": "popped", "last": 3}, {"time": 3, "event": "acked", "last": 3}]
    assert plot.depth_over_time(pushes, acks) == [(1, 10), (3, 6), (4, 8)]


def test_the_agent_holds_where_it_is_told(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"".join(b"%d\n" % number for number in range(100)))
    arguments = ["--queue", str(tmp_path / "queue"), "--state", str(tmp_path / "state"), "--hold", "40", str(log)]
    options = agent.parse_arguments(arguments)
    stop = threading.Event()
    follower = tail(log)
    with mmapqueue.Queue(None, options.queue) as queue:
        running = threading.Thread(target=agent.follow, args=(queue, [follower], options, stop))
        running.start()
        assert eventually(lambda: queue.end_offset() == 40)
        # It has asked for more many times by then.
        time.sleep(0.5)
        assert queue.end_offset() == 40
        stop.set()
        running.join(20)
    follower.close()
    assert agent.load_state(options.state)[str(log)].line == 40


def a_run(out: Path, timeout: float) -> demo.Run:
    (out / "logs").mkdir()
    options = argparse.Namespace(seconds=1, capacity="1m", timeout=timeout)
    return demo.Run(out, 10, services.job(out), options, Progress(disable=True))


def test_a_run_ends_when_nothing_moves(tmp_path: Path) -> None:
    run = a_run(tmp_path, 0.3)
    shared.append_status(tmp_path / "agent.jsonl", event="pushed", end=7)
    with pytest.raises(services.ServiceError, match=r"nothing has moved for 0.3 s .* pushed 7 of 10 lines, .* done 0"):
        run.watch(lambda: False)


def test_a_run_goes_on_while_anything_moves(tmp_path: Path) -> None:
    run = a_run(tmp_path, 2)
    until = time.monotonic() + 4

    def work() -> bool:
        shared.append_status(tmp_path / "agent.jsonl", event="pushed", end=run.end() + 1)
        return time.monotonic() > until

    run.watch(work)
    # Nothing need move while a killed process is left away.
    run.wait(3)


@pytest.mark.parametrize("lines", [1, 2, 3, 10, 1000])
def test_the_agent_is_held_before_the_end_and_past_the_middle(tmp_path: Path, lines: int) -> None:
    options = argparse.Namespace(seconds=1, capacity="1m", timeout=1)
    run = demo.Run(tmp_path, lines, services.job(tmp_path), options, Progress(disable=True))
    assert lines // 2 < run.hold <= lines
    assert run.hold < lines or lines < 3


def test_a_failure_names_the_logs(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    for name in ("agent-1.log", "job-1.log"):
        (tmp_path / "logs" / name).write_text("said")
    said = io.StringIO()
    assert demo.failed(tmp_path, services.ServiceError("it has failed"), Console(file=said)) == 1
    assert "it has failed" in said.getvalue()
    for name in ("agent-1.log", "job-1.log"):
        assert str(tmp_path / "logs" / name) in said.getvalue()
