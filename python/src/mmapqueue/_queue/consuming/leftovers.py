"""Records of a consumer that the JVM has popped, and no caller has received: kept apart from the consumer's objects.

A queue that is collected without a close has none of these objects any more, and its records must be released
nevertheless: other handles of the process may have the queue open. The finalizer of the queue refers to leftovers; they
refer to neither queue nor consumer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from mmapqueue._queue.consuming.undelivered import Undelivered
from mmapqueue._values.errors import MmapQueueError, OutOfRange
from mmapqueue._values.message import AnyMessage
from mmapqueue._values.origin import Origin

if TYPE_CHECKING:
    from mmapqueue._queue.consuming.pop_buffer import State

_ORIGIN = Origin("", None)


class Leftovers:
    """The leftovers of one consumer.

    Attributes:
        ready: The iterator over prefetched records.
        undelivered: The rests of batches.
        orphans: Unfinished calls of threads that have ended.
    """

    __slots__ = ("orphans", "ready", "undelivered")

    def __init__(self, undelivered: Undelivered) -> None:
        self.ready: Iterator[AnyMessage] = iter(())
        self.undelivered = undelivered
        self.orphans: list[State] = []

    def take(self, consumer: int) -> list[int]:
        """Takes the records; returns their offsets.

        Args:
            consumer: The consumer's number in the JVM.
        """
        offsets = [message.offset for message in self.ready]
        offsets += self.undelivered.offsets()
        while self.orphans:
            buffer, answered, chunks = self.orphans.pop()
            offsets += [message.offset for chunk in chunks for message in chunk]
            if buffer.last_call != answered:
                # The JVM repeats the answer to a number that it knows. If the call never arrived, this pops one record.
                with suppress(MmapQueueError):
                    if buffer.pop(buffer.last_call, consumer, 1, 1, 0) > 0:
                        offsets += [message.offset for message in buffer.read(_ORIGIN)]
        return sorted(set(offsets))


def release(call: Callable[[list[int]], object], offsets: list[int]) -> None:
    """Releases records to the JVM, as if they had not been popped; raises nothing.

    Args:
        call: Releases all of some records, or raises OutOfRange and releases none.
        offsets: The offsets of the records.
    """
    if not offsets:
        return
    with suppress(MmapQueueError):
        try:
            call(offsets)
        except OutOfRange:
            # Some are not in flight any more, such as those that another handle has acked.
            for offset in offsets:
                with suppress(OutOfRange):
                    call([offset])
