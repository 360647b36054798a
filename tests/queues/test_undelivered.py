"""Records that were popped and not delivered."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from acking import pushed, seen
from memory_consumer import Clock, MemoryConsumer

import mmapqueue
from conftest import SMALL, Open


@pytest.fixture
def memory() -> MemoryConsumer:
    return MemoryConsumer()


def test_what_came_back_from_an_iterator_counts_as_not_popped(memory: MemoryConsumer) -> None:
    pushed(memory, 20)
    for message in memory.consume(max_records=10):
        if message.offset == 4:
            break
    assert (memory.qsize(), memory.unacked()) == (15, 5)
    for offset in (5, 9):
        calls: tuple[Callable[[], object], ...] = (
            partial(memory.ack, offset),
            partial(memory.ack_up_to, offset),
            partial(memory.ack_many, [3, offset]),
            partial(memory.nack, offset),
        )
        for call in calls:
            with pytest.raises(mmapqueue.OutOfRange, match=r"not popped.*available: 0\.\.4") as caught:
                call()
            assert (caught.value.requested, caught.value.first, caught.value.last) == (offset, 0, 4)
    memory.nack(3)
    memory.ack_up_to(2)
    assert seen(memory) == [(3, 2), *((i, 1) for i in range(5, 20))]
    memory.ack_up_to(19)
    assert (memory.lag(), memory.unacked(), memory.qsize()) == (0, 0, 0)


def test_the_available_records_begin_with_the_first_that_is_not_acked(memory: MemoryConsumer) -> None:
    pushed(memory, 20)
    for message in memory.consume(max_records=10):
        if message.offset == 4:
            break
    memory.ack_many([0, 2, 3])
    with pytest.raises(mmapqueue.OutOfRange, match=r"not popped.*available: 1\.\.4") as caught:
        memory.nack(5)
    assert (caught.value.first, caught.value.last) == (1, 4)


def test_an_ack_beyond_what_came_back_is_for_that_too(memory: MemoryConsumer) -> None:
    pushed(memory, 20)
    iterator = memory.consume(max_records=10)
    next(iterator)
    assert memory.pop().offset == 10
    iterator.close()
    memory.ack_up_to(10)
    assert seen(memory) == [(i, 1) for i in range(11, 20)]


def test_what_an_iterator_holds_for_too_long_comes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    queue = pushed(MemoryConsumer(clock, visibility=3), 6)
    iterator = queue.consume(timeout=60, max_records=4)
    first = next(iterator)
    clock.sleep(3)
    assert seen([queue.peek()]) == [(0, 2)]
    # The JVM has requeued the undelivered records of the iterator, which continues with redelivered ones.
    got = [first, *(next(iterator) for _ in range(6))]
    assert seen(got) == [(0, 1), (0, 2), (1, 2), (2, 2), (3, 2), (4, 1), (5, 1)]
    iterator.close()
    queue.ack_up_to(5)
    assert queue.qsize() == 0


def test_what_came_back_and_lay_for_too_long_comes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    queue = pushed(MemoryConsumer(clock, visibility=3), 6)
    for message in queue.consume(max_records=4):
        queue.ack(message)
        break
    clock.sleep(3)
    assert seen([queue.peek()]) == [(1, 2)]
    assert queue.qsize() == 5
    assert seen(queue.pop_many()) == [(1, 2), (2, 2), (3, 2), (4, 1), (5, 1)]


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


def take_by_consume(queue: mmapqueue.Queue, given: list[tuple[int, int]]) -> None:
    """Handles one record in a loop that the close interrupts."""
    for message in queue.consume():
        given.append((message.offset, message.attempts))
        queue.ack(message)
        queue.close()


def take_by_aconsume(queue: mmapqueue.Queue, given: list[tuple[int, int]]) -> None:
    async def run() -> None:
        async for message in queue.aconsume():
            given.append((message.offset, message.attempts))
            await queue.aack(message)
            await queue.aclose()

    asyncio.run(run())


def take_by_process(queue: mmapqueue.Queue, given: list[tuple[int, int]]) -> None:
    def handle(message: mmapqueue.Message) -> None:
        given.append((message.offset, message.attempts))
        message.ack()
        queue.close()

    queue.process(handle)


@pytest.mark.parametrize("take", [take_by_consume, take_by_aconsume, take_by_process])
def test_a_close_beside_a_loop_releases_what_it_has_not_given(
    open_queue: Open, tmp_path: Path, take: Callable[[mmapqueue.Queue, list[tuple[int, int]]], None]
) -> None:
    options: dict[str, Any] = {"max_attempts": 2, "dead_letter_dir": str(tmp_path / "dead"), **SMALL}
    pushed(open_queue(**options), 10).close()
    given: list[tuple[int, int]] = []
    for _ in range(10):
        queue = open_queue(**options)
        with pytest.raises(mmapqueue.Closed):
            take(queue, given)
    assert given == [(offset, 1) for offset in range(10)]
    assert not (tmp_path / "dead").exists()


def test_a_requeued_record_comes_before_undelivered_ones(memory: MemoryConsumer) -> None:
    pushed(memory, 4)
    memory.nack(next(memory.consume()))
    assert (memory.unacked(), memory.qsize()) == (0, 4)
    assert seen(memory) == [(0, 2), (1, 1), (2, 1), (3, 1)]


def test_what_comes_back_while_others_are_released_is_delivered(
    memory: MemoryConsumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushed(memory, 30)
    iterators = [memory.consume(max_records=10) for _ in range(3)]
    first, *_ = [next(each) for each in iterators]
    release = memory.port.release

    def release_later(offsets: list[int]) -> None:
        iterators[1].close()  # As in another thread, whose loop ends.
        release(offsets)

    iterators[0].close()
    iterators[2].close()
    monkeypatch.setattr(memory.port, "release", release_later)
    memory.nack(first)
    assert sorted(message.offset for message in memory.pop_many()) == [*range(10), *range(11, 20), *range(21, 30)]


def test_seek_to_committed_releases_undelivered_records(memory: MemoryConsumer) -> None:
    pushed(memory, 6)
    for message in memory.consume():
        if message.offset == 1:
            break
    memory.seek("committed")
    assert seen(memory) == [(0, 2), (1, 2), (2, 1), (3, 1), (4, 1), (5, 1)]


def test_closing_a_consumer_releases_undelivered_records(any_queue: mmapqueue.Queue) -> None:
    consumer = pushed(any_queue, 4).consumer("other")
    for message in consumer.consume():
        consumer.ack(message)
        break
    consumer.close()
    assert seen(any_queue.consumer("other")) == [(1, 1), (2, 1), (3, 1)]
