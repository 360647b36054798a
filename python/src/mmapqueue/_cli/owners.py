"""Finds the process that holds a lock of a queue. Takes no lock, and disturbs no process."""

import fcntl
import os
import struct
from pathlib import Path
from typing import NamedTuple

from mmapqueue._jvm.lock_holders import owner_of
from mmapqueue._jvm.programs import command_of, program_text

#: `struct flock` of 64-bit Linux: type, whence, start, length, pid.
_FLOCK = struct.Struct("@hhqqi4x")
_WRITER = "lock"
_CONSUMERS = "consumers"


class Owner(NamedTuple):
    """A process that holds a lock.

    Attributes:
        pid: The process's id; where its JVM holds the lock, that of the Python process; None in another container.
        command: The process's command line; None if it cannot be read.
        program: The script or main class of it, with its arguments.
    """

    pid: int | None
    command: str | None
    program: str | None

    def __str__(self) -> str:
        process = f"pid {self.pid}" if self.pid else "a process of another container"
        return f"{process} {self.program}" if self.program else process

    @classmethod
    def of_process(cls, pid: int) -> "Owner":
        """A process; of a JVM that a Python process has started, that process.

        Raises:
            ProcessLookupError: The process ended at this moment.
        """
        pid = owner_of(pid) or pid
        words = command_of(pid)
        return cls(pid, " ".join(words), program_text(words)) if words else cls(pid, None, None)

    @classmethod
    def of_queue(cls, directory: str) -> "Owner | None":
        """The process that writes a queue; None if no process does."""
        return _holder(Path(directory) / _WRITER)

    @classmethod
    def of_consumer(cls, directory: str, name: str) -> "Owner | None":
        """The process that owns a consumer; None if no process does."""
        return _holder(Path(directory) / _CONSUMERS / f"{name}.lock")


def _holder(file: Path) -> Owner | None:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        # Queries which lock would conflict with a lock of the whole file.
        asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, _, _, _, pid = _FLOCK.unpack(fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
    finally:
        os.close(descriptor)
    if kind == fcntl.F_UNLCK:
        return None
    if pid <= 0:
        return Owner(None, None, None)
    try:
        return Owner.of_process(pid)
    except ProcessLookupError:
        return None
