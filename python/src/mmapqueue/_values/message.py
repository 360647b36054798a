"""Messages: popped records."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta, timezone
from functools import partial
from itertools import repeat
from typing import NamedTuple

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Origin(NamedTuple):
    """The queue and consumer of a message. Immutable.

    Attributes:
        queue: The real path of the queue's directory.
        consumer: The name of the consumer that popped it; None when it was read by offset.
    """

    queue: str
    consumer: str | None

    def __str__(self) -> str:
        who = "a read by offset" if self.consumer is None else f"consumer {self.consumer}"
        return f"{who} of the queue in {self.queue}"


class Message(NamedTuple):
    """A record that was popped. Immutable.

    Attributes:
        data: The bytes that were pushed.
        offset: The record's offset in the queue: 0, 1, 2, …; `ack` takes it.
        timestamp_micros: When it was pushed, in microseconds since 1970; 0 when the queue stores no timestamps.
        attempts: How often it was delivered: 1 the first time; 0 from `read_at`, which delivers nothing. The count
            survives a `close`, not a crash.
        origin: Its queue and consumer: others refuse to ack it. None in a message that no queue has made.
    """

    data: bytes
    offset: int
    timestamp_micros: int
    attempts: int
    origin: Origin | None = None

    # Made on request: a datetime costs more than the rest of the message.
    @property
    def timestamp(self) -> datetime | None:
        """When it was pushed, as an aware `datetime` in UTC, exact; None when the queue stores no timestamps."""
        return _EPOCH + timedelta(microseconds=self.timestamp_micros) if self.timestamp_micros else None


# NamedTuple's own constructor is a Python function: this way making a thousand messages stays in C.
_make = partial(tuple.__new__, Message)


def messages(
    data: Iterable[bytes], offsets: Iterable[int], timestamps: Iterable[int], attempts: Iterable[int], origin: Origin
) -> Iterator[Message]:
    """Makes messages of columns, all of one origin."""
    columns = zip(data, offsets, timestamps, attempts, repeat(origin))
    return map(_make, columns)
