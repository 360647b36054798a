"""Queues that are shipped into a bucket."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import mmapqueue
from archive_runs import payloads, runs
from command_line import CommandLine
from conftest import Open, eventually
from s3.store import PART, Store

FAST = {"ship_period": "10ms", "flush_period": "10ms"}
SECONDS = 240.0


def shipped(store: Store, archive: str, directory: Path, partition: int = 0) -> list[bytes | None]:
    """The records of a partition."""
    return payloads(store.copy(archive, directory), partition)


def files(store: Store, archive: str) -> list[str]:
    """The names of the files; S3A stores empty objects for empty directories."""
    return [each.key for each in store.objects(archive) if each.length]


def lengths(store: Store, archive: str) -> list[int]:
    """The lengths of the runs."""
    return [each.length for each in store.objects(archive) if each.key.endswith(".run")]


def test_a_bucket_gets_all_records(store: Store, archive: str, open_queue: Open, tmp_path: Path) -> None:
    queue = open_queue(archive_uri=archive, **FAST)
    pushed = [b"%d" % number * (number % 700) for number in range(2000)]
    queue.push_many(pushed[:1000], shipped=True)
    assert queue.await_shipped(999)
    queue.push_many(pushed[1000:], shipped=True)
    assert shipped(store, archive, tmp_path / "copy") == pushed


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_runs_above_the_size_of_a_part(
    store: Store, archive: str, open_queue: Open, tmp_path: Path, codec: str
) -> None:
    with open_queue(capacity="128m", flush_period="10ms") as queue:
        queue.create_consumer("ship")
        pushed = [b"%09d" % number + bytes(range(256)) * 40 for number in range(2000)]
        queue.push_many(pushed)
    queue = open_queue(archive_uri=archive, ship_bytes="16m", archive_codec=codec, **FAST)
    assert queue.await_shipped(len(pushed) - 1, timeout=SECONDS)
    if codec == "none":
        assert max(lengths(store, archive)) > 3 * PART
        assert shipped(store, archive, tmp_path / "copy") == pushed
    assert store.uploads() == 0


def test_compaction_makes_runs_above_the_size_of_a_part(
    store: Store, archive: str, open_queue: Open, tmp_path: Path
) -> None:
    queue = open_queue(archive_uri=archive, capacity="128m", ship_bytes="512k", **FAST)
    pushed = [b"%09d" % number + b"x" * 10_000 for number in range(2400)]
    for first in range(0, len(pushed), 60):
        queue.push_many(pushed[first : first + 60], shipped=True)
    assert eventually(lambda: max(lengths(store, archive)) > PART, SECONDS)
    assert shipped(store, archive, tmp_path / "copy") == pushed
    assert runs(tmp_path / "copy")[0].end > 60


def test_a_queue_keeps_its_records_while_the_bucket_is_away(
    store: Store, archive: str, open_queue: Open, tmp_path: Path
) -> None:
    queue = open_queue(archive_uri=archive, **FAST)
    queue.push(b"0", shipped=True)
    store.leave()
    try:
        for number in range(1, 50):
            queue.push(b"%d" % number)
        assert not queue.await_shipped(49, timeout="200ms")
    finally:
        store.come_back()
    assert queue.await_shipped(49, timeout=SECONDS)
    assert shipped(store, archive, tmp_path / "copy") == [b"%d" % number for number in range(50)]


def test_the_command_line(store: Store, archive: str, command_line: CommandLine, closed: Path, tmp_path: Path) -> None:
    ended = command_line.run("ship", closed, "--to", archive, "--once", "--host", "one")
    assert ended.status == 0, ended.err
    assert len(shipped(store, archive, tmp_path / "copy")) == 100
    ended = command_line.run("archive", archive, "--json")
    assert ended.status == 0, ended.err
    found = json.loads(ended.out)
    (partition,) = found["partitions"]
    assert found["uri"].rstrip("/") == archive
    assert (partition["host"], partition["first_offset"], partition["end_offset"]) == ("one", 0, 100)


def test_a_copy_on_another_host_is_not_shipped(
    archive: str, command_line: CommandLine, closed: Path, tmp_path: Path
) -> None:
    shutil.copytree(closed, tmp_path / "copy")
    assert command_line.run("ship", closed, "--to", archive, "--once", "--host", "one").status == 0
    ended = command_line.run("ship", tmp_path / "copy", "--to", archive, "--once", "--host", "two")
    assert ended.status != 0
    assert "two copies of one directory" in ended.err


def test_a_copy_with_the_same_host_name_is_not_shipped(
    store: Store, archive: str, open_queue: Open, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"archive_uri": archive, "archive_host": "one", **FAST}
    with open_queue(tmp_path / "queue", **options) as queue:
        queue.push(b"of both", shipped=True)
    shutil.copytree(tmp_path / "queue", tmp_path / "copy")
    queue = open_queue(tmp_path / "queue", **options)
    queue.push(b"of the queue", shipped=True)
    with open_queue(tmp_path / "copy") as copy:
        copy.push(b"of its copy")
    copy = open_queue(tmp_path / "copy", **options)
    with pytest.raises(mmapqueue.MmapQueueError, match="has other records than the queue"):
        copy.push(b"later", shipped=True)
    queue.push(b"later", shipped=True)
    assert shipped(store, archive, tmp_path / "bucket") == [b"of both", b"of the queue", b"later"]


def test_a_client_without_conditional_creation_is_refused(
    store: Store, archive: str, command_line: CommandLine, closed: Path
) -> None:
    without = store.configure("without", fs_s3a_create_conditional_enabled="false")
    words = ("ship", closed, "--to", archive, "--once", "--classpath", store.class_path(without))
    ended = command_line.run(*words)
    assert ended.status != 0
    assert "fs.s3a.create.conditional.enabled" in ended.err
    assert files(store, archive) == []


def test_a_store_that_ignores_conditions_is_refused(store: Store, command_line: CommandLine, closed: Path) -> None:
    archive = store.archive("unconditional")
    ended = command_line.run("ship", closed, "--to", archive, "--once")
    assert ended.status != 0
    assert "ignores the condition" in ended.err
    assert files(store, archive) == []
