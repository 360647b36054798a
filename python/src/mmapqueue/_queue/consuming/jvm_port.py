"""A consumer in the JVM that a queue has open."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from os import getpid
from typing import Any, TypeVar

from mmapqueue._jvm import names
from mmapqueue._jvm.lock_holders import retry_while_ending
from mmapqueue._jvm.shared_buffer import SharedBuffer
from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.consuming.ahead import Ahead
from mmapqueue._queue.consuming.popper import Popper
from mmapqueue._queue.consuming.port import AckRange, ThreadBuffer
from mmapqueue._queue.handle import QueueHandle
from mmapqueue._values.errors import Closed
from mmapqueue._values.origin import OpenConsumer, OpenOrigin

_Result = TypeVar("_Result")


class JvmPort:
    """Opens a consumer, and makes its calls; the contract is that of `ConsumerPort`.

    Attributes:
        handle: The open queue.
        number: The consumer's number in the JVM.
    """

    def __init__(self, handle: QueueHandle, name: str, start: str) -> None:
        self.handle = handle
        self.name = name
        self.path = handle.path
        self.max_event_size = handle.max_event_size
        self.visibility = handle.config["visibility_timeout"] / 1000
        self.closed = False
        self.number: int = retry_while_ending(lambda: handle.call("consumer", name, start), handle.lock_timeout)
        self._lifetime = handle.lifetime
        self._pid = handle.pid
        self.small_buffer = handle.pool.get_small
        self.large_buffer = handle.pool.get_large
        self.put = handle.pool.put

    @property
    def ended(self) -> bool:
        return self.closed or self._lifetime.closed

    def usable(self) -> bool:
        return not (self._lifetime.closed or self.closed) and self._pid == getpid()

    def check(self) -> None:
        self.handle.check()
        if self.closed:
            raise self.closed_error()

    def closed_error(self) -> Closed:
        if self._lifetime.closed:
            return self._lifetime.closed_error()
        self.closed = True
        return Closed(f"the consumer {self.name} of the queue in {self.path} is closed")

    def origin(self, popped_by: OpenConsumer) -> OpenOrigin:
        return OpenOrigin.of(self.handle.origin.queue, self.name, self.handle.serializer, popped_by)

    async def in_thread(self, call: Callable[[], _Result]) -> _Result:
        return await self.handle.threads.run(call)

    def track(self, own: ThreadBuffer) -> None:
        self.handle.thread_buffers[id(own)] = own

    # ---- pops

    def pop(
        self, buffer: SharedBuffer, most: int, max_bytes: int, wait_millis: int, acks: AckRange | None = None
    ) -> int:
        try:
            if acks is None:
                popped: int = buffer.pop(buffer.next_call(), self.number, most, max_bytes, wait_millis)
            else:
                popped = buffer.ack_and_pop(buffer.next_call(), self.number, *acks, most, max_bytes, wait_millis)
        except Closed:
            raise self.closed_error() from None
        return popped

    def repeat(self, buffer: SharedBuffer) -> int:
        try:
            popped: int = buffer.pop(buffer.last_call, self.number, 1, 1, 0)
        except Closed:
            raise self.closed_error() from None
        return popped

    def peek(self, buffer: SharedBuffer) -> int:
        try:
            found: int = buffer.peek(self.number)
        except Closed:
            raise self.closed_error() from None
        return found

    # ---- popped records

    def ack(self, offset: int) -> None:
        self._call("ack", offset)

    def ack_up_to(self, offset: int) -> None:
        self._call("ackUpTo", offset)

    def ack_many(self, offsets: Sequence[int]) -> None:
        packed = array("q", offsets).tobytes()
        with Shield(), self.handle.pool.borrow(len(packed)) as buffer:
            if len(packed) > buffer.payload_limit:
                # The general form, for any length; four times slower.
                self._call("ackMany", packed)
                return
            self.check()
            buffer.memory.store(names.PAYLOAD, packed)
            try:
                buffer.ack_many(self.number, len(offsets))
            except Closed:
                raise self.closed_error() from None

    def nack(self, offset: int, delay_micros: int) -> None:
        self._call("nack", offset, delay_micros)

    def release(self, offsets: list[int]) -> None:
        self._call("release", array("q", offsets).tobytes())

    # ---- position

    def seek(self, target: str) -> None:
        self._call("seek", target)

    def size(self) -> int:
        return int(self._call("size"))

    def lag(self) -> int:
        return int(self._call("lag"))

    def unacked(self) -> int:
        return int(self._call("unacked"))

    def committed_offset(self) -> int:
        return int(self._call("committedOffset"))

    def close(self) -> None:
        # Without a check: the consumer counts as closed already.
        try:
            self.handle.call_only("closeConsumer", self.number)
        finally:
            self.handle.leftovers.pop(self.number, None)

    def _call(self, name: str, *arguments: int | str | bytes) -> Any:
        if self.closed:
            self.check()
        try:
            return self.handle.call_only(name, self.number, *arguments)
        except Closed:
            raise self.closed_error() from None


def open_consumer(handle: QueueHandle, name: str, start: str, ahead: Ahead) -> Popper:
    """Opens a consumer of a queue; creates it if it does not exist.

    Args:
        handle: The open queue, which ends the consumer at its close.
        name: The consumer's name.
        start: Where a new consumer starts, as the JVM takes it.
        ahead: The work that it does ahead of calls into the JVM, or after them.
    """
    port = JvmPort(handle, name, start)
    popper = Popper(port, ahead)
    handle.releasables[id(popper)] = popper
    handle.leftovers[port.number] = popper.delivery.leftovers
    return popper
