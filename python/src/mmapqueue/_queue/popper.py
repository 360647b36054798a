"""Pops records from the JVM: none is lost, none is delivered twice.

One store delivers a record: the one into `PopBuffer.state` right before the return. No call follows that could raise.
Before that store, the record is in the shared buffer, where the JVM repeats the answer of the last call on request, or
in that state. The next pop takes it from either. So an interrupted pop (Ctrl-C, an exception from a signal handler)
loses no record and delivers none twice.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from operator import length_hint
from os import getpid
from time import monotonic, sleep
from weakref import WeakValueDictionary

from mmapqueue._jvm import names
from mmapqueue._jvm.lending import UnreadRecords
from mmapqueue._jvm.lock_holders import retry_while_ending
from mmapqueue._jvm.shared_buffer import SMALL_BYTES, SharedBuffer
from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.deadline import Deadline
from mmapqueue._queue.handle import QueueHandle
from mmapqueue._queue.pace import Ahead
from mmapqueue._queue.pop_buffer import Batch, PopBuffer, State, flat
from mmapqueue._queue.prefetch import Prefetch
from mmapqueue._queue.undelivered import NEVER, Undelivered
from mmapqueue._values.errors import Closed, Dropped, Empty, MmapQueueError, UnackedLimit
from mmapqueue._values.message import AnyMessage
from mmapqueue._values.origin import Origin

#: Reads the records in a shared buffer.
Read = Callable[[SharedBuffer, Origin], Sequence[AnyMessage]]

#: A call takes a fraction of a second. After this time the JVM counts as stopped.
_MAX_CALL_SECONDS = 30.0
#: From this many records on, prefetching uses a large buffer. A prefetch takes what one buffer holds.
_MANY = 256


class Popper(Prefetch):
    """One consumer: pops, and acks as `Acks`. Safe for any number of threads."""

    def __init__(self, handle: QueueHandle, name: str, start: str, ahead: Ahead) -> None:
        super().__init__(handle, name, ahead)
        self.number = retry_while_ending(lambda: handle.call("consumer", name, start), handle.lock_timeout)
        handle.releasables.add(self)
        self._visibility = handle.config["visibility_timeout"] / 1000
        self._local = threading.local()
        self._buffers: WeakValueDictionary[int, PopBuffer] = WeakValueDictionary()
        # Unfinished calls of threads that have ended.
        self._orphans: list[State] = []
        # The lock is held while the consumer moves. Pops read `_paused` without a lock.
        self._pause_lock = threading.Lock()
        self._paused = False

    # ---- one call

    def begin(self) -> PopBuffer:
        """This thread's buffer, empty and marked busy."""
        handle = self.handle
        own: PopBuffer
        try:
            own = self._local.own
        except AttributeError:
            self.check()
            with Shield():
                own = self._local.own = PopBuffer(handle, handle.pool.get_small(), self._orphans)
                self._buffers[id(own)] = own
        try:
            own.busy = True
            if handle.closed or self.closed or self._paused or handle.pid != getpid():
                self._begin_after_pause(own)
            buffer, answered, chunks = own.state
            if chunks or buffer.last_call != answered:
                with Shield():
                    self._keep(own)
            if self._orphans:
                with Shield():
                    self._keep_orphans()
        except BaseException:
            own.busy = False
            raise
        own.lease_end = NEVER
        return own

    def _begin_after_pause(self, own: PopBuffer) -> None:
        """Waits until the consumer has moved; raises as `check`."""
        while True:
            own.busy = False
            self.check()
            with self._pause_lock:
                pass
            own.busy = True
            if not (self.handle.closed or self.closed or self._paused):
                return

    def pop_into(
        self, own: PopBuffer, most: int, max_bytes: int, deadline: Deadline, read: Read = SharedBuffer.read
    ) -> int:
        """Pops into the thread's buffer; returns how many records that holds.

        Args:
            own: The thread's buffer, from `begin`.
            most: The most records.
            max_bytes: The most bytes of data; a first record is popped whatever its size.
            deadline: The end of the wait for a first record.
            read: Reads the records of one call of the JVM. Other results than a list are still in the shared buffer: no
                other call follows then.
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
                # Another thread has popped ahead since.
                return self.pop_into(own, most, max_bytes, deadline, read)
            if not count:
                if self._dropped:
                    with suppress(IndexError):  # Another thread has raised it.
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
                # Records come first: the next call meets the failure again.
                if count or (deadline.has_passed() and not self._dropped):
                    break
                continue
            count += len(batch)
            if not isinstance(batch, list):
                break
            if count < most:
                taken = sum(len(message.data) for message in batch)
                size += taken
                # The JVM stops early for want of records, or of room. Here any record would have fitted.
                if len(batch) < asked and taken + self.handle.max_event_size <= budget:
                    break
                self._grow(own)
        return count

    def _check_answered(self, error: MmapQueueError) -> MmapQueueError:
        """The error of a pop that popped nothing; raises it if the JVM has not answered: it may have popped."""
        if isinstance(error, Closed):
            return self.closed_error()
        if error.java_class is None:
            raise error
        if isinstance(error, Dropped):
            # The JVM reports a loss once.
            self._dropped.append(error)
            self._forget_dropped(error)
        return error

    def _may_retry(self, error: MmapQueueError, deadline: Deadline) -> bool:
        """Whether to pop again: a loss is raised later, from a queue; other threads may ack before the deadline."""
        return isinstance(error, Dropped) or (isinstance(error, UnackedLimit) and not deadline.has_passed())

    def abort(self, own: PopBuffer) -> None:
        """After an error: keeps what this call has popped for the next pop of any thread."""
        buffer, answered, _ = own.state
        try:
            if buffer.last_call == answered:
                with Shield():
                    self._keep(own)
        finally:
            own.busy = False

    def pop_one(self, deadline: Deadline) -> AnyMessage:
        """As `Consumer.pop`, where nothing is prefetched; prefetches."""
        own = self.begin()
        try:
            if not (self._pop_ahead(own) or self.pop_into(own, 1, names.INT_MAX, deadline)):
                raise Empty(f"there is nothing to pop for consumer {self.name}")
            buffer, answered, chunks = own.state
            message = chunks[0][0]
        except BaseException:
            self.abort(own)
            raise
        own.state = (buffer, answered, ())
        own.busy = False
        return message

    def _pop_ahead(self, own: PopBuffer) -> bool:
        """Pops several records if that needs no wait: the first one stays in the buffer, the others become ready.

        Does nothing while other threads pop: each of them gets a record as it comes.
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

    def pop_batch(self, most: int, max_bytes: int, deadline: Deadline) -> Batch:
        """Pops records. No signal handler may interrupt the caller: not the main thread, or within a Shield."""
        own = self.begin()
        try:
            self.pop_into(own, most, max_bytes, deadline)
            buffer, answered, chunks = own.state
            batch = Batch(flat(chunks), own.lease_end, self.undelivered)
        except BaseException:
            self.abort(own)
            raise
        own.state = (buffer, answered, ())
        own.busy = False
        return batch

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
            # Not the origin of popped records: it was not delivered.
            return message and message._replace(origin=self.new_origin())
        except Closed:
            raise self.closed_error() from None
        finally:
            own.busy = False

    def is_stale(self, batch: Batch) -> bool:
        """Whether the rest must not be delivered: the consumer was moved, or the leases have ended."""
        ended = batch.lease_end is not NEVER and batch.lease_end <= monotonic()
        return ended or self.undelivered is not batch.undelivered

    def _may_take_more(self, size: int, max_bytes: int, count: int) -> bool:
        """Whether any record still fits. A first record is delivered whatever its size."""
        return not count or max_bytes - size >= self.handle.max_event_size

    def _take_undelivered(self, own: PopBuffer, most: int, max_bytes: int) -> tuple[int, int]:
        """Takes undelivered records into the thread's buffer; returns how many records and bytes."""
        with Shield():
            taken, size, lease_end = self.undelivered.take(most, max_bytes)
            if taken:
                buffer, answered, chunks = own.state
                own.state = (buffer, answered, (*chunks, taken))
                own.lease_end = min(own.lease_end, lease_end)
        return len(taken), size

    def _grow(self, own: PopBuffer) -> None:
        """Exchanges the small shared buffer for a large one, if the pool has one."""
        buffer, answered, chunks = own.state
        if buffer.size == SMALL_BYTES and buffer.last_call == answered:
            large = self.handle.pool.get_large()
            if large is not None:
                own.state = (large, large.last_call, chunks)
                self.handle.pool.put(buffer)

    # ---- interrupted calls; all callers hold a Shield

    def _keep(self, own: PopBuffer) -> None:
        """Empties a thread's buffer: the next pop delivers its records."""
        buffer = own.state[0]
        self._put_undelivered(own.state, own.lease_end)
        own.state = (buffer, buffer.last_call, ())

    def _keep_orphans(self) -> None:
        while self._orphans:
            orphan = self._orphans[-1]
            # The time of the pop is unknown.
            self._put_undelivered(orphan, monotonic() if self._visibility else NEVER)
            self._orphans.remove(orphan)
            self.handle.pool.put(orphan[0])

    def _put_undelivered(self, state: State, lease_end: float) -> None:
        """Keeps the records of an interrupted call for the next pop."""
        buffer, answered, chunks = state
        if buffer.last_call != answered:
            # The JVM repeats the answer of a number that it knows. If the call never arrived, this pops one record.
            try:
                if buffer.pop(buffer.last_call, self.number, 1, 1, 0) > 0:
                    chunks = (*chunks, buffer.read(self.origin))
            except MmapQueueError as error:
                self._check_answered(error)
        if chunks:
            self.undelivered.put_first(flat(chunks), lease_end)

    # ---- moving the consumer

    @contextmanager
    def paused(self) -> Iterator[None]:
        """No thread pops within, and all that was popped and not delivered is in `undelivered`. For use in a Shield."""
        with self._pause_lock:
            try:
                self._paused = True
                self._await_idle()
                self._keep_all()
                self.keep_ready()
                yield
            finally:
                self._paused = False

    def _keep_all(self) -> None:
        for own in self._live_buffers():
            # Prevents `close` from freeing the memory.
            own.busy = True
            try:
                self.handle.check()
                self._keep(own)
            finally:
                own.busy = False
        self._keep_orphans()

    def discard_undelivered(self) -> None:
        """Drops what was popped before the consumer moved, and makes batches of that time stale."""
        self.undelivered = Undelivered()
        self._dropped.clear()

    def _await_idle(self) -> None:
        deadline = monotonic() + _MAX_CALL_SECONDS
        # This thread's buffer may still be marked busy: its last call was interrupted.
        own = getattr(self._local, "own", None)
        while any(buffer.busy for buffer in self._live_buffers() if buffer is not own):
            if monotonic() > deadline:
                raise MmapQueueError(f"a call of consumer {self.name} has not come back for {_MAX_CALL_SECONDS} s")
            sleep(0.001)

    def _live_buffers(self) -> list[PopBuffer]:
        buffers = [reference() for reference in self._buffers.valuerefs()]
        return [buffer for buffer in buffers if buffer is not None]

    def close(self) -> None:
        """Ends, and closes the consumer in the JVM."""
        if self.handle.pid != getpid():
            return
        with Shield():
            if self.closed or self.handle.closed:
                return
            self.end()
            self.closed = True
            # Another thread may just have prefetched.
            self.forget_ready()
            self._bell.ring()
            try:
                self.handle.call("closeConsumer", self.number)
            except Closed:
                pass  # Another thread closed the queue, and so the consumer.
            finally:
                self.discard_undelivered()
