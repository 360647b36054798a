"""The shared buffers of a consumer's threads, and the records that interrupted calls leave in them.

`popper.py` explains why none of them is lost.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from weakref import WeakValueDictionary

from mmapqueue._jvm.shared_buffer import SMALL_BYTES, SharedBuffer
from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.consuming.delivery import NEVER, Delivery, State, flat
from mmapqueue._queue.consuming.port import ConsumerPort
from mmapqueue._values.errors import MmapQueueError
from mmapqueue._values.weak import living

#: The maximum wait for a running call in seconds, after which the JVM counts as stopped.
_MAX_CALL_SECONDS = 30.0
#: The time between two looks at a prefetch of another thread, in seconds: about that of one call of the JVM.
_PREFETCH_SECONDS = 0.0001


class PopBuffer:
    """The shared buffer with which one thread pops.

    Attributes:
        state: The shared buffer; the number of its last call that was answered; records read and not delivered.
        busy: Whether a call runs.
        lease_end: The end of the first lease of these records, by `time.monotonic`.
    """

    __slots__ = ("__weakref__", "_orphans", "_port", "busy", "lease_end", "state")

    def __init__(self, port: ConsumerPort, buffer: SharedBuffer, orphans: list[State]) -> None:
        self.state: State = (buffer, buffer.last_call, ())
        self.busy = False
        self.lease_end = NEVER
        self._port = port
        self._orphans = orphans
        port.track(self)

    def free(self) -> None:
        self.state[0].memory.close()

    def __del__(self) -> None:
        """Releases the buffer when the thread has ended, perhaps within a call. Finalizers take no lock."""
        buffer, answered, chunks = self.state
        if chunks or buffer.last_call != answered:
            self._orphans.append(self.state)
        else:
            self._port.put(buffer)


class ThreadBuffers:
    """A buffer for each thread that pops as one consumer. Safe for any number of threads.

    Each pop begins with `begin`, and ends with a store into `PopBuffer.state`, or with `abort`. What it finds in the
    buffers from interrupted calls goes to the delivery.
    """

    def __init__(self, port: ConsumerPort, delivery: Delivery) -> None:
        self._port = port
        self._delivery = delivery
        self._local = threading.local()
        self._buffers: WeakValueDictionary[int, PopBuffer] = WeakValueDictionary()
        # Unfinished calls of threads that have ended.
        self._orphans = delivery.leftovers.orphans
        # The lock is held while the consumer moves. Pops read `_paused` without the lock.
        self._pause_lock = threading.Lock()
        self._paused = False
        # The buffer of a thread that prefetches; other pops wait for it.
        self._ahead: PopBuffer | None = None

    # ---- one call

    def begin(self) -> PopBuffer:
        """Returns this thread's buffer, empty and marked busy."""
        own: PopBuffer
        try:
            own = self._local.own
        except AttributeError:
            self._port.check()
            with Shield():
                own = self._local.own = PopBuffer(self._port, self._port.small_buffer(), self._orphans)
                self._buffers[id(own)] = own
        try:
            own.busy = True
            if self._paused or self._ahead is not None or not self._port.usable():
                self.begin_later(own)
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

    def must_pause(self, own: PopBuffer) -> bool:
        """Within a pop: whether the consumer is about to move, and waits for this pop. A prefetch waits for nothing."""
        return self._paused and self._ahead is not own

    def begin_later(self, own: PopBuffer) -> None:
        """For a pop without records: waits until the consumer has moved and no other thread prefetches; as `check`."""
        while True:
            own.busy = False
            if self._ahead is own:
                self._ahead = None  # An interrupted prefetch has left it.
            self._port.check()
            with self._pause_lock:
                pass
            if self._another_is_ahead(own):
                sleep(_PREFETCH_SECONDS)
            own.busy = True
            if self._port.usable() and not self._paused and not self._another_is_ahead(own):
                return

    def is_in_call(self) -> bool:
        """Whether this thread pops, and a signal handler has interrupted it; or has interrupted its last pop."""
        own: PopBuffer | None = getattr(self._local, "own", None)
        return own is not None and own.busy

    def begin_ahead(self, own: PopBuffer) -> bool:
        """Within a pop: lets the pops of other threads wait until `end_ahead`; returns False if one of them runs.

        Otherwise they could deliver later records before the prefetched ones, and a cumulative ack of these would ack
        records that no caller has received.
        """
        # `busy` was set before. So of two threads at most one finds the other one idle, and this one sees `_ahead`.
        self._ahead = own
        if any(each.busy for each in self._live() if each is not own):
            self._ahead = None
            return False
        return True

    def end_ahead(self) -> None:
        """Lets the pops of other threads continue."""
        self._ahead = None

    def _another_is_ahead(self, own: PopBuffer) -> bool:
        ahead = self._ahead
        return ahead is not None and ahead is not own and ahead.busy

    def abort(self, own: PopBuffer) -> None:
        """After an error: keeps the records that this call has popped for the next pop of any thread."""
        buffer, answered, _ = own.state
        try:
            if buffer.last_call == answered:
                with Shield():
                    self._keep(own)
        finally:
            own.busy = False

    def grow(self, own: PopBuffer) -> None:
        """Exchanges the small shared buffer for a large one, if one is left."""
        buffer, answered, chunks = own.state
        if buffer.size == SMALL_BYTES and buffer.last_call == answered:
            large = self._port.large_buffer()
            if large is not None:
                own.state = (large, large.last_call, chunks)
                self._port.put(buffer)

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
            self._put_undelivered(orphan, monotonic() if self._port.visibility else NEVER)
            self._orphans.remove(orphan)
            self._port.put(orphan[0])

    def _put_undelivered(self, state: State, lease_end: float) -> None:
        """Keeps the records of an interrupted call for the next pop."""
        buffer, answered, chunks = state
        if buffer.last_call != answered:
            try:
                if self._port.repeat(buffer) > 0:
                    chunks = (*chunks, buffer.read(self._delivery.origin))
            except MmapQueueError as error:
                self._delivery.note_failure(error)
        if chunks:
            self._delivery.undelivered.put_first(flat(chunks), lease_end)

    # ---- moving the consumer

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stops pops within the block, and moves all records that callers did not receive to `undelivered`.

        For use in a Shield.
        """
        with self._pause_lock:
            try:
                self._paused = True
                self._await_idle()
                self._keep_all()
                self._delivery.keep_ready()
                yield
            finally:
                self._paused = False

    def _keep_all(self) -> None:
        for own in self._live():
            # Prevents `close` from freeing the memory.
            own.busy = True
            try:
                self._port.check()
                self._keep(own)
            finally:
                own.busy = False
        self._keep_orphans()

    def _await_idle(self) -> None:
        deadline = monotonic() + _MAX_CALL_SECONDS
        # This thread's buffer may still be marked busy: its last call was interrupted.
        own = getattr(self._local, "own", None)
        while any(buffer.busy for buffer in self._live() if buffer is not own):
            if monotonic() > deadline:
                raise MmapQueueError(
                    f"a call of consumer {self._port.name} has not come back for {_MAX_CALL_SECONDS} s"
                )
            sleep(0.001)

    def _live(self) -> list[PopBuffer]:
        return living(self._buffers)
