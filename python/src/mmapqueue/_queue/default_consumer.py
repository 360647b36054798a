"""What a queue does as the consumer that it reads as."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from typing import overload

from mmapqueue._queue.consumer import Consumer
from mmapqueue._values.errors import OutOfRange
from mmapqueue._values.message import Message
from mmapqueue._values.offsets import Place


class ShortCuts(ABC):
    """The methods of a consumer, each of them for the one that a queue was opened with."""

    @abstractmethod
    def _reader(self) -> Consumer:
        """The consumer that this object reads as, made when it does not exist."""

    @abstractmethod
    def _existing_reader(self) -> Consumer | None:
        """The consumer that this object reads as, None when it does not exist."""

    @abstractmethod
    def _oldest(self) -> Message | None:
        """The record that a new consumer would begin with, None when there is none."""

    @abstractmethod
    def first_offset(self) -> int:
        """The offset of the oldest record that is retained; `end_offset` when there is none."""

    @abstractmethod
    def end_offset(self) -> int:
        """The offset that the next record gets."""

    def _popper(self, what: str) -> Consumer:
        reader = self._existing_reader()
        if reader is None:
            raise OutOfRange(f"{what} by a consumer that does not exist: a pop makes it, and nothing has been popped")
        return reader

    def pop(self, block: bool = True, timeout: float | None = None) -> Message:
        """Takes the next record; see `Consumer.pop`."""
        return self._reader().pop(block, timeout)

    def pop_many(
        self, max_records: int = 1000, *, max_bytes: int | None = None, timeout: float | None = 0.0
    ) -> list[Message]:
        """Takes several records, none when there is none in time; see `Consumer.pop_many`."""
        return self._reader().pop_many(max_records, max_bytes=max_bytes, timeout=timeout)

    def peek(self) -> Message | None:
        """Looks at the next record and leaves it there; see `Consumer.peek`.

        Makes no consumer: without one it shows the oldest record that is retained, with 0 attempts.
        """
        reader = self._existing_reader()
        return self._oldest() if reader is None else reader.peek()

    def ack(self, message: Message | int, *, single: bool = False) -> None:
        """Says that a record, and every one before it if not single, has been dealt with; see `Consumer.ack`.

        Makes no consumer.

        Raises:
            OutOfRange: The consumer does not exist, or has not popped the record.
        """
        self._popper("ack").ack(message, single=single)

    def ack_many(self, messages: Iterable[Message | int]) -> None:
        """Says that some records have been dealt with, each of them alone; see `Consumer.ack_many`."""
        self._popper("ack_many").ack_many(messages)

    def nack(self, message: Message | int, delay: float = 0.0) -> None:
        """Gives a record back, to be popped again; see `Consumer.nack`."""
        self._popper("nack").nack(message, delay)

    @overload
    def consume(
        self, timeout: float | None = None, *, max_records: int | None = None, max_bytes: int | None = None
    ) -> Iterator[Message]: ...

    @overload
    def consume(
        self,
        timeout: float | None = None,
        *,
        handler: Callable[[Message], object],
        workers: int = 1,
        retry_delay: float | None = None,
        max_records: int | None = None,
        max_bytes: int | None = None,
    ) -> int: ...

    def consume(
        self,
        timeout: float | None = None,
        *,
        handler: Callable[[Message], object] | None = None,
        workers: int | None = None,
        retry_delay: float | None = None,
        max_records: int | None = None,
        max_bytes: int | None = None,
    ) -> Iterator[Message] | int:
        """Iterates over the records, or has a handler called with each, in threads; see `Consumer.consume`."""
        consume: Callable[..., Iterator[Message] | int] = self._reader().consume
        return consume(
            timeout,
            handler=handler,
            workers=workers,
            retry_delay=retry_delay,
            max_records=max_records,
            max_bytes=max_bytes,
        )

    def aconsume(
        self, timeout: float | None = None, *, max_records: int = 1000, max_bytes: int | None = None
    ) -> AsyncGenerator[Message, None]:
        """Iterates over the records under asyncio; see `Consumer.aconsume`."""
        return self._reader().aconsume(timeout, max_records=max_records, max_bytes=max_bytes)

    def __iter__(self) -> Iterator[Message]:
        """Iterates over what there is: ends when there is nothing to pop, without waiting."""
        return iter(self._reader())

    def seek(self, place: Place) -> None:
        """Goes to another place; see `Consumer.seek`. Makes the consumer when it does not exist."""
        self._reader().seek(place)

    def size(self) -> int:
        """How many records there are to pop; see `Consumer.size`. Makes no consumer."""
        reader = self._existing_reader()
        return self._retained() if reader is None else reader.size()

    def _retained(self) -> int:
        return max(0, self.end_offset() - self.first_offset())

    def lag(self) -> int:
        """How many records have not been acked. Makes no consumer."""
        reader = self._existing_reader()
        return self._retained() if reader is None else reader.lag()

    def unacked(self) -> int:
        """How many records have been popped and not acked. Makes no consumer."""
        reader = self._existing_reader()
        return 0 if reader is None else reader.unacked()

    def empty(self) -> bool:
        """Whether there is nothing to pop now. Makes no consumer."""
        reader = self._existing_reader()
        return self._retained() == 0 if reader is None else reader.empty()
