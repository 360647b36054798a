"""The producer that pushes records one by one, without a round trip for each."""

from __future__ import annotations

import os
import warnings
from typing import Generic

from mmapqueue._queue.async_closing import AsyncClosing
from mmapqueue._queue.batching.handles import PushHandle
from mmapqueue._queue.batching.sender import RECORD_BYTES, Sender
from mmapqueue._queue.deadline import Deadline
from mmapqueue._queue.handle import QueueHandle
from mmapqueue._queue.producer import Producer, Record
from mmapqueue._values.annotations import Self, Value
from mmapqueue._values.arguments import Size, flag, size_in_bytes
from mmapqueue._values.durations import Duration, seconds
from mmapqueue._values.errors import TooLarge


class BatchingProducer(AsyncClosing, Generic[Value]):
    """Pushes records one by one; a thread of its own sends them to the queue in batches.

    `push` returns a handle at once. The record is in the queue when the handle is done: from then on it survives a kill
    of this process and of the JVM, as after `Queue.push`; with sync also a loss of power. A kill before that may lose
    the record, since waiting records are in this process's memory.

        with queue.producer() as producer:
            for line in lines:
                producer.push(line)

    Records keep the order of their pushes. When a batch fails, each of its handles gets the error, and `flush` and
    `close` raise it; the producer continues with the next batch. A full queue is not a failure: records wait for room.

    Made by `Queue.producer`. Safe for any number of threads. A context manager that flushes and closes itself, also
    with `async with`. It cannot be used in a forked child.

    Example:
        >>> with queue.producer(linger=0.001) as producer:
        ...     handles = [producer.push(b"event %d" % number) for number in range(100)]
        >>> handles[-1].result()
        99
    """

    # A default, for the finalizer of a producer that was not completely made.
    _closed = True

    def __init__(
        self,
        handle: QueueHandle,
        producer: Producer,
        *,
        linger: Duration,
        batch_bytes: Size,
        buffer_bytes: Size,
        sync: bool,
    ) -> None:
        lingers = seconds("linger", linger)
        flag("sync", sync)
        batch = size_in_bytes("batch_bytes", batch_bytes)
        room = size_in_bytes("buffer_bytes", buffer_bytes)
        handle.check()
        self._handle = handle
        self._takes_bytes = handle.serializer is None
        self._largest = handle.max_event_size
        sender = self._sender = Sender(handle, producer, lingers, min(batch, room), room, sync=sync)
        self._append = sender.waiting.append
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether the producer or its queue was closed.

        Example:
            >>> with queue.producer(linger=0.001) as producer:
            ...     producer.closed
            False
            >>> producer.closed
            True
        """
        return self._closed or self._sender.ended

    def push(self, data: Value | Record, *, block: bool = True, timeout: Duration | None = None) -> PushHandle:
        """Accepts a record, to be pushed within linger.

        Args:
            data: The record: bytes-like, or with a serializer any object that it takes.
            block: Whether to wait when buffer_bytes of records wait to be pushed.
            timeout: The maximum time to wait: seconds, a timedelta, or a string such as "500ms"; None for no limit.

        Returns:
            The handle of its offset.

        Raises:
            Full: The buffer had no room in time: the queue is full, or slower than its producers. Nothing was accepted.
            TooLarge: The record is larger than max_event_size. Nothing was accepted.
            Closed: The producer or the queue is closed.
            TypeError: `data` is not bytes-like, and the queue has no serializer. A serializer raises its own errors.

        Example:
            >>> with queue.producer(linger=0.001) as producer:
            ...     producer.push(b"one").result(timeout="10s")
            0
        """
        record = data if type(data) is bytes and self._takes_bytes else self._handle.record(data)
        size = len(record)
        if size > self._largest:
            raise TooLarge(f"a record of {size} bytes is larger than max_event_size = {self._largest}")
        deadline = None
        if block is not True:
            deadline = Deadline(timeout, block=block)
        elif timeout is not None:
            deadline = Deadline(timeout)
        sender = self._sender
        if sender.bytes_held >= sender.limit:
            sender.await_room(deadline or Deadline())
        handle = PushHandle()
        handle._state = record
        handle._completion = sender
        # In this order, Ctrl-C takes effect after the append, when everything is stored.
        sender.bytes_held += size + RECORD_BYTES
        self._append(handle)
        if sender.bytes_held >= sender.rings_at:
            sender.ring()
        return handle

    def flush(self, *, timeout: Duration | None = None) -> None:
        """Waits until all records accepted before are in the queue; with sync, until they are durable. Does not linger.

        Args:
            timeout: The maximum time to wait: seconds, a timedelta, or a string such as "500ms"; None for no limit.

        Raises:
            TimeoutError: Some records still wait. They will be pushed later.
            MmapQueueError: The first error of a record since the last flush, the same as that of its handle.
            RuntimeError: Called in a done-callback.

        Example:
            >>> with queue.producer(linger=0.001) as producer:
            ...     handle = producer.push(b"one")
            ...     producer.flush()
            ...     handle.done()
            True
        """
        if self._is_of_parent():
            self._handle.check()
        self._sender.flush(Deadline(timeout))

    def close(self, *, timeout: Duration | None = None) -> None:
        """Flushes, and ends the thread. Does nothing when repeated, and in a forked child.

        Later pushes raise Closed. Records that still wait after an error of this call, or Ctrl-C, are pushed while the
        queue is open; `Queue.close` pushes those for which the queue has room, and fails the others.

        Args:
            timeout: The maximum time to wait: seconds, a timedelta, or a string such as "500ms"; None for no limit.

        Raises:
            TimeoutError: As from `flush`.
            MmapQueueError: As from `flush`.

        Example:
            >>> producer = queue.producer()
            >>> handle = producer.push(b"one")
            >>> producer.close()
            >>> handle.done()
            True
        """
        deadline = Deadline(timeout)
        if self._closed or self._is_of_parent():
            return
        self._closed = True
        self._sender.stop()
        self._sender.flush(deadline)

    def _close_for(self, seconds: float, *, again: bool) -> bool:
        try:
            if again:
                self._sender.flush(Deadline(seconds))
            else:
                self.close(timeout=seconds)
        except TimeoutError:
            return False
        return True

    def _is_of_parent(self) -> bool:
        """Whether this process is a forked child."""
        return self._handle.pid != os.getpid()

    def __enter__(self) -> Self:
        self._handle.check()
        return self

    def __del__(self) -> None:
        if not self._closed and not self._is_of_parent():
            ended = self._sender.ended
            self._sender.stop()
            if not ended:
                # Last: a filter may make it an error.
                warnings.warn(f"{self!r} was not closed", ResourceWarning, stacklevel=2, source=self)

    def __repr__(self) -> str:
        return f"<mmapqueue.BatchingProducer of {self._handle.path!r}{' (closed)' if self.closed else ''}>"
