"""Acks of one consumer: coalesced in this process, sent to the JVM together.

An ack appends an offset to a list, without a lock or a call. The offsets are sent to the JVM before the next call that
could see a difference (a pop from the JVM, which carries them, a nack, a seek, lag, statistics, flush, close), and
otherwise by a thread after ack_linger, unless a pop has just sent others. Acks never undo anything, so their order does
not matter. A kill before they are sent loses them: the records are redelivered.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import NamedTuple

from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.consuming.delivery import Delivery
from mmapqueue._queue.consuming.port import AckRange, ConsumerPort
from mmapqueue._values.blocks import Blocks
from mmapqueue._values.errors import Closed, Dropped, MmapQueueError, OutOfRange
from mmapqueue._values.logs import printing_errors
from mmapqueue._values.origin import Origin

_LOG = logging.getLogger("mmapqueue")

#: The default of `Pending.origin`: no message has it.
_NO_ORIGIN = Origin("", None)


class Pending:
    """Acks that were not sent to the JVM yet, of records that were popped since the last seek.

    Attributes:
        origin: The origin of these records, by identity: a message with this origin was delivered, so its ack cannot
            fail. By default an origin that no message has: acks are then sent at once.
        up_to: Offsets of cumulative acks.
        single: Offsets of acks of one record each.
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


class Taken(NamedTuple):
    """Acks that a pop sends, and the pending ones that they come from."""

    pending: Pending
    acks: AckRange


class AckBuffer:
    """The pending acks of one consumer. Safe for any number of threads.

    `ack` appends to `pending`, and then calls `ring` if the pending acks say so. The popper sends them before calls
    that could see a difference, the queue before its own calls, and the thread of `upkeep` after ack_linger.

    Attributes:
        linger: The maximum time that an ack waits, in seconds; 0 for acks that are sent at once.
        pending: Acks that are not sent.
        in_blocks: The messages of `with` blocks and handlers that were neither acked, nacked nor released yet.
    """

    def __init__(self, port: ConsumerPort, delivery: Delivery, linger: float, wake: Callable[[], None]) -> None:
        self._port = port
        self._delivery = delivery
        self._wake = wake
        self.linger = linger
        self.in_blocks = Blocks()
        # Number of times that acks were sent, and the number that the thread has seen.
        self._sends = self._sends_seen = 0
        # Acks that pops have taken, and the JVM has not answered yet.
        self._carried: list[Taken] = []
        # Held during the calls that send acks, but not during pops.
        self._lock = threading.Lock()
        self.pending = Pending()
        self.renew(delivery.origin)

    def renew(self, origin: Origin) -> Pending:
        """Begins anew, because the consumer moves; returns what was pending. Older messages are acked one by one."""
        pending = self.pending
        self.pending = Pending(origin) if self.linger else Pending()
        return pending

    def stop(self) -> Pending:
        """Ends coalescing; returns what was pending. Later acks are sent at once."""
        pending, self.pending = self.pending, Pending()
        # An ack that comes after the acks of this call were sent rings, and finds that they were.
        pending.rings = True
        return pending

    def end_in_child(self) -> None:
        """In a forked child: as `stop`. A thread that exists in the parent alone may have held the lock."""
        self._lock = threading.Lock()
        self.stop()

    def ring(self, pending: Pending) -> None:
        """Wakes the thread, which sends pending acks after ack_linger.

        Args:
            pending: Where the caller has appended its ack.

        Raises:
            Closed: The consumer was closed before the ack.
        """
        if pending is not self.pending:
            with Shield(), self._lock:
                self._send(pending, late=True)
            return
        pending.rings = False
        try:
            self._wake()
        except BaseException:
            pending.rings = True
            raise

    def rest(self) -> bool:
        """Lets the next ack wake the thread; returns whether acks are pending, which have not. For that thread."""
        self.pending.rings = True
        return bool(self.pending)

    def send_lingering(self) -> bool:
        """Sends acks older than ack_linger; returns whether there were any. For the thread."""
        # Pops of the last moments may have sent them.
        sent = self._sends != self._sends_seen or self.send()
        self._sends_seen = self._sends
        return sent

    def send(self) -> bool:
        """Sends pending acks; returns whether any was sent. At the return the JVM has all acks from before the call.

        Raises:
            MmapQueueError: The JVM does not answer. The acks stay pending.
        """
        # A thread empties `pending` with the lock held, so what it has taken was sent when the lock is free.
        if not self.pending and not self._carried and not self._lock.locked():
            return False
        return self.send_taken(self.pending)

    def send_taken(self, pending: Pending) -> bool:
        """As `send`, for acks of `renew` or `stop`."""
        with Shield(), self._lock:
            return self._send(pending)

    def take(self) -> Taken | None:
        """Takes the pending acks if one range holds them all, for a pop that sends them; otherwise sends them now.

        The caller holds a Shield.

        Raises:
            MmapQueueError: The JVM does not answer. The acks stay pending.
        """
        with self._lock:
            pending = self.pending
            up_to, single = pending.up_to[:], sorted(pending.single)
            if up_to:
                acks = AckRange(-1, max(up_to))
                in_one = not single or single[-1] <= acks.last
            elif single:
                acks = AckRange(single[0], single[-1])
                in_one = single == list(range(acks.first, acks.last + 1))
            else:
                return None
            if not in_one:
                self._send(pending)
                return None
            del pending.up_to[: len(up_to)], pending.single[: len(single)]
            self._sends += 1
            taken = Taken(pending, acks)
            self._carried.append(taken)
            return taken

    def arrived(self, taken: Taken) -> None:
        """Notes that the JVM has the acks that a pop has taken."""
        self._carried.remove(taken)

    def put_back(self, taken: Taken, *, is_closed: bool) -> None:
        """Keeps the acks of a pop that failed, but for a close: they are sent again, and have no effect twice."""
        self._carried.remove(taken)
        if is_closed:
            return
        pending, (first, last) = taken
        if first < 0:
            pending.up_to.append(last)
        else:
            pending.single.extend(range(first, last + 1))
        if pending.rings and pending is self.pending:
            self.ring(pending)

    def _send(self, pending: Pending, *, late: bool = False) -> bool:
        up_to, single = _drained(pending.up_to), _drained(pending.single)
        # Those of pops, too: these may wait in the JVM. An ack has no effect twice.
        for _, (first, last) in self._carried[:]:
            if first < 0:
                up_to.append(last)
            else:
                single.extend(range(first, last + 1))
        self._sends += 1
        try:
            last = max(up_to, default=-1)
            if up_to:
                self._send_one(self._port.ack_up_to, last)
                self._delivery.acked_up_to(last)
            left = [offset for offset in single if offset > last]
            if left:
                self._send_single(left)
        except Closed:
            # The records are redelivered.
            if late:
                raise
        except MmapQueueError:
            pending.up_to.extend(up_to)
            pending.single.extend(single)
            raise
        return bool(up_to or single)

    def _send_single(self, offsets: list[int]) -> None:
        try:
            self._port.ack_many(offsets)
        except (Dropped, OutOfRange) as error:
            self._note(error)
            # None was acked: ack those that still exist.
            for offset in offsets:
                self._send_one(self._port.ack, offset)

    def _send_one(self, ack: Callable[[int], None], offset: int) -> None:
        # The JVM reports a loss once. After it, records may not be in flight any more: they are redelivered.
        for _ in range(2):
            try:
                ack(offset)
                return
            except (Dropped, OutOfRange) as error:
                self._note(error)
                if isinstance(error, OutOfRange):
                    return

    def _note(self, error: MmapQueueError) -> None:
        if isinstance(error, Dropped):
            self._delivery.note_loss(error)
        else:
            with printing_errors():
                _LOG.debug("not acked: %s", error)


def _drained(offsets: list[int]) -> list[int]:
    """Takes all entries. The caller holds the lock of acks; entries that other threads append during the call stay."""
    found = offsets[:]
    del offsets[: len(found)]
    return found
