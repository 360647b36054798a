"""Pushes for an event loop: without a thread, and without blocking the loop."""

import asyncio
from array import array
from collections.abc import Callable, Sequence
from typing import Any

from mmapqueue._jvm import names
from mmapqueue._jvm.loop_connection import LoopConnection
from mmapqueue._jvm.shared_buffer import BufferPool, SharedBuffer
from mmapqueue._queue.queue import Queue

#: Gets the number of pushed records.
Pushed = Callable[[int], None]


class LoopPush:
    """Pushes groups of records, one group at a time. Belongs to an event loop once `listen` was called.

    A group is not atomic. What is not pushed, for whatever reason, is left to `Queue.push_many`, which raises errors.
    """

    def __init__(self, pool: BufferPool, buffer: SharedBuffer, connection: LoopConnection) -> None:
        self._pool = pool
        self._buffer = buffer
        self._connection = connection
        self._busy = False

    @staticmethod
    def of(queue: "Queue[Any]") -> "LoopPush | None":
        """One for a queue, to be closed before the queue; None when no memory can be shared with the JVM.

        Blocks until the JVM has accepted a connection.
        """
        pool = queue._handle.pool
        buffer = pool.get_large()
        return None if buffer is None else LoopPush(pool, buffer, LoopConnection(buffer.push_many_call))

    def listen(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begins to receive the JVM's answers on a loop."""
        self._connection.listen(loop)

    def fitting(self, lengths: list[int]) -> int:
        """The number of records that can be pushed as one group, of those of some lengths, from the first on."""
        return 0 if self._connection.is_broken else self._buffer.fitting(lengths, 0)

    def push(self, records: Sequence[bytes], lengths: list[int], pushed: Pushed) -> None:
        """Pushes a group that fits, in order.

        Args:
            records: The records.
            lengths: The length of each.
            pushed: Gets the number of those that are in the queue, from the first on; on the loop, later.
        """

        def answered(number: int | None) -> None:
            # Of a broken connection the JVM may still have the call, and the buffer.
            self._busy = self._connection.is_broken
            pushed(max(0, number or 0))

        self._busy = True
        store = self._buffer.memory.store
        at = names.PAYLOAD
        for record in records:
            store(at, record)
            at += len(record)
        store(names.aligned(at), memoryview(array("I", lengths)).cast("B"))
        self._connection.send(answered, self._buffer.next_call(), at - names.PAYLOAD, len(lengths), 0, 0)

    def close(self) -> None:
        """Ends the connection."""
        self._connection.close()
        if self._busy:
            self._pool.discard(self._buffer)
        else:
            self._pool.put(self._buffer)
