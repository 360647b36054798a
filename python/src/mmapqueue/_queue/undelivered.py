"""Records that the JVM has popped and that nobody has: batches cut short, calls interrupted. They are popped first."""

from collections import deque
from collections.abc import Iterable
from math import inf
from time import monotonic

from mmapqueue._values.message import Message

#: Until when a record may be handed out that the JVM never pops again by itself.
FOREVER = inf


class Returned:
    """What has come back to one consumer, since it was moved the last time.

    Safe for any number of threads, and in finalizers: each step is one of a deque's, and no lock is taken.
    """

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        # With each record, until when it may be handed out: from then on the JVM gives it to somebody else.
        self._entries: deque[tuple[float, Message]] = deque()

    def put_first(self, messages: Iterable[Message], until: float) -> None:
        """Puts records before the others, in their order."""
        self._entries.extendleft([(until, message) for message in reversed(list(messages))])

    def take(self, most: int, max_bytes: int) -> tuple[list[Message], int, float]:
        """Takes records; the first one is given whatever its size.

        Returns:
            The records; bytes of their data; until when all of them may be handed out.
        """
        taken: list[Message] = []
        size, until = 0, FOREVER
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
                until = min(until, ends)
        except IndexError:
            pass  # That was all.
        return taken, size, until

    def first(self) -> Message | None:
        """The record that is taken next."""
        return next(iter(self._valid()), None)

    def offsets(self) -> set[int]:
        """The offsets of all of them."""
        return {message.offset for message in self._valid()}

    def drop(self, first: int, last: int) -> None:
        """Forgets the records from one offset to another: they were acked, or are lost."""
        kept = []
        try:
            while True:
                entry = self._entries.popleft()
                if not first <= entry[1].offset <= last:
                    kept.append(entry)
        except IndexError:
            pass  # That was all.
        self._entries.extendleft(reversed(kept))

    def __len__(self) -> int:
        return len(self._valid()) if self._entries else 0

    def __bool__(self) -> bool:
        return bool(self._entries)

    def _valid(self) -> list[Message]:
        now = monotonic()
        return [message for ends, message in list(self._entries) if ends > now]
