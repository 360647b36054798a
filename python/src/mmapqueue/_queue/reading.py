"""Reading as one consumer: pop, ack, seek."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator
from functools import partial
from types import TracebackType
from typing import Generic, NoReturn

from mmapqueue._jvm import names
from mmapqueue._jvm.shared_buffer import LENT_BYTES
from mmapqueue._queue.arrow.batches import pyarrow
from mmapqueue._queue.arrow.reading import pop_batch
from mmapqueue._queue.consuming.ack_buffer import AckBuffer, Pending
from mmapqueue._queue.consuming.delivery import Delivery
from mmapqueue._queue.consuming.popper import Popper
from mmapqueue._queue.deadline import Deadline
from mmapqueue._queue.handle import QueueHandle
from mmapqueue._queue.iteration import iterate
from mmapqueue._queue.source import Source
from mmapqueue._queue.workers import ASYNC_HANDLER, Workers
from mmapqueue._values.annotations import RecordBatch, Self, Value
from mmapqueue._values.arguments import Size, byte_limit, count
from mmapqueue._values.blocks import Blocks
from mmapqueue._values.closing import refuse_pickling
from mmapqueue._values.durations import Duration, delay_micros
from mmapqueue._values.entering import Entering
from mmapqueue._values.errors import Empty, OutOfRange
from mmapqueue._values.functions import eager
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
    in_blocks = Blocks()

    def ring(self, pending: Pending) -> None:
        """Does nothing: no ack lingers."""


class Reading(Generic[Value]):
    """The methods of a consumer, and of a queue for the consumer that it reads as.

    Each has a source, which opens the consumer; what it calls then is the consumer's popper.
    """

    # The parts of the consumer in use. Once it is closed, nothing is ready, and no ack is coalesced.
    _delivery: Delivery | Unopened = Unopened()
    _acks: AckBuffer | Unopened = Unopened()
    _opened: Popper | None = None

    def __init__(self, handle: QueueHandle, source: Source) -> None:
        self._handle = handle
        self._source = source

    @property
    def _popper(self) -> Popper:
        """The consumer, which a queue creates when it does not exist."""
        popper = self._opened
        return self._use(self._source.open()) if popper is None or popper.port.ended else popper

    def _use(self, popper: Popper) -> Popper:
        self._delivery, self._acks, self._opened = popper.delivery, popper.acks, popper
        return popper

    def _existing(self) -> Popper | None:
        """The consumer; None when it does not exist, which is possible only for a queue."""
        popper = self._opened
        if popper is None or popper.port.ended:
            found = self._source.existing()
            return None if found is None else self._use(found)
        return popper

    def _required(self, what: str) -> Popper:
        """Returns the consumer; raises OutOfRange, naming the call, when it does not exist."""
        popper = self._existing()
        if popper is None:
            raise OutOfRange(f"{what} by a consumer that does not exist: a pop makes it, and nothing has been popped")
        return popper

    # ---- popping

    def pop(self, *, block: bool = True, timeout: Duration | None = None) -> Message[Value]:
        """Pops the next record.

        Args:
            block: Whether to wait until a record is available.
            timeout: The maximum time to wait: seconds, a timedelta, or a string such as "500ms"; None for no limit.

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
        deadline = None
        if block is not True:
            deadline = Deadline(timeout, block=block)
        elif timeout is not None:
            deadline = Deadline(timeout)
        # One step takes a prefetched record: see `Delivery.ready`.
        for message in self._delivery.ready:
            return message
        return self._popper.pop_one(deadline or Deadline())

    def pop_many(
        self, max_records: int = 1000, *, max_bytes: Size | None = None, timeout: Duration | None = 0.0
    ) -> list[Message[Value]]:
        """Pops several records; waits for the first one only.

        Args:
            max_records: The maximum number of records.
            max_bytes: The maximum number of bytes of data, or a string such as "1m"; the first record is returned
                whatever its size.
            timeout: The maximum time to wait for the first one: seconds, a timedelta, or a string such as "500ms"; None
                for no limit.

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

    def pop_arrow(
        self, max_records: int = 65_536, *, max_bytes: Size | None = None, timeout: Duration | None = 0.0
    ) -> RecordBatch:
        """Pops several records as one pyarrow RecordBatch; waits for the first one only.

        Its columns are offset (int64), timestamp (timestamp[us, UTC]; null when the queue stores none) and value
        (binary, as stored: no serializer decodes it). The values stay where the JVM has written them, in shared memory
        that is not reused while an object refers to it, even after the queue was closed. Batches of less than 256 KiB
        are copied, and so is every batch while 15 others of this process are held.

        Acknowledge with `ack(batch)`.

        Args:
            max_records: The maximum number of records.
            max_bytes: The maximum number of bytes of data, or a string such as "1m", up to 4 MiB, which is also the
                default; the first record is returned whatever its size.
            timeout: The maximum time to wait for the first one: seconds, a timedelta, or a string such as "500ms"; None
                for no limit.

        Returns:
            The records, in order; empty when none was available in time. A batch may end before both limits: only an
            empty batch means that no record was left.

        Raises:
            UnackedLimit: As from `pop`.
            Dropped: As from `pop`.
            Closed: The queue or this consumer is closed, or was closed during the wait.
            Corrupt: The first record is damaged; the position has not moved.
            ImportError: pyarrow is not installed; nothing was popped.

        Example:
            >>> queue.push_many([b"one", b"two"])
            2
            >>> batch = queue.pop_arrow()
            >>> batch["value"].to_pylist()
            [b'one', b'two']
            >>> queue.ack(batch)
        """
        limit, deadline = bounds(max_records, max_bytes, timeout, LENT_BYTES)
        pyarrow()  # Before a record is popped, and the consumer made.
        return pop_batch(self._popper, self._handle.pool, max_records, limit, deadline)

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
        return self._source.oldest() if popper is None else popper.peek()

    # ---- iteration

    def consume(
        self, *, timeout: Duration | None = None, max_records: int = 1000, max_bytes: Size | None = None
    ) -> Generator[Message[Value], None, None]:
        """Iterates over the records, popping them in batches. After a `break`, the next pop delivers the rest.

        With visibility_timeout set, a whole batch must be handled within it: keep max_records small.

        Args:
            timeout: Ends when no record became available for this time: seconds, a timedelta, or a string such as
                "30s"; None to wait without end.
            max_records: The maximum number of records of a batch.
            max_bytes: The maximum number of bytes of data of a batch, or a string such as "1m".

        Returns:
            An iterator over the records, in order, for one thread. Its `close` ends it, as a `break` does.

        Raises:
            Closed: While iterating: the queue or this consumer was closed.
            Corrupt: While iterating: the next record is damaged.
            Dropped: While iterating, as from `pop`; the next call continues.
            UnackedLimit: While iterating, as from `pop`.

        Example:
            >>> queue.push_many([b"one", b"two"])
            2
            >>> for message in queue.consume(timeout=0):
            ...     print(message.data)
            ...     queue.ack(message)
            b'one'
            b'two'
        """
        limit, _ = bounds(max_records, max_bytes, timeout)
        return iterate(self._popper, timeout, max_records, limit)

    def process(
        self,
        handler: Callable[[Message[Value]], object],
        *,
        workers: int = 1,
        timeout: Duration | None = None,
        retry_delay: Duration | None = None,
        max_records: int = 100,
        max_bytes: Size | None = None,
    ) -> int:
        """Calls a handler with each record, in threads, and acks each record for which the handler returns.

        A record is acked by itself when the handler returns, and requeued with `nack` when the handler raises an
        Exception, unless the handler has acked, nacked or released it. The logger "mmapqueue" logs the exception. A
        requeued record is redelivered after retry_delay, at most max_attempts times if the queue was opened with
        that, otherwise without limit; other records are handled between the attempts. On Ctrl-C, and on any error of
        this call, records that no handler was called with are released, running handlers are waited for, and the error
        is raised. A second Ctrl-C does not wait: each handler then acks or nacks its own record at its end.

        With visibility_timeout set, a whole batch must be handled within it: keep max_records small.

        Args:
            handler: Called with each record, in threads of its own. It need not ack the record.
            workers: The number of threads. A single thread keeps the order of records.
            timeout: Ends when no record became available for this time, or when only records came that the handler had
                failed for in this call, it failed for each of them again, and no handler runs. Seconds, a timedelta, or
                a string such as "30s"; None to wait without end.
            retry_delay: The delay of redelivery after the handler has raised: seconds, a timedelta, or a string. By
                default 0.1 s after the first attempt, doubled with each further one, 60 s at most.
            max_records: The maximum number of records of a batch.
            max_bytes: The maximum number of bytes of data of a batch, or a string such as "1m".

        Returns:
            The number of times that the handler has returned.

        Raises:
            Closed: The queue or this consumer was closed.
            Corrupt: The next record is damaged.
            Dropped: As from `pop`; the next call continues.
            UnackedLimit: As from `pop`.
            TypeError: The handler cannot be called; or it is an async function or a generator function, or returns what
                such a function returns: under asyncio, use `aconsume`. No record of such a handler is acked.

        Example:
            >>> queue.push_many([b"one", b"two"])
            2
            >>> queue.process(lambda message: print(message.text), timeout=0)
            one
            two
            2
        """
        limit, _ = bounds(max_records, max_bytes, timeout)
        eager("handler", handler, ASYNC_HANDLER)
        count("workers", workers)
        most = self._handle.config["max_attempts"]
        delay = None if retry_delay is None else delay_micros("retry_delay", retry_delay)
        return Workers(self._popper, handler, workers, delay, max_records, limit, most).run(timeout)

    def __iter__(self) -> Iterator[Message[Value]]:
        """Iterates over the records that exist at present: ends without waiting when nothing is left to pop."""
        return self.consume(timeout=0.0)

    def __aiter__(self) -> NoReturn:
        """Raises TypeError: it would be unclear whether the loop ends when nothing is left to pop."""
        raise TypeError(
            f"async for over a {type(self).__name__}: write `async for message in queue.aconsume():`, which waits for "
            "records, or `queue.aconsume(timeout=0)`, which ends when nothing is left to pop"
        )

    def __contains__(self, item: object) -> bool:
        """Raises TypeError: Python would search by `__iter__`, and so pop all records before the item."""
        raise TypeError(
            f"{item!r:.100} in a {type(self).__name__}: a search would pop records; `find` and `read_at` of the queue "
            "read without popping"
        )

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
                acks.ring(pending)
            return
        popper = self._required("ack")
        column = offset_column(message)
        if column is None:
            popper.ack(offset_of("ack", message, popper.delivery.origin))
        else:
            popper.ack_many(offsets_in(column))

    def ack_up_to(self, message: AnyMessage | int | RecordBatch) -> None:
        """Acknowledges a record and every one before it, also those that other threads have popped.

        Threads that share a consumer use `ack`: one of them cannot know what the others have handled.

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
                acks.ring(pending)
            return
        popper = self._required("ack_up_to")
        column = offset_column(message)
        offset = offset_of("ack_up_to", message, popper.delivery.origin) if column is None else last_offset(column)
        if offset is None:
            popper.check()
        else:
            popper.ack_up_to(offset)

    def ack_many(self, messages: Iterable[AnyMessage | int | RecordBatch] | RecordBatch) -> None:
        """Acknowledges several records in one call, each as with `ack`.

        Args:
            messages: The records, their offsets, or RecordBatches of `pop_arrow`, in any order; or one RecordBatch, or
                a Table of them.

        Raises:
            OutOfRange: This consumer has not popped one of them, or does not exist; none is acked.
            Foreign: One of the messages is of another consumer or queue; none is acked.
            TypeError: One of them is neither a message, an offset nor a RecordBatch; none is acked.
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
        popper.ack_many(offsets_of("ack_many", messages, popper.delivery.origin))

    def nack(self, message: AnyMessage | int, *, delay: Duration = 0.0) -> None:
        """Negative acknowledgement: requeues a record. It is redelivered with `attempts` increased by one.

        Requeued records come before new ones, and after those that an iterator has popped but not delivered yet.

        With max_attempts set, a record with its attempts used up is dead-lettered instead: it moves to the queue in
        dead_letter_dir, and is acked. A nack of a record that is already requeued does nothing.

        Args:
            message: The record, or its offset.
            delay: The delay of redelivery: seconds, a timedelta, or a string such as "30s".

        Raises:
            OutOfRange: This consumer has not popped the record since the queue was opened, or since it was moved by
                `seek`; or it has acked the record; or the consumer does not exist.
            Foreign: The message is of another consumer or queue.
            TypeError: `message` is neither a message nor an offset.
            ConfigError: The delay is below 0, or a string without a unit.
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

    def release(self, messages: Iterable[AnyMessage | int | RecordBatch] | RecordBatch) -> None:
        """Releases records: they count as not popped, and are redelivered before new ones, with the same attempts.

        An acked record stays acked.

        Args:
            messages: As for `ack_many`.

        Raises:
            OutOfRange: This consumer has not popped one of them, or does not exist; none is released.
            Foreign: One of the messages is of another consumer or queue; none is released.
            TypeError: One of them is neither a message, an offset nor a RecordBatch; none is released.
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
        text = target_text("target", target, SEEKS)
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
        return self._source.retained() if popper is None else popper.qsize()

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
        return self._source.retained() if popper is None else popper.lag()

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
        """True, also without records, so that `if queue:` tells a queue from None."""
        return True

    # ---- under asyncio

    def apop(self, *, timeout: Duration | None = None) -> Entering[Message[Value]]:
        """Pops the next record, under asyncio. A cancellation loses no record: the next pop delivers it.

        Tasks that pop at the same time get different records.

        Args:
            timeout: The maximum wait: seconds, a timedelta, or a string such as "500ms"; None for no limit.

        Returns:
            The record, after `await`; or an argument of `async with`, which acks the record at its end.

        Raises:
            Empty: No record was available in time.
            UnackedLimit: As from `pop`.
            Dropped: As from `pop`.
            Closed: The queue or this consumer is closed, or was closed during the wait.
            Corrupt: The record is damaged; the position has not moved.

        Example:
            >>> async def main():
            ...     await queue.apush(b"one")
            ...     async with queue.apop() as message:
            ...         return message.data
            >>> asyncio.run(main())
            b'one'
        """
        return Entering("apop", self._apop(timeout))

    async def _apop(self, timeout: Duration | None) -> Message[Value]:
        deadline = Deadline(timeout)
        popper = await self._open_async()
        messages = await self._pop_async(popper, 1, names.INT_MAX, deadline)
        if not messages:
            raise Empty(f"there is nothing to pop for consumer {popper.name}")
        return messages[0]

    async def apop_many(
        self, max_records: int = 1000, *, max_bytes: Size | None = None, timeout: Duration | None = 0.0
    ) -> list[Message[Value]]:
        """As `pop_many`, with its arguments and errors, under asyncio. A cancellation loses no record.

        Returns:
            The records, in order; empty when none was available in time.

        Example:
            >>> queue.push_many([b"one", b"two"])
            2
            >>> len(asyncio.run(queue.apop_many(10)))
            2
        """
        limit, deadline = bounds(max_records, max_bytes, timeout)
        popper = await self._open_async()
        return await self._pop_async(popper, max_records, limit, deadline)

    def aconsume(
        self, *, timeout: Duration | None = None, max_records: int = 1000, max_bytes: Size | None = None
    ) -> AsyncGenerator[Message[Value], None]:
        """Iterates over the records under asyncio. A thread pops them in batches.

        A cancellation loses no record: the next pop delivers the rest of the batch. A loop that is left by `break`
        keeps the rest of its batch until the generator is closed: use `contextlib.aclosing`, or call `aclose`.

        Args:
            timeout: Ends when no record became available for this time: seconds, a timedelta, or a string such as
                "30s"; None to wait without end.
            max_records: The maximum number of records of a batch.
            max_bytes: The maximum number of bytes of data of a batch, or a string such as "1m".

        Returns:
            An asynchronous generator of the records, in order, for one task.

        Raises:
            Closed: While iterating: the queue or this consumer was closed.
            Corrupt: While iterating: the next record is damaged.
            Dropped: While iterating, as from `pop`; another iterator continues.
            UnackedLimit: While iterating, as from `pop`.

        Example:
            >>> async def main():
            ...     async for message in queue.aconsume(timeout=0.1):
            ...         print(message.data)
            ...         await queue.aack(message)
            >>> queue.push_many([b"one", b"two"])
            2
            >>> asyncio.run(main())
            b'one'
            b'two'
        """
        # Imported on first use: asyncio is slow to import.
        from mmapqueue._queue.async_iteration import consume_async

        limit, _ = bounds(max_records, max_bytes, timeout)
        return consume_async(self._open_async, timeout, max_records, limit)

    async def aack(self, message: AnyMessage | int) -> None:
        """As `ack`, with its arguments and errors, under asyncio.

        Example:
            >>> async def main():
            ...     await queue.apush(b"one")
            ...     await queue.aack(await queue.apop())
            >>> asyncio.run(main())
            >>> queue.lag()
            0
        """
        await self._handle.threads.run(partial(self.ack, message))

    async def aack_up_to(self, message: AnyMessage | int) -> None:
        """As `ack_up_to`, with its arguments and errors, under asyncio.

        Example:
            >>> async def main():
            ...     await queue.apush_many([b"one", b"two"])
            ...     messages = await queue.apop_many()
            ...     await queue.aack_up_to(messages[-1])
            >>> asyncio.run(main())
            >>> queue.lag()
            0
        """
        await self._handle.threads.run(partial(self.ack_up_to, message))

    async def aack_many(self, messages: Iterable[AnyMessage | int | RecordBatch] | RecordBatch) -> None:
        """As `ack_many`, with its arguments and errors, under asyncio.

        Example:
            >>> async def main():
            ...     await queue.apush_many([b"one", b"two"])
            ...     await queue.aack_many(await queue.apop_many())
            >>> asyncio.run(main())
            >>> queue.lag()
            0
        """
        await self._handle.threads.run(partial(self.ack_many, messages))

    async def anack(self, message: AnyMessage | int, *, delay: Duration = 0.0) -> None:
        """As `nack`, with its arguments and errors, under asyncio.

        Example:
            >>> async def main():
            ...     await queue.apush(b"one")
            ...     await queue.anack(await queue.apop())
            ...     return await queue.apop()
            >>> asyncio.run(main()).attempts
            2
        """
        await self._handle.threads.run(partial(self.nack, message, delay=delay))

    async def arelease(self, messages: Iterable[AnyMessage | int | RecordBatch] | RecordBatch) -> None:
        """As `release`, with its arguments and errors, under asyncio.

        Example:
            >>> async def main():
            ...     await queue.apush(b"one")
            ...     await queue.arelease([await queue.apop()])
            ...     return await queue.apop()
            >>> asyncio.run(main()).attempts
            1
        """
        await self._handle.threads.run(partial(self.release, messages))

    async def _open_async(self) -> Popper:
        """As `_popper`. A thread opens the consumer: that may wait for the end of a process that owns it."""
        popper = self._opened
        if popper is None or popper.port.ended:
            return await self._handle.threads.run(lambda: self._popper)
        return popper

    async def _pop_async(self, popper: Popper, most: int, max_bytes: int, deadline: Deadline) -> list[AnyMessage]:
        # Imported on first use: asyncio is slow to import.
        from mmapqueue._queue.async_iteration import pop_async

        return await pop_async(self._handle.threads, popper, most, max_bytes, deadline)

    # ---- the end

    def close(self) -> None:
        """Closes it."""
        self._source.close()

    async def aclose(self) -> None:
        """As `close`, under asyncio.

        Example:
            >>> asyncio.run(queue.aclose())
            >>> queue.closed
            True
        """
        # Imported on first use: asyncio is slow to import.
        from mmapqueue._queue.threads import in_own_thread

        await in_own_thread(self.close, "mmapqueue-aclose")

    def __enter__(self) -> Self:
        self._source.check()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __reduce__(self) -> NoReturn:
        refuse_pickling(self)


def bounds(
    max_records: int, max_bytes: Size | None, timeout: Duration | None, most_bytes: int = names.INT_MAX
) -> tuple[int, Deadline]:
    """Checks the limits of a pop of several records; returns the maximum number of bytes, and the deadline."""
    count("max_records", max_records)
    return byte_limit(max_bytes, most_bytes), Deadline(timeout)
