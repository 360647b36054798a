"""The identities and consumers of a queue's partitions, in a process that does not own it."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import UUID

import mmapqueue
from mmapqueue.pipeline._partitions import META, partitions

#: Position of the two halves of the UUID in meta.dat (docs/reference/format.md).
_UUID_POSITION = 88
_UUID = struct.Struct("<QQ")


def queue_ids(directory: Path) -> dict[int, str]:
    """Identities of a queue's partitions, by number.

    Raises:
        mmapqueue.NotFound: The directory has no queue.
        mmapqueue.Corrupt: A meta.dat is too short.
    """
    found = {number: _queue_id(each) for number, each in partitions(directory).items()}
    if not found:
        raise mmapqueue.NotFound(f"there is no queue in {directory}")
    return found


def create_consumers(spark: Any, directory: Path, names: Iterable[str]) -> None:
    """Creates missing consumers, at the oldest retained record of each partition.

    Args:
        spark: The session. Its JVM opens the queue read-only, while another process writes.
        directory: The queue's directory.
        names: Names of the consumers.
    """
    wanted = set(names)
    for each in partitions(directory).values():
        with opened(spark, each) as queue:
            for name in sorted(wanted - set(queue.consumers())):
                queue.create_consumer(name)


def opened(spark: Any, directory: Path) -> mmapqueue.Queue:
    """Opens a partition in a session's JVM: read-only, unless this JVM has it open to write."""
    try:
        return mmapqueue.Queue(directory, spark=spark, read_only=True)
    except mmapqueue.ConfigError:
        return mmapqueue.Queue(directory, spark=spark)


def _queue_id(directory: Path) -> str:
    file = directory / META
    with file.open("rb") as opened:
        opened.seek(_UUID_POSITION)
        found = opened.read(_UUID.size)
    if len(found) < _UUID.size:
        raise mmapqueue.Corrupt(f"{file} has no queue identity at {_UUID_POSITION}: it is shorter, or of version 1")
    most, least = _UUID.unpack(found)
    return str(UUID(int=most << 64 | least))
