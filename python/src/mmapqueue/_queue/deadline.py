"""Deadlines of waiting calls, and a bell that wakes a thread."""

from contextlib import suppress
from math import ceil
from threading import Lock
from time import monotonic

from mmapqueue._values.arguments import block_flag
from mmapqueue._values.durations import Duration, seconds

#: The maximum wait of one call in the JVM in seconds, and so the maximum delay of Ctrl-C.
SLICE_MILLIS = 200


class Deadline:
    """The time that one call of one thread may wait, cut into slices: Ctrl-C waits for one slice at most."""

    __slots__ = ("_deadline",)

    def __init__(self, timeout: Duration | None = None, *, block: bool = True) -> None:
        self._deadline: float | None = None
        if block is not True and not block_flag(block):
            self._deadline = 0.0
        elif timeout is not None:
            self._deadline = monotonic() + seconds("timeout", timeout)

    @property
    def waits(self) -> bool:
        """Whether the call may wait at all; False for `block=False`."""
        return self._deadline != 0.0

    def call_millis(self) -> int:
        """The time that the next call into the JVM may wait, in ms."""
        deadline = self._deadline
        if deadline is None:
            return SLICE_MILLIS
        # Rounded up: otherwise calls within the last millisecond would not wait at all, and spin.
        return max(0, min(SLICE_MILLIS, ceil((deadline - monotonic()) * 1000)))

    def seconds(self, most: float) -> float:
        """The time that a step may wait, in seconds, `most` at most."""
        return most if self._deadline is None else max(0.0, min(most, self._deadline - monotonic()))

    def has_passed(self) -> bool:
        """Whether no time is left."""
        return self._deadline is not None and self._deadline <= monotonic()


class Bell:
    """Wakes one waiting thread, or ends its next wait. `ring` takes no lock, so finalizers may call it."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = Lock()
        self._lock.acquire()

    def ring(self) -> None:
        """Ends the wait; without a wait, the next one ends at once."""
        # It has rung already.
        with suppress(RuntimeError):
            self._lock.release()

    def wait(self, seconds: float | None) -> bool:
        """Waits for `ring`; returns False when the time is over. For one thread.

        Args:
            seconds: The maximum time to wait; None for no limit.
        """
        return self._lock.acquire(timeout=-1 if seconds is None else seconds)
