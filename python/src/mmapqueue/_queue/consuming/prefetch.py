"""Records that one consumer has prefetched, and delivers one by one without a call."""

from __future__ import annotations

import os
import threading
from abc import abstractmethod
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, suppress
from copy import copy
from heapq import heappop, heappush
from operator import length_hint
from time import monotonic
from weakref import WeakSet

from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.consuming.acks import Acks, Pending
from mmapqueue._queue.consuming.leftovers import release
from mmapqueue._queue.consuming.pace import Ahead, Pace
from mmapqueue._queue.consuming.undelivered import NEVER
from mmapqueue._queue.handle import QueueHandle
from mmapqueue._values.errors import Dropped, MmapQueueError
from mmapqueue._values.message import AnyMessage

_live: WeakSet[Prefetch] = WeakSet()


class Prefetch(Acks):
    """The prefetched records of a consumer. Safe for any number of threads.

    Attributes:
        ready: An iterator over prefetched records: each goes to the thread that asks first. A `for` that returns at
            once takes one in a single step, so Ctrl-C loses none. Their offsets are above those of all records that
            were delivered before they were popped.
        pace: The number of records to prefetch.
    """

    def __init__(self, handle: QueueHandle, name: str, ahead: Ahead) -> None:
        super().__init__(handle, name, ahead.ack_linger)
        self.ready: Iterator[AnyMessage] = iter(())
        self.pace = Pace(ahead.prefetch)
        # The highest offset that the JVM has popped since the last seek.
        self._highest = -1
        # Held while `ready` is exchanged. Pops take records from it without a lock.
        self._ready_lock = threading.Lock()
        _live.add(self)

    @abstractmethod
    def paused(self) -> AbstractContextManager[None]:
        """Stops pops within the block, and moves all undelivered records to `undelivered`. For use in a Shield."""

    def publish(self, rest: list[AnyMessage], in_order: bool) -> None:
        """Makes prefetched records ready; redelivered ones wait in `undelivered`, where a cumulative ack finds them."""
        with self._ready_lock:
            if in_order and not length_hint(self.ready):
                self._set_ready(iter(rest))
            else:
                self.undelivered.put_first(rest, NEVER)
        if self.closed or self.handle.closed:
            self.forget_ready()

    def forget_ready(self) -> None:
        """Drops prefetched records: the consumer is closed, or they are lost."""
        with Shield(), self._ready_lock:
            self._set_ready(iter(()))

    def _set_ready(self, records: Iterator[AnyMessage]) -> None:
        self.leftovers.ready = records
        self.ready = records

    def keep_ready(self) -> None:
        """Moves prefetched records to the front of `undelivered`."""
        if length_hint(self.ready):
            with Shield(), self._ready_lock:
                rest = list(self.ready)
                self._set_ready(iter(()))
                self.undelivered.put_first(rest, NEVER)

    def next_ready(self) -> AnyMessage | None:
        return next(copy(self.ready), None)

    def _forget_dropped(self, error: Dropped) -> None:
        """Drops prefetched records after a loss: the JVM pops anew from its end, so they would come twice."""
        super()._forget_dropped(error)
        self.forget_ready()

    def begin_move(self) -> None:
        """Sends pending acks before a move. For use in a Shield."""
        pending = self.pending
        self.renew_origin()
        self._highest = -1
        with self._ack_lock:
            self._send(pending)

    def release_undelivered(self) -> None:
        """Releases undelivered records to the JVM, as if they had not been popped; raises nothing."""
        self.keep_ready()
        offsets = sorted(self.undelivered.offsets())
        if offsets:
            release(lambda packed: self.handle.call("release", self.number, packed), offsets)
            self.undelivered.drop(offsets[0], offsets[-1])

    def requeued(self, delay: float) -> None:
        """After a nack: undelivered records are released once the requeued one is due, so that they come after it."""
        self.pace.restart()
        if not delay:
            if self.ahead():
                with Shield():
                    self.release_undelivered()
        elif self.pace.most > 1:
            heappush(self._due, monotonic() + delay)
            self.ring()

    def release_due(self) -> None:
        """Releases undelivered records once a requeued one is due. Called by the thread that sends acks."""
        now = monotonic()
        if self._due and self._due[0] <= now:
            while self._due and self._due[0] <= now:
                heappop(self._due)
            if self.ahead():
                with Shield(), self.paused():
                    self.release_undelivered()

    def end(self) -> None:
        """Before a close: sends acks, releases undelivered records; raises nothing. Later acks are not coalesced."""
        pending, self.pending = self.pending, Pending()
        with self._ack_lock, suppress(MmapQueueError):
            self._send(pending)
        self.release_undelivered()

    # ---- what the JVM counts as popped

    def ahead(self) -> int:
        """The number of records that the JVM has popped, but no caller has received."""
        return length_hint(self.ready) + len(self.undelivered)

    def _check_delivered(self, what: str, offsets: Collection[int]) -> None:
        """Raises OutOfRange for a record that the JVM has popped, but no caller has received."""
        upcoming = self.next_ready()
        if upcoming is not None and max(offsets) >= upcoming.offset:
            self.keep_ready()
        super()._check_delivered(what, offsets)


class Unopened:
    """Takes the place of a queue's consumer before it is open: nothing is ready, and no ack is coalesced."""

    ready: Iterator[AnyMessage] = iter(())
    pending = Pending()
    in_blocks: frozenset[int] = frozenset()

    def ring(self) -> None:
        """Does nothing: no ack lingers."""


def _end_in_child() -> None:
    """Ends all consumers in a forked child, where pops and acks raise: the connection belongs to the parent."""
    for popper in _live:
        popper.ready = iter(())
        popper.pending = Pending()


os.register_at_fork(after_in_child=_end_in_child)
