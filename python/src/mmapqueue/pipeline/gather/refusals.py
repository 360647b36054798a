"""What a server refuses before a receiver sees it: counted, and logged at a limited rate."""

import hmac
import logging
import time
from collections.abc import Callable
from typing import Literal

_LOG = logging.getLogger("mmapqueue.pipeline.server")
#: Seconds between two lines of one reason.
_PERIOD = 10.0
_MAX_WORDS = 300
_SCHEME = "bearer"

Reason = Literal["unauthenticated", "tls", "malformed", "too_large", "timeout", "connections", "overloaded"]
#: Called with a reason for each refused request or connection.
Refused = Callable[[str], None]


def _uncounted(_: str) -> None:
    pass


class Refusals:
    """The refusals of one server. Belongs to its event loop.

    Args:
        server: The server, for the log.
        count: Counts each refusal.
        clock: Monotonic seconds.
    """

    def __init__(
        self, server: str, count: Refused | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._server = server
        self._count = count or _uncounted
        self._clock = clock
        #: The time from which on the next line of a reason may be logged, and refusals without a line, by reason.
        self._next: dict[str, float] = {}
        self._silent: dict[str, int] = {}

    def note(self, reason: Reason, words: str) -> None:
        """Counts a refusal; logs one line for each reason in 10 s, with the number of those that were not logged."""
        self._count(reason)
        now = self._clock()
        if now < self._next.get(reason, now):
            self._silent[reason] = self._silent.get(reason, 0) + 1
            return
        self._next[reason] = now + _PERIOD
        silent = self._silent.pop(reason, 0)
        line = " ".join(words.split())[:_MAX_WORDS]
        _LOG.warning("server %s: %s%s", self._server, line, f" ({silent} more since the last line)" if silent else "")


def authorized(header: str, token: str) -> bool:
    """Whether the value of an Authorization header is `Bearer <token>`; the scheme in any case (RFC 9110)."""
    scheme, _, sent = header.strip().partition(" ")
    if scheme.lower() != _SCHEME:
        return False
    return hmac.compare_digest(sent.strip().encode(errors="surrogateescape"), token.encode())
