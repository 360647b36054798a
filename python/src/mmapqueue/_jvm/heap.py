"""The heap that the records of a queue need in a JVM of our own. A JVM keeps the heap that it was started with."""

import contextlib
import struct
from pathlib import Path

from mmapqueue._jvm import standalone
from mmapqueue._values.arguments import Size, size_in_bytes
from mmapqueue._values.errors import ConfigError

#: A record is in the heap several times: as it was pushed, as it was popped, and while a buffer is copied into another.
_COPIES = 8
#: The largest max_event_size.
_LARGEST = 1 << 27
#: Of meta.dat, which docs/reference/format.md describes: the magic, then up to the max event size.
_META = struct.Struct("<80x8s32xQ")
_MAGIC = b"MMAPQME2"


def reserve(directory: str, max_event_size: Size | None = None) -> None:
    """Makes the JVM of this process start with room for the records of a queue, if it does not run yet.

    Args:
        directory: The queue's directory, which need not exist.
        max_event_size: What the queue is opened with; None for what its directory has. The JVM refuses a wrong one.
    """
    largest = 0
    with contextlib.suppress(OSError, struct.error), Path(directory, "meta.dat").open("rb") as meta:
        magic, stored = _META.unpack(meta.read(_META.size))
        largest = stored if magic == _MAGIC else 0
    if max_event_size is not None:
        with contextlib.suppress(ConfigError):
            largest = max(largest, size_in_bytes("max_event_size", max_event_size))
    standalone.start_with([], -(-_COPIES * min(largest, _LARGEST) >> 20))
