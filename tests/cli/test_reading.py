"""tail and show: records by offset, beside the process that writes, without a consumer."""

import json
import subprocess
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

import mmapqueue
from command_line import CommandLine
from conftest import SMALL, Open, fill


@pytest.fixture
def queue(open_queue: Open) -> mmapqueue.Queue:
    """Written by this process while commands read it."""
    queue = open_queue()
    queue.push_many([b"line %d" % number for number in range(12)])
    return queue


def lines(first: int, last: int) -> str:
    return "".join(f"line {number}\n" for number in range(first, last + 1))


def test_tail(command_line: CommandLine, queue: mmapqueue.Queue, open_queue: Open) -> None:
    queue.close()
    session = {
        (): lines(2, 11),
        ("-n", "2"): lines(10, 11),
        ("-n", "0"): "",
        ("-n", "100"): lines(0, 11),
        ("--from", "earliest"): lines(0, 11),
        ("--from", "earliest", "-n", "3"): lines(0, 2),
        ("--from", "9"): lines(9, 11),
        ("--from", "12"): "",
        ("--from", "latest"): "",
        ("--from", "-1h"): lines(0, 11),
        ("--from", "2000-01-01"): lines(0, 11),
        ("--from", "2000-01-01T00:00:00Z", "-n", "1"): lines(0, 0),
        ("--from", "2200-01-01T00:00:00Z"): "",
        ("--grep", "1$"): "line 1\nline 11\n",
        ("--grep", "1", "-n", "2"): lines(10, 11),
        ("--grep", "1", "-n", "2", "--from", "earliest"): "line 1\nline 10\n",
        ("-n", "1", "--format", r"%o|%t|%l|%s|%%\t\n"): "11|TIME|7|line 11|%\t\n",
    }
    for words, expected in session.items():
        ended = command_line.call("tail", queue.path, *words)
        assert (words, ended.status, ended.out, ended.err) == (words, 0, expected, "")
    assert open_queue(queue.path).consumers() == []


def test_tail_from_the_time_of_a_record(command_line: CommandLine, queue: mmapqueue.Queue) -> None:
    time = queue.read_at(7).timestamp
    assert time is not None
    found = command_line.run("tail", queue.path, "--from", time.isoformat(), "-n", "1", "--json").out
    assert json.loads(found)["offset"] == queue.find(time)


def test_tail_from_an_offset_that_is_not_retained(command_line: CommandLine, queue: mmapqueue.Queue) -> None:
    ended = command_line.run("tail", queue.path, "--from", "13")
    assert (ended.status, ended.out) == (1, "")
    assert "offset 13 is out of range; available: 0..11" in ended.err


def test_a_queue_without_timestamps(command_line: CommandLine, open_queue: Open) -> None:
    queue = open_queue(timestamps=False)
    queue.push(b"one")
    ended = command_line.run("tail", queue.path, "--from", "-1h")
    assert ended.status == 2
    assert "timestamps" in ended.err
    assert command_line.run("tail", queue.path, "--format", r"%t %s\n").out == "- one\n"
    assert json.loads(command_line.run("tail", queue.path, "--json").out) == {
        "offset": 0,
        "timestamp": None,
        "value": "one",
    }


BINARY = b"\x00\xff\x1b[31mred\\\n\xc3\xbc\xe2\x80\xae"


def test_binary_records(command_line: CommandLine, open_queue: Open, tmp_path: Path) -> None:
    queue = open_queue()
    queue.push(BINARY)
    shown = r"\x00\xff\x1b[31mred\\\nü\u202e"
    # A pipe gets the bytes as they are, a terminal none that it would obey.
    with (tmp_path / "out").open("wb") as file:
        command_line.start("tail", queue.path, "--format", "%s", stdout=file).communicate()
    assert (tmp_path / "out").read_bytes() == BINARY
    assert command_line.terminal("tail", queue.path).shown == f"{shown}\n"
    (found,) = command_line.run("tail", queue.path, "--json").shown.splitlines()
    assert json.loads(found)["value_base64"] == "AP8bWzMxbXJlZFwKw7zigK4="
    assert command_line.run("show", queue.path, "0").out == f"offset 0  TIME  17 bytes\n  {shown}\n"


def test_json_in_a_terminal(command_line: CommandLine, open_queue: Open) -> None:
    queue = open_queue()
    text = "ü\x9b31m\u202e\U000e0001"
    queue.push(text.encode())
    (found,) = command_line.terminal("tail", queue.path, "--json").shown.splitlines()
    assert found.isprintable()
    assert "ü" in found
    assert json.loads(found)["value"] == text


def test_show(command_line: CommandLine, queue: mmapqueue.Queue) -> None:
    queue.close()

    def block(offset: int) -> str:
        return f"offset {offset}  TIME  {len(f'line {offset}')} bytes\n  line {offset}\n"

    for words, expected in {
        "3": block(3),
        "9..11": block(9) + block(10) + block(11),
        "10..": block(10) + block(11),
        "12..": "",
    }.items():
        ended = command_line.call("show", queue.path, words)
        assert (words, ended.status, ended.out, ended.err) == (words, 0, expected, "")
    ended = command_line.call("show", queue.path, "11..12")
    assert (ended.status, ended.out) == (1, block(11))
    assert "offset 12 is out of range; available: 0..11" in ended.err
    ended = command_line.call("show", queue.path, "13..")
    assert (ended.status, ended.out) == (1, "")
    assert "offset 13 is out of range; available: 0..11" in ended.err
    # One error for all that is after the log end.
    ended = command_line.call("show", queue.path, "11..1000000000000")
    assert (ended.status, ended.out, ended.err.count("\n")) == (1, block(11), 1)
    found = [json.loads(line) for line in command_line.call("show", queue.path, "1..2", "--json").out.splitlines()]
    assert [(each["offset"], each["value"]) for each in found] == [(1, "line 1"), (2, "line 2")]


def test_show_from_before_the_log_start(command_line: CommandLine, open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    fill(queue)
    queue.ack_up_to(queue.pop_many(100)[-1])
    queue.push(b"x" * 5000)
    first = queue.first_offset()
    assert first > 1
    ended = command_line.run("show", queue.path, f"0..{first}")
    assert (ended.status, ended.out.split()[:2]) == (1, ["offset", str(first)])
    assert (ended.err.count("\n"), f"available: {first}.." in ended.err) == (1, True)
    ended = command_line.run("show", queue.path, "0..1")
    assert (ended.status, ended.out, ended.err.count("\n")) == (1, "", 1)


def test_show_in_hexadecimal(command_line: CommandLine, open_queue: Open) -> None:
    queue = open_queue()
    queue.push(b"hexadecimal\x00\xffdump")
    assert command_line.run("show", queue.path, "0", "--hex").out == (
        "offset 0  TIME  17 bytes\n"
        "  00000000  68 65 78 61 64 65 63 69  6d 61 6c 00 ff 64 75 6d  |hexadecimal..dum|\n"
        "  00000010  70                                                |p|\n"
    )


@pytest.mark.parametrize(
    ("command", "words"),
    [("tail", ["--format", "%o"]), ("pop", ["--format", "%o"]), ("show", ["--hex", "0"])],
    ids=["tail", "pop", "show"],
)
def test_json_has_no_other_form(
    command_line: CommandLine, queue: mmapqueue.Queue, command: str, words: list[str]
) -> None:
    ended = command_line.call(command, queue.path, *words, "--json")
    assert (ended.status, ended.out) == (2, "")
    assert f"use it without {words[0]}" in ended.err


def test_a_terminal_shows_the_same(command_line: CommandLine, queue: mmapqueue.Queue) -> None:
    for words in (["tail", queue.path], ["show", queue.path, "0..3", "--hex"], ["tail", queue.path, "--json"]):
        ended = command_line.terminal(*words)
        assert (ended.status, ended.out) == (0, command_line.run(*words).out)


@pytest.fixture
def following(command_line: CommandLine, queue: mmapqueue.Queue) -> Iterator["subprocess.Popen[bytes]"]:
    process = command_line.start("tail", queue.path, "-f", "-n", "1")
    assert process.stdout
    assert process.stdout.readline() == b"line 11\n"
    yield process
    process.kill()


def test_follow(following: "subprocess.Popen[bytes]", queue: mmapqueue.Queue) -> None:
    assert following.stdout
    for number in range(5):
        queue.push(b"new %d" % number)
        assert following.stdout.readline() == b"new %d\n" % number
    pushing = threading.Thread(target=lambda: queue.push_many(b"many %d" % number for number in range(5000)))
    pushing.start()
    assert [following.stdout.readline() for _ in range(5000)] == [b"many %d\n" % number for number in range(5000)]
    pushing.join()


def test_follow_from_an_offset_ends_after_n(command_line: CommandLine, queue: mmapqueue.Queue) -> None:
    process = command_line.start("tail", queue.path, "-f", "--from", "11", "-n", "2")
    assert process.stdout
    assert process.stdout.readline() == b"line 11\n"
    queue.push(b"one")
    queue.push(b"two")
    assert process.communicate(timeout=60)[0] == b"one\n"
    assert process.returncode == 0


def test_follow_a_queue_that_is_resized(following: "subprocess.Popen[bytes]", queue: mmapqueue.Queue) -> None:
    assert following.stdout
    queue.close()
    mmapqueue.resize(queue.path, "16m")
    with mmapqueue.Queue(queue.path) as resized:
        resized.push(b"after the resize")
        assert following.stdout.readline() == b"after the resize\n"


def test_follow_a_queue_that_is_deleted(following: "subprocess.Popen[bytes]", queue: mmapqueue.Queue) -> None:
    queue.destroy()
    out, err = following.communicate(timeout=60)
    assert (following.returncode, out) == (1, b"")
    assert err == f"mmapqueue: the queue in {queue.path} was deleted\n".encode()


def test_follow_a_queue_that_is_created_anew(following: "subprocess.Popen[bytes]", queue: mmapqueue.Queue) -> None:
    assert following.stdout
    queue.destroy()
    with mmapqueue.Queue(queue.path) as created:
        created.push(b"first")
        assert following.stdout.readline() == b"first\n"


def test_records_that_are_overwritten_while_they_are_read(command_line: CommandLine, open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    queue.create_consumer("holds")
    fill(queue)
    process = command_line.start("tail", queue.path, "--from", "earliest", "-f", "--format", r"%o\n")
    assert process.stdout
    assert process.stdout.readline() == b"0\n"
    queue.delete_consumer("holds")
    queue.create_consumer("later", start="latest")
    queue.push(b"last")
    end = queue.end_offset()
    offsets = [0]
    while offsets[-1] != end - 1:
        offsets.append(int(process.stdout.readline()))
    assert offsets == sorted(set(offsets))


def test_a_naive_time_is_that_of_this_machine(command_line: CommandLine, queue: mmapqueue.Queue) -> None:
    later = (datetime.now(timezone.utc) + timedelta(hours=1)).replace(tzinfo=None).isoformat()
    words = ("tail", queue.path, "--from", later)
    assert command_line.run(*words, TZ="UTC").out == ""
    assert command_line.run(*words, TZ="UTC-3").out == lines(0, 11)
