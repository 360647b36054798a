"""Reading as one consumer: pop, ack, seek."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Generic

from mmapqueue._jvm import names
from mmapqueue._queue.consuming.ack_buffer import AckBuffer, Pending
from mmapqueue._queue.consuming.delivery import Delivery
from mmapqueue._queue.consuming.popper import Popper
from mmapqueue._queue.deadline import Deadline
from mmapqueue._queue.handle import QueueHandle
from mmapqueue._values.annotations import RecordBatch, Value
from mmapqueue._values.arguments import Size, byte_limit, count
from mmapqueue._values.durations import Duration
from mmapqueue._values.errors import OutOfRange
from mmapqueue._values.message import AnyMessage, Message
from mmapqueue._values.offsets import (
    SEEKS,
    SeekTarget,
    last_offset,
    offset_column,
    offset_of,
    offsets_in,
    offsets_of,
    target_text,
)


class Unopened:
    """Takes the place of a consumer's parts before it is open: nothing is ready, and no ack is coalesced."""

    ready: Iterator[AnyMessage] = iter(())
    pending = Pending()
    in_blocks: frozenset[int] = frozenset()

    def ring(self) -> None:
        """Does nothing: no ack lingers."""


class Reading(ABC, Generic[Value]):
    """The methods of a consumer, and of a queue for the consumer that it reads as."""

    _handle: QueueHandle

    # The parts of the last result of `_popper`. Once it is closed, nothing is ready, and no ack is coalesced.
    _delivery: Delivery | Unopened = Unopened()
    _acks: AckBuffer | Unopened = Unopened()

    @property
    @abstractmethod
    def _popper(self) -> Popper:
        """Returns the consumer; a queue creates it when it does not exist."""

    def _use(self, popper: Popper) -> Popper:
        self._delivery, self._acks = popper.delivery, popper.acks
        return popper

    def _existing(self) -> Popper | None:
        """Returns the consumer; None when it does not exist, which is possible only for a queue."""
        return self._popper

    def _oldest(self) -> Message[Value] | None:
        """Without a consumer: the record that a new one would pop first; None when no record is retained."""
        return None

    def _retained(self) -> int:
        """Without a consumer: the number of retained records."""
        return 0

    def _required(self, what: str) -> Popper:
        """Returns the consumer; raises OutOfRange, naming the call, when it does not exist."""
        popper = self._existing()
        if popper is None:
            raise OutOfRange(f"{what} by a consumer that does not exist: a pop makes it, and nothing has been popped")
        return popper

    # ---- popping

    def pop(self, block: bool = True, timeout: Duration | None = None) -> Message[Value]:
        """Pops the next record.

        Args:
            block: Whether to wait until a record is available.
            timeout: The longest to wait: seconds, a timedelta, or a text such as "500ms"; None for as long as it takes.

        Returns:
            The record.

        Raises:
            Empty: No record was available in time.
            UnackedLimit: max_unacked records are in flight, and none was acked in time.
            Dropped: Records were dropped, as this consumer's lag exceeded max_consumer_lag. The next call continues
                after them.
            Closed: The queue or this consumer is closed, or was closed during the wait.
            Corrupt: The record is damaged; the position has not moved.
            TypeError: `block` is not a bool: a time is `timeout`.

        Example:
            >>> queue.push(b"one")
            0
            >>> message = queue.pop(timeout="1s")
            >>> message.data
            b'one'
            >>> message.ack()
        """
        deadline = None if timeout is None and block is True else Deadline(block, timeout)
        # One step takes a prefetched record: see `Delivery.ready`.
        for message in self._delivery.ready:
            return message
        return self._popper.pop_one(deadline or Deadline(True, None))

    def pop_many(
        self, max_records: int = 1000, *, max_bytes: Size | None = None, timeout: Duration | None = 0.0
    ) -> list[Message[Value]]:
        """Pops several records; waits for the first one only.

        Args:
            max_records: The most records.
            max_bytes: The most bytes of data, or a text such as "1m"; the first record is returned whatever its size.
            timeout: The longest to wait for the first one: seconds, a timedelta, or a text such as "500ms"; None for as
                long as it takes.

        Returns:
            The records, in order; empty when none was available in time.

        Raises:
            UnackedLimit: As from `pop`.
            Dropped: As from `pop`.
            Closed: The queue or this consumer is closed, or was closed during the wait.
            Corrupt: The first record is damaged; the position has not moved.

        Example:
            >>> queue.push_many([b"one", b"two", b"three"])
            3
            >>> messages = queue.pop_many(2)
            >>> [message.data for message in messages]
            [b'one', b'two']
            >>> queue.ack_many(messages)
        """
        limit, deadline = bounds(max_records, max_bytes, timeout)
        own, empty, batch = self._popper.begin_batch(max_records, limit, deadline)
        own.state = empty
        own.busy = False
        return batch.messages

    def peek(self) -> Message[Value] | None:
        """The next record, without popping it. Creates no consumer: without one, the oldest retained record.

        Returns:
            The record; None when no record is left to pop.

        Raises:
            Closed: The queue or this consumer is closed.
            Corrupt: The record is damaged.

        Example:
            >>> queue.push(b"one")
            0
            >>> queue.peek().data, queue.qsize()
            (b'one', 1)
        """
        popper = self._existing()
        return self._oldest() if popper is None else popper.peek()

    # ---- acknowledgements

    def ack(self, message: AnyMessage | int | RecordBatch) -> None:
        """Acknowledges one record, or those of a batch. Acked records stay acked. Creates no consumer.

        The committed position stays before the first record that is not acked.

        Args:
            message: The record, or its offset; or a RecordBatch of `pop_arrow`, for all its records.

        Raises:
            OutOfRange: This consumer has not popped the record since the queue was opened, or since it was moved by
                `seek`; or the consumer does not exist.
            Foreign: The message is of another consumer or queue.
            TypeError: `message` is neither a message nor an offset.
            Closed: The queue or this consumer is closed.

        Example:
            >>> queue.push_many([b"one", b"two", b"three"])
            3
            >>> one, two, three = queue.pop_many()
            >>> queue.ack(two)
            >>> queue.unacked()
            2
        """
        acks = self._acks
        pending = acks.pending
        if type(message) is Message and message.origin is pending.origin and not acks.in_blocks:
            # The record was popped after the last seek; the JVM would not notice an offset from before it.
            pending.single.append(message.offset)
            if pending.rings:
                acks.ring()
            return
        popper = self._required("ack")
        column = offset_column(message)
        if column is None:
            popper.ack(offset_of("ack", message, popper.delivery.origin))
        else:
            popper.ack_many(offsets_in(column))

    def ack_up_to(self, message: AnyMessage | int | RecordBatch) -> None:
        """Acknowledges a record and every one before it, also those that other threads have popped.

        Args:
            message: The last record, or its offset; or a RecordBatch of `pop_arrow`, for its highest offset: an empty
                one acknowledges nothing.

        Raises:
            OutOfRange: As from `ack`.
            Foreign: As from `ack`.
            TypeError: As from `ack`.
            Closed: As from `ack`.

        Example:
            >>> queue.push_many([b"one", b"two", b"three"])
            3
            >>> one, two, three = queue.pop_many()
            >>> queue.ack_up_to(two)
            >>> queue.lag()
            1
        """
        acks = self._acks
        pending = acks.pending
        if type(message) is Message and message.origin is pending.origin and not acks.in_blocks:
            pending.up_to.append(message.offset)
            if pending.rings:
                acks.ring()
            return
        popper = self._required("ack_up_to")
        column = offset_column(message)
        offset = offset_of("ack_up_to", message, popper.delivery.origin) if column is None else last_offset(column)
        if offset is None:
            popper.check()
        else:
            popper.ack_up_to(offset)

    def ack_many(self, messages: Iterable[AnyMessage | int] | RecordBatch) -> None:
        """Acknowledges several records in one call, each as with `ack`.

        Args:
            messages: The records, or their offsets, in any order; or a RecordBatch of `pop_arrow`, or a Table of them.

        Raises:
            OutOfRange: This consumer has not popped one of them, or does not exist; none is acked.
            Foreign: One of the messages is of another consumer or queue; none is acked.
            TypeError: One of them is neither a message nor an offset.
            Closed: The queue or this consumer is closed.

        Example:
            >>> queue.push_many([b"one", b"two", b"three"])
            3
            >>> one, two, three = queue.pop_many()
            >>> queue.ack_many([three, one])
            >>> queue.unacked()
            1
        """
        popper = self._required("ack_many")
        if isinstance(messages, Message):
            raise TypeError("ack_many takes several messages or offsets: for one there is ack")
        column = offset_column(messages)
        popper.ack_many(
            offsets_of("ack_many", messages, popper.delivery.origin) if column is None else column.to_pylist()
        )

    def nack(self, message: AnyMessage | int, delay: Duration = 0.0) -> None:
        """Negative acknowledgement: requeues a record. It is redelivered with `attempts` increased by one.

        Requeued records come before new ones, and after those that an iterator has popped but not delivered yet.

        With max_attempts set, a record with its attempts used up is dead-lettered instead: it moves to the queue in
        dead_letter_dir, and is acked. A nack of a record that is already requeued does nothing.

        Args:
            message: The record, or its offset.
            delay: The delay of redelivery: seconds, a timedelta, or a text such as "30s".

        Raises:
            OutOfRange: This consumer has not popped the record since the queue was opened, or since it was moved by
                `seek`; or it has acked the record; or the consumer does not exist.
            Foreign: The message is of another consumer or queue.
            TypeError: `message` is neither a message nor an offset.
            ConfigError: The delay is below 0, or a text without a unit.
            Closed: The queue or this consumer is closed.

        Example:
            >>> queue.push(b"one")
            0
            >>> queue.nack(queue.pop())
            >>> queue.pop().attempts
            2
        """
        popper = self._required("nack")
        popper.nack(offset_of("nack", message, popper.delivery.origin), delay)

    def release(self, messages: Iterable[AnyMessage | int]) -> None:
        """Releases records: they count as not popped, and are redelivered before new ones, with the same attempts.

        An acked record stays acked.

        Args:
            messages: The records, or their offsets, in any order.

        Raises:
            OutOfRange: This consumer has not popped one of them, or does not exist; none is released.
            Foreign: One of the messages is of another consumer or queue; none is released.
            TypeError: One of them is neither a message nor an offset.
            Closed: The queue or this consumer is closed.

        Example:
            >>> queue.push(b"one")
            0
            >>> queue.release([queue.pop()])
            >>> queue.pop().attempts
            1
        """
        popper = self._required("release")
        if isinstance(messages, Message):
            raise TypeError("release takes several messages or offsets: put the one into a list")
        popper.release(offsets_of("release", messages, popper.delivery.origin))

    # ---- position

    def seek(self, target: SeekTarget) -> None:
        """Moves the consumer: records before the target count as acked, later ones as not popped.

        Records popped before cannot be acked any more, and their attempts are reset. "committed" instead releases the
        records in flight. Calls of other threads end before the move or begin after it; iterators continue at the
        target. The call takes up to 0.2 s while another call waits.

        Args:
            target: "earliest", the oldest retained record; "latest", the next record that is pushed; "committed", the
                first record that is not acked; an offset; or an aware datetime, the first record that was pushed then
                or later.

        Raises:
            OutOfRange: The record is not retained any more, or not pushed yet.
            ConfigError: The target is another word, or a time in a queue that stores no timestamps.
            ValueError: The datetime is naive.
            Closed: The queue or this consumer is closed.

        Example:
            >>> queue.push_many([b"one", b"two", b"three"])
            3
            >>> queue.seek(2)
            >>> queue.pop().data
            b'three'
        """
        text = target_text(target, SEEKS)
        self._popper.seek(text, releases=target == "committed")

    def qsize(self) -> int:
        """The number of records left to pop, requeued ones included; `len` returns the same. Creates no consumer.

        Example:
            >>> queue.push_many([b"one", b"two", b"three"])
            3
            >>> message = queue.pop()
            >>> queue.qsize(), len(queue)
            (2, 2)
        """
        popper = self._existing()
        return self._retained() if popper is None else popper.qsize()

    def lag(self) -> int:
        """The number of records that are not acked. Creates no consumer.

        Example:
            >>> queue.push_many([b"one", b"two", b"three"])
            3
            >>> message = queue.pop()
            >>> queue.lag()
            3
        """
        popper = self._existing()
        return self._retained() if popper is None else popper.lag()

    def unacked(self) -> int:
        """The number of records that were popped, and neither acked nor requeued. Creates no consumer.

        Example:
            >>> queue.push_many([b"one", b"two", b"three"])
            3
            >>> message = queue.pop()
            >>> queue.unacked()
            1
        """
        popper = self._existing()
        return 0 if popper is None else popper.unacked()

    def empty(self) -> bool:
        """Whether no record is left to pop. Creates no consumer.

        Example:
            >>> queue.empty()
            True
        """
        return self.qsize() == 0

    def __len__(self) -> int:
        """As `qsize`."""
        return self.qsize()

    def __bool__(self) -> bool:
        """True, also without records: a queue is no container, and `if queue:` asks whether there is one."""
        return True


def bounds(
    max_records: int, max_bytes: Size | None, timeout: Duration | None, most_bytes: int = names.INT_MAX
) -> tuple[int, Deadline]:
    """Checks the limits of a pop of several records; returns the most bytes, and the deadline."""
    count("max_records", max_records)
    return byte_limit(max_bytes, most_bytes), Deadline(True, timeout)


def adopt(kind: type, *parts: type) -> None:
    """Gives a class copies of the methods that it inherits from parts, named by the public class.

    Python names a method, in errors and in help, by the class that defines it.
    """
    for part in parts:
        for name, method in vars(part).items():
            if isinstance(method, FunctionType) and getattr(kind, name) is method:
                copy = FunctionType(method.__code__, method.__globals__, name, method.__defaults__, method.__closure__)
                copy.__kwdefaults__ = method.__kwdefaults__
                copy.__annotations__ = method.__annotations__
                copy.__doc__ = method.__doc__
                copy.__qualname__ = f"{kind.__name__}.{name}"
                setattr(kind, name, copy)
