"""`mmapqueue consumer`, beside the process that writes."""

import json
from datetime import datetime, timedelta

import pytest

import mmapqueue
from command_line import CommandLine
from conftest import Open


@pytest.fixture
def queue(open_queue: Open) -> mmapqueue.Queue:
    """Ten records, in a queue that this process writes."""
    queue = open_queue()
    queue.push_many(b"%d" % number for number in range(10))
    return queue


def test_create_and_delete(command_line: CommandLine, queue: mmapqueue.Queue) -> None:
    assert command_line.run("consumer", "create", queue.path, "billing").out == "created consumer billing at offset 0\n"
    assert command_line.run("consumer", "create", queue.path, "audit", "latest", "--json").out == (
        '{"consumer": "audit", "offset": 10}\n'
    )
    assert command_line.run("consumer", "create", queue.path, "recent", "-5m").out.endswith("at offset 0\n")
    again = command_line.run("consumer", "create", queue.path, "audit")
    assert (again.status, again.err) == (1, "mmapqueue: consumer audit exists, at offset 10\n")
    assert queue.consumers() == ["audit", "billing", "recent"]
    deleted = command_line.run("consumer", "delete", queue.path, "billing")
    assert deleted.out == "deleted consumer billing: it was at offset 0, with a lag of 10\n"
    missing = command_line.run("consumer", "delete", queue.path, "billing")
    assert (missing.status, missing.err) == (
        1, f"mmapqueue: there is no consumer billing in {queue.path}; its consumers: audit, recent\n",
    )  # fmt: skip
    assert json.loads(command_line.run("consumer", "delete", queue.path, "audit", "--json").out) == {
        "consumer": "audit", "offset": 10, "lag_records": 0,
    }  # fmt: skip
    bad = command_line.run("consumer", "create", queue.path, ".x")
    assert (bad.status, bad.out) == (2, "")
    assert queue.consumers() == ["recent"]


def test_seek_prints_old_and_new(command_line: CommandLine, queue: mmapqueue.Queue) -> None:
    queue.create_consumer("billing")
    queue.create_consumer("holder")  # Else the records before a target would be retained no more.
    later = (datetime.now().astimezone() + timedelta(days=1)).isoformat()
    old = 0
    for target, new in (("7", 7), ("earliest", 0), (later, 10), ("-5m", 0), ("latest", 10), ("3", 3)):
        shown = f"CONSUMER  OLD  NEW  LAG\nbilling   {old:3}  {new:3}  {10 - new:3}\n"
        dry = command_line.run("consumer", "seek", queue.path, "billing", target, "--dry-run")
        assert (dry.status, dry.out, dry.err) == (0, shown, "")
        assert queue.consumer_stats()["billing"].committed_offset == old
        assert command_line.run("consumer", "seek", queue.path, "billing", target).out == shown
        assert queue.consumer_stats()["billing"].committed_offset == new
        old = new
    assert json.loads(command_line.run("consumer", "seek", queue.path, "billing", "4", "--json").out) == {
        "consumer": "billing", "old_offset": 3, "new_offset": 4, "lag_records": 6, "dry_run": False,
    }  # fmt: skip
    assert queue.consumer("billing").pop().data == b"4"


def test_seek_moves_nothing_after_an_error(command_line: CommandLine, queue: mmapqueue.Queue) -> None:
    queue.create_consumer("billing")
    for words, status, text in (
        (["billing", "11"], 1, "offset 11"),
        (["billing", "11", "--dry-run"], 1, "offset 11"),
        (["billing", "soon"], 2, "START = 'soon' is invalid; allowed: earliest, latest, an offset"),
        (["billing", "--dry-rum"], 2, "START = '--dry-rum' is invalid"),
        (["nobody", "5"], 1, "there is no consumer nobody"),
    ):
        ended = command_line.run("consumer", "seek", queue.path, *words)
        assert (ended.status, ended.out) == (status, ""), words
        assert text in ended.err, words
    assert queue.consumers() == ["billing"]
    assert queue.consumer("billing").lag() == 10
    owned = command_line.run("consumer", "seek", queue.path, "billing", "5")
    assert (owned.status, owned.out) == (1, "")
    assert "process" in owned.err
