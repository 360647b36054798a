"""The interface of queuelib's queues of bytes."""

from __future__ import annotations

import os
import threading
from contextlib import suppress

import mmapqueue
from mmapqueue._values.annotations import SparkContext, SparkSession, Unpack
from mmapqueue._values.closing import Closing
from mmapqueue._values.configuration import Configuration


class FifoDiskQueue(Closing):
    """A first-in-first-out queue of bytes in a directory, with the interface of `queuelib.FifoDiskQueue`.

    After `push` returns, the bytes survive a kill of this process. If the process is killed before the next `pop` or
    `close`, only the bytes that `pop` returned last are redelivered after the next open.

        from mmapqueue.compat import FifoDiskQueue

        queue = FifoDiskQueue("requests")
        queue.push(b"one")
        queue.pop()  # b"one"
        queue.pop()  # None
        queue.close()

    Safe for any number of threads. A context manager that closes itself. One process has the directory open at a time.

    Attributes:
        path: The directory, absolute.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        spark: SparkSession | SparkContext | None = None,
        **configuration: Unpack[Configuration],
    ) -> None:
        """Opens the queue in a directory; creates a new one if none exists.

        Args:
            path: The directory, created if missing; "~" is the home of this process's user.
            spark: As of `mmapqueue.Queue`.
            **configuration: The keys of `mmapqueue.Configuration`: above all `capacity="1g"`.

        Raises:
            ConfigError: A value is out of range, or not the one that the directory has.
            Locked: Another process has the directory open.
            MmapQueueError: As from `mmapqueue.Queue`.
        """
        self._queue = mmapqueue.Queue(path, spark=spark, **configuration)
        self.path = self._queue.path
        # Reentrant: a signal handler may use the queue while this thread holds it.
        self._lock = threading.RLock()
        try:
            self._consumer = self._queue.consumer("default")
        except BaseException:
            self._queue.close()
            raise
        # The offsets of the bytes that `pop` has returned and not acked.
        self._returned: dict[int, None] = {}

    def push(self, data: bytes) -> None:
        """Appends bytes.

        Args:
            data: The bytes.

        Raises:
            Full: The directory's capacity is used up. It does not wait: the caller may be the thread that pops.
            TooLarge: The bytes exceed max_event_size.
            TypeError: `data` is not bytes-like.
            Closed: The queue is closed.
        """
        self._queue.push(data, block=False)

    def pop(self) -> bytes | None:
        """Removes the first bytes, and acks those that it returned before.

        Returns:
            The bytes; None when the queue is empty.

        Raises:
            Corrupt: The record is damaged.
            Closed: The queue is closed.
        """
        popped: mmapqueue.Message | None = None
        try:
            with self._lock:
                self._ack_returned()
                with suppress(mmapqueue.Empty):
                    popped = self._consumer.pop(block=False)
        except BaseException:
            # Ctrl-C: nobody has the bytes.
            if popped is not None:
                with suppress(mmapqueue.MmapQueueError):
                    self._consumer.release([popped])
            raise
        if popped is None:
            return None
        # Last, since the next call acks it: no signal handler runs before the return.
        self._returned[popped.offset] = None
        return popped.data

    def peek(self) -> bytes | None:
        """The first bytes, which stay in the queue; None when it is empty.

        Raises:
            Corrupt: The record is damaged.
            Closed: The queue is closed.
        """
        message = self._consumer.peek()
        return None if message is None else message.data

    def clear(self) -> None:
        """Removes everything.

        Raises:
            Closed: The queue is closed.
        """
        with self._lock:
            self._consumer.seek("latest")
            self._returned.clear()

    def __len__(self) -> int:
        """The number of records left to pop."""
        return self._consumer.qsize()

    @property
    def size(self) -> int:
        """The number of records left to pop, as `len` returns it."""
        return self._consumer.qsize()

    def close(self) -> None:
        """Acks popped records, and closes the directory. Idempotent.

        The directory stays, even if it is empty.
        """
        with self._lock:
            if not self._queue.closed:
                self._ack_returned()
            self._queue.close()

    def _ack_returned(self) -> None:
        offsets = list(self._returned)
        if not offsets:
            return
        try:
            # Sent now: acks of messages linger, and a kill would redeliver more than these records.
            self._consumer.ack_many(offsets)
        except mmapqueue.MmapQueueError:
            self._forget(offsets)
            raise
        # After Ctrl-C they are acked again, which has no effect.
        self._forget(offsets)

    def _forget(self, offsets: list[int]) -> None:
        for offset in offsets:
            self._returned.pop(offset, None)

    def __repr__(self) -> str:
        return f"<mmapqueue.compat.FifoDiskQueue {self.path!r}{' (closed)' if self._queue.closed else ''}>"
