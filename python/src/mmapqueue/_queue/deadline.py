"""How long calls wait."""

from math import ceil
from time import monotonic

from mmapqueue._values.durations import Duration, seconds

#: The longest that one call waits in the JVM, and so the longest delay of Ctrl-C.
SLICE_MILLIS = 200


class Deadline:
    """How long one call of one thread may wait, cut into slices, so that Ctrl-C never waits for more than one."""

    __slots__ = ("_deadline",)

    def __init__(self, block: bool, timeout: Duration | None) -> None:
        self._deadline: float | None = None
        if not block:
            self._deadline = 0.0
        elif timeout is not None:
            self._deadline = monotonic() + seconds("timeout", timeout)

    def call_millis(self) -> int:
        """How long the next call into the JVM may wait, in ms."""
        deadline = self._deadline
        if deadline is None:
            return SLICE_MILLIS
        # Rounded up: within the last millisecond calls would not wait at all, and spin.
        return max(0, min(SLICE_MILLIS, ceil((deadline - monotonic()) * 1000)))

    def seconds(self, most: float) -> float:
        """How long a step may wait, in seconds, `most` at most."""
        return most if self._deadline is None else max(0.0, min(most, self._deadline - monotonic()))

    def has_passed(self) -> bool:
        """Whether no time is left."""
        return self._deadline is not None and self._deadline <= monotonic()
