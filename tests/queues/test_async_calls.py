"""Single calls under asyncio: the event loop stays free, and a cancellation loses nothing."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import random
import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest
from memory_consumer import MemoryConsumer

import mmapqueue
from conftest import LONG, SMALL, Open, Waits, data, eventually, fill
from mmapqueue._jvm import lock_holders
from mmapqueue._queue import async_iteration, deadline, threads
from mmapqueue._queue.consuming import jvm_port


@pytest.fixture
def memory() -> MemoryConsumer:
    """A consumer without a JVM, for pops whose tasks, and not whose records, matter."""
    return MemoryConsumer()


def test_records_come_and_go(any_queue: mmapqueue.Queue) -> None:
    async def run() -> list[bytes]:
        assert await any_queue.apush(b"one") == 0
        assert await any_queue.apush(bytearray(b"two"), sync=True) == 1
        assert await any_queue.apush_many([b"three", b"four", b"five"]) == 3
        assert await any_queue.apush_many([b"six", b"seven"], atomic=True) == 2
        await any_queue.aflush()
        first = await any_queue.apop()
        rest = await any_queue.apop_many(10, timeout="1s")
        await any_queue.aack(first)
        await any_queue.aack_many(rest[:2])
        await any_queue.anack(rest[2])
        again = await any_queue.apop()
        assert again.attempts == 2
        await any_queue.aack(again)
        await any_queue.aack_up_to(rest[-1])
        return data([first, *rest])

    assert asyncio.run(run()) == [b"one", b"two", b"three", b"four", b"five", b"six", b"seven"]
    assert any_queue.lag() == 0


async def refused(queue: mmapqueue.Queue) -> None:
    with pytest.raises(mmapqueue.OutOfRange):
        await queue.aack(0)


async def popped_in_a_loop(queue: mmapqueue.Queue) -> None:
    async with contextlib.aclosing(queue.aconsume()) as messages:
        async for message in messages:
            assert message.data == b"one"
            return


@pytest.mark.parametrize("call", [mmapqueue.Queue.apop, mmapqueue.Queue.apop_many, popped_in_a_loop, refused])
def test_the_loop_is_free_while_the_consumer_is_opened(
    open_queue: Open, monkeypatch: pytest.MonkeyPatch, call: Callable[[mmapqueue.Queue], Any]
) -> None:
    """The first call opens the consumer, and waits there for the end of a process that owns it."""
    queue = open_queue(**SMALL)
    queue.create_consumer("default")
    queue.push(b"one")
    waiting, ended = threading.Event(), threading.Event()
    retry = lock_holders.retry_while_ending

    def retry_later(*arguments: Any) -> Any:
        waiting.set()
        assert ended.wait(20), "the event loop waits, too"
        return retry(*arguments)

    monkeypatch.setattr(jvm_port, "retry_while_ending", retry_later)

    async def run() -> None:
        called = asyncio.create_task(call(queue))
        assert await asyncio.to_thread(waiting.wait, 60)
        ended.set()
        await called

    asyncio.run(run())


def test_errors_are_those_of_the_other_calls(small_queue: mmapqueue.Queue) -> None:
    async def error(call: Awaitable[object]) -> BaseException:
        with pytest.raises(BaseException) as caught:  # noqa: PT011
            await call
        return caught.value

    async def run() -> None:
        assert isinstance(await error(small_queue.aack(0)), mmapqueue.OutOfRange)
        assert isinstance(await error(small_queue.apop(timeout=0.05)), mmapqueue.Empty)
        assert await small_queue.apop_many() == []
        assert isinstance(await error(small_queue.apop(timeout=-1)), mmapqueue.ConfigError)
        assert isinstance(await error(small_queue.apop_many(0)), ValueError)
        assert isinstance(await error(small_queue.apush("text")), TypeError)  # type: ignore[arg-type]
        assert isinstance(await error(small_queue.apush(b"x" * 9000)), mmapqueue.TooLarge)
        taken = fill(small_queue)
        assert isinstance(await error(small_queue.apush(b"x" * 500, timeout=0)), mmapqueue.Full)
        assert isinstance(await error(small_queue.apush(b"x" * 500, timeout="300ms")), mmapqueue.Full)
        full = await error(small_queue.apush_many([b"x" * 500] * 3, timeout=0.01))
        assert (type(full), full.pushed) == (mmapqueue.Full, 0)  # type: ignore[attr-defined]
        assert small_queue.end_offset() == taken
        await small_queue.aclose()
        for call in (small_queue.apush(b"x"), small_queue.apop(), small_queue.aflush()):
            assert isinstance(await error(call), mmapqueue.Closed)

    asyncio.run(run())


def test_what_went_in_before_the_queue_was_full_is_counted(small_queue: mmapqueue.Queue) -> None:
    with pytest.raises(mmapqueue.Full) as caught:
        asyncio.run(small_queue.apush_many([b"x" * 100] * 1000, timeout="300ms"))
    assert 0 < caught.value.pushed == small_queue.qsize() < 1000


def test_waiting_pops_do_not_keep_pushes_waiting(any_queue: mmapqueue.Queue, waits: Waits) -> None:
    """More tasks pop than threads exist."""

    async def run() -> list[bytes]:
        pops = [asyncio.create_task(any_queue.apop()) for _ in range(40)]
        await asyncio.to_thread(waits.until, threads=threads._POPS, slices=1)
        for number in range(40):
            await any_queue.apush(b"%d" % number)
        return data(await asyncio.wait_for(asyncio.gather(*pops), 60))

    assert sorted(map(int, asyncio.run(run()))) == list(range(40))


def test_waiting_pushes_do_not_keep_acks_waiting(small_queue: mmapqueue.Queue, waits: Waits) -> None:
    fill(small_queue)

    async def run() -> None:
        pushes = [asyncio.create_task(small_queue.apush(b"y" * 500)) for _ in range(40)]
        await asyncio.to_thread(waits.until, threads=threads._PUSHES, slices=1)
        while small_queue.qsize() or not all(push.done() for push in pushes):
            for message in await small_queue.apop_many(timeout=0.05):
                await small_queue.aack(message)
        await asyncio.gather(*pushes)

    asyncio.run(asyncio.wait_for(run(), 120))
    assert small_queue.lag() == 0


def test_a_cancelled_pop_loses_no_record(memory: MemoryConsumer) -> None:
    count = 2000 if LONG else 200
    rng = random.Random(1)

    # The pauses are the load: a cancellation at any moment of a pop.
    async def run() -> list[int]:
        got: list[int] = []
        for number in range(count):
            pop = asyncio.create_task(memory.apop())
            if rng.random() < 0.7:
                await asyncio.sleep(rng.choice((0, 0, 0.001)))
            memory.push(b"%d" % number)
            await asyncio.sleep(rng.choice((0, 0, 0.0002, 0.001)))
            pop.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                got.append((await pop).offset)
            if number % 10 == 9:
                got += [message.offset for message in await memory.apop_many()]
                await memory.aack(number)
        return got

    assert asyncio.run(run()) == list(range(count))


def test_a_pop_whose_loop_was_closed_keeps_no_record(memory: MemoryConsumer, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = threading.Event()
    memory.port.step = lambda what: waiting.set() if what == "wait" else None
    loop = asyncio.new_event_loop()
    with monkeypatch.context() as patch:
        # The pop waits until a record comes.
        patch.setattr(async_iteration, "SLICE_SECONDS", 60.0)
        patch.setattr(deadline, "SLICE_MILLIS", 60_000)
        task = loop.create_task(memory.apop())
        assert loop.run_until_complete(asyncio.wait_for(loop.run_in_executor(None, waiting.wait, 60), 60))
        loop.close()
    memory.push(b"one")
    assert eventually(lambda: memory.port.size() == 0)
    assert memory.pop(timeout=60).data == b"one"
    ignored: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda found: ignored.append(found.exc_value))
    del task
    gc.collect()
    assert not ignored


def test_a_cancelled_push_is_whole_or_not_at_all(open_queue: Open) -> None:
    queue = open_queue(**SMALL)

    async def run() -> None:
        for _ in range(100):
            push = asyncio.create_task(queue.apush_many([b"a", b"b", b"c"], atomic=True))
            # The load: a cancellation at any moment of a push.
            await asyncio.sleep(0.0005)
            push.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await push

    asyncio.run(run())
    found = data(queue)
    assert found == [b"a", b"b", b"c"] * (len(found) // 3)


def test_a_cancelled_push_says_how_many_it_knows_of(
    small_queue: mmapqueue.Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = small_queue._handle.threads
    push_round = own.push
    rounds = count()

    async def run() -> Any:
        second_round = asyncio.Event()

        async def counted(*arguments: Any) -> Any:
            # The first round has filled the queue, and its records are counted.
            if next(rounds) == 1:
                second_round.set()
            return await push_round(*arguments)

        monkeypatch.setattr(own, "push", counted)
        push = asyncio.create_task(small_queue.apush_many([b"x" * 100] * 1000))
        await asyncio.wait_for(second_round.wait(), 60)
        push.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await push
        return caught.value if sys.version_info >= (3, 11) else caught.value.__context__

    assert asyncio.run(run()).pushed == small_queue.qsize()


def test_blocks_ack_and_requeue(memory: MemoryConsumer) -> None:
    async def run() -> None:
        memory.push_many([b"one", b"two"])
        async with memory.apop() as message:
            assert message.data == b"one"
        assert memory.lag() == 1
        with pytest.raises(ZeroDivisionError):
            async with memory.apop():
                raise ZeroDivisionError
        async with await memory.apop() as message:
            assert message.attempts == 2
        assert memory.lag() == 0
        with pytest.raises(mmapqueue.Empty):
            async with memory.apop(timeout=0):
                pytest.fail("there is no record")

    asyncio.run(run())


def test_a_close_needs_no_thread_of_the_loop(open_queue: Open) -> None:
    async def run() -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        queue = open_queue()
        producer = queue.producer()
        # Keeps the only thread of the loop until the queue is closed.
        waiting = asyncio.create_task(asyncio.to_thread(queue.pop))
        await asyncio.sleep(0)
        try:
            await asyncio.wait_for(producer.aclose(), 10)
            await asyncio.wait_for(queue.aclose(), 10)
        finally:
            queue.close()
        with pytest.raises(mmapqueue.Closed):
            await waiting

    asyncio.run(run())


def test_a_block_keeps_its_exception_when_the_queue_was_closed_within_it(open_queue: Open) -> None:
    async def in_block(*, acks: bool, fails: bool) -> None:
        queue = open_queue(**SMALL)
        await queue.apush(b"one")
        async with queue.apop() as message:
            if acks:
                message.ack()
            await queue.aclose()
            if fails:
                raise ZeroDivisionError

    for acks in (False, True):
        with pytest.raises(ZeroDivisionError):
            asyncio.run(in_block(acks=acks, fails=True))
    asyncio.run(in_block(acks=True, fails=False))
    with pytest.raises(mmapqueue.Closed):
        asyncio.run(in_block(acks=False, fails=False))


def test_a_pop_under_asyncio_is_a_coroutine(memory: MemoryConsumer) -> None:
    memory.push_many([b"one", b"two"])

    async def run() -> None:
        assert (await asyncio.wait_for(memory.apop(), 60)).data == b"one"
        assert (await asyncio.create_task(memory.apop())).data == b"two"
        waiting = asyncio.create_task(memory.apop())
        await asyncio.sleep(0)
        assert "apop" in repr(waiting)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(run())
    memory.push(b"three")
    assert asyncio.run(memory.apop()).data == b"three"


def test_a_forgotten_await_is_told_what_to_write(memory: Any) -> None:
    memory.push(b"one")

    async def run() -> None:
        with pytest.raises(TypeError, match="is entered with `async with`"), memory.apop():
            pytest.fail("nothing was popped")
        popped = memory.apop()
        with pytest.raises(
            AttributeError, match=r"apop\(\) is a coroutine without 'data'; its result comes by `await`"
        ):
            popped.data  # noqa: B018
        popped.close()
        with pytest.raises(TypeError, match=r"write `async for message in queue.aconsume\(\):`"):
            _ = [message async for message in memory]

    asyncio.run(run())
    assert (memory.qsize(), memory.unacked()) == (1, 0)


def test_a_queue_and_a_consumer_close_themselves(open_queue: Open) -> None:
    queue = open_queue(**SMALL)

    async def run() -> None:
        async with queue:
            async with queue.consumer("other") as other:
                assert not other.closed
            assert other.closed
            await queue.apush(b"one")
            assert not queue.closed

    asyncio.run(run())
    assert queue.closed
    with pytest.raises(mmapqueue.Closed):
        asyncio.run(run())


def test_closing_wakes_what_waits(open_queue: Open, waits: Waits) -> None:
    queue = open_queue(**SMALL)

    async def run() -> list[Any]:
        calls: list[Callable[[], Awaitable[object]]] = [queue.apop, lambda: queue.apop_many(timeout=None)]
        waiting = [asyncio.ensure_future(call()) for call in calls]
        await asyncio.to_thread(waits.until, threads=2)
        await queue.aclose()
        return await asyncio.gather(*waiting, return_exceptions=True)

    assert [type(error) for error in asyncio.run(run())] == [mmapqueue.Closed] * 2


def test_a_queue_works_in_one_event_loop_after_another(small_queue: mmapqueue.Queue) -> None:
    for number in range(3):
        assert asyncio.run(small_queue.apush(b"x")) == number
    assert len(asyncio.run(small_queue.apop_many())) == 3
