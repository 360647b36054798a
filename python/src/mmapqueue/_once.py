"""What a queue does for producers that try again."""

from __future__ import annotations

from collections.abc import Iterable

from mmapqueue import _names
from mmapqueue._checks import whole
from mmapqueue._opened import Opened
from mmapqueue._producer import Once, Producer


class PushesOnce:
    """The methods for batches that are pushed once, however often they are tried."""

    _opened: Opened
    _producer: Producer

    def push_once(
        self,
        producer: str,
        sequence: int,
        items: Iterable[bytes | bytearray | memoryview],
        timeout: float | None = None,
        sync: bool = False,
    ) -> int | None:
        """Appends a batch unless the producer has pushed it before, so that what is tried again is there once.

        The records become visible together or not at all, and must fit into the queue, and through the memory of the
        JVM, at once. A kill of the JVM at any moment leaves the batch and its number, or neither. See
        docs/explanation/producers.md for what a loss of power leaves.

        Args:
            producer: 1 to 100 letters, digits, "_", "-" or ".". It pushes its batches one after the other.
            sequence: The batch's number, 0 or more, higher than those before; there may be gaps.
            items: The records; there may be none.
            timeout: The longest to wait for room, in seconds; None for as long as it takes.
            sync: Whether to return only when batch and number are on the disk, and to leave no moment at which a loss
                of power would make the batch come twice. It costs two forces, and all pushes wait during the first.

        Returns:
            The first record's offset; None when this producer's batch of this or a higher number is in the queue.

        Raises:
            Full: There was no room in time.
            TooLarge: A record is larger than max_event_size, or the batch larger than the queue.
            ConfigError: The name is not allowed, there are 1000 producers, or the directory is of format version 1.
            Closed: The queue is closed, or was closed while this waited.
            Poisoned: An earlier failure to write made the queue unsafe to write to.
            ValueError: The number is below 0, or more than 2**63 - 1.
            TypeError: One of `items` is nothing of bytes.
        """
        if not 0 <= whole("sequence", sequence) <= _names.LONG_MAX:
            raise ValueError(f"sequence = {sequence}: it must be 0 to {_names.LONG_MAX}")
        return self._producer.push_once(Once(producer, sequence), items, timeout, sync)

    def last_sequence(self, producer: str) -> int | None:
        """The number of the last batch that a producer has pushed with `push_once`; None when nothing is known.

        Raises:
            ConfigError: The name is not allowed.
            Closed: The queue is closed.
        """
        last: int = self._opened.ask("lastSequence", producer)
        return None if last < 0 else last

    def producers(self) -> list[str]:
        """The names of the producers that have pushed with `push_once`, in alphabetical order."""
        names: str = self._opened.ask("producers")
        return names.splitlines()

    def forget_producer(self, producer: str) -> None:
        """Forgets what a producer has pushed, for good: its numbers begin anew. Its records stay.

        Raises:
            ConfigError: There is none of this name.
            Closed: The queue is closed.
        """
        self._opened.ask("forgetProducer", producer)
