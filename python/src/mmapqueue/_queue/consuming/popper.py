"""Pops records from the JVM: none is lost, none is delivered twice.

A record is delivered by one store: the one into `PopBuffer.state` right before the return. No call follows it that
could raise. Before that store, the record is in the shared buffer, where the JVM repeats the answer of the last call on
request, or in that state. The next pop takes the record from either. So an interrupted pop (Ctrl-C, an exception from a
signal handler) loses no record, and delivers none twice.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from operator import length_hint
from os import getpid
from time import monotonic
from typing import TypeVar

from mmapqueue._jvm import names
from mmapqueue._jvm.lending import UnreadRecords
from mmapqueue._jvm.shared_buffer import SharedBuffer
from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.consuming.buffers import ThreadBuffers
from mmapqueue._queue.consuming.pop_buffer import Batch, PopBuffer, State, flat
from mmapqueue._queue.consuming.undelivered import NEVER
from mmapqueue._queue.deadline import Deadline
from mmapqueue._values.errors import Closed, Dropped, Empty, MmapQueueError, UnackedLimit
from mmapqueue._values.message import AnyMessage
from mmapqueue._values.origin import Origin

_Result = TypeVar("_Result")

#: Reads the records in a shared buffer.
Read = Callable[[SharedBuffer, Origin], Sequence[AnyMessage]]

#: From this many records on, prefetching uses a large buffer. A prefetch takes what one buffer holds.
_MANY = 256


class Popper(ThreadBuffers):
    """One consumer: pops, and acks as `Acks`. Safe for any number of threads."""

    def pop_into(
        self, own: PopBuffer, most: int, max_bytes: int, deadline: Deadline, read: Read = SharedBuffer.read
    ) -> int:
        """Pops into the thread's buffer; returns the number of records that the buffer then holds.

        Args:
            own: The thread's buffer, from `begin`.
            most: The most records.
            max_bytes: The most bytes of data; a first record is popped whatever its size.
            deadline: The end of the wait for a first record.
            read: Reads the records of one call of the JVM. If it returns anything but a list, the records are still in
                the shared buffer, and no other call follows.
        """
        self.keep_ready()
        if self.pending and (self.undelivered or self.pending.single):
            self.send_acks()
        count, size = self._take_undelivered(own, most, max_bytes) if self.undelivered else (0, 0)
        while count < most and self._may_take_more(size, max_bytes, count):
            if self._paused:
                with Shield():
                    self._keep(own)
                self._begin_after_pause(own)
                return self.pop_into(own, most, max_bytes, deadline, read)
            if not count and (self.undelivered or length_hint(self.ready)):
                # Another thread has prefetched since.
                return self.pop_into(own, most, max_bytes, deadline, read)
            if not count:
                if self._dropped:
                    with suppress(IndexError):  # Another thread has raised the loss.
                        raise self._dropped.popleft()
                if self._visibility:
                    own.lease_end = monotonic() + self._visibility
            buffer, _, chunks = own.state
            budget = min(max_bytes - size, buffer.payload_limit)
            asked = min(most - count, buffer.record_limit)
            batch: Sequence[AnyMessage] = ()
            failure = None
            with Shield():
                try:
                    wait = 0 if count else deadline.call_millis()
                    up_to = self.take_cumulative() if self.pending.up_to else -1
                    if up_to < 0:
                        answer = buffer.pop(buffer.next_call(), self.number, asked, budget, wait)
                    else:
                        answer = buffer.ack_and_pop(buffer.next_call(), self.number, up_to, asked, budget, wait)
                except MmapQueueError as error:
                    failure = self._check_answered(error)
                else:
                    if answer > 0:
                        batch = read(buffer, self.origin)
                        last = batch.last_offset() if isinstance(batch, UnreadRecords) else batch[-1].offset
                        self._highest = max(self._highest, last)
                own.state = (buffer, buffer.last_call, (*chunks, batch) if batch else chunks)
            if failure is not None and not count and not self._may_retry(failure, deadline):
                raise failure
            if not batch:
                # The records are delivered first: the next call meets the failure again.
                if count or (deadline.has_passed() and not self._dropped):
                    break
                continue
            count += len(batch)
            if not isinstance(batch, list):
                break
            if count < most:
                taken = sum(len(message.data) for message in batch)
                size += taken
                # The JVM stops early when records or room run out. Here any record would have fitted.
                if len(batch) < asked and taken + self.handle.max_event_size <= budget:
                    break
                self._grow(own)
        return count

    def _may_take_more(self, size: int, max_bytes: int, count: int) -> bool:
        """Whether any further record fits. A first record is delivered whatever its size."""
        return not count or max_bytes - size >= self.handle.max_event_size

    def _take_undelivered(self, own: PopBuffer, most: int, max_bytes: int) -> tuple[int, int]:
        """Takes undelivered records into the thread's buffer; returns the number of records, and their bytes."""
        with Shield():
            taken, size, lease_end = self.undelivered.take(most, max_bytes)
            if taken:
                buffer, answered, chunks = own.state
                own.state = (buffer, answered, (*chunks, taken))
                own.lease_end = min(own.lease_end, lease_end)
        return len(taken), size

    def _may_retry(self, error: MmapQueueError, deadline: Deadline) -> bool:
        """Whether to pop again: a loss is raised later, after the records; other tasks may ack before the deadline."""
        return isinstance(error, Dropped) or (isinstance(error, UnackedLimit) and not deadline.has_passed())

    def pop_with(self, pop: Callable[[PopBuffer], _Result]) -> tuple[PopBuffer, State, _Result]:
        """Makes a result of popped records. The caller delivers: `own.state = empty`, then `own.busy = False`.

        After an error, the popped records are kept for the next pop of any thread.

        Args:
            pop: Fills the buffer, by `pop_into`, and makes the result.

        Returns:
            The thread's buffer; its state without the records; the result.
        """
        own = self.begin()
        try:
            result = pop(own)
            buffer, answered, _ = own.state
        except BaseException:
            self._abort(own)
            raise
        return own, (buffer, answered, ()), result

    def begin_batch(self, most: int, max_bytes: int, deadline: Deadline) -> tuple[PopBuffer, State, Batch]:
        """Pops records, as `pop_with`."""

        def pop(own: PopBuffer) -> Batch:
            self.pop_into(own, most, max_bytes, deadline)
            return Batch(flat(own.state[2]), own.lease_end, self.undelivered)

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
        most = self.pace.next()
        self.pace.popped(1)
        if most <= 1 or self.undelivered or any(each.busy for each in self._live_buffers() if each is not own):
            return False
        if most > _MANY:
            self._grow(own)
        highest = self._highest
        try:
            count = self.pop_into(own, most, own.state[0].payload_limit, Deadline(False, None))
        except UnackedLimit:
            return False
        self.pace.popped(count)
        if count > 1:
            with Shield():
                buffer, answered, chunks = own.state
                first, *rest = flat(chunks)
                own.state = (buffer, answered, ([first],))
                self.publish(rest, first.offset > highest and rest[-1].offset - first.offset == len(rest))
        return count > 0

    def peek(self) -> AnyMessage | None:
        """As `Consumer.peek`."""
        own = self.begin()
        try:
            self.send_acks()
            message = self.next_ready() or (self.undelivered.first() if self.undelivered else None)
            if message is None:
                with Shield():
                    buffer = own.state[0]
                    message = buffer.read(self.origin)[0] if buffer.peek(self.number) > 0 else None
            # With another origin than popped records, since the record was not delivered.
            return message and message._replace(origin=self.new_origin())
        except Closed:
            raise self.closed_error() from None
        finally:
            own.busy = False

    def is_stale(self, batch: Batch) -> bool:
        """Whether the rest of a batch must not be delivered: the consumer was moved, or the leases have ended."""
        ended = batch.lease_end is not NEVER and batch.lease_end <= monotonic()
        return ended or self.undelivered is not batch.undelivered

    def close(self) -> None:
        """Ends this consumer, and closes it in the JVM."""
        if self.handle.pid != getpid():
            return
        with Shield():
            if self.closed or self.handle.closed:
                return
            self.end()
            self.closed = True
            # Another thread may have prefetched just now.
            self.forget_ready()
            self._bell.ring()
            try:
                self.handle.call("closeConsumer", self.number)
            except Closed:
                pass  # Another thread has closed the queue, and so the consumer.
            finally:
                self.handle.leftovers.pop(self.number, None)
                self.discard_undelivered()
