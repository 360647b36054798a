"""Reading as one consumer: pop, ack, iteration."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from types import TracebackType

from mmapqueue._jvm import names
from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.deadline import Deadline
from mmapqueue._queue.handle import QueueHandle
from mmapqueue._queue.iteration import iterate
from mmapqueue._queue.pop_buffer import flat
from mmapqueue._queue.popper import Popper
from mmapqueue._queue.workers import Workers
from mmapqueue._values.annotations import RecordBatch, Self
from mmapqueue._values.arguments import check_limits, count, delay_micros
from mmapqueue._values.errors import Empty
from mmapqueue._values.message import Message
from mmapqueue._values.offsets import SEEKS, STARTS, SeekTarget, offset_of, offsets_of, target_text


class Consumer:
    """Reads a queue independently of its other consumers.

    `pop` moves its reading position, `ack` its committed position. The queue reuses space that every consumer has
    acked. Delivery is at least once: a record that was popped and not acked is redelivered after the next open.

        with queue.consumer("billing") as consumer:
            for message in consumer.consume(timeout=1.0):
                handle(message.data)
                consumer.ack(message)

    Made by `Queue.consumer`. Safe for any number of threads: each record goes to one of them. A context manager that
    closes itself.

    Attributes:
        name: Its name.
    """

    def __init__(self, handle: QueueHandle, name: str, start: SeekTarget) -> None:
        self.name = name
        self._popper = Popper(handle, name, target_text(start, STARTS))

    @property
    def closed(self) -> bool:
        """Whether it was closed or deleted, or the queue was closed."""
        return self._popper.closed or self._popper.handle.closed

    # ---- popping

    def pop(self, block: bool = True, timeout: float | None = None) -> Message:
        """Pops the next record.

        Args:
            block: Whether to wait for one.
            timeout: The longest to wait, in seconds; None for as long as it takes.

        Returns:
            The record.

        Raises:
            Empty: There was none in time.
            UnackedLimit: max_unacked records are in flight, and none was acked in time.
            Dropped: Records were dropped, as this consumer's lag exceeded max_consumer_lag. The next call continues
                after them.
            Closed: The queue or this consumer is closed, or was closed during the wait.
            Corrupt: The record is damaged; the position has not moved.
        """
        deadline = Deadline(block, timeout)
        popper = self._popper
        own = popper.begin()
        try:
            if not popper.pop_into(own, 1, names.INT_MAX, deadline):
                raise Empty(f"there is nothing to pop for consumer {self.name}")
            buffer, answered, chunks = own.state
            message = chunks[0][0]
        except BaseException:
            popper.abort(own)
            raise
        own.state = (buffer, answered, ())
        own.busy = False
        return message

    def pop_many(
        self, max_records: int = 1000, *, max_bytes: int | None = None, timeout: float | None = 0.0
    ) -> list[Message]:
        """Pops several records; waits for the first one only.

        Args:
            max_records: The most records.
            max_bytes: The most bytes of data; the first record is returned whatever its size.
            timeout: The longest to wait for the first one, in seconds; None for as long as it takes.

        Returns:
            The records, in order; none when there was none in time.

        Raises:
            UnackedLimit: As from `pop`.
            Dropped: As from `pop`.
            Closed: The queue or this consumer is closed, or was closed during the wait.
            Corrupt: The first record is damaged; the position has not moved.
        """
        check_limits(max_records, max_bytes)
        deadline = Deadline(True, timeout)
        popper = self._popper
        own = popper.begin()
        try:
            popper.pop_into(own, max_records, max_bytes or names.INT_MAX, deadline)
            buffer, answered, chunks = own.state
            records = flat(chunks)
        except BaseException:
            popper.abort(own)
            raise
        own.state = (buffer, answered, ())
        own.busy = False
        return records

    def pop_arrow(
        self, max_records: int = 65_536, *, max_bytes: int | None = None, timeout: float | None = 0.0
    ) -> RecordBatch:
        """Pops several records as one pyarrow RecordBatch; waits for the first one only.

        Its columns are offset (int64), timestamp (timestamp[us, UTC]; null when the queue stores none) and value
        (binary). The values stay where the JVM has written them, in shared memory that is not used again while an
        object refers to it, also after the queue was closed. Less than 256 KiB are copied, and so is every batch
        while 15 batches of this process are held.

        Acknowledge with `ack(batch)`, which acks its records and all before them, or with `ack_many(batch)`.

        Args:
            max_records: The most records.
            max_bytes: The most bytes of data, up to 4 MiB, which is also the default; the first record is returned
                whatever its size.
            timeout: The longest to wait for the first record, in seconds; None for as long as it takes.

        Returns:
            The records, in order; none when there was none in time. A batch may end before both limits.

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
        # Imported on first use, as pyarrow.
        from mmapqueue._queue.arrow_pop import pop_batch

        check_limits(max_records, max_bytes)
        return pop_batch(self._popper, max_records, max_bytes, Deadline(True, timeout))

    def peek(self) -> Message | None:
        """The next record, without popping it.

        Returns:
            The record; None when no record is left to pop.

        Raises:
            Closed: The queue or this consumer is closed.
            Corrupt: The record is damaged.
        """
        return self._popper.peek()

    # ---- acknowledgements

    def ack(self, message: Message | int, *, single: bool = False) -> None:
        """Acknowledges a record and every one before it. Acked records stay acked.

        Args:
            message: The last record to acknowledge, or its offset.
            single: Whether to acknowledge this record alone. The committed position stays before the first record that
                is not acked.

        Raises:
            OutOfRange: This consumer has not popped it since the queue was opened, or since it was moved by `seek`.
            Foreign: The message is of another consumer or queue.
            TypeError: It is neither a message nor an offset.
            Closed: The queue or this consumer is closed.
        """
        popper = self._popper
        offset = offset_of("ack", message, popper.origin)
        popper.check_delivered("ack", (offset,))
        if single:
            popper.call("ackSingle", offset)
            return
        popper.call("ack", offset)
        if popper.undelivered:
            with Shield():
                popper.undelivered.drop(0, offset)

    def ack_many(self, messages: Iterable[Message | int]) -> None:
        """Acknowledges some records in one call, each alone as with `ack(…, single=True)`.

        Args:
            messages: The records, or their offsets, in any order.

        Raises:
            OutOfRange: This consumer has not popped one of them; none is acked.
            Foreign: One of the messages is of another consumer or queue; none is acked.
            TypeError: One of them is neither a message nor an offset.
            Closed: The queue or this consumer is closed.
        """
        if isinstance(messages, Message):
            raise TypeError("ack_many takes several messages or offsets: for one there is ack(…, single=True)")
        offsets = offsets_of("ack_many", messages, self._popper.origin)
        self._popper.check()
        if offsets:
            self._popper.check_delivered("ack", offsets)
            self._popper.ack_many(offsets)

    def nack(self, message: Message | int, delay: float = 0.0) -> None:
        """Negative acknowledgement: requeues a record. It is redelivered with one more in `attempts`.

        Requeued records come before new ones, and after those that an iterator has popped and not yet delivered.

        With max_attempts set, a record with its attempts used up is dead-lettered instead: it moves to the queue in
        dead_letter_dir, and is acked. The nack of a record that is requeued already does nothing.

        Args:
            message: The record, or its offset.
            delay: The delay of redelivery, in seconds.

        Raises:
            OutOfRange: This consumer has not popped it since the queue was opened, or since it was moved by `seek`; or
                it has acked it.
            Foreign: The message is of another consumer or queue.
            TypeError: It is neither a message nor an offset.
            Closed: The queue or this consumer is closed.
        """
        micros = delay_micros("delay", delay)
        offset = offset_of("nack", message, self._popper.origin)
        self._popper.check_delivered("nack", (offset,))
        self._popper.call("nack", offset, micros)

    # ---- iteration

    def consume(
        self, timeout: float | None = None, *, max_records: int = 1000, max_bytes: int | None = None
    ) -> Iterator[Message]:
        """Iterates over the records, which it pops in batches. A loop that is left leaves the rest to the next pop.

        With visibility_timeout set, a whole batch must be handled within it: keep max_records small.

        Args:
            timeout: Ends when no record has come for this time, in seconds; None to wait without end.
            max_records: The most records of a batch.
            max_bytes: The most bytes of data of a batch.

        Returns:
            An iterator over the records, in order, for one thread.

        Raises:
            Closed: While iterating: the queue or this consumer was closed.
            Corrupt: While iterating: the next record is damaged.
            Dropped: While iterating, as from `pop`; the next call continues.
            UnackedLimit: While iterating, as from `pop`.
        """
        check_limits(max_records, max_bytes)
        Deadline(True, timeout)
        return iterate(self._popper, timeout, max_records, max_bytes or names.INT_MAX)

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
        """Calls a handler with each record, in threads, and acks the records that it returns for.

        A record is acked, alone, when the handler returns. When the handler raises an Exception, the record is requeued
        with `nack`, and the logger "mmapqueue" logs the error. It is redelivered after retry_delay, max_attempts times
        at most if the queue was opened with that, else without limit; other records are handled between its attempts.
        On Ctrl-C, and on any error of this call, records that no handler was called with are released, running handlers
        are waited for, and the error is raised. A second Ctrl-C does not wait: each handler acks or nacks its own
        record at its end.

        With visibility_timeout set, a whole batch must be handled within it: keep max_records small.

        Args:
            handler: Called with each record, in threads of its own.
            workers: The number of these threads. One alone keeps the order of records.
            timeout: Ends when no record has come for this time, in seconds; or when only records have come that the
                handler failed for in this call, it handled none of these, and none runs. None to wait without end.
            retry_delay: The delay of redelivery after the handler has raised, in seconds. By default 0.1 after the
                first attempt, doubled with each further one, 60 at most.
            max_records: The most records of a batch.
            max_bytes: The most bytes of data of a batch.

        Returns:
            How many times the handler has returned.

        Raises:
            Closed: The queue or this consumer was closed.
            Corrupt: The next record is damaged.
            Dropped: As from `pop`; the next call continues.
            UnackedLimit: As from `pop`.
            TypeError: The handler cannot be called.
        """
        check_limits(max_records, max_bytes)
        Deadline(True, timeout)
        if not callable(handler):
            raise TypeError(f"handler = {handler!r} is invalid; allowed: a function of a message")
        count("workers", workers)
        delay = None if retry_delay is None else delay_micros("retry_delay", retry_delay)
        return Workers(self._popper, handler, workers, delay, max_records, max_bytes or names.INT_MAX).run(timeout)

    def aconsume(
        self, timeout: float | None = None, *, max_records: int = 1000, max_bytes: int | None = None
    ) -> AsyncGenerator[Message, None]:
        """Iterates over the records under asyncio. A thread pops them in batches.

        A cancellation loses no record: the rest of the batch is popped next. A loop that is left by `break` keeps the
        rest of its batch until the generator is closed: use `contextlib.aclosing`, or close it with `aclose`.

        Args:
            timeout: Ends when no record has come for this time, in seconds; None to wait without end.
            max_records: The most records of a batch.
            max_bytes: The most bytes of data of a batch.

        Returns:
            An asynchronous generator of the records, in order, for one task.

        Raises:
            Closed: While iterating: the queue or this consumer was closed.
            Corrupt: While iterating: the next record is damaged.
            Dropped: While iterating, as from `pop`; another iterator continues.
            UnackedLimit: While iterating, as from `pop`.
        """
        # Imported on first use: asyncio is slow to import.
        from mmapqueue._queue.async_iteration import consume_async

        check_limits(max_records, max_bytes)
        Deadline(True, timeout)
        return consume_async(self._popper, timeout, max_records, max_bytes or names.INT_MAX)

    def __iter__(self) -> Iterator[Message]:
        """Iterates over the records that exist now: ends without waiting when nothing is left to pop."""
        return self.consume(timeout=0.0)

    # ---- position

    def seek(self, target: SeekTarget) -> None:
        """Moves the consumer: records before the target count as acked, later ones as not popped.

        Records popped before can be acked no more, and their attempts are forgotten. "committed" instead releases the
        records in flight. Calls of other threads end before this or begin after it; iterators continue at the target.
        This takes up to 0.2 s while another call waits.

        Args:
            target: "earliest", with the oldest record that is retained; "latest", with the next one that is pushed;
                "committed", with the first one that is not acked; an offset; or an aware datetime, with the first
                record that was pushed then or later.

        Raises:
            OutOfRange: The record is not retained any more, or not there yet.
            ConfigError: The target is another word, or a time in a queue that stores no timestamps.
            ValueError: The datetime is naive.
            Closed: The queue or this consumer is closed.
        """
        text = target_text(target, SEEKS)
        popper = self._popper
        popper.check()
        # Shield first: a signal handler must never run while the consumer is paused.
        with Shield(), popper.paused():
            if target == "committed":
                popper.release_undelivered()
            popper.call("seek", text)
            popper.discard_undelivered()

    def qsize(self) -> int:
        """How many records are left to pop for this consumer, requeued ones included; `len` returns the same."""
        popper = self._popper
        unread: int = popper.call("size")
        return unread + len(popper.undelivered)

    def lag(self) -> int:
        """How many records this consumer has not acked."""
        behind: int = self._popper.call("lag")
        return behind

    def unacked(self) -> int:
        """How many records this consumer has popped and not acked."""
        popper = self._popper
        # The JVM counts undelivered records as popped.
        popped: int = popper.call("unacked")
        return max(0, popped - len(popper.undelivered))

    def empty(self) -> bool:
        """Whether no record is left to pop."""
        return self.qsize() == 0

    def __len__(self) -> int:
        """As `qsize`."""
        return self.qsize()

    # ---- the end

    def close(self) -> None:
        """Closes the consumer, so that another process can open it. Its committed position stays.

        Calls that wait raise Closed, and so does every later one; `Queue.consumer` opens it again. Does nothing the
        second time, and in a forked child.
        """
        self._popper.close()

    def __enter__(self) -> Self:
        self._popper.check()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<mmapqueue.Consumer {self.name!r} of {self._popper.handle.path!r}{' (closed)' if self.closed else ''}>"

    def __reduce__(self) -> str:
        raise TypeError("a Consumer cannot be pickled or copied: it is a connection to a JVM; open the queue there")
