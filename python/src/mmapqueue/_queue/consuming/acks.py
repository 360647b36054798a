"""Acks of one consumer: coalesced in this process, sent to the JVM together.

An ack appends an offset to a list: no lock, no call. The offsets reach the JVM before the next call that could see a
difference (a pop from the JVM, which takes them along, a nack, a seek, lag, statistics, flush, close), and by a thread
after ack_linger, unless a pop has just sent others. Acks never undo anything, so their order does not matter. A kill
before that loses them: the records are redelivered.
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
from mmapqueue._queue.consuming.undelivered import Undelivered
from mmapqueue._queue.deadline import Bell
from mmapqueue._queue.handle import QueueHandle
from mmapqueue._values.durations import Duration, delay_micros
from mmapqueue._values.errors import Closed, Dropped, MmapQueueError, OutOfRange
from mmapqueue._values.origin import OpenOrigin, Origin

_Result = TypeVar("_Result")

_LOG = logging.getLogger("mmapqueue")

#: No message has it.
_NO_ORIGIN = Origin("", None)


class Pending:
    """Acks that the JVM does not have, of records that were popped since the last seek.

    Attributes:
        origin: The origin of these records, by identity: a message that has it was delivered, and its ack cannot fail.
            By default one that no message has: acks are sent at once.
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
    """The calls of a consumer that answer for popped records. Safe for any number of threads.

    Attributes:
        handle: The open queue.
        name: The consumer's name.
        number: The consumer's number in the JVM.
        origin: The origin of the messages that it pops.
        closed: Whether this process has closed the consumer.
        undelivered: Records that the next pop delivers before new ones.
        in_blocks: Offsets of messages within a `with` block that were neither acked nor nacked.
        pending: Acks that are not sent.
    """

    number: int

    def __init__(self, handle: QueueHandle, name: str, linger: float) -> None:
        self.handle = handle
        self.name = name
        self.closed = False
        self.undelivered = Undelivered()
        self.in_blocks: set[int] = set()
        # Losses not yet raised: records were delivered first.
        self._dropped: deque[Dropped] = deque()
        self._linger = linger
        # How often acks were sent, and what of it the thread has seen.
        self._sends = self._sends_seen = 0
        # Held during the calls that send.
        self._ack_lock = threading.Lock()
        self._bell = Bell()
        # This consumer, while acks are pending; the thread refers to the list. So acks of a queue that the program
        # drops without a close are sent, too.
        self._holding: list[Acks] = []
        # One entry until the thread is started: its pop is atomic.
        self._unstarted = [None]
        # A heap of times, by `time.monotonic`: a requeued record is due, which prefetched ones must not precede.
        self._due: list[float] = []
        self.renew_origin()

    def new_origin(self) -> OpenOrigin:
        """An origin that is another object than that of popped messages."""
        return OpenOrigin.of(self.handle.origin.queue, self.name, self.handle.serializer, self)

    def renew_origin(self) -> None:
        """Forgets pending acks: the consumer moves. Messages from before are acked one by one from now on."""
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
        """Calls a method of the handle for this consumer, which has all acks before."""
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

    # ---- the calls of users

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
            origin: The origin of its message, if there is one.
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
                # Takes any length, four times slower.
                self.handle.call_only("ackMany", self.number, packed)
                return
            buffer.memory.store(names.PAYLOAD, packed)
            try:
                buffer.ack_many(self.number, len(offsets))
            except Closed:
                raise self.closed_error() from None

    def _check_delivered(self, what: str, offsets: Collection[int]) -> None:
        """Raises OutOfRange for a record that the JVM has popped and no caller has received."""
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

    # ---- acks that linger

    def ring(self) -> None:
        """Wakes the thread that sends pending acks after ack_linger."""
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
        # The thread empties `pending` with the lock held: what it sends has arrived when the lock is free.
        if not self.pending and not self._ack_lock.locked():
            return False
        with Shield(), self._ack_lock:
            return self._send(self.pending)

    def take_cumulative(self) -> int:
        """Takes the cumulative acks, for a pop that sends them; returns the last record's offset, -1 without one."""
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
            # None was acked: those that still exist are.
            for offset in offsets:
                self._send_one("ackSingle", offset)

    def _send_one(self, name: str, offset: int) -> None:
        # The JVM reports a loss once. After one, records may not be popped any more: they are redelivered.
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
        """For the thread: does what is due; returns when it is due next, in seconds; None: at the bell."""
        # Pops of the last moments may have sent all that are older than linger.
        sent = self._sends != self._sends_seen or self.send_acks()
        self._sends_seen = self._sends
        self.release_due()
        left = max(0.0, self._due[0] - monotonic()) if self._due else inf
        if sent:
            return min(self._linger, left)
        self.rest()
        # An ack that came before has not rung.
        if self.pending:
            self._holding[:] = [self]
            return 0.0
        return None if left is inf else left

    def rest(self) -> None:
        """For the thread: the next ack wakes it."""
        self._holding.clear()
        self.pending.rings = True

    @abstractmethod
    def requeued(self, delay: float) -> None:
        """After a nack: the record comes before prefetched ones, also after a delay, in seconds."""

    @abstractmethod
    def release_due(self) -> None:
        """Releases prefetched records when a requeued one is due."""


def _drained(offsets: list[int]) -> list[int]:
    """Takes all entries. The caller holds the lock of acks; entries that other threads append now stay."""
    found = offsets[:]
    del offsets[: len(found)]
    return found


def _linger(reference: ref[Acks], bell: Bell, holding: list[Acks], linger: float) -> None:
    """The thread of a consumer that acks. It refers to the consumer by `holding` alone, while acks are pending."""
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
