"""How far a consumer pops ahead, and how long its acks linger."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import NamedTuple

from mmapqueue._values.arguments import check_seconds, whole
from mmapqueue._values.errors import ConfigError

#: The defaults of prefetch and ack_linger.
_PREFETCH = 4096
_ACK_LINGER = 0.005

#: Prefetched records are about this long ahead of their delivery, in seconds, at the consumer's present pace.
_AHEAD_SECONDS = 0.1
#: The growth from one prefetch to the next.
_GROWTH = 8


class Pace:
    """How many records to prefetch: what the consumer has lately taken in 0.1 s, so that a slow one holds few.

    Its steps are plain stores: threads that race cost one estimate.

    Attributes:
        most: The most records.
    """

    __slots__ = ("_last", "_since", "most")

    def __init__(self, most: int) -> None:
        self.most = most
        self._last = 0
        self._since = monotonic()

    def next(self) -> int:
        """The number of records to pop now, at least 1."""
        if self.most <= 1:
            return 1
        now = monotonic()
        seconds, self._since = now - self._since, now
        last, self._last = self._last, 0
        return max(1, min(self.most, last * _GROWTH, int(last * _AHEAD_SECONDS / max(seconds, 1e-9))))

    def popped(self, count: int) -> None:
        """Notes how many records the pop has found."""
        self._last = count

    def restart(self) -> None:
        """Begins with one record again."""
        self._last = 0


class Ahead(NamedTuple):
    """What a consumer does without a call into the JVM.

    Attributes:
        prefetch: The most records that it pops ahead; 0 for none.
        ack_linger: The longest that an ack waits, in seconds; 0 for acks that are sent at once.
    """

    prefetch: int
    ack_linger: float

    @staticmethod
    def of(config: Mapping[str, str], prefetch: int | None, ack_linger: float | None) -> Ahead:
        """Checks the arguments; None for the default, which is 0 with visibility_timeout.

        Raises:
            ConfigError: More than 0 with visibility_timeout: a lease runs from the pop in the JVM to the ack in it.
            ValueError: A number below 0.
        """
        leases = config["visibility_timeout"] != "0"
        if prefetch is None:
            prefetch = 0 if leases else _PREFETCH
        elif whole("prefetch", prefetch) < 0:
            raise ValueError(f"prefetch = {prefetch}: it must be at least 0")
        if ack_linger is None:
            ack_linger = 0.0 if leases else _ACK_LINGER
        check_seconds("ack_linger", ack_linger)
        for key, value in (("prefetch", prefetch), ("ack_linger", ack_linger)):
            if leases and value:
                allowed = "0 with visibility_timeout, as a lease runs from the pop in the JVM to the ack in it"
                raise ConfigError(f"{key} = {value} is invalid; allowed: {allowed}", key, str(value), allowed)
        return Ahead(prefetch, ack_linger)
