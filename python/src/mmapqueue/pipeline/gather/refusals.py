"""What a server refuses before a receiver sees it: counted, and logged at a limited rate."""

import hmac
import logging
import time
from collections.abc import Callable
from typing import Literal

from mmapqueue.pipeline.gather.throttled import ThrottledLog

_LOG = logging.getLogger("mmapqueue.pipeline.server")
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
        self._count = count or _uncounted
        self._log = ThrottledLog(_LOG, f"server {server}", clock=clock)

    def note(self, reason: Reason, words: str) -> None:
        """Counts a refusal, and logs it as a `ThrottledLog` does."""
        self._count(reason)
        self._log.warn(reason, words)


def authorized(header: str, token: str) -> bool:
    """Whether the value of an Authorization header is `Bearer <token>`; the scheme in any case (RFC 9110)."""
    scheme, _, sent = header.strip().partition(" ")
    if scheme.lower() != _SCHEME:
        return False
    return hmac.compare_digest(sent.strip().encode(errors="surrogateescape"), token.encode())
