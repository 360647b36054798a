"""Reading: pop, ack, iteration.

A record that the JVM has popped is handed over in one step, the store into `_Hand.state` right before the return, with
no call in between that an exception could come out of. Until then it is in the stage, whose last call can be asked
for its answer again, or in that state; from either place the next pop takes it up. So what interrupts a pop, Ctrl-C or
an exception out of any other signal handler, loses no record and gives none twice.
"""

import threading
from collections import deque
from collections.abc import Iterator
from itertools import chain
from operator import index
from os import getpid

from mmapqueue import _names
from mmapqueue._errors import Empty
from mmapqueue._interrupts import Shield
from mmapqueue._message import Message
from mmapqueue._opened import Opened, Waiting
from mmapqueue._stages import SMALL, Stage

_Chunks = tuple[list[Message], ...]
_State = tuple[Stage, int, _Chunks]


class _Hand:
    """What one thread pops with.

    Attributes:
        state: The stage; the number of its last call that was answered; what was read of it and is not handed over.
        busy: Whether a call is under way.
    """

    __slots__ = ("__weakref__", "_opened", "_orphans", "busy", "state")

    def __init__(self, opened: Opened, orphans: list[_State]) -> None:
        stage = opened.pool.small()
        self.state: _State = (stage, stage.call, ())
        self.busy = False
        self._opened = opened
        self._orphans = orphans
        opened.hands[id(self)] = self

    def release(self) -> None:
        self.state[0].memory.close()

    def __del__(self) -> None:
        """The thread has ended, maybe in the middle of a call. No lock may be taken here."""
        stage, seen, chunks = self.state
        if chunks or stage.call != seen:
            self._orphans.append(self.state)
        else:
            self._opened.pool.give(stage)


class Consumer:
    """Reads a queue independently of its other consumers.

    It has a reading position, which moves with `pop`, and a committed one, which moves with `ack`. Space is used again
    once every consumer has acked it. What was popped and not acked is popped again when the queue is opened the next
    time: at least once.

    Made by `Queue.consumer`. Any number of threads may pop at once; each record goes to one of them.

    Attributes:
        name: Its name.
    """

    def __init__(self, opened: Opened, name: str, start: str) -> None:
        self.name = name
        self._opened = opened
        self._number: int = opened.ask("consumer", name, start)
        self._local = threading.local()
        # Popped in the JVM, and wanted by nobody yet: batches cut short, calls interrupted. They go first.
        self._returned: deque[Message] = deque()
        # What threads that have ended left without seeing the answer.
        self._orphans: list[_State] = []

    def pop(self, block: bool = True, timeout: float | None = None) -> Message:
        """Takes the next record.

        Args:
            block: Whether to wait for one.
            timeout: The longest to wait, in seconds; None for as long as it takes.

        Returns:
            The record.

        Raises:
            Empty: There was none in time.
            Closed: The queue is closed, or was closed while this waited.
            Corrupt: What is stored is damaged; the position has not moved.
        """
        waiting = Waiting(block, timeout)
        hand = self._begin()
        try:
            if not self._gather(hand, 1, _names.INT_MAX, waiting):
                raise Empty(f"there is nothing to pop for consumer {self.name}")
            stage, seen, chunks = hand.state
            message = chunks[0][0]
        except BaseException:
            self._set_aside(hand)
            raise
        hand.busy = False
        hand.state = (stage, seen, ())
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
            Closed: The queue is closed, or was closed while this waited.
            Corrupt: The first record is damaged; the position has not moved.
        """
        _check_limits(max_records, max_bytes)
        waiting = Waiting(True, timeout)
        hand = self._begin()
        try:
            self._gather(hand, max_records, max_bytes or _names.INT_MAX, waiting)
            stage, seen, chunks = hand.state
            records = _flat(chunks)
        except BaseException:
            self._set_aside(hand)
            raise
        hand.busy = False
        hand.state = (stage, seen, ())
        return records

    def peek(self) -> Message | None:
        """Looks at the next record and leaves it there.

        Returns:
            The record, or None when there is none now.

        Raises:
            Closed: The queue is closed.
            Corrupt: What is stored is damaged.
        """
        hand = self._begin()
        try:
            message = next(iter(self._returned), None)
            if message is None:
                with Shield():
                    stage = hand.state[0]
                    answer = stage.peek(self._number)
                    if answer == _names.CLOSED:
                        raise self._opened.closed_error()
                    message = stage.read()[0] if answer > 0 else None
            return message
        finally:
            hand.busy = False

    def ack(self, message: Message | int) -> None:
        """Says that a record, and every one before it, has been dealt with. What was acked before stays acked.

        Args:
            message: The last record that has been dealt with, or its offset.

        Raises:
            OutOfRange: This consumer has not popped it since the queue was opened.
            Closed: The queue is closed.
        """
        offset = message.offset if isinstance(message, Message) else index(message)
        self._opened.ask("ack", self._number, offset)

    def consume(
        self, timeout: float | None = None, *, max_records: int = 1000, max_bytes: int | None = None
    ) -> Iterator[Message]:
        """Iterates over the records, popping them in batches underneath.

        What of a batch is left when the loop is left goes back, and is popped next.

        Args:
            timeout: Ends when no record has come for so many seconds; None to wait for ever.
            max_records: The most records popped at once.
            max_bytes: The most bytes of data popped at once.

        Returns:
            An iterator over the records, in order. For one thread; each thread takes one of its own.

        Raises:
            Closed: While iterating: the queue was closed.
            Corrupt: While iterating: the next record is damaged.
        """
        _check_limits(max_records, max_bytes)
        Waiting(True, timeout)
        return self._consume(timeout, max_records, max_bytes or _names.INT_MAX)

    def _consume(self, timeout: float | None, max_records: int, max_bytes: int) -> Iterator[Message]:
        while True:
            hand = self._begin()
            try:
                self._gather(hand, max_records, max_bytes, Waiting(True, timeout))
                stage, seen, chunks = hand.state
                batch = _flat(chunks)
            except BaseException:
                self._set_aside(hand)
                raise
            given = 0
            try:
                hand.busy = False
                hand.state = (stage, seen, ())
                for message in batch:
                    given += 1
                    yield message
            finally:
                if given < len(batch):
                    with Shield():
                        self._returned.extendleft(reversed(batch[given:]))
            if not batch:
                return

    def __iter__(self) -> Iterator[Message]:
        """Iterates over what there is: ends when there is nothing to pop, without waiting."""
        return self.consume(timeout=0.0)

    def size(self) -> int:
        """How many records this consumer has not popped."""
        unread: int = self._opened.ask("size", self._number)
        return unread + len(self._returned)

    def lag(self) -> int:
        """How many records this consumer has not acked."""
        behind: int = self._opened.ask("lag", self._number)
        return behind

    def empty(self) -> bool:
        """Whether there is nothing to pop now."""
        return self.size() == 0

    def __repr__(self) -> str:
        return f"<mmapqueue.Consumer {self.name!r} of {self._opened.path!r}>"

    def __reduce__(self) -> str:
        raise TypeError("a Consumer can not be pickled or copied: it is a connection to a JVM; open the queue there")

    def _begin(self) -> _Hand:
        """What this thread pops with, nothing in it."""
        opened = self._opened
        hand: _Hand
        try:
            hand = self._local.hand
        except AttributeError:
            opened.check()
            with Shield():
                hand = self._local.hand = _Hand(opened, self._orphans)
        hand.busy = True
        if opened.closed or opened.pid != getpid():
            hand.busy = False
            opened.check()
        stage, seen, chunks = hand.state
        if chunks or stage.call != seen:
            with Shield():
                self._hand_back(hand.state)
                hand.state = (stage, stage.call, ())
        while self._orphans:
            with Shield():
                orphan = self._orphans[-1]
                self._hand_back(orphan)
                self._orphans.remove(orphan)
                opened.pool.give(orphan[0])
        return hand

    def _gather(self, hand: _Hand, most: int, max_bytes: int, waiting: Waiting) -> int:
        """Pops into the hand's state; how many there are in it then."""
        count, size = self._take_returned(hand, most, max_bytes) if self._returned else (0, 0)
        while count < most and self._may_take_more(size, max_bytes, count):
            stage, _, chunks = hand.state
            budget = min(max_bytes - size, stage.payload_limit)
            with Shield():
                wait = 0 if count else waiting.millis()
                asked = min(most - count, stage.record_limit)
                answer = stage.pop(stage.next_call(), self._number, asked, budget, wait)
                batch = stage.read() if answer > 0 else []
                hand.state = (stage, stage.call, (*chunks, batch) if batch else chunks)
            if answer == _names.CLOSED and not count:
                raise self._opened.closed_error()
            if not batch:
                if count or waiting.is_over():
                    break
                continue
            count += len(batch)
            if count < most:
                taken = sum(len(message.data) for message in batch)
                size += taken
                # The JVM stops before a record that would be too much: where any would have fitted, there was none.
                if len(batch) < asked and taken + self._opened.max_event_size <= budget:
                    break
                self._grow(hand)
        return count

    def _may_take_more(self, size: int, max_bytes: int, count: int) -> bool:
        """Whether any record still fits: a pop that finds one too large gives it all the same."""
        return not count or max_bytes - size >= self._opened.max_event_size

    def _take_returned(self, hand: _Hand, most: int, max_bytes: int) -> tuple[int, int]:
        """Takes what has come back into the hand's state; how many records and bytes."""
        taken: list[Message] = []
        size = 0
        with Shield():
            try:
                while len(taken) < most:
                    message = self._returned.popleft()
                    if taken and size + len(message.data) > max_bytes:
                        self._returned.appendleft(message)
                        break
                    taken.append(message)
                    size += len(message.data)
            except IndexError:
                pass  # That was all.
            if taken:
                stage, seen, chunks = hand.state
                hand.state = (stage, seen, (*chunks, taken))
        return len(taken), size

    def _grow(self, hand: _Hand) -> None:
        """Gives the hand a large stage, if there is one to be had."""
        stage, seen, chunks = hand.state
        if stage.size == SMALL and stage.call == seen:
            large = self._opened.pool.large()
            if large is not None:
                hand.state = (large, large.call, chunks)
                self._opened.pool.give(stage)

    def _hand_back(self, state: _State) -> None:
        """Gives what a call had popped that was interrupted to whoever pops next. For a caller with a shield up."""
        stage, seen, chunks = state
        # The same number again: the same answer, if the JVM ever had the call; else this pops one record.
        if stage.call != seen and stage.pop(stage.call, self._number, 1, 1, 0) > 0:
            chunks = (*chunks, stage.read())
        self._returned.extendleft(reversed(_flat(chunks)))

    def _set_aside(self, hand: _Hand) -> None:
        """After an error: what has been popped is for whoever pops next, which may be another thread."""
        stage, seen, _ = hand.state
        if stage.call == seen:
            with Shield():
                self._hand_back(hand.state)
                hand.state = (stage, seen, ())
        hand.busy = False


def _flat(chunks: _Chunks) -> list[Message]:
    return chunks[0] if len(chunks) == 1 else list(chain.from_iterable(chunks))


def _check_limits(max_records: int, max_bytes: int | None) -> None:
    if max_records < 1 or (max_bytes is not None and max_bytes < 1):
        raise ValueError(f"max_records = {max_records}, max_bytes = {max_bytes}: both must be at least 1")
