"""Messages that a `with` block or a handler has."""

from __future__ import annotations

from collections.abc import Collection


class Blocks(dict[int, tuple[object, int]]):
    """The messages of `with` blocks and handlers that were neither acked, nacked nor released yet.

    Told apart by identity, not by offset: a nacked record may be redelivered, and be in another block, before the first
    block has ended. Safe for any number of threads: each step is one call of a dict, and none takes a lock.
    """

    __slots__ = ()

    def enter(self, message: object, offset: int) -> None:
        """Begins a block."""
        self[id(message)] = message, offset

    def holds(self, message: object) -> bool:
        """Whether the record of a message in a block must be acked or nacked."""
        return id(message) in self

    def leave(self, message: object) -> bool:
        """Ends a block; returns whether its record must be acked or nacked."""
        return self.pop(id(message), None) is not None

    def of(self, offsets: Collection[int]) -> list[object]:
        """The messages in blocks that a call for these offsets is about.

        To be taken before the call: after it, another thread may have popped the record again.
        """
        return [message for message, offset in list(self.values()) if offset in offsets] if self else []

    def answered(self, messages: list[object]) -> None:
        """Notes that the records of these messages were acked, nacked or released."""
        for message in messages:
            self.pop(id(message), None)
