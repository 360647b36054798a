"""The methods of a queue that forward to the consumer that the queue reads as."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator

from mmapqueue._queue.consumer import Consumer
from mmapqueue._values.annotations import RecordBatch
from mmapqueue._values.errors import OutOfRange
from mmapqueue._values.message import Message
from mmapqueue._values.offsets import SeekTarget


class DefaultConsumer(ABC):
    """The methods of a consumer, for the one that the queue was opened with."""

    @abstractmethod
    def _own_consumer(self) -> Consumer:
        """The consumer that this queue reads as, made when it does not exist."""

    @abstractmethod
    def _existing_consumer(self) -> Consumer | None:
        """The consumer that this queue reads as; None when it does not exist."""

    @abstractmethod
    def _oldest(self) -> Message | None:
        """The record that a new consumer would pop first; None when no record is retained."""

    @abstractmethod
    def first_offset(self) -> int:
        """The offset of the oldest retained record; `end_offset` when no record is retained."""

    @abstractmethod
    def end_offset(self) -> int:
        """The offset that the next record gets."""

    def _required_consumer(self, what: str) -> Consumer:
        consumer = self._existing_consumer()
        if consumer is None:
            raise OutOfRange(f"{what} by a consumer that does not exist: a pop makes it, and nothing has been popped")
        return consumer

    def pop(self, block: bool = True, timeout: float | None = None) -> Message:
        """Pops the next record; see `Consumer.pop`."""
        return self._own_consumer().pop(block, timeout)

    def pop_many(
        self, max_records: int = 1000, *, max_bytes: int | None = None, timeout: float | None = 0.0
    ) -> list[Message]:
        """Pops several records; see `Consumer.pop_many`."""
        return self._own_consumer().pop_many(max_records, max_bytes=max_bytes, timeout=timeout)

    def pop_arrow(
        self, max_records: int = 65_536, *, max_bytes: int | None = None, timeout: float | None = 0.0
    ) -> RecordBatch:
        """Pops several records as a pyarrow RecordBatch; see `Consumer.pop_arrow`."""
        return self._own_consumer().pop_arrow(max_records, max_bytes=max_bytes, timeout=timeout)

    def peek(self) -> Message | None:
        """The next record, without popping it; see `Consumer.peek`.

        Makes no consumer: without one it shows the oldest record that is retained, with 0 attempts.
        """
        consumer = self._existing_consumer()
        return self._oldest() if consumer is None else consumer.peek()

    def ack(self, message: Message | int, *, single: bool = False) -> None:
        """Acknowledges a record, and every one before it if not single; see `Consumer.ack`.

        Makes no consumer.

        Raises:
            OutOfRange: The consumer does not exist, or has not popped the record.
        """
        self._required_consumer("ack").ack(message, single=single)

    def ack_many(self, messages: Iterable[Message | int]) -> None:
        """Acknowledges some records, each alone; see `Consumer.ack_many`."""
        self._required_consumer("ack_many").ack_many(messages)

    def nack(self, message: Message | int, delay: float = 0.0) -> None:
        """Negative acknowledgement: requeues a record; see `Consumer.nack`."""
        self._required_consumer("nack").nack(message, delay)

    def consume(
        self, timeout: float | None = None, *, max_records: int = 1000, max_bytes: int | None = None
    ) -> Iterator[Message]:
        """Iterates over the records; see `Consumer.consume`."""
        return self._own_consumer().consume(timeout, max_records=max_records, max_bytes=max_bytes)

    def process(
        self,
        handler: Callable[[Message], object],
        *,
        workers: int = 1,
        timeout: float | None = None,
        retry_delay: float | None = None,
        max_records: int = 100,
        max_bytes: int | None = None,
    ) -> int:
        """Calls a handler with each record, in threads; see `Consumer.process`."""
        return self._own_consumer().process(
            handler,
            workers=workers,
            timeout=timeout,
            retry_delay=retry_delay,
            max_records=max_records,
            max_bytes=max_bytes,
        )

    def aconsume(
        self, timeout: float | None = None, *, max_records: int = 1000, max_bytes: int | None = None
    ) -> AsyncGenerator[Message, None]:
        """Iterates over the records under asyncio; see `Consumer.aconsume`."""
        return self._own_consumer().aconsume(timeout, max_records=max_records, max_bytes=max_bytes)

    def __iter__(self) -> Iterator[Message]:
        """Iterates over the records that exist now: ends without waiting when nothing is left to pop."""
        return iter(self._own_consumer())

    def seek(self, target: SeekTarget) -> None:
        """Moves the consumer; see `Consumer.seek`. Makes the consumer when it does not exist."""
        self._own_consumer().seek(target)

    def qsize(self) -> int:
        """How many records are left to pop; see `Consumer.qsize`. Makes no consumer."""
        consumer = self._existing_consumer()
        return self._retained() if consumer is None else consumer.qsize()

    def __len__(self) -> int:
        """As `qsize`: an empty queue is false."""
        return self.qsize()

    def _retained(self) -> int:
        return max(0, self.end_offset() - self.first_offset())

    def lag(self) -> int:
        """How many records have not been acked. Makes no consumer."""
        consumer = self._existing_consumer()
        return self._retained() if consumer is None else consumer.lag()

    def unacked(self) -> int:
        """How many records have been popped and not acked. Makes no consumer."""
        consumer = self._existing_consumer()
        return 0 if consumer is None else consumer.unacked()

    def empty(self) -> bool:
        """Whether no record is left to pop. Makes no consumer."""
        consumer = self._existing_consumer()
        return self._retained() == 0 if consumer is None else consumer.empty()
