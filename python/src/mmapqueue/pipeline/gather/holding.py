"""What a server holds for its clients: requests in progress, and the bytes of their bodies. Refused beyond limits."""

import asyncio
import ctypes
import resource
import sys
import time
from collections import Counter
from collections.abc import Awaitable
from itertools import takewhile
from pathlib import Path
from types import TracebackType
from typing import TypeVar

_T = TypeVar("_T")
#: Seconds between two looks at the requests that arrive.
_LOOK = 0.25
#: The part of the slow requests that one look ends while the process is too large.
_PART = 4
#: Bytes by which a process may grow for other reasons than bodies.
_LEAST_GROWTH = 64 << 20


class Overloaded(Exception):
    """The server holds too much. The client should try again.

    Attributes:
        retry_after: Seconds until the retry.
    """

    retry_after = 1.0


class Late(Exception):
    """A body has not arrived in time."""


class Holding:
    """The requests of a server that are not answered yet. Belongs to one event loop.

    Pipes that share a server do not take each other's room: each has an equal part. A body that still arrives makes
    room for others once it is slow: the oldest ones end first. They also end while the process is larger than at the
    start by more than the limit, since gRPC's library holds what has arrived of a message, which nothing counts.

    Args:
        most_requests: The maximum number of requests.
        most_bytes: The maximum number of bytes of their bodies.
        limit: The key with the maximum number of requests, for errors.

    Attributes:
        slow_after: Seconds after which a body that still arrives is slow.
    """

    slow_after = 1.0

    def __init__(self, most_requests: int, most_bytes: int, limit: str = "max_requests") -> None:
        self._most_requests = most_requests
        self._limit = limit
        self._most_bytes = most_bytes
        self._requests: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()
        #: Requests whose bodies arrive, the oldest one first. One timer is for all of them: a timer for each costs a
        #: twentieth of a small request.
        self._arriving: dict[Hold, None] = {}
        self._looking: asyncio.TimerHandle | None = None
        self._most_resident = resident() + max(most_bytes, _LEAST_GROWTH)

    def request(self, pipe: str, pipes: int) -> "Hold":
        """Begins a request: a context that ends with it.

        Args:
            pipe: The pipe that gets it.
            pipes: The number of pipes that share the server.

        Raises:
            Overloaded: The pipe has its part of the requests.
        """
        share = max(1, self._most_requests // max(1, pipes))
        if self._requests[pipe] >= share:
            raise Overloaded(f"pipe {pipe} has {share} requests in progress, its share of {self._limit}")
        return Hold(self, pipe, self._most_bytes // max(1, pipes))

    @property
    def bytes(self) -> int:
        """Bytes that are held now."""
        return self._bytes.total()

    # ---- bodies that arrive

    def _begin(self, hold: "Hold") -> None:
        self._arriving[hold] = None
        if self._looking is None:
            self._look_later()

    def _look_later(self) -> None:
        self._looking = asyncio.get_running_loop().call_later(_LOOK, self._look)

    def _look(self) -> None:
        """Ends bodies that are late, and slow ones while the process is too large."""
        now = time.monotonic()
        for hold in [*takewhile(lambda each: each.due <= now, self._arriving)]:
            hold.end(Late("it did not arrive in time"))
        if resident() > self._most_resident and trimmed() > self._most_resident:
            slow = [*takewhile(lambda each: each.since <= now - self.slow_after, self._arriving)]
            for hold in slow[: len(slow) // _PART + 1]:
                hold.end(Overloaded("the process has more memory than max_held_bytes allows"))
        self._looking = None
        if self._arriving:
            self._look_later()

    def _make_room(self, asking: "Hold", size: int, most: int) -> None:
        """Ends slow bodies of a pipe that are older than the one that asks, until there is room for so many bytes."""
        pipe, since = asking.pipe, time.monotonic() - self.slow_after
        for hold in [*self._arriving]:
            if hold is asking or hold.since > since or self._bytes[pipe] + size <= most:
                break
            if hold.pipe == pipe and hold.size:
                hold.end(Overloaded(f"others need the bytes that pipe {pipe} holds, its share of max_held_bytes"))


class Hold:
    """The part of one request.

    Attributes:
        pipe: The pipe that gets the request.
        size: Bytes that are held.
        since: When its body began to arrive, in seconds of the monotonic clock.
        due: When it must have arrived.
    """

    __slots__ = ("_ended", "_holding", "_most", "_task", "due", "pipe", "since", "size")

    def __init__(self, holding: Holding, pipe: str, most: int) -> None:
        self._holding = holding
        self._most = most
        self._ended: Exception | None = None
        self._task: asyncio.Task[object] | None = None
        self.pipe = pipe
        self.size = 0
        self.since = self.due = 0.0

    def __enter__(self) -> "Hold":
        self._holding._requests[self.pipe] += 1
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._holding._requests[self.pipe] -= 1
        self._release()

    def _release(self) -> None:
        self._holding._bytes[self.pipe] -= self.size
        self.size = 0

    def resize(self, size: int) -> None:
        """Notes the bytes that the request has now.

        Raises:
            Overloaded: The pipe would hold more than its part.
        """
        grown = size - self.size
        # One request alone is limited by max_message_size.
        if grown > 0 and self._exceeds(grown):
            self._holding._make_room(self, grown, self._most)
            if self._exceeds(grown):
                raise Overloaded(f"requests of pipe {self.pipe} hold {self._most} bytes, its share of max_held_bytes")
        self._holding._bytes[self.pipe] += grown
        self.size = size

    def _exceeds(self, grown: int) -> bool:
        held = self._holding._bytes[self.pipe] + grown
        return held > self._most and held > self.size + grown

    async def arrive(self, body: Awaitable[_T], within: float) -> _T:
        """Waits for the body, in the request's task.

        Args:
            body: Reads it.
            within: Seconds that it may take, to the next look.

        Raises:
            Late: It took longer.
            Overloaded: It was slow, and others needed its room.
        """
        self.since = time.monotonic()
        self.due = self.since + within
        self._task = asyncio.current_task()
        self._holding._begin(self)
        try:
            return await body
        except asyncio.CancelledError:
            if self._ended is None:
                raise
            if sys.version_info >= (3, 11) and self._task is not None:
                self._task.uncancel()
            raise self._ended from None
        finally:
            self._holding._arriving.pop(self, None)

    def end(self, error: Exception) -> None:
        """Ends a body that arrives: its request gets the error."""
        del self._holding._arriving[self]
        self._release()
        self._ended = error
        assert self._task is not None
        self._task.cancel()


def resident() -> int:
    """Resident bytes of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def trimmed() -> int:
    """Resident bytes of this process, after the C library has given free pages back, where it can (glibc)."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    return resident()
