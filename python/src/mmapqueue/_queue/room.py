"""The warning about a queue in which pushes wait long for room."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Lock
from time import monotonic
from typing import NamedTuple

_LOG = logging.getLogger("mmapqueue")

#: From this time on a wait is long.
LONG_SECONDS = 5.0


class _Wait(NamedTuple):
    """The time in which a queue has stored no record.

    Attributes:
        end: The offset of the next record.
        begin: The first failed attempt, in seconds.
        unreported: Taken by the thread that reports the wait. Never waited for, so a signal handler may push.
    """

    end: int
    begin: float
    unreported: Lock


class Room:
    """Reports, once for each wait, that a queue has had no room for long. Safe for any number of threads.

    A wait ends when the queue stores a record. So it includes pushes that are tried again and again, and those of other
    threads.

    Args:
        path: The queue's directory.
        end_offset: Returns the offset of the next record.
        held_by: Says what retains the records.
        clock: The time in seconds.
    """

    def __init__(
        self,
        path: str,
        end_offset: Callable[[], int],
        held_by: Callable[[], str],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._path = path
        self._end_offset = end_offset
        self._held_by = held_by
        self._clock = clock
        self._wait: _Wait | None = None

    def is_missing(self) -> None:
        """Notes that a push has waited, and found no room. Calls handlers of the log: for callers without locks."""
        end, wait, now = self._end_offset(), self._wait, self._clock()
        if wait is None or wait.end != end:
            self._wait = _Wait(end, now, Lock())
        elif now - wait.begin >= LONG_SECONDS and wait.unreported.acquire(blocking=False):
            _LOG.warning(
                "no room for %.0f s: the queue in %s is full: it holds records that are not acked; %s; to make room, "
                "ack records, delete a consumer that is not needed, or resize the queue",
                now - wait.begin,
                self._path,
                self._held_by(),
            )
