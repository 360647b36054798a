"""What threads pop with, and what they have popped."""

from itertools import chain
from typing import NamedTuple

from mmapqueue._jvm.shared_buffer import Stage
from mmapqueue._queue.handle import Opened
from mmapqueue._queue.undelivered import FOREVER, Returned
from mmapqueue._values.message import Message

#: What was read of one call after another.
Chunks = tuple[list[Message], ...]
State = tuple[Stage, int, Chunks]


class Hand:
    """What one thread pops with.

    Attributes:
        state: The stage; the number of its last call that was answered; what was read of it and is not handed over.
        busy: Whether a call is under way.
        until: Until when all of what was read may be handed out.
    """

    __slots__ = ("__weakref__", "_opened", "_orphans", "busy", "state", "until")

    def __init__(self, opened: Opened, orphans: list[State]) -> None:
        stage = opened.pool.small()
        self.state: State = (stage, stage.call, ())
        self.busy = False
        self.until = FOREVER
        self._opened = opened
        self._orphans = orphans
        opened.hands[id(self)] = self

    def release(self) -> None:
        self.state[0].memory.close()

    def __del__(self) -> None:
        """The thread has ended, maybe in the middle of a call. No lock may be taken here."""
        stage, seen, chunks = self.state
        if chunks or stage.call != seen:
            self._orphans.append(self.state)
        else:
            self._opened.pool.give(stage)


class Batch(NamedTuple):
    """Records that were popped together, on their way to the user.

    Attributes:
        messages: The records.
        until: Until when they may be handed out; from then on the JVM gives them to somebody else.
        home: Where those go that are not handed out. Another one once the consumer was moved: they are void then.
    """

    messages: list[Message]
    until: float
    home: Returned


def flat(chunks: Chunks) -> list[Message]:
    """The records of all chunks."""
    return chunks[0] if len(chunks) == 1 else list(chain.from_iterable(chunks))
