"""Reloads of several processes of one file: all of them change, or none."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import children, eventually

from .gathering import SECONDS, request

_CONFIG = """\
name: shop
gather: {processes: 2}
servers:
  - {name: http, type: http, listen: "127.0.0.1:0"}
pipes:
  - name: logs
    queue: {dir: queue, capacity: 32m, segment_size: 8m}
    receivers: [{type: otlp, server: http}]
"""
#: Another limit of the server, another path, and a further pipe.
_CHANGED = _CONFIG.replace("http, listen", "http, max_connections: 500, listen").replace(
    "[{type: otlp, server: http}]",
    "[{type: otlp, server: http}, {type: http, server: http, path: /x}]\n"
    "  - name: more\n    queue: {dir: more, capacity: 32m, segment_size: 8m}\n"
    "    receivers: [{type: http, server: http, path: /more}]",
)


class Pair:
    """`mmapqueue gather` with two processes."""

    def __init__(self, directory: Path, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        found = re.fullmatch(r"ready: http 127.0.0.1:(\d+)\n", process.stdout.readline())
        assert found
        self.port = int(found[1])
        self.process = process
        self.file = directory / "shop.yaml"
        self.log = directory / "log"

    def logged(self, text: str) -> int:
        return self.log.read_text().count(text)

    def connections(self) -> "list[socket.socket]":
        """So many new connections that each process has some."""
        return [socket.create_connection(("127.0.0.1", self.port), SECONDS) for _ in range(24)]


@contextlib.contextmanager
def pair(directory: Path, *options: str) -> Iterator[Pair]:
    (directory / "shop.yaml").write_text(_CONFIG)
    with (directory / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "mmapqueue", "gather", str(directory / "shop.yaml"), *options],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
        )
    try:
        yield Pair(directory, process)
    finally:
        for child in children(process.pid):
            for pid in [child, *children(child)]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        process.kill()
        process.communicate()


def post(client: socket.socket, path: str, body: bytes) -> int:
    """The status of the answer to a request on a connection."""
    head = f"POST {path} HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-protobuf\r\nContent-Length: {len(body)}\r\n"
    client.sendall(f"{head}\r\n".encode() + body)
    answer = client.recv(65536)
    assert b"Connection: close" not in answer
    return int(answer.split()[1])


def command(both: Pair) -> None:
    words = [sys.executable, "-m", "mmapqueue", "reload", str(both.file)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=False)
    gathers = r"gather-{} \(process \d+\): {}\n"
    if done.returncode == 0:
        assert re.fullmatch(gathers.format(0, "reloaded") + gathers.format(1, "reloaded"), done.stdout)
        return
    assert done.stdout == ""
    assert re.search(
        r"more.*\n" + gathers.format(1, "nothing has changed") + r"no process has changed: gather-0, gather-1\n$",
        done.stderr,
    ), done.stderr


def hangup(both: Pair) -> None:
    both.process.send_signal(signal.SIGHUP)


def nothing(_: Pair) -> None:
    """The file is watched."""


@pytest.mark.parametrize(
    ("ask", "options"),
    [(command, ()), (hangup, ()), (nothing, ("--watch",))],
    ids=["the command", "SIGHUP", "--watch"],
)
def test_all_processes_change_or_none(tmp_path: Path, ask: Callable[[Pair], None], options: tuple[str, ...]) -> None:
    # A queue of the second process cannot be opened: its directory is a file.
    obstacle = tmp_path / "more" / "p=1"
    with pair(tmp_path, *options) as both, contextlib.ExitStack() as stack:
        before = [stack.enter_context(each) for each in both.connections()]
        assert {post(each, "/v1/logs", request("a")) for each in before} == {200}
        obstacle.parent.mkdir()
        obstacle.write_text("")
        both.file.write_text(_CHANGED)
        ask(both)
        failed = f"reload of {both.file} has failed\n"
        given_up = f"reload of {both.file} is given up: another process cannot take the file\n"
        # That of the second process and that of the parent, of which the command needs none.
        assert eventually(lambda: both.logged(failed) == (1 if ask is command else 2), SECONDS), both.log.read_text()
        assert both.logged(given_up) == 1
        assert (both.logged(f"gather-1: {failed}"), both.logged(f"gather-0: {given_up}")) == (1, 1)
        # The connections last, and new ones reach both processes, which have their former paths.
        after = [stack.enter_context(each) for each in both.connections()]
        for each in (*before, *after):
            assert post(each, "/v1/logs", request("b")) == 200
            assert post(each, "/x", b"c") == 404
        obstacle.unlink()
        both.file.write_text(_CHANGED + "# another time\n")
        ask(both)
        done = f"reload of {both.file}: done in"
        assert eventually(lambda: both.logged(done) == (2 if ask is command else 3), SECONDS), both.log.read_text()
        assert (both.logged(f"gather-0: {done}"), both.logged(f"gather-1: {done}")) == (1, 1)
        for each in both.connections():
            with each:
                assert post(each, "/x", b"c") == 204
                assert post(each, "/more", b"d") == 204


def test_a_successor_takes_the_file_that_was_reloaded_while_it_waited(tmp_path: Path) -> None:
    file = tmp_path / "shop.yaml"
    before = _CONFIG.replace("gather: {processes: 2}\n", "")
    file.write_text(before)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        number = str(theirs.fileno())
        process = subprocess.Popen(
            [sys.executable, "-m", "mmapqueue", "gather", str(file), "--successor", number],
            stdout=subprocess.PIPE,
            text=True,
            pass_fds=[theirs.fileno()],
        )
        try:
            assert ours.recv(1) == b"p"
            file.write_text(_CHANGED.replace("gather: {processes: 2}\n", ""))
            ours.sendall(b"g")
            assert process.stdout is not None
            port = int(process.stdout.readline().rpartition(":")[2])
            with socket.create_connection(("127.0.0.1", port), SECONDS) as client:
                assert post(client, "/x", b"c") == 204
        finally:
            process.terminate()
            process.communicate()
