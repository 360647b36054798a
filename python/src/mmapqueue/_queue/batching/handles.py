"""Handles of records that a batching producer pushes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from mmapqueue._values.durations import Duration
from mmapqueue._values.functions import eager
from mmapqueue._values.logs import printing_errors

_LOG = logging.getLogger("mmapqueue")


class Completion(Protocol):
    """Completes handles."""

    def wait(self, handle: PushHandle, timeout: Duration | None) -> None:
        """Returns when the handle is done; raises TimeoutError."""

    def add_callback(self, handle: PushHandle, call: Callable[[PushHandle], object]) -> bool:
        """Registers a function to call when the handle is done; returns False when it is done already."""


class PushHandle:
    """A record that `BatchingProducer.push` has accepted; later its offset, or its error.

    Much lighter than a `concurrent.futures.Future`, which `future` makes on request. Under asyncio, `await handle`
    gives the offset. Safe for any number of threads.

        handle = producer.push(b"one")
        offset = handle.result(timeout=1.0)

    Example:
        >>> with queue.producer(linger=0.001) as producer:
        ...     handle = producer.push(b"one")
        >>> handle.result()
        0
    """

    # The bytes of a waiting record; later its offset, or its error.
    __slots__ = ("_completion", "_state")
    if TYPE_CHECKING:
        _state: bytes | int | BaseException
        _completion: Completion

    def done(self) -> bool:
        """Whether the record is in the queue (durable, with sync), or has failed.

        Example:
            >>> with queue.producer(linger=0.001) as producer:
            ...     handle = producer.push(b"one")
            >>> handle.done()
            True
        """
        return not isinstance(self._state, bytes)

    def result(self, timeout: Duration | None = None) -> int:
        """Returns the record's offset; waits for it.

        Args:
            timeout: The maximum time to wait: seconds, a timedelta, or a string such as "500ms"; None for no limit.

        Raises:
            TimeoutError: The record still waits. It will be pushed later.
            Closed: The queue or the producer was closed before the record had room.
            Poisoned: A write has failed; with sync, it is unknown whether the record is durable.
            MmapQueueError: The push failed. Records of one batch have the same error.
            RuntimeError: Called in a done-callback, for a record that waits: the producer's thread cannot wait for
                itself.

        Example:
            >>> with queue.producer(linger=0.001) as producer:
            ...     handle = producer.push(b"one")
            ...     handle.result(timeout="10s")
            0
        """
        error = self.exception(timeout)
        if error is not None:
            raise error.with_traceback(None)
        return self._state  # type: ignore[return-value]

    def exception(self, timeout: Duration | None = None) -> BaseException | None:
        """Returns the record's error, None when the record is in the queue; waits as `result`.

        Args:
            timeout: The maximum time to wait: seconds, a timedelta, or a string such as "500ms"; None for no limit.

        Raises:
            TimeoutError: The record still waits.
            RuntimeError: As from `result`.

        Example:
            >>> with queue.producer(linger=0.001) as producer:
            ...     handle = producer.push(b"one")
            >>> handle.exception() is None
            True
        """
        if isinstance(self._state, bytes):
            self._completion.wait(self, timeout)
        state = self._state
        return state if isinstance(state, BaseException) else None

    def add_done_callback(self, call: Callable[[PushHandle], object]) -> None:
        """Calls a function with this handle when it is done; at once, in this thread, when it is done already.

        Otherwise the producer's thread calls it, between two batches: the function should return soon, and must not
        wait for this producer. In both cases, its exceptions go to the logger "mmapqueue".

        Args:
            call: The function.

        Raises:
            TypeError: The object cannot be called, or is an async function: under asyncio, `await` the handle.
            MmapQueueError: This is a forked child, and the record waited at the fork: the parent pushes it.

        Example:
            >>> with queue.producer(linger=0.001) as producer:
            ...     handle = producer.push(b"one")
            ...     handle.add_done_callback(lambda done: print(done.result()))
            0
        """
        eager("call", call, "under asyncio, `await` the handle")
        self._add_callback(call)

    def _add_callback(self, call: Callable[[PushHandle], object]) -> None:
        if not self._completion.add_callback(self, call):
            try:
                call(self)
            except Exception:
                with printing_errors():
                    _LOG.exception("a done-callback of a producer has failed")

    def future(self) -> Future[int]:
        """A `concurrent.futures.Future` of the offset, for `concurrent.futures.wait` and `asyncio.wrap_future`.

        It cannot be cancelled: the record will be pushed.

        Example:
            >>> with queue.producer(linger=0.001) as producer:
            ...     handle = producer.push(b"one")
            >>> handle.future().result()
            0
        """
        future: Future[int] = Future()
        future.set_running_or_notify_cancel()

        def complete(handle: PushHandle) -> None:
            error = handle.exception()
            if error is None:
                future.set_result(handle.result())
            else:
                future.set_exception(error)

        self._add_callback(complete)
        return future

    def __await__(self) -> Generator[Any, None, int]:
        """Waits under asyncio. A cancellation ends the wait only: the record will be pushed."""
        if isinstance(self._state, bytes):
            # Imported on first use: asyncio is slow to import.
            import asyncio

            loop = asyncio.get_running_loop()
            waiter: asyncio.Future[None] = loop.create_future()

            def wake() -> None:
                if not waiter.done():
                    waiter.set_result(None)

            def done(_handle: PushHandle) -> None:
                # The loop may have ended before the record was pushed.
                with suppress(RuntimeError):
                    loop.call_soon_threadsafe(wake)

            self._add_callback(done)
            yield from waiter
        return self.result()

    def __repr__(self) -> str:
        state = self._state
        if isinstance(state, bytes):
            return f"<mmapqueue.PushHandle of {len(state)} bytes that wait>"
        return f"<mmapqueue.PushHandle {f'failed: {state!r}' if isinstance(state, BaseException) else state}>"
