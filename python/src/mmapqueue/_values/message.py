"""Messages: popped records, with methods that ack them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta, timezone
from functools import partial
from itertools import repeat
from types import TracebackType
from typing import Any, Generic, NamedTuple, TypeAlias

from mmapqueue._values.annotations import Self, Value
from mmapqueue._values.durations import Duration, retry_seconds
from mmapqueue._values.errors import MmapQueueError, Undecodable
from mmapqueue._values.origin import OpenOrigin, Origin, own_consumer, unknown_queue

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
#: The maximum number of bytes of data that `repr` shows.
_SHOWN = 64


class _Fields(NamedTuple):
    data: bytes
    offset: int
    timestamp_micros: int
    attempts: int
    origin: Origin | None = None


class Message(_Fields, Generic[Value]):
    """A record that was popped. Immutable.

    A `with` block acks the record at its end, and no other record. When the block raises, it requeues the record, which
    is redelivered after 0.1 s, then 0.2 s, and so on up to a minute, as with `Queue.process`. Acks of messages are sent
    to the JVM together, within some milliseconds (`ack_linger` of `Queue`); a `nack` is a call of tens of microseconds.

    Messages can be pickled and copied. An unpickled message cannot ack itself, because it has no open queue: pass the
    message or its offset to `Queue.ack`.

    Attributes:
        data: The bytes that were pushed.
        offset: The record's offset in the queue: 0, 1, 2, …; `ack` takes it.
        timestamp_micros: Time of the push, in microseconds since 1970; 0 when the queue stores no timestamps.
        attempts: The number of deliveries, this one included; 0 from `read_at`, which delivers nothing. The count
            survives a `close`; a crash takes it back to that of the last flush.
        origin: The record's queue and consumer, since no others can ack it. None in a message that no queue has made.

    Example:
        >>> queue.push(b"one")
        0
        >>> with queue.pop() as message:
        ...     print(message.offset, message.data)
        0 b'one'
        >>> queue.lag()
        0
    """

    __slots__ = ()

    def __repr__(self) -> str:
        size = len(self.data)
        data = repr(self.data) if size <= _SHOWN else f"{self.data[:_SHOWN]!r}… of {size} bytes"
        return (
            f"Message(data={data}, offset={self.offset}, timestamp_micros={self.timestamp_micros}, "
            f"attempts={self.attempts}, origin={self.origin!r})"
        )

    # ---- content

    @property
    def timestamp(self) -> datetime | None:
        """The time of the push, as an aware `datetime` in UTC, exact; None when the queue stores no timestamps.

        Example:
            >>> queue.push(b"one")
            0
            >>> queue.pop().timestamp <= datetime.now(timezone.utc)
            True
        """
        # Made on request, since a datetime costs more than the rest of the message.
        return _EPOCH + timedelta(microseconds=self.timestamp_micros) if self.timestamp_micros else None

    @property
    def text(self) -> str:
        r"""The data as text in UTF-8.

        Raises:
            Undecodable: The data is not UTF-8. The record stays in flight, as after any `pop`.

        Example:
            >>> queue.push("Zürich".encode())
            0
            >>> queue.pop().text
            'Zürich'
        """
        try:
            return self.data.decode()
        except UnicodeDecodeError as error:
            raise self._undecodable("UTF-8", error) from error

    def json(self) -> Any:
        """The data as JSON.

        Returns:
            The result of `json.loads`.

        Raises:
            Undecodable: The data is not JSON. The record stays in flight, as after any `pop`.

        Example:
            >>> queue.push(b'{"id": 7}')
            0
            >>> queue.pop().json()["id"]
            7
        """
        try:
            return json.loads(self.data)
        except ValueError as error:
            raise self._undecodable("JSON", error) from error

    @property
    def value(self) -> Value:
        """The data as the queue's serializer decodes it, at each access; `data` itself without a serializer.

        Raises:
            Undecodable: The serializer cannot decode it. The record stays in flight, as after any `pop`.
            Foreign: The message has no open queue, and so no serializer: it was unpickled, or made by a program.

        Example:
            >>> with mmapqueue.Queue("orders", serializer="json") as orders:
            ...     orders.push({"id": 7})
            ...     orders.pop().value
            0
            {'id': 7}
        """
        origin = self.origin
        if not isinstance(origin, OpenOrigin):
            raise unknown_queue("value", self.offset, origin)
        if origin.serializer is None:
            return self.data  # type: ignore[return-value]
        try:
            value: Value = origin.serializer.loads(self.data)
        except Exception as error:
            raise self._undecodable(f"what the serializer {origin.serializer.name} reads", error) from error
        return value

    def _undecodable(self, what: str, error: Exception) -> Undecodable:
        where = "" if self.origin is None else f" of the queue in {self.origin.queue}"
        found = Undecodable(f"the record at offset {self.offset}{where} is not {what}: {error}")
        found.offset = self.offset
        return found

    # ---- acknowledgements

    def ack(self) -> None:
        """Acknowledges this record, as `Queue.ack`. Acked records stay acked.

        Raises:
            OutOfRange: The consumer was moved by `seek` since the pop, or has only peeked at this record.
            Foreign: The message was read by offset, unpickled, or made by a program: no consumer has popped it here.
            Closed: The queue or the consumer is closed.

        Example:
            >>> queue.push_many([b"one", b"two"])
            2
            >>> first, second = queue.pop_many()
            >>> second.ack()
            >>> queue.unacked(), queue.lag()
            (1, 1)
        """
        own_consumer("ack", self.offset, self.origin).ack(self.offset, self.origin)

    def nack(self, *, delay: Duration = 0.0) -> None:
        """Negative acknowledgement: requeues this record, as `Queue.nack`. The end of a `with` block does not ack it.

        Args:
            delay: The delay of redelivery: seconds, a timedelta, or a string such as "30s".

        Raises:
            OutOfRange: The record is acked, or the consumer was moved by `seek` since the pop.
            Foreign: As from `ack`.
            Closed: The queue or the consumer is closed.
            ConfigError: The delay is below 0, or a string without a unit.

        Example:
            >>> queue.push(b"one")
            0
            >>> queue.pop().nack()
            >>> queue.pop().attempts
            2
        """
        own_consumer("nack", self.offset, self.origin).nack(self.offset, delay)

    def __enter__(self) -> Self:
        own_consumer("with", self.offset, self.origin).in_blocks.enter(self, self.offset)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        consumer = own_consumer("with", self.offset, self.origin)
        if not consumer.in_blocks.leave(self):
            return  # The record was acked, nacked or released within the block.
        if kind is None:
            consumer.ack(self.offset, self.origin)
            return
        try:
            consumer.nack(self.offset, retry_seconds(self.attempts))
        except MmapQueueError as failure:
            # The block's exception takes precedence. The record is acked, or redelivered anyway.
            if error is not None:
                _add_note(error, f"and its record was not requeued: {failure}")

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        consumer = own_consumer("with", self.offset, self.origin)
        if not consumer.in_blocks.holds(self):
            return  # As from `__exit__`, also when the queue was closed within the block.
        try:
            await consumer.in_thread(partial(self.__exit__, kind, error, trace))
        except MmapQueueError:
            if not consumer.in_blocks.holds(self):
                raise
            # A closed queue has no threads, and no call waits for it: the block's exception takes precedence here, too.
            self.__exit__(kind, error, trace)


AnyMessage: TypeAlias = Message[Any]


def _add_note(error: BaseException, text: str) -> None:
    # Of Python 3.11 and newer.
    if hasattr(error, "add_note"):
        error.add_note(text)


# The constructor of a named tuple is a Python function; this way, making a thousand messages stays in C.
_make = partial(tuple.__new__, Message)


def messages(
    data: Iterable[bytes], offsets: Iterable[int], timestamps: Iterable[int], attempts: Iterable[int], origin: Origin
) -> Iterator[AnyMessage]:
    """Makes messages from columns, all with one origin."""
    columns = zip(data, offsets, timestamps, attempts, repeat(origin))
    return map(_make, columns)
