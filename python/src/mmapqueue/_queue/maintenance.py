"""Maintenance of a queue: purge, destroy, damaged ranges, metrics."""

from typing import NamedTuple

from mmapqueue._jvm import names
from mmapqueue._queue.handle import QueueHandle


class DamagedRange(NamedTuple):
    """A damaged part of the log that a consumer with `on_damage="skip"` has skipped. Immutable.

    Attributes:
        first_offset: The offset of the first record that was skipped.
        last_offset: The offset of the last one; below first_offset if no record is lost.
        file: The segment file.
        position: The byte in the file at which the damage was found.
        detail: The value found there, and the expected one.

    Example:
        >>> DamagedRange(5, 7, "events/0_segment.dat", 1024, "no record").records
        3
    """

    first_offset: int
    last_offset: int
    file: str
    position: int
    detail: str

    @property
    def records(self) -> int:
        """The number of records that were skipped."""
        return self.last_offset - self.first_offset + 1


class Maintenance:
    """The methods of a queue that its operators call."""

    _handle: QueueHandle

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
        found: dict[str, list[DamagedRange]] = {}
        text: str = self._handle.call("damagedRanges")
        for line in text.split("\n") if text else []:
            name, first, last, position, file, detail = line.split(names.SEPARATOR)
            found.setdefault(name, []).append(DamagedRange(int(first), int(last), file, int(position), detail))
        return found
