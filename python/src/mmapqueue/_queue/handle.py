"""What a queue and its consumers share: the handle in the JVM, the stages, and whether all that may still be used."""

import os
from collections.abc import Callable
from math import ceil
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Protocol
from weakref import WeakSet, WeakValueDictionary

from py4j.java_gateway import JavaObject

from mmapqueue._jvm import finalizers, names
from mmapqueue._jvm.calls import Call
from mmapqueue._jvm.shared_buffer import Pool
from mmapqueue._jvm.signals import Shield
from mmapqueue._values.errors import Closed, MmapQueueError
from mmapqueue._values.message import Origin

#: The longest that one call waits in the JVM: so long may a Ctrl-C take.
_SLICE_MILLIS = 200

_getpid = os.getpid


class Hand(Protocol):
    """A stage in the hand of one thread.

    Attributes:
        busy: Set before a call looks whether the queue is closed, and cleared when it has ended: `close` frees only
            the memory of those that are not busy.
    """

    busy: bool

    def release(self) -> None:
        """Frees the memory."""


class Owner(Protocol):
    """Who has popped records that nobody was given."""

    def unpop(self) -> None:
        """Gives them back; raises nothing."""


class Opened:
    """An open handle. Safe for any number of threads.

    Attributes:
        path: The directory, absolute.
        pid: The process that opened it.
        closed: Whether it has been closed.
        origin: Of messages that are read by offset.
        config: The configuration in force.
        lock_timeout: How long to wait for a holder that is ending, in seconds.
        hands: The stages that are in the hands of threads, by the identity of the hand.
        owners: Who holds records that the JVM must know of before it closes.
    """

    def __init__(self, handle: JavaObject, path: str, lock_timeout: float) -> None:
        self.path = path
        self.lock_timeout = lock_timeout
        self.pid = _getpid()
        self.closed = False
        # Another path of the same directory is the same queue.
        self.origin = Origin(os.path.realpath(path), None)
        self._calls = {name: Call(handle, name, parameters) for name, parameters in names.HANDLE_CALLS.items()}
        self.pool = Pool(handle, Path(path))
        self.hands: WeakValueDictionary[int, Hand] = WeakValueDictionary()
        self.owners: WeakSet[Owner] = WeakSet()
        # The program may end, in another thread, before `track` has returned.
        self._closed: Callable[[], None] = lambda: None
        self._closed = finalizers.track(self, self._calls["close"], f"mmapqueue.Queue({path!r})")
        words = self._calls["config"]().split(names.SEPARATOR)
        self.config: dict[str, str] = dict(zip(words[::2], words[1::2], strict=True))
        self.max_event_size = int(self.config["max_event_size"])
        self.capacity = int(self.config["queue_capacity_segments"]) * int(self.config["segment_size"])

    def check(self) -> None:
        """Raises what there is to raise when the queue can not be used here and now."""
        if self.pid != _getpid():
            raise MmapQueueError(
                f"the queue in {self.path} was opened by process {self.pid}, and this is process {_getpid()}, forked "
                "from it: the connection to the JVM is the parent's; open the queue in the process that uses it"
            )
        if self.closed:
            raise self.closed_error()

    def ask(self, name: str, *arguments: int | str | bytes) -> Any:
        """Calls a method of the handle, one of those in `names.HANDLE_CALLS`."""
        self.check()
        try:
            return self._calls[name](*arguments)
        except MmapQueueError:
            if self.closed:
                # Meanwhile; and if that was at the end of the program, the JVM does not even answer.
                raise self.closed_error() from None
            raise

    def closed_error(self) -> Closed:
        """What calls raise after close."""
        return Closed(f"the queue in {self.path} is closed")

    def close(self) -> None:
        """Closes the handle; a second time does nothing, nor does it in a forked child."""
        if self.pid != _getpid():
            return
        with Shield():
            if self.closed:
                return
            for owner in list(self.owners):
                owner.unpop()
            self.closed = True
            try:
                self._calls["close"].within()
            finally:
                self._closed()
                self.pool.close()
                for hand in self._hands():
                    if not hand.busy:
                        hand.release()

    def close_at_exit(self) -> None:
        """Closes the handle, and waits until the calls that this wakes have their answers: the JVM goes next."""
        self.close()
        deadline = monotonic() + 2 * _SLICE_MILLIS / 1000
        while monotonic() < deadline and any(hand.busy for hand in self._hands()):
            sleep(0.005)

    def _hands(self) -> list[Hand]:
        return [hand for hand in (reference() for reference in self.hands.valuerefs()) if hand is not None]


class Waiting:
    """Cuts a wait into slices. For one call of one thread."""

    __slots__ = ("_deadline",)

    def __init__(self, block: bool, timeout: float | None) -> None:
        self._deadline: float | None = None
        if not block:
            self._deadline = 0.0
        elif timeout is not None:
            if timeout < 0:
                raise ValueError("'timeout' must be a non-negative number")
            self._deadline = monotonic() + timeout

    def millis(self) -> int:
        """How long the next call may wait."""
        deadline = self._deadline
        if deadline is None:
            return _SLICE_MILLIS
        # Rounded up: what is left of the last millisecond would be spent on calls that wait for nothing.
        return max(0, min(_SLICE_MILLIS, ceil((deadline - monotonic()) * 1000)))

    def seconds(self, most: float) -> float:
        """How long a step may wait that waits for so many seconds at most."""
        return most if self._deadline is None else max(0.0, min(most, self._deadline - monotonic()))

    def is_over(self) -> bool:
        """Whether there is no time left."""
        return self._deadline is not None and self._deadline <= monotonic()
