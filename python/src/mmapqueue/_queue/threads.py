"""Calls under asyncio: threads make them, in slices, so that no coroutine waits for the JVM.

A cancellation waits for the running slice: a fraction of a second. Waiting pops, waiting pushes, waits for the archive,
and calls that do not wait have threads of their own, so no kind delays another.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from mmapqueue._queue.deadline import Deadline
from mmapqueue._values.errors import Full

_Result = TypeVar("_Result")

#: The maximum wait of one call in seconds, and so the maximum delay of a cancellation.
SLICE_SECONDS = 0.1
#: The maximum number of threads of each kind. Concurrent sync pushes share one fsync, so more of them may wait at once.
_PUSHES = 16
_POPS = 8
_WAITS = 4
_OTHERS = 4


class Threads:
    """The threads of one queue. They end when the queue is closed."""

    def __init__(self, check: Callable[[], None]) -> None:
        self._check = check
        self._pushes = ThreadPoolExecutor(_PUSHES, thread_name_prefix="mmapqueue-apush")
        self._pops = ThreadPoolExecutor(_POPS, thread_name_prefix="mmapqueue-apop")
        self._waits = ThreadPoolExecutor(_WAITS, thread_name_prefix="mmapqueue-await")
        self._others = ThreadPoolExecutor(_OTHERS, thread_name_prefix="mmapqueue-async")

    async def run(self, call: Callable[[], _Result]) -> _Result:
        """Runs a call that waits for neither records nor room."""
        return await self._ended(self._submit(self._others, call))

    async def push(self, push: Callable[[float], _Result], deadline: Deadline) -> _Result:
        """Repeats a push until it has room.

        Args:
            push: Called with the maximum wait in seconds; raises Full when it has pushed nothing.
            deadline: The time at which Full is raised.
        """
        while True:
            try:
                call = partial(push, deadline.seconds(SLICE_SECONDS))
                return await self._ended(self._submit(self._pushes, call))
            except Full:
                if deadline.has_passed():
                    raise

    async def wait(self, wait: Callable[[float], bool], deadline: Deadline) -> bool:
        """Repeats a wait until it succeeds; returns whether it has succeeded in time.

        Args:
            wait: Called with the maximum wait in seconds; returns whether it has succeeded.
            deadline: The time at which to give up.
        """
        while not await self._ended(self._submit(self._waits, partial(wait, deadline.seconds(SLICE_SECONDS)))):
            if deadline.has_passed():
                return False
        return True

    def pop(self, pop: Callable[[], _Result]) -> "asyncio.Future[_Result]":
        """Begins a pop, which the caller cancels."""
        return self._submit(self._pops, pop)

    def _submit(self, executor: ThreadPoolExecutor, call: Callable[[], _Result]) -> "asyncio.Future[_Result]":
        self._check()
        try:
            return asyncio.get_running_loop().run_in_executor(executor, call)
        except RuntimeError:
            # The queue was closed since.
            self._check()
            raise

    async def _ended(self, future: "asyncio.Future[_Result]") -> _Result:
        """The result of a call. Waits for the call's end, also after a cancellation."""
        try:
            return await asyncio.shield(future)
        finally:
            await until_done(future)

    def close(self) -> None:
        """Lets the threads end, without waiting for them."""
        for executor in (self._pushes, self._pops, self._waits, self._others):
            executor.shutdown(wait=False)


async def until_done(future: "asyncio.Future[Any]") -> None:
    """Waits for the end of a call, whatever that is. In a closed event loop no future is done any more."""
    if not future.done() and not future.get_loop().is_closed():
        with suppress(Exception):
            await future


async def in_own_thread(call: Callable[[], _Result], name: str) -> _Result:
    """Runs a call in a new thread, since those of the event loop may all wait for what this call does.

    After a cancellation the call continues.

    Args:
        call: The call.
        name: The beginning of the thread's name.
    """
    executor = ThreadPoolExecutor(1, thread_name_prefix=name)
    try:
        return await asyncio.get_running_loop().run_in_executor(executor, call)
    finally:
        executor.shutdown(wait=False)
