"""`mmapqueue top`: beside a writer, in a terminal and in pipes."""

import fcntl
import io
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from rich.console import Console

import mmapqueue
from command_line import HEED_CTRL_C, CommandLine, masked
from conftest import Open, eventually
from mmapqueue._cli.screens.queues import screen, sparkline
from mmapqueue._cli.screens.watching import Watched


@pytest.fixture
def queue(open_queue: Open) -> mmapqueue.Queue:
    queue = open_queue(capacity="1m", segment_size="64k")
    queue.create_consumer("billing")
    queue.push_many([b"x" * 1000] * 100)
    return queue


class Terminal:
    """`mmapqueue top` in a terminal; reads what it draws."""

    def __init__(self, *words: object) -> None:
        self._ours, theirs = pty.openpty()
        self.resize(30, 100, theirs)
        self.before = termios.tcgetattr(theirs)
        self.theirs = theirs
        # A worker of pytest gives another size there.
        size = ("COLUMNS", "LINES")
        environment = {name: value for name, value in os.environ.items() if name not in size}
        environment["TERM"] = "xterm-256color"
        self.process = subprocess.Popen(
            [sys.executable, "-c", HEED_CTRL_C, sys.executable, "-m", "mmapqueue", "top", *map(str, words)],
            stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, start_new_session=True,
            env=environment,
        )  # fmt: skip
        os.set_blocking(self._ours, False)
        self.shown = ""

    def resize(self, rows: int, columns: int, terminal: int | None = None) -> None:
        fcntl.ioctl(terminal or self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def shows(self, pattern: str) -> bool:
        """Whether what was drawn since the last call has this, soon."""
        start = len(self.shown)

        def read() -> bool:
            self._read()
            return re.search(pattern, masked(self.shown[start:]), re.DOTALL) is not None

        return eventually(read, 60)

    def _read(self) -> None:
        with suppress(BlockingIOError):
            while True:
                self.shown += os.read(self._ours, 1 << 16).decode(errors="replace")

    def ended(self) -> int | None:
        """The exit status; reads on, so that the command can write."""

        def has_ended() -> bool:
            self._read()
            return self.process.poll() is not None

        eventually(has_ended, 60)
        self._read()
        return self.process.returncode

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()
        os.close(self._ours)
        os.close(self.theirs)


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.end()


def test_a_terminal_is_drawn_until_q(
    queue: mmapqueue.Queue, open_queue: Open, tmp_path: Path, terminals: list[Terminal]
) -> None:
    other = open_queue(tmp_path / "other")
    terminal = Terminal(queue.path, other.path, "--interval", "100ms")
    terminals.append(terminal)
    assert terminal.shows(
        r"mmapqueue top  every 100ms  q ends.*─ queue.*fill.*9\.7% of 1\.0M  held by billing.*billing +100 "
    )
    assert terminal.shows("─ other .*0.0% of 512M.*no consumer: the queue retains everything")
    queue.push_many([b"x" * 1000] * 100)
    assert terminal.shows(r"pushed +[1-9][\d,]*/s .*[▂-█].*billing +200 ")
    queue.consumer("billing").seek("latest")
    assert terminal.shows(r"billing +0 ")
    terminal.resize(30, 60)
    assert terminal.shows(r"\n╭[^\n]{58}╮\r?\n")
    assert terminal.process.poll() is None
    terminal.type("xq")
    assert terminal.ended() == 0
    assert termios.tcgetattr(terminal.theirs) == terminal.before, "keys are shown again"
    assert (terminal.shown.count("\x1b[?1049h"), terminal.shown.count("\x1b[?1049l")) == (1, 1)
    assert queue.consumers() == ["billing"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it(queue: mmapqueue.Queue, terminals: list[Terminal], number: signal.Signals) -> None:
    terminal = Terminal(queue.path)
    terminals.append(terminal)
    assert terminal.shows("billing")
    terminal.process.send_signal(number)
    assert terminal.ended() == 0
    assert terminal.process.stderr is not None
    assert terminal.process.stderr.read() == b""
    assert termios.tcgetattr(terminal.theirs) == terminal.before


def test_once_is_a_table(command_line: CommandLine, queue: mmapqueue.Queue, open_queue: Open, tmp_path: Path) -> None:
    other = open_queue(tmp_path / "other")
    for words in (("--once",), ()):
        ended = command_line.run("top", queue.path, other.path, *words, "--interval", "200ms")
        assert (ended.status, ended.err) == (0, "")
        lines = [line.split() for line in ended.out.splitlines()]
        assert lines[0][:6] == ["QUEUE", "FILL", "PUSHED/S", "CONSUMER", "ACKED/S", "LAG"]
        assert lines[0][6:] == ["ARCHIVED", "IN-FLIGHT", "BYTES", "AGE"]
        assert lines[1][:6] == [queue.path, "9.7%", "0", "billing", "0", "100"]
        assert lines[2] == [other.path, "0.0%", "0", "-", "0", "0", "0", "0", "0B", "0ms"]


def test_a_terminal_that_cannot_be_drawn_on_gets_a_table(command_line: CommandLine, queue: mmapqueue.Queue) -> None:
    ended = command_line.terminal("top", queue.path, "--interval", "100ms", TERM="dumb")
    assert (ended.status, ended.out.split()[:2]) == (0, ["QUEUE", "FILL"])


def test_json(command_line: CommandLine, queue: mmapqueue.Queue) -> None:
    process = command_line.start("top", queue.path, "--json", "--interval", "0.2")
    assert process.stdout is not None
    first = json.loads(process.stdout.readline())
    assert (first["path"], first["records"], first["slowest_consumer"]) == (queue.path, 100, "billing")
    assert first["capacity"] == 1 << 20
    assert first["fill"] == pytest.approx(0.1, abs=0.01)
    queue.push_many([b"x" * 1000] * 100)
    samples = [first]
    while samples[-1]["records"] != 200:
        samples.append(json.loads(process.stdout.readline()))
        # A sample may fall into the push.
        assert 100 <= samples[-1]["records"] <= 200
    assert any(sample["pushed_per_second"] > 0 for sample in samples[1:])
    queue.consumer("billing").seek(50)
    while (found := json.loads(process.stdout.readline()))["records"] != 150:
        assert found["records"] == 200
    (consumer,) = found["consumers"]
    assert consumer.keys() == {
        "name",
        "lag_records",
        "in_flight",
        "lag_bytes",
        "lag_seconds",
        "acked_per_second",
        "acked_bytes_per_second",
        "archived_records",
    }
    assert (consumer["name"], consumer["lag_records"]) == ("billing", 150)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    ended = command_line.run("top", queue.path, "--json", "--once", "--interval", "0.1")
    assert len(ended.out.splitlines()) == 1


def test_wrong_usage(command_line: CommandLine, tmp_path: Path) -> None:
    assert command_line.run("top", tmp_path, "--interval", "1ms").status == 2
    assert command_line.run("top").status == 2
    missing = command_line.run("top", tmp_path / "none", "--once")
    assert (missing.status, missing.out) == (1, "")
    assert not (tmp_path / "none").exists()


def test_rates_of_consumers(open_queue: Open) -> None:
    queue = open_queue()
    queue.create_consumer("billing")
    queue.push_many([b"x"] * 10)
    watched = Watched(queue)
    watched.sample()
    queue.consumer("billing").seek(4)
    watched.sample()
    assert watched.last is not None
    (row,) = watched.last.consumers
    assert (row.lag_records, list(watched.lags["billing"])) == (6, [10, 6])
    assert row.acked_per_second > 0
    queue.delete_consumer("billing")
    watched.sample()
    assert (watched.last.consumers, dict(watched.lags)) == ([], {})
    queue.close()
    watched.sample()
    assert watched.as_object()["error"] == f"the queue in {queue.path} is closed"


def test_another_process_sees_what_is_committed_and_what_is_in_flight(
    command_line: CommandLine, queue: mmapqueue.Queue
) -> None:
    def shown() -> tuple[int, int]:
        ended = command_line.run("top", queue.path, "--once", "--json", "--interval", "100ms")
        (consumer,) = json.loads(ended.out)["consumers"]
        assert (consumer["name"], consumer["acked_per_second"]) == ("billing", 0)
        return consumer["lag_records"], consumer["in_flight"]

    billing = queue.consumer("billing", prefetch=0, ack_linger=0)
    assert shown() == (100, 0)
    messages = billing.pop_many(30)
    assert shown() == (100, 30)
    billing.ack_many(messages[10:])
    assert shown() == (100, 30)
    billing.ack_many(messages[:5])
    assert shown() == (95, 25)
    # Nothing before the other acked ones is left.
    billing.ack_many(messages[5:10])
    assert shown() == (70, 0)
    billing.pop()
    billing.close()
    assert shown() == (70, 0)


def shown_by(watched: Watched) -> str:
    drawn = io.StringIO()
    Console(file=drawn, width=100).print(screen([watched], 100, 1.0))
    return drawn.getvalue()


def test_popped_records_are_not_acked_ones(open_queue: Open) -> None:
    queue = open_queue()
    size = 1000
    queue.push_many([b"x" * size] * 40)
    billing, audit = queue.consumer("billing"), queue.consumer("audit")
    watched = Watched(queue)
    watched.sample()
    assert re.search(r"pushed +- +- .*acked +- +- .*billing.* - ", shown_by(watched), re.DOTALL), (
        "no rate of one sample"
    )
    messages = billing.pop_many(30)
    watched.sample()
    assert queue.consumer_stats()["billing"].unacked == 30
    found = watched.as_object()
    assert (found["acked_per_second"], found["acked_bytes_per_second"], list(watched.acked)) == (0, 0, [0, 0])
    assert re.search(r"acked +0/s +0B/s", shown_by(watched)), shown_by(watched)
    # The sum of all consumers.
    billing.ack_up_to(messages[19])
    audit.ack_up_to(audit.pop_many(10)[-1])
    watched.sample()
    assert watched.last is not None
    rows = {row.name: row for row in watched.last.consumers}
    found = watched.as_object()
    assert rows["billing"].acked_per_second == pytest.approx(2 * rows["audit"].acked_per_second)
    assert found["acked_per_second"] == pytest.approx(3 * rows["audit"].acked_per_second)
    assert found["acked_bytes_per_second"] == pytest.approx(found["acked_per_second"] * (size + 20), rel=0.03)
    assert watched.acked[-1] == found["acked_per_second"]


def test_sparklines() -> None:
    assert sparkline([0, 1, 2, 4, 8], 10) == "▁▂▃▅█"
    assert sparkline(deque(range(100)), 3) == "███"
    assert sparkline([0, 0], 5) == "▁▁"
    assert sparkline([], 5) == ""
