"""Shipping: what an archive has of a queue."""

from datetime import datetime, timedelta, timezone
from typing import NamedTuple

from mmapqueue._queue.deadline import Deadline
from mmapqueue._queue.handle import QueueHandle
from mmapqueue._values.durations import Duration
from mmapqueue._values.offsets import as_long

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class ShipStats(NamedTuple):
    """Counters and state of this process's shipping into the archive since it opened the queue. Immutable.

    The lag is that of the consumer `ship`: see `Queue.consumer_stats`.

    Attributes:
        records: Number of records stored in the archive.
        bytes: Bytes of these records, uncompressed, headers included.
        runs: Number of files stored.
        failures: Number of failed attempts.
        last_run: Time at which the last file was stored, in UTC; None before the first.
        has_begun: Whether the archive's end was found, from which shipping continues.
        failure: The error of the last attempt, or the error that ended the shipping; None after a success.
        failing_since: Time of the first failure since the last success, in UTC; None after a success.
        has_ended: Whether shipping has ended.

    Example:
        >>> with mmapqueue.Queue("shipped", archive_uri="archive", ship_period="10ms") as shipped:
        ...     shipped.push(b"one", shipped=True)
        ...     shipped.ship_stats().failures
        0
        0
    """

    records: int
    bytes: int
    runs: int
    failures: int
    last_run: datetime | None
    has_begun: bool
    failure: str | None
    failing_since: datetime | None
    has_ended: bool


def _time(micros: str) -> datetime | None:
    return _EPOCH + timedelta(microseconds=int(micros)) if micros else None


class Shipping:
    """The methods of a queue that concern its archive."""

    _handle: QueueHandle

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

    def await_shipped(self, offset: int, timeout: Duration | None = None) -> bool:
        """Waits until the archive has a record and all records before it, whichever process ships the queue.

        A record in the archive survives the loss of this host. In the writing process, this first makes the records
        durable.

        Args:
            offset: The record's offset.
            timeout: The longest to wait: seconds, a timedelta, or a text such as "30s"; None for as long as it takes.

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
        deadline, number = Deadline(True, timeout), as_long(offset)
        while not self._handle.call("awaitShipped", number, deadline.call_millis()):
            if deadline.has_passed():
                return False
        return True

    async def aawait_shipped(self, offset: int, timeout: Duration | None = None) -> bool:
        """As `await_shipped`, with its errors, under asyncio. A cancellation waits for a fraction of a second.

        Args:
            offset: The record's offset.
            timeout: The longest to wait: seconds, a timedelta, or a text such as "30s"; None for as long as it takes.

        Returns:
            Whether the archive has the record and all before it.

        Example:
            >>> async def main():
            ...     async with mmapqueue.Queue("shipped", archive_uri="archive", ship_period="10ms") as shipped:
            ...         return await shipped.aawait_shipped(await shipped.apush(b"one"), timeout="60s")
            >>> asyncio.run(main())
            True
        """
        return await self._handle.threads.wait(
            lambda seconds: self.await_shipped(offset, timeout=seconds), Deadline(True, timeout)
        )

    def ship_stats(self) -> ShipStats | None:
        """Statistics of this process's shipping; None for a queue that was opened without archive_uri.

        Raises:
            Closed: The queue is closed.

        Example:
            >>> queue.ship_stats() is None
            True
        """
        text: str = self._handle.call("shipStats")
        if not text:
            return None
        values = dict(line.split("=", 1) for line in text.splitlines())
        return ShipStats(
            int(values["records"]),
            int(values["bytes"]),
            int(values["runs"]),
            int(values["failures"]),
            _time(values["lastRun"]),
            values["hasBegun"] == "true",
            values["failure"] or None,
            _time(values["failingSince"]),
            values["hasEnded"] == "true",
        )

    def _await_all_shipped(self, pushed: int) -> None:
        """Waits until the archive has all records of the queue; errors have the number of pushed records."""
        try:
            self.await_shipped(self._last_offset())
        except BaseException as error:
            error.pushed = pushed  # type: ignore[attr-defined]
            raise

    def _last_offset(self) -> int:
        return int(self._handle.call("endOffset")) - 1
