"""Purge, destroy, the age limit, and damage that is skipped."""

from pathlib import Path

import pytest

import mmapqueue
from conftest import SMALL, Open, data, eventually, flip


def test_purge_acks_all_of_all_consumers(any_queue: mmapqueue.Queue) -> None:
    any_queue.push_many([b"%d" % i for i in range(50)])
    popped = any_queue.pop_many(20)
    any_queue.ack_up_to(popped[4])
    any_queue.nack(popped[7])
    assert any_queue.purge() == 45
    assert any_queue.purge() == 0
    with pytest.raises(mmapqueue.Empty):
        any_queue.pop(block=False)
    any_queue.ack_up_to(popped[-1])
    assert any_queue.push(b"next") == 50
    assert any_queue.pop().data == b"next"


def test_purge_makes_room(open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    queue.create_consumer("idle")
    while not queue.full():
        queue.push(b"x" * 1000)
    end = queue.end_offset()
    assert queue.purge() == end
    assert queue.push(b"x" * 1000, block=False) == end
    assert {stats.lag_records for stats in queue.consumer_stats().values()} == {1}


def test_destroy(open_queue: Open, tmp_path: Path) -> None:
    queue = open_queue(tmp_path / "queue")
    queue.push_many([b"one", b"two"])
    queue.consumer("other").pop()
    other = open_queue(tmp_path / "queue")
    with pytest.raises(mmapqueue.Locked, match="another handle"):
        queue.destroy()
    other.close()
    assert queue.push(b"three") == 2
    queue.destroy()
    assert queue.closed
    assert not (tmp_path / "queue").exists()
    with pytest.raises(mmapqueue.Closed):
        queue.push(b"four")
    queue.close()
    with open_queue(tmp_path / "queue") as new:
        assert new.push(b"first") == 0


def test_records_that_are_too_old_are_dropped(open_queue: Open, tmp_path: Path) -> None:
    queue = open_queue(max_age="20ms")
    assert queue.config["max_age"] == 20
    slow = queue.consumer("slow")
    queue.push_many([b"1", b"2", b"3"])
    assert eventually(lambda: queue.consumer_stats()["slow"].dropped_records == 3)
    with pytest.raises(mmapqueue.Dropped, match="max_age") as caught:
        slow.pop(block=False)
    assert (caught.value.first, caught.value.last) == (0, 2)
    with pytest.raises(mmapqueue.ConfigError, match="max_age"):
        open_queue(tmp_path / "other", timestamps=False, max_age="1h")


def test_damage_is_skipped_and_listed(closed: Path, records: list[bytes], open_queue: Open) -> None:
    flip(closed / "1_segment.dat", 1000)
    (finding,) = mmapqueue.verify(closed).findings
    lost = finding.first_lost
    with open_queue(closed) as queue:
        for _ in range(lost - 10):
            queue.pop(block=False)
        for _ in range(2):
            with pytest.raises(mmapqueue.Corrupt):
                queue.pop(block=False)
    with open_queue(closed, on_damage="skip") as queue:
        assert queue.damaged_ranges() == {}
        expected = [record for offset, record in enumerate(records) if offset >= 10 and offset != lost]
        assert data(queue.pop_many()) == expected
        ((name, (found,)),) = queue.damaged_ranges().items()
        assert (name, found.first_offset, found.last_offset, found.records) == ("default", lost, lost, 1)
        assert found.file == str(closed / "1_segment.dat")
        assert queue.consumer_stats()["default"].damaged_records == 1
    with pytest.raises(mmapqueue.ConfigError, match="error or skip"):
        open_queue(closed, on_damage="ignore")
