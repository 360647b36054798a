"""The limits of prefetching, and the time that acks linger."""

from __future__ import annotations

from time import monotonic
from typing import NamedTuple

from mmapqueue._values.arguments import whole
from mmapqueue._values.configuration import EffectiveConfiguration
from mmapqueue._values.durations import Duration, seconds
from mmapqueue._values.errors import ConfigError

#: The defaults of prefetch and ack_linger.
_PREFETCH = 4096
_ACK_LINGER = 0.005

#: Prefetched records are those that the consumer takes in this time, in seconds, at its present pace.
_AHEAD_SECONDS = 0.1
#: The growth from one prefetch to the next.
_GROWTH = 8


class Pace:
    """The number of records to prefetch: those that the consumer lately took in 0.1 s, so that a slow one holds few.

    Its steps are plain stores: a race of threads costs one estimate.

    Attributes:
        most: The most records.
    """

    __slots__ = ("_last", "_since", "most")

    def __init__(self, most: int) -> None:
        self.most = most
        self._last = 0
        self._since = monotonic()

    def next(self) -> int:
        """Returns the number of records to pop now, at least 1."""
        if self.most <= 1:
            return 1
        now = monotonic()
        seconds, self._since = now - self._since, now
        last, self._last = self._last, 0
        return max(1, min(self.most, last * _GROWTH, int(last * _AHEAD_SECONDS / max(seconds, 1e-9))))

    def popped(self, count: int) -> None:
        """Notes the number of records that the pop has found."""
        self._last = count

    def restart(self) -> None:
        """Starts with one record again."""
        self._last = 0


class Ahead(NamedTuple):
    """The work that a consumer does ahead of or after calls into the JVM.

    Attributes:
        prefetch: The most records that it pops ahead; 0 for none.
        ack_linger: The longest that an ack waits, in seconds; 0 for acks that are sent at once.
    """

    prefetch: int
    ack_linger: float

    @staticmethod
    def of(config: EffectiveConfiguration, prefetch: int | None, ack_linger: Duration | None) -> Ahead:
        """Checks the arguments; None for the defaults, which are 0 with visibility_timeout.

        Raises:
            ConfigError: A value is below 0; or above 0 with visibility_timeout, as a lease runs from the pop in the
                JVM.
        """
        leases = config["visibility_timeout"] > 0
        default = Ahead(0, 0.0) if leases else Ahead(_PREFETCH, _ACK_LINGER)
        return default.replaced(config, prefetch, ack_linger)

    def replaced(self, config: EffectiveConfiguration, prefetch: int | None, ack_linger: Duration | None) -> Ahead:
        """Returns a copy with the values that are not None; raises as `of`."""
        found = Ahead(
            self.prefetch if prefetch is None else whole("prefetch", prefetch),
            self.ack_linger if ack_linger is None else seconds("ack_linger", ack_linger),
        )
        leases = config["visibility_timeout"] > 0
        for key, value in zip(found._fields, found, strict=True):
            if value < 0 or (leases and value):
                allowed = "0 with visibility_timeout: a lease begins in the JVM" if leases else "0 or more"
                raise ConfigError(f"{key} = {value} is invalid; allowed: {allowed}", key, str(value), allowed)
        return found
