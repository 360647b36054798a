"""Describes an archive: its partitions, gaps and consumers."""

import json
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from mmapqueue._jvm import bridge, names
from mmapqueue._jvm.answers import named, time_of, time_or_none
from mmapqueue._jvm.calls import Call


class PartitionState(NamedTuple):
    """A partition of an archive.

    Attributes:
        partition: The partition's number in the archive.
        host: The host that ships the queue.
        queue: The queue's UUID.
        local: The number of the partition in the queue's directory.
        first_offset: The log start.
        end_offset: The log end.
        runs: Number of files that a reader of all records opens.
        bytes: Bytes of the records, uncompressed.
        last_run: Time at which the last file was stored; None for none.
        error: Why a part of this could not be read; None for no error. What is not known is 0, -1 or empty.
    """

    partition: int
    host: str
    queue: str
    local: int
    first_offset: int
    end_offset: int
    runs: int
    bytes: int
    last_run: datetime | None
    error: str | None


class ConsumerState(NamedTuple):
    """A consumer of an archive.

    Attributes:
        name: The consumer's name.
        label: The owner's description.
        last_commit: Time of the last commit.
        offsets: The committed offset of each partition.
    """

    name: str
    label: str
    last_commit: datetime
    offsets: dict[int, int]

    def lag(self, partitions: Iterable[PartitionState]) -> int:
        """The number of records that the consumer has not committed."""
        return sum(
            max(0, each.end_offset - max(each.first_offset, self.offsets.get(each.partition, 0))) for each in partitions
        )


class GapState(NamedTuple):
    """Records of a partition that no file of the archive has.

    Attributes:
        partition: The partition's number in the archive.
        first: The offset of the first record.
        last: The offset of the last record.
        reason: `dropped` by the queue before they were shipped, marked as `lost`, or `missing`, if files have vanished.
    """

    partition: int
    first: int
    last: int
    reason: str

    @property
    def records(self) -> int:
        """The number of records."""
        return self.last - self.first + 1


class ArchiveState(NamedTuple):
    """An archive.

    Attributes:
        uri: The archive's directory.
        id: The archive's UUID.
        partitions: The partitions by number.
        consumers: The consumers by name.
        gaps: The gaps by partition and offset.
    """

    uri: str
    id: str
    partitions: list[PartitionState]
    consumers: list[ConsumerState]
    gaps: list[GapState]


def describe(location: str) -> ArchiveState:
    """The state of an archive.

    Args:
        location: The archive's URI, or the absolute path of a local directory.

    Raises:
        ArchiveError: The location has no archive, or no library is installed that reads the file system.
        MmapQueueError: The archive cannot be read.
    """
    found = json.loads(_call("describe")(location))
    return ArchiveState(
        found["uri"],
        found["id"],
        [PartitionState(last_run=time_or_none(each.pop("lastRun")), **named(each)) for each in found["partitions"]],
        [
            ConsumerState(
                each["name"],
                each["label"],
                time_of(each["lastCommit"]),
                {int(partition): offset for partition, offset in each["offsets"].items()},
            )
            for each in found["consumers"]
        ],
        [GapState(**each) for each in found["gaps"]],
    )


def mark_lost(location: str, partition: int, first: int, last: int) -> list[GapState]:
    """Names records that no file has as lost.

    Args:
        location: The archive, as for `describe`.
        partition: The partition's number in the archive.
        first: The offset of the first record.
        last: The offset of the last record.

    Returns:
        The gaps that have got a name; records that a file has are not marked.

    Raises:
        ArchiveError: The archive has no such partition.
        MmapQueueError: The archive cannot be read or written.
    """
    return [GapState(**each) for each in json.loads(_call("markLost")(location, partition, first, last + 1))]


def delete_consumer(location: str, name: str) -> bool:
    """Deletes a consumer; returns whether it existed. Arguments and errors are those of `describe`."""
    return bool(_call("deleteConsumer")(location, name))


def take_over(location: str, directory: str) -> bool:
    """Lets a directory replace the host, or the other copy of the directory, that ships its queue.

    It takes effect when the directory is shipped the next time.

    Args:
        location: The archive, as for `describe`.
        directory: The queue's directory.

    Returns:
        Whether the archive exists, and somebody ships the queue into it.

    Raises:
        Locked: A process ships the directory.
        MmapQueueError: The directory has no queue, or the archive cannot be read.
    """
    return bool(_call("takeOver")(location, directory))


def _call(name: str) -> Call:
    return Call(bridge.class_of(None, names.ARCHIVE_ADMIN), name, names.ARCHIVE_CALLS[name])
