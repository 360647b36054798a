"""The queue."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from datetime import datetime
from time import monotonic
from typing import Any, Literal, overload

from mmapqueue._jvm import archive_jars, bridge, heap, names
from mmapqueue._jvm.lock_holders import retry_while_ending
from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.arrow.access import batch_reader, joined_range
from mmapqueue._queue.arrow.columns import value_columns
from mmapqueue._queue.async_producer import AsyncProducer
from mmapqueue._queue.batching.producer import BatchingProducer
from mmapqueue._queue.consumer import Consumer
from mmapqueue._queue.consumers import Consumers, QueueSource
from mmapqueue._queue.consuming.ahead import Ahead
from mmapqueue._queue.deadline import Deadline
from mmapqueue._queue.handle import QueueHandle
from mmapqueue._queue.maintenance import DamagedRange, parsed_ranges
from mmapqueue._queue.options import options
from mmapqueue._queue.producer import Producer, ProducerSequence, Record
from mmapqueue._queue.random_access import read, read_many
from mmapqueue._queue.reading import Reading
from mmapqueue._queue.shipping import Archive, ShipStats
from mmapqueue._queue.stats import (
    ConsumerStats,
    ProducerStats,
    Rates,
    Stats,
    parsed,
    parsed_consumers,
    parsed_producers,
)
from mmapqueue._values.annotations import RecordBatch, RecordBatchReader, SparkContext, SparkSession, Unpack, Value
from mmapqueue._values.arguments import Size, absolute, count, flag, name_of, whole
from mmapqueue._values.configuration import Configuration, EffectiveConfiguration, OpenOptions
from mmapqueue._values.durations import Duration, seconds
from mmapqueue._values.message import Message
from mmapqueue._values.offsets import STARTS, SeekTarget, as_long, micros, target_text
from mmapqueue._values.serializers import Serializer, serializer_of


class Queue(Reading[Value]):
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
            lock_timeout: The maximum wait for a lock while its holder is ending or in another container: seconds, a
                timedelta, or a string such as "30s". A JVM outlives its killed Python process for a moment. Locked is
                raised at once for any other holder.
            prefetch: The maximum number of records that `pop` takes ahead, so that the next pops need no call into the
                JVM; 0 for none. None for 4096, or 0 with visibility_timeout. It takes what the consumer needs for 0.1 s
                at its present pace. Prefetched records count as not popped; a close and a `nack` release them.
            ack_linger: How long an ack waits for others before it is sent to the JVM; twice that at most: seconds, a
                timedelta, or a string such as "5ms"; 0 to send each at once. None for 5 ms, or 0 with
                visibility_timeout. A kill before the ack is sent redelivers the record.
            **configuration: The keys of `Configuration`: sizes are bytes, or strings such as "128k" or "16m"; durations
                are timedeltas, strings such as "250ms" or "7d", or 0. `capacity`, a size, is what the queue holds at
                most, 512 MiB by default; the number and size of its segments follow from it.

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
            TypeError: The serializer has no `dumps`, or no `loads`; or a key is unknown.
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
            archive = configuration.get("archive_uri")
            archive_jars.add_of_queue(
                self.path, str(archive) if archive else None, configuration.get("archive_codec", "none")
            )

        def open_now() -> QueueHandle:
            # Outside the Shield: Ctrl-C ends the start of a JVM.
            open_in_jvm = bridge.opener(spark)
            with Shield():
                return QueueHandle(open_in_jvm.within(keys), self.path, patience, codec)

        handle = retry_while_ending(open_now, patience)
        try:
            self._consumers: Consumers[Value] = Consumers(handle, Ahead.of(handle.config, prefetch, ack_linger))
            super().__init__(handle, QueueSource(handle, self._consumers, consumer))
            # A queue that only writes creates no default consumer: an unused one would fill the queue.
            if consumer != names.DEFAULT_CONSUMER:
                self._consumers.open(consumer)
        except BaseException:
            handle.close()
            raise
        self._producer = Producer(handle)
        self._async_producer = AsyncProducer(handle, self._producer)
        self._archive = Archive(handle)
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
        *,
        block: bool = True,
        timeout: Duration | None = None,
        sync: bool = False,
        shipped: bool = False,
    ) -> int:
        """Appends a record.

        Args:
            data: The record: bytes-like, or with a serializer any object that it takes.
            block: Whether to wait for room when the queue is full. When the queue has stored nothing for 5 s, the
                logger "mmapqueue" gets one warning that names the slowest consumer and its lag.
            timeout: The maximum time to wait: seconds, a timedelta, or a string such as "500ms"; None for no limit.
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
        offset = self._producer.push(self._handle.record(data), block=block, timeout=timeout, sync=sync)
        if shipped:
            self._archive.wait_for(offset)
        return offset

    def push_many(
        self,
        items: Iterable[Value | Record],
        *,
        block: bool = True,
        timeout: Duration | None = None,
        atomic: bool = False,
        sync: bool = False,
        shipped: bool = False,
    ) -> int:
        """Appends records, in order; much faster than one by one.

        Takes some hundred records at a time from `items`. After an error, records that were taken from an iterator and
        not pushed are lost.

        Args:
            items: The records: any iterable, of any length.
            block: Whether to wait for room when the queue is full, with a warning as that of `push`.
            timeout: The maximum time to wait in all: seconds, a timedelta, or a string such as "500ms"; None for no
                limit.
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
        pushed = self._producer.push_many(
            self._handle.records(items), block=block, timeout=timeout, atomic=atomic, sync=sync
        )
        if shipped and pushed:
            self._archive.wait_for_all(pushed)
        return pushed

    def push_arrow(
        self,
        data: object,
        *,
        block: bool = True,
        timeout: Duration | None = None,
        atomic: bool = False,
        sync: bool = False,
    ) -> int:
        """Appends the values of a column of Apache Arrow, in order, each as a record.

        The bytes are copied from Arrow's memory into shared memory, without a Python object for each record.

        Args:
            data: A pyarrow RecordBatch, Table or RecordBatchReader, or an object with `__arrow_c_stream__`, such as a
                DataFrame of polars or pandas. The column is the one with the name "value", or the only one; binary or
                string of any kind, text as UTF-8. No serializer runs. Null values raise ValueError.
            block: Whether to wait for room when the queue is full.
            timeout: The maximum time to wait in all: seconds, a timedelta, or a string such as "30s"; None for no
                limit.
            atomic: Whether all records become visible together, or none, as in `push_many`.
            sync: Whether to return only when the records are durable, as in `push_many`.

        Every exception has an attribute `pushed`, as from `push_many`.

        Returns:
            The number of pushed records.

        Raises:
            Full: There was no room in time.
            TooLarge: A record is larger than max_event_size, or an atomic batch larger than the queue. All before it
                went in, if not atomic.
            Closed: The queue is closed, or was closed during the wait.
            Poisoned: An earlier failure to write made the queue unsafe to write to.
            ValueError: There are several columns, and none is "value"; or a value is null. Nothing was pushed then,
                except from a stream.
            TypeError: `data` is not Arrow data, or the column is neither binary nor string. Nothing was pushed.
            ImportError: pyarrow is not installed.

        Example:
            >>> queue.push_arrow(pyarrow.table({"value": [b"one", b"two"]}))
            2
        """
        self._handle.check()
        return self._producer.push_columns(value_columns(data), block=block, timeout=timeout, atomic=atomic, sync=sync)

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

    # ---- writing under asyncio

    async def apush(
        self,
        data: Value | Record,
        *,
        timeout: Duration | None = None,
        sync: bool = False,
        shipped: bool = False,
    ) -> int:
        """Appends a record, under asyncio, as `push`.

        After a cancellation the record may or may not be in the queue. Tasks that push at the same time push in any
        order, and with `sync` share one fsync.

        Args:
            data: The record.
            timeout: The maximum time to wait for room: seconds, a timedelta, or a string such as "500ms"; None for no
                limit.
            sync: Whether to return only when the record is durable.
            shipped: Whether to return only when the archive has the record, as for `push`.

        Returns:
            The record's offset.

        Raises:
            Full: The queue had no room in time.
            TooLarge: The record is larger than max_event_size.
            Closed: The queue is closed, or was closed during the wait.
            Poisoned: An earlier failure to write made the queue unsafe to write to.
            ConfigError: With `shipped`: no process has shipped this queue. The record is in the queue.
            TypeError: `data` is not bytes-like, and the queue has no serializer.

        Example:
            >>> asyncio.run(queue.apush(b"one"))
            0
        """
        deadline = Deadline(timeout)
        flag("shipped", shipped)
        record = self._handle.record(data)
        offset = await self._async_producer.push(record, deadline, sync=sync)
        if shipped:
            await self._archive.wait_for_async(offset)
        return offset

    async def apush_many(
        self,
        items: Iterable[Value | Record],
        *,
        timeout: Duration | None = None,
        atomic: bool = False,
        sync: bool = False,
        shipped: bool = False,
    ) -> int:
        """Appends records, in order, under asyncio, as `push_many`.

        Args:
            items: The records, which this call reads into a list first.
            timeout: The maximum time to wait for room in all: seconds, a timedelta, or a string such as "500ms"; None
                for no limit.
            atomic: Whether all records become visible together, or none.
            sync: Whether to return only when the records are durable, as after `aflush`.
            shipped: Whether to return only when the archive has the records, as for `push`.

        Every exception that this call raises, also that of a cancellation, has an attribute `pushed`: the number of
        records, from the first on, that were pushed before it. After a cancellation up to some thousand more may be in
        the queue. In Python 3.10, code that awaits a cancelled task gets another exception, which has this one as its
        `__context__`.

        Returns:
            The number of pushed records.

        Raises:
            Full: There was no room in time.
            TooLarge: A record is larger than max_event_size, or an atomic batch larger than the queue.
            Closed: The queue is closed, or was closed during the wait.
            Poisoned: An earlier failure to write made the queue unsafe to write to.
            TypeError: One of `items` is not bytes-like, and the queue has no serializer. None was pushed.

        Example:
            >>> asyncio.run(queue.apush_many([b"one", b"two"]))
            2
        """
        deadline = Deadline(timeout)
        for name, value in (("atomic", atomic), ("sync", sync), ("shipped", shipped)):
            flag(name, value)
        records = list(map(self._handle.record, items))
        archive = self._archive if shipped else None
        return await self._async_producer.push_many(records, deadline, atomic=atomic, sync=sync, archive=archive)

    async def aflush(self) -> None:
        """As `flush`, with its errors, under asyncio. A cancellation waits for the end of the fsync.

        Example:
            >>> async def main():
            ...     await queue.apush(b"one")
            ...     await queue.aflush()
            >>> asyncio.run(main())
        """
        await self._async_producer.flush()

    # ---- producers

    def producer(
        self,
        *,
        linger: Duration = 0.005,
        batch_bytes: Size = "1m",
        buffer_bytes: Size = "32m",
        sync: bool = False,
    ) -> BatchingProducer[Value]:
        """A producer that pushes records one by one, without a round trip for each.

        Args:
            linger: The maximum time that a record waits for others of its batch: seconds, a timedelta, or a string such
                as "5ms".
            batch_bytes: A batch of this size is sent at once: bytes, or a string such as "1m".
            buffer_bytes: The maximum number of bytes of records that wait to be pushed, plus 128 for each record;
                beyond it `push` blocks.
            sync: Whether a handle is done only when its record is durable. The records of a batch share one fsync.

        Returns:
            The producer, which has a thread until it is closed.

        Raises:
            ConfigError: linger or a size is not allowed.
            Closed: The queue is closed.

        Example:
            >>> with queue.producer() as producer:
            ...     handles = [producer.push(record) for record in (b"one", b"two", b"three")]
            >>> [handle.result() for handle in handles]
            [0, 1, 2]
        """
        return BatchingProducer(
            self._handle, self._producer, linger=linger, batch_bytes=batch_bytes, buffer_bytes=buffer_bytes, sync=sync
        )

    def push_once(
        self,
        producer: str,
        sequence: int,
        items: Iterable[Value | Record],
        *,
        timeout: Duration | None = None,
        sync: bool = False,
    ) -> int | None:
        """Appends a batch unless the producer has pushed it before: makes retries idempotent.

        All records become visible together, or none. They must fit into the queue, and into a quarter of the JVM's
        heap, at once. After a kill of the JVM at any moment, both the batch and its sequence number are stored, or
        neither. docs/explanation/producers.md says what remains after a loss of power.

        Args:
            producer: 1 to 100 letters, digits, "_", "-" or ".". A producer pushes one batch at a time.
            sequence: The batch's sequence number, 0 or more, higher than the last one; gaps are allowed.
            items: The records; an empty batch is allowed.
            timeout: The maximum time to wait for room: seconds, a timedelta, or a string such as "500ms"; None for no
                limit.
            sync: Whether to return only when batch and sequence number are durable, so that a loss of power at any
                moment duplicates no batch. It costs two fsyncs; all pushes wait during the first.

        Returns:
            The first record's offset; None when the queue already has this producer's batch of this or a higher
            sequence.

        Raises:
            Full: The queue had no room in time.
            TooLarge: A record is larger than max_event_size, or the batch larger than the queue.
            ConfigError: The name is not allowed, or the directory is of format version 1.
            Closed: The queue is closed, or was closed during the wait.
            Poisoned: An earlier failure to write made the queue unsafe to write to.
            ValueError: The sequence number is below 0, or more than 2**63 - 1.
            TypeError: One of `items` is not bytes-like, and the queue has no serializer.

        Example:
            >>> queue.push_once("importer", 1, [b"one", b"two"])
            0
            >>> queue.push_once("importer", 1, [b"one", b"two"]) is None
            True
        """
        if not 0 <= whole("sequence", sequence) <= names.LONG_MAX:
            raise ValueError(f"sequence = {sequence}: it must be 0 to {names.LONG_MAX}")
        records = self._handle.records(items)
        sequenced = ProducerSequence(name_of("producer", producer), sequence)
        return self._producer.push_once(sequenced, records, timeout, sync=sync)

    def last_sequence(self, producer: str) -> int | None:
        """The sequence number of a producer's last batch of `push_once`; None for an unknown producer.

        Args:
            producer: The producer's name.

        Raises:
            ConfigError: The name is not allowed.
            Closed: The queue is closed.

        Example:
            >>> queue.push_once("importer", 1, [b"one"])
            0
            >>> queue.last_sequence("importer")
            1
        """
        last: int = self._handle.call("lastSequence", name_of("producer", producer))
        return None if last < 0 else last

    def producers(self) -> list[str]:
        """The names of the producers that have pushed with `push_once`, in alphabetical order.

        Example:
            >>> queue.push_once("importer", 1, [b"one"])
            0
            >>> queue.producers()
            ['importer']
        """
        found: list[str] = json.loads(self._handle.call("producers"))
        return found

    def producer_stats(self) -> dict[str, ProducerStats]:
        """The last batch of each producer of `push_once`, by name; also of a queue that was opened with read_only.

        Raises:
            Closed: The queue is closed.
            Corrupt: The page of a producer is damaged.

        Example:
            >>> queue.push_once("importer", 1, [b"one"])
            0
            >>> queue.producer_stats()["importer"].end_offset
            1
        """
        return parsed_producers(self._handle.call("producerStats"))

    def forget_producer(self, producer: str) -> None:
        """Deletes the sequence numbers of a producer, which may then start again. Its records stay.

        Args:
            producer: The producer's name.

        Raises:
            ConfigError: No producer has this name.
            Closed: The queue is closed.

        Example:
            >>> queue.push_once("importer", 1, [b"one"])
            0
            >>> queue.forget_producer("importer")
            >>> queue.producers()
            []
        """
        self._handle.call("forgetProducer", name_of("producer", producer))

    # ---- random access

    def read_at(self, offset: int) -> Message[Value]:
        """Reads a record, and moves no consumer.

        Args:
            offset: The record's offset.

        Returns:
            The record; its attempts are 0.

        Raises:
            OutOfRange: The record is not retained any more, or not pushed yet.
            Corrupt: The record is damaged.
            Closed: The queue is closed.

        Example:
            >>> queue.push_many([b"one", b"two"])
            2
            >>> queue.read_at(1).data
            b'two'
        """
        return read(self._handle, as_long(offset), 1)[0]

    def read_many(self, offset: int, max_records: int) -> list[Message[Value]]:
        """Reads records, and moves no consumer.

        Args:
            offset: The first record's offset.
            max_records: The maximum number of records.

        Returns:
            The records, in order, at least one; their attempts are 0.

        Raises:
            OutOfRange: The first record is not retained any more, or not pushed yet.
            Corrupt: The record is damaged.
            Closed: The queue is closed.

        Example:
            >>> queue.push_many([b"one", b"two", b"three"])
            3
            >>> [message.data for message in queue.read_many(1, 10)]
            [b'two', b'three']
        """
        return read_many(self._handle, as_long(offset), count("max_records", max_records))

    def find(self, time: datetime) -> int | None:
        """Finds a record by the time at which it was pushed.

        Args:
            time: An aware datetime.

        Returns:
            The offset of the first record that was pushed then or later; None if no such record has been pushed.

        Raises:
            ConfigError: The queue stores no timestamps.
            ValueError: The datetime is naive.
            Closed: The queue is closed.
            MmapQueueError: The record may be in the archive into which the ring overflows, and that cannot be read.

        Example:
            >>> queue.push(b"one")
            0
            >>> queue.find(queue.read_at(0).timestamp)
            0
            >>> queue.find(datetime(2200, 1, 1, tzinfo=timezone.utc)) is None
            True
        """
        found: int = self._handle.call("find", micros(time))
        return None if found < 0 else found

    def first_offset(self) -> int:
        """The offset of the oldest retained record; `end_offset` when no record is retained.

        Example:
            >>> queue.first_offset()
            0
        """
        first: int = self._handle.call("firstOffset")
        return first

    def end_offset(self) -> int:
        """The offset of the next record.

        Example:
            >>> queue.push_many([b"one", b"two"])
            2
            >>> queue.end_offset()
            2
        """
        end: int = self._handle.call("endOffset")
        return end

    def read_arrow(self, first: int | None = None, end: int | None = None) -> RecordBatch:
        """Reads a range of offsets as one pyarrow RecordBatch, and moves no consumer.

        Up to 4 MiB of data stay where they are in shared memory, as from `pop_arrow`; more is copied into one piece.
        For ranges that exceed the memory, use `iter_arrow`.

        Args:
            first: The first record's offset; None for the log start.
            end: The offset after the last record, as in `range`; None, or any offset above `end_offset`, for the log
                end.

        Returns:
            The records, with columns as from `pop_arrow`; empty when `first` is `end` or the log end. Records that were
            lost before a repair are missing.

        Raises:
            OutOfRange: The first record is not retained any more, or not pushed yet; or a later record was reclaimed
                during the read.
            Corrupt: A record is damaged.
            TooLarge: The range has more than 2 GiB of data.
            Closed: The queue is closed.
            ValueError: `end` is below `first`.
            ImportError: pyarrow is not installed.

        Example:
            >>> queue.push_many([b"one", b"two", b"three"])
            3
            >>> queue.read_arrow(1, 3)["value"].to_pylist()
            [b'two', b'three']
        """
        return joined_range(self._handle, first, end)

    def iter_arrow(
        self, first: int | None = None, end: int | None = None, *, max_records: int | None = None
    ) -> RecordBatchReader:
        """Reads a range of offsets as a pyarrow RecordBatchReader, one batch at a time, and moves no consumer.

        Args:
            first: The first record's offset; None for the log start.
            end: The offset after the last record, as in `range`; None, or any offset above `end_offset`, for the log
                end at the time of this call.
            max_records: The maximum number of records of a batch; None for 4 MiB of data, or a single larger record.

        Returns:
            An iterator over RecordBatches, which DuckDB, polars and pyarrow also read as a stream. Each batch is read
            when it is requested, and raises as `read_arrow`.

        Raises:
            OutOfRange: The first record is not pushed yet.
            Closed: The queue is closed.
            ValueError: `end` is below `first`, or `max_records` below 1.
            ImportError: pyarrow is not installed.

        Example:
            >>> queue.push_many([b"one", b"two", b"three"])
            3
            >>> sum(batch.num_rows for batch in queue.iter_arrow(max_records=2))
            3
        """
        if max_records is not None:
            count("max_records", max_records)
        return batch_reader(self._handle, first, end, max_records)

    # ---- consumers

    def consumer(
        self,
        name: str,
        *,
        start: SeekTarget = "earliest",
        prefetch: int | None = None,
        ack_linger: Duration | None = None,
    ) -> Consumer[Value]:
        """Returns the consumer of a name; creates it if it does not exist. Each consumer gets every record.

        Args:
            name: 1 to 100 letters, digits, "_", "-" or "."; the same name returns the same object, until that is
                closed.
            start: Where a new consumer starts: "earliest", at the oldest retained record; "latest", at the next record
                that is pushed; an offset; or an aware datetime, at the first record that was pushed then or later.
            prefetch: As in `Queue`; None for the queue's own. An open consumer keeps the value that it was opened with.
            ack_linger: As in `Queue`; None for the queue's own, likewise.

        Returns:
            The consumer. This process owns it until the consumer or the queue is closed.

        Raises:
            Locked: Another process owns it.
            ConfigError: The name, the start, prefetch or ack_linger is not allowed.
            OutOfRange: The first record is not retained any more, or not pushed yet.
            ValueError: The datetime is naive.
            Closed: The queue is closed.

        Example:
            >>> audit = queue.consumer("audit", start="latest")
            >>> queue.push(b"one")
            0
            >>> audit.pop().data, queue.pop().data
            (b'one', b'one')
        """
        return self._consumers.open(name, start, prefetch, ack_linger)

    def create_consumer(self, name: str, *, start: SeekTarget = "earliest") -> None:
        """Creates a consumer for later use, or for another process that opens the queue with `read_only=True`.

        From then on the queue retains the records that the consumer has not acked. Does nothing if it exists.

        Args:
            name: As in `consumer`.
            start: As in `consumer`.

        Raises:
            ConfigError: The name or the start is not allowed.
            OutOfRange: The first record is not retained any more, or not pushed yet.
            ValueError: The datetime is naive.
            Closed: The queue is closed.

        Example:
            >>> queue.create_consumer("audit")
            >>> queue.consumers()
            ['audit']
        """
        self._handle.call("createConsumer", name_of("consumer", name), target_text("start", start, STARTS))

    def delete_consumer(self, name: str) -> None:
        """Deletes a consumer; the ring may reuse space that it alone retained. Closes it if this process owns it.

        Any consumer can be deleted, the default one and the last one included. A queue without a consumer retains all
        records from the last one's committed position on, until the queue is full. The next `pop` of a queue that reads
        as this consumer creates it again: stop its readers first.

        Args:
            name: The consumer's name.

        Raises:
            ConfigError: No consumer has this name, or the format version is 1, which always has its default consumer.
            Locked: Another process owns it.
            Closed: The queue is closed.

        Example:
            >>> queue.create_consumer("audit")
            >>> queue.delete_consumer("audit")
            >>> queue.consumers()
            []
        """
        self._consumers.delete(name)

    def consumers(self) -> list[str]:
        """The names of all consumers, whichever process owns them, in alphabetical order.

        A new queue of format version 2 has none.

        Example:
            >>> queue.create_consumer("audit")
            >>> queue.push(b"one")
            0
            >>> message = queue.pop()
            >>> queue.consumers()
            ['audit', 'default']
        """
        return self._consumers.names()

    def consumer_stats(self) -> dict[str, ConsumerStats]:
        """The position and lag of each consumer by its name, in the order of `consumers`.

        Example:
            >>> queue.create_consumer("audit")
            >>> queue.push_many([b"one", b"two"])
            2
            >>> queue.consumer_stats()["audit"].lag_records
            2
        """
        return parsed_consumers(self._handle.call("consumerStats"))

    def acked_ranges(self, consumer: str) -> list[range]:
        """The offsets that a consumer has acked, whichever process owns it. It is neither opened nor moved.

        The first range ends at the committed offset of this moment, or at the first dropped record that the consumer
        has not passed yet. Acks out of order, after that, are those that the owner has stored last, at a flush (every
        flush_period) or a close; in format version 1 there are none. Also available in a process that only reads.

        Args:
            consumer: The consumer's name.

        Returns:
            The ranges in ascending order, none of them empty; no range if no such consumer exists.

        Raises:
            ConfigError: The name is not allowed.
            Closed: The queue is closed.

        Example:
            >>> queue.push_many([b"one", b"two", b"three", b"four"])
            4
            >>> messages = queue.pop_many(4)
            >>> queue.ack_many([messages[0], messages[2]])
            >>> queue.flush()
            >>> queue.acked_ranges("default")
            [range(0, 1), range(2, 3)]
        """
        found = json.loads(self._handle.call("ackedRanges", name_of("consumer", consumer)))
        return [range(each["first"], each["end"]) for each in found]

    # ---- the archive

    def durable_offset(self) -> int:
        """The offset after the last record that is durable on this host: that survives a loss of power.

        Also available in a process that only reads. At least the offset of the oldest retained record.

        Raises:
            Closed: The queue is closed.

        Example:
            >>> queue.push(b"one", sync=True)
            0
            >>> queue.durable_offset()
            1
        """
        offset: int = self._handle.call("durableOffset")
        return offset

    def await_shipped(self, offset: int, *, timeout: Duration | None = None) -> bool:
        """Waits until the archive has a record and all records before it, whichever process ships the queue.

        A record in the archive survives the loss of this host. In the writing process, this first makes the records
        durable. If this process ships the queue, it ships at once, and not only after the ship_period; calls that
        wait at the same time share a file of the archive.

        Args:
            offset: The record's offset.
            timeout: The maximum time to wait: seconds, a timedelta, or a string such as "30s"; None for no limit.

        Returns:
            Whether the archive has them in time.

        Raises:
            ConfigError: No consumer `ship` exists, as no process has shipped this queue.
            OutOfRange: The record was not pushed.
            Dropped: A purge, max_age or max_consumer_lag has dropped the record before it was shipped. The archive may
                still get it while its segment is not reused.
            Closed: The queue is closed, or was closed during the wait.
            MmapQueueError: This process shipped the queue, and shipping has failed.

        Example:
            >>> with mmapqueue.Queue("shipped", archive_uri="archive", ship_period="10ms") as shipped:
            ...     shipped.await_shipped(shipped.push(b"one"), timeout="60s")
            True
        """
        return self._archive.wait_for(as_long(offset), Deadline(timeout))

    async def aawait_shipped(self, offset: int, *, timeout: Duration | None = None) -> bool:
        """As `await_shipped`, with its errors, under asyncio. A cancellation waits for a fraction of a second.

        Args:
            offset: The record's offset.
            timeout: The maximum time to wait: seconds, a timedelta, or a string such as "30s"; None for no limit.

        Returns:
            Whether the archive has the record and all before it.

        Example:
            >>> async def main():
            ...     async with mmapqueue.Queue("shipped", archive_uri="archive", ship_period="10ms") as shipped:
            ...         return await shipped.aawait_shipped(await shipped.apush(b"one"), timeout="60s")
            >>> asyncio.run(main())
            True
        """
        return await self._archive.wait_for_async(as_long(offset), Deadline(timeout))

    def ship_stats(self) -> ShipStats | None:
        """Statistics of this process's shipping; None for a queue that was opened without archive_uri.

        Raises:
            Closed: The queue is closed.

        Example:
            >>> queue.ship_stats() is None
            True
        """
        return self._archive.stats()

    # ---- operations

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

    def metrics(self) -> str:
        """The metrics of the queue and of its consumers, in the text format of Prometheus.

        Each call costs a fraction of a millisecond; nothing is measured between calls. Figures that only another
        process knows are absent: those of the writer in a queue that is opened with read_only, those of a consumer's
        owner in other processes. `MetricsCollector` provides them to prometheus-client.

        Raises:
            Closed: The queue is closed.

        Example:
            >>> queue.push_many([b"one", b"two"])
            2
            >>> print(queue.metrics().splitlines()[2].partition("{")[0])
            mmapqueue_pushed_records_total
        """
        text: str = self._handle.call("metrics")
        return text

    def damaged_ranges(self) -> dict[str, list[DamagedRange]]:
        """The damaged ranges that consumers of this process have skipped (`on_damage="skip"`) since they were opened.

        Returns:
            By consumer's name, the latest ranges of each, at most a thousand; consumers without damage are left out.

        Raises:
            Closed: The queue is closed.

        Example:
            >>> queue.damaged_ranges()
            {}
        """
        return parsed_ranges(self._handle.call("damagedRanges"))

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

    def purge(self) -> int:
        """Acks all records that are in the queue at the call, for all consumers: waiting, in flight, requeued.

        A later ack of one of them does nothing. Without a consumer, the queue no longer retains any of them. Records
        that are pushed during the call stay. Like an ack, it is durable with the next flush.

        Returns:
            The number of records, from the first one that some consumer had not acked.

        Raises:
            Locked: Another process owns a consumer. Nothing was acked.
            ConfigError: This process ships the queue into an archive, which would miss records.
            ReadOnly: The queue was opened with read_only.
            Closed: The queue is closed.

        Example:
            >>> queue.push_many([b"one", b"two"])
            2
            >>> queue.purge()
            2
        """
        # A prefetched record would be delivered although it is acked.
        self._handle.release_undelivered()
        purged: int = self._handle.call("purge")
        return purged

    def destroy(self) -> None:
        """Closes the queue and deletes its files, and the directory if no other files are in it.

        A later open creates a new queue, with another identity. A process that reads without a consumer holds no lock:
        it keeps the deleted files open until it closes the queue.

        Raises:
            Locked: Another handle of the JVM has the queue open, or another process owns a consumer. The queue stays
                open.
            ReadOnly: The queue was opened with read_only.
            MmapQueueError: A file cannot be deleted.
            Closed: The queue is closed.

        Example:
            >>> queue.destroy()
            >>> queue.closed
            True
        """
        self._handle.call("destroy")
        self._handle.close()

    # ---- the end

    def close(self) -> None:
        """Closes this handle; closing the JVM's last handle flushes and closes the queue. Waiting calls raise Closed.

        Does nothing when repeated.

        Example:
            >>> queue.close()
            >>> queue.closed
            True
        """
        super().close()

    def __repr__(self) -> str:
        return f"<mmapqueue.Queue {self.path!r}{' (closed)' if self.closed else ''}>"
