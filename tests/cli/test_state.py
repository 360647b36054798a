"""stats, consumers and producers, beside the processes that write and consume."""

import json
import os
import re
from pathlib import Path

import pytest

import mmapqueue
from command_line import CommandLine
from conftest import Open, Script, kill_with_children
from mmapqueue._jvm.programs import program_text


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
    assert writer.startswith(f"writer       pid {os.getpid()} ")
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
    found = command_line.run("stats", queue.path).out
    assert command_line.terminal("stats", queue.path, columns=1000).out == found
    writer = found.splitlines()[-1]
    assert command_line.terminal("stats", queue.path, columns=20).out.splitlines()[-1] == f"{writer[:19]}…"


READER = """
    import sys, mmapqueue
    with mmapqueue.Queue(sys.argv[1], read_only=True, consumer="billing") as queue:
        messages = queue.pop_many(5)
        queue.ack_up_to(messages[1])
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
    assert r"\x1b[31m\n" in "".join(command_line.terminal("stats", queue.path, columns=1000).shown.split("\n"))
    (found,) = command_line.run("consumers", queue.path, "--json").shown.splitlines()
    assert json.loads(found)["command"].endswith(f" {code}")


SUBMIT = "org.apache.spark.deploy.SparkSubmit"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("/venv/bin/python3.11 -u -X dev -W error /srv/billing.py --shard 1", "billing.py --shard 1"),
        ("python billing.py", "billing.py"),
        ("/usr/bin/python3 /venv/bin/mmapqueue push events", "mmapqueue push events"),
        ("python -m shop.billing /data", "shop.billing /data"),
        ("python -mshop.billing", "shop.billing"),
        ("python3.13t -c code", "python3.13t"),
        ("/usr/bin/python3", "python3"),
        (
            "/opt/java/bin/java -Xmx1g -cp /a.jar:/b.jar --add-opens a=b shop.Billing --shard 1",
            "shop.Billing --shard 1",
        ),
        ("java -Da=b --add-opens java.base/java.nio=ALL-UNNAMED @options shop.Billing", "shop.Billing"),
        ("java -jar /srv/billing.jar 1", "billing.jar 1"),
        ("java -p /mods -m shop/shop.Billing 1", "shop/shop.Billing 1"),
        ("java -version", "java"),
        (f"java -cp /spark/* -Xmx1g {SUBMIT} --conf a=b --jars /m.jar --verbose /srv/job.py /data", "job.py /data"),
        (f"java {SUBMIT} --master=local[2] --class shop.Job --name n /srv/app.jar 1", "shop.Job app.jar 1"),
        (f"java {SUBMIT} --class shop.Job", "shop.Job"),
        ("/usr/local/bin/agent --data /var", "agent --data /var"),
        ("agent: reads /var", "agent: reads /var"),
    ],
)
def test_the_program_of_a_command_line(line: str, shown: str) -> None:
    words = [line] if line.startswith("agent:") else line.split(" ")
    assert program_text(words) == shown


def test_a_long_command_line_is_cut_in_a_terminal(command_line: CommandLine, open_queue: Open, script: Script) -> None:
    queue = open_queue()
    queue.push_many([b"x"] * 5)
    reader = script.start(READER, queue.path, *["--conf=spark.driver.extraJavaOptions=-Dx=y"] * 100)
    assert reader.stdout
    assert reader.stdout.readline() == "ready\n"
    shown = command_line.terminal("consumers", queue.path, columns=80).out.splitlines()
    assert (len(shown), max(map(len, shown))) == (2, 80)
    assert re.search(rf" {reader.pid}  script0\.py .*…$", shown[1])
    (found,) = map(json.loads, command_line.run("consumers", queue.path, "--json").out.splitlines())
    assert found["command"].count("--conf") == found["program"].count("--conf") == 100
    locked = command_line.run("pop", queue.path, "-c", "billing")
    assert re.search(rf": the JVM of process {reader.pid}, script0.py .{{48}}…\n$", locked.err)


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


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("billing-service-nightly", "billing-service-nightly"),
        ("spark-7f3a9c21-5b1e-4d6c-9a27-orders-by-region", r"spark-7f3a9c\S*…\S*by-region"),
    ],
)
def test_a_consumer_is_one_line_of_80_columns(
    command_line: CommandLine, open_queue: Open, name: str, shown: str
) -> None:
    queue = open_queue()
    queue.push_many([b"x" * 100] * 500)
    queue.create_consumer(name)
    ended = command_line.terminal("consumers", queue.path, columns=80)
    title, line = ended.out.splitlines()
    assert re.match(f"{shown} ", line)
    assert max(len(title), len(line)) <= 80
    assert command_line.run("consumers", queue.path).out.count(name) == 1


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


def test_consumers_behind_the_ring_have_a_column(command_line: CommandLine, tmp_path: Path) -> None:
    with mmapqueue.Queue(
        tmp_path / "overflown",
        capacity="512k",
        max_event_size="8k",
        archive_uri=tmp_path / "archive",
        overflow="archive",
        ship_period="10ms",
        flush_period="5ms",
    ) as queue:
        queue.create_consumer("late")
        for _ in range(20):
            queue.push_many([bytes(1000)] * 100)
        ended = command_line.run("consumers", queue.path)
        header, late = (line.split() for line in ended.out.splitlines()[:2])
        assert header[:5] == ["CONSUMER", "COMMITTED", "LAG", "ARCHIVED", "BYTES"]
        assert late[:3] == ["late", "0", "2000"]
        assert 1000 < int(late[3].replace(",", "")) < 2000
        found = {
            each["name"]: each["archived_records"]
            for each in map(json.loads, command_line.run("consumers", queue.path, "--json").out.splitlines())
        }
        assert found["late"] > 1000
        assert found["ship"] == 0
