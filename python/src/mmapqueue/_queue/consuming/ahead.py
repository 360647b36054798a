"""The work that a consumer does ahead of calls into the JVM, or after them."""

from __future__ import annotations

from typing import NamedTuple

from mmapqueue._values.arguments import whole
from mmapqueue._values.configuration import EffectiveConfiguration
from mmapqueue._values.durations import Duration, seconds
from mmapqueue._values.errors import ConfigError

#: The defaults of prefetch and ack_linger.
_PREFETCH = 4096
_ACK_LINGER = 0.005


class Ahead(NamedTuple):
    """The work that a consumer does ahead of or after calls into the JVM.

    Attributes:
        prefetch: The maximum number of records that it pops ahead; 0 for none.
        ack_linger: The maximum time that an ack waits, in seconds; 0 for acks that are sent at once.
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
