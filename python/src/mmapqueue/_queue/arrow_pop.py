"""Pops and reads records as batches of Arrow, straight from shared memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mmapqueue._jvm.lending import HeldRecords, UnreadRecords, unread
from mmapqueue._jvm.shared_buffer import LENT_BYTES
from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.arrow_batches import pyarrow, record_batch
from mmapqueue._queue.deadline import Deadline
from mmapqueue._queue.handle import QueueHandle
from mmapqueue._queue.pop_buffer import PopBuffer
from mmapqueue._queue.popper import Popper
from mmapqueue._values.annotations import RecordBatch
from mmapqueue._values.errors import OutOfRange
from mmapqueue._values.message import Message


def pop_batch(popper: Popper, most: int, max_bytes: int | None, deadline: Deadline) -> RecordBatch:
    """As `Consumer.pop_arrow`, with limits that were checked."""
    pyarrow()  # Before a record is popped.
    own = popper.begin()
    try:
        _take_lendable(popper, own)
        popper.pop_into(own, most, min(max_bytes or LENT_BYTES, LENT_BYTES), deadline, unread)
        _hold(popper, own)
        buffer, answered, chunks = own.state
        batch = record_batch(chunks)
    except BaseException:
        popper.abort(own)
        raise
    own.state = (buffer, answered, ())
    own.busy = False
    return batch


def _take_lendable(popper: Popper, own: PopBuffer) -> None:
    """Exchanges the thread's shared buffer for one that may be lent, or for a large one."""
    pool = popper.handle.pool
    with Shield():
        buffer, _, chunks = own.state
        if buffer.size < LENT_BYTES and (found := pool.get_lendable() or pool.get_large()) is not None:
            own.state = (found, found.last_call, chunks)
            pool.put(buffer)


def _hold(popper: Popper, own: PopBuffer) -> None:
    """Takes the popped records out of reach of later calls. The thread gets a small shared buffer again."""
    pool = popper.handle.pool
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
            first += 1  # A record that was lost before a repair.
            continue
        first += len(records)
        yield record_batch([records])


def read_records(handle: QueueHandle, first: int, most: int) -> Sequence[Message]:
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
                # The call may still run.
                pool.discard(buffer)
            else:
                pool.put(buffer)
            raise
        if held is None:
            pool.put(buffer)
            return found
        held.begin()
        return held
