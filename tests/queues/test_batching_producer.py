"""The batching producer and its handles."""

import asyncio
import concurrent.futures
import gc
import logging
import re
import sys
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

import pytest
from memory_consumer import MemoryConsumer

import mmapqueue
from conftest import SMALL, Open, data, eventually, fill

#: No record is sent before something asks for it.
NEVER = 1000.0


def test_records_keep_their_order_and_get_their_offsets(any_queue: mmapqueue.Queue) -> None:
    records = [b"%d" % number * (number % 7) for number in range(1000)]
    with any_queue.producer() as producer:
        handles = []
        for record in records:
            handles.append(producer.push(record))
            if len(handles) % 100 == 0:
                producer.flush()
                any_queue.ack_up_to(any_queue.pop_many(100)[-1])
    assert [handle.result() for handle in handles] == list(range(1000))
    assert all(handle.done() and handle.exception() is None for handle in handles)


def test_records_that_are_larger_than_the_shared_buffer(open_queue: Open) -> None:
    queue = open_queue(capacity="64m", max_event_size="8m")
    sizes = [10, 3 << 20, 10, 64 << 10, 2 << 20, 0]
    with queue.producer(batch_bytes=1) as producer:
        handles = [producer.push(bytes([size % 251]) * size) for size in sizes]
    assert [handle.result() for handle in handles] == list(range(6))
    assert [len(record) for record in data(queue.pop_many(6))] == sizes


def test_all_bytes_like_records(open_queue: Open) -> None:
    queue = open_queue()
    with queue.producer() as producer:
        for record in (b"a", bytearray(b"b"), memoryview(b"c")):
            producer.push(record)
        with pytest.raises(TypeError, match="encode it first"):
            producer.push("d")  # type: ignore[arg-type]
    assert data(queue) == [b"a", b"b", b"c"]


def test_a_record_lingers_for_others() -> None:
    queue = MemoryConsumer()
    with queue.producer(linger=NEVER, batch_bytes=1000) as producer:
        handle = producer.push(b"x")
        with pytest.raises(TimeoutError, match="waits to be pushed"):
            handle.result(timeout=0.05)
        assert (handle.done(), len(queue.port.log)) == (False, 0)
        # Enough for a batch.
        last = producer.push(b"x" * 1000)
        assert (handle.result(timeout=60), last.result(timeout=60)) == (0, 1)


def test_linger_ends_without_other_records() -> None:
    queue = MemoryConsumer()
    with queue.producer(linger=0.001) as producer:
        for number in range(5):
            assert producer.push(b"x").result(timeout=60) == number


def test_flush_and_close_do_not_linger() -> None:
    queue = MemoryConsumer()
    with queue.producer(linger=NEVER) as producer:
        producer.flush()
        handle = producer.push(b"x")
        producer.flush()
        assert handle.done()
        handle = producer.push(b"y")
    assert handle.result() == 1
    assert producer.closed
    producer.close()
    with pytest.raises(mmapqueue.Closed, match="producer"):
        producer.push(b"z")


def test_a_batch_is_durable_with_sync(open_queue: Open) -> None:
    queue = open_queue(flush_period="1h")
    with queue.producer(sync=True) as producer:
        handles = [producer.push(b"x" * 100) for _ in range(100)]
        assert handles[-1].result() == 99
        stats = queue.stats()
        assert stats.durable_position == stats.end_position
    with queue.producer() as producer:
        producer.push(b"x" * 100).result()
    stats = queue.stats()
    assert stats.durable_position < stats.end_position


def test_a_record_that_is_too_large_raises_at_once(open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    with queue.producer() as producer:
        with pytest.raises(mmapqueue.TooLarge, match="a record of 8001 bytes"):
            producer.push(b"x" * 8001)
        assert producer.push(b"x" * 8000).result() == 0


def test_a_full_queue_makes_records_wait_and_then_the_buffer_is_full(open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    pushed = fill(queue)
    messages = queue.pop_many(pushed)
    with queue.producer(linger=0.0, buffer_bytes=3000) as producer:
        handles: list[mmapqueue.PushHandle] = []
        pushes = (producer.push(b"x" * 500, timeout=0.5) for _ in range(100))
        with pytest.raises(mmapqueue.Full, match=r"buffer_bytes = 3000 .* slowest consumer"):
            handles.extend(pushes)
        # One more than fits: the last one may exceed the limit.
        assert 4 <= len(handles) <= 6
        with pytest.raises(mmapqueue.Full):
            producer.push(b"y", block=False)
        with pytest.raises(TimeoutError):
            producer.flush(timeout=0.3)
        queue.ack_up_to(messages[-1])
        producer.push(b"y" * 500).result(timeout=60)
        assert [handle.result() for handle in handles] == list(range(pushed, pushed + len(handles)))


def test_a_failed_batch_fails_its_handles_and_the_flush(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    queue = MemoryConsumer()
    producer = queue.producer(linger=NEVER)
    push_batch, failure = queue._producer.push_batch, mmapqueue.MmapQueueError("no segment could be preallocated")
    monkeypatch.setattr(queue._producer, "push_batch", lambda *_, **__: (_ for _ in ()).throw(failure))
    handles = [producer.push(b"x"), producer.push(b"y")]
    with caplog.at_level(logging.ERROR, "mmapqueue"), pytest.raises(mmapqueue.MmapQueueError, match="preallocated"):
        producer.flush()
    assert "2 records" in caplog.text
    for handle in handles:
        assert handle.done()
        assert handle.exception() is failure
        with pytest.raises(mmapqueue.MmapQueueError, match="preallocated"):
            handle.result()
    # The next batch succeeds.
    monkeypatch.setattr(queue._producer, "push_batch", push_batch)
    assert producer.push(b"z").done() is False
    producer.flush()
    producer.close()
    assert queue.port.log == [b"z"]


def test_records_that_wait_when_the_jvm_is_gone_fail_together(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    queue = MemoryConsumer()

    def get_small() -> None:
        raise mmapqueue.MmapQueueError("the JVM that has the queue does not answer")

    monkeypatch.setattr(queue._handle.pool, "get_small", get_small)
    producer = queue.producer(linger=NEVER)
    handles = [producer.push(b"x") for _ in range(100)]
    with caplog.at_level(logging.ERROR, "mmapqueue"), pytest.raises(mmapqueue.MmapQueueError, match="not answer"):
        producer.flush()
    assert all(isinstance(handle.exception(), mmapqueue.MmapQueueError) for handle in handles)
    assert [each.getMessage() for each in caplog.records] == [
        "100 records of a producer of the queue in /memory are not pushed: the JVM that has the queue does not answer"
    ]
    producer.close()


# Handles


def test_callbacks_run_in_the_producers_thread_or_at_once(caplog: pytest.LogCaptureFixture) -> None:
    queue = MemoryConsumer()
    seen: list[tuple[int, str]] = []

    def note(handle: mmapqueue.PushHandle) -> None:
        seen.append((handle.result(), threading.current_thread().name))

    def wait(_handle: mmapqueue.PushHandle) -> None:
        producer.flush()

    with queue.producer(linger=NEVER) as producer:
        first = producer.push(b"x")
        first.add_done_callback(note)
        first.add_done_callback(wait)
        first.add_done_callback(note)
        producer.flush()
        assert eventually(lambda: len(seen) == 2)
        first.add_done_callback(note)
    assert seen == [(0, "mmapqueue-producer"), (0, "mmapqueue-producer"), (0, threading.current_thread().name)]
    assert "cannot wait for its own producer" in caplog.text


def test_a_callback_that_runs_nothing_when_called_is_refused() -> None:
    async def call(_handle: mmapqueue.PushHandle) -> None:
        pytest.fail("nothing awaits it")

    with MemoryConsumer().producer(linger=NEVER) as producer:
        handle = producer.push(b"x")
        with pytest.raises(TypeError, match=r"call = .* only makes a coroutine.*await"):
            handle.add_done_callback(call)
        with pytest.raises(TypeError, match="call = None is invalid"):
            handle.add_done_callback(None)  # type: ignore[arg-type]


def test_the_exception_of_a_callback_is_logged_when_it_runs_at_once(caplog: pytest.LogCaptureFixture) -> None:
    with MemoryConsumer().producer(linger=NEVER) as producer:
        handle = producer.push(b"x")
        producer.flush()
        handle.add_done_callback(lambda done: 1 // done.result())
    assert "ZeroDivisionError" in caplog.text


def test_a_callback_that_exits_does_not_end_the_producer() -> None:
    with MemoryConsumer().producer(linger=NEVER) as producer:
        handles = [producer.push(b"x") for _ in range(3)]
        handles[0].add_done_callback(lambda _handle: sys.exit(3))
        future = handles[2].future()
        producer.flush()
        assert future.result(timeout=60) == 2
        assert not producer.closed


def test_futures_and_awaits() -> None:
    queue = MemoryConsumer()

    async def push() -> list[int]:
        async def one(number: int) -> int:
            return await producer.push(b"%d" % number)

        offsets = await asyncio.gather(*map(one, range(50)))
        handle = idle.push(b"x")
        cancelled = asyncio.ensure_future(_awaited(handle))
        await asyncio.sleep(0)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        idle.flush()
        assert await handle == 50
        return offsets

    with queue.producer(linger=0.001) as producer, queue.producer(linger=NEVER) as idle:
        assert sorted(asyncio.run(push())) == list(range(50))
        futures = [producer.push(b"%d" % number).future() for number in range(10)]
        done, waiting = concurrent.futures.wait(futures, timeout=60)
        assert (len(done), len(waiting)) == (10, 0)
        assert [future.result() for future in futures] == list(range(51, 61))
        assert not futures[0].cancel()


def test_a_block_under_asyncio_flushes_and_leaves_the_loop_free() -> None:
    queue = MemoryConsumer()

    async def push() -> mmapqueue.PushHandle:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        async with queue.producer(linger=NEVER) as producer:
            handle = producer.push(b"x")
            before = turns
        counting.cancel()
        assert turns > before
        assert producer.closed
        return handle

    assert asyncio.run(push()).result(timeout=0) == 0


def test_a_close_with_a_wrong_timeout_closes_nothing() -> None:
    queue = MemoryConsumer()
    producer = queue.producer(linger=NEVER)
    wrong: tuple[Any, ...] = (-1, "5")
    for each in wrong:
        with pytest.raises(mmapqueue.ConfigError, match="timeout"):
            producer.close(timeout=each)
    assert not producer.closed
    handle = producer.push(b"x")
    producer.close()
    assert handle.result(timeout=0) == 0


def test_a_cancelled_close_under_asyncio_leaves_no_thread_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = MemoryConsumer()
    monkeypatch.setattr(queue._handle, "room_for", 0)

    async def run() -> int:
        producer = queue.producer(linger=0.001)
        handle = producer.push(b"x")
        closing = asyncio.create_task(producer.aclose())
        while not producer.closed:
            await asyncio.sleep(0.001)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        try:
            assert eventually(lambda: not any("aclose" in each.name for each in threading.enumerate()))
        finally:
            monkeypatch.setattr(queue._handle, "room_for", 1)
        return await handle

    assert asyncio.run(run()) == 0


async def _awaited(handle: mmapqueue.PushHandle) -> int:
    return await handle


def test_many_threads_push(open_queue: Open, in_thread: Callable[[Callable[[], Any]], "Future[Any]"]) -> None:
    queue = open_queue(capacity="64m")
    with queue.producer(linger=0.001, buffer_bytes=50_000) as producer:

        def push(thread: int) -> list[mmapqueue.PushHandle]:
            return [producer.push(b"%d %d" % (thread, number)) for number in range(3000)]

        each = [in_thread(partial(push, thread)) for thread in range(4)]
        handles = [future.result(60) for future in each]
        producer.flush()
    records = data(queue.pop_many(20_000))
    assert len(records) == 12_000
    for thread in range(4):
        offsets = [handle.result() for handle in handles[thread]]
        assert offsets == sorted(offsets)
        assert [records[offset] for offset in offsets] == [b"%d %d" % (thread, number) for number in range(3000)]


# The end


def test_a_closed_queue_has_the_records_of_its_producers(open_queue: Open) -> None:
    queue = open_queue()
    producer = queue.producer(linger=NEVER)
    handle = producer.push(b"x")
    queue.close()
    assert handle.result(timeout=0) == 0
    assert producer.closed
    with pytest.raises(mmapqueue.Closed):
        producer.push(b"y")
    producer.close()
    assert data(open_queue()) == [b"x"]


def test_records_without_room_fail_when_the_queue_is_closed(open_queue: Open, caplog: pytest.LogCaptureFixture) -> None:
    queue = open_queue(**SMALL)
    pushed = fill(queue)
    producer = queue.producer(linger=0.0)
    handles = [producer.push(b"x" * 500) for _ in range(5)]
    queue.close()
    for handle in handles:
        with pytest.raises(mmapqueue.Closed, match="before the record was pushed"):
            handle.result(timeout=0)
    # The thread may have taken some of them before the others were pushed.
    assert sum(map(int, re.findall(r"(\d+) records of a producer", caplog.text))) == 5
    with pytest.raises(mmapqueue.Closed, match="before the record was pushed"):
        producer.close()
    assert open_queue(**SMALL).end_offset() == pushed


def test_a_push_that_waits_ends_with_its_producer(
    open_queue: Open, in_thread: Callable[[Callable[[], Any]], "Future[Any]"]
) -> None:
    queue = open_queue(**SMALL)
    fill(queue)
    producer = queue.producer(linger=0.0, buffer_bytes=1)
    handle = producer.push(b"x" * 500)
    waiting = in_thread(lambda: producer.push(b"y"))
    result = in_thread(handle.result)
    progress = producer._sender._progress
    assert eventually(lambda: len(progress._waiters) == 2)  # type: ignore[attr-defined]
    queue.close()
    for future in (waiting, result):
        with pytest.raises(mmapqueue.Closed):
            future.result(60)


def test_a_producer_that_is_not_closed_is_reported_and_pushes() -> None:
    queue = MemoryConsumer()
    producer = queue.producer(linger=NEVER)
    handle = producer.push(b"x")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        del producer
        gc.collect()
    assert [str(each.message) for each in caught if "BatchingProducer" in str(each.message)]
    assert handle.result(timeout=60) == 0


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"linger": -1.0}, ValueError),
        ({"batch_bytes": 0}, mmapqueue.ConfigError),
        ({"buffer_bytes": "much"}, mmapqueue.ConfigError),
    ],
)
def test_arguments_are_checked(open_queue: Open, arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=next(iter(arguments))):
        open_queue().producer(**arguments)
