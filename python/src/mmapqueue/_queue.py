"""The queue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from mmapqueue import _attach, _names, _stats
from mmapqueue._consumer import Consumer
from mmapqueue._errors import ConfigError
from mmapqueue._interrupts import Shield
from mmapqueue._opened import Opened
from mmapqueue._producer import Producer
from mmapqueue._sizes import size_in_bytes

if TYPE_CHECKING:
    import os
    from types import TracebackType

    from pyspark import SparkContext
    from pyspark.sql import SparkSession
    from typing_extensions import Self, Unpack

    from mmapqueue._message import Message
    from mmapqueue._stats import Stats

_CAPACITY = "capacity"
_DIRECTORY = "queue_dir"


class Configuration(TypedDict, total=False):
    """The keys that a queue may be opened with; docs/CONFIGURATION.md has their defaults and ranges.

    A key that is not given is as the directory has it, if there is a queue in it, else the default.
    """

    segment_size: int | str
    max_in_mem_segments: int
    queue_capacity_segments: int
    flush_period: int
    flush_ceiling_num: int
    max_event_size: int | str
    timestamps: bool
    format_version: int
    v1_recover: str
    read_only: bool
    capacity: int | str


class Queue:
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
        path: str | os.PathLike[str],
        *,
        consumer: str = "default",
        **configuration: Unpack[Configuration],
    ) -> None:
        """Opens the queue in a directory; makes a new one where there is none, recovers one that was not closed.

        Opening one directory twice in one JVM gives two handles of one queue, closed with the last of them.

        Args:
            spark: The session whose driver has the jar (see `configure`), or None for a JVM that this process starts
                and keeps for itself.
            path: The directory; made when it is not there.
            consumer: The consumer that `pop`, `ack` and all other reading of this object is for. Any name but
                "default" is made when it is not there, begins with the oldest record that there is, and belongs to
                this process at once; "default" does from the first call that reads.
            **configuration: The keys of `Configuration`. Sizes are bytes, or texts such as "128k" or "16m".
                `capacity`, in bytes, stands for queue_capacity_segments, rounded up to whole segments.

        Raises:
            ConfigError: A value is out of range, or not what the queue was made with.
            Locked: Another process writes this queue, or reads as this consumer.
            Corrupt: The queue is damaged. It is left as it is.
            JarNotFound: The JVM does not have the jar, or has another version of it.
            MmapQueueError: There is no JVM to be had, or a file can not be opened.
        """
        self.path = str(Path(path).absolute())
        options = _options({_DIRECTORY: self.path, **configuration})
        with Shield():
            self._opened = Opened(_attach.open_queue(spark, options), self.path)
        try:
            self._consumers: dict[str, Consumer] = {}
            self._consumer_name = consumer
            # The default one is there anyway, and may be for another process to read as.
            if consumer != _names.DEFAULT_CONSUMER:
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

        Returns:
            How many there were.

        Raises:
            Full: There was no room in time. Its `pushed` says how many went in; none if atomic.
            TooLarge: A record is larger than max_event_size, or an atomic batch larger than the queue. Those before
                went in, `pushed` many, none if atomic.
            Closed: The queue is closed, or was closed while this waited; `pushed` says how many went in.
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

    # ---- reading

    def consumer(self, name: str, start: str = "earliest") -> Consumer:
        """A consumer of a name: it gets every record, whatever the others do.

        Args:
            name: 1 to 100 letters, digits, "_", "-" or "."; the same name gives the same object.
            start: Where it begins when it is made now: "earliest" with the oldest record that there is, "latest"
                with the next one that is pushed.

        Returns:
            The consumer. It is this process's own until the queue is closed.

        Raises:
            Locked: Another process has it.
            ConfigError: The name or the start is not allowed.
            Closed: The queue is closed.
        """
        self._opened.check()
        known = self._consumers.get(name)
        if known is None:
            known = self._consumers.setdefault(name, Consumer(self._opened, name, start))
        return known

    def create_consumer(self, name: str, start: str = "earliest") -> None:
        """Makes a consumer for another process, which opens the queue with `read_only=True`, to read as.

        Does nothing when it is there.

        Args:
            name: As in `consumer`.
            start: As in `consumer`.

        Raises:
            ConfigError: The name or the start is not allowed.
            Closed: The queue is closed.
        """
        self._opened.ask("createConsumer", name, start)

    def _reader(self) -> Consumer:
        """The consumer that this object reads as."""
        return self._consumers.get(self._consumer_name) or self.consumer(self._consumer_name)

    def pop(self, block: bool = True, timeout: float | None = None) -> Message:
        """Takes the next record; see `Consumer.pop`."""
        return self._reader().pop(block, timeout)

    def pop_many(
        self, max_records: int = 1000, *, max_bytes: int | None = None, timeout: float | None = 0.0
    ) -> list[Message]:
        """Takes several records, none when there is none in time; see `Consumer.pop_many`."""
        return self._reader().pop_many(max_records, max_bytes=max_bytes, timeout=timeout)

    def peek(self) -> Message | None:
        """Looks at the next record and leaves it there; see `Consumer.peek`."""
        return self._reader().peek()

    def ack(self, message: Message | int) -> None:
        """Says that a record, and every one before it, has been dealt with; see `Consumer.ack`."""
        self._reader().ack(message)

    def consume(
        self, timeout: float | None = None, *, max_records: int = 1000, max_bytes: int | None = None
    ) -> Iterator[Message]:
        """Iterates over the records, popping them in batches underneath; see `Consumer.consume`."""
        return self._reader().consume(timeout, max_records=max_records, max_bytes=max_bytes)

    def __iter__(self) -> Iterator[Message]:
        """Iterates over what there is: ends when there is nothing to pop, without waiting."""
        return iter(self._reader())

    # ---- figures

    def size(self) -> int:
        """How many records have not been popped."""
        return self._reader().size()

    def lag(self) -> int:
        """How many records have not been acked."""
        return self._reader().lag()

    def empty(self) -> bool:
        """Whether there is nothing to pop now."""
        return self._reader().empty()

    def full(self) -> bool:
        """Whether a record of max_event_size would find no room now. As long as it would, no push is refused."""
        return bool(self._opened.ask("full"))

    def stats(self) -> Stats:
        """The state of the queue now."""
        return _stats.parsed(self._opened.ask("stats"))

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


def _options(configuration: Mapping[str, object]) -> str:
    """The configuration as the JVM takes it."""
    words: list[str] = []
    for key, value in configuration.items():
        if value is None:
            continue
        if key == _CAPACITY:
            value = size_in_bytes(key, value)  # type: ignore[arg-type]
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if _names.SEPARATOR in key + text:
            raise ConfigError(f"{key} = {text!r} is refused; allowed: no NUL", key, text, "no NUL")
        words += [key, text]
    return _names.SEPARATOR.join(words)
