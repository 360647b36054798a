"""Threads push through one producer, beside flushes, faults and closes: each accepted record is in the log once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import pytest
from interleaving import Scheduler, StepLoop, consumer, run_seeds, stepped
from memory_port import MemoryPort
from memory_queue import MemoryQueue

import mmapqueue
from mmapqueue._queue import async_producer, deadline, handle, producer, threads
from mmapqueue._queue.async_producer import AsyncProducer
from mmapqueue._queue.batching import handles, sender
from mmapqueue._queue.batching import producer as batching
from mmapqueue._queue.batching.handles import PushHandle
from mmapqueue._queue.batching.producer import BatchingProducer
from mmapqueue._queue.consuming.ahead import Ahead
from mmapqueue._queue.producer import Producer
from mmapqueue._values.errors import Closed, Full, MmapQueueError


class Fault(MmapQueueError):
    """A push failed in the JVM."""

    java_class = "Fault"


def one_run(seed: int, lines: bool) -> None:
    """Three threads push, one flushes, one makes room, and one closes the producer or the queue."""
    scheduler = Scheduler(seed, lines)
    random = scheduler.random
    closes_queue = random.random() < 0.4
    # Whether nothing urges the producer: neither a flush, nor a close before all records are pushed.
    urges = random.random() < 0.8
    faults = random.choice((0.0, 0.0, 0.2))
    port = MemoryPort()

    def step(what: str) -> None:
        scheduler.step(what)
        port.now = scheduler.now

    port.step = step
    with stepped(scheduler, sender, handles, batching, producer, deadline, handle):
        queue = MemoryQueue(port, room_for=random.choice((3, 100)))
        accepted: list[list[tuple[bytes, PushHandle]]] = [[], [], []]
        refused: list[bytes] = []
        called: Counter[bytes] = Counter()
        # Without a consumer: the oldest records make room.
        makes_room = not urges or random.random() < 0.8

        def fail(_when: str) -> None:
            if random.random() < faults:
                raise Fault("failed")

        queue.fail = fail

        def note_call(record: bytes, _: PushHandle) -> None:
            called[record] += 1

        def push(pushing: BatchingProducer[bytes], number: int) -> None:
            for count in range(random.choice((1, 3, 20))):
                record = b"%d.%d" % (number, count)
                if random.random() < 0.1:
                    record += b"x" * 50  # More than a buffer holds.
                try:
                    pushed = pushing.push(record, timeout=random.choice((0, 0.02)))
                except Full:
                    refused.append(record)
                    continue
                except Closed:
                    assert ending, "the thread has ended by itself"
                    refused.append(record)
                    break
                accepted[number].append((record, pushed))
                if random.random() < 0.3:
                    pushed.add_done_callback(partial(note_call, record))
                else:
                    called[record] += 1
                if random.random() < 0.2:
                    with suppress(MmapQueueError, TimeoutError):
                        pushed.result(timeout=random.choice((0, 0.05)) if urges else None)
            if accepted[number] and not urges:
                accepted[number][-1][1].exception()
            left[0] -= 1

        # The threads that push; whether a close has begun.
        left = [3]
        ending: list[None] = []

        def flush(pushing: BatchingProducer[bytes]) -> None:
            for _ in range(2 * urges):
                scheduler.step("before the flush")
                before = [pushed for each in accepted for _, pushed in each]
                try:
                    pushing.flush(timeout=random.choice((0.01, 1)))
                except TimeoutError:
                    continue
                except MmapQueueError:
                    errors.append(None)
                assert all(pushed.done() for pushed in before), "a flush has not waited"
                failed = any(isinstance(pushed._state, BaseException) for pushed in before)
                assert errors or not failed, "a flush has raised nothing"

        # The flushes that have raised the error of a record, and closes, which do so, too.
        errors: list[None] = []

        def make_room() -> None:
            for _ in range(random.choice((0, 5, 50)) if makes_room else 0):
                scheduler.step("idle")
                queue.room_for += random.choice((0, 1, 3))
            queue.room_for += 1000 * makes_room

        def close() -> None:
            for _ in range(random.choice((0, 5, 50))):
                scheduler.step("idle")
            while left[0] and not urges:
                scheduler.step("idle")
            ending.append(None)
            errors.append(None)
            if closes_queue or not makes_room:
                queue.close()
            while not opened and not queue.closed:
                scheduler.step("idle")
            if not opened:
                return
            pushing = opened[0]
            assert pushing.closed or not queue.closed
            with suppress(MmapQueueError, TimeoutError):
                pushing.close(timeout=random.choice((0.01, 1)))
            with suppress(MmapQueueError):
                pushing._sender.flush(deadline.Deadline())

        def program() -> None:
            try:
                pushing: BatchingProducer[bytes] = BatchingProducer(
                    queue,
                    Producer(queue),
                    linger=random.choice((0.0, 0.002)),
                    batch_bytes=random.choice((1, 400, 4000)),
                    buffer_bytes=random.choice((300, 600, 10_000)),
                    sync=False,
                )
            except Closed:
                return
            opened.append(pushing)
            for number in range(3):
                scheduler.start(partial(push, pushing, number))
            scheduler.start(partial(flush, pushing))

        opened: list[BatchingProducer[bytes]] = []
        scheduler.run(program, make_room, close)
        if not opened:
            return
        counts = Counter(port.log)
        for each in accepted:
            offsets = []
            for record, pushed in each:
                state = pushed._state
                assert not isinstance(state, bytes), f"{record!r} still waits"
                if isinstance(state, int):
                    offsets.append(state)
                    assert port.log[state] == record, f"{record!r} is not at its offset"
                    assert counts[record] == 1, f"{record!r} is pushed twice"
                else:
                    assert counts[record] <= bool(faults), f"{record!r} has failed, and is pushed"
                assert called[record] == 1, f"the callback of {record!r} was called {called[record]} times"
            assert offsets == sorted(offsets), "records have changed their order"
        assert not set(refused) & set(counts), "a refused record is pushed"
        assert opened[0]._sender.bytes_held == 0
        assert not queue.producers


def one_run_of_calls(seed: int, lines: bool) -> None:
    """Two threads and two tasks push without a batching producer; one pops, and its lingering acks make room."""
    scheduler = Scheduler(seed, lines)
    random = scheduler.random
    closes = random.random() < 0.3
    with (
        stepped(scheduler, producer, async_producer, threads, deadline),
        consumer(scheduler, Ahead(prefetch=4096, ack_linger=1000.0)) as (popper, port, upkeep),
    ):
        queue = MemoryQueue(port, room_for=random.choice((2, 5, 100)))
        reader = queue.consumer(popper)
        pushes = Producer(queue)
        apushes = AsyncProducer(queue, pushes)
        # Records of calls that have returned, of calls that have raised, and of calls that were cancelled.
        pushed: list[list[bytes]] = []
        refused: list[bytes] = []
        popped: list[bytes] = []
        pushing = [3]
        slow = random.choice((0, 0, 150))

        def records(number: int, count: int) -> list[bytes]:
            return [b"%d.%d.%d" % (number, count, each) for each in range(random.choice((1, 3, 9)))]

        def note(records: list[bytes], count: int, *, exact: bool = True) -> None:
            pushed.append(records[:count])
            if exact:
                refused.extend(records[count:])

        def push(number: int) -> None:
            for count in range(3):
                some = records(number, count)
                timeout = random.choice((0, 0.01, 0.1))
                try:
                    if len(some) == 1:
                        offset = pushes.push(some[0], block=True, timeout=timeout, sync=False)
                        assert port.log[offset] == some[0], "a record is not at its offset"
                        note(some, 1)
                    else:
                        atomic = random.random() < 0.3
                        note(some, pushes.push_many(some, block=True, timeout=timeout, atomic=atomic, sync=False))
                except (Full, Closed) as error:
                    note(some, getattr(error, "pushed", 0))
            pushing[0] -= 1

        async def apush(number: int) -> None:
            for count in range(3):
                some = records(number, count)
                until = deadline.Deadline(random.choice((0, 0.01, 0.5)))
                try:
                    if len(some) == 1:
                        offset = await apushes.push(some[0], until, sync=False)
                        assert port.log[offset] == some[0], "a record is not at its offset"
                        note(some, 1)
                    else:
                        atomic = random.random() < 0.3
                        done = await apushes.push_many(some, until, atomic=atomic, sync=False, archive=None)
                        note(some, done)
                except asyncio.CancelledError as error:
                    note(some, getattr(error, "pushed", 0), exact=False)
                except (Full, Closed) as error:
                    note(some, getattr(error, "pushed", 0))

        async def main() -> None:
            tasks = [asyncio.create_task(apush(number)) for number in (2, 3)]
            for _ in range(random.choice((0, 2))):
                await asyncio.sleep(random.choice((0, 0.001, 0.01)))
                random.choice(tasks).cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            pushing[0] -= 1

        def pop() -> None:
            with suppress(Closed):
                while pushing[0] or random.random() < 0.9:
                    for _ in range(slow):
                        scheduler.step("idle")
                    for message in reader.pop_many(3, timeout=0.002):
                        popped.append(message.data)
                        reader.ack(message)
            upkeep.stopped = True

        def close() -> None:
            for _ in range(random.choice((5, 50))):
                scheduler.step("idle")
            queue.close()

        loop = StepLoop(scheduler)
        ends = [close] * closes
        scheduler.run(partial(push, 0), partial(push, 1), lambda: loop.run(main()), pop, upkeep.work, *ends)
        assert len(set(port.log)) == len(port.log), "a record is pushed twice"
        places = {record: offset for offset, record in enumerate(port.log)}
        assert not set(refused) & set(places), "a refused record is pushed"
        for some in pushed:
            offsets = [places[record] for record in some]
            assert offsets == sorted(offsets), "records have changed their order"
        assert popped == port.log[: len(popped)]
        if not closes:
            popper.send_acks()
            assert port.committed == len(popped), "an ack is lost"


@pytest.mark.long_form
@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("run", [one_run, one_run_of_calls])
def test_pushes(run: Callable[[int, bool], None], lines: bool) -> None:
    run_seeds(run, lines, 20 if lines else 50, kept=(131, 292) if run is one_run else ())


def test_a_late_push_rings_although_another_one_rings_later(small_queue: mmapqueue.Queue) -> None:
    producer = small_queue.producer()
    producer.close()
    producer._sender._thread.join(60)
    # A push that was about to ring when the thread ended.
    producer._sender.ring()
    assert producer._sender.rings_at == 0
