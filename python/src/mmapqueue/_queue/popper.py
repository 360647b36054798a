"""How records come out of the JVM, none lost and none twice.

A record that the JVM has popped is handed over in one step, the store into `Hand.state` right before the return, with
no call in between that an exception could come out of. Until then it is in the stage, whose last call can be asked
for its answer again, or in that state; from either place the next pop takes it up. So what interrupts a pop, Ctrl-C or
an exception out of any other signal handler, loses no record and gives none twice.
"""

import threading
from array import array
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from os import getpid
from time import monotonic, sleep
from typing import Any
from weakref import WeakValueDictionary

from mmapqueue._jvm import names
from mmapqueue._jvm.lock_holders import patiently
from mmapqueue._jvm.shared_buffer import SMALL
from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.handle import Opened, Waiting
from mmapqueue._queue.pop_buffer import Batch, Hand, State, flat
from mmapqueue._queue.undelivered import FOREVER, Returned
from mmapqueue._values.errors import Closed, Dropped, MmapQueueError, OutOfRange, UnackedLimit
from mmapqueue._values.message import Message, Origin

#: A call takes a fraction of a second; so many seconds mean that the JVM stands still.
_MOST_CALL_SECONDS = 30.0


class Popper:
    """The popping half of a consumer. Safe for any number of threads.

    Attributes:
        opened: The queue.
        name: The consumer's name.
        origin: Of the messages that it pops.
        number: Its number in the JVM.
        closed: Whether it was given up.
        returned: What goes first.
    """

    def __init__(self, opened: Opened, name: str, start: str) -> None:
        self.opened = opened
        self.name = name
        self.origin = Origin(opened.origin.queue, name)
        self.closed = False
        self.returned = Returned()
        self.number: int = patiently(lambda: opened.ask("consumer", name, start), opened.lock_timeout)
        opened.owners.add(self)
        self._visibility = int(opened.config["visibility_timeout"]) / 1000
        self._local = threading.local()
        self._hands: WeakValueDictionary[int, Hand] = WeakValueDictionary()
        # What threads that have ended left without seeing the answer.
        self._orphans: list[State] = []
        # What was lost, and nobody was told yet: there were records to return first.
        self._dropped: deque[Dropped] = deque()
        # Held by who moves the consumer; `_moving` says so to those who pop, without a lock.
        self._mover = threading.Lock()
        self._moving = False

    def check(self) -> None:
        """Raises what there is to raise when the consumer can not be used here and now."""
        self.opened.check()
        if self.closed:
            raise self.closed_error()

    def closed_error(self) -> Closed:
        """What calls raise when the JVM says that the queue or this consumer is closed."""
        if self.opened.closed:
            return self.opened.closed_error()
        self.closed = True
        return Closed(f"the consumer {self.name} of the queue in {self.opened.path} is closed")

    def ask(self, name: str, *arguments: int | str | bytes) -> Any:
        """Calls a method of the handle for this consumer."""
        if self.closed:
            self.check()
        try:
            return self.opened.ask(name, self.number, *arguments)
        except Closed:
            raise self.closed_error() from None
        except Dropped as error:
            self.returned.drop(error.first, error.last)
            raise

    # ---- one call

    def begin(self) -> Hand:
        """What this thread pops with, nothing in it."""
        opened = self.opened
        hand: Hand
        try:
            hand = self._local.hand
        except AttributeError:
            self.check()
            with Shield():
                hand = self._local.hand = Hand(opened, self._orphans)
                self._hands[id(hand)] = hand
        try:
            hand.busy = True
            if opened.closed or self.closed or self._moving or opened.pid != getpid():
                self._begin_later(hand)
            stage, seen, chunks = hand.state
            if chunks or stage.call != seen:
                with Shield():
                    self._take_up(hand)
            if self._orphans:
                with Shield():
                    self._take_up_orphans()
        except BaseException:
            hand.busy = False
            raise
        hand.until = FOREVER
        return hand

    def _begin_later(self, hand: Hand) -> None:
        """Waits while the consumer is moved; raises when it can not be used."""
        while True:
            hand.busy = False
            self.check()
            with self._mover:
                pass
            hand.busy = True
            if not (self.opened.closed or self.closed or self._moving):
                return

    def gather(self, hand: Hand, most: int, max_bytes: int, waiting: Waiting) -> int:
        """Pops into the hand's state; how many there are in it then."""
        count, size = self._take_returned(hand, most, max_bytes) if self.returned else (0, 0)
        while count < most and self._may_take_more(size, max_bytes, count):
            if self._moving:
                with Shield():
                    self._take_up(hand)
                self._begin_later(hand)
                return self.gather(hand, most, max_bytes, waiting)
            if not count:
                if self._dropped:
                    with suppress(IndexError):  # Another thread has told of it.
                        raise self._dropped.popleft()
                if self._visibility:
                    hand.until = monotonic() + self._visibility
            stage, _, chunks = hand.state
            budget = min(max_bytes - size, stage.payload_limit)
            asked = min(most - count, stage.record_limit)
            batch: list[Message] = []
            answer, failure = 0, None
            with Shield():
                try:
                    answer = stage.pop(stage.next_call(), self.number, asked, budget, 0 if count else waiting.millis())
                except MmapQueueError as error:
                    failure = self._answered(error)
                else:
                    if answer > 0:
                        batch = stage.read(self.origin)
                hand.state = (stage, stage.call, (*chunks, batch) if batch else chunks)
            if failure is not None and not count and not self._may_pass(failure, waiting):
                raise failure
            if answer == names.CLOSED and not count:
                raise self.closed_error()
            if not batch:
                # With some records at hand, what has failed is left to the next call.
                if count or (waiting.is_over() and not self._dropped):
                    break
                continue
            count += len(batch)
            if count < most:
                taken = sum(len(message.data) for message in batch)
                size += taken
                # The JVM stops before a record that would be too much: where any would have fitted, there was none.
                if len(batch) < asked and taken + self.opened.max_event_size <= budget:
                    break
                self._grow(hand)
        return count

    def _answered(self, error: MmapQueueError) -> MmapQueueError:
        """An error that the JVM has answered with: it has popped nothing. Without an answer that is not known."""
        if error.java_class is None:
            raise error
        if isinstance(error, Dropped):
            # The JVM tells of it once.
            self._dropped.append(error)
            self.returned.drop(error.first, error.last)
        return error

    def _may_pass(self, error: MmapQueueError, waiting: Waiting) -> bool:
        """Whether to try again: after what was dropped, which is told first, or when others may ack in time."""
        return isinstance(error, Dropped) or (isinstance(error, UnackedLimit) and not waiting.is_over())

    def set_aside(self, hand: Hand) -> None:
        """After an error: what has been popped is for whoever pops next, which may be another thread."""
        stage, seen, _ = hand.state
        try:
            if stage.call == seen:
                with Shield():
                    self._take_up(hand)
        finally:
            hand.busy = False

    def take(self, most: int, max_bytes: int, waiting: Waiting) -> Batch:
        """Pops records, for a caller whom no signal handler can interrupt: another thread, or one with a shield up."""
        hand = self.begin()
        try:
            self.gather(hand, most, max_bytes, waiting)
            stage, seen, chunks = hand.state
            batch = Batch(flat(chunks), hand.until, self.returned)
        except BaseException:
            self.set_aside(hand)
            raise
        hand.state = (stage, seen, ())
        hand.busy = False
        return batch

    def is_void(self, batch: Batch) -> bool:
        """Whether the rest must not be handed out: the consumer was moved, or the JVM gives it to somebody else."""
        return self.returned is not batch.home or (batch.until is not FOREVER and batch.until <= monotonic())

    def _may_take_more(self, size: int, max_bytes: int, count: int) -> bool:
        """Whether any record still fits: a pop that finds one too large gives it all the same."""
        return not count or max_bytes - size >= self.opened.max_event_size

    def _take_returned(self, hand: Hand, most: int, max_bytes: int) -> tuple[int, int]:
        """Takes what has come back into the hand's state; how many records and bytes."""
        with Shield():
            taken, size, until = self.returned.take(most, max_bytes)
            if taken:
                stage, seen, chunks = hand.state
                hand.state = (stage, seen, (*chunks, taken))
                hand.until = min(hand.until, until)
        return len(taken), size

    def _grow(self, hand: Hand) -> None:
        """Gives the hand a large stage, if there is one to be had."""
        stage, seen, chunks = hand.state
        if stage.size == SMALL and stage.call == seen:
            large = self.opened.pool.large()
            if large is not None:
                hand.state = (large, large.call, chunks)
                self.opened.pool.give(stage)

    # ---- what was interrupted; all for callers with a shield up

    def _take_up(self, hand: Hand) -> None:
        """Empties a hand: what it had popped is for whoever pops next."""
        stage = hand.state[0]
        self._hand_back(hand.state, hand.until)
        hand.state = (stage, stage.call, ())

    def _take_up_orphans(self) -> None:
        while self._orphans:
            orphan = self._orphans[-1]
            # When it was popped is not known any more.
            self._hand_back(orphan, monotonic() if self._visibility else FOREVER)
            self._orphans.remove(orphan)
            self.opened.pool.give(orphan[0])

    def _hand_back(self, state: State, until: float) -> None:
        """Gives what a call had popped that was interrupted to whoever pops next."""
        stage, seen, chunks = state
        if stage.call != seen:
            # The same number again: the same answer, if the JVM ever had the call; else this pops one record.
            try:
                if stage.pop(stage.call, self.number, 1, 1, 0) > 0:
                    chunks = (*chunks, stage.read(self.origin))
            except MmapQueueError as error:
                self._answered(error)
        if chunks:
            self.returned.put_first(flat(chunks), until)

    # ---- moving the consumer

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """Nobody pops meanwhile, and all that was popped and not handed over is in `returned`. For use in a shield."""
        with self._mover:
            try:
                self._moving = True
                self._await_idle()
                self._take_up_all()
                yield
            finally:
                self._moving = False

    def _take_up_all(self) -> None:
        for hand in self._living():
            # Else `close` could free the memory meanwhile.
            hand.busy = True
            try:
                self.opened.check()
                self._take_up(hand)
            finally:
                hand.busy = False
        self._take_up_orphans()

    def unpop(self) -> None:
        """Gives what was popped and not handed over back to the JVM, as if it had not been popped; raises nothing."""
        offsets = array("q", sorted(self.returned.offsets()))
        if offsets:
            # A record that the JVM does not know as popped any more needs no giving back.
            with suppress(MmapQueueError):
                self.opened.ask("unpop", self.number, offsets.tobytes())
            self.returned.drop(offsets[0], offsets[-1])

    def forget(self) -> None:
        """Makes void what was popped before: the JVM pops it again, or never."""
        self.returned = Returned()
        self._dropped.clear()

    def _await_idle(self) -> None:
        deadline = monotonic() + _MOST_CALL_SECONDS
        # One's own may look busy: a call of it was interrupted, and is over.
        own = getattr(self._local, "hand", None)
        while any(hand.busy for hand in self._living() if hand is not own):
            if monotonic() > deadline:
                raise MmapQueueError(f"a call of consumer {self.name} has not come back for {_MOST_CALL_SECONDS} s")
            sleep(0.001)

    def _living(self) -> list[Hand]:
        hands = [reference() for reference in self._hands.valuerefs()]
        return [hand for hand in hands if hand is not None]

    def close(self) -> None:
        """Gives the consumer up."""
        if self.opened.pid != getpid():
            return
        with Shield():
            if self.closed or self.opened.closed:
                return
            self.unpop()
            self.closed = True
            try:
                self.opened.ask("closeConsumer", self.number)
            finally:
                self.forget()

    # ---- acks

    def refuse_returned(self, what: str, offsets: Iterable[int]) -> None:
        """Raises OutOfRange for a record that the JVM has popped and that nobody was given."""
        if not self.returned:
            return
        here = self.returned.offsets()
        wrong = next((offset for offset in offsets if offset in here), None)
        if wrong is not None:
            last = min(here) - 1
            first: int = self.opened.ask("endOffset") - self.ask("lag")
            error = OutOfRange(
                f"{what} by consumer {self.name} of a record that it has not popped: offset {wrong} is out of range; "
                f"available: {f'{first}..{last}' if first <= last else 'none'}"
            )
            error.requested, error.first, error.last = wrong, first, last
            raise error

    def ack_many(self, offsets: list[int]) -> None:
        """Acks each of these records."""
        packed = array("q", offsets).tobytes()
        pool = self.opened.pool
        self.check()
        with Shield(), pool.lent(len(packed)) as stage:
            if len(packed) > stage.payload_limit:
                # Of any length, and four times slower.
                self.ask("ackMany", packed)
                return
            stage.memory.store(names.PAYLOAD, packed)
            try:
                stage.ack_many(self.number, len(offsets))
            except Closed:
                raise self.closed_error() from None
