"""Records that the JVM has popped, but no caller has received. The next pop delivers them first."""

from collections import deque
from collections.abc import Iterable
from math import inf
from time import monotonic

from mmapqueue._values.message import AnyMessage

#: The lease end where visibility_timeout is 0.
NEVER = inf


class Undelivered:
    """The undelivered records of one consumer since its last seek: rests of batches, records of interrupted calls.

    Safe for any number of threads, and in finalizers: each step is one call of a deque, and none takes a lock.
    """

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        # Each record with the end of its lease, from which on the JVM redelivers it.
        self._entries: deque[tuple[float, AnyMessage]] = deque()

    def put_first(self, messages: Iterable[AnyMessage], lease_end: float) -> None:
        """Puts records before the others, in the given order."""
        self._entries.extendleft([(lease_end, message) for message in reversed(list(messages))])

    def take(self, most: int, max_bytes: int) -> tuple[list[AnyMessage], int, float]:
        """Takes records; the first one whatever its size.

        Returns:
            The records; the bytes of their data; the end of their first lease.
        """
        taken: list[AnyMessage] = []
        size, lease_end = 0, NEVER
        now = monotonic()
        try:
            while len(taken) < most:
                entry = self._entries.popleft()
                ends, message = entry
                if ends <= now:
                    continue
                if taken and size + len(message.data) > max_bytes:
                    self._entries.appendleft(entry)
                    break
                taken.append(message)
                size += len(message.data)
                lease_end = min(lease_end, ends)
        except IndexError:
            pass  # No record is left.
        return taken, size, lease_end

    def first(self) -> AnyMessage | None:
        """The record that `take` returns next; None if empty."""
        return next(iter(self._valid()), None)

    def offsets(self) -> set[int]:
        """The offsets of all undelivered records."""
        return {message.offset for message in self._valid()}

    def drop(self, first: int, last: int) -> None:
        """Drops the records from one offset to another: they were acked, or are lost."""
        kept = []
        try:
            while True:
                entry = self._entries.popleft()
                if not first <= entry[1].offset <= last:
                    kept.append(entry)
        except IndexError:
            pass  # No record is left.
        self._entries.extendleft(reversed(kept))

    def __len__(self) -> int:
        return len(self._valid()) if self._entries else 0

    def __bool__(self) -> bool:
        return bool(self._entries)

    def _valid(self) -> list[AnyMessage]:
        now = monotonic()
        return [message for ends, message in list(self._entries) if ends > now]
