"""create, gc, copy and resize."""

import json
import re
from pathlib import Path

import pytest

import mmapqueue
from command_line import CommandLine
from conftest import SMALL, Open, fill
from mmapqueue._values.configuration import Configuration

#: A value of each key that `create` takes.
VALUES = {
    "capacity": "1m",
    "segment_size": "64k",
    "max_in_mem_segments": "8",
    "queue_capacity_segments": "16",
    "flush_period": "250ms",
    "flush_ceiling_num": "10",
    "max_event_size": "4k",
    "timestamps": "false",
    "format_version": "2",
    "v1_recover": "writing",
    "max_unacked": "5",
    "visibility_timeout": "1m",
    "max_attempts": "3",
    "max_consumer_lag": "512k",
    "max_age": "0",
    "on_damage": "skip",
    "retain_ms": "0",
    "retain_bytes": "256k",
    "gc_on_idle": "1h",
    "wait_strategy": "park",
    "file_mode": "640",
}


def test_create_takes_every_key(command_line: CommandLine, tmp_path: Path) -> None:
    values = {**VALUES, "dead_letter_dir": str(tmp_path / "dead")}
    of_archives = {key for key in Configuration.__annotations__ if key.startswith(("archive_", "ship_", "overflow"))}
    assert {*values, *of_archives, "read_only"} == set(Configuration.__annotations__)
    settings = [word for key, value in values.items() for word in ("--set", f"{key}={value}")]
    ended = command_line.run("create", tmp_path / "events", *settings, "--json")
    assert ended.status == 0
    found = json.loads(ended.out)
    assert (found["capacity"], found["segment_size"], found["retain_bytes"]) == (1 << 20, 64 << 10, 256 << 10)
    assert (found["timestamps"], found["flush_period"], found["file_mode"]) == (False, 250, "640")
    assert ended.err.startswith(
        "mmapqueue: not stored in the directory, so set at each open: max_in_mem_segments, flush_"
    )
    assert "retain" not in ended.err
    # Segments are made later, by opens that do not know of it.
    assert "file_mode" in ended.err
    assert (tmp_path / "events" / "meta.dat").stat().st_mode & 0o777 == 0o640


def test_create_takes_the_keys_of_an_archive(command_line: CommandLine, tmp_path: Path) -> None:
    values = {"archive_uri": tmp_path / "archive", "archive_host": "a", "archive_retain": "1d", "ship_period": "1s"}
    values |= {"overflow": "archive"}
    settings = [word for key, value in values.items() for word in ("--set", f"{key}={value}")]
    ended = command_line.run("create", tmp_path / "events", *settings, "--json")
    assert ended.status == 0
    found = json.loads(ended.out)
    assert (found["archive_uri"], found["archive_retain"]) == ((tmp_path / "archive").as_uri(), 86_400_000)
    assert ended.err.endswith(f"set at each open: {', '.join(values)}\n")


def test_create_says_what_it_made(command_line: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "new" / "events"
    ended = command_line.run("create", path, "--capacity", "64m", "--set", "max_event_size=2m")
    assert (ended.status, ended.err) == (0, "")
    assert ended.out == f"created {path}: a ring of 64M in 64 segments of 1.0M, records of up to 2.0M\n"
    again = command_line.run("create", path, "--capacity", "128m")
    assert (again.status, again.out) == (1, "")
    assert again.err == f"mmapqueue: there is a queue in {path}: nothing was changed\n"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--set", "segment_sise=1m"], "segment_sise: unknown key (did you mean segment_size?); docs/reference/conf"),
        (["--set", "segment_size=1"], "segment_size = 1 is invalid; allowed: 4096..1073741824"),
        (["--set", "segment_size"], "--set = 'segment_size' is invalid; allowed: KEY=VALUE"),
        (["--capacity", "1m", "--set", "capacity=2m"], "--set = 'capacity=2m' is invalid; allowed: capacity once"),
        (["--set", "read_only=true"], "allowed: any key but read_only"),
        (["--capacity", "lots"], "capacity = 'lots' is invalid; allowed: a number of bytes from 1 on"),
        (["--set", "max_attempts=3"], "dead_letter_dir"),
    ],
)  # fmt: skip
def test_create_rejects(words: list[str], text: str, command_line: CommandLine, tmp_path: Path) -> None:
    ended = command_line.call("create", tmp_path / "events", *words)
    assert (ended.status, ended.out) == (2, "")
    assert text in ended.err
    assert not (tmp_path / "events").exists()


def test_gc_returns_the_space_of_acked_records(command_line: CommandLine, open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    fill(queue)
    locked = command_line.run("gc", queue.path)
    assert locked.status == 1
    assert "process" in locked.err
    queue.purge()
    queue.close()
    ended = command_line.run("gc", queue.path, "--json")
    assert (ended.status, ended.err) == (0, "")
    assert json.loads(ended.out)["released_bytes"] >= 4096
    # Preallocated files of this open may count.
    assert re.fullmatch(r"released \d[\d.]*[BK] of the disk\n", command_line.run("gc", queue.path).out)


def test_copy_and_resize(command_line: CommandLine, closed: Path, tmp_path: Path) -> None:
    copied = command_line.run("copy", closed, "--to", tmp_path / "larger", "--capacity", "1m", "--segment-size", "8k")
    assert (copied.status, copied.err) == (0, "")
    assert copied.out == (
        f"{tmp_path / 'larger'}: 100 records, offsets 0 to 99\n  ring       up to 128 segments of 8.0K\n"
    )
    resized = command_line.run("resize", tmp_path / "larger", "--capacity", "64k", "--json")
    assert (resized.status, resized.err) == (0, "")
    assert json.loads(resized.out) == {
        "path": str(tmp_path / "larger"), "records": 100, "first_offset": 0, "end_offset": 100, "segment_size": 8192,
        "capacity_segments": 8, "left_out": 0,
    }  # fmt: skip
    with mmapqueue.Queue(tmp_path / "larger") as queue:
        assert (queue.end_offset(), queue.consumers()) == (100, ["default", "other"])
    full = command_line.run("copy", closed, "--to", closed)
    assert (full.status, full.out) == (1, "")
    assert command_line.run("resize", closed).status == 2
    assert command_line.run("resize", closed, "--capacity", "8k").status == 2
