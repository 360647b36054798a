"""Iteration under asyncio."""

import asyncio
import contextlib
import gc
import random
import threading
import time
from typing import Any

import pytest
from acking import pushed
from memory_consumer import Clock, MemoryConsumer

import mmapqueue
from conftest import SMALL, Open, Script, Waits, data, eventually, interrupt_twice


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def memory(clock: Clock) -> MemoryConsumer:
    """A consumer without a JVM, whose time passes in waits alone."""
    return MemoryConsumer(clock)


async def taken(queue: Any, count: int, **options: Any) -> list[mmapqueue.Message]:
    """Takes this many records; the rest of the batch is popped next."""
    got = []
    async with contextlib.aclosing(queue.aconsume(**options)) as messages:
        async for message in messages:
            got.append(message)
            if len(got) == count:
                break
    return got


def no_thread_is_left() -> bool:
    return not any(thread.name.startswith("mmapqueue-aconsume") for thread in threading.enumerate())


def test_it_gives_what_there_is_and_ends(clock: Clock, memory: MemoryConsumer) -> None:
    async def run() -> list[mmapqueue.Message]:
        return [message async for message in pushed(memory, 2500).aconsume(timeout=30)]

    messages = asyncio.run(run())
    assert 30 <= clock() < 30.1
    assert [(m.offset, m.data, m.attempts) for m in messages] == [(i, b"%d" % i, 1) for i in range(2500)]
    memory.ack_up_to(messages[-1])
    assert memory.lag() == 0
    assert eventually(no_thread_is_left)


def test_timeout_zero_ends_at_once(memory: MemoryConsumer) -> None:
    async def run() -> list[mmapqueue.Message]:
        return [message async for message in memory.aconsume(timeout=0)]

    assert asyncio.run(run()) == []
    pushed(memory, 5)
    assert len(asyncio.run(run())) == 5


def test_it_waits_for_records_and_lets_others_run(open_queue: Open, waits: Waits) -> None:
    queue = open_queue()
    other = queue.consumer("other")

    async def run() -> list[mmapqueue.Message]:
        pop = asyncio.create_task(taken(other, 3))
        for i in range(3):
            # The event loop stays free while the pop waits.
            await asyncio.to_thread(waits.until, threads=1, slices=2 * (i + 1))
            assert not pop.done()
            queue.push(b"%d" % i)
        return await asyncio.wait_for(pop, 60)

    assert data(asyncio.run(run())) == [b"0", b"1", b"2"]


def test_what_is_left_goes_back(memory: MemoryConsumer) -> None:
    pushed(memory, 100)
    got = asyncio.run(taken(memory, 5, max_records=20))
    assert [m.offset for m in got] == [0, 1, 2, 3, 4]
    assert (memory.qsize(), memory.unacked()) == (95, 5)
    assert [m.offset for m in memory] == list(range(5, 100))


def test_what_is_left_goes_back_when_nobody_closes_it(memory: MemoryConsumer) -> None:
    pushed(memory, 100)
    loop = asyncio.new_event_loop()
    messages = memory.aconsume(max_records=20)
    assert loop.run_until_complete(messages.__anext__()).offset == 0
    loop.close()
    del messages
    gc.collect()
    assert memory.qsize() == 99
    assert [m.offset for m in memory] == list(range(1, 100))
    assert eventually(no_thread_is_left)


def test_the_limits_are_kept(memory: MemoryConsumer) -> None:
    for limits in ({"max_records": 0}, {"max_bytes": 0}):
        with pytest.raises(ValueError, match="at least 1"):
            memory.aconsume(**limits)
    with pytest.raises(ValueError, match="seconds from 0 on"):
        memory.aconsume(timeout=-1)
    pushed(memory, 50)

    async def run() -> None:
        async for message in memory.aconsume(timeout=0, max_records=7, max_bytes=10):
            # Seven records at most, and those of two digits no more than five, are on their way at once.
            assert 50 - memory.port.size() <= message.offset + (7 if message.offset < 10 else 5)

    asyncio.run(run())
    assert memory.qsize() == 0


def test_a_cancelled_wait_loses_no_record() -> None:
    """Cancelled at any moment, again and again, while another thread pushes."""
    queue = MemoryConsumer()
    total = 1500
    got: list[int] = []
    cancelled = 0
    random.seed(17)

    def produce() -> None:
        for i in range(total):
            # The consumer is cancelled in between, however slow it is.
            while cancelled < i // 100:
                time.sleep(0.001)
            queue.push(b"%d" % i)
            if i % 5 == 0:
                time.sleep(0.001)

    async def consume() -> None:
        async with contextlib.aclosing(queue.aconsume(max_records=10)) as messages:
            async for message in messages:
                got.append(message.offset)
                if random.random() < 0.1:
                    await asyncio.sleep(0)

    async def run() -> None:
        nonlocal cancelled
        while len(got) < total:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(consume(), random.random() * 0.02)
            cancelled += 1

    thread = threading.Thread(target=produce)
    thread.start()
    asyncio.run(run())
    thread.join()
    assert got == list(range(total))
    assert cancelled > 10
    assert eventually(no_thread_is_left)


def test_many_tasks_share_the_records() -> None:
    queue = pushed(MemoryConsumer(), 2000)
    parts: list[list[int]] = [[] for _ in range(5)]

    async def run() -> None:
        all_have_some, all_taken = asyncio.Event(), asyncio.Event()

        async def consume(part: list[int]) -> None:
            async for message in queue.aconsume(timeout=60, max_records=50):
                part.append(message.offset)
                if all(parts):
                    all_have_some.set()
                await all_have_some.wait()  # while this task holds its first batch
                if sum(map(len, parts)) == 2000:
                    all_taken.set()

        tasks = [asyncio.create_task(consume(part)) for part in parts]
        await asyncio.wait_for(all_taken.wait(), 60)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(run())
    assert sorted(offset for part in parts for offset in part) == list(range(2000))
    assert all(part == sorted(part) for part in parts)


def test_a_seek_makes_void_what_was_popped(memory: MemoryConsumer) -> None:
    queue = pushed(memory, 100)

    async def run() -> list[int]:
        got = []
        async for message in queue.aconsume(timeout=0, max_records=10):
            got.append(message.offset)
            if len(got) == 3:
                await asyncio.to_thread(queue.seek, 90)
        return got

    assert asyncio.run(run()) == [0, 1, 2, *range(90, 100)]


def test_errors_come_out(open_queue: Open, waits: Waits) -> None:
    queue = pushed(open_queue(max_unacked=10, **SMALL), 20)

    async def all_of(source: Any) -> list[mmapqueue.Message]:
        return [message async for message in source.aconsume(timeout=0.2)]

    with pytest.raises(mmapqueue.UnackedLimit):
        asyncio.run(all_of(queue))
    queue.ack_up_to(9)

    async def close_meanwhile() -> None:
        waiting = asyncio.create_task(taken(queue.consumer("empty", start="latest"), 1))
        await asyncio.to_thread(waits.until, threads=1)
        queue.close()
        await waiting

    with pytest.raises(mmapqueue.Closed):
        asyncio.run(close_meanwhile())
    with pytest.raises(mmapqueue.Closed):
        asyncio.run(all_of(queue))


def test_at_the_limit_it_waits_for_acks() -> None:
    queue = pushed(MemoryConsumer(max_unacked=10), 30)

    async def run() -> list[int]:
        got = []

        async def consume() -> None:
            async for message in queue.aconsume(timeout=60):
                got.append(message.offset)

        task = asyncio.create_task(consume())
        while len(got) < 30:
            await asyncio.sleep(0.05)
            if got:
                queue.ack_up_to(got[-1])
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return got

    assert asyncio.run(run()) == list(range(30))


def test_ctrl_c_loses_no_record(script: Script) -> None:
    process = script.start(
        """
        import asyncio, contextlib, sys
        import mmapqueue
        queue = mmapqueue.Queue(sys.argv[1])
        queue.push_many([b"%d" % i for i in range(50)])
        got = []

        async def main():
            async with contextlib.aclosing(queue.aconsume(max_records=20)) as messages:
                async for message in messages:
                    got.append(message.offset)
                    if len(got) == 25:
                        print("waiting", flush=True)
                        await asyncio.sleep(60)

        try:
            asyncio.run(main())
        except KeyboardInterrupt:
            print("interrupted")
        got += [message.offset for message in queue]

        async def idle():
            when_waiting(lambda: print("idle", flush=True))
            async for _message in queue.aconsume():
                pass

        try:
            asyncio.run(idle())
        except KeyboardInterrupt:
            print("interrupted")
        queue.push(b"50")
        got.append(queue.pop().offset)
        assert got == list(range(51)), got
        queue.ack_up_to(50)
        assert queue.lag() == 0
        queue.close()
        """,
        script.directory / "queue",
    )
    interrupt_twice(process, "waiting")
