"""Random access: records by offset, without a consumer."""

from __future__ import annotations

from mmapqueue._jvm import names
from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.handle import QueueHandle
from mmapqueue._values.errors import OutOfRange
from mmapqueue._values.message import AnyMessage
from mmapqueue._values.origin import OpenOrigin


def retained(handle: QueueHandle) -> int:
    """The number of retained records."""
    end: int = handle.call("endOffset")
    first: int = handle.call("firstOffset")
    return max(0, end - first)


def oldest(handle: QueueHandle, consumer: str) -> AnyMessage | None:
    """The oldest retained record, as a new consumer would pop it; None when no record is retained."""
    offset: int = handle.call("firstOffset")
    while offset < handle.call("endOffset"):
        try:
            found = read(handle, offset, 1)[0]
            origin = OpenOrigin.of(handle.origin.queue, consumer, handle.serializer, None)
            return found._replace(attempts=1, origin=origin)
        except OutOfRange:
            # The record was lost, or every consumer has acked it since.
            offset = max(offset + 1, handle.call("firstOffset"))
    return None


def read_many(handle: QueueHandle, start: int, most: int) -> list[AnyMessage]:
    """The records from an offset on, in as many calls as needed."""
    found = read(handle, start, most)
    if len(found) < most:
        # A shared buffer may have been full before the log end.
        most = min(most, handle.call("endOffset") - start)
    try:
        while len(found) < most:
            found += read(handle, start + len(found), most - len(found))
    except OutOfRange:
        pass  # The next record is not retained any more.
    return found


def read(handle: QueueHandle, offset: int, most: int) -> list[AnyMessage]:
    """The records of one call, at least one."""
    handle.check()
    with Shield(), handle.pool.borrow(handle.max_event_size * most) as buffer:
        buffer.get(offset, min(most, names.INT_MAX))
        return buffer.read(handle.origin)
