"""`mmapqueue ship` and `mmapqueue archive`: queues that other processes write, and the archive that they share."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import mmapqueue
from archive_runs import by_local_number, payloads, write_properties
from archive_runs import records as archived
from command_line import CommandLine
from conftest import SMALL, Open, eventually
from mmapqueue._cli.shipping import Shippers
from mmapqueue._tools.archives import describe
from mmapqueue._values.configuration import Configuration

#: Ships at once.
FAST = ("--period", "10ms")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """The directory of an archive."""
    return tmp_path / "shared" / "archive"


@contextmanager
def shipping(
    command_line: CommandLine, *arguments: object, end: signal.Signals = signal.SIGTERM, status: int = 0
) -> Iterator[subprocess.Popen[Any]]:
    """Runs it until the block has ended."""
    process = command_line.start("ship", *arguments, *FAST)
    assert process.stdout is not None
    ready = process.stdout.readline().decode()
    assert ready.startswith("ready: "), process.communicate()
    yield process
    process.send_signal(end)
    _, err = process.communicate(timeout=120)
    assert process.returncode == status, err
    assert b"Traceback" not in err


def test_once_ships_what_is_durable(
    command_line: CommandLine, closed: Path, archive: Path, records: list[bytes]
) -> None:
    ended = command_line.run("ship", closed, "--to", archive, "--once")
    assert (ended.status, ended.err) == (0, "")
    assert ended.out == "shipped 100 records, 17K, in 1 files\n"
    assert payloads(archive) == records
    ended = command_line.run("ship", closed, "--to", archive, "--once", "--json")
    assert (ended.status, ended.err, json.loads(ended.out)) == (0, "", {"shipped": 0, "bytes": 0, "files": 0})
    ended = command_line.run("ship", closed, "--to", archive, "--json")
    assert (ended.status, "--json needs --once" in ended.err) == (2, True)


def test_it_ships_beside_the_writer(command_line: CommandLine, open_queue: Open, archive: Path) -> None:
    queue = open_queue(flush_period="10ms", **SMALL)
    with shipping(command_line, queue.path, "--to", archive):
        pushed = [b"%d" % number * 50 for number in range(1000)]
        for start in range(0, 1000, 100):
            queue.push_many(pushed[start : start + 100])
        assert queue.await_shipped(999, timeout="120s")
        assert payloads(archive) == pushed
        assert queue.ship_stats() is None
        queue.push(b"last", sync=True)
    # The end ships what is durable.
    assert payloads(archive) == [*pushed, b"last"]
    assert queue.consumer_stats()["ship"].lag_records == 0


def test_ctrl_c_ends_it_too(command_line: CommandLine, closed: Path, archive: Path) -> None:
    with shipping(command_line, closed, "--to", archive, end=signal.SIGINT, status=130):
        pass
    assert len(payloads(archive)) == 100


def test_it_ships_partitions_and_new_ones(
    command_line: CommandLine, open_queue: Open, archive: Path, tmp_path: Path
) -> None:
    queues = [open_queue(tmp_path / "topic" / f"p={number}", flush_period="10ms") for number in range(2)]
    with shipping(command_line, tmp_path / "topic", "--to", archive):
        queues.append(open_queue(tmp_path / "topic" / "p=2", flush_period="10ms"))
        for number, queue in enumerate(queues):
            queue.push(b"%d" % number)
        assert eventually(lambda: "ship" in queues[2].consumers(), 120)
        assert all(queue.await_shipped(0, timeout="120s") for queue in queues)
    numbers = by_local_number(archive)
    assert [payloads(archive, numbers[local]) for local in range(3)] == [[b"0"], [b"1"], [b"2"]]


def test_another_host_takes_over_only_when_asked_to(command_line: CommandLine, closed: Path, archive: Path) -> None:
    command = ("ship", closed, "--to", archive, "--once")
    assert command_line.call(*command, "--host", "node-1").status == 0
    ended = command_line.call(*command, "--host", "node-2")
    assert ended.status == 1
    assert "which host node-1 ships; this host is node-2" in ended.err
    assert command_line.call(*command, "--host", "node-2", "--take-over").status == 0
    assert command_line.call(*command, "--host", "node-1").status == 1
    # The other host's copy is replaced, without a word about hosts.
    copy = closed.with_name("copy")
    shutil.copytree(closed, copy)
    assert command_line.call("ship", copy, "--to", archive, "--once", "--host", "node-2").status == 0
    ended = command_line.call(*command, "--host", "node-2")
    assert (ended.status, "another directory with this queue has shipped it last" in ended.err) == (1, True)
    assert "could not be shipped: queue " in ended.err
    assert command_line.call(*command, "--host", "node-2", "--take-over").status == 0
    assert len(payloads(archive)) == 100


def test_a_queue_moves_to_another_archive_only_when_asked_to(
    command_line: CommandLine, open_queue: Open, closed: Path, archive: Path, tmp_path: Path
) -> None:
    command = ("ship", closed, "--once", "--to")
    assert command_line.call(*command, archive).status == 0
    with open_queue(closed) as queue:
        queue.push(b"last", sync=True)
    other = tmp_path / "other"
    ended = command_line.call(*command, other)
    assert (ended.status, other.exists()) == (1, False)
    assert "the archive" in ended.err
    assert "is missing" in ended.err
    assert command_line.call(*command, other, "--take-over").status == 1
    assert command_line.call(*command, other, "--another-archive").status == 0
    assert command_line.call(*command, other).status == 0
    assert [len(archived(each)) for each in (archive, other)] == [100, 101]
    # It returns to the former one by a take-over alone.
    ended = command_line.call(*command, archive, "--another-archive")
    assert (ended.status, "take the partition over" in ended.err) == (1, True)
    assert command_line.call(*command, other).status == 0
    assert command_line.call(*command, archive, "--another-archive", "--take-over").status == 0
    assert command_line.call(*command, archive).status == 0
    assert len(archived(archive)) == 101


@pytest.mark.parametrize(
    ("status", "options"),
    [
        (2, ("{archive}", "--period", "0")),
        (2, ("{tmp_path}/other", "--codec", "gzip")),
        (1, ("foo://host/other",)),
    ],
)
def test_a_failed_change_of_the_archive_forgets_nothing(
    command_line: CommandLine, closed: Path, archive: Path, tmp_path: Path, status: int, options: tuple[str, ...]
) -> None:
    command = ("ship", closed, "--once", "--to")
    assert command_line.call(*command, archive).status == 0
    failing = (each.format(archive=archive, tmp_path=tmp_path) for each in options)
    assert command_line.call(*command, *failing, "--another-archive").status == status
    assert command_line.call(*command, archive).status == 0
    assert command_line.call("adopt", archive, tmp_path / "adopted", "--partition", "0").status == 0
    assert "--from 100," in command_line.call(*command, archive).err


def test_a_bad_partition_hides_no_other_one(
    command_line: CommandLine, open_queue: Open, archive: Path, tmp_path: Path
) -> None:
    for number in range(3):
        with open_queue(tmp_path / "topic" / f"p={number}") as queue:
            queue.push_many([b"%d" % number] * 10)
    for _ in range(2):
        assert command_line.call("ship", tmp_path / "topic", "--to", archive, "--once").status == 0
    _, second, third = sorted(by_local_number(archive).values())
    (run,) = archive.glob(f"data/{second:05d}/*/*.run")
    run.with_name(f"{5:019d}-{15:019d}-9-0-0-80-00c0ffee.run").touch()
    (entry,) = archive.glob(f"partitions/{third:05d}-*.properties")
    local = by_local_number(archive)
    entry.chmod(0o644)
    entry.write_bytes(b"")
    ended = command_line.call("archive", archive, "--json")
    assert ended.status == 1
    good, overlapping, damaged = json.loads(ended.out)["partitions"]
    assert (good["end_offset"], good["error"]) == (10, None)
    assert f"{second:05d}" in overlapping["error"]
    assert run.name in overlapping["error"]
    assert (damaged["end_offset"], damaged["local"]) == (10, -1)
    assert f"{entry.name} is damaged" in damaged["error"]
    ended = command_line.call("archive", archive)
    assert ended.status == 1
    assert list(map(int, re.findall("mmapqueue: partition ([0-9]+):", ended.err))) == [second, third]
    (shipped,) = (each for each, number in local.items() if number == third)
    assert command_line.call("ship", tmp_path / "topic" / f"p={shipped}", "--to", archive, "--once").status == 0


def test_failures_end_it_with_one_line(
    command_line: CommandLine, open_queue: Open, closed: Path, archive: Path, tmp_path: Path
) -> None:
    def failed(*arguments: object) -> tuple[int, str]:
        ended = command_line.run("ship", *arguments, "--to", archive, "--once")
        assert ended.out == ""
        return ended.status, ended.err

    assert failed(tmp_path) == (1, f"mmapqueue: there is no queue in {tmp_path}\n")
    assert failed(closed, "--codec", "lzma") == (
        2,
        "mmapqueue: archive_codec = lzma is invalid; allowed: none or zstd\n",
    )
    assert failed(closed, "--period", "never")[0] == 2
    # It is a key of the configuration: a number alone has no unit.
    assert failed(closed, "--period", "5")[1].startswith(
        'mmapqueue: --period = \'5\' is invalid; allowed: "5s" or "5ms"'
    )
    assert failed(closed, "--period", "2147484s") == (
        2,
        "mmapqueue: ship_period = 2147484000 is invalid; allowed: 1..2147483647 ms\n",
    )
    status, text = failed(closed, "--retain", "soon")
    assert (status, "--retain = 'soon' is invalid; allowed: a time with its unit" in text) == (2, True)
    with open_queue(closed, archive_uri=archive):
        status, text = failed(closed)
        assert (status, "consumer ship" in text) == (1, True)
    (tmp_path / "file").touch()
    ended = command_line.run("ship", closed, "--to", tmp_path / "file" / "archive", "--once")
    assert ended.status == 1
    assert f"mmapqueue: {closed} could not be shipped: " in ended.err


def test_failed_attempts_are_reported_and_repeated(command_line: CommandLine, closed: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    archive = tmp_path / "file" / "archive"
    with shipping(command_line, closed, "--to", archive) as process:
        assert process.stderr is not None
        failed = process.stderr.readline().decode()
        assert failed.startswith(f"mmapqueue: warning: shipping the queue in {closed} into file://")
        assert "has failed and is repeated until it succeeds: " in failed
        (tmp_path / "file").unlink()
        assert " continues after " in process.stderr.readline().decode()
    assert len(payloads(archive)) == 100


@pytest.mark.parametrize("is_replaced", [False, True], ids=["moved", "replaced"])
def test_it_ends_when_the_directory_of_its_queue_was_moved_or_replaced(
    command_line: CommandLine, open_queue: Open, closed: Path, archive: Path, *, is_replaced: bool
) -> None:
    process = command_line.start("ship", closed, "--to", archive, *FAST)
    assert process.stdout is not None
    assert process.stdout.readline().startswith(b"ready: ")
    assert eventually(lambda: archive.exists() and len(payloads(archive)) == 100, 60)
    moved = closed.with_name("moved")
    closed.rename(moved)
    if is_replaced:
        with open_queue(closed) as queue:
            queue.push(b"other", sync=True)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    text = err.decode()
    assert f"mmapqueue: {closed} is not shipped any more: " in text
    assert "has been moved, replaced or deleted" in text
    assert "Traceback" not in text
    assert len(payloads(archive)) == 100
    assert not (closed / "archive.dat").exists()
    with shipping(command_line, moved, "--to", archive):
        pass


def test_a_partition_that_was_moved_keeps_no_other_one_open(open_queue: Open, archive: Path, tmp_path: Path) -> None:
    for number in range(3):
        with open_queue(tmp_path / "topic" / f"p={number}") as queue:
            queue.push(b"%d" % number)
    options = Configuration(archive_uri=str(archive), ship_period="10ms")
    topic = str(tmp_path / "topic")

    def check() -> bool:
        shippers.check()
        return False

    with Shippers(topic, options) as shippers:
        shippers.ship_all()
        (tmp_path / "topic" / "p=1").rename(tmp_path / "moved")
        with pytest.raises(mmapqueue.MmapQueueError, match="p=1 is not shipped any more"):
            eventually(check, 60)
        with pytest.raises(mmapqueue.MmapQueueError, match="could not be closed"):
            shippers.close()
    (tmp_path / "moved").rename(tmp_path / "topic" / "p=1")
    with Shippers(topic, options) as shippers:
        shippers.ship_all()
        assert len(shippers.paths) == 3


def test_a_partition_without_its_queue_keeps_no_other_one_from_being_shipped(
    open_queue: Open, archive: Path, tmp_path: Path
) -> None:
    topic = tmp_path / "topic"
    (topic / "p=1").mkdir(parents=True)  # As of a process that was killed while it created the partition.
    options = Configuration(archive_uri=str(archive), ship_period="10ms")
    with pytest.raises(mmapqueue.NotFound, match=r"there is no queue in .*p=1"):
        Shippers(str(topic), options)
    open_queue(topic / "p=0").close()
    with Shippers(str(topic), options) as shippers:
        assert shippers.paths == [str(topic / "p=0")]
        shippers.check()
        open_queue(topic / "p=1").close()
        shippers.check()
        assert shippers.paths == [str(topic / "p=0"), str(topic / "p=1")]


def test_an_archive_that_does_not_answer_is_reported_once(
    closed: Path, archive: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "mmapqueue.ship")
    monkeypatch.setattr("mmapqueue._cli.shipping._SILENT_SECONDS", 0.2)
    file = archive / "archive.properties"
    archive.mkdir(parents=True)
    os.mkfifo(file)  # its reader waits for a writer

    def reported() -> bool:
        shippers.check()
        return bool(caplog.records)

    with Shippers(str(closed), Configuration(archive_uri=str(archive)), takes_over=False) as shippers:
        assert eventually(reported, 60)
        monkeypatch.setattr("mmapqueue._cli.shipping._SILENT_SECONDS", 0.0)
        shippers.check()
        monkeypatch.setattr("mmapqueue._cli.shipping._is_shipped", lambda _: True)
        shippers.check()
        shippers.check()
        silent, answers = (record.getMessage() for record in caplog.records)
        assert silent.startswith(f"{closed}: durable records are not shipped, and the archive has not answered for ")
        assert answers == f"{closed}: the archive answers again"
        file.open("w").close()


def test_an_archive_without_its_library_is_refused(command_line: CommandLine, closed: Path) -> None:
    ended = command_line.call("ship", closed, "--to", "hdfs://nowhere:1/archive", "--classpath", "/none.jar", "--once")
    assert ended.status == 1
    assert "needs Hadoop's classes" in ended.err
    assert "MMAPQUEUE_CLASSPATH" in ended.err


def test_zstd_of_an_installed_pyspark(command_line: CommandLine, closed: Path, archive: Path) -> None:
    pytest.importorskip("pyspark")
    ended = command_line.run("ship", closed, "--to", archive, "--once", "--codec", "zstd")
    assert (ended.status, ended.err) == (0, "")
    (partition,) = json.loads(command_line.run("archive", archive, "--json").out)["partitions"]
    assert (partition["end_offset"], partition["bytes"]) == (100, 100 * (16 + 160))
    (run,) = archive.glob("data/*/*/*.run")
    assert run.stat().st_size < 8000
    ended = command_line.run(
        "ship", closed, "--to", archive, "--once", "--codec", "zstd", MMAPQUEUE_CLASSPATH="/no.jar"
    )
    assert ended.status == 1
    assert "zstd" in ended.err


def test_a_reader_of_a_queue_that_overflows_finds_the_jars_of_its_archive(
    command_line: CommandLine, open_queue: Open, tmp_path: Path, archive: Path
) -> None:
    pytest.importorskip("pyspark")
    path = tmp_path / "overflowing"
    with open_queue(path, capacity="1m") as queue:
        queue.create_consumer("mail")
        queue.push_many(b"first %d" % number for number in range(100))
    command_line.run("ship", path, "--to", archive, "--once", "--codec", "zstd")
    fast: Configuration = {"archive_uri": archive, "ship_period": "10ms", "flush_period": "10ms"}
    with open_queue(path, overflow="archive", **fast) as queue:
        for _ in range(3000):
            queue.push(b"." * 1000)
        assert queue.first_offset() > 100
    ended = command_line.run("show", path, "7")
    assert (ended.status, ended.err) == (0, "")
    assert "first 7" in ended.out
    ended = command_line.run("show", path, "7", MMAPQUEUE_CLASSPATH="/no.jar")
    assert ended.status == 1
    assert "zstd" in ended.err


def test_an_archive_is_shown(command_line: CommandLine, closed: Path, archive: Path) -> None:
    command_line.call("ship", closed, "--to", archive, "--once", "--host", "node-1")
    found = json.loads(command_line.call("archive", archive, "--json").out)
    assert found["uri"].rstrip("/") == archive.as_uri()
    (partition,) = found["partitions"]
    assert {key: partition[key] for key in ("partition", "host", "local", "first_offset", "end_offset", "runs")} == {
        "partition": 0,
        "host": "node-1",
        "local": 0,
        "first_offset": 0,
        "end_offset": 100,
        "runs": 1,
    }
    assert partition["bytes"] == 100 * (16 + 160)
    assert 0 <= partition["age_seconds"] < 3600
    assert found["consumers"] == []
    ended = command_line.call("archive", archive)
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.splitlines()[3].split() == (
        ["PARTITION", "HOST", "QUEUE", "LOG-START", "LOG-END", "RUNS", "BYTES", "LAST-RUN"]
    )
    shown = command_line.terminal("archive", archive, columns=160).out
    assert "node-1" in shown


def test_a_consumer_is_shown_and_deleted(command_line: CommandLine, closed: Path, archive: Path) -> None:
    command_line.call("ship", closed, "--to", archive, "--once")
    (archive / "consumers").mkdir()
    write_properties(
        archive / "consumers" / "query.properties",
        {"label": "checkpoint /c", "offset.0": "40", "updated": "2026-01-31T12:00:00Z"},
    )
    (consumer,) = json.loads(command_line.call("archive", archive, "--json").out)["consumers"]
    assert (consumer["name"], consumer["lag_records"], consumer["label"]) == ("query", 60, "checkpoint /c")
    assert consumer["offsets"] == {"0": 40}
    assert "query" in command_line.call("archive", archive).out
    ended = command_line.call("archive", archive, "--delete-consumer", "query", "--json")
    assert (ended.status, ended.out) == (0, '{"deleted_consumer": "query"}\n')
    ended = command_line.call("archive", archive, "--delete-consumer", "query")
    assert (ended.status, ended.err) == (1, f"mmapqueue: the archive in {archive} has no consumer query\n")


def test_missing_records_are_shown_and_marked(command_line: CommandLine, closed: Path, archive: Path) -> None:
    command_line.call("ship", closed, "--to", archive, "--bytes", "4096", "--once")
    files = sorted((archive / "data").rglob("*.run"))
    first, end = map(int, files[1].name.split("-")[:2])
    files[1].unlink()
    gap = {"partition": 0, "first": first, "last": end - 1, "records": end - first}
    assert json.loads(command_line.call("archive", archive, "--json").out)["gaps"] == [{**gap, "reason": "missing"}]
    shown = command_line.call("archive", archive).out.splitlines()
    assert [*map(str, gap.values()), "missing"] in [line.split() for line in shown]
    ended = command_line.call("archive", archive, "--mark-lost", f"0:0-{end + 5}", "--json")
    assert (ended.status, json.loads(ended.out)) == (0, {"marked": [{**gap, "reason": "lost"}]})
    assert json.loads(command_line.call("archive", archive, "--json").out)["gaps"] == [{**gap, "reason": "lost"}]
    ended = command_line.call("archive", archive, "--mark-lost", "0:0-9")
    assert (ended.status, ended.out.startswith("nothing to mark")) == (0, True)
    ended = command_line.call("archive", archive, "--mark-lost", "7:0-9")
    assert (ended.status, ended.out) == (1, "")
    assert "has no partition 7" in ended.err
    for wrong in ("0:9-8", "0", "0:5", "x:1-2", "0:-1-2"):
        assert command_line.call("archive", archive, "--mark-lost", wrong).status == 2
    ended = command_line.call("archive", archive, "--mark-lost", "0:0-9", "--delete-consumer", "report")
    assert (ended.status, "only one of --delete-consumer and --mark-lost" in ended.err) == (2, True)


def test_a_directory_that_is_no_archive(command_line: CommandLine, tmp_path: Path) -> None:
    ended = command_line.call("archive", tmp_path)
    assert (ended.status, ended.out) == (1, "")
    assert str(tmp_path) in ended.err
    with pytest.raises(mmapqueue.ArchiveError):
        describe(str(tmp_path))


def test_a_wait_for_records_that_the_writer_has_dropped_is_an_error(
    command_line: CommandLine, open_queue: Open, archive: Path
) -> None:
    away = archive.with_name("away")
    queue = open_queue(flush_period="10ms")
    with shipping(command_line, queue.path, "--to", archive):
        assert queue.await_shipped(queue.push(b"shipped"), timeout="120s")
        archive.rename(away)
        queue.close()
        queue = open_queue(flush_period="10ms", max_age="10ms")
        lost = queue.push(b"lost")
        assert eventually(lambda: queue.first_offset() > lost, 120)
        with pytest.raises(mmapqueue.Dropped) as caught:
            queue.await_shipped(lost, timeout="120s")
        assert (caught.value.first, caught.value.last) == (lost, lost)
        assert queue.await_shipped(0)
        queue.close()
        queue = open_queue(flush_period="10ms")
        away.rename(archive)
        # Its segment was not reused yet: the shipper has read it after all.
        assert queue.await_shipped(queue.push(b"last"), timeout="120s")
        assert payloads(archive) == [b"shipped", b"lost", b"last"]
        assert queue.await_shipped(lost)


def test_another_host_continues_the_partition_of_a_lost_one(
    command_line: CommandLine, open_queue: Open, closed: Path, archive: Path, tmp_path: Path, records: list[bytes]
) -> None:
    assert command_line.call("ship", closed, "--to", archive, "--once", "--host", "lost").status == 0
    new = tmp_path / "new"
    adopt = ("adopt", archive, new, "--partition", 0, "--host", "next")
    ended = command_line.run(*adopt, "--capacity", "1m", "--set", "retain_ms=1h", "--set", "flush_period=10ms")
    assert (ended.status, ended.out) == (
        0,
        f"adopted partition 0 of {archive} in {new}: the first record gets offset 100\n",
    )
    assert ended.err == "mmapqueue: not stored in the directory, so set at each open: flush_period\n"
    with open_queue(new) as queue:
        assert (queue.first_offset(), queue.end_offset(), queue.consumers()) == (100, 100, [])
        assert queue.config["retain_ms"] == 3_600_000
        assert queue.push(b"after", sync=True) == 100
    ended = command_line.call("ship", new, "--to", archive, "--once", "--host", "next")
    assert (ended.status, ended.out.split(",")[0]) == (0, "shipped 1 records")
    assert payloads(archive) == [*records, b"after"]
    (partition,) = json.loads(command_line.call("archive", archive, "--json").out)["partitions"]
    assert (partition["host"], partition["end_offset"], partition["error"]) == ("next", 101, None)

    # The lost host comes back with a record that it has not shipped.
    with open_queue(closed) as queue:
        assert queue.push(b"unshipped", sync=True) == 100
    ended = command_line.call("ship", closed, "--to", archive, "--once", "--host", "lost")
    assert ended.status == 1
    assert "which host next has adopted at " in ended.err
    assert "mmapqueue export DIR rest.jsonl --from 100, then mmapqueue import NEW-DIR rest.jsonl" in ended.err
    rest = tmp_path / "rest.jsonl"
    assert command_line.call("export", closed, rest, "--from", "100").status == 0
    assert command_line.call("import", new, rest).status == 0
    assert command_line.call("ship", new, "--to", archive, "--once", "--host", "next").status == 0
    assert payloads(archive) == [*records, b"after", b"unshipped"]


def test_an_adoption_that_fails_changes_nothing(command_line: CommandLine, closed: Path, archive: Path) -> None:
    assert command_line.call("ship", closed, "--to", archive, "--once").status == 0
    new = closed.with_name("new")

    def failed(*arguments: object) -> tuple[int, str]:
        ended = command_line.call("adopt", *arguments)
        assert ended.out == ""
        return ended.status, ended.err

    assert failed(archive, new, "--partition", 7) == (1, f"mmapqueue: {archive.as_uri()}/ has no partition 7\n")
    status, text = failed(closed, new, "--partition", 0)
    assert (status, "is not an archive" in text) == (1, True)
    status, text = failed(archive, closed, "--partition", 0)
    assert (status, f"there is a queue in {closed}: nothing was changed" in text) == (1, True)
    assert failed(archive, new)[0] == 2
    assert failed(archive, new, "--partition", -1)[0] == 2
    status, text = failed(archive, new, "--partition", 0, "--set", "archive_uri=/other")
    assert (status, "archive_uri once" in text) == (2, True)
    assert not new.exists()
    assert command_line.call("ship", closed, "--to", archive, "--once").status == 0
    ended = command_line.call("adopt", archive, new, "--partition", 0, "--json")
    assert (ended.status, json.loads(ended.out)) == (
        0,
        {"partition": 0, "directory": str(new), "next_offset": 100},
    )
