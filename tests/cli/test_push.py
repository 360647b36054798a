"""`mmapqueue push`."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO

import pytest

import mmapqueue
from command_line import CommandLine
from conftest import SMALL, Open, data, eventually, fill, kill_with_children

NOTHING = "mmapqueue: in the queue: nothing of the input\n"


@pytest.fixture
def path(open_queue: Open, tmp_path: Path) -> Path:
    """The directory of an empty queue."""
    open_queue(tmp_path / "events").close()
    return tmp_path / "events"


def records(path: Path) -> list[bytes]:
    with mmapqueue.Queue(path, read_only=True) as queue:
        return data(queue.read_many(0, 1_000_000)) if queue.end_offset() else []


def test_lines_of_a_pipe(command_line: CommandLine, path: Path) -> None:
    assert command_line.run("push", path, stdin="one\ntwo\n\nfour") == (
        0, "pushed 4 records (10B): offsets 0 to 3\n", "", "pushed 4 records (10B): offsets 0 to 3\n",
    )  # fmt: skip
    ended = command_line.run("push", path, "--json", stdin="five\n")
    assert json.loads(ended.out) == {
        "pushed": 1, "bytes": 4, "first_offset": 4, "last_offset": 4, "duplicates": 0,
    }  # fmt: skip
    assert command_line.run("push", path).out == "pushed 0 records\n"
    assert records(path) == [b"one", b"two", b"", b"four", b"five"]


def test_files_of_every_framing(command_line: CommandLine, path: Path, tmp_path: Path) -> None:
    (lines, nul, prefixed) = (tmp_path / name for name in ("lines", "nul", "prefixed"))
    lines.write_bytes(b"one\n\xff\xfe\ntwo")
    nul.write_bytes(b"a\nb\0c\0")
    prefixed.write_bytes(b"\0\0\0\3d\0e\0\0\0\0\0\0\0\1f")
    ended = command_line.run("push", path, lines, "-", lines, "--sync", stdin="three\n")
    assert ended.out == "pushed 7 records (21B): offsets 0 to 6\n"
    assert command_line.run("push", path, "-0", nul).out == "pushed 2 records (4B): offsets 7 to 8\n"
    assert command_line.run("push", path, "--length-prefixed", prefixed).status == 0
    assert command_line.run("push", path, "--jsonl", stdin='{"g": 1}\n').status == 0
    file = [b"one", b"\xff\xfe", b"two"]
    assert records(path) == [*file, b"three", *file, b"a\nb", b"c", b"d\0e", b"", b"f", b'{"g": 1}']


def test_errors_say_how_many_records_are_in_the_queue(command_line: CommandLine, path: Path, tmp_path: Path) -> None:
    ended = command_line.run("push", path, "--jsonl", stdin='{}\n{"a":\n{}\n')
    assert (ended.status, ended.out, ended.err) == (
        1,
        "",
        "mmapqueue: stdin: line 2 is not JSON: Expecting value at character 6\n"
        "mmapqueue: in the queue: the first 1 record of the input\n",
    )
    ended = command_line.run("push", path, "--length-prefixed", stdin="\0\0")
    assert (ended.status, ended.err) == (
        1, f"mmapqueue: stdin: record 1 ends after 2 of 4 bytes, its length included\n{NOTHING}",
    )  # fmt: skip
    directory = command_line.run("push", path, tmp_path, stdin="")
    assert (directory.status, directory.out) == (1, "")
    assert "Is a directory" in directory.err
    assert records(path) == [b"{}"]


def test_wrong_usage_pushes_nothing(command_line: CommandLine, path: Path, tmp_path: Path) -> None:
    for words in (
        (path, "-0", "--jsonl"), (path, "--once", "import"), (path, "--once", "import:0"), (path, "--timeout", "soon"),
    ):  # fmt: skip
        ended = command_line.call("push", *words, stdin="one\n")
        assert (ended.status, ended.out) == (2, ""), words
        assert words[1] in ended.err or "--once" in ended.err, words
    assert ended.err == (
        "mmapqueue: --timeout = 'soon' is invalid; allowed: seconds from 0 on, or a time with its unit, such as "
        '"500ms", "30s", "5min", "2h" or "7d"\n'
    )
    ended = command_line.call("push", path, "--once", os.fsdecode(b"\xff:1"), stdin="one\n")
    assert (ended.status, ended.err) == (2, r"mmapqueue: '\udcff' cannot be encoded in UTF-8" + "\n")
    missing = command_line.call("push", path, tmp_path / "none")
    assert (missing.status, "none" in missing.err) == (1, True)
    nowhere = command_line.call("push", tmp_path / "nowhere", stdin="one\n")
    assert (nowhere.status, nowhere.err) == (
        1,
        f"mmapqueue: there is no queue in {tmp_path / 'nowhere'}; `mmapqueue create` makes one\n",
    )
    assert not (tmp_path / "nowhere").exists()
    assert records(path) == []


def test_a_full_queue_ends_a_push_in_time(command_line: CommandLine, open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    count = fill(queue)
    queue.close()
    ended = command_line.run("push", queue.path, "--timeout", "0", stdin="x" * 5000 + "\n")
    assert (ended.status, ended.out) == (3, "")
    assert ended.err.startswith(f"mmapqueue: the queue in {queue.path} is full")
    assert ended.err.endswith(NOTHING)
    assert len(records(Path(queue.path))) == count


def test_a_full_queue_makes_a_push_wait(command_line: CommandLine, open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    queue.create_consumer("slow")
    fill(queue)
    queue.close()
    reader = open_queue(read_only=True, consumer="slow")
    end = reader.end_offset()
    process = command_line.start("push", queue.path, stdin=-1)
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write(b"x" * 5000 + b"\nlast\n")
    process.stdin.close()
    process.stdin = None
    warning = process.stderr.readline().decode()
    assert re.match(rf"mmapqueue: warning: no room for \d+ s: the queue in {queue.path} is full: ", warning)
    assert "; the slowest consumer is slow, " in warning
    reader.ack_up_to(reader.pop_many(100)[-1])
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert out == f"pushed 2 records (4.9K): offsets {end} to {end + 1}\n".encode()


def test_records_of_a_slow_pipe_are_pushed_as_they_come(command_line: CommandLine, path: Path) -> None:
    process = command_line.start("push", path, "--sync", stdin=-1)
    assert process.stdin is not None
    process.stdin.write(b"one\ntw")
    process.stdin.flush()
    with mmapqueue.Queue(path, read_only=True) as reader:
        assert eventually(lambda: reader.end_offset() == 1)
        assert eventually(lambda: reader.stats().durable_position == reader.stats().end_position)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert err.decode() == "mmapqueue: in the queue: the first 1 record of the input\n"
    assert records(path) == [b"one"]


def test_an_input_is_pushed_by_several_runs(command_line: CommandLine, path: Path, tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_text("one\ntwo\n")
    assert command_line.run("push", path, file, "--once", "import:1").out == "pushed 2 records (6B): offsets 0 to 1\n"
    file.write_text("one\ntwo\nthree\n")
    assert command_line.run("push", path, file, "--once", "import:1").out == (
        "pushed 1 record (5B): offset 2; 2 records of the input were in the queue before\n"
    )
    again = command_line.run("push", path, file, "--once", "import:1", "--json")
    assert json.loads(again.out) == {
        "pushed": 0, "bytes": 0, "first_offset": None, "last_offset": None, "duplicates": 3,
    }  # fmt: skip
    assert command_line.run("push", path, file, "--once", "import:2", "--sync").status == 0
    old = command_line.run("push", path, file, "--once", "import:1")
    assert (old.status, old.err) == (
        1, "mmapqueue: producer import has pushed input 2; 1 comes before it: nothing was pushed\n",
    )  # fmt: skip
    other = command_line.run("push", path, "--once", "import:2", stdin="one\n")
    assert (other.status, other.out) == (1, "")
    assert other.err.startswith("mmapqueue: this input has 1 record, and 3 of input import:2 were pushed before: it is")
    assert other.err.endswith("\nmmapqueue: in the queue: nothing of the input\n")
    assert records(path) == [b"one", b"two", b"three"] * 2


def test_a_kill_and_a_repetition_push_each_record_once(
    command_line: CommandLine, path: Path, tmp_path: Path, in_thread: Callable[..., "Future[None]"]
) -> None:
    lines = [b"%07d" % number for number in range(400_000)]
    text = b"\n".join(lines) + b"\n"
    pushed = 0
    for quarter in (1, 2, 3):
        process = command_line.start("push", path, "--once", "import:1", stdin=subprocess.PIPE)
        # The pipe stays open, so that each kill comes before the end of the input.
        feeding = in_thread(feed, process.stdin, text[: len(text) * quarter // 4])
        with mmapqueue.Queue(path, read_only=True) as reader:
            assert eventually(partial(has_pushed, reader, pushed), 60)
        kill_with_children(process)
        feeding.result()
        with mmapqueue.Queue(path, read_only=True) as reader:
            pushed = reader.end_offset()
    (tmp_path / "lines").write_bytes(text)
    rest = command_line.call("push", path, tmp_path / "lines", "--once", "import:1")
    assert (rest.status, rest.err) == (0, "")
    assert rest.out.startswith(f"pushed {len(lines) - pushed} records")
    assert rest.out.endswith(f"; {pushed} records of the input were in the queue before\n")
    assert records(path) == lines


def has_pushed(reader: mmapqueue.Queue, before: int) -> bool:
    return reader.end_offset() > before


def feed(pipe: IO[bytes], data: bytes) -> None:
    with suppress(BrokenPipeError, ValueError):  # ValueError: it was closed after the kill.
        pipe.write(data)
        pipe.flush()


def test_a_terminal_shows_progress(command_line: CommandLine, path: Path, tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b"line\n" * 1000)
    ended = command_line.terminal("push", path, file)
    assert ended.status == 0
    assert "1,000 records" in ended.out
    assert "kB" in ended.out or "KiB" in ended.out
    assert ended.out.rstrip().endswith("pushed 1000 records (3.9K): offsets 0 to 999")
    typed = command_line.terminal("push", path, keys="one\ntwo\n\x04")
    assert typed.out.rstrip().endswith("pushed 2 records (6B): offsets 1000 to 1001")
