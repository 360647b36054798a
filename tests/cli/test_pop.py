"""pop: as a consumer, beside the process that writes."""

import json
import os
from pathlib import Path

import pytest

import mmapqueue
from command_line import CommandLine
from conftest import Open


@pytest.fixture
def queue(open_queue: Open) -> mmapqueue.Queue:
    """Written by this process while commands pop."""
    queue = open_queue()
    queue.push_many([b"one", b"two", b"three"])
    return queue


def test_without_ack_the_records_are_released(command_line: CommandLine, queue: mmapqueue.Queue) -> None:
    for words, expected in {
        (): "one\n",
        ("-n", "2"): "one\ntwo\n",
        ("-n", "0"): "one\ntwo\nthree\n",
        ("-n", "9"): "one\ntwo\nthree\n",
        ("-n", "1", "-f", r"%o %d %t %s\n"): "0 1 TIME one\n",
    }.items():
        ended = command_line.run("pop", queue.path, *words)
        assert (words, ended.status, ended.out, ended.err) == (words, 0, expected, "")
    assert (queue.pop(timeout=10).attempts, queue.unacked()) == (1, 1)


def test_ack(command_line: CommandLine, queue: mmapqueue.Queue) -> None:
    assert command_line.run("pop", queue.path, "--ack").out == "one\n"
    found = [
        json.loads(line) for line in command_line.run("pop", queue.path, "-n0", "--ack", "--json").out.splitlines()
    ]
    assert [(each["offset"], each["value"], each["attempts"]) for each in found] == [(1, "two", 1), (2, "three", 1)]
    ended = command_line.run("pop", queue.path, "--ack")
    assert (ended.status, ended.out, ended.err) == (3, "", "")
    assert queue.consumer_stats()["default"].lag_records == 0


def test_wait(command_line: CommandLine, queue: mmapqueue.Queue) -> None:
    assert command_line.run("pop", queue.path, "-n0", "--ack").status == 0
    assert command_line.run("pop", queue.path, "--wait", "0.2").status == 3
    process = command_line.start("pop", queue.path, "--ack", "-n", "2", "--wait", "1h")
    queue.push(b"four")
    assert process.stdout
    assert process.stdout.readline() == b"four\n"
    queue.push(b"five")
    assert process.communicate(timeout=60) == (b"five\n", b"")
    assert process.returncode == 0


def test_a_format_of_any_bytes(command_line: CommandLine, queue: mmapqueue.Queue) -> None:
    ended = command_line.run("pop", queue.path, "-f", os.fsdecode(b"\xff%s"))
    assert (ended.status, ended.out, ended.err) == (0, r"\xffone", "")


def test_a_named_consumer(command_line: CommandLine, queue: mmapqueue.Queue) -> None:
    ended = command_line.run("pop", queue.path, "-c", "bliling")
    assert (ended.status, ended.out) == (2, "")
    assert f"--consumer = 'bliling' does not exist in {queue.path}; allowed: default" in ended.err
    assert queue.consumers() == []
    queue.create_consumer("billing", start=1)
    assert command_line.run("pop", queue.path, "-c", "billing", "--ack").out == "two\n"
    assert queue.consumer_stats()["billing"].committed_offset == 2
    assert "allowed: one of billing" in command_line.run("pop", queue.path, "-c", "x").err


def test_a_consumer_of_another_process(command_line: CommandLine, queue: mmapqueue.Queue) -> None:
    queue.pop()
    ended = command_line.run("pop", queue.path)
    assert (ended.status, ended.out) == (1, "")
    assert ended.err.startswith("mmapqueue: consumer default is held by process ")
    assert f": the JVM of process {os.getpid()}, " in ended.err


def test_exec(command_line: CommandLine, queue: mmapqueue.Queue, tmp_path: Path) -> None:
    fails_once = f'cat; echo " $MMAPQUEUE_OFFSET $MMAPQUEUE_ATTEMPTS"; [ -e {tmp_path}/$MMAPQUEUE_OFFSET ]'
    for name in ("0", "2"):
        (tmp_path / name).touch()
    ended = command_line.run("pop", queue.path, "-n", "0", "--exec", fails_once)
    assert (ended.status, ended.out) == (1, "one 0 1\ntwo 1 1\nthree 2 1\n")
    assert ended.err == "mmapqueue: the command failed with exit status 1 at offset 1, which is requeued\n"
    assert queue.consumer_stats()["default"].committed_offset == 1
    (tmp_path / "1").touch()
    ended = command_line.run("pop", queue.path, "--exec", fails_once, "--wait", "60")
    assert (ended.status, ended.out, ended.err) == (0, "two 1 2\n", "")
    assert queue.consumer_stats()["default"].lag_records == 0
    assert command_line.run("pop", queue.path, "--exec", "true").status == 3


def test_exec_may_leave_its_input_unread(command_line: CommandLine, open_queue: Open) -> None:
    queue = open_queue()
    queue.push(os.urandom(1 << 20))
    ended = command_line.run("pop", queue.path, "--exec", 'test -n "$MMAPQUEUE_TIMESTAMP"')
    assert (ended.status, ended.err) == (0, "")
    assert queue.consumer_stats()["default"].lag_records == 0


def test_no_record_is_acked_that_was_not_written(command_line: CommandLine, queue: mmapqueue.Queue) -> None:
    with Path("/dev/full").open("w") as full:
        process = command_line.start("pop", queue.path, "-n", "0", "--ack", stdout=full)
        assert process.communicate(timeout=60)[1] == b"mmapqueue: No space left on device\n"
    assert queue.lag() == 3
    assert queue.pop(timeout=10).attempts == 1


def test_in_a_terminal(command_line: CommandLine, queue: mmapqueue.Queue) -> None:
    queue.push(b"\x1b[2Jx")
    assert command_line.terminal("pop", queue.path, "-n", "0", "--ack").shown == "one\ntwo\nthree\n\\x1b[2Jx\n"
