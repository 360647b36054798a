"""Iteration under asyncio.

A thread pops, in slices: no coroutine waits for the JVM, and a cancellation takes effect after one slice at most. A
`Fetch` passes records from the thread to the coroutine. The next pop delivers the records that the coroutine did not
receive.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.consuming.delivery import Batch
from mmapqueue._queue.consuming.popper import Popper
from mmapqueue._queue.deadline import Deadline
from mmapqueue._queue.threads import SLICE_SECONDS, Threads, until_done
from mmapqueue._values.durations import Duration
from mmapqueue._values.errors import UnackedLimit
from mmapqueue._values.message import AnyMessage


class Fetch:
    """One pop on behalf of a coroutine of the running event loop."""

    def __init__(self, popper: Popper) -> None:
        self._popper = popper
        self._loop = asyncio.get_running_loop()
        self._batch: Batch | None = None
        self._released = False
        self._lock = threading.Lock()

    def run(self, most: int, max_bytes: int, deadline: Deadline) -> Iterator[AnyMessage]:
        """Pops; returns an iterator, by which the coroutine receives the records. Runs in the executor's thread."""
        batch = self._popper.pop_batch(most, max_bytes, deadline)
        with self._lock:
            self._batch = batch
            self._popper.delivery.held[batch.rest] = batch
            # A coroutine of a closed loop does not continue, and may be referred to for long.
            if self._released or self._loop.is_closed():
                self._keep_rest()
        return batch.rest

    def is_stale(self) -> bool:
        """Whether the rest of the batch must not be delivered."""
        return self._batch is not None and self._popper.delivery.is_stale(self._batch)

    def release(self) -> None:
        """Keeps the undelivered records for the next pop; if the pop still runs, as soon as it ends."""
        with Shield(), self._lock:
            self._released = True
            self._keep_rest()

    def forget(self) -> None:
        """Drops the undelivered records: they are stale."""
        batch, self._batch = self._batch, None
        if batch is not None:
            self._popper.delivery.held.pop(batch.rest, None)

    async def release_after(self, popped: "asyncio.Future[Iterator[AnyMessage]]") -> None:
        """As `release`; returns when the pop has ended, also when this task was cancelled."""
        self.release()
        await until_done(popped)

    def _keep_rest(self) -> None:
        batch, self._batch = self._batch, None
        if batch is not None:
            batch.put_back()
            self._popper.delivery.held.pop(batch.rest, None)

    def __del__(self) -> None:
        # The event loop ended without closing the generator. The thread is done; a pending future would keep a
        # reference.
        self._keep_rest()


async def received(popped: "asyncio.Future[Iterator[AnyMessage]]", deadline: Deadline) -> Iterator[AnyMessage]:
    """The records of a pop; none while max_unacked allows none, since other tasks may ack before the deadline."""
    try:
        return await asyncio.shield(popped)
    except UnackedLimit:
        if deadline.has_passed():
            raise
        return iter(())


async def pop_async(
    threads: Threads, popper: Popper, most: int, max_bytes: int, deadline: Deadline
) -> list[AnyMessage]:
    """Pops records; returns none when none was available in time."""
    while True:
        fetch = Fetch(popper)
        slice_ = Deadline(deadline.seconds(SLICE_SECONDS))
        popped = threads.pop(partial(fetch.run, most, max_bytes, slice_))
        try:
            # The caller receives them, since no await follows.
            messages = list(await received(popped, deadline))
        finally:
            await fetch.release_after(popped)
        if messages or deadline.has_passed():
            return messages


async def consume_async(
    opens: Callable[[], Awaitable[Popper]], timeout: Duration | None, max_records: int, max_bytes: int
) -> AsyncGenerator[AnyMessage, None]:
    """As `Consumer.aconsume`, with limits that are already checked, of the consumer that `opens` returns."""
    popper = await opens()
    loop = asyncio.get_running_loop()
    executor = ThreadPoolExecutor(1, thread_name_prefix="mmapqueue-aconsume")
    try:
        idle = Deadline(timeout)
        while True:
            fetch = Fetch(popper)
            slice_ = Deadline(idle.seconds(SLICE_SECONDS))
            popped = loop.run_in_executor(executor, fetch.run, max_records, max_bytes, slice_)
            came = False
            try:
                for message in await received(popped, idle):
                    came = True
                    yield message
                    if fetch.is_stale():
                        fetch.forget()
                        break
            finally:
                await fetch.release_after(popped)
            if came:
                idle = Deadline(timeout)
            elif idle.has_passed():
                return
    finally:
        executor.shutdown(wait=False)
