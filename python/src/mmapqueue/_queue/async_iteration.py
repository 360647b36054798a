"""Iteration under asyncio.

A thread pops, in slices: no coroutine waits for the JVM, and a cancellation takes effect after one slice at most. A
`Fetch` passes records from the thread to the coroutine. The next pop delivers the records that the coroutine did not
receive.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.consuming.delivery import Batch
from mmapqueue._queue.consuming.popper import Popper
from mmapqueue._queue.deadline import Deadline
from mmapqueue._queue.threads import SLICE_SECONDS, Threads
from mmapqueue._values.durations import Duration
from mmapqueue._values.errors import UnackedLimit
from mmapqueue._values.message import AnyMessage


class Fetch:
    """One pop on behalf of a coroutine.

    Attributes:
        delivered: The number of records of the batch that the coroutine has received.
    """

    def __init__(self, popper: Popper) -> None:
        self.delivered = 0
        self._popper = popper
        self._batch: Batch | None = None
        self._released = False
        self._lock = threading.Lock()

    def run(self, most: int, max_bytes: int, deadline: Deadline) -> list[AnyMessage]:
        """Pops. Runs in the executor's thread."""
        batch = self._popper.pop_batch(most, max_bytes, deadline)
        with self._lock:
            self._batch = batch
            if self._released:
                self._keep_rest()
        return batch.messages

    def is_stale(self) -> bool:
        """Whether the rest of the batch must not be delivered."""
        return self._batch is not None and self._popper.delivery.is_stale(self._batch)

    def release(self) -> None:
        """Keeps the undelivered records for the next pop; if the pop still runs, as soon as it ends."""
        with Shield(), self._lock:
            self._released = True
            self._keep_rest()

    async def release_after(self, popped: "asyncio.Future[list[AnyMessage]]") -> None:
        """As `release`; returns when the pop has ended, also when this task was cancelled."""
        self.release()
        if not popped.done():
            with suppress(Exception):
                await popped

    def _keep_rest(self) -> None:
        batch = self._batch
        if batch is not None and self.delivered < len(batch.messages):
            batch.undelivered.put_first(batch.messages[self.delivered :], batch.lease_end)
            self.delivered = len(batch.messages)

    def __del__(self) -> None:
        # The event loop ended without closing the generator. The thread is done; a pending future would keep a
        # reference.
        self._keep_rest()


async def received(popped: "asyncio.Future[list[AnyMessage]]", deadline: Deadline) -> list[AnyMessage]:
    """The records of a pop; none while max_unacked allows none, since other tasks may ack before the deadline."""
    try:
        return await asyncio.shield(popped)
    except UnackedLimit:
        if deadline.has_passed():
            raise
        return []


async def pop_async(
    threads: Threads, popper: Popper, most: int, max_bytes: int, deadline: Deadline
) -> list[AnyMessage]:
    """Pops records; returns none when none was available in time."""
    while True:
        fetch = Fetch(popper)
        slice_ = Deadline(deadline.seconds(SLICE_SECONDS))
        popped = threads.pop(partial(fetch.run, most, max_bytes, slice_))
        try:
            messages = await received(popped, deadline)
            # The caller receives them, since no await follows.
            fetch.delivered = len(messages)
        finally:
            await fetch.release_after(popped)
        if messages or deadline.has_passed():
            return messages


async def consume_async(
    popper: Popper, timeout: Duration | None, max_records: int, max_bytes: int
) -> AsyncGenerator[AnyMessage, None]:
    """As `Consumer.aconsume`, with limits that are already checked."""
    loop = asyncio.get_running_loop()
    executor = ThreadPoolExecutor(1, thread_name_prefix="mmapqueue-aconsume")
    try:
        idle = Deadline(timeout)
        while True:
            fetch = Fetch(popper)
            slice_ = Deadline(idle.seconds(SLICE_SECONDS))
            popped = loop.run_in_executor(executor, fetch.run, max_records, max_bytes, slice_)
            messages: list[AnyMessage] = []
            try:
                messages = await received(popped, idle)
                for message in messages:
                    fetch.delivered += 1
                    yield message
                    if fetch.is_stale():
                        fetch.delivered = len(messages)
                        break
            finally:
                await fetch.release_after(popped)
            if messages:
                idle = Deadline(timeout)
            elif idle.has_passed():
                return
    finally:
        executor.shutdown(wait=False)
