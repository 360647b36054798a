"""Acks of single records, the limit of records in flight, and records that are dropped or redelivered."""

import time
from collections.abc import Callable
from datetime import datetime, timezone
from itertools import pairwise
from typing import Any

import pytest
from acking import pushed, seen

import mmapqueue
from conftest import SMALL, Open, Script, Waits, data
from mmapqueue._jvm.shared_buffer import SMALL_BYTES


def test_single_acks_commit_what_has_no_gap(any_queue: mmapqueue.Queue) -> None:
    messages = pushed(any_queue, 10).pop_many(8)
    any_queue.ack(messages[2])
    any_queue.ack(4)
    assert (any_queue.lag(), any_queue.unacked()) == (8, 6)
    any_queue.ack(0)
    assert (any_queue.lag(), any_queue.unacked()) == (7, 5)
    any_queue.ack(1)
    assert (any_queue.lag(), any_queue.unacked()) == (6, 4)
    any_queue.ack(1)
    any_queue.ack_up_to(3)
    assert (any_queue.lag(), any_queue.unacked()) == (5, 3)
    assert any_queue.qsize() == 2


def test_a_record_that_was_acked_alone_is_not_redelivered(open_queue: Open) -> None:
    queue = pushed(open_queue(**SMALL), 10)
    queue.ack_many(queue.pop_many(8)[1:8:2])
    queue.close()
    queue = open_queue(**SMALL)
    assert queue.lag() == 6
    assert sorted(m.offset for m in queue) == [0, 2, 4, 6, 8, 9]


# As many as one piece of shared memory of either size holds, some more, and more than any.
@pytest.mark.parametrize("count", [1, 2, 6000, 7000, 150_000, 200_000])
def test_ack_many(open_queue: Open, count: int) -> None:
    queue = open_queue(capacity="64m")
    queue.push_many([b"x"] * (count + 1))
    messages = queue.pop_many(count)
    assert len(messages) == count
    queue.ack_many(messages[1:][::-1])
    assert (queue.lag(), queue.unacked()) == (2, 1)
    queue.ack_many(iter([0]))
    assert (queue.lag(), queue.unacked()) == (1, 0)
    queue.ack_many([])


def test_ack_many_is_all_or_nothing(any_queue: mmapqueue.Queue) -> None:
    messages = pushed(any_queue, 10).pop_many(5)
    for offset in (5, 9, 10, -1, 2**70, -(2**70)):
        with pytest.raises(mmapqueue.OutOfRange):
            any_queue.ack_many([*messages, offset])
    for wrong in ("0", 1.0, None, b"0"):
        with pytest.raises(TypeError):
            any_queue.ack_many([*messages, wrong])
    with pytest.raises(TypeError, match=r"for one there is ack$"):
        any_queue.ack_many(messages[0])
    assert (any_queue.lag(), any_queue.unacked()) == (10, 5)
    any_queue.ack_many([4, messages[2], 4, *messages])
    assert (any_queue.lag(), any_queue.unacked()) == (5, 0)


def test_ack_many_without_shared_memory(open_queue: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = pushed(open_queue(), 2000)
    messages = queue.pop_many(2000)
    # As where no memory can be had that both processes map.
    monkeypatch.setattr(queue._handle.pool._allocator, "shared", lambda _size: None)
    queue._handle.pool._free[SMALL_BYTES].clear()
    with pytest.warns(RuntimeWarning, match="shared"):
        queue.ack_many(messages[:1000])
    assert queue.lag() == 1000
    assert data(queue.read_many(1000, 3)) == [b"1000", b"1001", b"1002"]


@pytest.mark.parametrize("offset", [10, 2**63 - 1, 2**70, -1, -(2**70)])
def test_no_offset_is_too_large_to_be_refused(any_queue: mmapqueue.Queue, offset: int) -> None:
    pushed(any_queue, 10).pop_many(3)
    calls: tuple[Callable[[], None], ...] = (
        lambda: any_queue.ack(offset),
        lambda: any_queue.ack_up_to(offset),
        lambda: any_queue.ack_many([offset]),
        lambda: any_queue.nack(offset),
    )
    for call in calls:
        with pytest.raises(mmapqueue.OutOfRange, match=r"available: 0\.\.2"):
            call()
    assert (any_queue.lag(), any_queue.unacked()) == (10, 3)


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
    queue.ack(3)
    with pytest.raises(mmapqueue.UnackedLimit):
        queue.pop(block=False)
    queue.ack(0)
    assert seen(queue.pop_many()) == [(8, 1)]
    queue.ack_up_to(8)
    assert seen(queue.pop_many(100)) == [(i, 1) for i in range(9, 17)]


def test_a_pop_at_the_limit_waits_for_an_ack(open_queue: Open, in_thread: Any, waits: Waits) -> None:
    queue = pushed(open_queue(max_unacked=2), 4)
    queue.pop_many(2)
    waiting = in_thread(lambda: queue.pop(timeout=120))
    waits.until(threads=1)
    assert not waiting.done()
    queue.ack(0)
    assert waiting.result(60).offset == 2


def test_a_record_is_redelivered_after_visibility_timeout(open_queue: Open) -> None:
    queue = pushed(open_queue(visibility_timeout="6s"), 4)
    popped = time.monotonic()
    assert seen(queue.pop_many()) == [(i, 1) for i in range(4)]
    queue.ack(2)
    assert seen([queue.pop(timeout=60)]) == [(0, 2)]
    # The JVM counts whole milliseconds.
    assert time.monotonic() - popped >= 2.998
    assert seen(queue.pop_many(timeout=60)) == [(1, 2), (3, 2)]
    queue.ack_up_to(3)
    assert queue.pop_many(timeout=3.2) == []


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
    count = 3000
    records = [b"%04d" % i * 50 for i in range(count)]
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
    # What the ring had no room for is dropped in any case, more when the writer comes to it.
    in_the_ring = 64 * 4096 // (200 + 16)
    assert count - in_the_ring <= lost < count
    left = [m for m in messages if m.offset >= lost]
    assert [m.offset for m in left] == list(range(lost, count))
    assert data(left) == records[lost:]
    slow.ack_up_to(count - 1)
    assert slow.lag() == 0


def test_what_was_dropped_does_not_come_back_from_an_iterator(open_queue: Open) -> None:
    queue = open_queue(segment_size="4k", queue_capacity_segments=64, max_event_size=1000, max_consumer_lag="32k")
    slow = queue.consumer("slow")
    queue.push_many([b"x" * 200] * 20)
    assert next(slow.consume(max_records=10)).offset == 0
    for _ in range(3000):
        queue.push(b"y" * 200)
        for message in queue.pop_many():
            queue.ack(message)
    # An ack may raise it.
    with pytest.raises(mmapqueue.Dropped) as caught:
        slow.ack(0)
    drops, messages = told_of_drops(slow)
    last = max(drop.last for drop in [caught.value, *drops])
    assert [m.offset for m in messages] == list(range(last + 1, 3020))


def test_acked_ranges_of_a_consumer_that_another_process_owns(script: Script) -> None:
    path = script.directory / "queue"
    owner = script.start(
        """
        import sys, mmapqueue
        queue = mmapqueue.Queue(sys.argv[1], ack_linger=0)
        queue.push_many([b"x"] * 10)
        messages = queue.pop_many(10)
        for command in sys.stdin:
            queue.ack_many([messages[int(offset)] for offset in command.split()])
            queue.flush()
            print("stored", flush=True)
        """,
        path,
    )

    def ack(offsets: str) -> None:
        assert owner.stdin
        assert owner.stdout
        owner.stdin.write(f"{offsets}\n")
        owner.stdin.flush()
        assert owner.stdout.readline() == "stored\n"

    ack("0 1 3 4 7")
    with mmapqueue.Queue(path, read_only=True) as queue:
        assert queue.acked_ranges("default") == [range(2), range(3, 5), range(7, 8)]
        ack("2 8")
        assert queue.acked_ranges("default") == [range(5), range(7, 9)]
        owner.kill()
        owner.wait()
        assert queue.acked_ranges("default") == [range(5), range(7, 9)]
        assert queue.acked_ranges("nobody") == []
        with pytest.raises(mmapqueue.ConfigError, match="consumer"):
            queue.acked_ranges("../default")
        with pytest.raises(TypeError, match="consumer is a name"):
            queue.acked_ranges(None)  # type: ignore[arg-type]


def test_a_kill_brings_back_what_was_not_acked(script: Script, open_queue: Open) -> None:
    process = script.start(
        """
        import os, signal, sys
        import mmapqueue
        from mmapqueue._jvm import standalone
        queue = mmapqueue.Queue(sys.argv[1])
        queue.push_many([b"%d" % i for i in range(10)])
        messages = queue.pop_many(6)
        queue.ack_up_to(1)
        queue.ack(4)
        queue.nack(2)
        standalone._running.process.kill()
        standalone._running.process.wait()
        os.kill(os.getpid(), signal.SIGKILL)
        """,
        script.directory / "queue",
    )
    process.communicate(timeout=120)
    assert process.returncode == -9
    queue = open_queue()
    assert seen(queue) == [(i, 1) for i in range(2, 10)]
    assert all(m.timestamp and m.timestamp <= datetime.now(timezone.utc) for m in queue.read_many(2, 8))


# Records that were popped ahead


def test_sizes_after_a_reopen_leave_out_what_was_acked_alone(open_queue: Open) -> None:
    queue = pushed(open_queue(**SMALL), 5)
    queue.pop_many(4)
    queue.ack_many([1, 2])
    queue.close()
    queue = open_queue(**SMALL)
    assert (queue.qsize(), queue.lag(), queue.empty()) == (3, 3, False)
    assert queue.pop().offset == 0
    assert queue.qsize() == 2
    queue.ack(0)
    assert (queue.qsize(), queue.lag()) == (2, 2)
    assert data(queue) == [b"3", b"4"]
    assert (queue.qsize(), queue.empty()) == (0, True)
