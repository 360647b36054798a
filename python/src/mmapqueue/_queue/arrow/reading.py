"""Reading as Arrow batches, straight from shared memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mmapqueue._jvm.lending import HeldRecords, UnreadRecords, unread
from mmapqueue._jvm.shared_buffer import LENT_BYTES, BufferPool
from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.arrow.batches import record_batch
from mmapqueue._queue.consuming.popper import Popper
from mmapqueue._queue.consuming.thread_buffers import PopBuffer
from mmapqueue._queue.deadline import Deadline
from mmapqueue._queue.handle import QueueHandle
from mmapqueue._values.annotations import RecordBatch
from mmapqueue._values.errors import OutOfRange
from mmapqueue._values.message import AnyMessage


def pop_batch(popper: Popper, pool: BufferPool, most: int, max_bytes: int, deadline: Deadline) -> RecordBatch:
    """Pops records as one batch; empty when none was available in time."""

    def pop(own: PopBuffer) -> RecordBatch:
        _take_lendable(pool, own)
        popper.pop_into(own, most, max_bytes, deadline, unread)
        _hold(pool, own)
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
    """The records from one offset up to another, as batches."""
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
