"""export and import."""

import json
import os
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

import mmapqueue
from command_line import CommandLine
from conftest import Open, data, eventually
from mmapqueue._cli import exchange

RECORDS = [b'text \xc3\xa4 "quoted"\n', b"", b"\xff\xfe\x00", b"\x00\x1b[31m\x7f", b'{"json": 1}', b"x" * 5000]


@pytest.fixture
def queue(open_queue: Open) -> mmapqueue.Queue:
    """A queue that this process writes during the exports."""
    queue = open_queue()
    queue.push_many(RECORDS)
    return queue


@pytest.mark.parametrize("name", ["x.parquet", "x.jsonl", "x.NDJSON"])
def test_a_round_trip(
    command_line: CommandLine, queue: mmapqueue.Queue, open_queue: Open, tmp_path: Path, name: str
) -> None:
    exported = command_line.run("export", queue.path, tmp_path / name)
    assert (exported.status, exported.err) == (0, "")
    assert exported.out == f"exported 6 records to {tmp_path / name}: offsets 0 to 5\n"
    assert [file.name for file in tmp_path.iterdir() if name in file.name] == [name]
    open_queue(tmp_path / "second").close()
    imported = command_line.run("import", tmp_path / "second", tmp_path / name)
    assert (imported.status, imported.err) == (0, "")
    assert imported.out == "imported 6 records (4.9K): offsets 0 to 5\nthe offsets are those of the file\n"
    again = command_line.run("import", tmp_path / "second", tmp_path / name, "--json")
    assert json.loads(again.out) == {
        "imported": 6, "bytes": sum(map(len, RECORDS)), "first_offset": 6, "last_offset": 11, "duplicates": 0,
        "offsets_kept": False,
    }  # fmt: skip
    with open_queue(tmp_path / "second") as second:
        assert data(second.read_many(0, 100)) == RECORDS * 2


def test_an_import_of_nothing_says_nothing_of_offsets(
    command_line: CommandLine, queue: mmapqueue.Queue, open_queue: Open, tmp_path: Path
) -> None:
    file = tmp_path / "x.jsonl"
    assert command_line.run("export", queue.path, file).status == 0
    with open_queue(tmp_path / "second") as second:
        second.push(b"before")
    command = ("import", tmp_path / "second", file, "--once", "load:1")
    assert command_line.run(*command).out.endswith("\nthe offsets are not those of the file\n")
    assert command_line.run(*command).out == "imported 0 records; 6 records of the input were in the queue before\n"
    assert json.loads(command_line.run(*command, "--json").out)["offsets_kept"] is None


@pytest.mark.parametrize("name", ["x.parquet", "x.jsonl"])
def test_a_file_is_durable_before_it_has_its_name(
    queue: mmapqueue.Queue, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / name
    synced: list[tuple[Path, bool]] = []
    monkeypatch.setattr(
        os, "fsync", lambda number: synced.append((Path(f"/proc/self/fd/{number}").readlink(), file.exists()))
    )
    assert sum(exchange.write([queue.read_many(0, 100)], file)) == len(RECORDS)
    assert synced == [(file.with_name(f".{name}.{os.getpid()}"), False), (tmp_path, True)]


def test_json_lines(command_line: CommandLine, queue: mmapqueue.Queue) -> None:
    ended = command_line.run("export", queue.path, "-", "--from", "1", "--to", "4")
    assert (ended.status, ended.err) == (0, "exported 3 records to stdout: offsets 1 to 3\n")
    assert ended.out == (
        '{"offset": 1, "timestamp": "TIME", "value": ""}\n'
        '{"offset": 2, "timestamp": "TIME", "value_base64": "//4A"}\n'
        '{"offset": 3, "timestamp": "TIME", "value": "\\u0000\\u001b[31m\x7f"}\n'
    )


def test_json_lines_to_a_pipe_of_a_terminal(command_line: CommandLine, queue: mmapqueue.Queue, tmp_path: Path) -> None:
    file = tmp_path / "out"
    with file.open("wb") as out:
        ended = command_line.terminal("export", queue.path, "-", stdout=out)
    assert (ended.status, "value" in ended.out) == (0, False)
    assert "exported 6 records to stdout" in ended.out
    assert [json.loads(line)["offset"] for line in file.read_text().splitlines()] == [0, 1, 2, 3, 4, 5]


def test_json_lines_in_a_terminal(command_line: CommandLine, queue: mmapqueue.Queue) -> None:
    ended = command_line.terminal("export", queue.path, "-", "--from", "3", "--to", "4", columns=30)
    assert ended.shown.splitlines()[0].endswith('"value": "\\u0000\\u001b[31m\\u007f"}')


def test_parquet(command_line: CommandLine, queue: mmapqueue.Queue, tmp_path: Path) -> None:
    file = tmp_path / "x.parquet"
    ended = command_line.run("export", queue.path, file, "--from", "2", "--json")
    assert json.loads(ended.out) == {
        "file": str(file), "exported": 4, "first_offset": 2, "end_offset": 6, "missing": 0,
    }  # fmt: skip
    assert pyarrow.parquet.read_table(file).to_pydict() == queue.iter_arrow(2).read_all().to_pydict()


def test_a_file_that_exists_is_kept(command_line: CommandLine, queue: mmapqueue.Queue, tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text("mine")
    ended = command_line.run("export", queue.path, file)
    assert (ended.status, ended.err) == (1, f"mmapqueue: {file} exists: add --force to replace it\n")
    assert file.read_text() == "mine"
    for words, status, text in (
        (("--from", "9"), 1, "offset 9"),
        (("--from", "4", "--to", "2"), 2, "--to = '2' is offset 2; allowed: an offset of 4 or more"),
    ):
        ended = command_line.run("export", queue.path, file, "--force", *words)
        assert (ended.status, ended.out) == (status, "")
        assert text in ended.err
    assert file.read_text() == "mine"
    assert command_line.run("export", queue.path, file, "--force", "--to", "1").status == 0
    assert len(file.read_text().splitlines()) == 1
    assert command_line.run("export", queue.path, tmp_path / "x.csv").status == 2
    missing = command_line.run("export", queue.path, tmp_path / "none" / "x.jsonl")
    assert missing.status == 1
    assert missing.err == f"mmapqueue: {tmp_path / 'none'}: No such file or directory\n"


def test_files_of_other_programs(command_line: CommandLine, open_queue: Open, tmp_path: Path) -> None:
    queue = open_queue()
    queue.close()
    file = tmp_path / "other.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"value": ["a", "ä"], "more": [1, 2]}), file)
    assert command_line.call("import", queue.path, file, "--once", "load:1").out == (
        "imported 2 records (3B): offsets 0 to 1\n"
    )
    assert command_line.call("import", queue.path, file, "--once", "load:1").out == (
        "imported 0 records; 2 records of the input were in the queue before\n"
    )
    assert command_line.run("import", queue.path, "-", stdin='{"value": "b"}').status == 0
    with open_queue() as read:
        assert data(read.read_many(0, 10)) == [b"a", "ä".encode(), b"b"]


@pytest.mark.parametrize("blocks", [True, False])
def test_records_of_a_pipe_are_imported_as_they_come_to_its_end(
    command_line: CommandLine, open_queue: Open, blocks: bool
) -> None:
    open_queue().close()
    reader, writer = os.pipe()
    os.set_blocking(reader, blocks)
    with os.fdopen(reader), os.fdopen(writer, "w") as source, open_queue(read_only=True) as queue:
        process = command_line.start("import", queue.path, "-", "--sync", stdin=reader)
        source.write('{"value": "one"}\n{"val')
        source.flush()
        assert eventually(lambda: queue.durable_offset() == 1)
        source.write('ue": "two"}\n{"value": 3}')
        source.close()
        out, err = process.communicate(timeout=120)
        assert (process.returncode, out) == (1, b"")
        assert err.startswith(b"mmapqueue: stdin: line 3 is not a record: expected one of value and value_base64")
        assert data(queue.read_many(0, 10)) == [b"one", b"two"]


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ('{"value": "a"}\n{"value": 1}\n', "line 2 is not a record: expected one of value and value_base64, a string"),
        ('{"value": "a"}\n{"value"}\n', "line 2 is not a record: Expecting ':' delimiter at character 9"),
        ('{"value": "a"}\n' + "[" * 100_000, "line 2 is not a record: its JSON is nested too deeply"),
        ('{"value": "a"}\n[]\n', "line 2 is not a record: expected an object, found list"),
        ('{"value": "a"}\n{"value_base64": "*"}\n', "line 2 is not a record: value_base64 is not base64"),
        ('{"value": "a"}\n{"value": "a", "offset": "1"}\n', "line 2 is not a record: offset is '1', not a number"),
        ('{"value": "a"}\n{"value": "a", "value_base64": "YQ=="}\n', "line 2 is not a record: expected one of"),
    ],
)
def test_a_wrong_line_comes_after_those_before_it(
    lines: str, text: str, command_line: CommandLine, open_queue: Open, tmp_path: Path
) -> None:
    queue = open_queue()
    queue.close()
    file = tmp_path / "x.jsonl"
    file.write_text(lines)
    ended = command_line.call("import", queue.path, file)
    assert (ended.status, ended.out) == (1, "")
    assert ended.err.startswith(f"mmapqueue: {file}: {text}")
    assert ended.err.endswith("mmapqueue: in the queue: the first 1 record of the input\n")


def test_wrong_parquet(command_line: CommandLine, open_queue: Open, tmp_path: Path) -> None:
    queue = open_queue()
    queue.close()
    file = tmp_path / "x.parquet"
    file.write_text("no Parquet")
    assert f"{file} is not Parquet" in command_line.call("import", queue.path, file).err
    pyarrow.parquet.write_table(pyarrow.table({"data": ["a"]}), file)
    assert f"{file} has no column value, but data" in command_line.call("import", queue.path, file).err
    pyarrow.parquet.write_table(pyarrow.table({"value": ["a" * 1000]}), file, compression="none")
    file.write_bytes(file.read_bytes().replace(b"a" * 1000, b"\xff" * 1000))
    ended = command_line.call("import", queue.path, file)
    assert ended.err == (
        f"mmapqueue: {file} is not Parquet: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte\n"
        "mmapqueue: in the queue: nothing of the input\n"
    )
    pyarrow.parquet.write_table(pyarrow.table({"value": ["a", None]}), file)
    ended = command_line.call("import", queue.path, file)
    assert f"{file}: row 2 of column value is None, not bytes or text" in ended.err
    assert ended.err.endswith("in the queue: the first 1 record of the input\n")


def test_parquet_needs_pyarrow(command_line: CommandLine, queue: mmapqueue.Queue, tmp_path: Path) -> None:
    (tmp_path / "absent" / "pyarrow").mkdir(parents=True)
    (tmp_path / "absent" / "pyarrow" / "__init__.py").write_text("raise ImportError('none')")
    (tmp_path / "x.parquet").touch()
    environment = {"PYTHONPATH": f"{tmp_path / 'absent'}:{os.environ.get('PYTHONPATH', '')}"}
    exported = command_line.run("export", queue.path, tmp_path / "y.parquet", **environment)
    queue.close()
    imported = command_line.run("import", queue.path, tmp_path / "x.parquet", **environment)
    for ended in (exported, imported):
        assert (ended.status, ended.out) == (2, "")
        assert ended.err == "mmapqueue: Parquet needs pyarrow: pip install 'mmapqueue[arrow]' (none)\n"
    assert not (tmp_path / "y.parquet").exists()
