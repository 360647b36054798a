"""The warning about a queue in which pushes wait long for room."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Lock
from time import monotonic
from typing import NamedTuple

from mmapqueue._values.logs import printing_errors

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
        end_offset: Returns the offset of the next record.
        warning: The text of the warning after some seconds.
        clock: The time in seconds.
    """

    def __init__(
        self,
        end_offset: Callable[[], int],
        warning: Callable[[int], str],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._end_offset = end_offset
        self._warning = warning
        self._clock = clock
        self._wait: _Wait | None = None

    def is_missing(self) -> None:
        """Notes that a push has waited, and found no room. Calls handlers of the log: for callers without locks."""
        end, wait, now = self._end_offset(), self._wait, self._clock()
        if wait is None or wait.end != end:
            self._wait = _Wait(end, now, Lock())
        elif now - wait.begin >= LONG_SECONDS and wait.unreported.acquire(blocking=False):
            warning = self._warning(round(now - wait.begin))
            with printing_errors():
                _LOG.warning("%s", warning)
