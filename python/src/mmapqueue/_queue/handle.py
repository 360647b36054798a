"""State that a queue and its consumers share: the handle in the JVM, the shared buffers, and the lifetime."""

import os
from array import array
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakValueDictionary

from py4j.java_gateway import JavaObject

from mmapqueue._jvm import finalizers, names
from mmapqueue._jvm.calls import Call, Lifetime
from mmapqueue._jvm.shared_buffer import BufferPool
from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.consuming.delivery import Leftovers, release
from mmapqueue._queue.consuming.port import ThreadBuffer
from mmapqueue._queue.deadline import SLICE_MILLIS
from mmapqueue._queue.options import effective
from mmapqueue._queue.room import Room
from mmapqueue._values.arguments import as_bytes
from mmapqueue._values.configuration import EffectiveConfiguration
from mmapqueue._values.errors import MmapQueueError
from mmapqueue._values.origin import OpenOrigin
from mmapqueue._values.serializers import Codec
from mmapqueue._values.weak import living

if TYPE_CHECKING:
    from mmapqueue._queue.threads import Threads

_getpid = os.getpid


class Releasable(Protocol):
    """A consumer with unsent acks and undelivered records."""

    def send_acks(self) -> bool:
        """Sends the acks; returns whether it had any."""

    def release_undelivered(self) -> None:
        """Releases the records; raises nothing."""

    def end(self) -> None:
        """Sends the acks, and releases the records; raises nothing."""

    def stop_delivery(self) -> None:
        """Once calls raise Closed: drops prefetched records, so that none is delivered."""

    def leave_thread(self) -> None:
        """After the close: ends the thread in the background, unless it works for another consumer."""


class Stoppable(Protocol):
    """The thread of a batching producer."""

    def stop_with_queue(self) -> None:
        """Pushes the records for which the queue has room, and ends; raises nothing."""


class _CollectedHandle:
    """Closes a handle in the JVM after it was collected. Refers to no object that keeps it from being collected.

    The pool stays until then: it keeps the shared buffers, which may hold records of interrupted calls.
    """

    def __init__(self, close: Call, release: Call, pool: BufferPool, leftovers: dict[int, Leftovers]) -> None:
        self._close = close
        self._release = release
        self._pool = pool
        self._leftovers = leftovers

    def __call__(self) -> None:
        for consumer, leftovers in list(self._leftovers.items()):
            release(partial(self._release_packed, consumer), leftovers.take(consumer))
        self._close()

    def _release_packed(self, consumer: int, offsets: list[int]) -> None:
        self._release(consumer, array("q", offsets).tobytes())


class QueueHandle:
    """An open queue in the JVM. Safe for any number of threads.

    Attributes:
        path: The directory, absolute.
        pid: The process that opened it.
        lifetime: Whether the queue is open.
        origin: The origin of messages that are read by offset.
        config: The effective configuration.
        serializer: Converts objects to records and back; None for bytes.
        lock_timeout: The maximum wait for a lock holder that is ending, in seconds.
        pool: The shared buffers that no thread keeps.
        thread_buffers: The buffers that threads keep, by identity.
        producers: The batching producers. They end before the queue closes.
        releasables: The consumers, by identity. They end before the queue closes.
        leftovers: The records of each consumer that no caller has received, by the consumer's number.
        room: Reports long waits for room.
    """

    def __init__(
        self, java_handle: JavaObject, path: str, lock_timeout: float, serializer: Codec | None = None
    ) -> None:
        self.path = path
        self.serializer = serializer
        self.lock_timeout = lock_timeout
        self.pid = _getpid()
        self.lifetime = Lifetime(path)
        # Resolved: all paths of the same directory are the same queue.
        self.origin = OpenOrigin.of(os.path.realpath(path), None, serializer, None)
        self._calls = {
            name: Call(java_handle, name, parameters, self.lifetime) for name, parameters in names.HANDLE_CALLS.items()
        }
        # Reports its own failure, since it runs after the lifetime has ended.
        self._close = Call(java_handle, "close", names.HANDLE_CALLS["close"])
        self.pool = BufferPool(java_handle, Path(path), self.lifetime)
        self.leftovers: dict[int, Leftovers] = {}
        self.room = Room(self._calls["endOffset"], self._calls["noRoom"])
        self.thread_buffers: WeakValueDictionary[int, ThreadBuffer] = WeakValueDictionary()
        self.producers: set[Stoppable] = set()
        self.releasables: WeakValueDictionary[int, Releasable] = WeakValueDictionary()
        # Another thread may end the program before `track` has returned.
        self._closed: Callable[[], None] = lambda: None
        close = _CollectedHandle(self._close, self._calls["release"], self.pool, self.leftovers)
        self._closed = finalizers.track(self, close, f"mmapqueue.Queue({path!r})")
        self._threads: Threads | None = None
        self.config: EffectiveConfiguration = effective(self._calls["config"]())
        self.max_event_size = self.config["max_event_size"]
        self.capacity = self.config["queue_capacity_segments"] * self.config["segment_size"]

    @property
    def closed(self) -> bool:
        """Whether this process has closed the queue."""
        return self.lifetime.closed

    @property
    def threads(self) -> "Threads":
        """The threads of calls under asyncio, created at the first such call."""
        if self._threads is None:
            # Imported on first use: asyncio is slow to import.
            from mmapqueue._queue.threads import Threads

            self._threads = Threads(self.check)
        return self._threads

    def check(self) -> None:
        """Raises the error of a closed queue, or of a forked process."""
        if self.pid != _getpid():
            raise MmapQueueError(
                f"the queue in {self.path} was opened by process {self.pid}, and this is process {_getpid()}, forked "
                "from it: the connection to the JVM is the parent's; open the queue in the process that uses it"
            )
        if self.lifetime.closed:
            raise self.lifetime.closed_error()

    def call(self, name: str, *arguments: int | str | bytes) -> Any:
        """Calls a method of the handle, one of `names.HANDLE_CALLS`, after all pending acks were sent."""
        self.check()
        self.send_acks()
        return self._calls[name](*arguments)

    def call_only(self, name: str, *arguments: int | str | bytes) -> Any:
        """Calls a method of the handle, without sending acks before."""
        self.check()
        return self._calls[name](*arguments)

    def send_acks(self) -> bool:
        """Sends the acks of all consumers; returns whether there were any."""
        sent = [consumer.send_acks() for consumer in living(self.releasables)]
        return any(sent)

    def record(self, item: object) -> bytes:
        """The bytes of a record: what the serializer makes of an object; without one, the bytes-like object itself.

        Raises:
            TypeError: The item is not bytes-like.
        """
        if self.serializer is not None:
            return self.serializer.dumps(item)
        return item if type(item) is bytes else as_bytes(item)

    def records(self, items: Iterable[Any]) -> Iterable[Any]:
        """The records of items, converted one by one as they are taken; without a serializer, the items."""
        return items if self.serializer is None else map(self.serializer.dumps, items)

    def release_undelivered(self) -> None:
        """Releases the records that consumers have popped ahead, so that the JVM counts them as not popped."""
        with Shield():
            for consumer in living(self.releasables):
                consumer.release_undelivered()

    def close(self) -> None:
        """Closes the handle. Does nothing when repeated, and in a forked child."""
        if self.pid != _getpid():
            return
        with Shield():
            if self.closed:
                return
            for producer in list(self.producers):
                producer.stop_with_queue()
            for consumer in living(self.releasables):
                consumer.end()
            self.lifetime.closed = True
            for producer in list(self.producers):
                producer.stop_with_queue()  # Made since.
            for consumer in living(self.releasables):
                consumer.stop_delivery()
            try:
                self._close.within()
            finally:
                self._closed()
                if self._threads is not None:
                    self._threads.close()
                self.pool.close()
                for buffer in living(self.thread_buffers):
                    if not buffer.busy:
                        buffer.free()
                for consumer in living(self.releasables):
                    consumer.leave_thread()

    def close_at_exit(self) -> None:
        """Closes the handle, and waits for the answers of the calls that this wakes, since the JVM ends next."""
        self.close()
        deadline = monotonic() + 2 * SLICE_MILLIS / 1000
        while monotonic() < deadline and any(buffer.busy for buffer in living(self.thread_buffers)):
            sleep(0.005)
