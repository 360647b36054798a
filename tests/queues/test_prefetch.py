"""Prefetched pops keep every promise of pops that call the JVM each time; so do coalesced acks beside them."""

import gc
import threading
from collections.abc import Callable
from concurrent.futures import Future
from itertools import islice
from typing import Any

import pytest
from acking import popped_by_the_jvm
from memory_consumer import Clock, MemoryConsumer
from prefetching import in_jvm, prefetched, ready

import mmapqueue
from conftest import SMALL, Open, Script, data, eventually
from mmapqueue._queue.consuming import delivery


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that stands still: every pop is a quick one, and prefetches."""
    return Clock(monkeypatch)


def test_prefetched_records_count_as_not_popped(clock: Clock) -> None:
    queue = MemoryConsumer(clock)
    popped = prefetched(queue)
    assert in_jvm(queue, "unacked") == len(popped) + ready(queue)
    assert (queue.unacked(), queue.qsize()) == (len(popped), 100 - len(popped))
    assert queue.lag() == 100
    following = queue.peek()
    assert following is not None
    assert following == queue.pop()
    assert [m.offset for m in popped] == list(range(len(popped)))


@pytest.mark.parametrize("way", ["pop", "pop_many", "consume"])
def test_all_ways_to_pop_continue_with_prefetched_records(clock: Clock, way: str) -> None:
    queue = MemoryConsumer(clock)
    popped = prefetched(queue)
    if way == "pop":
        popped += [queue.pop(block=False) for _ in range(100 - len(popped))]
    elif way == "pop_many":
        while more := queue.pop_many(7):
            popped += more
    else:
        popped += list(islice(queue.consume(max_records=9), 20))
        popped += list(queue)
    assert [(m.offset, m.attempts) for m in popped] == [(offset, 1) for offset in range(100)]
    with pytest.raises(mmapqueue.Empty):
        queue.pop(timeout=0.01)


def test_other_threads_get_prefetched_records(
    clock: Clock, in_thread: Callable[[Callable[[], Any]], "Future[Any]"]
) -> None:
    queue = MemoryConsumer(clock)
    popped = prefetched(queue)
    left = ready(queue)
    offsets = [in_thread(lambda: queue.pop(block=False).offset).result(60) for _ in range(left)]
    assert offsets == list(range(len(popped), len(popped) + left))
    assert ready(queue) == 0


def test_threads_that_wait_get_a_record_each(in_thread: Callable[[Callable[[], Any]], "Future[Any]"]) -> None:
    queue = MemoryConsumer()
    barrier = threading.Barrier(4, timeout=60)

    def pop() -> int:
        offset = queue.pop(timeout=60).offset
        # All must have one at the same time.
        barrier.wait()
        return offset

    for _ in range(20):
        waiting = [in_thread(pop) for _ in range(4)]
        first = queue.push_many([b"x"] * 4)
        assert first == 4
        offsets = sorted(each.result(60) for each in waiting)
        assert offsets == list(range(offsets[0], offsets[0] + 4))


def test_a_slow_consumer_prefetches_little(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(delivery, "monotonic", lambda: now[0])
    consumer = delivery.Pace(4096)

    def wants(seconds: float) -> int:
        now[0] += seconds
        count = consumer.next()
        consumer.popped(count)
        return count

    # It doubles and more at a high pace, and follows a slow one at once.
    assert [wants(0.0001) for _ in range(6)] == [1, 8, 64, 512, 4096, 4096]
    assert wants(1.0) == 409
    assert [wants(60.0) for _ in range(3)] == [1, 1, 1]
    consumer.popped(4096)
    consumer.restart()
    assert wants(0.0001) == 1
    assert [delivery.Pace(most).next() for most in (0, 1)] == [1, 1]


def test_requeued_records_come_before_prefetched_ones(clock: Clock) -> None:
    queue = MemoryConsumer(clock)
    popped = prefetched(queue)
    queue.nack(popped[0])
    again = queue.pop()
    assert (again.offset, again.attempts) == (0, 2)
    following = queue.pop()
    assert (following.offset, following.attempts) == (len(popped), 1)


def test_requeued_records_come_before_prefetched_ones_that_an_ack_has_moved(clock: Clock) -> None:
    queue = MemoryConsumer(clock)
    popped = prefetched(queue)
    with pytest.raises(mmapqueue.OutOfRange):
        queue.ack_many([1000])
    queue.nack(popped[0])
    assert [(message.offset, message.attempts) for message in queue.pop_many(2)] == [(0, 2), (len(popped), 1)]


def test_released_records_count_as_not_popped(clock: Clock) -> None:
    queue = MemoryConsumer(clock)
    popped = prefetched(queue)
    queue.nack(popped[0])
    assert ready(queue) == 0
    assert queue.unacked() == in_jvm(queue, "unacked") == len(popped) - 1
    assert queue.qsize() == 100 - len(popped) + 1


def test_a_delayed_redelivery_comes_before_prefetched_records(open_queue: Open) -> None:
    queue = open_queue(capacity="64m")
    popped = prefetched(queue, 10_000)
    queue.nack(popped[0], delay=0.2)
    # At full pace it comes long before all others; a new record comes after it.
    found = [queue.pop()]
    while found[-1].offset:
        assert len(found) < 9000
        # The thread that is due may be slow.
        threading.Event().wait(0.001 if len(found) < 1000 else 0.02)
        found.append(queue.pop())
    assert found[-1].attempts == 2
    found += queue.pop_many(10_000)
    offsets = [message.offset for message in found if message.offset]
    assert offsets == list(range(len(popped), 10_000))


def test_a_record_that_was_not_delivered_cannot_be_acked(clock: Clock) -> None:
    queue = MemoryConsumer(clock)
    popped = prefetched(queue)
    following = queue.peek()
    assert following is not None
    calls: tuple[Callable[[], None], ...] = (
        lambda: queue.ack(following),
        lambda: queue.ack_up_to(following),
        lambda: queue.ack(following.offset),
        lambda: queue.nack(following),
        lambda: queue.ack_many([popped[0], following]),
    )
    for call in calls:
        with pytest.raises(mmapqueue.OutOfRange):
            call()
    assert (queue.lag(), queue.pop().offset) == (100, len(popped))


def test_max_unacked_counts_delivered_records(clock: Clock) -> None:
    queue = MemoryConsumer(clock, max_unacked=50)
    popped = prefetched(queue)
    while len(popped) < 50:
        popped.append(queue.pop(block=False))
    with pytest.raises(mmapqueue.UnackedLimit):
        queue.pop(block=False)
    queue.ack_up_to(popped[9])
    assert [queue.pop(block=False).offset for _ in range(10)] == list(range(50, 60))
    with pytest.raises(mmapqueue.UnackedLimit):
        queue.pop(timeout=0.05)


def test_a_close_releases_prefetched_records(open_queue: Open) -> None:
    queue = open_queue()
    popped = prefetched(queue)
    queue.ack_up_to(popped[-1])
    consumer = queue.consumer("default")
    queue.close()
    for closed in (queue, consumer):
        with pytest.raises(mmapqueue.Closed):
            closed.pop()
        with pytest.raises(mmapqueue.Closed):
            closed.ack_up_to(popped[-1])
    queue = open_queue()
    assert [(m.offset, m.attempts) for m in queue] == [(offset, 1) for offset in range(len(popped), 100)]


def test_a_closed_consumer_delivers_nothing(open_queue: Open) -> None:
    queue = open_queue()
    popped = prefetched(queue)
    consumer = queue.consumer("default")
    consumer.close()
    with pytest.raises(mmapqueue.Closed):
        consumer.pop()
    with pytest.raises(mmapqueue.Closed):
        consumer.ack(popped[0])
    # The queue opens it again.
    assert queue.pop().offset == 0


def test_a_seek_forgets_prefetched_records(open_queue: Open) -> None:
    queue = open_queue()
    popped = prefetched(queue)
    queue.seek(len(popped) + 5)
    assert queue.pop().offset == len(popped) + 5
    queue.seek("committed")
    queue.seek("earliest")
    assert [m.offset for m in queue] == list(range(len(popped) + 5, 100))


def test_a_purge_includes_prefetched_records(open_queue: Open) -> None:
    queue = open_queue()
    popped = prefetched(queue)
    queue.ack(popped[0])
    assert queue.purge() == 99
    assert (queue.lag(), queue.qsize()) == (0, 0)
    assert queue.push(b"new") == 100
    assert queue.pop(block=False).offset == 100


def test_dropped_records_are_not_delivered_from_the_prefetched_ones(clock: Clock) -> None:
    queue = MemoryConsumer(clock)
    popped = prefetched(queue, 1000)
    left = ready(queue)
    queue.port.drop_before(900)
    offsets = [message.offset for message in popped]
    more = (queue.pop(block=False).offset for _ in range(1000))
    with pytest.raises(mmapqueue.Dropped) as dropped:
        offsets.extend(more)
    assert dropped.value.last == 899
    # Those that were prefetched before the loss may come; the next call into the JVM meets it.
    assert offsets == list(range(len(popped) + left))
    queue.ack(popped[0])
    assert [message.offset for message in queue] == list(range(900, 1000))


def test_dropped_records_are_not_delivered_by_the_jvm(open_queue: Open) -> None:
    queue = open_queue(**SMALL, max_consumer_lag="32k")
    queue.push_many([b"x" * 100] * 50)
    offsets = [queue.pop().offset for _ in range(20)]
    queue.push_many([b"x" * 100] * 1000)
    losses: list[tuple[int, int]] = []
    while queue.qsize():
        try:
            offsets.append(queue.pop(block=False).offset)
        except mmapqueue.Dropped as error:
            losses.append((error.first, error.last))
    lost = [offset for first, last in losses for offset in range(first, last + 1)]
    assert losses
    assert set(offsets) | set(lost) == set(range(1050))
    assert offsets == sorted(set(offsets))
    assert offsets[-1] == 1049


def test_threads_pop_and_ack(open_queue: Open, in_thread: Callable[[Callable[[], Any]], "Future[Any]"]) -> None:
    queue = open_queue(capacity="64m")
    queue.push_many(b"%d" % number for number in range(20_000))

    def work() -> list[int]:
        found: list[int] = []
        while True:
            try:
                message = queue.pop(block=False)
            except mmapqueue.Empty:
                if queue.qsize():
                    continue
                return found
            found.append(message.offset)
            queue.ack(message)

    each = [in_thread(work) for _ in range(4)]
    offsets = [offset for future in each for offset in future.result(120)]
    assert sorted(offsets) == list(range(20_000))
    assert (queue.lag(), queue.unacked()) == (0, 0)


@pytest.mark.parametrize("key", ["prefetch", "ack_linger"])
def test_leases_allow_neither(open_queue: Open, key: str) -> None:
    queue = open_queue(visibility_timeout="1min")
    prefetch_nothing(queue)
    queue.close()
    with pytest.raises(mmapqueue.ConfigError, match=f"{key} = .*visibility_timeout"):
        open_queue(visibility_timeout="1min", **{key: 1})
    with pytest.raises(ValueError, match=key):
        open_queue(**{key: -1})


def test_prefetch_can_be_switched_off(open_queue: Open) -> None:
    prefetch_nothing(open_queue(prefetch=0))


def prefetch_nothing(queue: mmapqueue.Queue) -> None:
    queue.push_many([b"x"] * 100)
    for _ in range(50):
        queue.pop()
        assert ready(queue) == 0


def test_a_forked_child_neither_pops_nor_acks(script: Script) -> None:
    out = script.run(
        """
        import os, sys, warnings
        import mmapqueue
        warnings.simplefilter("ignore", DeprecationWarning)
        with mmapqueue.Queue(sys.argv[1]) as queue:
            queue.push_many([b"x"] * 1000)
            popped = [queue.pop() for _ in range(30)]
            if os.fork() == 0:
                for call in (queue.pop, lambda: queue.ack_up_to(popped[-1]), queue.lag):
                    try:
                        call()
                    except mmapqueue.MmapQueueError as error:
                        print("forked" in str(error), flush=True)
                os._exit(0)
            os.wait()
            print(queue.pop().offset, queue.lag(), flush=True)
        """,
        script.directory / "queue",
    )
    assert out.split() == ["True", "True", "True", "30", "1000"]


def test_a_suspended_iterator_delivers_nothing_in_a_forked_child(script: Script) -> None:
    out = script.run(
        """
        import os, sys, warnings
        import mmapqueue
        warnings.simplefilter("ignore", DeprecationWarning)
        with mmapqueue.Queue(sys.argv[1]) as queue:
            queue.push_many([b"x"] * 10)
            records = queue.consume(timeout=0)
            next(records)
            if os.fork() == 0:
                try:
                    print("delivered", next(records).offset, flush=True)
                except mmapqueue.MmapQueueError as error:
                    print("forked" in str(error), flush=True)
                os._exit(0)
            os.wait()
            print([message.offset for message in records], flush=True)
        """,
        script.directory / "queue",
    )
    assert out.splitlines() == ["True", str(list(range(1, 10)))]


def test_a_fork_while_acks_are_sent_leaves_no_lock_in_the_child(script: Script) -> None:
    script.run(
        """
        import os, signal, sys, warnings
        import mmapqueue
        warnings.simplefilter("ignore", DeprecationWarning)
        with mmapqueue.Queue(sys.argv[1], ack_linger=1000) as queue:
            queue.push(b"one")
            message = queue.pop()
            # As of the thread in the background, while it sends acks.
            with queue._opened.acks._lock:
                child = os.fork()
                if not child:
                    signal.alarm(60)
                    for call in (message.ack, message.nack, queue.lag):
                        try:
                            call()
                        except mmapqueue.MmapQueueError as error:
                            assert "forked" in str(error), error
                        else:
                            os._exit(1)
                    os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
            message.ack()
            assert queue.lag() == 0
        """,
        script.directory / "queue",
    )


def test_acks_of_a_program_that_ends_without_close_are_sent(script: Script) -> None:
    script.run(
        """
        import sys, warnings
        import mmapqueue
        queue = mmapqueue.Queue(sys.argv[1], ack_linger=1000)
        queue.push_many([b"x"] * 100)
        for _ in range(30):
            queue.ack(queue.pop())
        """,
        script.directory / "queue",
    )
    with mmapqueue.Queue(script.directory / "queue") as queue:
        assert queue.lag() == 70
        assert data(queue) == [b"x"] * 70


def left_in_a_batch(queue: mmapqueue.Queue) -> None:
    for message in islice(queue.consume(max_records=35), 15):
        queue.ack(message)


def left_prefetched(queue: mmapqueue.Queue) -> None:
    for _ in range(15):
        queue.ack(queue.pop())


def left_by_an_interrupted_call(queue: mmapqueue.Queue) -> None:
    queue.ack_up_to(queue.pop_many(15)[-1])

    # The records stay in the shared buffer of a thread that has ended.
    thread = threading.Thread(target=popped_by_the_jvm, args=(queue._popper, 20))
    thread.start()
    thread.join()


def left_by_an_iterator_in_a_cycle(queue: mmapqueue.Queue) -> None:
    iterator = queue.consume(max_records=35)
    for _ in range(15):
        queue.ack(next(iterator))
    cycle: list[object] = [queue, iterator]
    cycle.append(cycle)


@pytest.mark.filterwarnings("ignore:.*was not closed:ResourceWarning")
@pytest.mark.parametrize("leave", [
    left_in_a_batch, left_prefetched, left_by_an_interrupted_call, left_by_an_iterator_in_a_cycle,
])  # fmt: skip
def test_a_collected_queue_releases_records_that_no_caller_got(
    open_queue: Open, monkeypatch: pytest.MonkeyPatch, leave: Callable[[mmapqueue.Queue], None]
) -> None:
    monkeypatch.setattr(delivery.Pace, "next", lambda self: self.most)
    stays = open_queue()
    records = [b"%d" % i for i in range(35)]
    stays.push_many(records)
    queue = mmapqueue.Queue(stays.path)
    leave(queue)
    assert eventually(lambda: stays.consumer_stats()["default"].committed_offset == 15)
    assert (stays.qsize(), stays.unacked()) == (0, 20)
    del queue
    gc.collect()
    assert eventually(lambda: stays.qsize() == 20)
    messages = stays.pop_many()
    assert data(messages) == records[15:]
    assert {message.attempts for message in messages} == {1}


def test_a_close_releases_the_rest_where_another_handle_has_acked_some(open_queue: Open) -> None:
    stays, queue = open_queue(), open_queue()
    stays.push_many([b"%d" % i for i in range(10)])
    iterator = queue.consume()
    next(iterator)
    iterator.close()
    stays.ack_up_to(3)
    assert stays.lag() == 6
    queue.close()
    assert data(stays.pop_many(timeout=60)) == [b"%d" % i for i in range(4, 10)]
