"""Iteration under asyncio.

Pops run in a thread of their own, a fraction of a second at a time, so that no coroutine waits for the JVM and nothing
goes on long after a cancellation. Between the thread and the coroutine stands a `_Fetch`: what it holds when the
coroutine is gone, or comes to hold later, goes back.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.handle import Waiting
from mmapqueue._queue.pop_buffer import Batch
from mmapqueue._queue.popper import Popper
from mmapqueue._values.errors import UnackedLimit
from mmapqueue._values.message import Message

#: The longest that one pop waits: so long may a cancellation take.
_SLICE_SECONDS = 0.1


class _Fetch:
    """One pop on behalf of a coroutine.

    Attributes:
        given: How many records of the batch were handed out.
    """

    def __init__(self, popper: Popper) -> None:
        self.given = 0
        self._popper = popper
        self._batch: Batch | None = None
        self._released = False
        self._lock = threading.Lock()

    def run(self, most: int, max_bytes: int, waiting: Waiting) -> list[Message]:
        """Pops; for another thread."""
        batch = self._popper.take(most, max_bytes, waiting)
        with self._lock:
            self._batch = batch
            if self._released:
                self._give_back()
        return batch.messages

    def is_void(self) -> bool:
        """Whether the rest must not be handed out."""
        return self._batch is not None and self._popper.is_void(self._batch)

    def release(self) -> None:
        """Gives back what was not handed out, now or when it comes."""
        with Shield(), self._lock:
            self._released = True
            self._give_back()

    def _give_back(self) -> None:
        batch = self._batch
        if batch is not None and self.given < len(batch.messages):
            batch.home.put_first(batch.messages[self.given :], batch.until)
            self.given = len(batch.messages)

    def __del__(self) -> None:
        # The event loop went away, and nobody has closed the generator. The thread is not at it, or this would live.
        self._give_back()


async def consume_async(
    popper: Popper, timeout: float | None, max_records: int, max_bytes: int
) -> AsyncGenerator[Message, None]:
    """As `Consumer.aconsume`, with limits that were checked."""
    loop = asyncio.get_running_loop()
    executor = ThreadPoolExecutor(1, thread_name_prefix="mmapqueue-aconsume")
    try:
        idle = Waiting(True, timeout)
        while True:
            fetch = _Fetch(popper)
            slice_ = Waiting(True, idle.seconds(_SLICE_SECONDS))
            popping = loop.run_in_executor(executor, fetch.run, max_records, max_bytes, slice_)
            messages: list[Message] = []
            try:
                try:
                    messages = await asyncio.shield(popping)
                except UnackedLimit:
                    # Other tasks may ack in time.
                    if idle.is_over():
                        raise
                for message in messages:
                    fetch.given += 1
                    yield message
                    if fetch.is_void():
                        fetch.given = len(messages)
                        break
            finally:
                fetch.release()
                if not popping.done():
                    # Cancelled: by the time this ends, nothing is on its way any more.
                    with suppress(Exception):
                        await popping
            if messages:
                idle = Waiting(True, timeout)
            elif idle.is_over():
                return
    finally:
        executor.shutdown(wait=False)
