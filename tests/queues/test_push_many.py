"""Pushes of many records in one call, atomic or not."""

import asyncio
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

import mmapqueue
from conftest import SMALL, Open, Script, data, fill


def test_push_many_takes_any_iterable_of_any_length(any_queue: mmapqueue.Queue) -> None:
    assert any_queue.push_many([]) == 0
    assert any_queue.push_many(b"%d" % i for i in range(1500)) == 1500
    assert any_queue.push_many({b"1500": None}) == 1
    assert any_queue.push_many((), atomic=True) == 0
    assert data(any_queue.consume(timeout=0)) == [b"%d" % i for i in range(1501)]


def _in_one_buffer(records: list[bytes]) -> Iterator[bytearray | memoryview]:
    """What a loop of `readinto` yields: every record in the same memory."""
    buffer = bytearray(4)
    for number, record in enumerate(records):
        buffer[:] = record
        yield memoryview(buffer) if number % 2 else buffer


def test_an_iterator_may_use_one_buffer_for_all_records(any_queue: mmapqueue.Queue) -> None:
    records = [b"%04d" % number for number in range(600)]
    assert any_queue.push_many(_in_one_buffer(records)) == 600
    assert any_queue.push_many(_in_one_buffer(records), atomic=True) == 600
    assert any_queue.push_once("importer", 1, _in_one_buffer(records)) == 1200
    assert asyncio.run(any_queue.apush_many(_in_one_buffer(records))) == 600
    assert data(any_queue) == records * 4


def test_an_iterator_may_push_and_close_itself(small_queue: mmapqueue.Queue) -> None:
    def records() -> Iterator[bytes]:
        small_queue.push(b"one")
        yield b"two"
        small_queue.close()

    with pytest.raises(mmapqueue.Closed) as caught:
        small_queue.push_many(records())
    assert caught.value.pushed == 0
    with mmapqueue.Queue(small_queue.path) as queue:
        assert data(queue) == [b"one"]


def test_push_many_of_more_than_any_buffer_holds(open_queue: Open) -> None:
    queue = open_queue(capacity="64m", max_event_size="3m")
    sizes = [0, 1, 100_000, 70_000, 2_500_000, 5, 60_000, 900_000, 3_000_000, 17] * 3
    records = [bytes([i % 251]) * size for i, size in enumerate(sizes)]
    assert queue.push_many(records) == len(records)
    assert [queue.pop().data for _ in records[:10]] == records[:10]
    assert data(queue.pop_many()) == records[10:]


def test_full_says_how_many_went_in(small_queue: mmapqueue.Queue) -> None:
    records = [b"%04d" % i * 100 for i in range(1000)]
    with pytest.raises(mmapqueue.Full) as caught:
        small_queue.push_many(records, block=False)
    pushed = caught.value.pushed
    assert 0 < pushed < 1000
    assert small_queue.qsize() == pushed
    # Exactly: not one more would have gone in.
    with pytest.raises(mmapqueue.Full) as caught:
        small_queue.push_many(iter(records[pushed:]), timeout=0.05)
    assert caught.value.pushed == 0
    assert data(small_queue) == records[:pushed]


def test_push_many_fills_what_single_pushes_fill(open_queue: Open, tmp_path: object) -> None:
    one_by_one = fill(open_queue(f"{tmp_path}/a", **SMALL))
    with pytest.raises(mmapqueue.Full) as caught:
        open_queue(f"{tmp_path}/b", **SMALL).push_many((b"x" * 500 for _ in count()), block=False)
    assert caught.value.pushed == one_by_one


def test_an_atomic_batch_goes_in_whole_or_not_at_all(small_queue: mmapqueue.Queue) -> None:
    room = fill(small_queue)
    small_queue.pop_many(room)
    small_queue.ack_up_to(room // 2)
    before = small_queue.stats().end_offset
    with pytest.raises(mmapqueue.Full) as caught:
        small_queue.push_many([b"x" * 500] * (room * 3 // 4), block=False, atomic=True)
    assert caught.value.pushed == 0
    with pytest.raises(mmapqueue.Full):
        small_queue.push_many([b"x" * 500] * (room * 3 // 4), timeout=0.05, atomic=True)
    assert small_queue.stats().end_offset == before
    assert small_queue.push_many([b"y" * 500] * (room // 4), atomic=True) == room // 4
    assert small_queue.stats().end_offset == before + room // 4


def test_an_atomic_batch_may_be_larger_than_any_buffer(open_queue: Open) -> None:
    queue = open_queue(capacity="64m")
    records = [b"%05d" % i * 60 for i in range(15_000)]
    assert queue.push_many(records, atomic=True) == len(records)
    assert data(queue.pop_many(20_000)) == records


def test_an_atomic_batch_larger_than_the_queue_is_too_large(small_queue: mmapqueue.Queue) -> None:
    with pytest.raises(mmapqueue.TooLarge) as caught:
        small_queue.push_many([b"x" * 1000] * 200, atomic=True)
    assert caught.value.pushed == 0
    # Just below the size of the files, and above what they can hold.
    with pytest.raises(mmapqueue.TooLarge):
        small_queue.push_many([b"x" * 1000] * 65, atomic=True)
    assert small_queue.qsize() == 0


def test_what_does_not_go_through_the_heap_at_once_is_too_large(script: Script, tmp_path: Path) -> None:
    # In a process of its own: shipping tests give the JVM of this one a larger heap.
    out = script.run(
        """
        import sys
        import mmapqueue
        with mmapqueue.Queue(sys.argv[1], capacity="64m") as queue:
            try:
                queue.push_many([b"x" * 20_000] * 2000, atomic=True)
            except mmapqueue.TooLarge as error:
                print("heap" in str(error), queue.qsize(), queue.push(b"still works"))
        """,
        tmp_path / "queue",
    )
    assert out.split() == ["True", "0", "0"]
