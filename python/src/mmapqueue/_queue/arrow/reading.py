"""Reading as Arrow batches, straight from shared memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mmapqueue._jvm.lending import HeldRecords, UnreadRecords, unread
from mmapqueue._jvm.shared_buffer import LENT_BYTES, BufferPool
from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.arrow.batches import pyarrow, record_batch
from mmapqueue._queue.consuming.thread_buffers import PopBuffer
from mmapqueue._queue.handle import QueueHandle
from mmapqueue._queue.reading import Reading, bounds
from mmapqueue._values.annotations import RecordBatch, Value
from mmapqueue._values.arguments import Size
from mmapqueue._values.durations import Duration
from mmapqueue._values.errors import OutOfRange
from mmapqueue._values.message import AnyMessage


class ArrowReading(Reading[Value]):
    """The methods of a consumer that pop Arrow batches. They need pyarrow: `pip install 'mmapqueue[arrow]'`."""

    def pop_arrow(
        self, max_records: int = 65_536, *, max_bytes: Size | None = None, timeout: Duration | None = 0.0
    ) -> RecordBatch:
        """Pops several records as one pyarrow RecordBatch; waits for the first one only.

        Its columns are offset (int64), timestamp (timestamp[us, UTC]; null when the queue stores none) and value
        (binary, as stored: no serializer decodes it). The values stay where the JVM has written them, in shared memory
        that is not reused while an object refers to it, even after the queue was closed. Batches of less than 256 KiB
        are copied, and so is every batch while 15 others of this process are held.

        Acknowledge with `ack(batch)`.

        Args:
            max_records: The most records.
            max_bytes: The most bytes of data, or a text such as "1m", up to 4 MiB, which is also the default; the first
                record is returned whatever its size.
            timeout: The longest to wait for the first one: seconds, a timedelta, or a text such as "500ms"; None for as
                long as it takes.

        Returns:
            The records, in order; empty when none was available in time. A batch may end before both limits: only an
            empty batch means that no record was left.

        Raises:
            UnackedLimit: As from `pop`.
            Dropped: As from `pop`.
            Closed: The queue or this consumer is closed, or was closed during the wait.
            Corrupt: The first record is damaged; the position has not moved.
            ImportError: pyarrow is not installed; nothing was popped.

        Example:
            >>> queue.push_many([b"one", b"two"])
            2
            >>> batch = queue.pop_arrow()
            >>> batch["value"].to_pylist()
            [b'one', b'two']
            >>> queue.ack(batch)
        """
        limit, deadline = bounds(max_records, max_bytes, timeout, LENT_BYTES)
        pyarrow()  # Before a record is popped.
        popper = self._popper

        def pop(own: PopBuffer) -> RecordBatch:
            _take_lendable(self._handle.pool, own)
            popper.pop_into(own, max_records, limit, deadline, unread)
            _hold(self._handle.pool, own)
            return record_batch(own.state[2])

        own, empty, batch = popper.pop_with(pop)
        own.state = empty
        own.busy = False
        return batch


def _take_lendable(pool: BufferPool, own: PopBuffer) -> None:
    """Exchanges the thread's shared buffer for one that may be lent, or for a large one."""
    with Shield():
        buffer, _, chunks = own.state
        if buffer.size < LENT_BYTES and (found := pool.get_lendable() or pool.get_large()) is not None:
            own.state = (found, found.last_call, chunks)
            pool.put(buffer)


def _hold(pool: BufferPool, own: PopBuffer) -> None:
    """Moves the popped records out of reach of later calls. The thread gets a small shared buffer again."""
    with Shield():
        buffer, _, chunks = own.state
        small = pool.get_small()
        if chunks and isinstance(chunks[-1], UnreadRecords):
            held = HeldRecords(pool, chunks[-1])
            own.state = (small, small.last_call, (*chunks[:-1], held))
            held.begin()
        else:
            own.state = (small, small.last_call, chunks)
            pool.put(buffer)


def read_batches(handle: QueueHandle, first: int, end: int, max_records: int) -> Iterator[RecordBatch]:
    """The records from one offset up to another one, as batches."""
    while first < end:
        try:
            records = read_records(handle, first, min(max_records, end - first))
        except OutOfRange:
            if first < handle.call("firstOffset"):
                raise
            first += 1  # The record was lost before a repair.
            continue
        first += len(records)
        yield record_batch([records])


def read_records(handle: QueueHandle, first: int, most: int) -> Sequence[AnyMessage]:
    """The records of one call, at least one."""
    handle.check()
    pool = handle.pool
    with Shield():
        buffer = pool.get_lendable() or pool.get_large() or pool.get_small()
        try:
            buffer.get(first, most)
            found = unread(buffer, handle.origin)
            held = HeldRecords(pool, found) if isinstance(found, UnreadRecords) else None
        except BaseException as error:
            if getattr(error, "java_class", None) is None:
                # After an error the call may still run in the JVM, so the buffer is dropped.
                pool.discard(buffer)
            else:
                pool.put(buffer)
            raise
        if held is None:
            pool.put(buffer)
            return found
        held.begin()
        return held
