"""Waits for a process that holds a lock and is ending."""

import re
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep
from typing import TypeVar

from mmapqueue._values.errors import Locked

#: The argument on a JVM's command line that names the Python process with which the JVM ends.
OWNER = "-Dmmapqueue.owner="
#: The same on the command line of a Spark driver that Python has started: a property of the session.
SPARK_OWNER = "spark.mmapqueue.owner"

_OWNED = re.compile(rb"(?:%s|%s=)(\d+)" % (OWNER.encode(), re.escape(SPARK_OWNER).encode()))

_PROC = Path("/proc")
#: PF_EXITING: the kernel is ending the process.
_EXITING = 0x4
_PAUSE_SECONDS = 0.02

_Result = TypeVar("_Result")


def retry_while_ending(call: Callable[[], _Result], seconds: float) -> _Result:
    """Retries a call while a process that is ending holds the lock that it needs.

    Args:
        call: Raises Locked when a process holds the lock.
        seconds: The maximum time of retries.

    Raises:
        Locked: The holder is not ending, or has not ended in time.
    """
    deadline = monotonic() + seconds
    while True:
        try:
            return call()
        except Locked as error:
            if monotonic() >= deadline or not _is_ending(error.pid):
                raise
        sleep(_PAUSE_SECONDS)


def _is_ending(pid: int | None) -> bool:
    """Whether a holder, or the owner of a JVM that holds, is dead or exiting; True when that is unknown."""
    if pid is None or is_dead(pid):
        return True
    try:
        owner = owner_of(pid)
    except ProcessLookupError:
        return True
    return owner is not None and is_dead(owner)


def owner_of(pid: int) -> int | None:
    """The process that a JVM ends with, by the JVM's command line; None for any other process.

    Raises:
        ProcessLookupError: The process ended at this moment.
    """
    try:
        line = (_PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return None
    if not line:
        raise ProcessLookupError(pid)
    owners = filter(None, map(_OWNED.fullmatch, line.split(b"\0")))
    return next((int(owner[1]) for owner in owners), None)


def is_dead(pid: int) -> bool:
    """Whether a process has ended, or is ending: a killed one first closes its sockets, and is waited for later."""
    try:
        # The text before it is arbitrary: it contains the program's name.
        fields = (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return _PROC.is_dir()
    except OSError:
        return False
    return fields[0] in "ZX" or bool(int(fields[6]) & _EXITING)
