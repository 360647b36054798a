"""Acks that reach the JVM together."""

import errno
import gc
import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from memory_consumer import MemoryConsumer
from prefetching import NEVER, in_jvm

import mmapqueue
from conftest import SMALL, Open, Script, eventually, fill
from mmapqueue._jvm import standalone
from mmapqueue._queue.consuming.ahead import Ahead

#: Acks wait until something sends them, and nothing is prefetched.
LINGERS = Ahead(0, NEVER)


@pytest.mark.parametrize("verb", ["ack", "ack_up_to"])
def test_acks_reach_the_jvm_before_anything_that_could_see_them(open_queue: Open, verb: str) -> None:
    queue = open_queue(ack_linger=NEVER)
    queue.push_many([b"x"] * 100)
    lag = 100

    def ack() -> None:
        nonlocal lag
        for message in queue.pop_many(2):
            getattr(queue, verb)(message)
        assert in_jvm(queue, "lag") == lag
        lag -= 2

    def pop_and_nack() -> None:
        queue.pop_many(1)
        queue.nack(100 - lag)

    sights: tuple[tuple[Callable[[], object], Callable[[], int]], ...] = (
        (lambda: None, queue.lag),
        (lambda: None, lambda: queue.consumer_stats()["default"].lag_records),
        (queue.flush, lambda: in_jvm(queue, "lag")),
        (queue.stats, lambda: in_jvm(queue, "lag")),
        (pop_and_nack, lambda: in_jvm(queue, "lag")),
        (queue.peek, lambda: in_jvm(queue, "lag")),
    )
    for call, seen in sights:
        ack()
        call()
        assert seen() == lag
    ack()
    queue.close()
    assert open_queue().lag() == lag


@pytest.mark.parametrize("push", ["push", "push_many"])
def test_a_push_finds_the_room_of_acks_that_were_sent_during_its_first_try(
    open_queue: Open, monkeypatch: pytest.MonkeyPatch, push: str
) -> None:
    queue = open_queue(ack_linger=NEVER, **SMALL)
    queue.ack_up_to(queue.pop_many(fill(queue))[-1])
    handle, looks = queue._handle, []
    send = handle.send_acks

    def sent_just_before() -> bool:
        """As after the thread that sends lingering acks: none is pending."""
        looks.append(send())
        return False

    monkeypatch.setattr(handle, "send_acks", sent_just_before)
    queue.push(b"x" * 500, block=False) if push == "push" else queue.push_many([b"x" * 500], block=False)
    assert looks == [True]
    monkeypatch.undo()
    fill(queue)
    with pytest.raises(mmapqueue.Full):
        queue.push(b"x" * 500, block=False)


def test_a_call_waits_for_acks_that_are_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = MemoryConsumer(ahead=LINGERS)
    queue.push_many([b"x"] * 10)
    queue.ack_up_to(queue.pop())
    popper = queue._popper
    begun, go, ack = threading.Event(), threading.Event(), popper.port.ack_up_to

    def slow(offset: int) -> None:
        begun.set()
        assert go.wait(60)
        ack(offset)

    class Watched:
        """A lock that lets the sender continue when another thread is about to wait for it."""

        def __init__(self) -> None:
            self._lock = threading.Lock()
            self.locked = self._lock.locked

        def __enter__(self) -> None:
            if self.locked():
                go.set()
            self._lock.acquire()

        def __exit__(self, *_: object) -> None:
            self._lock.release()

    monkeypatch.setattr(popper.port, "ack_up_to", slow)
    monkeypatch.setattr(popper.acks, "_lock", Watched())
    sender = threading.Thread(target=popper.send_acks)
    sender.start()
    assert begun.wait(60)
    try:
        assert queue.lag() == 9
    finally:
        go.set()
        sender.join()


def jvm_lag_is(queue: mmapqueue.Queue, expected: int) -> bool:
    return in_jvm(queue, "lag") == expected


def test_acks_reach_the_jvm_by_themselves(open_queue: Open) -> None:
    queue = open_queue()
    queue.push_many([b"x"] * 10)
    for left in (9, 8, 7):
        queue.ack(queue.pop())
        assert eventually(partial(jvm_lag_is, queue, left))


def test_acks_that_find_no_descriptor_for_a_connection_are_sent_later(
    open_queue: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def none_left(*_: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    queue = open_queue(prefetch=0)
    queue.push_many([b"x"] * 3)
    one, two, three = queue.pop_many(3)
    with monkeypatch.context() as patch:
        assert standalone._running is not None
        patch.setattr(standalone._running.gateway._gateway_client, "_get_connection", none_left)
        with pytest.raises(mmapqueue.MmapQueueError, match=r"does not answer: .*Too many open files"):
            queue.end_offset()
        queue.ack(one)
        assert eventually(lambda: "are not sent yet" in caplog.text)
    queue.ack(two)
    assert eventually(lambda: in_jvm(queue, "lag") == 1)
    queue.ack(three)
    assert eventually(lambda: in_jvm(queue, "lag") == 0)


def test_acks_are_sent_after_ctrl_c_at_the_start_of_the_thread(script: Script) -> None:
    script.run(
        """
        import signal, sys, time
        import mmapqueue
        from mmapqueue._queue.consuming.upkeep import UPKEEP
        from mmapqueue._queue.stats import parsed_consumers

        class Interrupted(list):
            def pop(self):
                entry = super().pop()
                signal.raise_signal(signal.SIGINT)
                return entry

        with mmapqueue.Queue(sys.argv[1]) as queue:
            queue.push(b"one")
            message = queue.pop()
            UPKEEP._unstarted = Interrupted(UPKEEP._unstarted)
            try:
                message.ack()
            except KeyboardInterrupt:
                pass
            else:
                raise AssertionError("it was not interrupted")
            UPKEEP._unstarted = list(UPKEEP._unstarted)
            deadline = time.monotonic() + 30
            while not parsed_consumers(queue._handle.call_only("consumerStats"))["default"].committed_offset:
                assert time.monotonic() < deadline, "the ack is not sent"
                time.sleep(0.01)
        """,
        script.directory / "queue",
    )


def test_acks_of_a_queue_that_a_program_drops_are_sent(open_queue: Open, script: Script, tmp_path: Path) -> None:
    script.run(
        """
        import sys, mmapqueue

        def work():
            queue = mmapqueue.Queue(sys.argv[1], capacity="16m")
            queue.push_many([b"x"] * 10)
            for _ in range(10):
                queue.pop().ack()

        work()
        """,
        tmp_path / "queue",
    )
    assert open_queue().lag() == 0


def test_acks_are_sent_at_once_without_linger(open_queue: Open) -> None:
    queue = open_queue(ack_linger=0)
    queue.push_many([b"x"] * 10)
    queue.ack(queue.pop())
    assert in_jvm(queue, "lag") == 9
    consumer = queue.consumer("other", ack_linger=NEVER, prefetch=0)
    consumer.ack(consumer.pop())
    assert consumer._popper.acks.pending


def test_a_push_that_finds_the_queue_full_sends_acks(open_queue: Open) -> None:
    queue = open_queue(**SMALL, ack_linger=NEVER)
    pushed = fill(queue)
    queue.ack_up_to(queue.pop_many(pushed)[-1])
    queue.push(b"x" * 500, block=False)
    queue.ack_up_to(queue.pop_many(pushed)[-1])
    assert queue.push_many([b"x" * 500] * 10, block=False) == 10


def test_a_cumulative_ack_includes_requeued_records(open_queue: Open) -> None:
    queue = open_queue(ack_linger=NEVER)
    queue.push_many([b"x"] * 10)
    messages = queue.pop_many(5)
    queue.nack(messages[2])
    queue.ack_up_to(messages[4])
    assert [message.offset for message in queue] == [5, 6, 7, 8, 9]
    with pytest.raises(mmapqueue.OutOfRange, match="acked"):
        queue.nack(messages[2])


def test_an_ack_from_before_a_seek_acks_nothing_after_it(open_queue: Open) -> None:
    queue = open_queue(ack_linger=NEVER, retain_bytes="1m")
    queue.push_many([b"x"] * 10)
    messages = queue.pop_many(8)
    queue.ack_up_to(messages[3])
    queue.seek(1)
    assert (queue.lag(), queue.qsize()) == (9, 9)
    with pytest.raises(mmapqueue.OutOfRange):
        queue.ack_up_to(messages[3])
    assert queue.pop().offset == 1
    assert queue.lag() == 9


def test_a_message_of_another_consumer_is_not_acked(open_queue: Open) -> None:
    queue = open_queue()
    queue.push_many([b"x"] * 10)
    message = queue.consumer("other").pop()
    with pytest.raises(mmapqueue.Foreign):
        queue.consumer("default").ack(message)
    made = mmapqueue.Message(b"x", 0, 0, 1)
    with pytest.raises(mmapqueue.OutOfRange):
        queue.consumer("default").ack(made)


def senders() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "mmapqueue-acks"]


def test_one_thread_sends_the_acks_of_all_consumers_and_ends_with_the_last(open_queue: Open, tmp_path: Path) -> None:
    queues = [open_queue(tmp_path / f"{number}") for number in range(3)]
    consumers = [queue.consumer(name) for queue in queues for name in ("a", "b")]
    for queue in queues:
        queue.push_many([b"x"] * 10)
    for _ in range(2):
        for consumer in consumers:
            consumer.ack(consumer.pop())
        assert len(senders()) == 1
        # Twice, with a pause in which the thread rests.
        assert eventually(lambda: all(not consumer._popper.acks.pending for consumer in consumers))
    for queue in queues:
        for consumer in consumers:
            if consumer._handle is queue._handle:
                consumer.close()
        assert queue is queues[-1] or senders()
    assert not senders()
    consumer = queues[0].consumer("a")
    consumer.ack(consumer.pop())
    assert senders()
    queues[0].close()
    assert not senders()


@pytest.mark.filterwarnings("ignore:.*was not closed:ResourceWarning")
def test_the_thread_ends_with_a_queue_that_a_program_drops(open_queue: Open, tmp_path: Path) -> None:
    delayed = mmapqueue.Queue(tmp_path / "delayed")
    delayed.push_many([b"x"] * 10)
    # The thread waits for the time at which the record is due, and does not keep the queue.
    delayed.nack(delayed.pop(), delay=NEVER)
    assert senders()
    del delayed
    assert eventually(lambda: gc.collect() >= 0 and not senders())
    queue = mmapqueue.Queue(tmp_path / "other")
    queue.push_many([b"x"] * 10)
    queue.ack(queue.pop())
    del queue
    assert eventually(lambda: gc.collect() >= 0 and not senders())
    assert open_queue(tmp_path / "other").lag() == 9


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 0, 2, 1], [0]])
def test_acks_of_consecutive_records_are_sent_by_the_next_pop(
    monkeypatch: pytest.MonkeyPatch, order: list[int]
) -> None:
    queue = MemoryConsumer(ahead=LINGERS)
    queue.push_many([b"x"] * 10)
    messages = queue.pop_many(4)
    monkeypatch.setattr(queue._popper.port, "ack_many", lambda _: pytest.fail("a call of its own sends the acks"))
    for number in order:
        queue.ack(messages[number])
    assert in_jvm(queue, "unacked") == 4
    assert queue.pop().offset == 4
    assert in_jvm(queue, "unacked") == 5 - len(order)


@pytest.mark.parametrize("acked", [[0, 2], [2, 2, 0, 0], [3, 1, 3], [2]])
def test_a_pop_sends_acks_with_gaps_and_no_others(acked: list[int]) -> None:
    queue = MemoryConsumer(ahead=LINGERS)
    queue.push_many([b"x"] * 10)
    messages = queue.pop_many(4)
    for number in acked:
        queue.ack(messages[number])
    assert queue.pop().offset == 4
    assert in_jvm(queue, "unacked") == 5 - len({*acked})
    assert queue.port.acked == {*acked}


def test_a_pop_sends_cumulative_acks_and_single_ones_beyond_them() -> None:
    queue = MemoryConsumer(ahead=LINGERS)
    queue.push_many([b"x"] * 10)
    messages = queue.pop_many(6)
    queue.ack(messages[4])
    queue.ack(messages[0])
    queue.ack_up_to(messages[2])
    assert queue.pop().offset == 6
    assert (in_jvm(queue, "lag"), in_jvm(queue, "unacked")) == (6, 3)


@pytest.mark.parametrize("verb", ["ack", "ack_up_to"])
def test_acks_of_a_pop_that_fails_are_sent_again(monkeypatch: pytest.MonkeyPatch, verb: str) -> None:
    queue = MemoryConsumer(ahead=LINGERS)
    queue.push_many([b"x"] * 10)
    messages = queue.pop_many(4)
    for message in messages[:3]:
        getattr(queue, verb)(message)
    popper = queue._popper

    def fails(*_: object) -> int:
        error = mmapqueue.OutOfRange("the pop fails")
        error.java_class = "org.mmapqueue.errors.OutOfRangeException"
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(popper.port, "pop", fails)
        with pytest.raises(mmapqueue.OutOfRange, match="the pop fails"):
            queue.pop()
    assert in_jvm(queue, "unacked") == 4
    assert queue.pop().offset == 4
    assert in_jvm(queue, "unacked") == 2
