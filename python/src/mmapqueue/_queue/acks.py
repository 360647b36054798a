"""The acking half of a consumer. Safe for any number of threads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from mmapqueue._jvm import names
from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.handle import QueueHandle
from mmapqueue._queue.undelivered import Undelivered
from mmapqueue._values.durations import Duration, delay_micros
from mmapqueue._values.errors import Closed, OutOfRange

_Result = TypeVar("_Result")


class Acks(ABC):
    """The calls of a consumer that answer for popped records.

    Attributes:
        handle: The open queue.
        name: The consumer's name.
        number: The consumer's number in the JVM.
        undelivered: Records that the next pop delivers before new ones.
        in_blocks: Offsets of messages within a `with` block that were neither acked nor nacked.
    """

    handle: QueueHandle
    name: str
    number: int
    undelivered: Undelivered
    in_blocks: set[int]

    @abstractmethod
    def check(self) -> None:
        """Raises the error of a closed consumer, of a closed queue, or of a forked process."""

    @abstractmethod
    def call(self, name: str, *arguments: int | str | bytes) -> Any:
        """Calls a method of the handle for this consumer."""

    @abstractmethod
    def closed_error(self) -> Closed:
        """The error of calls after the queue or this consumer was closed."""

    def ack(self, offset: int) -> None:
        """Acks a record and every one before it."""
        self._check_delivered("ack", (offset,))
        self.call("ack", offset)
        if self.undelivered:
            with Shield():
                self.undelivered.drop(0, offset)

    def ack_single(self, offset: int) -> None:
        """Acks a record alone."""
        self._check_delivered("ack", (offset,))
        self.call("ackSingle", offset)
        self.in_blocks.discard(offset)

    def ack_many(self, offsets: list[int]) -> None:
        """Acks each of these records."""
        self.check()
        if not offsets:
            return
        self._check_delivered("ack", offsets)
        packed = array("q", offsets).tobytes()
        with Shield(), self.handle.pool.borrow(len(packed)) as buffer:
            if len(packed) > buffer.payload_limit:
                # Takes any length, four times slower.
                self.call("ackMany", packed)
                return
            buffer.memory.store(names.PAYLOAD, packed)
            try:
                buffer.ack_many(self.number, len(offsets))
            except Closed:
                raise self.closed_error() from None

    def nack(self, offset: int, delay: Duration) -> None:
        """Requeues a record."""
        micros = delay_micros("delay", delay)
        self._check_delivered("nack", (offset,))
        self.call("nack", offset, micros)
        self.in_blocks.discard(offset)

    async def in_thread(self, call: Callable[[], _Result]) -> _Result:
        """Runs a call that does not wait in a thread."""
        return await self.handle.threads.run(call)

    def _check_delivered(self, what: str, offsets: Iterable[int]) -> None:
        """Raises OutOfRange for a record that the JVM has popped and no caller has received."""
        if not self.undelivered:
            return
        here = self.undelivered.offsets()
        wrong = next((offset for offset in offsets if offset in here), None)
        if wrong is not None:
            last = min(here) - 1
            first: int = self.handle.call("endOffset") - self.call("lag")
            error = OutOfRange(
                f"{what} by consumer {self.name} of a record that it has not popped: offset {wrong} is out of range; "
                f"available: {f'{first}..{last}' if first <= last else 'none'}"
            )
            error.requested, error.first, error.last = wrong, first, last
            raise error
