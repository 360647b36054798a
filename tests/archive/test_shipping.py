"""A queue that is shipped by the process that writes it."""

from __future__ import annotations

import asyncio
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import mmapqueue
from archive_runs import payloads, properties, records, runs
from conftest import SMALL, Open, Script, eventually, fill, flip
from mmapqueue._tools.archives import describe, take_over
from mmapqueue._values.configuration import Configuration

#: Ships at once.
FAST = {"ship_period": "10ms", "flush_period": "10ms"}


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """The directory of an archive."""
    return tmp_path / "shared" / "archive"


def shipped(queue: mmapqueue.Queue[bytes]) -> mmapqueue.ShipStats:
    """What this process has shipped."""
    stats = queue.ship_stats()
    assert stats is not None
    return stats


@pytest.mark.parametrize("keys", [{}, SMALL, {**SMALL, "timestamps": False}], ids=["default", "small", "no timestamps"])
def test_the_archive_gets_all_records(archive: Path, open_queue: Open, keys: dict[str, Any]) -> None:
    queue = open_queue(archive_uri=archive, **FAST, **keys)
    pushed = [b"%d" % number * (number % 700) for number in range(2000)]
    queue.push_many(pushed, shipped=True)
    assert payloads(archive) == pushed
    assert queue.consumer_stats()["ship"].lag_records == 0
    stats = shipped(queue)
    assert (stats.records, stats.failures, stats.failure, stats.has_ended) == (2000, 0, None, False)
    assert stats.runs >= 1


def test_records_keep_offset_and_time(archive: Path, open_queue: Open) -> None:
    queue = open_queue(archive_uri=archive, **FAST)
    queue.create_consumer("reader")
    queue.push_many([b"one", b"", b"three"], shipped=True)
    assert [(each.offset, each.timestamp_micros, each.data) for each in records(archive)] == [
        (each.offset, each.timestamp_micros, each.data) for each in queue.read_many(0, 3)
    ]


def test_a_shipped_push_returns_when_the_archive_has_the_record(archive: Path, open_queue: Open) -> None:
    queue = open_queue(archive_uri=archive, **FAST)
    for number in range(5):
        assert queue.push(b"%d" % number, shipped=True) == number
        assert payloads(archive)[number] == b"%d" % number


def test_pushes_that_wait_for_the_archive_do_not_wait_for_the_period(archive: Path, open_queue: Open) -> None:
    queue = open_queue(archive_uri=archive, ship_period="1h")
    with ThreadPoolExecutor(16) as pool:
        offsets = list(pool.map(lambda number: queue.push(b"%d" % number, shipped=True), range(64)))
    assert sorted(offsets) == list(range(64))
    assert len(payloads(archive)) == 64
    assert shipped(queue).records == 64


def test_a_close_ships_what_is_left(archive: Path, open_queue: Open) -> None:
    queue = open_queue(archive_uri=archive, ship_period="1h", flush_period="1h")
    queue.push_many([b"one", b"two"])
    queue.close()
    assert payloads(archive) == [b"one", b"two"]


def test_a_queue_continues_where_the_archive_ends(archive: Path, open_queue: Open) -> None:
    for number in range(4):
        with open_queue(archive_uri=archive, **FAST) as queue:
            queue.push(b"%d" % number)
    assert payloads(archive) == [b"0", b"1", b"2", b"3"]
    assert [(each.first, each.end) for each in runs(archive)] == [(0, 1), (1, 2), (2, 3), (3, 4)]


def test_bytes_end_a_run_before_the_period(archive: Path, open_queue: Open) -> None:
    queue = open_queue(archive_uri=archive, ship_period="1h", ship_bytes="64k", flush_period="10ms")
    queue.push_many([b"x" * 1000] * 1000)
    assert eventually(lambda: len(payloads(archive)) >= 960, 120)
    assert all(each.end - each.first <= 65 for each in runs(archive))


def test_another_process_may_wait(archive: Path, open_queue: Open, script: Script) -> None:
    queue = open_queue(archive_uri=archive, **FAST)
    offset = queue.push(b"one")
    out = script.run(
        """
        import sys, mmapqueue
        with mmapqueue.Queue(sys.argv[1], read_only=True) as queue:
            print(queue.await_shipped(int(sys.argv[2])), queue.durable_offset(), queue.ship_stats())
        """,
        queue.path,
        offset,
    )
    assert out == "True 1 None\n"


def test_a_wait_needs_a_shipper(open_queue: Open) -> None:
    queue = open_queue()
    with pytest.raises(mmapqueue.ConfigError, match="no process has shipped the queue"):
        queue.push(b"one", shipped=True)
    with pytest.raises(mmapqueue.ConfigError, match="no process has shipped the queue") as caught:
        queue.push_many([b"two", b"three"], shipped=True)
    assert caught.value.pushed == 2
    assert queue.stats().records == 3
    with pytest.raises(mmapqueue.OutOfRange):
        queue.await_shipped(3)


def test_a_wait_ends_in_time(tmp_path: Path, open_queue: Open) -> None:
    (tmp_path / "file").touch()
    queue = open_queue(archive_uri=tmp_path / "file" / "archive", **FAST)
    assert queue.await_shipped(queue.push(b"one"), timeout="50ms") is False
    assert queue.await_shipped(0, timeout=timedelta(0)) is False


def test_pushes_of_tasks_wait_for_the_archive(archive: Path, open_queue: Open) -> None:
    queue = open_queue(archive_uri=archive, **FAST)

    async def push_all() -> list[int]:
        one_by_one = await asyncio.gather(*(queue.apush(b"one", shipped=True) for _ in range(50)))
        assert payloads(archive) == [b"one"] * 50
        assert await queue.apush_many([b"two", b"three"], shipped=True) == 2
        assert await queue.aawait_shipped(51, timeout=0)
        return one_by_one

    assert sorted(asyncio.run(push_all())) == list(range(50))
    assert payloads(archive) == [b"one"] * 50 + [b"two", b"three"]


def test_a_task_that_waits_for_the_archive_can_be_cancelled(tmp_path: Path, open_queue: Open) -> None:
    (tmp_path / "file").touch()
    queue = open_queue(archive_uri=tmp_path / "file" / "archive", **FAST)

    async def push_in_vain() -> None:
        assert await queue.aawait_shipped(await queue.apush(b"one"), timeout="50ms") is False
        pushing = asyncio.ensure_future(queue.apush(b"two", shipped=True))
        while queue.stats().records < 2:
            await asyncio.sleep(0.01)
        pushing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await pushing

    asyncio.run(push_in_vain())
    assert queue.stats().records == 2


def test_a_task_cannot_wait_without_a_shipper(open_queue: Open) -> None:
    queue = open_queue()
    with pytest.raises(mmapqueue.ConfigError, match="no process has shipped the queue"):
        asyncio.run(queue.apush(b"one", shipped=True))
    with pytest.raises(mmapqueue.ConfigError, match="no process has shipped the queue") as caught:
        asyncio.run(queue.apush_many([b"two", b"three"], shipped=True))
    assert caught.value.pushed == 2


def test_a_queue_keeps_its_records_while_the_archive_is_away(tmp_path: Path, open_queue: Open) -> None:
    away = tmp_path / "mount"
    away.touch()
    queue = open_queue(archive_uri=away / "archive", **FAST, **SMALL)
    pushed = [b"x" * 300] * fill(queue, b"x" * 300)
    assert eventually(lambda: shipped(queue).failures > 1, 120)
    stats = shipped(queue)
    assert stats.failure is not None
    assert stats.failing_since is not None
    assert not stats.has_ended
    since = stats.failing_since.strftime("%Y-%m-%dT%H:%M:%S")
    for timeout in (0, 0.01):
        with pytest.raises(mmapqueue.Full, match=rf"is ship, .* shipping into file:\S+ has failed since {since}"):
            queue.push(b"x" * 300, timeout=timeout)
    away.unlink()
    pushed.append(b"last")
    assert queue.push(b"last", timeout="120s", shipped=True) == len(pushed) - 1
    assert payloads(away / "archive") == pushed
    assert eventually(lambda: shipped(queue).failure is None, 120)
    assert shipped(queue).failing_since is None


def test_two_queues_share_an_archive(archive: Path, open_queue: Open, tmp_path: Path) -> None:
    for number in range(3):
        queue = open_queue(tmp_path / f"p={number}", archive_uri=archive, **FAST)
        queue.push(b"%d" % number, shipped=True)
    assert [payloads(archive, partition) for partition in range(3)] == [[b"0"], [b"1"], [b"2"]]
    for number in range(3):
        (entry,) = (archive / "partitions").glob(f"{number:05d}-*.properties")
        assert properties(entry)["partition"] == str(number)


def test_a_queue_is_shipped_by_one_host(archive: Path, open_queue: Open) -> None:
    with open_queue(archive_uri=archive, archive_host="node-1", **FAST) as queue:
        queue.push(b"one", shipped=True)
    queue = open_queue(archive_uri=archive, archive_host="node-2", **FAST)
    with pytest.raises(mmapqueue.MmapQueueError, match="host node-1 ships; this host is node-2"):
        queue.push(b"two", shipped=True)
    stats = shipped(queue)
    assert stats.has_ended
    queue.close()
    with open_queue(archive_uri=archive, archive_host="node-1", **FAST) as queue:
        assert queue.await_shipped(1, timeout="120s")
    assert payloads(archive) == [b"one", b"two"]


def test_an_older_copy_of_a_queue_is_not_shipped(archive: Path, open_queue: Open, tmp_path: Path) -> None:
    with open_queue(archive_uri=archive, **FAST) as queue:
        queue.push_many([b"one", b"two"], shipped=True)
    shutil.copytree(tmp_path / "queue", tmp_path / "copy")
    with open_queue(archive_uri=archive, **FAST) as queue:
        queue.push_many([b"three", b"four"], shipped=True)
    shutil.rmtree(tmp_path / "queue")
    shutil.copytree(tmp_path / "copy", tmp_path / "queue")
    with (
        open_queue(archive_uri=archive, **FAST) as queue,
        pytest.raises(mmapqueue.MmapQueueError, match="another directory with this queue has shipped it last"),
    ):
        queue.push(b"other", shipped=True)
    with open_queue() as queue:
        queue.push_many([b"records"] * 5)
    take_over(str(archive), str(tmp_path / "queue"))
    with (
        open_queue(archive_uri=archive, **FAST) as queue,
        pytest.raises(mmapqueue.MmapQueueError, match="is another record than in the queue"),
    ):
        queue.push(b"more", shipped=True)
    assert payloads(archive) == [b"one", b"two", b"three", b"four"]


def test_acked_records_that_the_queue_still_has_are_shipped(archive: Path, open_queue: Open) -> None:
    with open_queue(archive_uri=archive, **FAST) as queue:
        queue.create_consumer("other")
        queue.push(b"one", shipped=True)
    with open_queue() as queue:
        queue.push_many([b"two", b"three"])
        queue.consumer("ship").seek(2)
    with open_queue(archive_uri=archive, **FAST) as queue:
        queue.push(b"four", shipped=True)
    assert payloads(archive) == [b"one", b"two", b"three", b"four"]


def test_records_that_the_queue_has_dropped_are_a_named_gap(archive: Path, open_queue: Open) -> None:
    with open_queue(archive_uri=archive, **FAST, **SMALL) as queue:
        queue.push(b"one", shipped=True)
    with open_queue(**SMALL) as queue:
        for _ in range(5):  # the purged records are overwritten
            fill(queue)
            queue.purge()
        last = queue.push(b"last before")
        first = queue.first_offset()
    assert first > 1
    with open_queue(archive_uri=archive, **FAST, **SMALL) as queue:
        queue.push(b"after", shipped=True)
        (gap,) = describe(str(archive)).gaps
        for offset in (1, gap.last):
            with pytest.raises(mmapqueue.Dropped) as caught:
                queue.await_shipped(offset)
            assert (caught.value.first, caught.value.last) == (1, gap.last)
        assert queue.await_shipped(0)
        assert queue.await_shipped(gap.last + 1)
    with open_queue(archive_uri=archive, **FAST, **SMALL) as queue:
        queue.push(b"later", shipped=True)  # claims the partition once more
        with pytest.raises(mmapqueue.Dropped):
            queue.await_shipped(1)
    assert (gap.partition, gap.first, gap.reason) == (0, 1, "dropped")
    assert first <= gap.last + 1 <= last
    (name,) = (each.name for each in (archive / "data").rglob("*.gap"))
    assert re.fullmatch(rf"{1:019}-{gap.last + 1:019}-[0-9]+-dropped\.gap", name)


def test_the_same_records_in_other_places_are_shipped_on(archive: Path, open_queue: Open, tmp_path: Path) -> None:
    """As after a kill between storing a file and its ack, then a resize and a repair of the clock."""
    with open_queue(archive_uri=archive, **FAST, **SMALL) as queue:
        queue.create_consumer("other")
        queue.push_many([b"%d" % number * 50 for number in range(20)], shipped=True)
    with open_queue(archive_uri=archive, **FAST, **SMALL) as queue:
        queue.push_many([b"%d" % number * 50 for number in range(20, 60)], shipped=True)
    with open_queue(**SMALL) as queue:
        queue.consumer("ship").seek(20)
    mmapqueue.resize(tmp_path / "queue", segment_size="8k", capacity="256k")
    mmapqueue.repair(tmp_path / "queue", in_place=True, reset_clock=True)
    with open_queue(archive_uri=archive, **FAST) as queue:
        queue.push(b"last", shipped=True)
    assert payloads(archive) == [*(b"%d" % number * 50 for number in range(60)), b"last"]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"ship_period": "5ms"}, "ship_period = 5 is invalid; allowed: nothing without archive_uri"),
        ({"archive_codec": "zstd"}, "archive_codec = zstd is invalid; allowed: nothing without archive_uri"),
        ({"archive_uri": "a", "max_age": "5ms"}, "max_age = 5 is invalid; allowed: 0 with archive_uri"),
        ({"archive_uri": "a", "max_consumer_lag": 5}, "max_consumer_lag = 5 is invalid; allowed: 0 with archive_uri"),
        ({"archive_uri": "a", "format_version": 1}, "none in format version 1"),
        ({"archive_uri": "a", "archive_host": "a b"}, "archive_host = a b is invalid"),
        ({"archive_uri": "file:relative"}, "archive_uri = file:relative is invalid"),
        ({"archive_uri": "hdfs://a/b?c"}, "archive_uri = hdfs://a/b[?]c is invalid"),
        ({"archive_uri": "a", "ship_bytes": 1}, "ship_bytes = 1 is invalid; allowed: 4096..268435456"),
    ],
    ids=str,
)
def test_refused(open_queue: Open, keys: dict[str, Any], message: str) -> None:
    with pytest.raises(mmapqueue.ConfigError, match=message):
        open_queue(**keys)


def test_an_archive_does_not_lie_in_its_queue(open_queue: Open, tmp_path: Path) -> None:
    for target in (tmp_path / "queue", tmp_path / "queue" / "archive"):
        with pytest.raises(mmapqueue.ConfigError, match="is not the queue's, nor below it"):
            open_queue(archive_uri=target)
    open_queue(archive_uri=tmp_path / "queue-archive")


def test_the_effective_configuration(archive: Path, open_queue: Open) -> None:
    queue = open_queue(archive_uri=archive, archive_retain="7d", ship_bytes="1m", archive_host="a")
    keys = {key: value for key, value in queue.config.items() if key.startswith(("archive_", "ship_"))}
    assert keys == {
        "archive_uri": archive.as_uri(),
        "archive_host": "a",
        "archive_codec": "none",
        "archive_retain": 7 * 86_400_000,
        "ship_period": 1000,
        "ship_bytes": 1 << 20,
    }
    # Not stored.
    queue.close()
    assert open_queue().config["archive_uri"] is None


def test_one_process_ships_a_queue(archive: Path, open_queue: Open, script: Script) -> None:
    queue = open_queue(archive_uri=archive, **FAST)
    out = script.run(
        """
        import sys, mmapqueue
        try:
            mmapqueue.Queue(sys.argv[1], read_only=True, archive_uri=sys.argv[2], lock_timeout=0)
        except mmapqueue.Locked as error:
            print(error)
        """,
        queue.path,
        archive,
    )
    assert "consumer ship" in out


def test_a_purge_would_lose_records(archive: Path, open_queue: Open) -> None:
    queue = open_queue(archive_uri=archive, **FAST)
    queue.push(b"one", shipped=True)
    with pytest.raises(mmapqueue.ConfigError, match="none for a purge"):
        queue.purge()


def test_a_deleted_consumer_ends_the_shipping(archive: Path, open_queue: Open) -> None:
    queue = open_queue(archive_uri=archive, **FAST)
    queue.push(b"one", shipped=True)
    queue.delete_consumer("ship")
    queue.push(b"two")
    assert eventually(lambda: shipped(queue).has_ended, 120)
    with pytest.raises(mmapqueue.ConfigError, match="no process has shipped"):
        queue.await_shipped(1)


def test_a_lost_record_stays_a_gap(archive: Path, open_queue: Open, closed: Path, records: list[bytes]) -> None:
    flip(closed / "1_segment.dat", 1000)
    report = mmapqueue.repair(closed, in_place=True)
    (lost,) = report.lost
    assert lost.first_lost == lost.last_lost
    with open_queue(closed, archive_uri=archive, **FAST) as queue:
        queue.push(b"last", shipped=True)
    assert payloads(archive) == [
        None if each == lost.first_lost else data for each, data in enumerate([*records, b"last"])
    ]


def test_a_damaged_record_ends_the_shipping(archive: Path, open_queue: Open, closed: Path) -> None:
    flip(closed / "1_segment.dat", 1000)
    with (
        open_queue(closed, archive_uri=archive, **FAST) as queue,
        pytest.raises(mmapqueue.MmapQueueError, match="is not shipped any more"),
    ):
        queue.push(b"last", shipped=True)
    # The archive has what is before the damage.
    found = payloads(archive)
    assert found
    assert found == [b"%04d" % number * 40 for number in range(len(found))]
    mmapqueue.repair(closed, in_place=True)
    with open_queue(closed, archive_uri=archive, **FAST) as queue:
        queue.push(b"more", shipped=True)
    assert payloads(archive)[-2:] == [b"last", b"more"]


def test_a_consumer_behind_the_ring_says_that_its_archive_is_away(open_queue: Open, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    fast: Configuration = {"archive_uri": archive, "ship_period": "10ms", "flush_period": "10ms"}
    with open_queue(tmp_path / "queue", capacity="1m", overflow="archive", **fast) as queue:
        queue.create_consumer("mail")
        queue.create_consumer("other")
        for number in range(3000):
            queue.push(b"%1000d" % number)
    archive.rename(tmp_path / "away")
    with open_queue(tmp_path / "queue", read_only=True) as queue:
        mail, other = queue.consumer("mail"), queue.consumer("other")
        with ThreadPoolExecutor() as threads:
            popped = threads.submit(mail.pop)
            for _ in range(3):
                with pytest.raises(mmapqueue.ArchiveError, match="record 0 is in the archive"):
                    other.pop(timeout=0.3)
            assert not popped.done()
            (tmp_path / "away").rename(archive)
            assert int(popped.result(60).data) == 0
