"""The queue and the consumer of a message, and the reference by which a message acks itself."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, Protocol
from weakref import ref

from mmapqueue._values.annotations import Self
from mmapqueue._values.blocks import Blocks
from mmapqueue._values.durations import Duration
from mmapqueue._values.errors import Closed, Foreign
from mmapqueue._values.serializers import Codec


class Origin(NamedTuple):
    """The queue and consumer of a message. Immutable.

    Attributes:
        queue: The real path of the queue's directory.
        consumer: The name of the consumer that popped the message; None when it was read by offset.
    """

    queue: str
    consumer: str | None

    def __str__(self) -> str:
        who = "a read by offset" if self.consumer is None else f"consumer {self.consumer}"
        return f"{who} of the queue in {self.queue}"


class OpenConsumer(Protocol):
    """The consumer that popped a message, in the form that the message uses.

    Attributes:
        in_blocks: The messages of `with` blocks and handlers that were neither acked, nacked nor released yet.
    """

    in_blocks: Blocks

    def ack(self, offset: int, origin: Origin | None) -> None:
        """Acks one record."""

    def nack(self, offset: int, delay: Duration) -> None:
        """Requeues a record."""

    def in_thread(self, call: Callable[[], None]) -> Coroutine[Any, Any, None]:
        """Runs a call in a thread."""


class OpenOrigin(Origin):
    """An origin in the process that has the queue open. Equal to, and pickled as, the origin with the same fields.

    Attributes:
        serializer: The queue's serializer; None for bytes.
        was_popped: Whether a consumer has popped the message; False for a read by offset and a peek without a consumer.
    """

    serializer: Codec | None = None
    was_popped: bool = False
    _popped_by: Callable[[], OpenConsumer | None] = staticmethod(lambda: None)

    @classmethod
    def of(cls, queue: str, consumer: str | None, serializer: Codec | None, popped_by: OpenConsumer | None) -> Self:
        """Makes an origin that refers to the consumer without keeping it open."""
        origin = cls(queue, consumer)
        origin.serializer = serializer
        if popped_by is not None:
            origin.was_popped = True
            origin._popped_by = ref(popped_by)
        return origin

    def popped_by(self) -> OpenConsumer | None:
        """The consumer; None for none, and once the program holds neither the consumer nor its queue any more."""
        return self._popped_by()

    def __repr__(self) -> str:
        return repr(Origin(*self))

    def __reduce__(self) -> tuple[type[Origin], tuple[str, str | None]]:
        return Origin, (self.queue, self.consumer)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self


def own_consumer(what: str, offset: int, origin: Origin | None) -> OpenConsumer:
    """The consumer that popped a message.

    Args:
        what: The call, for the error.
        offset: The message's offset.
        origin: The message's origin.

    Raises:
        Foreign: No consumer of this process has popped it.
        Closed: The consumer is closed, and the program does not hold it any more.
    """
    if not isinstance(origin, OpenOrigin):
        raise unknown_queue(what, offset, origin)
    if not origin.was_popped:
        how = "was read by offset" if origin.consumer is None else "was peeked at"
        raise Foreign(f"{what} of the record at offset {offset}, which {how}: no consumer has popped it")
    consumer = origin.popped_by()
    if consumer is None:
        raise Closed(f"{what} of the record at offset {offset} by {origin}, which is closed")
    return consumer


def unknown_queue(what: str, offset: int, origin: Origin | None) -> Foreign:
    """The error for a message that has no open queue."""
    maker = "a program has made it" if origin is None else f"it was unpickled, and comes from {origin}"
    return Foreign(f"{what} of the message at offset {offset}, which knows no open queue: {maker}")
