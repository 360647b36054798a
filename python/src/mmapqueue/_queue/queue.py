"""The queue."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from types import FunctionType, TracebackType

from mmapqueue._jvm import bridge, names
from mmapqueue._jvm.lock_holders import patiently
from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.consumer import Consumer
from mmapqueue._queue.default_consumer import ShortCuts
from mmapqueue._queue.handle import Opened
from mmapqueue._queue.idempotent import PushesOnce
from mmapqueue._queue.options import DEFAULT_DIRECTORY, options
from mmapqueue._queue.producer import Producer
from mmapqueue._queue.random_access import RandomAccess
from mmapqueue._queue.stats import ConsumerStats, Stats, parsed, parsed_consumers
from mmapqueue._values.annotations import Self, SparkContext, SparkSession, Unpack
from mmapqueue._values.arguments import check_seconds
from mmapqueue._values.configuration import Configuration
from mmapqueue._values.errors import OutOfRange
from mmapqueue._values.message import Message
from mmapqueue._values.offsets import STARTS, Place, place_text
from mmapqueue._values.paths import absolute


class Queue(PushesOnce, RandomAccess, ShortCuts):
    """A big, fast, persistent queue of bytes in a directory.

    When `push` returns, the record survives the death of this process, of the JVM, and a kill of both; when `flush`
    or `push(…, sync=True)` returns, or flush_period has passed, a loss of power too. What was popped and not acked is
    popped again after the next open.

    Any number of threads may use one Queue at once. It is a context manager that closes itself. In a forked child it
    can not be used, nor can it be pickled: it is a connection to a JVM.

    Attributes:
        path: The directory, absolute.
        config: The configuration in force, key by key, as text.
    """

    def __init__(
        self,
        spark: SparkSession | SparkContext | None,
        path: str | os.PathLike[str] = DEFAULT_DIRECTORY,
        *,
        consumer: str = "default",
        lock_timeout: float = 5.0,
        **configuration: Unpack[Configuration],
    ) -> None:
        """Opens the queue in a directory; makes a new one where there is none, recovers one that was not closed.

        Opening one directory twice in one JVM gives two handles of one queue, closed with the last of them.

        Args:
            spark: The session whose driver has the jar (see `configure`), or None for a JVM that this process starts
                and keeps for itself.
            path: The directory, made when it is not there; "~" is the home of this process's user.
                "satellite-mmap-queue" in the working directory by default.
            consumer: The consumer that `pop`, `ack` and all other reading of this object is for. It is made when it
                does not exist, begins with the oldest record that is retained, and belongs to this process: at once
                under any name but "default", that one from the first call on that pops, iterates or seeks.
            lock_timeout: How long to wait, in seconds, when a process holds the queue, or a consumer, that is ending: a
                JVM that Python had started and whose Python was killed lives on for a moment. One that is not ending
                is refused at once. Where it can not be told, as with a holder in another container, this waits, too.
            **configuration: The keys of `Configuration`. Sizes are bytes, or texts such as "128k" or "16m".
                `capacity`, in bytes, stands for queue_capacity_segments, rounded up to whole segments.

        Raises:
            ConfigError: A value is out of range, or not what the queue was made with.
            Locked: Another process writes this queue, or reads as this consumer, and is not ending, or did not end in
                time.
            Corrupt: The queue is damaged. It is left as it is.
            NotADirectory: The path is that of a file, or leads through one.
            NotFound: There is no queue to read with read_only, or the directory can not be made.
            NotPermitted: The JVM's user may not read or write what is there, or may not make the directory.
            JarNotFound: The JVM does not have the jar, or has another version of it.
            MmapQueueError: There is no JVM to be had, or a file can not be opened.
        """
        self.path = absolute("path", path)
        keys = options(self.path, configuration)
        check_seconds("lock_timeout", lock_timeout)

        def open_now() -> Opened:
            with Shield():
                return Opened(bridge.open_queue(spark, keys), self.path, lock_timeout)

        self._opened = patiently(open_now, lock_timeout)
        try:
            self._consumers: dict[str, Consumer] = {}
            # A signal handler may come in while this thread has it.
            self._consumers_lock = threading.RLock()
            self._consumer_name = consumer
            # Who only writes makes no consumer: nobody might ever read as it, and it would hold the ring.
            if consumer != names.DEFAULT_CONSUMER:
                self.consumer(consumer)
        except BaseException:
            self._opened.close()
            raise
        self._producer = Producer(self._opened)

    @property
    def config(self) -> Mapping[str, str]:
        """The configuration in force, key by key, as text."""
        return dict(self._opened.config)

    @property
    def closed(self) -> bool:
        """Whether it has been closed."""
        return self._opened.closed

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
            sync: Whether to return only when it is on the disk, where a loss of power leaves it. Threads that do so
                at once share the work.

        Returns:
            Its offset: 0, 1, 2, …

        Raises:
            Full: There was no room in time.
            TooLarge: It is larger than max_event_size.
            Closed: The queue is closed, or was closed while this waited.
            Poisoned: An earlier failure to write made the queue unsafe to write to.
            TypeError: `data` is nothing of bytes.
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

        Records are taken from `items` some hundred at a time, and those that were taken and not pushed are gone from
        an iterator.

        Args:
            items: The records: any iterable, of any length.
            block: Whether to wait for room when the queue is full.
            timeout: The longest to wait in all, in seconds; None for as long as it takes.
            atomic: Whether they become visible together or not at all, whatever happens. They must then fit into the
                queue, and through the memory of the JVM, at once.

        Whatever is raised, an error out of `items` and KeyboardInterrupt included, has an attribute `pushed`: so many
        records went in, the first ones; none or all if atomic. Only when the connection to the JVM breaks may there be
        more.

        Returns:
            How many there were.

        Raises:
            Full: There was no room in time.
            TooLarge: A record is larger than max_event_size, or an atomic batch larger than the queue. All before it
                went in, if not atomic.
            Closed: The queue is closed, or was closed while this waited.
            Poisoned: An earlier failure to write made the queue unsafe to write to.
            TypeError: One of `items` is nothing of bytes. Some hundred before it may not have gone in.
        """
        return self._producer.push_many(items, block, timeout, atomic)

    def flush(self) -> None:
        """Returns when everything that was pushed or acked before is on the disk. Ctrl-C waits for it.

        Raises:
            Poisoned: It could not be written.
            Closed: The queue is closed.
        """
        self._opened.ask("flush")

    # ---- consumers

    def consumer(self, name: str, start: Place = "earliest") -> Consumer:
        """A consumer of a name: it gets every record, whatever the others do.

        Args:
            name: 1 to 100 letters, digits, "_", "-" or "."; the same name gives the same object, until that is closed.
            start: Where it begins when it is made now: "earliest", with the oldest record that there is; "latest",
                with the next one that is pushed; an offset; or an aware datetime, with the first record that was
                pushed then or later.

        Returns:
            The consumer. It is this process's own until it or the queue is closed.

        Raises:
            Locked: Another process has it.
            ConfigError: The name or the start is not allowed.
            OutOfRange: The record to begin with is not retained any more, or not there yet.
            ValueError: The datetime is naive.
            Closed: The queue is closed.
        """
        self._opened.check()
        with self._consumers_lock:
            known = self._consumers.get(name)
            if known is None or known.closed:
                known = self._consumers[name] = Consumer(self._opened, name, start)
            return known

    def create_consumer(self, name: str, start: Place = "earliest") -> None:
        """Makes a consumer for later, or for another process, which opens the queue with `read_only=True`, to read as.

        From then on the queue keeps what this consumer has not acked. Does nothing when it exists.

        Args:
            name: As in `consumer`.
            start: As in `consumer`.

        Raises:
            ConfigError: The name or the start is not allowed.
            OutOfRange: The record to begin with is not retained any more, or not there yet.
            ValueError: The datetime is naive.
            Closed: The queue is closed.
        """
        self._opened.ask("createConsumer", name, place_text(start, STARTS))

    def delete_consumer(self, name: str) -> None:
        """Forgets a consumer, and gives the space free that it held. When this process has it, it is closed.

        Any can be deleted, the default one and the last one included. A queue without a consumer keeps everything from
        where the last one stood on, until it is full. Nothing remembers a deletion: the next `pop` of a queue that
        reads as this consumer makes it again, so stop its readers before.

        Args:
            name: Its name.

        Raises:
            ConfigError: There is none of this name, or the format version is 1, which always has its default one.
            Locked: Another process has it.
            Closed: The queue is closed.
        """
        self._opened.ask("deleteConsumer", name)
        known = self._consumers.get(name)
        if known is not None:
            known.close()

    def consumers(self) -> list[str]:
        """The names of the consumers that the queue has, whichever process owns them; the default one first.

        A new queue of format version 2 has none.
        """
        lines: str = self._opened.ask("consumers")
        return lines.splitlines()

    def consumer_stats(self) -> list[ConsumerStats]:
        """How far each consumer is, in the order of `consumers`."""
        return parsed_consumers(self._opened.ask("consumerStats"))

    def _reader(self) -> Consumer:
        known = self._consumers.get(self._consumer_name)
        return self.consumer(self._consumer_name) if known is None or known.closed else known

    def _existing_reader(self) -> Consumer | None:
        known = self._consumers.get(self._consumer_name)
        if known is not None and not known.closed:
            return known
        return self.consumer(self._consumer_name) if self._consumer_name in self.consumers() else None

    def _oldest(self) -> Message | None:
        offset = self.first_offset()
        while offset < self.end_offset():
            try:
                return self.get(offset)._replace(attempts=1, origin=self._opened.origin._replace(consumer="default"))
            except OutOfRange:
                # A record that was lost, or every consumer has acked it by now.
                offset = max(offset + 1, self.first_offset())
        return None

    # ---- the queue as a whole

    def full(self) -> bool:
        """Whether a record of max_event_size would find no room now. As long as it would, no push is refused."""
        return bool(self._opened.ask("full"))

    def stats(self) -> Stats:
        """The state of the queue now."""
        return parsed(self._opened.ask("stats"))

    def gc(self) -> int:
        """Deletes the ring files that hold nothing which is retained; they are made anew when they are needed.

        Returns:
            Bytes that the disk has got back.
        """
        freed: int = self._opened.ask("gc")
        return freed

    # ---- the end

    def close(self) -> None:
        """Closes this handle; the last one of the JVM flushes and closes the queue. Calls that wait raise Closed.

        A second time does nothing.
        """
        self._opened.close()

    def __enter__(self) -> Self:
        self._opened.check()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<mmapqueue.Queue {self.path!r}{' (closed)' if self.closed else ''}>"

    def __reduce__(self) -> str:
        raise TypeError(
            "a Queue can not be pickled or copied: it is a connection to a JVM; open the queue where it is used, and "
            "in the tasks of a Spark job use spark.read.format('mmapqueue')"
        )


# Python names a method by the class that defines it: users know the queue alone.
for _part in (PushesOnce, RandomAccess, ShortCuts):
    for _name, _method in vars(_part).items():
        if isinstance(_method, FunctionType):
            _method.__qualname__ = f"{Queue.__name__}.{_name}"
