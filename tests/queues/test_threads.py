"""Many threads at once."""

import gc
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from acking import popped_by_the_jvm

import mmapqueue
from conftest import SMALL, Open, Waits, data, fill
from mmapqueue._jvm import shared_buffer
from mmapqueue._queue import deadline


def in_thread(task: Callable[[], Any]) -> threading.Thread:
    thread = threading.Thread(target=task, daemon=True)
    thread.start()
    return thread


def run(*tasks: Callable[[], Any]) -> list[Any]:
    """What the tasks return, each of them in a thread of its own."""
    results: list[Any] = [None] * len(tasks)
    errors: list[BaseException] = []

    def work(i: int) -> None:
        try:
            results[i] = tasks[i]()
        except BaseException as error:
            errors.append(error)

    threads = [in_thread(partial(work, i)) for i in range(len(tasks))]
    for thread in threads:
        thread.join(60)
    if errors:
        raise errors[0]
    assert not [number for number, thread in enumerate(threads) if thread.is_alive()], "tasks that have not ended"
    return results


@pytest.mark.parametrize("options", [{}, SMALL], ids=["default", "small"])
def test_every_record_comes_once(open_queue: Open, options: dict[str, Any]) -> None:
    queue = open_queue(**options)
    producers, each = 4, 3000
    popped: list[int] = []

    def produce(number: int) -> None:
        records = [b"%d:%d" % (number, i) for i in range(each)]
        if number % 2:
            queue.push_many(records)
        else:
            for record in records:
                queue.push(record)

    def consume(number: int) -> list[bytes]:
        got: list[bytes] = []
        while len(popped) < producers * each:
            if number % 2:
                batch = queue.pop_many(50, timeout=0.1)
            else:
                try:
                    batch = [queue.pop(timeout=0.1)]
                except mmapqueue.Empty:
                    batch = []
            if batch:
                got += data(batch)
                popped.extend(message.offset for message in batch)
                queue.ack_up_to(batch[-1])
        return got

    results = run(*(lambda n=n: produce(n) for n in range(producers)), *(lambda n=n: consume(n) for n in range(4)))
    got = [record for result in results[producers:] for record in result]
    assert sorted(got) == sorted(b"%d:%d" % (n, i) for n in range(producers) for i in range(each))


def test_each_thread_sees_its_own_records_in_order(open_queue: Open) -> None:
    queue = open_queue()
    run(*(lambda n=n: queue.push_many([b"%d:%05d" % (n, i) for i in range(5000)]) for n in range(4)))
    got = data(queue)
    for n in range(4):
        own = [record for record in got if record.startswith(b"%d:" % n)]
        assert own == sorted(own)
        assert len(own) == 5000


def test_an_atomic_batch_is_seen_whole(open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    done = threading.Event()
    sizes = set()

    def watch() -> None:
        while True:
            sizes.add(queue.stats().end_offset % 7)
            if done.is_set():
                return

    watcher = in_thread(watch)
    try:
        for _ in range(300):
            queue.push_many([b"x" * 900] * 7, atomic=True)
            queue.ack_up_to(queue.pop_many(7)[-1])
    finally:
        done.set()
        watcher.join()
    assert sizes == {0}


def test_a_push_waits_for_room(small_queue: mmapqueue.Queue, waits: Waits) -> None:
    room = fill(small_queue)
    pushed: list[int] = []
    waiting = in_thread(lambda: pushed.append(small_queue.push(b"x" * 500)))
    waits.until(threads=1)
    assert not pushed
    small_queue.ack_up_to(small_queue.pop_many(room)[-1])
    waiting.join(60)
    assert pushed == [room]


def test_push_many_waits_for_room(small_queue: mmapqueue.Queue) -> None:
    records = [b"%04d" % i * 50 for i in range(3000)]
    for atomic, chunk in ((False, records), (True, records[:100])):

        def push(atomic: bool = atomic, chunk: list[bytes] = chunk) -> None:
            for part in (chunk[:100], chunk[100:]):
                if part:
                    small_queue.push_many(part, atomic=atomic)

        pushing = in_thread(push)
        got: list[bytes] = []
        while len(got) < len(chunk):
            batch = small_queue.pop_many(37, timeout=60)
            got += data(batch)
            small_queue.ack_up_to(batch[-1])
        pushing.join()
        assert got == chunk


def test_a_pop_waits_for_a_record(small_queue: mmapqueue.Queue, waits: Waits) -> None:
    got: list[bytes] = []
    waiting = [
        in_thread(lambda: got.append(small_queue.pop().data)),
        in_thread(lambda: got.extend(data(small_queue.pop_many(1, timeout=None)))),
        in_thread(lambda: got.append(next(small_queue.consume(max_records=1)).data)),
    ]
    waits.until(threads=3)
    assert not got
    small_queue.push_many([b"one", b"two", b"three"])
    for thread in waiting:
        thread.join(60)
    assert sorted(got) == [b"one", b"three", b"two"]


def test_many_that_wait_do_not_stop_those_that_need_not(
    open_queue: Open, monkeypatch: pytest.MonkeyPatch, waits: Waits
) -> None:
    # A call that waits does not come back by itself.
    monkeypatch.setattr(deadline, "SLICE_MILLIS", 3_600_000)
    queue = open_queue(**SMALL)
    empty = queue.consumer("empty", start="latest")
    got: list[mmapqueue.Message] = []
    waiting = [in_thread(lambda: got.append(empty.pop())) for _ in range(40)]
    waits.until(threads=40, slices=1)
    for i in range(40):
        assert queue.push(b"%d" % i) == i
        assert queue.pop().offset == i
    for thread in waiting:
        thread.join(60)
    assert sorted(m.offset for m in got) == list(range(40))


@pytest.mark.parametrize("shared", [False, True], ids=["last handle", "other handle open"])
def test_close_wakes_those_that_wait(open_queue: Open, waits: Waits, shared: bool) -> None:
    queue = open_queue(**SMALL)
    other = open_queue() if shared else None
    queue.create_consumer("slowest")
    fill(queue)
    full = [queue.consumer("other", start="latest")]
    raised: list[str] = []

    def wait(call: Callable[[], Any]) -> None:
        try:
            call()
        except mmapqueue.Closed as closed:
            raised.append(str(closed))

    calls: tuple[Callable[[], object], ...] = (
        lambda: queue.push(b"x" * 500),
        lambda: queue.push_many([b"x" * 500]),
        lambda: queue.push_many([b"x" * 500], atomic=True),
        full[0].pop,
        lambda: full[0].pop_many(timeout=None),
        lambda: next(full[0].consume()),
    )
    waiting = [in_thread(partial(wait, call)) for call in calls]
    waits.until(threads=len(calls))
    assert not raised
    queue.close()
    for thread in waiting:
        thread.join(60)
    assert raised == [f"the queue in {queue.path} is closed"] * 6
    if other is not None:
        assert other.pop().data == b"x" * 500


def test_buffers_of_threads_that_ended_are_used_again(open_queue: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = open_queue()
    made: list[int] = []
    allocate = queue._handle.pool._allocator.shared

    def shared(size: int) -> object:
        made.append(size)
        return allocate(size)

    monkeypatch.setattr(queue._handle.pool._allocator, "shared", shared)
    for i in range(30):
        run(partial(queue.push, b"%d" % i), lambda: queue.pop())
    # One for pushing and one for popping, for each of the two threads at a time.
    assert len(made) <= 4


def test_what_a_dead_thread_did_not_take_is_popped_by_the_next(open_queue: Open) -> None:
    queue = open_queue()
    queue.push_many([b"%d" % i for i in range(10)])
    run(lambda: popped_by_the_jvm(queue.consumer("default")._popper, 3))
    assert data(queue) == [b"%d" % i for i in range(10)]


def test_a_buffer_that_the_jvm_may_be_reading_is_not_written(open_queue: Open) -> None:
    queue = open_queue()
    queue.push(b"one")
    # As an exception from outside would leave it, thrown in the middle of a push.
    own = queue._producer._begin()
    buffer = own.buffer
    assert queue.push(b"two") == 1
    assert own.buffer is not buffer
    buffer = own.buffer
    assert queue.push(b"three") == 2
    assert own.buffer is buffer
    assert data(queue) == [b"one", b"two", b"three"]


def test_large_buffers_are_few_and_come_back(open_queue: Open, tmp_path: Path) -> None:
    gc.collect()
    before = len(shared_buffer._large_left)
    queues = [open_queue(tmp_path / f"{n}", capacity="16m") for n in range(shared_buffer.MAX_LARGE)]
    records = [b"x" * 1000] * 2000
    for queue in queues:
        queue.push_many(records)
        assert data(queue.pop_many(2000)) == records
    assert not shared_buffer._large_left
    for queue in queues:
        queue.close()
    assert len(shared_buffer._large_left) >= before > 0


def test_buffers_that_were_collected_in_a_cycle_are_used_again(open_queue: Open) -> None:
    """The garbage collector ends all objects of a cycle at once, and calls py4j before the buffer's finalizer."""
    queue = open_queue()
    consumer = queue.consumer("c")

    def one_round() -> None:
        queue.push(b"x")
        assert consumer.pop().data == b"x"
        # As the end of a thread with its frames in a cycle, for instance through an exception.
        for owner in (queue._producer, consumer._popper.buffers):
            cycle: list[Any] = [owner._local.own]
            cycle.append(cycle)
            del owner._local.own

    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            one_round()
            gc.collect()
    finally:
        gc.enable()
    assert consumer.unacked() == 3


def test_consumers_are_opened_beside_calls_of_other_threads(open_queue: Open) -> None:
    """Each call sends the acks of all consumers."""
    queue = open_queue()
    opened = threading.Event()

    def call() -> None:
        while not opened.is_set():
            queue.end_offset()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(3) as threads:
            calls = [threads.submit(call) for _ in range(3)]
            try:
                consumers = [queue.consumer(f"c{number}") for number in range(150)]
            finally:
                opened.set()
            for each in calls:
                each.result()
    finally:
        sys.setswitchinterval(interval)
    assert len(consumers) == 150
