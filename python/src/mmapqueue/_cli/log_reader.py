"""Reads the records of a queue by offset: moves no consumer, and retains nothing."""

from collections.abc import Callable, Iterator
from datetime import datetime

import mmapqueue
from mmapqueue._cli.output import print_error
from mmapqueue._values.errors import MmapQueueError, OutOfRange
from mmapqueue._values.message import AnyMessage
from mmapqueue._values.offsets import SeekTarget

#: The maximum number of records and bytes that are read at a time.
_MOST_RECORDS = 1000
_MOST_BYTES = 4 << 20

Wanted = Callable[[AnyMessage], bool]


class LogReader:
    """Reads a queue beside the process that writes it.

    Args:
        queue: The queue.

    Attributes:
        end: The offset after the last record that was read, or found lost.
    """

    def __init__(self, queue: mmapqueue.Queue[bytes]) -> None:
        self.end = 0
        self._queue = queue
        self._mean_bytes = _MOST_BYTES // 16

    def offset_of(self, target: SeekTarget) -> int:
        """The offset of a target; the log end where no such record exists yet.

        Raises:
            OutOfRange: The target is an offset that is neither retained nor the next one.
            ConfigError: The target is a time, and the queue stores no timestamps.
        """
        if isinstance(target, datetime):
            found = self._queue.find(target)
            return self._queue.end_offset() if found is None else found
        if isinstance(target, str):
            return self._queue.first_offset() if target == "earliest" else self._queue.end_offset()
        if target != self._queue.end_offset():
            self._queue.read_at(target)
        return target

    def records(self, start: int, end: int) -> Iterator[list[AnyMessage]]:
        """The records of a range, in batches. Reports on stderr records that are lost, or not retained any more.

        Args:
            start: The first offset.
            end: The offset after the last one.

        Raises:
            Corrupt: A record is damaged.
        """
        self.end = start
        while self.end < end:
            most = max(1, min(_MOST_RECORDS, _MOST_BYTES // max(1, self._mean_bytes), end - self.end))
            try:
                found = self._queue.read_many(self.end, most)
            except OutOfRange:
                self.end = self._after_gap(self.end, end)
                continue
            self._mean_bytes = sum(len(message.data) for message in found) // len(found)
            self.end = found[-1].offset + 1
            yield found

    def _after_gap(self, offset: int, end: int) -> int:
        first = self._queue.first_offset()
        if first > offset:
            print_error(f"offsets {offset} to {min(first, end) - 1} are not retained any more")
            return first
        print_error(f"the record at offset {offset} was lost: a repair has given it up")
        return offset + 1

    def last(self, count: int, wanted: Wanted) -> tuple[list[AnyMessage], int]:
        """The last records that are wanted, in order, and the log end at that moment.

        Args:
            count: The maximum number of records.
            wanted: Whether a record counts.

        Raises:
            MmapQueueError: The queue cannot be read.
        """
        end = self._queue.end_offset()
        found: list[AnyMessage] = []
        upper, size = end, max(count, 16)
        while upper > self._queue.first_offset() and len(found) < count:
            lower = max(self._queue.first_offset(), upper - size)
            block = [message for batch in self.records(lower, upper) for message in batch if wanted(message)]
            found = [*block, *found]
            upper, size = lower, _MOST_RECORDS
        return found[max(0, len(found) - count) :] if count else [], end


def read_each(queue: mmapqueue.Queue[bytes], first: int, last: int) -> Iterator[AnyMessage | MmapQueueError]:
    """The records of a range one by one; in place of a record that cannot be read, its error.

    All records before the log start have one error, and so have all after the log end.
    """
    offset = first
    while offset <= last:
        try:
            yield queue.read_at(offset)
        except MmapQueueError as error:
            yield error
            if offset >= queue.end_offset():
                return
            offset = max(offset, queue.first_offset() - 1)
        offset += 1
