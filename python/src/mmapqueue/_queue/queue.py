"""The queue."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from types import FunctionType, TracebackType

from mmapqueue._jvm import bridge, names
from mmapqueue._jvm.lock_holders import retry_while_ending
from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.arrow_access import ArrowAccess
from mmapqueue._queue.consumer import Consumer
from mmapqueue._queue.default_consumer import DefaultConsumer
from mmapqueue._queue.handle import QueueHandle
from mmapqueue._queue.idempotent import IdempotentProducers
from mmapqueue._queue.options import options
from mmapqueue._queue.producer import Producer
from mmapqueue._queue.random_access import RandomAccess
from mmapqueue._queue.stats import ConsumerStats, Stats, parsed, parsed_consumers
from mmapqueue._values.annotations import Self, SparkContext, SparkSession, Unpack
from mmapqueue._values.arguments import absolute, check_seconds
from mmapqueue._values.configuration import Configuration
from mmapqueue._values.offsets import STARTS, SeekTarget, target_text


class Queue(IdempotentProducers, RandomAccess, ArrowAccess, DefaultConsumer):
    """A big, fast, persistent queue of bytes in a directory.

    After `push` returns, the record survives a kill of this process and of the JVM. After `flush` or
    `push(…, sync=True)` returns, or flush_period has passed, it also survives a loss of power. Records that were popped
    and not acked are redelivered after the next open.

        with Queue("events") as queue:
            queue.push(b"one")
            message = queue.pop(timeout=1.0)
            queue.ack(message)

    Safe for any number of threads. A context manager that closes itself. It is a connection to a JVM, so it cannot be
    pickled, nor used in a forked child.

    Attributes:
        path: The directory, absolute.
        config: The effective configuration, key by key, as text.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        spark: SparkSession | SparkContext | None = None,
        consumer: str = "default",
        lock_timeout: float = 5.0,
        **configuration: Unpack[Configuration],
    ) -> None:
        """Opens the queue in a directory; makes a new one where none exists, recovers one that was not closed.

        One directory opened twice in one JVM gives two handles of one queue. The last handle closes the queue.

        Args:
            path: The directory, created if missing; "~" is the home of this process's user.
            spark: A SparkSession or SparkContext with the jar (see `configure`), to use its JVM; None to use a JVM that
                this process starts.
            consumer: The consumer that `pop`, `ack` and all other reading of this object use. It is created if it does
                not exist, begins with the oldest retained record, and belongs to this process: at once with any name
                but "default"; the default one from the first call that pops, iterates or seeks.
            lock_timeout: How long to wait for a lock, in seconds, while its holder is ending or in another container. A
                JVM outlives its killed Python process for a moment. Locked is raised at once for any other holder.
            **configuration: The keys of `Configuration`. Sizes are bytes, or texts such as "128k" or "16m".
                `capacity`, in bytes, replaces queue_capacity_segments; it is rounded up to whole segments.

        Raises:
            ConfigError: A value is out of range, or not the one that the queue was created with.
            Locked: Another process writes this queue, or reads as this consumer, and is not ending, or did not end in
                time.
            Corrupt: The queue is damaged. It is left as it is.
            NotADirectory: The path is that of a file, or leads through one.
            NotFound: With read_only: the directory has no queue. Else: the directory cannot be created.
            NotPermitted: The JVM's user may not read or write the files, or may not create the directory.
            JarNotFound: The JVM does not have the jar, or has another version of it.
            MmapQueueError: No JVM is available, or a file cannot be opened.
        """
        self.path = absolute("path", path)
        keys = options(self.path, configuration)
        check_seconds("lock_timeout", lock_timeout)

        def open_now() -> QueueHandle:
            with Shield():
                return QueueHandle(bridge.open_queue(spark, keys), self.path, lock_timeout)

        self._handle = retry_while_ending(open_now, lock_timeout)
        try:
            self._consumers: dict[str, Consumer] = {}
            # A signal handler may come in while this thread has it.
            self._consumers_lock = threading.RLock()
            self._consumer_name = consumer
            # Writing alone makes no default consumer: an unused one would fill the queue.
            if consumer != names.DEFAULT_CONSUMER:
                self.consumer(consumer)
        except BaseException:
            self._handle.close()
            raise
        self._producer = Producer(self._handle)

    @property
    def config(self) -> Mapping[str, str]:
        """The effective configuration, key by key, as text."""
        return dict(self._handle.config)

    @property
    def closed(self) -> bool:
        """Whether it has been closed."""
        return self._handle.closed

    # ---- writing

    def push(
        self,
        data: bytes | bytearray | memoryview,
        block: bool = True,
        timeout: float | None = None,
        *,
        sync: bool = False,
    ) -> int:
        """Appends a record.

        Args:
            data: The record.
            block: Whether to wait for room when the queue is full.
            timeout: The longest to wait, in seconds; None for as long as it takes.
            sync: Whether to return only when the record is durable. Concurrent threads share one fsync.

        Returns:
            Its offset: 0, 1, 2, …

        Raises:
            Full: The queue had no room in time.
            TooLarge: The record is larger than max_event_size.
            Closed: The queue is closed, or was closed during the wait.
            Poisoned: An earlier failure to write made the queue unsafe to write to.
            TypeError: `data` is not bytes-like.
        """
        return self._producer.push(data, block, timeout, sync)

    def push_many(
        self,
        items: Iterable[bytes | bytearray | memoryview],
        block: bool = True,
        timeout: float | None = None,
        atomic: bool = False,
    ) -> int:
        """Appends records, in order; much faster than one by one.

        Takes some hundred records at a time from `items`. After an error, taken records that were not pushed are lost
        to an iterator.

        Args:
            items: The records: any iterable, of any length.
            block: Whether to wait for room when the queue is full.
            timeout: The longest to wait in all, in seconds; None for as long as it takes.
            atomic: Whether all records become visible together, or none. They must then fit into the queue, and into a
                quarter of the JVM's heap, at once.

        Every exception, one from `items` and KeyboardInterrupt included, has an attribute `pushed`: how many records,
        the first ones, are in the queue; none or all if atomic. More can be in only after the connection to the JVM
        broke.

        Returns:
            The number of pushed records.

        Raises:
            Full: There was no room in time.
            TooLarge: A record is larger than max_event_size, or an atomic batch larger than the queue. All before it
                went in, if not atomic.
            Closed: The queue is closed, or was closed during the wait.
            Poisoned: An earlier failure to write made the queue unsafe to write to.
            TypeError: One of `items` is not bytes-like. Up to some hundred records before it may be missing.
        """
        return self._producer.push_many(items, block, timeout, atomic)

    def flush(self) -> None:
        """Returns when all earlier pushes and acks are durable. Ctrl-C waits for it.

        Raises:
            Poisoned: It could not be written.
            Closed: The queue is closed.
        """
        self._handle.call("flush")

    # ---- consumers

    def consumer(self, name: str, start: SeekTarget = "earliest") -> Consumer:
        """The consumer of a name. It gets every record, independently of other consumers.

        Args:
            name: 1 to 100 letters, digits, "_", "-" or "."; the same name gives the same object, until that is closed.
            start: Where a new consumer begins: "earliest", with the oldest retained record; "latest", with the next one
                that is pushed; an offset; or an aware datetime, with the first record that was
                pushed then or later.

        Returns:
            The consumer. This process owns it until the consumer or the queue is closed.

        Raises:
            Locked: Another process owns it.
            ConfigError: The name or the start is not allowed.
            OutOfRange: The first record is retained no more, or not pushed yet.
            ValueError: The datetime is naive.
            Closed: The queue is closed.
        """
        self._handle.check()
        with self._consumers_lock:
            known = self._consumers.get(name)
            if known is None or known.closed:
                known = self._consumers[name] = Consumer(self._handle, name, start)
            return known

    def create_consumer(self, name: str, start: SeekTarget = "earliest") -> None:
        """Creates a consumer for later use, or for another process that opens the queue with `read_only=True`.

        From then on the queue retains the records that it has not acked. Does nothing if it exists.

        Args:
            name: As in `consumer`.
            start: As in `consumer`.

        Raises:
            ConfigError: The name or the start is not allowed.
            OutOfRange: The first record is retained no more, or not pushed yet.
            ValueError: The datetime is naive.
            Closed: The queue is closed.
        """
        self._handle.call("createConsumer", name, target_text(start, STARTS))

    def delete_consumer(self, name: str) -> None:
        """Deletes a consumer. The space that only it held becomes free. Closes it if this process owns it.

        Any consumer can be deleted, the default one and the last one included. A queue without a consumer retains all
        records from the last one's committed position on, until the queue is full. The next `pop` of a queue that
        reads as this consumer makes it again: stop its readers first.

        Args:
            name: The consumer's name.

        Raises:
            ConfigError: No consumer has this name, or the format version is 1, which always has its default one.
            Locked: Another process owns it.
            Closed: The queue is closed.
        """
        self._handle.call("deleteConsumer", name)
        known = self._consumers.get(name)
        if known is not None:
            known.close()

    def consumers(self) -> list[str]:
        """The names of all consumers, whichever process owns them; the default one first.

        A new queue of format version 2 has none.
        """
        lines: str = self._handle.call("consumers")
        return lines.splitlines()

    def consumer_stats(self) -> dict[str, ConsumerStats]:
        """The position and lag of each consumer by its name, in the order of `consumers`."""
        return parsed_consumers(self._handle.call("consumerStats"))

    def _own_consumer(self) -> Consumer:
        known = self._consumers.get(self._consumer_name)
        return self.consumer(self._consumer_name) if known is None or known.closed else known

    def _existing_consumer(self) -> Consumer | None:
        known = self._consumers.get(self._consumer_name)
        if known is not None and not known.closed:
            return known
        return self.consumer(self._consumer_name) if self._consumer_name in self.consumers() else None

    # ---- the queue as a whole

    def full(self) -> bool:
        """Whether a record of max_event_size has no room now. While False, no push raises Full."""
        return bool(self._handle.call("full"))

    def stats(self) -> Stats:
        """The state of the queue now."""
        return parsed(self._handle.call("stats"))

    def gc(self) -> int:
        """Deletes the ring files without retained records. The queue makes them again when it needs them.

        Returns:
            The number of bytes that this has released on the disk.
        """
        released: int = self._handle.call("gc")
        return released

    # ---- the end

    def close(self) -> None:
        """Closes this handle. The last handle of the JVM flushes and closes the queue. Calls that wait raise Closed.

        Does nothing the second time.
        """
        self._handle.close()

    def __enter__(self) -> Self:
        self._handle.check()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<mmapqueue.Queue {self.path!r}{' (closed)' if self.closed else ''}>"

    def __reduce__(self) -> str:
        raise TypeError(
            "a Queue cannot be pickled or copied: it is a connection to a JVM; open the queue where it is used, and "
            "in the tasks of a Spark job use spark.read.format('mmapqueue')"
        )


# Python names a method by the class that defines it: users know the queue alone.
for _part in (IdempotentProducers, RandomAccess, ArrowAccess, DefaultConsumer):
    for _name, _method in vars(_part).items():
        if isinstance(_method, FunctionType):
            _method.__qualname__ = f"{Queue.__name__}.{_name}"
