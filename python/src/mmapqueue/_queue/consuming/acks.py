"""Acks of one consumer: coalesced in this process, sent to the JVM together.

An ack appends an offset to a list, without a lock or a call. The offsets are sent to the JVM before the next call that
could see a difference (a pop from the JVM, which carries them, a nack, a seek, lag, statistics, flush, close), and
otherwise by a thread after ack_linger, unless a pop has just sent others. Acks never undo anything, so their order does
not matter. A kill before they are sent loses them: the records are redelivered.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from array import array
from collections import deque
from collections.abc import Callable, Collection
from contextlib import suppress
from math import inf
from time import monotonic, sleep
from typing import Any, TypeVar
from weakref import ref

from mmapqueue._jvm import names
from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.consuming.leftovers import Leftovers
from mmapqueue._queue.consuming.undelivered import Undelivered
from mmapqueue._queue.deadline import Bell
from mmapqueue._queue.handle import QueueHandle
from mmapqueue._values.durations import Duration, delay_micros
from mmapqueue._values.errors import Closed, Dropped, MmapQueueError, OutOfRange
from mmapqueue._values.origin import OpenOrigin, Origin

_Result = TypeVar("_Result")

_LOG = logging.getLogger("mmapqueue")

#: The default of `Pending.origin`: no message has it.
_NO_ORIGIN = Origin("", None)


class Pending:
    """Acks that were not sent to the JVM yet, of records that were popped since the last seek.

    Attributes:
        origin: The origin of these records, by identity: a message with this origin was delivered, so its ack cannot
            fail. By default an origin that no message has: acks are then sent at once.
        up_to: Offsets of cumulative acks.
        single: Offsets of records acked alone.
        rings: Whether the next ack wakes the thread.
    """

    __slots__ = ("origin", "rings", "single", "up_to")

    def __init__(self, origin: Origin = _NO_ORIGIN) -> None:
        self.origin = origin
        self.up_to: list[int] = []
        self.single: list[int] = []
        self.rings = True

    def __bool__(self) -> bool:
        return bool(self.up_to or self.single)


class Acks(ABC):
    """The calls of a consumer that ack, requeue and release popped records. Safe for any number of threads.

    Attributes:
        handle: The open queue.
        name: The consumer's name.
        number: The consumer's number in the JVM.
        origin: The origin of the messages that it pops.
        closed: Whether this process has closed the consumer.
        undelivered: Records that the next pop delivers before new ones.
        leftovers: The records that no caller has received, for the finalizer of the queue.
        in_blocks: Offsets of messages in a `with` block that were neither acked nor nacked yet.
        pending: Acks that are not sent.
    """

    number: int

    def __init__(self, handle: QueueHandle, name: str, linger: float) -> None:
        self.handle = handle
        self.name = name
        self.closed = False
        self.undelivered = Undelivered()
        self.leftovers = Leftovers(self.undelivered)
        self.in_blocks: set[int] = set()
        # Losses that were not raised yet: the records before them are delivered first.
        self._dropped: deque[Dropped] = deque()
        self._linger = linger
        # Number of times that acks were sent, and the number that the thread has seen.
        self._sends = self._sends_seen = 0
        # Held during the calls that send acks.
        self._ack_lock = threading.Lock()
        self._bell = Bell()
        # Holds this consumer while acks are pending. The thread refers to the list, so acks are also sent for a queue
        # that the program drops without a close.
        self._holding: list[Acks] = []
        # One entry until the thread is started; popping it is atomic.
        self._unstarted = [None]
        # A heap of times, by `time.monotonic`: a requeued record is then due, and must come before prefetched ones.
        self._due: list[float] = []
        self.renew_origin()

    def new_origin(self) -> OpenOrigin:
        """A new origin object, which no popped message has."""
        return OpenOrigin.of(self.handle.origin.queue, self.name, self.handle.serializer, self)

    def renew_origin(self) -> None:
        """Discards pending acks, because the consumer moves. Messages from before the move are acked one by one."""
        self.origin = self.new_origin()
        self.pending = Pending(self.origin) if self._linger else Pending()

    def check(self) -> None:
        """Raises the error of a closed consumer, of a closed queue, or of a forked process."""
        self.handle.check()
        if self.closed:
            raise self.closed_error()

    def closed_error(self) -> Closed:
        """The error of calls after the queue or this consumer was closed."""
        if self.handle.closed:
            return self.handle.lifetime.closed_error()
        self.closed = True
        return Closed(f"the consumer {self.name} of the queue in {self.handle.path} is closed")

    def call(self, name: str, *arguments: int | str | bytes) -> Any:
        """Calls a method of the handle for this consumer, after all pending acks were sent."""
        if self.closed:
            self.check()
        try:
            return self.handle.call(name, self.number, *arguments)
        except Closed:
            raise self.closed_error() from None
        except Dropped as error:
            self._forget_dropped(error)
            raise

    def _forget_dropped(self, error: Dropped) -> None:
        self.undelivered.drop(error.first, error.last)

    # ---- calls of users

    def ack(self, offset: int) -> None:
        """Acks a record and every one before it."""
        self._check_delivered("ack", (offset,))
        self.call("ack", offset)
        if self.undelivered:
            with Shield():
                self.undelivered.drop(0, offset)

    def ack_single(self, offset: int, origin: Origin | None = None) -> None:
        """Acks a record alone.

        Args:
            offset: The record's offset.
            origin: The origin of the record's message; None for an offset alone.
        """
        pending = self.pending
        if origin is pending.origin:
            pending.single.append(offset)
            if pending.rings:
                self.ring()
        else:
            self._check_delivered("ack", (offset,))
            self.call("ackSingle", offset)
        self.in_blocks.discard(offset)

    def ack_many(self, offsets: list[int]) -> None:
        """Acks each of these records."""
        self.check()
        if offsets:
            self._check_delivered("ack", offsets)
            self._ack_each(offsets)

    def nack(self, offset: int, delay: Duration) -> None:
        """Requeues a record."""
        micros = delay_micros("delay", delay)
        self._check_delivered("nack", (offset,))
        self.call("nack", offset, micros)
        self.in_blocks.discard(offset)
        self.requeued(micros / 1e6)

    def release(self, offsets: list[int]) -> None:
        """Releases each of these records."""
        self.check()
        if offsets:
            self._check_delivered("release", offsets)
            self.call("release", array("q", offsets).tobytes())
            self.in_blocks.difference_update(offsets)
            self.requeued(0.0)

    async def in_thread(self, call: Callable[[], _Result]) -> _Result:
        """Runs a call that does not wait in a thread."""
        return await self.handle.threads.run(call)

    def _ack_each(self, offsets: list[int]) -> None:
        packed = array("q", offsets).tobytes()
        with Shield(), self.handle.pool.borrow(len(packed)) as buffer:
            if len(packed) > buffer.payload_limit:
                # The general form, for any length; four times slower.
                self.handle.call_only("ackMany", self.number, packed)
                return
            buffer.memory.store(names.PAYLOAD, packed)
            try:
                buffer.ack_many(self.number, len(offsets))
            except Closed:
                raise self.closed_error() from None

    def _check_delivered(self, what: str, offsets: Collection[int]) -> None:
        """Raises OutOfRange for a record that the JVM has popped, but no caller has received."""
        if not self.undelivered:
            return
        here = self.undelivered.offsets()
        wrong = next((offset for offset in offsets if offset in here), None)
        if wrong is not None:
            last = min(here) - 1
            first: int = self.handle.call("endOffset") - self.call("lag")
            error = OutOfRange(
                f"{what} by consumer {self.name} of a record that it has not popped: offset {wrong} is out of range; "
                f"available: {f'{first}..{last}' if first <= last else 'none'}"
            )
            error.requested, error.first, error.last = wrong, first, last
            raise error

    # ---- lingering acks

    def ring(self) -> None:
        """Wakes the thread, which sends pending acks after ack_linger."""
        self.pending.rings = False
        self._holding[:] = [self]
        self._bell.ring()
        with suppress(IndexError):
            self._unstarted.pop()
            bell = self._bell
            # The thread ends with the consumer.
            me = ref(self, lambda _: bell.ring())
            arguments = (me, bell, self._holding, self._linger)
            threading.Thread(target=_linger, args=arguments, name="mmapqueue-acks", daemon=True).start()

    def send_acks(self) -> bool:
        """Sends pending acks; returns whether any was sent.

        Raises:
            MmapQueueError: The JVM does not answer. The acks stay pending.
        """
        # The thread empties `pending` with the lock held, so what it has taken was sent when the lock is free.
        if not self.pending and not self._ack_lock.locked():
            return False
        with Shield(), self._ack_lock:
            return self._send(self.pending)

    def take_cumulative(self) -> int:
        """Takes the cumulative acks, for a pop that sends them; returns the last record's offset, -1 for none."""
        with self._ack_lock:
            self._sends += 1
            return max(_drained(self.pending.up_to), default=-1)

    def _send(self, pending: Pending) -> bool:
        up_to, single = _drained(pending.up_to), _drained(pending.single)
        self._sends += 1
        try:
            last = max(up_to, default=-1)
            if up_to:
                self._send_one("ack", last)
                if self.undelivered:
                    self.undelivered.drop(0, last)
            left = [offset for offset in single if offset > last]
            if left:
                self._send_single(left)
        except Closed:
            pass  # The records are redelivered.
        except MmapQueueError:
            pending.up_to.extend(up_to)
            pending.single.extend(single)
            raise
        return bool(up_to or single)

    def _send_single(self, offsets: list[int]) -> None:
        try:
            self._ack_each(offsets)
        except (Dropped, OutOfRange) as error:
            self._note(error)
            # None was acked: ack those that still exist.
            for offset in offsets:
                self._send_one("ackSingle", offset)

    def _send_one(self, name: str, offset: int) -> None:
        # The JVM reports a loss once. After it, records may not be in flight any more: they are redelivered.
        for _ in range(2):
            try:
                self.handle.call_only(name, self.number, offset)
                return
            except (Dropped, OutOfRange) as error:
                self._note(error)
                if isinstance(error, OutOfRange):
                    return

    def _note(self, error: MmapQueueError) -> None:
        if isinstance(error, Dropped):
            self._dropped.append(error)
            self._forget_dropped(error)
        else:
            _LOG.debug("not acked: %s", error)

    def tidy(self) -> float | None:
        """For the thread: does what is due; returns the seconds until the next work, None to wait for the bell."""
        # Pops of the last moments may have sent all acks that are older than linger.
        sent = self._sends != self._sends_seen or self.send_acks()
        self._sends_seen = self._sends
        self.release_due()
        left = max(0.0, self._due[0] - monotonic()) if self._due else inf
        if sent:
            return min(self._linger, left)
        self.rest()
        # An ack that came before that store has not rung.
        if self.pending:
            self._holding[:] = [self]
            return 0.0
        return None if left is inf else left

    def rest(self) -> None:
        """Lets the next ack wake the thread. For that thread."""
        self._holding.clear()
        self.pending.rings = True

    @abstractmethod
    def requeued(self, delay: float) -> None:
        """Notes a nack: the record must come before prefetched ones, also after a delay, in seconds."""

    @abstractmethod
    def release_due(self) -> None:
        """Releases prefetched records when a requeued one is due."""


def _drained(offsets: list[int]) -> list[int]:
    """Takes all entries. The caller holds the lock of acks; entries that other threads append during the call stay."""
    found = offsets[:]
    del offsets[: len(found)]
    return found


def _linger(reference: ref[Acks], bell: Bell, holding: list[Acks], linger: float) -> None:
    """The thread of a consumer that sends lingering acks. It holds the consumer only while acks are pending."""
    seconds: float | None = None
    while True:
        if bell.wait(seconds):
            sleep(linger)
        acks = reference()
        if acks is None or acks.closed or acks.handle.closed:
            holding.clear()
            return
        try:
            seconds = acks.tidy()
        except MmapQueueError as error:
            _LOG.warning("acks of consumer %s are not sent yet: %s", acks.name, error)
            seconds = None
            acks.rest()
        del acks
