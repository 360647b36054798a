"""Acks of single records, negative acknowledgements, and their limits."""

import time
from datetime import datetime, timezone
from itertools import pairwise
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

import mmapqueue
from conftest import SMALL, Open, Script, data, eventually
from mmapqueue._jvm.shared_buffer import SMALL_BYTES


def seen(messages: Any) -> list[tuple[int, int]]:
    return [(message.offset, message.attempts) for message in messages]


def pushed(queue: mmapqueue.Queue, count: int) -> mmapqueue.Queue:
    queue.push_many(b"%d" % i for i in range(count))
    return queue


# Acks of single records


def test_single_acks_commit_what_has_no_gap(any_queue: mmapqueue.Queue) -> None:
    messages = pushed(any_queue, 10).pop_many(8)
    any_queue.ack(messages[2], single=True)
    any_queue.ack(4, single=True)
    assert (any_queue.lag(), any_queue.unacked()) == (10, 6)
    any_queue.ack(0, single=True)
    assert (any_queue.lag(), any_queue.unacked()) == (9, 5)
    any_queue.ack(1, single=True)
    assert (any_queue.lag(), any_queue.unacked()) == (7, 4)
    any_queue.ack(1, single=True)
    any_queue.ack(3)
    assert (any_queue.lag(), any_queue.unacked()) == (5, 3)
    assert any_queue.qsize() == 2


def test_a_record_that_was_acked_alone_is_not_redelivered(open_queue: Open) -> None:
    queue = pushed(open_queue(**SMALL), 10)
    queue.ack_many(queue.pop_many(8)[1:8:2])
    queue.close()
    queue = open_queue(**SMALL)
    assert queue.lag() == 10
    assert sorted(m.offset for m in queue) == [0, 2, 4, 6, 8, 9]


# As many as one piece of shared memory of either size holds, some more, and more than any.
@pytest.mark.parametrize("count", [1, 2, 6000, 7000, 150_000, 200_000])
def test_ack_many(open_queue: Open, count: int) -> None:
    queue = open_queue(capacity="64m")
    queue.push_many([b"x"] * (count + 1))
    messages = queue.pop_many(count)
    assert len(messages) == count
    queue.ack_many(messages[1:][::-1])
    assert (queue.lag(), queue.unacked()) == (count + 1, 1)
    queue.ack_many(iter([0]))
    assert (queue.lag(), queue.unacked()) == (1, 0)
    queue.ack_many([])


def test_ack_many_is_all_or_nothing(any_queue: mmapqueue.Queue) -> None:
    messages = pushed(any_queue, 10).pop_many(5)
    for wrong in (5, 9, 10, -1, 2**70, -(2**70)):
        with pytest.raises(mmapqueue.OutOfRange):
            any_queue.ack_many([*messages, wrong])
    for wrong in ("0", 1.0, None, b"0"):
        with pytest.raises(TypeError):
            any_queue.ack_many([*messages, wrong])
    with pytest.raises(TypeError, match="single"):
        any_queue.ack_many(messages[0])
    assert (any_queue.lag(), any_queue.unacked()) == (10, 5)
    any_queue.ack_many([4, messages[2], 4, *messages])
    assert (any_queue.lag(), any_queue.unacked()) == (5, 0)


def test_ack_many_without_shared_memory(open_queue: Open) -> None:
    queue = pushed(open_queue(), 2000)
    messages = queue.pop_many(2000)
    # As where no memory can be had that both processes map.
    allocator = queue._handle.pool._allocator
    allocator.shared = lambda _size: None
    queue._handle.pool._free[SMALL_BYTES].clear()
    with pytest.warns(RuntimeWarning, match="shared"):
        queue.ack_many(messages[:1000])
    assert queue.lag() == 1000
    assert data(queue.read_many(1000, 3)) == [b"1000", b"1001", b"1002"]


@pytest.mark.parametrize("offset", [10, 2**63 - 1, 2**70, -1, -(2**70)])
def test_no_offset_is_too_large_to_be_refused(any_queue: mmapqueue.Queue, offset: int) -> None:
    pushed(any_queue, 10).pop_many(3)
    for call in (
        lambda: any_queue.ack(offset),
        lambda: any_queue.ack(offset, single=True),
        lambda: any_queue.ack_many([offset]),
        lambda: any_queue.nack(offset),
    ):
        with pytest.raises(mmapqueue.OutOfRange, match=r"available: 0\.\.2"):
            call()
    assert (any_queue.lag(), any_queue.unacked()) == (10, 3)


# Negative acknowledgement


def test_requeued_records_come_before_new_ones(any_queue: mmapqueue.Queue) -> None:
    messages = pushed(any_queue, 10).pop_many(5)
    any_queue.nack(messages[3])
    any_queue.nack(1)
    any_queue.nack(1)
    assert (any_queue.qsize(), any_queue.unacked()) == (7, 5)
    assert any_queue.peek() == any_queue.peek() == messages[1]._replace(attempts=2)
    assert seen(any_queue.pop_many(3)) == [(1, 2), (3, 2), (5, 1)]
    any_queue.nack(3)
    assert seen([any_queue.pop()]) == [(3, 3)]
    any_queue.ack(5)
    assert seen(any_queue) == [(6, 1), (7, 1), (8, 1), (9, 1)]


def test_attempts_and_offsets_of_every_record(open_queue: Open, tmp_path: Path) -> None:
    """Each column of a batch, there or not, whatever the others are."""
    for timestamps in (True, False):
        queue = pushed(open_queue(tmp_path / f"{timestamps}", timestamps=timestamps), 3001)
        expected = {}
        messages = queue.pop_many(3001)
        assert seen(messages) == [(i, 1) for i in range(3001)]
        for wanted in ({*range(0, 3001, 3)}, {*range(3001)}, {1, 2, 3000}, {2000}):
            for offset in wanted:
                queue.nack(offset)
                expected[offset] = expected.get(offset, 1) + 1
            again = queue.pop_many(4000)
            assert seen(again) == [(offset, expected[offset]) for offset in sorted(wanted)]
            assert data(again) == [b"%d" % offset for offset in sorted(wanted)]
            assert all(message == messages[message.offset]._replace(attempts=message.attempts) for message in again)
        queue.close()


def test_a_requeued_record_can_be_acked(any_queue: mmapqueue.Queue) -> None:
    messages = pushed(any_queue, 4).pop_many()
    for message in messages:
        any_queue.nack(message)
    any_queue.ack(messages[1])
    any_queue.ack(messages[3], single=True)
    assert seen(any_queue) == [(2, 2)]


def test_nack_raises_for_records_that_were_not_popped_or_are_acked(any_queue: mmapqueue.Queue) -> None:
    pushed(any_queue, 10).pop_many(6)
    any_queue.ack(1)
    any_queue.ack(4, single=True)
    for offset in (0, 1, 4, 6, 10, -1):
        with pytest.raises(mmapqueue.OutOfRange) as caught:
            any_queue.nack(offset)
        assert caught.value.requested == offset
    for wrong in ("0", 1.0, None):
        with pytest.raises(TypeError):
            any_queue.nack(wrong)
    for delay in (-1, -0.001, nan, -inf):
        with pytest.raises(ValueError, match="delay"):
            any_queue.nack(2, delay)
    assert any_queue.pop_many() == any_queue.read_many(6, 4) or any_queue.qsize() == 0
    assert any_queue.unacked() == 7


def test_a_delay_holds_a_record_back(any_queue: mmapqueue.Queue) -> None:
    pushed(any_queue, 3).pop_many()
    given = time.monotonic()
    any_queue.nack(1, delay=0.8)
    any_queue.nack(2, delay=inf)
    assert seen([any_queue.pop(timeout=30)]) == [(1, 2)]
    assert time.monotonic() - given >= 0.798
    assert any_queue.pop_many(timeout=0.1) == []


def test_attempts_outlive_a_close(open_queue: Open) -> None:
    queue = pushed(open_queue(**SMALL), 3)
    queue.nack(queue.pop())
    queue.pop()
    queue.close()
    assert seen(open_queue(**SMALL)) == [(0, 3), (1, 1), (2, 1)]


# Records that an iterator has popped and not given


def test_what_came_back_from_an_iterator_counts_as_not_popped(any_queue: mmapqueue.Queue) -> None:
    pushed(any_queue, 20)
    for message in any_queue.consume(max_records=10):
        if message.offset == 4:
            break
    assert (any_queue.qsize(), any_queue.unacked()) == (15, 5)
    for offset in (5, 9):
        for call in (
            lambda offset=offset: any_queue.ack(offset),
            lambda offset=offset: any_queue.ack(offset, single=True),
            lambda offset=offset: any_queue.ack_many([3, offset]),
            lambda offset=offset: any_queue.nack(offset),
        ):
            with pytest.raises(mmapqueue.OutOfRange, match=r"not popped.*available: 0\.\.4") as caught:
                call()
            assert (caught.value.requested, caught.value.first, caught.value.last) == (offset, 0, 4)
    any_queue.nack(3)
    any_queue.ack(2)
    assert seen(any_queue) == [*((i, 1) for i in range(5, 10)), (3, 2), *((i, 1) for i in range(10, 20))]
    any_queue.ack(19)
    assert (any_queue.lag(), any_queue.unacked(), any_queue.qsize()) == (0, 0, 0)


def test_an_ack_beyond_what_came_back_is_for_that_too(any_queue: mmapqueue.Queue) -> None:
    pushed(any_queue, 20)
    iterator = any_queue.consume(max_records=10)
    next(iterator)
    assert any_queue.pop().offset == 10
    iterator.close()
    any_queue.ack(10)
    assert seen(any_queue) == [(i, 1) for i in range(11, 20)]


# Limits


def test_max_unacked(open_queue: Open) -> None:
    queue = pushed(open_queue(max_unacked=8), 20)
    assert len(queue.pop_many(20)) == 8
    for call in (
        lambda: queue.pop(block=False),
        lambda: queue.pop(timeout=0.3),
        lambda: queue.pop_many(),
        lambda: list(queue),
        lambda: queue.process(print, timeout=0.1),
    ):
        with pytest.raises(mmapqueue.UnackedLimit, match="max_unacked") as caught:
            call()
        assert caught.value.java_class == "org.mmapqueue.errors.UnackedLimitException"
    queue.nack(5)
    assert seen([queue.pop()]) == [(5, 2)]
    queue.ack(3, single=True)
    with pytest.raises(mmapqueue.UnackedLimit):
        queue.pop(block=False)
    queue.ack(0)
    assert seen(queue.pop_many()) == [(8, 1)]
    queue.ack(8)
    assert seen(queue.pop_many(100)) == [(i, 1) for i in range(9, 17)]


def test_a_pop_at_the_limit_waits_for_an_ack(open_queue: Open, in_thread: Any) -> None:
    queue = pushed(open_queue(max_unacked=2), 4)
    queue.pop_many(2)
    waiting = in_thread(lambda: queue.pop(timeout=30))
    assert not eventually(waiting.done, 0.5)
    queue.ack(0)
    assert waiting.result(20).offset == 2


def test_a_record_is_redelivered_after_visibility_timeout(open_queue: Open) -> None:
    queue = pushed(open_queue(visibility_timeout=1000), 4)
    popped = time.monotonic()
    assert seen(queue.pop_many()) == [(i, 1) for i in range(4)]
    queue.ack(2, single=True)
    assert seen([queue.pop(timeout=30)]) == [(0, 2)]
    # The JVM counts whole milliseconds.
    assert time.monotonic() - popped >= 0.998
    assert seen(queue.pop_many(timeout=10)) == [(1, 2), (3, 2)]
    queue.ack(3)
    assert queue.pop_many(timeout=1.2) == []


def test_what_an_iterator_holds_for_too_long_comes_once(open_queue: Open) -> None:
    queue = pushed(open_queue(visibility_timeout=1000), 6)
    iterator = queue.consume(timeout=5, max_records=4)
    first = next(iterator)
    assert eventually(lambda: queue.peek().attempts == 2)
    # The JVM has requeued the undelivered records of the iterator, which continues with redelivered ones.
    got = [first, *(next(iterator) for _ in range(6))]
    assert seen(got) == [(0, 1), (0, 2), (1, 2), (2, 2), (3, 2), (4, 1), (5, 1)]
    iterator.close()
    queue.ack(5)
    assert queue.qsize() == 0


def test_what_came_back_and_lay_for_too_long_comes_once(open_queue: Open) -> None:
    queue = pushed(open_queue(visibility_timeout=1000), 6)
    for message in queue.consume(max_records=4):
        queue.ack(message)
        break
    assert eventually(lambda: (queue.peek() or message).attempts == 2)
    assert queue.qsize() == 5
    assert seen(queue.pop_many()) == [(1, 2), (2, 2), (3, 2), (4, 1), (5, 1)]


def test_after_max_attempts_a_record_goes_to_the_dead(open_queue: Open, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    queue = pushed(open_queue(max_attempts=2, dead_letter_dir="dead"), 3)
    assert queue.config["dead_letter_dir"] == str(tmp_path / "dead")
    for attempt in (1, 2):
        message = queue.pop()
        assert (message.offset, message.attempts) == (0, attempt)
        queue.nack(message)
    assert seen(queue) == [(1, 1), (2, 1)]
    assert queue.unacked() == 2
    queue.close()
    assert data(open_queue(tmp_path / "dead")) == [b"0"]


def told_of_drops(consumer: mmapqueue.Consumer) -> tuple[list[mmapqueue.Dropped], list[mmapqueue.Message]]:
    """The ranges that Dropped reports, each after the last one, and the next records."""
    drops: list[mmapqueue.Dropped] = []
    while True:
        try:
            messages = consumer.pop_many(2000)
        except mmapqueue.Dropped as dropped:
            # More records may be dropped after the first Dropped.
            drops.append(dropped)
        else:
            break
    assert all(drop.first <= drop.last for drop in drops)
    assert all(b.first == a.last + 1 for a, b in pairwise(drops))
    return drops, messages


def test_dropped(open_queue: Open) -> None:
    queue = open_queue(segment_size="4k", queue_capacity_segments=64, max_event_size=1000, max_consumer_lag="32k")
    slow = queue.consumer("slow")
    records = [b"%04d" % i * 50 for i in range(1000)]
    for i, record in enumerate(records):
        queue.push(record)
        queue.ack(queue.pop())
        if i == 3:
            assert slow.pop().offset == 0
    drops, messages = told_of_drops(slow)
    assert drops[0].first == 0
    assert "slow" in str(drops[0])
    while True:
        try:
            slow.ack(0)
        except mmapqueue.Dropped as late:  # what drops records comes when it can: they may have been popped
            drops.append(late)
        else:
            break
    lost = drops[-1].last + 1
    assert 700 < lost < 1000
    left = [m for m in messages if m.offset >= lost]
    assert [m.offset for m in left] == list(range(lost, 1000))
    assert data(left) == records[lost:]
    slow.ack(999)
    assert slow.lag() == 0


def test_what_was_dropped_does_not_come_back_from_an_iterator(open_queue: Open) -> None:
    queue = open_queue(segment_size="4k", queue_capacity_segments=64, max_event_size=1000, max_consumer_lag="32k")
    slow = queue.consumer("slow")
    queue.push_many([b"x" * 200] * 20)
    assert next(slow.consume(max_records=10)).offset == 0
    for _ in range(1000):
        queue.push(b"y" * 200)
        for message in queue.pop_many():
            queue.ack(message)
    # An ack may raise it.
    with pytest.raises(mmapqueue.Dropped) as caught:
        slow.ack(0)
    drops, messages = told_of_drops(slow)
    last = max(drop.last for drop in [caught.value, *drops])
    assert [m.offset for m in messages] == list(range(last + 1, 1020))


def test_a_kill_brings_back_what_was_not_acked(script: Script, open_queue: Open) -> None:
    process = script.start(
        """
        import os, signal, sys
        import mmapqueue
        from mmapqueue._jvm import standalone
        queue = mmapqueue.Queue(sys.argv[1])
        queue.push_many([b"%d" % i for i in range(10)])
        messages = queue.pop_many(6)
        queue.ack(1)
        queue.ack(4, single=True)
        queue.nack(2)
        standalone._running.process.kill()
        standalone._running.process.wait()
        os.kill(os.getpid(), signal.SIGKILL)
        """,
        script.directory / "queue",
    )
    process.communicate(timeout=60)
    assert process.returncode == -9
    queue = open_queue()
    assert seen(queue) == [(i, 1) for i in range(2, 10)]
    assert all(m.timestamp <= datetime.now(timezone.utc) for m in queue.read_many(2, 8))


# Records that were popped ahead


def test_what_nobody_was_given_counts_as_not_popped(open_queue: Open, tmp_path: Path) -> None:
    options: dict[str, Any] = {"max_attempts": 2, "dead_letter_dir": str(tmp_path / "dead"), **SMALL}
    pushed(open_queue(**options), 10).close()
    given = []
    for _ in range(10):
        queue = open_queue(**options)
        for message in queue.consume():
            given.append((message.offset, message.attempts))
            queue.ack(message)
            break
        queue.close()
    assert given == [(offset, 1) for offset in range(10)]
    assert not (tmp_path / "dead").exists()


def test_seek_to_committed_releases_undelivered_records(any_queue: mmapqueue.Queue) -> None:
    pushed(any_queue, 6)
    for message in any_queue.consume():
        if message.offset == 1:
            break
    any_queue.seek("committed")
    assert seen(any_queue) == [(0, 2), (1, 2), (2, 1), (3, 1), (4, 1), (5, 1)]


def test_closing_a_consumer_releases_undelivered_records(any_queue: mmapqueue.Queue) -> None:
    consumer = pushed(any_queue, 4).consumer("other")
    for message in consumer.consume():
        consumer.ack(message)
        break
    consumer.close()
    assert seen(any_queue.consumer("other")) == [(1, 1), (2, 1), (3, 1)]


def test_sizes_after_a_reopen_leave_out_what_was_acked_alone(open_queue: Open) -> None:
    queue = pushed(open_queue(**SMALL), 5)
    queue.pop_many(4)
    queue.ack_many([1, 2])
    queue.close()
    queue = open_queue(**SMALL)
    assert (queue.qsize(), queue.lag(), queue.empty()) == (3, 5, False)
    assert queue.pop().offset == 0
    assert queue.qsize() == 2
    queue.ack(0)
    assert (queue.qsize(), queue.lag()) == (2, 2)
    assert data(queue) == [b"3", b"4"]
    assert (queue.qsize(), queue.empty()) == (0, True)
