"""Records that the JVM has popped for one consumer, and no caller has received."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from heapq import heappop, heappush
from itertools import chain
from math import inf
from operator import length_hint
from time import monotonic
from typing import NamedTuple, Protocol

from mmapqueue._jvm.shared_buffer import SharedBuffer
from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.consuming.port import ConsumerPort
from mmapqueue._values.errors import Closed, Dropped, MmapQueueError, OutOfRange
from mmapqueue._values.message import AnyMessage
from mmapqueue._values.origin import Origin

#: The lease end where visibility_timeout is 0.
NEVER = inf

#: The records of several calls, call by call.
Chunks = tuple[Sequence[AnyMessage], ...]
#: A shared buffer; the number of its last call that was answered; records read and not delivered.
State = tuple[SharedBuffer, int, Chunks]

#: Prefetched records are those that the consumer takes in this time, in seconds, at its present pace.
_AHEAD_SECONDS = 0.1
#: The growth from one prefetch to the next.
_GROWTH = 8

_NO_ORIGIN = Origin("", None)


class _Entry:
    """An undelivered record, with the end of its lease: from then on the JVM redelivers it. Equal to itself alone."""

    __slots__ = ("lease_end", "message")

    def __init__(self, message: AnyMessage, lease_end: float) -> None:
        self.message = message
        self.lease_end = lease_end


class Undelivered:
    """The undelivered records of one consumer since its last seek: rests of batches, records of interrupted calls.

    Safe for any number of threads, and in finalizers: each step is one call of a deque, and none takes a lock. A record
    that stays never leaves the deque: a thread that found none would pop later records, and perhaps ack up to them.
    """

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: deque[_Entry] = deque()

    def put_first(self, messages: Iterable[AnyMessage], lease_end: float) -> None:
        """Puts records before the others, in the given order."""
        self._entries.extendleft([_Entry(message, lease_end) for message in reversed(list(messages))])

    def take(self, most: int, max_bytes: int) -> tuple[list[AnyMessage], int, float]:
        """Takes records; the first one whatever its size.

        Returns:
            The records; the bytes of their data; the end of their first lease.
        """
        taken: list[AnyMessage] = []
        size, lease_end = 0, NEVER
        now = monotonic()
        while len(taken) < most and (entry := self._first()) is not None:
            valid = entry.lease_end > now
            if valid and taken and size + len(entry.message.data) > max_bytes:
                break
            if self._remove(entry) and valid:
                taken.append(entry.message)
                size += len(entry.message.data)
                lease_end = min(lease_end, entry.lease_end)
        return taken, size, lease_end

    def first(self) -> AnyMessage | None:
        """The record that `take` returns next; None if empty."""
        return next(iter(self._valid()), None)

    def offsets(self) -> set[int]:
        """The offsets of all undelivered records."""
        return {message.offset for message in self._valid()}

    def drop(self, first: int, last: int) -> None:
        """Drops the records from one offset to another: they were acked, or are lost."""
        for entry in list(self._entries):
            if first <= entry.message.offset <= last:
                self._remove(entry)

    def remove(self, offsets: Collection[int]) -> None:
        """Removes the records at these offsets, and no others that have come since."""
        for entry in list(self._entries):
            if entry.message.offset in offsets:
                self._remove(entry)

    def __len__(self) -> int:
        return len(self._valid()) if self._entries else 0

    def __bool__(self) -> bool:
        return bool(self._entries)

    def _valid(self) -> list[AnyMessage]:
        now = monotonic()
        return [entry.message for entry in list(self._entries) if entry.lease_end > now]

    def _first(self) -> _Entry | None:
        try:
            return self._entries[0]
        except IndexError:
            return None

    def _remove(self, entry: _Entry) -> bool:
        """Removes an entry; returns False if another thread has."""
        try:
            self._entries.remove(entry)
        except ValueError:
            return False
        return True


class Held(Protocol):
    """Records that an iterator or a worker has popped, and not passed on."""

    def put_back(self) -> None:
        """Puts them back, so that the next pop delivers them."""


class Batch(NamedTuple):
    """Records that were popped together.

    Attributes:
        messages: The records.
        lease_end: The end of the first lease, by `time.monotonic`. From then on the JVM redelivers records.
        undelivered: Takes the rest of the batch. After a seek the consumer has another object, and the batch is stale.
        rest: An iterator over the records, for callers that take them one by one: each record is taken once, by such a
            caller or by `put_back`.
    """

    messages: list[AnyMessage]
    lease_end: float
    undelivered: Undelivered
    rest: Iterator[AnyMessage]

    def put_back(self) -> None:
        """Puts the records back that nobody has taken from `rest`."""
        self.undelivered.put_first(self.rest, self.lease_end)


class Leftovers:
    """The records of one consumer that no caller has received, apart from the consumer's objects.

    A queue that is collected without a close has none of these objects any more, and its records must be released
    nevertheless: other handles of the process may have the queue open. The finalizer of the queue refers to leftovers;
    they refer to neither queue nor consumer.

    Attributes:
        ready: The iterator over prefetched records.
        undelivered: The rests of batches.
        orphans: Unfinished calls of threads that have ended.
    """

    __slots__ = ("orphans", "ready", "undelivered")

    def __init__(self, undelivered: Undelivered) -> None:
        self.ready: Iterator[AnyMessage] = iter(())
        self.undelivered = undelivered
        self.orphans: list[State] = []

    def take(self, consumer: int) -> list[int]:
        """Takes the records; returns their offsets.

        Args:
            consumer: The consumer's number in the JVM.
        """
        offsets = [message.offset for message in self.ready]
        offsets += self.undelivered.offsets()
        while self.orphans:
            buffer, answered, chunks = self.orphans.pop()
            offsets += [message.offset for chunk in chunks for message in chunk]
            if buffer.last_call != answered:
                # The JVM repeats the answer to a number that it knows. If the call never arrived, this pops one record.
                with suppress(MmapQueueError):
                    if buffer.pop(buffer.last_call, consumer, 1, 1, 0) > 0:
                        offsets += [message.offset for message in buffer.read(_NO_ORIGIN)]
        return sorted(set(offsets))


class Pace:
    """The number of records to prefetch: those that the consumer lately took in 0.1 s, so that a slow one holds few.

    Its steps are plain stores: a race of threads costs one estimate.

    Attributes:
        most: The maximum number of records.
    """

    __slots__ = ("_last", "_since", "most")

    def __init__(self, most: int) -> None:
        self.most = most
        self._last = 0
        self._since = monotonic()

    def next(self) -> int:
        """Returns the number of records to pop now, at least 1."""
        if self.most <= 1:
            return 1
        now = monotonic()
        seconds, self._since = now - self._since, now
        last, self._last = self._last, 0
        return max(1, min(self.most, last * _GROWTH, int(last * _AHEAD_SECONDS / max(seconds, 1e-9))))

    def popped(self, count: int) -> None:
        """Notes the number of records that the pop has found."""
        self._last = count

    def restart(self) -> None:
        """Starts with one record again."""
        self._last = 0


class Delivery:
    """The records of one consumer between the JVM and its callers. Safe for any number of threads.

    A pop takes from `ready`, and the popper fills it and takes undelivered records. The ack buffer reports records that
    are acked or lost. Thread buffers put back what interrupted calls have popped; iterators and workers put back what
    they did not deliver.

    Attributes:
        ready: An iterator over prefetched records: each goes to the thread that asks first. A `for` that returns at
            once takes one in a single step, so Ctrl-C loses none. Their offsets are above those of all records that
            were delivered before they were popped.
        undelivered: Records that the next pop delivers before new ones. A seek exchanges it, so that batches of before
            are stale.
        leftovers: The same records, for the finalizer of the queue.
        origin: The origin of the messages that are popped now.
        pace: The number of records to prefetch.
        highest: The highest offset that the JVM has popped since the last seek.
        held: What iterators and workers have popped, and not passed on, by its owner: a close takes it back.
    """

    def __init__(self, port: ConsumerPort, prefetch: int, origin: Origin) -> None:
        self._port = port
        self.ready: Iterator[AnyMessage] = iter(())
        self.undelivered = Undelivered()
        self.leftovers = Leftovers(self.undelivered)
        self.origin = origin
        self.pace = Pace(prefetch)
        self.highest = -1
        self.held: dict[object, Held] = {}
        # Losses that were not raised yet: the records before them are delivered first.
        self._losses: deque[Dropped] = deque()
        # A heap of times, by `time.monotonic`: a requeued record is then due, and must come before prefetched ones.
        self._due: list[float] = []
        # Held while `ready` is exchanged. Pops take records from it without a lock.
        self._ready_lock = threading.Lock()

    # ---- prefetched records

    def publish(self, rest: list[AnyMessage], *, in_order: bool) -> None:
        """Makes prefetched records ready; redelivered ones wait in `undelivered`, where a cumulative ack finds them."""
        with self._ready_lock:
            if in_order and not length_hint(self.ready):
                self._set_ready(iter(rest))
            else:
                self.undelivered.put_first(rest, NEVER)
        if self._port.ended:
            self.forget_ready()

    def keep_ready(self) -> None:
        """Moves prefetched records to the front of `undelivered`; at the return they are there, whoever moves them."""
        if length_hint(self.ready) or self._ready_lock.locked():
            with Shield(), self._ready_lock:
                rest = list(self.ready)
                self._set_ready(iter(()))
                self.undelivered.put_first(rest, NEVER)

    def forget_ready(self) -> None:
        """Drops prefetched records: the consumer is closed, or they are lost."""
        with Shield(), self._ready_lock:
            self._set_ready(iter(()))

    def first(self) -> AnyMessage | None:
        """The record that the next pop delivers; None if the JVM must be asked."""
        return self._next_ready() or (self.undelivered.first() if self.undelivered else None)

    def _next_ready(self) -> AnyMessage | None:
        return next(copy(self.ready), None)

    def _set_ready(self, records: Iterator[AnyMessage]) -> None:
        self.leftovers.ready = records
        self.ready = records

    def waiting(self) -> bool:
        """Whether records can be delivered without the JVM. Leases may have ended."""
        return bool(self.undelivered or length_hint(self.ready))

    def ahead(self) -> int:
        """The number of records that the JVM has popped, but no caller has received."""
        return length_hint(self.ready) + len(self.undelivered)

    def first_undelivered(self, offsets: Collection[int]) -> tuple[int, int] | None:
        """The first of these offsets that no caller has received, and the lowest such offset of all; None if none."""
        upcoming = self._next_ready()
        if upcoming is not None and max(offsets) >= upcoming.offset:
            self.keep_ready()
        if not self.undelivered:
            return None
        here = self.undelivered.offsets()
        wrong = next((offset for offset in offsets if offset in here), None)
        return None if wrong is None else (wrong, min(here))

    # ---- acks and losses

    def acked_up_to(self, offset: int) -> None:
        """Drops undelivered records that a cumulative ack includes."""
        if self.undelivered:
            with Shield():
                self.undelivered.drop(0, offset)

    def forget_lost(self, error: Dropped) -> None:
        """Drops records after a loss. The JVM pops anew from its end, so prefetched ones would come twice."""
        self.undelivered.drop(error.first, error.last)
        self.forget_ready()

    def note_loss(self, error: Dropped) -> None:
        """Keeps a loss for the next pop: the JVM reports it once."""
        self._losses.append(error)
        self.forget_lost(error)

    def note_failure(self, error: MmapQueueError) -> MmapQueueError:
        """The error of a pop that popped nothing; raises it if the JVM has not answered, as it may have popped then."""
        if isinstance(error, Closed):
            return error
        if error.java_class is None:
            raise error
        if isinstance(error, Dropped):
            self.note_loss(error)
        return error

    def has_loss(self) -> bool:
        """Whether a loss was not raised yet."""
        return bool(self._losses)

    def raise_loss(self) -> None:
        """Raises the first loss that was not raised yet."""
        if self._losses:
            with suppress(IndexError):  # Another thread has raised it.
                raise self._losses.popleft()

    # ---- requeued records

    def requeue_at(self, delay: float) -> None:
        """Notes that a requeued record is due after a delay in seconds."""
        heappush(self._due, monotonic() + delay)

    def take_due(self) -> bool:
        """Whether a requeued record is due, and was not at the last call. For the thread of `upkeep`."""
        now, found = monotonic(), False
        while self._due and self._due[0] <= now:
            heappop(self._due)
            found = True
        return found

    def seconds_to_due(self) -> float | None:
        """The time until the next requeued record is due."""
        return max(0.0, self._due[0] - monotonic()) if self._due else None

    # ---- the end, and moves

    def take_back(self) -> None:
        """Takes back what iterators and workers hold."""
        for held in list(self.held.values()):
            held.put_back()

    def release(self, send_acks: Callable[[], object]) -> None:
        """Releases undelivered records to the JVM, as if they had not been popped; raises nothing."""
        self.keep_ready()
        offsets = self.undelivered.offsets()
        if offsets:
            with suppress(MmapQueueError):
                send_acks()
            release(self._port.release, sorted(offsets))
            self.undelivered.remove(offsets)

    def discard(self) -> None:
        """Drops records that were popped before the consumer moved, and makes batches of that time stale."""
        self.undelivered = self.leftovers.undelivered = Undelivered()
        self._losses.clear()

    def is_stale(self, batch: Batch) -> bool:
        """Whether the rest of a batch must not be delivered: the consumer was moved, or the leases have ended."""
        ended = batch.lease_end is not NEVER and batch.lease_end <= monotonic()
        return ended or self.undelivered is not batch.undelivered


def flat(chunks: Chunks) -> list[AnyMessage]:
    """The records of all chunks."""
    if len(chunks) == 1 and isinstance(chunks[0], list):
        return chunks[0]
    return list(chain.from_iterable(chunks))


def release(call: Callable[[list[int]], object], offsets: list[int]) -> None:
    """Releases records to the JVM, as if they had not been popped; raises nothing.

    Args:
        call: Releases all of some records, or raises OutOfRange and releases none.
        offsets: The offsets of the records.
    """
    if not offsets:
        return
    with suppress(MmapQueueError):
        try:
            call(offsets)
        except OutOfRange:
            # Some are not in flight any more, such as those that another handle has acked.
            for offset in offsets:
                with suppress(OutOfRange):
                    call([offset])
