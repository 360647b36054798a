"""Reading records again: by offset, by time, and by a seek."""

import threading
import time
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any

import pytest
from acking import popped_by_the_jvm

import mmapqueue
from conftest import SMALL, Open, Waits, data, eventually
from mmapqueue._queue.consuming.thread_buffers import PopBuffer

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
#: Nothing goes away of itself.
KEEP = {"retain_bytes": "64m", "capacity": "64m"}


def offsets(messages: Any) -> list[int]:
    return [message.offset for message in messages]


# By offset


def test_get(any_queue: mmapqueue.Queue) -> None:
    records = [b"%d" % i * i for i in range(100)]
    any_queue.push_many(records)
    for offset in (0, 99, 50):
        message = any_queue.read_at(offset)
        assert (message.offset, message.data, message.attempts) == (offset, records[offset], 0)
    assert any_queue.qsize() == 100
    popped = any_queue.pop()
    assert popped._replace(attempts=0, origin=None) == any_queue.read_at(0)._replace(origin=None)
    for offset in (100, -1, 2**62, 2**63, -(2**70)):
        for call in (partial(any_queue.read_at, offset), partial(any_queue.read_many, offset, 5)):
            with pytest.raises(mmapqueue.OutOfRange, match=r"0\.\.99") as caught:
                call()
            assert (caught.value.first, caught.value.last) == (0, 99)
    for wrong in ("0", 1.0, None):
        with pytest.raises(TypeError):
            any_queue.read_at(wrong)  # type: ignore[arg-type]


def test_get_many(open_queue: Open) -> None:
    queue = open_queue(**KEEP)
    queue.push_many(b"%d" % i for i in range(30_000))
    for offset, count, found in ((0, 1, 1), (17, 2, 2), (5, 600, 600), (0, 10**12, 30_000), (29_998, 5, 2)):
        messages = queue.read_many(offset, count)
        assert offsets(messages) == list(range(offset, offset + found))
        assert data(messages) == [b"%d" % i for i in range(offset, offset + found)]
        assert {m.attempts for m in messages} == {0}
        assert all(m.timestamp is not None for m in messages)
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="max_records"):
            queue.read_many(0, wrong)
    assert queue.qsize() == 30_000


def test_get_many_of_every_size(open_queue: Open) -> None:
    queue = open_queue(**KEEP, max_event_size="3m")
    sizes = [0, 1, 100_000, 70_000, 2_500_000, 5, 60_000, 900_000, 3_000_000, 17] * 2
    records = [bytes([i % 251]) * size for i, size in enumerate(sizes)]
    queue.push_many(records)
    assert data(queue.read_many(0, 100)) == records
    assert [queue.read_at(i).data for i in range(20)] == records


def test_what_is_not_retained_is_out_of_range(open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    for i in range(100):
        queue.push(b"%d" % i * 300)
        queue.ack(queue.pop())
    first = queue.first_offset()
    assert 0 < first <= 100 == queue.end_offset()
    assert queue.stats().first_offset == first
    with pytest.raises(mmapqueue.OutOfRange) as caught:
        queue.read_at(first - 1)
    assert caught.value.first == first
    queue.push(b"last")
    assert queue.read_at(100).data == b"last"
    assert queue.first_offset() <= 100


def test_an_empty_queue(any_queue: mmapqueue.Queue) -> None:
    assert (any_queue.first_offset(), any_queue.end_offset()) == (0, 0)
    with pytest.raises(mmapqueue.OutOfRange):
        any_queue.read_at(0)
    with pytest.raises(mmapqueue.OutOfRange):
        any_queue.read_many(0, 10)
    any_queue.seek("earliest")
    any_queue.seek("latest")
    any_queue.seek("committed")
    any_queue.seek(0)
    assert any_queue.pop_many() == []


def test_many_read_at_once(open_queue: Open, in_thread: Any) -> None:
    queue = open_queue(**KEEP)
    records = [b"%d" % i * 20 for i in range(5000)]
    queue.push_many(records)

    def read(number: int) -> None:
        for offset in range(number, 5000, 500):
            assert data(queue.read_many(offset, 300)) == records[offset : offset + 300]
            assert queue.read_at(offset).data == records[offset]

    for task in [in_thread(lambda n=n: read(n)) for n in range(8)]:
        task.result(60)


# By time


def test_find(open_queue: Open) -> None:
    queue = open_queue(**KEEP)
    for i in range(20):
        queue.push(b"%d" % i)
    messages = queue.read_many(0, 20)
    times = [message.timestamp for message in messages if message.timestamp is not None]
    assert len(times) == 20
    for moment in {*times, *(t + timedelta(microseconds=1) for t in times), EPOCH, EPOCH - timedelta(days=365)}:
        expected = next((offset for offset, time in enumerate(times) if time >= moment), None)
        assert queue.find(moment) == expected
        queue.seek(moment)
        assert queue.qsize() == (0 if expected is None else 20 - expected)
    with pytest.raises(ValueError, match="naive"):
        queue.find(datetime.now())
    for wrong in (time.time(), "now", None, 0):
        with pytest.raises(TypeError, match="aware datetime"):
            queue.find(wrong)  # type: ignore[arg-type]


# Going elsewhere


def test_seek(open_queue: Open) -> None:
    queue = open_queue(**KEEP)
    queue.push_many(b"%d" % i for i in range(100))
    queue.ack_up_to(queue.pop_many(50)[39])
    for target, first in ((10, 10), ("earliest", 0), ("latest", 100), (100, 100), (99, 99), ("Earliest", 0), (70, 70)):
        queue.seek(target)
        assert (queue.qsize(), queue.lag(), queue.unacked()) == (100 - first, 100 - first, 0)
        assert [(m.offset, m.attempts) for m in queue] == [(i, 1) for i in range(first, 100)]
    queue.close()
    assert offsets(open_queue(**KEEP)) == list(range(70, 100))


def test_seek_to_committed_releases_records_in_flight(any_queue: mmapqueue.Queue) -> None:
    any_queue.push_many(b"%d" % i for i in range(10))
    any_queue.pop_many(6)
    any_queue.ack_up_to(1)
    any_queue.ack(4)
    any_queue.seek("committed")
    assert [(m.offset, m.attempts) for m in any_queue] == [(2, 2), (3, 2), (5, 2), (6, 1), (7, 1), (8, 1), (9, 1)]


def test_a_bad_target_moves_nothing(any_queue: mmapqueue.Queue) -> None:
    any_queue.push_many(b"%d" % i for i in range(20))
    iterator = any_queue.consume(max_records=10)
    assert next(iterator).offset == 0
    for word in ("middle", "", "offset:3", "0\0x"):
        with pytest.raises(mmapqueue.ConfigError, match="latest or committed") as caught:
            any_queue.seek(word)
        assert (caught.value.key, caught.value.value) == ("target", word)
    for offset in (-1, 21, 2**63, -(2**70)):
        with pytest.raises(mmapqueue.OutOfRange):
            any_queue.seek(offset)
    with pytest.raises(ValueError, match="naive"):
        any_queue.seek(datetime(2024, 1, 1))
    for wrong in (1.5, None, True, b"latest"):
        with pytest.raises(TypeError):
            any_queue.seek(wrong)  # type: ignore[arg-type]
    assert next(iterator).offset == 1
    iterator.close()
    assert offsets(any_queue) == list(range(2, 20))


def test_after_seek_nothing_older_comes(open_queue: Open) -> None:
    queue = open_queue(**KEEP)
    queue.push_many(b"%d" % i for i in range(100))
    left = queue.consume(max_records=10)
    assert next(left).offset == 0
    left.close()
    alive = queue.consume(timeout=0, max_records=10)
    # Of what has come back.
    assert next(alive).offset == 1
    other = queue.consume(timeout=0, max_records=10)
    assert next(other).offset == 11
    queue.seek(50)
    # Iterators drop their batches, and continue at the target.
    assert [next(alive).offset, next(alive).offset] == [50, 51]
    assert [next(other).offset, next(other).offset] == [60, 61]
    alive.close()
    assert offsets(queue.pop_many(8)) == list(range(52, 60))
    queue.seek("latest")
    assert list(other) == []
    queue.push(b"new")
    assert offsets(queue) == [100]


def test_seek_forgets_what_a_dead_thread_has_left(open_queue: Open, in_thread: Any) -> None:
    queue = open_queue(**KEEP)
    queue.push_many(b"%d" % i for i in range(100))
    popper = queue.consumer("default")._popper
    ended = threading.Event()

    def die() -> None:
        popped_by_the_jvm(popper, 3)
        ended.set()

    threading.Thread(target=die).start()
    assert ended.wait(60)
    assert eventually(lambda: bool(popper.delivery.leftovers.orphans))

    def hang() -> PopBuffer:
        own = popped_by_the_jvm(popper, 3)
        own.busy = False
        return own

    kept = in_thread(hang).result(60)
    queue.seek(1)
    assert kept.state[2] == ()
    assert offsets(queue) == list(range(1, 100))


def test_seek_beside_threads_that_pop(open_queue: Open, in_thread: Any) -> None:
    """A call ends before the seek or begins after it: records after a seek are at its target or later."""
    queue = open_queue(**KEEP)
    total = 3000
    queue.push_many(b"%d" % i for i in range(total))
    lock = threading.Lock()
    # Offsets in the order in which they were handed out, one list for each target that was gone to.
    rounds: list[list[int]] = [[]]
    stop = threading.Event()

    def pop(number: int) -> None:
        while not stop.is_set():
            if number % 2:
                batch = queue.pop_many(7, timeout=0.05)
                with lock:
                    rounds[-1] += offsets(batch)
            else:
                for message in queue.consume(timeout=0.05, max_records=7):
                    with lock:
                        rounds[-1].append(message.offset)

    tasks = [in_thread(lambda n=n: pop(n)) for n in range(4)]
    previous: int | str = 0
    for target in (1000, 0, 2999, 1, 2000, "latest", 5):
        assert previous == "latest" or eventually(lambda: rounds[-1])
        with lock:
            queue.seek(target)
            rounds.append([])
        previous = target
    assert eventually(lambda: queue.qsize() == 0)
    stop.set()
    for task in tasks:
        task.result(60)
    # In the last round each record comes once; records that were being appended to the list at the seek are in it, too.
    last = sorted(rounds[-1])
    assert set(range(5, total)) <= set(last)
    assert len(last) - len(set(last)) <= 4 * 7
    assert len(last) <= total - 5 + 4 * 7


def test_a_seek_of_a_thread_ends_waiting_pops_of_none(open_queue: Open, in_thread: Any, waits: Waits) -> None:
    queue = open_queue(**KEEP)
    queue.push_many([b"0", b"1"])
    assert offsets(queue) == [0, 1]
    waiting = in_thread(lambda: queue.pop(timeout=120))
    waits.until(threads=1)
    assert not waiting.done()
    queue.seek(1)
    assert waiting.result(60).offset == 1


# The disk


def test_gc_gives_files_back(open_queue: Open) -> None:
    queue = open_queue(segment_size="64k", capacity="4m")
    for _ in range(3):
        queue.push_many([b"x" * 1000] * 1500)
        queue.ack_up_to(queue.pop_many(1500)[-1])
    queue.flush()
    released = queue.gc()
    assert released > 1 << 20
    assert released % (64 << 10) == 0
    assert queue.gc() == 0
    queue.push_many([b"y" * 1000] * 1500)
    assert data(queue) == [b"y" * 1000] * 1500


def test_a_wrong_seek_target_names_its_parameter(small_queue: mmapqueue.Queue) -> None:
    with pytest.raises(
        mmapqueue.ConfigError, match=r"^target = 'start' is invalid; allowed: earliest, latest or"
    ) as caught:
        small_queue.seek("start")
    assert caught.value.key == "target"
    with pytest.raises(mmapqueue.ConfigError, match=r"^start = 'begin' is invalid"):
        small_queue.create_consumer("c", start="begin")
