"""Random access: records by offset, without a consumer."""

from datetime import datetime
from typing import Generic

from mmapqueue._jvm import names
from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.handle import QueueHandle
from mmapqueue._values.annotations import Value
from mmapqueue._values.arguments import count
from mmapqueue._values.errors import OutOfRange
from mmapqueue._values.message import AnyMessage, Message
from mmapqueue._values.offsets import as_long, micros
from mmapqueue._values.origin import OpenOrigin


class RandomAccess(Generic[Value]):
    """The methods of a queue that read by offset. They move no consumer, and need none."""

    _handle: QueueHandle

    def read_at(self, offset: int) -> Message[Value]:
        """Reads a record, and moves no consumer.

        Args:
            offset: The record's offset.

        Returns:
            The record; its attempts are 0.

        Raises:
            OutOfRange: The record is not retained any more, or not pushed yet.
            Corrupt: The record is damaged.
            Closed: The queue is closed.

        Example:
            >>> queue.push_many([b"one", b"two"])
            2
            >>> queue.read_at(1).data
            b'two'
        """
        return _read(self._handle, as_long(offset), 1)[0]

    def read_many(self, offset: int, max_records: int) -> list[Message[Value]]:
        """Reads records, and moves no consumer.

        Args:
            offset: The first record's offset.
            max_records: The most records.

        Returns:
            The records, in order, at least one; their attempts are 0.

        Raises:
            OutOfRange: The first record is not retained any more, or not pushed yet.
            Corrupt: The record is damaged.
            Closed: The queue is closed.

        Example:
            >>> queue.push_many([b"one", b"two", b"three"])
            3
            >>> [message.data for message in queue.read_many(1, 10)]
            [b'two', b'three']
        """
        return _read_many(self._handle, as_long(offset), count("max_records", max_records))

    def find(self, time: datetime) -> int | None:
        """Finds a record by the time at which it was pushed.

        Args:
            time: An aware datetime.

        Returns:
            The offset of the first record that was pushed then or later; None if no such record has been pushed.

        Raises:
            ConfigError: The queue stores no timestamps.
            ValueError: The datetime is naive.
            Closed: The queue is closed.

        Example:
            >>> queue.push(b"one")
            0
            >>> queue.find(queue.read_at(0).timestamp)
            0
            >>> queue.find(datetime(2200, 1, 1, tzinfo=timezone.utc)) is None
            True
        """
        found: int = self._handle.call("find", micros(time))
        return None if found < 0 else found

    def first_offset(self) -> int:
        """The offset of the oldest retained record; `end_offset` when no record is retained.

        Example:
            >>> queue.first_offset()
            0
        """
        first: int = self._handle.call("firstOffset")
        return first

    def end_offset(self) -> int:
        """The offset of the next record.

        Example:
            >>> queue.push_many([b"one", b"two"])
            2
            >>> queue.end_offset()
            2
        """
        end: int = self._handle.call("endOffset")
        return end

    def _retained(self) -> int:
        return max(0, self.end_offset() - self.first_offset())

    def _oldest(self) -> Message[Value] | None:
        """The oldest retained record, as a new consumer would pop it; None when no record is retained."""
        handle = self._handle
        offset = self.first_offset()
        while offset < self.end_offset():
            try:
                found = _read(handle, offset, 1)[0]
                origin = OpenOrigin.of(handle.origin.queue, names.DEFAULT_CONSUMER, handle.serializer, None)
                return found._replace(attempts=1, origin=origin)
            except OutOfRange:
                # The record was lost, or every consumer has acked it since.
                offset = max(offset + 1, self.first_offset())
        return None


def _read_many(handle: QueueHandle, start: int, most: int) -> list[AnyMessage]:
    """The records from an offset on, in as many calls as needed."""
    found = _read(handle, start, most)
    if len(found) < most:
        # A shared buffer may have been full before the log end.
        most = min(most, handle.call("endOffset") - start)
    try:
        while len(found) < most:
            found += _read(handle, start + len(found), most - len(found))
    except OutOfRange:
        pass  # The next record is not retained any more.
    return found


def _read(handle: QueueHandle, offset: int, most: int) -> list[AnyMessage]:
    """The records of one call, at least one."""
    handle.check()
    with Shield(), handle.pool.borrow(handle.max_event_size * most) as buffer:
        buffer.get(offset, min(most, names.INT_MAX))
        return buffer.read(handle.origin)
