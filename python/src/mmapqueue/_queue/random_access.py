"""Reading records by their offsets, without a consumer."""

from datetime import datetime

from mmapqueue._jvm import names
from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.handle import Opened
from mmapqueue._values.arguments import count
from mmapqueue._values.errors import OutOfRange
from mmapqueue._values.message import Message
from mmapqueue._values.offsets import as_long, micros


class RandomAccess:
    """The methods of a queue that read by offset, move no consumer and need none."""

    _opened: Opened

    def get(self, offset: int) -> Message:
        """Reads a record, and moves no consumer.

        Args:
            offset: Its number.

        Returns:
            The record; its attempts are 0.

        Raises:
            OutOfRange: It is not retained any more, or not there yet.
            Corrupt: What is stored is damaged.
            Closed: The queue is closed.
        """
        return _read(self._opened, as_long(offset), 1)[0]

    def get_many(self, offset: int, max_records: int) -> list[Message]:
        """Reads records, and moves no consumer.

        Args:
            offset: The first one's number.
            max_records: The most records.

        Returns:
            The records that there are, in order, at least one; their attempts are 0.

        Raises:
            OutOfRange: The first one is not retained any more, or not there yet.
            Corrupt: What is stored is damaged.
            Closed: The queue is closed.
        """
        return _read_many(self._opened, as_long(offset), count("max_records", max_records))

    def find(self, time: datetime) -> int | None:
        """Finds a record by the time at which it was pushed.

        Args:
            time: An aware datetime.

        Returns:
            The offset of the first record that was pushed then or later; None when there is none yet.

        Raises:
            ConfigError: The queue stores no timestamps.
            ValueError: The datetime is naive.
            Closed: The queue is closed.
        """
        found: int = self._opened.ask("find", micros(time))
        return None if found < 0 else found

    def first_offset(self) -> int:
        """The offset of the oldest record that is retained; `end_offset` when there is none."""
        first: int = self._opened.ask("firstOffset")
        return first

    def end_offset(self) -> int:
        """The offset that the next record gets."""
        end: int = self._opened.ask("endOffset")
        return end


def _read_many(opened: Opened, start: int, most: int) -> list[Message]:
    """The records from an offset on, in as many calls as they take."""
    found = _read(opened, start, most)
    if len(found) < most:
        # More than one stage holds, as far as it was the end.
        most = min(most, opened.ask("endOffset") - start)
    try:
        while len(found) < most:
            found += _read(opened, start + len(found), most - len(found))
    except OutOfRange:
        pass  # The next one is not retained any more.
    return found


def _read(opened: Opened, offset: int, most: int) -> list[Message]:
    """What one call reads, at least one record."""
    opened.check()
    with Shield(), opened.pool.lent(opened.max_event_size * most) as stage:
        if stage.get(offset, min(most, names.INT_MAX)) == names.CLOSED:
            raise opened.closed_error()
        return stage.read(opened.origin)
