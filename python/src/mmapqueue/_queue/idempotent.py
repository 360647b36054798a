"""The producers of a queue: batching ones; idempotent ones, with which retries append a batch once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic

from mmapqueue._jvm import names
from mmapqueue._queue.batching.producer import BatchingProducer
from mmapqueue._queue.handle import QueueHandle
from mmapqueue._queue.producer import Producer, ProducerSequence, Record
from mmapqueue._queue.stats import ProducerStats, parsed_producers
from mmapqueue._values.annotations import Value
from mmapqueue._values.arguments import Size, name_of, whole
from mmapqueue._values.durations import Duration


class IdempotentProducers(Generic[Value]):
    """The methods of a queue for producers: batching ones, and idempotent ones."""

    _handle: QueueHandle
    _producer: Producer

    def producer(
        self,
        *,
        linger: Duration = 0.005,
        batch_bytes: Size = "1m",
        buffer_bytes: Size = "32m",
        sync: bool = False,
    ) -> BatchingProducer[Value]:
        """A producer that pushes one record a call without one round trip a record.

        Args:
            linger: The longest that a record waits for others of its batch: seconds, a timedelta, or a text such as
                "5ms".
            batch_bytes: From this size on, a batch does not linger: bytes, or a text such as "1m".
            buffer_bytes: The most bytes of records that wait to be pushed, 128 more for each; then `push` blocks.
            sync: Whether a handle is done only when its record is durable. The records of a batch share one fsync.

        Returns:
            The producer. It has a thread until it is closed.

        Raises:
            ConfigError: linger or a size is not allowed.
            Closed: The queue is closed.

        Example:
            >>> with queue.producer() as producer:
            ...     handles = [producer.push(record) for record in (b"one", b"two", b"three")]
            >>> [handle.result() for handle in handles]
            [0, 1, 2]
        """
        return BatchingProducer(self._handle, self._producer, linger, batch_bytes, buffer_bytes, sync)

    def push_once(
        self,
        producer: str,
        sequence: int,
        items: Iterable[Value | Record],
        timeout: Duration | None = None,
        sync: bool = False,
    ) -> int | None:
        """Appends a batch unless the producer has pushed it before: makes retries idempotent.

        All records become visible together, or none. They must fit into the queue, and into a quarter of the JVM's
        heap, at once. A kill of the JVM at any moment leaves the batch and its sequence number, or neither. See
        docs/explanation/producers.md for what a loss of power leaves.

        Args:
            producer: 1 to 100 letters, digits, "_", "-" or ".". It pushes one batch at a time.
            sequence: The batch's sequence number, 0 or more, higher than the last one; gaps are allowed.
            items: The records; an empty batch is allowed.
            timeout: The longest to wait for room: seconds, a timedelta, or a text such as "500ms"; None for as long as
                it takes.
            sync: Whether to return only when batch and sequence number are durable, so that a loss of power at any
                moment duplicates no batch. It costs two fsyncs; all pushes wait during the first.

        Returns:
            The first record's offset; None when the queue has this producer's batch of this or a higher sequence.

        Raises:
            Full: The queue had no room in time.
            TooLarge: A record is larger than max_event_size, or the batch larger than the queue.
            ConfigError: The name is not allowed, there are 1000 producers, or the directory is of format version 1.
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
        return self._producer.push_once(sequenced, records, timeout, sync)

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
        lines: str = self._handle.call("producers")
        return lines.splitlines()

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
        """Forgets a producer: its sequence numbers may start again. Its records stay.

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
