"""Shipping: what an archive has of a queue."""

import json
from datetime import datetime
from typing import NamedTuple

from mmapqueue._jvm.answers import named, time_or_none
from mmapqueue._queue.deadline import Deadline
from mmapqueue._queue.handle import QueueHandle


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


class Archive:
    """The archive of a queue: waits until it has records. Safe for any number of threads."""

    def __init__(self, handle: QueueHandle) -> None:
        self._handle = handle

    def wait_for(self, offset: int, deadline: Deadline | None = None) -> bool:
        """As `Queue.await_shipped`; without a deadline for as long as it takes."""
        limit = Deadline() if deadline is None else deadline
        while not self._handle.call("awaitShipped", offset, limit.call_millis()):
            if limit.has_passed():
                return False
        return True

    async def wait_for_async(self, offset: int, deadline: Deadline | None = None) -> bool:
        """As `wait_for`, under asyncio."""
        limit = Deadline() if deadline is None else deadline
        return await self._handle.threads.wait(lambda seconds: self.wait_for(offset, Deadline(seconds)), limit)

    def wait_for_all(self, pushed: int) -> None:
        """Waits until the archive has all records of the queue; errors have the number of pushed records."""
        try:
            self.wait_for(self.last_offset())
        except BaseException as error:
            error.pushed = pushed  # type: ignore[attr-defined]
            raise

    def last_offset(self) -> int:
        """The offset of the last record of the queue."""
        return int(self._handle.call("endOffset")) - 1

    def stats(self) -> ShipStats | None:
        """As `Queue.ship_stats`."""
        found = json.loads(self._handle.call("shipStats"))
        if found is None:
            return None
        times = {name: time_or_none(found.pop(name)) for name in ("lastRun", "failingSince")}
        return ShipStats(**named(found | times))
