"""What is popped."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from functools import partial
from typing import NamedTuple


class Message(NamedTuple):
    """A record that was popped. Immutable.

    Attributes:
        data: The bytes that were pushed.
        offset: The record's number in the queue: 0, 1, 2, …; what `ack` takes.
        timestamp: When it was pushed, in seconds since 1970 as `time.time()` gives them, exact to the microsecond;
            None when the queue stores no timestamps.
        attempts: How often it has been handed out since the queue was opened, 1 at the first time.
    """

    data: bytes
    offset: int
    timestamp: float | None
    attempts: int

    @property
    def time(self) -> datetime | None:
        """When it was pushed, as an aware `datetime` in UTC; None when the queue stores no timestamps."""
        return None if self.timestamp is None else datetime.fromtimestamp(self.timestamp, timezone.utc)


# NamedTuple's own constructor is a Python function: this way making a thousand messages stays in C.
_make = partial(tuple.__new__, Message)


def messages(
    data: Iterable[bytes], offsets: Iterable[int], timestamps: Iterable[float | None], attempts: Iterable[int]
) -> Iterator[Message]:
    """Makes messages of columns."""
    return map(_make, zip(data, offsets, timestamps, attempts))  # noqa: B905 - a thousand at a time, equal by the layout
