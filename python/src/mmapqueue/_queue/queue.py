"""The queue."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from time import monotonic
from typing import Any, Literal, overload

from mmapqueue._jvm import archive_jars, bridge, heap, names
from mmapqueue._jvm.lock_holders import retry_while_ending
from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.arrow.access import ArrowAccess
from mmapqueue._queue.arrow.reading import ArrowReading
from mmapqueue._queue.async_closing import AsyncClosing
from mmapqueue._queue.async_methods import AsyncReading, AsyncWriting
from mmapqueue._queue.consumers import Consumers
from mmapqueue._queue.consuming.ahead import Ahead
from mmapqueue._queue.handle import QueueHandle
from mmapqueue._queue.idempotent import IdempotentProducers
from mmapqueue._queue.iteration import Iteration
from mmapqueue._queue.maintenance import Maintenance
from mmapqueue._queue.options import options
from mmapqueue._queue.producer import Producer, Record
from mmapqueue._queue.random_access import RandomAccess
from mmapqueue._queue.reading import Reading, adopt
from mmapqueue._queue.shipping import Shipping
from mmapqueue._queue.stats import Rates, Stats, parsed
from mmapqueue._values.annotations import Self, SparkContext, SparkSession, Unpack, Value
from mmapqueue._values.arguments import absolute, flag, name_of
from mmapqueue._values.closing import Closing
from mmapqueue._values.configuration import Configuration, EffectiveConfiguration, OpenOptions
from mmapqueue._values.durations import Duration, seconds
from mmapqueue._values.serializers import Serializer, serializer_of


class Queue(
    AsyncWriting[Value],
    IdempotentProducers[Value],
    RandomAccess[Value],
    ArrowAccess,
    Consumers[Value],
    Maintenance,
):
    """A persistent queue of bytes in a directory.

    After `push` returns, the record survives a kill of this process and of the JVM. After `flush` or
    `push(…, sync=True)` returns, or flush_period has passed, it also survives a loss of power. Records that were popped
    and not acked are redelivered after the next open.

    With a serializer, it is a queue of objects: `Queue[Any]` for a serializer that is named, `Queue[Order]` for an
    object with a `loads` that returns an Order.

    Safe for any number of threads. A context manager that closes itself, also with `async with`; opening blocks for the
    start of the JVM, `mmapqueue.aopen` does not. It is a connection to a JVM, so it cannot be pickled, nor used in a
    forked child.

    Attributes:
        path: The directory, absolute.

    Example:
        >>> with mmapqueue.Queue("events", capacity="512m") as events:
        ...     events.push(b"one")
        ...     with events.pop(timeout="1s") as message:
        ...         print(message.data)
        0
        b'one'

    The block of a message acks it at its end, and requeues it when the block raises.
    """

    @overload
    def __init__(
        self: Queue[bytes],
        path: str | os.PathLike[str],
        *,
        serializer: None = ...,
        **options: Unpack[OpenOptions],
    ) -> None: ...

    @overload
    def __init__(
        self: Queue[Any],
        path: str | os.PathLike[str],
        *,
        serializer: Literal["json", "msgpack", "pickle"],
        **options: Unpack[OpenOptions],
    ) -> None: ...

    @overload
    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        serializer: Serializer[Value],
        **options: Unpack[OpenOptions],
    ) -> None: ...

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        spark: SparkSession | SparkContext | None = None,
        consumer: str = "default",
        serializer: str | Serializer[Value] | None = None,
        lock_timeout: Duration = 5.0,
        prefetch: int | None = None,
        ack_linger: Duration | None = None,
        **configuration: Unpack[Configuration],
    ) -> None:
        """Opens the queue in a directory; creates a new one if none exists, and recovers one that was not closed.

        One directory opened twice in one JVM gives two handles of one queue. Closing the last handle closes the queue.

        Args:
            path: The directory, created if missing; "~" is the home of this process's user.
            spark: A SparkSession or SparkContext with the jar (see `configure`), to use its JVM; None to use a JVM that
                this process starts.
            consumer: The consumer with which `pop`, `ack` and all other methods of this object read. It is created if
                it does not exist, starts at the oldest retained record, and is owned by this process: at once with any
                name but "default"; the default one from the first call that pops, iterates or seeks.
            serializer: Converts the objects that this object pushes to records, and records to `Message.value`. "json";
                "msgpack", which needs the package msgpack; an object with dumps and loads, such as a module; or
                "pickle": loading a pickle may run any code, so use it only where no one else can write the directory.
                The queue does not store the choice. None for bytes.
            lock_timeout: The longest wait for a lock while its holder is ending or in another container: seconds, a
                timedelta, or a text such as "30s". A JVM outlives its killed Python process for a moment. Locked is
                raised at once for any other holder.
            prefetch: The most records that `pop` takes ahead, so that the next pops need no call into the JVM; 0 for
                none. None for 4096, or 0 with visibility_timeout. It takes what the consumer needs for 0.1 s at its
                present pace. Prefetched records count as not popped; a close and a `nack` release them.
            ack_linger: How long an ack waits for others before it is sent to the JVM; twice that at most: seconds, a
                timedelta, or a text such as "5ms"; 0 to send each at once. None for 5 ms, or 0 with visibility_timeout.
                A kill before the ack is sent redelivers the record.
            **configuration: The keys of `Configuration`: sizes are bytes, or texts such as "128k" or "16m"; durations
                are milliseconds, timedeltas, or texts such as "250ms" or "7d". `capacity`, a size, is what the
                queue holds at most, 512 MiB by default; the number and size of its segments follow from it.

        Raises:
            ConfigError: A value is out of range, or not the one that the queue was created with; prefetch or ack_linger
                above 0 with visibility_timeout.
            Locked: Another process writes this queue, or reads as this consumer, and is not ending, or did not end in
                time.
            Corrupt: The queue is damaged. Nothing was changed.
            NotADirectory: The path, or a parent of it, is a file.
            NotFound: With read_only: the directory has no queue. Otherwise: the directory cannot be created.
            NotPermitted: The JVM's user may not read or write the files, or may not create the directory.
            JarNotFound: The JVM does not have the jar, or has another version of it.
            ImportError: The package msgpack is not installed.
            TypeError: The serializer has no `dumps`, or no `loads`.
            MmapQueueError: No JVM is available, or a file cannot be opened.

        Example:
            >>> with mmapqueue.Queue("orders", capacity="64m", serializer="json") as orders:
            ...     orders.push({"id": 7})
            ...     with orders.pop() as message:
            ...         print(message.value["id"])
            0
            7
        """
        self.path = absolute("path", path)
        name_of("consumer", consumer)
        keys = options(self.path, configuration)
        codec = None if serializer is None else serializer_of(serializer)
        patience = seconds("lock_timeout", lock_timeout)
        if spark is None:
            heap.reserve(self.path, configuration.get("max_event_size"))
            if archive := configuration.get("archive_uri"):
                archive_jars.add(str(archive), configuration.get("archive_codec", "none"))

        def open_now() -> QueueHandle:
            # Outside the Shield: Ctrl-C ends the start of a JVM.
            open_in_jvm = bridge.opener(spark)
            with Shield():
                return QueueHandle(open_in_jvm.within(keys), self.path, patience, codec)

        self._handle = retry_while_ending(open_now, patience)
        try:
            self._ahead = Ahead.of(self._handle.config, prefetch, ack_linger)
            self._consumers = {}
            # Reentrant: a signal handler may run while this thread holds it.
            self._consumers_lock = threading.RLock()
            self._consumer_name = consumer
            # A queue that only writes creates no default consumer: an unused one would fill the queue.
            if consumer != names.DEFAULT_CONSUMER:
                self.consumer(consumer)
        except BaseException:
            self._handle.close()
            raise
        self._producer = Producer(self._handle)
        self._rates = Rates()

    @property
    def config(self) -> EffectiveConfiguration:
        """The effective configuration: sizes in bytes, durations in ms. A copy.

        Example:
            >>> queue.config["flush_period"], queue.config["read_only"], queue.config["dead_letter_dir"]
            (1000, False, None)
        """
        return self._handle.config.copy()

    @property
    def closed(self) -> bool:
        """Whether the queue has been closed.

        Example:
            >>> queue.closed
            False
        """
        return self._handle.closed

    # ---- writing

    def push(
        self,
        data: Value | Record,
        block: bool = True,
        timeout: Duration | None = None,
        *,
        sync: bool = False,
        shipped: bool = False,
    ) -> int:
        """Appends a record.

        Args:
            data: The record: bytes-like, or with a serializer any object that it takes.
            block: Whether to wait for room when the queue is full. When the queue has stored nothing for 5 s, the
                logger "mmapqueue" gets one warning that names the slowest consumer and its lag.
            timeout: The longest to wait: seconds, a timedelta, or a text such as "500ms"; None for as long as it takes.
            sync: Whether to return only when the record is durable. Concurrent threads share one fsync.
            shipped: Whether to return only when the archive has the record, which then survives the loss of this host.
                It waits as `await_shipped` without a timeout: `timeout` applies to room alone.

        Returns:
            The record's offset: 0, 1, 2, …

        Raises:
            Full: The queue had no room in time.
            TooLarge: The record is larger than max_event_size.
            Closed: The queue is closed, or was closed during the wait.
            Poisoned: An earlier failure to write made the queue unsafe to write to.
            ConfigError: With `shipped`: no process has shipped this queue. The record is in the queue.
            TypeError: `data` is not bytes-like, and the queue has no serializer; or `block`, `sync` or `shipped` is not
                a bool: a time is `timeout`. A serializer raises its own errors.

        Example:
            >>> queue.push(b"one")
            0
            >>> queue.push(b"two", timeout="500ms", sync=True)
            1
        """
        if shipped is not False:
            flag("shipped", shipped)
        offset = self._producer.push(self._handle.record(data), block, timeout, sync)
        if shipped:
            self.await_shipped(offset)
        return offset

    def push_many(
        self,
        items: Iterable[Value | Record],
        block: bool = True,
        timeout: Duration | None = None,
        atomic: bool = False,
        *,
        sync: bool = False,
        shipped: bool = False,
    ) -> int:
        """Appends records, in order; much faster than one by one.

        Takes some hundred records at a time from `items`. After an error, records that were taken from an iterator and
        not pushed are lost.

        Args:
            items: The records: any iterable, of any length.
            block: Whether to wait for room when the queue is full, with a warning as that of `push`.
            timeout: The longest to wait in all: seconds, a timedelta, or a text such as "500ms"; None for as long as it
                takes.
            atomic: Whether all records become visible together, or none. They must then fit into the queue, and into a
                quarter of the JVM's heap, at once.
            sync: Whether to return only when the records are durable, as after `flush`. Those before an error need not
                be.
            shipped: Whether to return only when the archive has the records, as for `push`.

        Every exception, including one from `items` and KeyboardInterrupt, has an attribute `pushed`: the number of
        records, from the first on, that are in the queue; none or all if atomic. More can be in the queue only after
        the connection to the JVM broke.

        Returns:
            The number of pushed records.

        Raises:
            Full: There was no room in time.
            TooLarge: A record is larger than max_event_size, or an atomic batch larger than the queue. All before it
                went in, if not atomic.
            Closed: The queue is closed, or was closed during the wait.
            Poisoned: An earlier failure to write made the queue unsafe to write to.
            TypeError: One of `items` is not bytes-like, and the queue has no serializer. Up to some hundred records
                before it may be missing. The same holds for errors of a serializer.

        Example:
            >>> queue.push_many(b"event %d" % number for number in range(1000))
            1000
            >>> queue.push_many([b"debit", b"credit"], atomic=True)
            2
        """
        flag("shipped", shipped)
        pushed = self._producer.push_many(self._handle.records(items), block, timeout, atomic, sync)
        if shipped and pushed:
            self._await_all_shipped(pushed)
        return pushed

    def flush(self) -> None:
        """Makes all earlier pushes and acks durable. Ctrl-C waits for the end of the fsync.

        Records that still wait in a `producer` are not pushed: flush that producer first.

        Raises:
            Poisoned: An fsync has failed.
            Closed: The queue is closed.

        Example:
            >>> queue.push(b"one")
            0
            >>> queue.flush()
            >>> queue.stats().durable_position == queue.stats().end_position
            True
        """
        self._handle.call("flush")

    def full(self) -> bool:
        """Whether the ring has no room for a record of max_event_size. While False, no push raises Full.

        Example:
            >>> queue.full()
            False
        """
        return bool(self._handle.call("full"))

    def stats(self) -> Stats:
        """The state of the queue: how full it is, which consumer retains it, and how fast it is written and read.

        Each call costs a fraction of a millisecond; nothing is measured between calls.

        Example:
            >>> queue.push_many([b"one", b"two"])
            2
            >>> queue.stats().records
            2
        """
        consumers = self.consumer_stats()
        return parsed(self._handle.call("stats"), consumers, self._rates, monotonic())

    def gc(self) -> int:
        """Deletes the ring files without retained records. The queue creates them again when it needs them.

        Returns:
            The bytes of disk space that were released.

        Example:
            >>> queue.gc()
            0
        """
        released: int = self._handle.call("gc")
        return released

    # ---- the end

    def close(self) -> None:
        """Closes this handle; closing the JVM's last handle flushes and closes the queue. Waiting calls raise Closed.

        Does nothing when repeated.

        Example:
            >>> queue.close()
            >>> queue.closed
            True
        """
        self._handle.close()

    def __enter__(self) -> Self:
        self._handle.check()
        return self

    def __repr__(self) -> str:
        return f"<mmapqueue.Queue {self.path!r}{' (closed)' if self.closed else ''}>"


adopt(
    Queue,
    AsyncWriting,
    IdempotentProducers,
    RandomAccess,
    ArrowAccess,
    Maintenance,
    Shipping,
    Consumers,
    AsyncReading,
    ArrowReading,
    AsyncClosing,
    Closing,
    Iteration,
    Reading,
)
