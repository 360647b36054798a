"""Shipping: what an archive has of a queue, and a queue that continues what an archive has."""

import json
import os
from datetime import datetime
from typing import Any, NamedTuple

from mmapqueue._jvm import bridge, names
from mmapqueue._jvm.answers import named, time_or_none
from mmapqueue._jvm.calls import Call
from mmapqueue._queue.deadline import Deadline
from mmapqueue._queue.handle import QueueHandle
from mmapqueue._queue.options import options
from mmapqueue._values.annotations import SparkContext, SparkSession, Unpack
from mmapqueue._values.arguments import absolute
from mmapqueue._values.configuration import Configuration


class ShipStats(NamedTuple):
    """Counters and state of this process's shipping into the archive since it opened the queue. Immutable.

    The lag is that of the consumer `ship`: see `Queue.consumer_stats`.

    Attributes:
        records: Number of records stored in the archive, without those that a repair has lost.
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


def adopt(
    path: str | os.PathLike[str],
    *,
    partition: int,
    spark: SparkSession | SparkContext | None = None,
    **configuration: Unpack[Configuration],
) -> int:
    """Creates an empty queue that continues a partition of an archive, after the host that shipped it is lost.

    The new queue has the identity of the lost one. Its first record gets the offset after the last record of the
    archive, and no record gets an older timestamp than the newest one there. From now on the lost host acks nothing any
    more, should it come back: its shipper ends with an error, which names the records that it has not shipped.
    Consumers and idempotent producers of the lost queue are not in the archive: the new queue has none. Thread-safe; of
    several calls for one partition at once, one alone succeeds.

    If the call raises, the directory has no queue, and the call can be repeated. After a kill the directory has the
    whole queue, or is marked as incomplete: delete it then, and repeat the call.

    Args:
        path: The directory of the new queue, which must be empty or not exist.
        partition: The partition's number in the archive.
        spark: A SparkSession or SparkContext, to use its JVM; None to use a JVM that this process starts.
        **configuration: The keys of a new queue, with `archive_uri`: the archive. `archive_host` names this host in the
            archive.

    Returns:
        The offset of the queue's first record.

    Raises:
        ConfigError: `archive_uri` is not given, a value is out of range, or the directory holds other files.
        ArchiveError: There is no archive or no such partition, its newest run is damaged, or another process has
            claimed the partition at the same time.
        Locked: Another process creates a queue in this directory.
        MmapQueueError: The directory has a queue, or an incomplete one, or a file cannot be read or written.

    Example:
        >>> with mmapqueue.Queue("lost", archive_uri="hosts", ship_period="10ms") as lost:
        ...     lost.push_many([b"one", b"two"], shipped=True)
        2
        >>> mmapqueue.adopt("found", partition=0, archive_uri="hosts")
        2
        >>> with mmapqueue.Queue("found", archive_uri="hosts", ship_period="10ms") as found:
        ...     found.push(b"three", shipped=True)
        2
    """
    keys: dict[str, Any] = {**configuration}
    adoption = bridge.class_of(spark, names.ARCHIVE_ADMIN)
    offset: int = Call(adoption, "adopt", names.ARCHIVE_CALLS["adopt"])(
        options(absolute("path", path), keys, "adopt"), partition
    )
    return offset


def change_archive(
    path: str | os.PathLike[str],
    *,
    take_over: bool = False,
    spark: SparkSession | SparkContext | None = None,
    **configuration: Unpack[Configuration],
) -> bool:
    """Lets a queue be shipped into another archive from now on, from the first record of its ring on.

    A queue that was shipped once is shipped into the same archive for ever, even if a different one is at its place,
    until this call claims the queue's partition in another one. If the call raises, the queue belongs to its archive as
    before. It can be repeated, also after a kill. Thread-safe.

    Args:
        path: The directory of the queue, which no process ships or has open to write.
        take_over: Whether this directory replaces the host, or the other copy of it, that ships the queue there: as a
            queue that returns to an archive must.
        spark: A SparkSession or SparkContext, to use its JVM; None to use a JVM that this process starts.
        **configuration: The keys with which the queue is shipped from now on, with `archive_uri`: the other archive.

    Returns:
        Whether the archive was another one.

    Raises:
        ConfigError: `archive_uri` is not given, or a value is out of range.
        ArchiveError: Another host or directory ships the queue there, the archive has other records than the queue, or
            no library is installed that reads the file system.
        Locked: A process ships the directory, or this one has the queue open to write.
        MmapQueueError: The directory has no queue, a consumer needs records that only the former archive has, or the
            archive cannot be read or written.

    Example:
        >>> with mmapqueue.Queue("moving", archive_uri="first", ship_period="10ms") as queue:
        ...     queue.push(b"one", shipped=True)
        0
        >>> mmapqueue.change_archive("moving", archive_uri="second")
        True
        >>> with mmapqueue.Queue("moving", archive_uri="second", ship_period="10ms") as queue:
        ...     queue.push(b"two", shipped=True)
        1
    """
    keys: dict[str, Any] = {**configuration}
    change = Call(bridge.class_of(spark, names.ARCHIVE_ADMIN), "changeArchive", names.ARCHIVE_CALLS["changeArchive"])
    return bool(change(options(absolute("path", path), keys, "change_archive"), int(take_over)))
