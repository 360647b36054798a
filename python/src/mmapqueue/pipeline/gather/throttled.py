"""Warnings at a limited rate: what clients cause must not fill the log."""

import logging
import time
from collections.abc import Callable

#: Seconds between two lines of one reason.
PERIOD = 10.0
_MAX_WORDS = 1000


class ThrottledLog:
    """Warnings about a server or a pipe. Belongs to its event loop.

    Args:
        log: Where the lines go.
        subject: What they are about, as "server web".
        clock: Monotonic seconds.
    """

    def __init__(self, log: logging.Logger, subject: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._subject = subject
        self._clock = clock
        #: The time from which on the next line of a reason may be logged, and warnings without a line, by reason.
        self._next: dict[str, float] = {}
        self._silent: dict[str, int] = {}

    def warn(self, reason: str, words: str) -> None:
        """Logs one line for each reason in 10 s, with the number of those that were not logged."""
        now = self._clock()
        if now < self._next.get(reason, now):
            self._silent[reason] = self._silent.get(reason, 0) + 1
            return
        self._next[reason] = now + PERIOD
        silent = self._silent.pop(reason, 0)
        line = " ".join(words.split())[:_MAX_WORDS]
        self._log.warning("%s: %s%s", self._subject, line, f" ({silent} more since the last line)" if silent else "")
