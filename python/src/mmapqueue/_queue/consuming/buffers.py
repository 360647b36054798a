"""The shared buffers of a consumer's threads, and the records that interrupted calls leave in them.

`popper.py` explains why none of them is lost.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from os import getpid
from time import monotonic, sleep
from weakref import WeakValueDictionary

from mmapqueue._jvm.lock_holders import retry_while_ending
from mmapqueue._jvm.shared_buffer import SMALL_BYTES
from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.consuming.pace import Ahead
from mmapqueue._queue.consuming.pop_buffer import PopBuffer, State, flat
from mmapqueue._queue.consuming.prefetch import Prefetch
from mmapqueue._queue.consuming.undelivered import NEVER, Undelivered
from mmapqueue._queue.handle import QueueHandle, living
from mmapqueue._values.errors import Closed, Dropped, MmapQueueError

#: The longest wait for a running call in seconds, after which the JVM counts as stopped.
_MAX_CALL_SECONDS = 30.0


class ThreadBuffers(Prefetch):
    """A consumer with a buffer for each thread that pops. Safe for any number of threads."""

    def __init__(self, handle: QueueHandle, name: str, start: str, ahead: Ahead) -> None:
        super().__init__(handle, name, ahead)
        self.number = retry_while_ending(lambda: handle.call("consumer", name, start), handle.lock_timeout)
        handle.releasables[id(self)] = self
        handle.leftovers[self.number] = self.leftovers
        self._visibility = handle.config["visibility_timeout"] / 1000
        self._local = threading.local()
        self._buffers: WeakValueDictionary[int, PopBuffer] = WeakValueDictionary()
        # Unfinished calls of threads that have ended.
        self._orphans = self.leftovers.orphans
        # The lock is held while the consumer moves. Pops read `_paused` without the lock.
        self._pause_lock = threading.Lock()
        self._paused = False

    # ---- one call

    def begin(self) -> PopBuffer:
        """Returns this thread's buffer, empty and marked busy."""
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

    def _abort(self, own: PopBuffer) -> None:
        """After an error: keeps the records that this call has popped for the next pop of any thread."""
        buffer, answered, _ = own.state
        try:
            if buffer.last_call == answered:
                with Shield():
                    self._keep(own)
        finally:
            own.busy = False

    def _check_answered(self, error: MmapQueueError) -> MmapQueueError:
        """The error of a pop that popped nothing; raises it if the JVM has not answered, as it may have popped then."""
        if isinstance(error, Closed):
            return self.closed_error()
        if error.java_class is None:
            raise error
        if isinstance(error, Dropped):
            # The JVM reports a loss once.
            self._dropped.append(error)
            self._forget_dropped(error)
        return error

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
        """Empties a thread's buffer, so that the next pop delivers the records."""
        buffer = own.state[0]
        self._put_undelivered(own.state, own.lease_end)
        own.state = (buffer, buffer.last_call, ())

    def _keep_orphans(self) -> None:
        while self._orphans:
            orphan = self._orphans[-1]
            # The time of the pop is unknown, so their leases count as ended.
            self._put_undelivered(orphan, monotonic() if self._visibility else NEVER)
            self._orphans.remove(orphan)
            self.handle.pool.put(orphan[0])

    def _put_undelivered(self, state: State, lease_end: float) -> None:
        """Keeps the records of an interrupted call for the next pop."""
        buffer, answered, chunks = state
        if buffer.last_call != answered:
            # The JVM repeats the answer to a number that it knows. If the call never arrived, this pops one record.
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
        """Stops pops within the block, and moves all undelivered records to `undelivered`. For use in a Shield."""
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
        """Drops records that were popped before the consumer moved, and makes batches of that time stale."""
        self.undelivered = self.leftovers.undelivered = Undelivered()
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
        return living(self._buffers)
