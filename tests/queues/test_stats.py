"""What statistics say about the ring, and how fast it is used."""

from __future__ import annotations

from typing import Any

import pytest

import mmapqueue
from conftest import SMALL, Open, fill
from mmapqueue._queue import queue as queue_module


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(queue_module, "monotonic", clock)
    return clock


def rates(stats: mmapqueue.Stats) -> tuple[float, ...]:
    return (
        stats.pushed_per_second,
        stats.pushed_bytes_per_second,
        stats.popped_per_second,
        stats.popped_bytes_per_second,
    )


def test_an_empty_ring_is_empty_and_a_full_one_full(open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    stats = queue.stats()
    assert (stats.records, stats.bytes_used, stats.fill) == (0, 0, 0.0)
    assert stats.capacity == 16 * 4096
    queue.create_consumer("default")
    taken = fill(queue, b"x" * 100)
    stats = queue.stats()
    assert stats.records == taken
    assert stats.capacity - 200 <= stats.bytes_used <= stats.capacity
    assert 0.99 < stats.fill <= 1
    # Acks inside of a segment make no room.
    queue.pop_many(taken)
    queue.ack_up_to(5)
    assert (queue.stats().records, queue.stats().fill) == (taken - 6, stats.fill)
    queue.ack_up_to(taken // 2)
    half = queue.stats()
    assert half.bytes_used == half.end_position - half.low_watermark // 4096 * 4096
    assert 0.4 < half.fill < 0.6
    queue.ack_up_to(taken - 1)
    stats = queue.stats()
    assert (stats.records, stats.bytes_used, stats.fill) == (0, 0, 0.0)


def test_the_consumer_that_holds_the_ring_is_named(open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    assert queue.stats().slowest_consumer is None
    queue.push_many([b"x" * 100] * 100)
    assert queue.stats().records == 100
    fast, slow = queue.consumer("fast"), queue.consumer("slow")
    fast.ack_up_to(fast.pop_many(90)[-1])
    slow.ack_up_to(slow.pop_many(30)[-1])
    stats = queue.stats()
    assert (stats.slowest_consumer, stats.records) == ("slow", 70)


def test_rates_are_means_since_a_call_a_second_ago(open_queue: Open, clock: Clock) -> None:
    queue = open_queue(**SMALL, timestamps=False)
    queue.push_many([b"x" * 100] * 5)
    first = queue.stats()
    assert rates(first) == (0, 0, 0, 0)
    queue.push_many([b"x" * 100] * 20)
    queue.pop_many(10)
    clock.now += 2
    stats = queue.stats()
    assert rates(stats)[:3] == (10, (stats.end_position - first.end_position) / 2, 0)
    # The consumer is known from now on.
    queue.pop_many(8)
    clock.now += 0.5
    stats = queue.stats()
    read = queue.consumer_stats()["default"]
    assert read.read_offset == 18
    assert rates(stats)[0] == 20 / 2.5
    clock.now += 0.5
    assert queue.stats().popped_per_second == 8
    assert queue.stats().popped_bytes_per_second == pytest.approx(8 * (read.read_position / 18), rel=0.1)
    clock.now += 10
    queue.stats()
    clock.now += 1
    assert rates(queue.stats()) == (0, 0, 0, 0)


def test_a_consumer_that_was_moved_back_has_popped_nothing(open_queue: Open, clock: Clock) -> None:
    queue = open_queue(**SMALL)
    queue.push_many([b"x"] * 10)
    queue.pop_many()
    queue.stats()
    queue.seek("earliest")
    clock.now += 5
    assert rates(queue.stats())[2:] == (0, 0)


def test_many_calls_keep_few_samples(open_queue: Open, clock: Clock) -> None:
    queue = open_queue(**SMALL)
    for _ in range(300):
        queue.push(b"x")
        clock.now += 0.01
        stats = queue.stats()
    assert len(queue._rates._samples) <= 12
    assert stats.pushed_per_second == pytest.approx(100, rel=0.05)


def test_positions_of_a_consumer_that_another_process_owns(open_queue: Open, script: Any) -> None:
    queue = open_queue(**SMALL)
    queue.push_many([b"x" * 100] * 10)
    code = """
        import sys, mmapqueue
        with mmapqueue.Queue(sys.argv[1], consumer="other", read_only=True) as queue:
            queue.ack_up_to(queue.pop_many(5)[2])
            found = queue.consumer_stats()["other"]
            print(found.read_offset, found.read_position > 0, found.committed_offset)
    """
    assert script.run(code, queue.path) == "5 True 3\n"
    found = queue.consumer_stats()["other"]
    assert (found.read_offset, found.committed_offset) == (3, 3)
    assert found.read_position == queue.stats().low_watermark
