"""One consumer: pops records from the JVM, so that none is lost and none is delivered twice.

A record is delivered by one store: the one into `PopBuffer.state` right before the return. No call follows it that
could raise. Before that store, the record is in the shared buffer, where the JVM repeats the answer of the last call on
request, or in that state. The next pop takes the record from either. So an interrupted pop (Ctrl-C, an exception from a
signal handler) loses no record, and delivers none twice.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Coroutine, Sequence
from contextlib import suppress
from math import inf
from time import monotonic
from typing import Any, TypeVar
from weakref import WeakSet

from mmapqueue._jvm import names
from mmapqueue._jvm.lending import UnreadRecords
from mmapqueue._jvm.shared_buffer import SharedBuffer
from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.consuming.ack_buffer import AckBuffer
from mmapqueue._queue.consuming.ahead import Ahead
from mmapqueue._queue.consuming.delivery import Batch, Delivery, State, flat
from mmapqueue._queue.consuming.port import ConsumerPort
from mmapqueue._queue.consuming.thread_buffers import PopBuffer, ThreadBuffers
from mmapqueue._queue.consuming.upkeep import UPKEEP, Next, Upkeep
from mmapqueue._queue.deadline import Deadline
from mmapqueue._values.durations import Duration, delay_micros
from mmapqueue._values.errors import Closed, Dropped, Empty, MmapQueueError, OutOfRange, UnackedLimit
from mmapqueue._values.message import AnyMessage
from mmapqueue._values.origin import Origin

_Result = TypeVar("_Result")

#: Reads the records in a shared buffer.
Read = Callable[[SharedBuffer, Origin], Sequence[AnyMessage]]

#: From this many records on, prefetching uses a large buffer. A prefetch takes what one buffer holds.
_MANY = 256

_live: WeakSet[Popper] = WeakSet()


class Popper:
    """One consumer: what its public classes call. Safe for any number of threads.

    It holds the parts, each with its own state and lock, and is the only one that knows the order of their calls. The
    parts know the port, and acks and buffers know the delivery; none knows the popper.

    Attributes:
        port: The consumer in the JVM.
        name: The consumer's name.
        delivery: The records that no caller has received.
        acks: The acks that are not sent.
        buffers: The buffers of threads that pop.
        in_blocks: The messages of `with` blocks and handlers that were neither acked, nacked nor released yet.
    """

    def __init__(self, port: ConsumerPort, ahead: Ahead, upkeep: Upkeep = UPKEEP) -> None:
        self.port = port
        self.name = port.name
        self._upkeep = upkeep
        self._ticket = upkeep.join(self)
        self.delivery = Delivery(port, ahead.prefetch, port.origin(self))
        ticket, linger = self._ticket, ahead.ack_linger
        self.acks = AckBuffer(port, self.delivery, linger, lambda: upkeep.wake(ticket, linger))
        self.in_blocks = self.acks.in_blocks
        self.buffers = ThreadBuffers(port, self.delivery)
        _live.add(self)

    def check(self) -> None:
        """Raises the error of a closed consumer, of a closed queue, or of a forked process."""
        self.port.check()

    def _call(self, call: Callable[..., _Result], *arguments: Any) -> _Result:
        """Makes a call of the port after all pending acks were sent."""
        self.acks.send()
        try:
            return call(*arguments)
        except Dropped as error:
            self.delivery.forget_lost(error)
            raise

    # ---- pops

    def pop_into(self, own: PopBuffer, most: int, max_bytes: int, deadline: Deadline, read: Read | None = None) -> int:
        """Pops into the thread's buffer; returns the number of records that the buffer then holds.

        Args:
            own: The thread's buffer, from `begin`.
            most: The maximum number of records.
            max_bytes: The maximum number of bytes of data; a first record is popped whatever its size.
            deadline: The end of the wait for a first record.
            read: Reads the records of one call of the JVM; None for messages. If it returns anything but a list, the
                records are still in the shared buffer, and no other call follows.
        """
        port, delivery, acks = self.port, self.delivery, self.acks
        delivery.keep_ready()
        if acks.pending.up_to and delivery.undelivered:
            acks.send()
        count, size = self._take_undelivered(own, most, max_bytes) if delivery.undelivered else (0, 0)
        while count < most and self._may_take_more(size, max_bytes, count):
            if self.buffers.must_pause(own):
                if count:
                    # Records that were put back would come after those that other threads have popped since.
                    break
                self.buffers.begin_later(own)
                return self.pop_into(own, most, max_bytes, deadline, read)
            if not count:
                if delivery.waiting():  # Another thread has put them back.
                    return self.pop_into(own, most, max_bytes, deadline, read)
                delivery.raise_loss()
                if port.visibility:
                    own.lease_end = monotonic() + port.visibility
            buffer, _, chunks = own.state
            budget = min(max_bytes - size, buffer.payload_limit)
            asked = min(most - count, buffer.record_limit)
            batch: Sequence[AnyMessage] = ()
            failure = None
            with Shield():
                taken = acks.take() if acks.pending else None
                try:
                    wait = 0 if count else deadline.call_millis()
                    answer = port.pop(buffer, asked, budget, wait, taken and taken.acks)
                except MmapQueueError as error:
                    if taken is not None:
                        acks.put_back(taken, is_closed=isinstance(error, Closed))
                    failure = delivery.note_failure(error)
                else:
                    if taken is not None:
                        acks.arrived(taken)
                    if answer > 0:
                        batch = buffer.read(delivery.origin) if read is None else read(buffer, delivery.origin)
                        last = batch.last_offset() if isinstance(batch, UnreadRecords) else batch[-1].offset
                        delivery.highest = max(delivery.highest, last)
                own.state = (buffer, buffer.last_call, (*chunks, batch) if batch else chunks)
            if failure is not None and not count and not self._may_retry(failure, deadline):
                raise failure
            if not batch:
                # The records are delivered first: the next call meets the failure again.
                if count or (deadline.has_passed() and not delivery.has_loss()):
                    break
                continue
            count += len(batch)
            if not isinstance(batch, list):
                break
            if count < most:
                popped = sum(len(message.data) for message in batch)
                size += popped
                # The JVM stops early when records or room run out. Here any record would have fitted.
                if len(batch) < asked and popped + port.max_event_size <= budget:
                    break
                self.buffers.grow(own)
        return count

    def _may_take_more(self, size: int, max_bytes: int, count: int) -> bool:
        """Whether any further record fits. A first record is delivered whatever its size."""
        return not count or max_bytes - size >= self.port.max_event_size

    def _take_undelivered(self, own: PopBuffer, most: int, max_bytes: int) -> tuple[int, int]:
        """Takes undelivered records into the thread's buffer; returns the number of records, and their bytes."""
        with Shield():
            taken, size, lease_end = self.delivery.undelivered.take(most, max_bytes)
            if taken:
                buffer, answered, chunks = own.state
                own.state = (buffer, answered, (*chunks, taken))
                own.lease_end = min(own.lease_end, lease_end)
        return len(taken), size

    def _may_retry(self, error: MmapQueueError, deadline: Deadline) -> bool:
        """Whether to pop again: a loss is raised later, after the records; the others may pass before the deadline."""
        passes = isinstance(error, UnackedLimit) or error.java_class == names.ARCHIVE_UNAVAILABLE
        return isinstance(error, Dropped) or (passes and not deadline.has_passed())

    def pop_with(self, pop: Callable[[PopBuffer], _Result]) -> tuple[PopBuffer, State, _Result]:
        """Makes a result of popped records. The caller delivers: `own.state = empty`, then `own.busy = False`.

        After an error, the popped records are kept for the next pop of any thread.

        Args:
            pop: Fills the buffer, by `pop_into`, and makes the result.

        Returns:
            The thread's buffer; its state without the records; the result.
        """
        own = self.buffers.begin()
        try:
            result = pop(own)
            buffer, answered, _ = own.state
        except BaseException:
            self.buffers.abort(own)
            raise
        return own, (buffer, answered, ()), result

    def begin_batch(self, most: int, max_bytes: int, deadline: Deadline) -> tuple[PopBuffer, State, Batch]:
        """Pops records, as `pop_with`."""

        def pop(own: PopBuffer) -> Batch:
            self.pop_into(own, most, max_bytes, deadline)
            messages = flat(own.state[2])
            return Batch(messages, own.lease_end, self.delivery.undelivered, iter(messages))

        return self.pop_with(pop)

    def pop_batch(self, most: int, max_bytes: int, deadline: Deadline) -> Batch:
        """Pops records. The caller is not interrupted by signal handlers: not the main thread, or within a Shield."""
        own, empty, batch = self.begin_batch(most, max_bytes, deadline)
        own.state = empty
        own.busy = False
        return batch

    def pop_one(self, deadline: Deadline) -> AnyMessage:
        """As `Consumer.pop`, when nothing is prefetched; prefetches."""
        own, empty, message = self.pop_with(lambda own: self._pop_first(own, deadline))
        own.state = empty
        own.busy = False
        return message

    def _pop_first(self, own: PopBuffer, deadline: Deadline) -> AnyMessage:
        if not (self._pop_ahead(own) or self.pop_into(own, 1, names.INT_MAX, deadline)):
            raise Empty(f"there is nothing to pop for consumer {self.name}")
        return own.state[2][0][0]

    def _pop_ahead(self, own: PopBuffer) -> bool:
        """Pops several records if no wait is needed: the first stays in the buffer, the others become ready.

        Does nothing while other threads pop, so that each of them gets records as they arrive.
        """
        delivery, pace = self.delivery, self.delivery.pace
        most = pace.next()
        pace.popped(1)
        if most <= 1 or delivery.undelivered:
            return False
        try:
            if not self.buffers.begin_ahead(own):
                return False
            if most > _MANY:
                self.buffers.grow(own)
            highest = delivery.highest
            count = self.pop_into(own, most, own.state[0].payload_limit, Deadline(block=False))
            pace.popped(count)
            if count > 1:
                with Shield():
                    buffer, answered, chunks = own.state
                    first, *rest = flat(chunks)
                    own.state = (buffer, answered, ([first],))
                    delivery.publish(
                        rest, in_order=first.offset > highest and rest[-1].offset - first.offset == len(rest)
                    )
            return count > 0
        except UnackedLimit:
            return False
        finally:
            self.buffers.end_ahead()

    def peek(self) -> AnyMessage | None:
        """As `Consumer.peek`."""
        own = self.buffers.begin()
        try:
            self.acks.send()
            message = self.delivery.first()
            if message is None:
                with Shield():
                    buffer = own.state[0]
                    message = buffer.read(self.delivery.origin)[0] if self.port.peek(buffer) > 0 else None
            # With another origin than popped records, since the record was not delivered.
            return message and message._replace(origin=self.port.origin(self))
        finally:
            own.busy = False

    # ---- popped records

    def ack_up_to(self, offset: int) -> None:
        """Acks a record and every one before it."""
        self._check_delivered("ack_up_to", (offset,))
        self._call(self.port.ack_up_to, offset)
        self.delivery.acked_up_to(offset)

    def ack(self, offset: int, origin: Origin | None = None) -> None:
        """Acks one record.

        Args:
            offset: The record's offset.
            origin: The origin of the record's message; None for an offset alone.
        """
        blocks = self.in_blocks.of((offset,))
        pending = self.acks.pending
        if origin is pending.origin:
            pending.single.append(offset)
            if pending.rings:
                self.acks.ring(pending)
        else:
            self._check_delivered("ack", (offset,))
            self._call(self.port.ack, offset)
        self.in_blocks.answered(blocks)

    def ack_many(self, offsets: Sequence[int]) -> None:
        """Acks each of these records."""
        self.check()
        if offsets:
            self._check_delivered("ack", offsets)
            self._call(self.port.ack_many, offsets)

    def nack(self, offset: int, delay: Duration) -> None:
        """Requeues a record."""
        micros = delay_micros("delay", delay)
        self._check_delivered("nack", (offset,))
        blocks = self.in_blocks.of((offset,))
        self.nack_delivered(offset, micros)
        self.in_blocks.answered(blocks)
        self._requeued(micros / 1e6)

    def nack_delivered(self, offset: int, micros: int) -> None:
        """Requeues a record that a caller has received; prefetched records may come before it."""
        self._call(self.port.nack, offset, micros)

    def release(self, offsets: list[int]) -> None:
        """Releases each of these records."""
        self.check()
        if offsets:
            self._check_delivered("release", offsets)
            blocks = self.in_blocks.of(offsets)
            self._call(self.port.release, offsets)
            self.in_blocks.answered(blocks)
            self._requeued(0.0)

    def in_thread(self, call: Callable[[], _Result]) -> Coroutine[Any, Any, _Result]:
        """Runs a call that does not wait in a thread."""
        return self.port.in_thread(call)

    def _check_delivered(self, what: str, offsets: Collection[int]) -> None:
        """Raises OutOfRange for a record that the JVM has popped, but no caller has received."""
        found = self.delivery.first_undelivered(offsets)
        if found is None:
            return
        wrong, last = found[0], found[1] - 1
        first = self._call(self.port.committed_offset)
        error = OutOfRange(
            f"{what} by consumer {self.name} of a record that it has not popped: offset {wrong} is out of range; "
            f"available: {f'{first}..{last}' if first <= last else 'none'}"
        )
        error.requested, error.first, error.last = wrong, first, last
        raise error

    def _requeued(self, delay: float) -> None:
        """After a nack: undelivered records are released once the requeued one is due, so that they come after it."""
        self.delivery.pace.restart()
        if not delay:
            if self.delivery.ahead():
                with Shield(), self.buffers.paused():
                    self._release_undelivered()
        elif self.delivery.pace.most > 1:
            self.delivery.requeue_at(delay)
            self.acks.ring(self.acks.pending)

    # ---- position

    def seek(self, target: str, *, releases: bool) -> None:
        """Moves the consumer.

        Args:
            target: As the JVM takes it.
            releases: Whether the records in flight are released: the target is "committed".
        """
        self.check()
        # Shield first: a signal handler must never run while the consumer is paused.
        with Shield(), self.buffers.paused():
            self.delivery.origin = self.port.origin(self)
            self.delivery.highest = -1
            self.acks.send_taken(self.acks.renew(self.delivery.origin))
            if releases:
                self._release_undelivered()
            self._call(self.port.seek, target)
            self.delivery.discard()

    def qsize(self) -> int:
        """The number of records left to pop."""
        return self._call(self.port.size) + self.delivery.ahead()

    def lag(self) -> int:
        """The number of records that are not acked."""
        return self._call(self.port.lag)

    def unacked(self) -> int:
        """The number of records that were popped, and neither acked nor requeued."""
        # The JVM counts undelivered records as popped.
        return max(0, self._call(self.port.unacked) - self.delivery.ahead())

    # ---- calls of the queue, and of the thread in the background

    def send_acks(self) -> bool:
        """Sends pending acks; returns whether any was sent."""
        return self.acks.send()

    def release_undelivered(self) -> None:
        """Releases undelivered records to the JVM, as if they had not been popped; raises nothing."""
        if self.delivery.ahead():
            self._without_pops(self._release_undelivered)

    def _without_pops(self, release: Callable[[], None]) -> None:
        """Makes a call that releases records while no pop runs; raises nothing."""
        if self.buffers.is_in_call():
            # A signal handler within a pop: another thread that pauses pops would wait for this one.
            release()
            return
        with suppress(MmapQueueError), Shield(), self.buffers.paused():
            release()

    def _release_undelivered(self) -> None:
        """As `release_undelivered`, while no pop runs: it could deliver a record that the JVM then delivers again."""
        self.delivery.release(self.acks.send)

    def tidy(self) -> Next:
        """As `Upkept.tidy`: sends lingering acks; releases prefetched records when a requeued one is due."""
        try:
            if self.port.ended:
                return Next(None, hold=False)
            sent = self.acks.send_lingering()
            if self.delivery.take_due() and self.delivery.ahead():
                with Shield(), self.buffers.paused():
                    self._release_undelivered()
        except Closed:
            return Next(None, hold=False)  # The close has sent the acks, and released the records.
        except MmapQueueError:
            self.acks.rest()
            raise
        due = self.delivery.seconds_to_due()
        if sent:
            return Next(min(self.acks.linger, inf if due is None else due), hold=True)
        if self.acks.rest():
            return Next(0.0, hold=True)
        return Next(due, hold=False)

    # ---- the end

    @property
    def closed(self) -> bool:
        """Whether the consumer or the queue is closed."""
        return self.port.ended

    def end(self) -> None:
        """Before a close: sends acks, releases undelivered records; raises nothing. Later acks are not coalesced."""
        pending = self.acks.stop()
        # After an error the records are redelivered.
        with suppress(MmapQueueError):
            self.acks.send_taken(pending)
        if self.delivery.held or self.delivery.ahead():
            self._without_pops(self._release_all)

    def _release_all(self) -> None:
        """As `_release_undelivered`; also releases what iterators and workers hold."""
        self.delivery.take_back()
        self._release_undelivered()

    def stop_delivery(self) -> None:
        """Once calls raise Closed: drops prefetched records."""
        self.delivery.forget_ready()

    def leave_thread(self) -> None:
        """After a close: the thread in the background works for this consumer no more."""
        self._upkeep.end(self._ticket)

    def close(self) -> None:
        """Ends this consumer, and closes it in the JVM. Does nothing when repeated, and in a forked child."""
        with Shield():
            if not self.port.usable():
                return
            self.end()
            self.port.closed = True
            self.stop_delivery()
            try:
                self.port.close()
            except Closed:
                pass  # Another thread has closed the queue, and so the consumer.
            finally:
                self.leave_thread()
                self.delivery.discard()


def _end_in_child() -> None:
    """Ends all consumers in a forked child, where pops and acks raise: the connection belongs to the parent."""
    for popper in _live:
        popper.delivery.ready = iter(())
        popper.delivery.discard()  # Suspended iterators deliver nothing more.
        popper.acks.end_in_child()


os.register_at_fork(after_in_child=_end_in_child)
