"""Opens queues for commands: only existing ones, in a JVM that starts fast."""

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import mmapqueue
from mmapqueue._jvm import standalone
from mmapqueue._values.arguments import absolute
from mmapqueue._values.errors import NotFound

#: Files of which a queue has at least one: the second in the middle of a resize, the last one when it is damaged.
_FILES = ("meta.dat", "resize.ready", "*_segment.dat")
_PARTITION = re.compile(r"p=(\d+)")


def open_to_read(directory: str, **options: Any) -> mmapqueue.Queue[bytes]:
    """Opens a queue for reading alone, beside a process that writes it. Creates nothing.

    Args:
        directory: The queue's directory.
        **options: Those of `mmapqueue.Queue`.

    Raises:
        NotFound: The directory has no queue.
        MmapQueueError: As from `mmapqueue.Queue`.
    """
    path = existing(directory)
    standalone.start_quickly()
    return mmapqueue.Queue(path, read_only=True, **options)


def open_to_write(directory: str, *, quickly: bool = True, **options: Any) -> mmapqueue.Queue[bytes]:
    """Opens an existing queue for writing; recovers one that was not closed.

    Args:
        directory: The queue's directory.
        quickly: Whether the command ends soon. If not, the JVM compiles for throughput.
        **options: Those of `mmapqueue.Queue`.

    Raises:
        NotFound: The directory has no queue.
        Locked: Another process writes it.
        MmapQueueError: As from `mmapqueue.Queue`.
    """
    path = existing(directory, "; `mmapqueue create` makes one")
    if quickly:
        standalone.start_quickly()
    return mmapqueue.Queue(path, **options)


def existing(directory: str, advice: str = "") -> str:
    """The absolute path of a directory that has a queue.

    Args:
        directory: The directory.
        advice: The end of the error when it has none.

    Raises:
        NotFound: The directory has no queue.
        PermissionError: The directory cannot be read.
    """
    path = absolute("DIR", directory)
    if not any(True for pattern in _FILES for _ in Path(path).glob(pattern)):
        with suppress(FileNotFoundError, NotADirectoryError):
            os.scandir(path).close()  # `glob` finds nothing where it may not read.
        raise NotFound(f"there is no queue in {path}{advice}")
    return path


def queues_in(directory: str) -> list[str]:
    """The directories of queues: those of the partitions, by number, if the directory has some; otherwise itself."""
    path = Path(directory)
    partitions = []
    if path.is_dir() and not (path / _FILES[0]).exists():
        found = (each for each in path.iterdir() if _PARTITION.fullmatch(each.name))
        partitions = sorted(found, key=lambda each: partition_number(str(each)))
    return list(map(str, partitions or [path]))


def partition_number(directory: str) -> int:
    """The number of the partition in a directory `p=N`; 0 for any other."""
    match = _PARTITION.fullmatch(Path(directory).name)
    return int(match[1]) if match else 0
