"""What a server holds for its clients: requests in progress, and the bytes of their bodies. Refused beyond limits."""

from collections import Counter
from types import TracebackType


class Overloaded(Exception):
    """The server holds too much. The client should try again.

    Attributes:
        retry_after: Seconds until the retry.
    """

    retry_after = 1.0


class Holding:
    """The requests of a server that are not answered yet. Belongs to one event loop.

    Pipes that share a server do not take each other's room: each has an equal part.

    Args:
        most_requests: The maximum number of requests.
        most_bytes: The maximum number of bytes of their bodies.
    """

    def __init__(self, most_requests: int, most_bytes: int) -> None:
        self._most_requests = most_requests
        self._most_bytes = most_bytes
        self._requests: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()

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
            raise Overloaded(f"pipe {pipe} has {share} requests in progress, its share of max_requests")
        return Hold(self, pipe, self._most_bytes // max(1, pipes))

    @property
    def bytes(self) -> int:
        """Bytes that are held now."""
        return self._bytes.total()


class Hold:
    """The part of one request."""

    __slots__ = ("_holding", "_most", "_pipe", "_size")

    def __init__(self, holding: Holding, pipe: str, most: int) -> None:
        self._holding = holding
        self._pipe = pipe
        self._most = most
        self._size = 0

    def __enter__(self) -> "Hold":
        self._holding._requests[self._pipe] += 1
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._holding._requests[self._pipe] -= 1
        self._holding._bytes[self._pipe] -= self._size

    def resize(self, size: int) -> None:
        """Notes the bytes that the request has now.

        Raises:
            Overloaded: The pipe would hold more than its part.
        """
        held = self._holding._bytes[self._pipe] + size - self._size
        # One request alone is limited by max_message_size.
        if size > self._size and held > self._most and held > size:
            raise Overloaded(f"requests of pipe {self._pipe} hold {self._most} bytes, its share of max_held_bytes")
        self._holding._bytes[self._pipe] = held
        self._size = size
