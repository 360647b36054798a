"""Reading as one consumer: pop, ack, iteration."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from types import TracebackType
from typing import overload

from mmapqueue._jvm import names
from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.async_iteration import consume_async
from mmapqueue._queue.handle import Opened, Waiting
from mmapqueue._queue.iteration import iterate
from mmapqueue._queue.pop_buffer import flat
from mmapqueue._queue.popper import Popper
from mmapqueue._queue.workers import Workers
from mmapqueue._values.annotations import Self
from mmapqueue._values.arguments import check_limits, count, delay_micros
from mmapqueue._values.errors import Empty
from mmapqueue._values.message import Message
from mmapqueue._values.offsets import SEEKS, STARTS, Place, offset_of, offsets_of, place_text

#: Records that are popped at once, if not told otherwise, to be given one by one; and to keep workers busy.
_MOST_AT_ONCE = 1000
_MOST_FOR_WORKERS = 100


class Consumer:
    """Reads a queue independently of its other consumers.

    It has a reading position, which moves with `pop`, and a committed one, which moves with `ack`. Space is used again
    once every consumer has acked it. What was popped and not acked is popped again when the queue is opened the next
    time: at least once.

    Made by `Queue.consumer`. Any number of threads may pop at once; each record goes to one of them. It is a context
    manager that closes itself.

    Attributes:
        name: Its name.
    """

    def __init__(self, opened: Opened, name: str, start: Place) -> None:
        self.name = name
        self._popper = Popper(opened, name, place_text(start, STARTS))

    @property
    def closed(self) -> bool:
        """Whether it was closed or deleted, or the queue was closed."""
        return self._popper.closed or self._popper.opened.closed

    # ---- popping

    def pop(self, block: bool = True, timeout: float | None = None) -> Message:
        """Takes the next record.

        Args:
            block: Whether to wait for one.
            timeout: The longest to wait, in seconds; None for as long as it takes.

        Returns:
            The record.

        Raises:
            Empty: There was none in time.
            UnackedLimit: So many records as max_unacked allows are popped and not acked, and were not acked in time.
            Dropped: Records were lost, as this consumer was further behind than max_consumer_lag. The next call goes
                on behind them.
            Closed: The queue or this consumer is closed, or was closed while this waited.
            Corrupt: What is stored is damaged; the position has not moved.
        """
        waiting = Waiting(block, timeout)
        popper = self._popper
        hand = popper.begin()
        try:
            if not popper.gather(hand, 1, names.INT_MAX, waiting):
                raise Empty(f"there is nothing to pop for consumer {self.name}")
            stage, seen, chunks = hand.state
            message = chunks[0][0]
        except BaseException:
            popper.set_aside(hand)
            raise
        hand.state = (stage, seen, ())
        hand.busy = False
        return message

    def pop_many(
        self, max_records: int = 1000, *, max_bytes: int | None = None, timeout: float | None = 0.0
    ) -> list[Message]:
        """Takes several records; waits for the first one only.

        Args:
            max_records: The most records.
            max_bytes: The most bytes of data; a first record that is larger comes all the same.
            timeout: The longest to wait for the first one, in seconds; None for as long as it takes.

        Returns:
            The records, in order; none when there was none in time.

        Raises:
            UnackedLimit: As from `pop`.
            Dropped: As from `pop`.
            Closed: The queue or this consumer is closed, or was closed while this waited.
            Corrupt: The first record is damaged; the position has not moved.
        """
        check_limits(max_records, max_bytes)
        waiting = Waiting(True, timeout)
        popper = self._popper
        hand = popper.begin()
        try:
            popper.gather(hand, max_records, max_bytes or names.INT_MAX, waiting)
            stage, seen, chunks = hand.state
            records = flat(chunks)
        except BaseException:
            popper.set_aside(hand)
            raise
        hand.state = (stage, seen, ())
        hand.busy = False
        return records

    def peek(self) -> Message | None:
        """Looks at the next record and leaves it there.

        Returns:
            The record, or None when there is none now.

        Raises:
            Closed: The queue or this consumer is closed.
            Corrupt: What is stored is damaged.
        """
        popper = self._popper
        hand = popper.begin()
        try:
            message = popper.returned.first() if popper.returned else None
            if message is None:
                with Shield():
                    stage = hand.state[0]
                    answer = stage.peek(popper.number)
                    if answer == names.CLOSED:
                        raise popper.closed_error()
                    message = stage.read(popper.origin)[0] if answer > 0 else None
            return message
        finally:
            hand.busy = False

    # ---- what became of records

    def ack(self, message: Message | int, *, single: bool = False) -> None:
        """Says that a record, and every one before it, has been dealt with. What was acked before stays acked.

        Args:
            message: The last record that has been dealt with, or its offset.
            single: Whether this is about that one alone, whatever becomes of those before it. Committed is what is
                acked without a gap.

        Raises:
            OutOfRange: This consumer has not popped it since the queue was opened, or since it was moved by `seek`.
            Foreign: The message is of another consumer or queue.
            TypeError: It is neither a message nor an offset.
            Closed: The queue or this consumer is closed.
        """
        popper = self._popper
        offset = offset_of("ack", message, popper.origin)
        popper.refuse_returned("ack", (offset,))
        if single:
            popper.ask("ackSingle", offset)
            return
        popper.ask("ack", offset)
        if popper.returned:
            with Shield():
                popper.returned.drop(0, offset)

    def ack_many(self, messages: Iterable[Message | int]) -> None:
        """Says that some records have been dealt with, each of them alone as with `ack(…, single=True)`: in one call.

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
            self._popper.refuse_returned("ack", offsets)
            self._popper.ack_many(offsets)

    def nack(self, message: Message | int, delay: float = 0.0) -> None:
        """Gives a record back: it is popped again, before those that are new, with one more in `attempts`.

        Those go first, though, that an iterator had popped underneath and has not given.

        With max_attempts set, a record that was handed out so often goes to the queue in dead_letter_dir instead, and
        is acked.

        Args:
            message: The record, or its offset.
            delay: How long it is not popped, in seconds.

        Raises:
            OutOfRange: This consumer has not popped it since the queue was opened, or since it was moved by `seek`; or
                it has acked it. To give back what has been given back does nothing.
            Foreign: The message is of another consumer or queue.
            TypeError: It is neither a message nor an offset.
            Closed: The queue or this consumer is closed.
        """
        micros = delay_micros("delay", delay)
        offset = offset_of("nack", message, self._popper.origin)
        self._popper.refuse_returned("nack", (offset,))
        self._popper.ask("nack", offset, micros)

    # ---- iteration

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
        """Iterates over the records, popping them in batches underneath; or has a handler called with each.

        Without a handler, what of a batch is left when the loop is left goes back, and is popped next.

        With a handler, this returns when there is no more to come. A record is acked, alone, when the handler has
        returned, and given back with `nack` when it has raised an Exception, which is logged as an error of the logger
        "mmapqueue". It comes again after retry_delay, up to max_attempts times where the queue was opened with that,
        else without end: one that always fails does not keep the others from being handled. On Ctrl-C, and on any
        error here, what no handler was called with yet goes back, those that run are waited for, and the error comes
        out; a second Ctrl-C does not wait for them, and each of them settles its record when it ends.

        Where visibility_timeout is set, what was popped underneath must be handled within it, too: keep max_records
        small.

        Args:
            timeout: Ends when no record has come for so many seconds; None to wait for ever. With a handler, when no
                record has come but those that it failed for, none of these was handled either, and no handler runs.
            handler: Called with each record, in threads of its own.
            workers: So many threads call it; the order of the records holds for one alone.
            retry_delay: How long a record is not popped whose handler has raised, in seconds. If not said, 0.1 after
                the first attempt, and twice as long after each further one, 60 at most.
            max_records: The most records popped at once: 1000 if not said, 100 with a handler.
            max_bytes: The most bytes of data popped at once.

        Returns:
            Without a handler, an iterator over the records, in order. For one thread; each thread takes one of its
            own. With one, how many times it has returned.

        Raises:
            Closed: While iterating: the queue or this consumer was closed.
            Corrupt: While iterating: the next record is damaged.
            Dropped: While iterating, as from `pop`; the next call goes on.
            UnackedLimit: While iterating, as from `pop`.
        """
        if max_records is None:
            max_records = _MOST_AT_ONCE if handler is None else _MOST_FOR_WORKERS
        check_limits(max_records, max_bytes)
        Waiting(True, timeout)
        if handler is None:
            if workers is not None or retry_delay is not None:
                raise TypeError("workers and retry_delay need a handler")
            return iterate(self._popper, timeout, max_records, max_bytes or names.INT_MAX)
        workers = 1 if workers is None else workers
        count("workers", workers)
        delay = None if retry_delay is None else delay_micros("retry_delay", retry_delay)
        return Workers(self._popper, handler, workers, delay, max_records, max_bytes or names.INT_MAX).run(timeout)

    def aconsume(
        self, timeout: float | None = None, *, max_records: int = 1000, max_bytes: int | None = None
    ) -> AsyncGenerator[Message, None]:
        """Iterates over the records under asyncio, popping them in batches in a thread underneath.

        Loses no record when it is cancelled: what was popped and not given, of that batch, goes back, and is popped
        next. A loop that is left by `break` keeps the rest of its batch until the generator is closed: use
        `contextlib.aclosing`, or close it with `aclose`.

        Args:
            timeout: Ends when no record has come for so many seconds; None to wait for ever.
            max_records: The most records popped at once.
            max_bytes: The most bytes of data popped at once.

        Returns:
            An asynchronous generator of the records, in order. For one task; each takes one of its own.

        Raises:
            Closed: While iterating: the queue or this consumer was closed.
            Corrupt: While iterating: the next record is damaged.
            Dropped: While iterating, as from `pop`; another iterator goes on.
            UnackedLimit: While iterating, as from `pop`.
        """
        check_limits(max_records, max_bytes)
        Waiting(True, timeout)
        return consume_async(self._popper, timeout, max_records, max_bytes or names.INT_MAX)

    def __iter__(self) -> Iterator[Message]:
        """Iterates over what there is: ends when there is nothing to pop, without waiting."""
        return self.consume(timeout=0.0)

    # ---- where it is

    def seek(self, place: Place) -> None:
        """Goes to another place: what lies before it counts as acked, what lies behind it as not popped.

        What was popped before can be acked no more, and attempts are forgotten, but for "committed", which gives back
        what was popped and not acked. Calls of other threads end before or begin after this; iterators go on at the
        new place. That may take 0.2 s while one of them waits.

        Args:
            place: "earliest", with the oldest record that is retained; "latest", with the next one that is pushed;
                "committed", with the first one that is not acked; an offset; or an aware datetime, with the first
                record that was pushed then or later.

        Raises:
            OutOfRange: The record is not retained any more, or not there yet.
            ConfigError: The place is another word, or a time in a queue that stores no timestamps.
            ValueError: The datetime is naive.
            Closed: The queue or this consumer is closed.
        """
        text = place_text(place, SEEKS)
        popper = self._popper
        popper.check()
        # In this order: what a signal handler does must not find the consumer standing still.
        with Shield(), popper.standing_still():
            if place == "committed":
                popper.unpop()
            popper.ask("seek", text)
            popper.forget()

    def size(self) -> int:
        """How many records there are for this consumer to pop, those included that it has given back."""
        popper = self._popper
        unread: int = popper.ask("size")
        return unread + len(popper.returned)

    def lag(self) -> int:
        """How many records this consumer has not acked."""
        behind: int = self._popper.ask("lag")
        return behind

    def unacked(self) -> int:
        """How many records this consumer has popped and not acked."""
        popper = self._popper
        # What has come back the JVM counts as popped.
        popped: int = popper.ask("unacked")
        return max(0, popped - len(popper.returned))

    def empty(self) -> bool:
        """Whether there is nothing to pop now."""
        return self.size() == 0

    # ---- the end

    def close(self) -> None:
        """Gives the consumer up, so that another process can have it. It stays where its committed position is.

        Calls that wait raise Closed, and so does every later one; `Queue.consumer` takes it up again. A second time
        does nothing, nor does it in a forked child.
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
        return f"<mmapqueue.Consumer {self.name!r} of {self._popper.opened.path!r}{' (closed)' if self.closed else ''}>"

    def __reduce__(self) -> str:
        raise TypeError("a Consumer can not be pickled or copied: it is a connection to a JVM; open the queue there")
