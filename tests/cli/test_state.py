"""stats, consumers and producers, beside the processes that write and consume."""

import json
import os
import re

import mmapqueue
from command_line import CommandLine
from conftest import Open, Script, kill_with_children


def test_stats(command_line: CommandLine, open_queue: Open) -> None:
    queue = open_queue(capacity="1m", segment_size="64k")
    queue.create_consumer("billing")
    queue.push_many([b"x" * 1000] * 100)
    queue.flush()
    ended = command_line.run("stats", queue.path)
    assert (ended.status, ended.err) == (0, "")
    out, writer = ended.out.rstrip("\n").rsplit("\n", 1)
    assert out.splitlines() == [
        f"queue        {queue.path}",
        "records      100 not acked by every consumer",
        "offsets      0 to 99 retained",
        "fill         9.7% of 1.0M",
        "segments     2 of 16, 64K each",
        "held by      billing",
        "not durable  0B",
        "recoveries   0",
    ]
    assert re.fullmatch(rf"writer       pid {os.getpid()} .*python.*", writer)
    found = json.loads(command_line.run("stats", queue.path, "--json").out)
    assert (found["records"], found["slowest_consumer"], found["writer_pid"]) == (100, "billing", os.getpid())
    queue.close()
    assert command_line.run("stats", queue.path).out.splitlines()[-1] == "writer       none"
    assert json.loads(command_line.run("stats", queue.path, "--json").out)["written"] is False


def test_stats_of_an_empty_queue(command_line: CommandLine, open_queue: Open) -> None:
    queue = open_queue()
    out = command_line.run("stats", queue.path).out
    assert "offsets      none retained; the next one is 0\n" in out
    assert "held by      no consumer: the queue retains everything\n" in out


def test_stats_in_a_terminal(command_line: CommandLine, open_queue: Open) -> None:
    queue = open_queue()
    assert command_line.terminal("stats", queue.path).out == command_line.run("stats", queue.path).out


READER = """
    import sys, mmapqueue
    with mmapqueue.Queue(sys.argv[1], read_only=True, consumer="billing") as queue:
        messages = queue.pop_many(5)
        queue.ack(messages[1])
        print("ready", flush=True)
        sys.stdin.read()
"""


WRITER = """
    import sys, mmapqueue
    with mmapqueue.Queue(sys.argv[1], consumer="own") as queue:
        queue.pop()
        print("ready", flush=True)
        sys.stdin.read()
"""


def test_consumers(command_line: CommandLine, open_queue: Open, script: Script) -> None:
    queue = open_queue()
    queue.push_many([b"x" * 100] * 10)
    reader = script.start(READER, queue.path)
    assert reader.stdout
    assert reader.stdout.readline() == "ready\n"
    queue.create_consumer("audit", start="latest")

    words = ["consumers", queue.path]
    rows = [line.split(maxsplit=8) for line in command_line.run(*words).out.splitlines()]
    assert rows[0] == ["CONSUMER", "COMMITTED", "LAG", "BYTES", "AGE", "IN-FLIGHT", "RING", "PID", "COMMAND"]
    assert rows[1] == ["audit", "10", "0", "0B", "0ms", "0", "-", "-", "-"]
    assert rows[2][:3] == ["billing", "2", "8"]
    assert rows[2][5:8] == ["3", "holds", str(reader.pid)]
    assert rows[2][8].endswith(f"script0.py {queue.path}")

    found = {each["name"]: each for each in map(json.loads, command_line.run(*words, "--json").out.splitlines())}
    assert (found["billing"]["in_flight"], found["billing"]["holds_ring"], found["billing"]["pid"]) == (
        3,
        True,
        reader.pid,
    )
    assert (found["audit"]["owned"], found["audit"]["pid"], found["audit"]["command"]) == (False, None, None)
    assert found["billing"]["lag_seconds"] > 0

    kill_with_children(reader)
    rows = [line.split() for line in command_line.run(*words).out.splitlines()]
    assert rows[2][:3] + rows[2][5:] == ["billing", "2", "8", "0", "holds", "-", "-"]


def test_a_command_of_several_lines(command_line: CommandLine, open_queue: Open, script: Script) -> None:
    with open_queue() as queue:
        queue.push(b"one")
    code = "\x1b[31m\n"
    writer = script.start(WRITER, queue.path, code)
    assert writer.stdout
    assert writer.stdout.readline() == "ready\n"
    lines = command_line.run("consumers", queue.path).out.splitlines()
    assert len(lines) == 2
    assert lines[1].endswith(r" \x1b[31m\n")
    assert command_line.run("stats", queue.path).out.endswith(r" \x1b[31m\n" + "\n")
    assert r"\x1b[31m\n" in "".join(command_line.terminal("stats", queue.path).shown.split("\n"))
    (found,) = command_line.run("consumers", queue.path, "--json").shown.splitlines()
    assert json.loads(found)["command"].endswith(f" {code}")


def test_consumers_of_a_queue_without_one(command_line: CommandLine, open_queue: Open) -> None:
    queue = open_queue()
    ended = command_line.run("consumers", queue.path)
    assert (ended.status, len(ended.out.splitlines())) == (0, 1)
    assert command_line.run("consumers", queue.path, "--json").out == ""


def test_producers(command_line: CommandLine, open_queue: Open) -> None:
    queue = open_queue()
    queue.push_once("importer", 4, [b"one", b"two"])
    queue.push_once("importer", 7, [b"three"])
    queue.push_once("empty", 0, [])
    ended = command_line.run("producers", queue.path)
    assert (ended.status, ended.err) == (0, "")
    assert [line.split() for line in ended.out.splitlines()] == [
        ["PRODUCER", "LAST-SEQUENCE", "END-OFFSET", "LAST-PUSH", "CREATED"],
        ["empty", "0", "3", "TIME", "TIME"],
        ["importer", "7", "3", "TIME", "TIME"],
    ]
    found = [json.loads(line) for line in command_line.run("producers", queue.path, "--json").out.splitlines()]
    assert [(each["name"], each["last_sequence"], each["end_offset"]) for each in found] == [
        ("empty", 0, 3),
        ("importer", 7, 3),
    ]
    queue.close()
    assert command_line.run("producers", queue.path).out.count("TIME") == 4


def test_a_narrow_terminal_folds(command_line: CommandLine, open_queue: Open) -> None:
    queue = open_queue()
    queue.create_consumer("a-consumer-with-a-long-name")
    ended = command_line.terminal("consumers", queue.path, columns=40)
    assert ended.status == 0
    assert all(len(line) <= 40 for line in ended.out.splitlines())


def test_producer_stats(open_queue: Open) -> None:
    queue = open_queue()
    assert queue.producer_stats() == {}
    queue.push_once("importer", 1, [b"one"])
    found = queue.producer_stats()["importer"]
    assert found == mmapqueue.ProducerStats("importer", 1, 1, found.created)
    pushed = queue.read_at(0).timestamp
    assert pushed is not None
    assert abs((found.created - pushed).total_seconds()) < 3600
    queue.forget_producer("importer")
    assert queue.producer_stats() == {}
