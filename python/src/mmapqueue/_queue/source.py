"""The consumer that an object reads as."""

from __future__ import annotations

from typing import Protocol

from mmapqueue._queue.consuming.popper import Popper
from mmapqueue._values.message import AnyMessage


class Source(Protocol):
    """Opens the consumer that an object reads as, and ends with the object. Safe for any number of threads."""

    def open(self) -> Popper:
        """Returns the consumer, created if it does not exist; the same one until it is closed."""

    def existing(self) -> Popper | None:
        """Returns the consumer; None when it does not exist."""

    def oldest(self) -> AnyMessage | None:
        """Without a consumer: the record that a new one would pop first; None when no record is retained."""

    def retained(self) -> int:
        """Without a consumer: the number of retained records."""

    def check(self) -> None:
        """Raises Closed after `close`, and the error of a forked child."""

    def close(self) -> None:
        """Closes the object. Does nothing when repeated, and in a forked child."""


class OneConsumer:
    """The source of a consumer: itself."""

    def __init__(self, popper: Popper) -> None:
        self._popper = popper
        self.check = popper.check
        self.close = popper.close

    def open(self) -> Popper:
        return self._popper

    def existing(self) -> Popper | None:
        return self._popper

    def oldest(self) -> AnyMessage | None:
        return None

    def retained(self) -> int:
        return 0
