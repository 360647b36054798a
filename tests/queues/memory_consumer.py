"""A consumer in memory whose pops wait, by a clock that a test moves, and a producer: for tests without a JVM."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from threading import Condition
from typing import Any

import pytest
from memory_port import MemoryBuffer, MemoryPort
from memory_queue import MemoryQueue

from mmapqueue._queue import deadline, iteration
from mmapqueue._queue.batching.producer import BatchingProducer
from mmapqueue._queue.consuming import delivery, popper, thread_buffers
from mmapqueue._queue.consuming.ahead import Ahead
from mmapqueue._queue.consuming.popper import Popper
from mmapqueue._queue.consuming.port import AckRange
from mmapqueue._queue.producer import Producer
from mmapqueue._queue.reading import Reading
from mmapqueue._queue.source import OneConsumer
from mmapqueue._values.errors import UnackedLimit

#: The time that a waiting pop leaves to other threads before it moves the clock, in seconds.
_PAUSE = 0.001
#: As a queue by default.
_AHEAD = Ahead(4096, 0.005)


class Clock:
    """The time of a test: it passes in pops that wait for records, at once, and in `sleep`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._now = 0.0
        for module in (deadline, delivery, iteration, popper, thread_buffers):
            monkeypatch.setattr(module, "monotonic", self)

    def __call__(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self._now += seconds


class WaitingPort(MemoryPort):
    """A consumer in memory for several threads, whose pops wait for records and acks."""

    def __init__(self, clock: Clock | None, **options: Any) -> None:
        super().__init__(**options)
        self._clock = clock
        self._changed = Condition()

    def pop(
        self, buffer: MemoryBuffer, most: int, max_bytes: int, wait_millis: int, acks: AckRange | None = None
    ) -> int:
        clock = self._clock or time.monotonic
        end = clock() + wait_millis / 1000
        with self._changed:
            while True:
                self.now = clock()
                try:
                    count = super().pop(buffer, most, max_bytes, wait_millis, acks)
                except UnackedLimit:
                    if self.now >= end:
                        raise
                    count = 0
                if count > 0 or self.now >= end:
                    return count
                # Sent with the first pop.
                acks = None
                self._wait(min([end, *(due for due, _ in self._requeued), *self._leases.values()]))

    def _wait(self, until: float) -> None:
        if self._clock is None:
            self._changed.wait(max(0.0, until - time.monotonic()))
        elif not self._changed.wait(_PAUSE):
            self._clock.sleep(until - self._clock())

    def push(self, *records: bytes) -> None:
        with self._changed:
            super().push(*records)
            self._changed.notify_all()


def _alone(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of the port that excludes all others, and wakes those that wait."""

    def call(port: WaitingPort, *arguments: Any) -> Any:
        with port._changed:
            port.now = (port._clock or time.monotonic)()
            try:
                return method(port, *arguments)
            finally:
                port._changed.notify_all()

    return call


for _name in (
    *("repeat", "peek", "ack", "ack_up_to", "ack_many", "nack", "release", "seek", "close", "drop_before"),
    *("size", "lag", "unacked", "committed_offset"),
):
    setattr(WaitingPort, _name, _alone(getattr(MemoryPort, _name)))


class NoUpkeep:
    """Takes the place of the thread in the background: acks wait until a call sends them."""

    def join(self, owner: Popper) -> Popper:
        return owner

    def wake(self, _ticket: Popper, _seconds: float) -> None:
        """Nothing is done later."""

    def end(self, _ticket: Popper) -> None:
        """No thread ends."""


class MemoryConsumer(Reading[bytes]):
    """A consumer of a queue in memory, with the pushes of the queue. It has no thread in the background.

    Args:
        clock: The time by which pops wait, leases end and requeued records are due; real time, when None.
        ahead: What the consumer does ahead; nothing with leases.
        options: Those of `MemoryPort`.
    """

    def __init__(self, clock: Clock | None = None, ahead: Ahead = _AHEAD, **options: Any) -> None:
        self.port = WaitingPort(clock, **options)
        parts: tuple[Any, ...] = (self.port, Ahead(0, 0.0) if self.port.visibility else ahead, NoUpkeep())
        one = Popper(*parts)
        handle = MemoryQueue(self.port)
        self.port.in_thread = handle.threads.run  # type: ignore[method-assign]
        super().__init__(handle, OneConsumer(one))
        self._use(one)
        self._producer = Producer(handle)

    def push(self, record: bytes) -> int:
        self.port.push(record)
        return len(self.port.log) - 1

    def push_many(self, records: Iterable[bytes]) -> int:
        records = list(records)
        self.port.push(*records)
        return len(records)

    def producer(
        self, *, linger: float, batch_bytes: int = 1 << 16, buffer_bytes: int = 1 << 20
    ) -> BatchingProducer[bytes]:
        settings: dict[str, Any] = {"linger": linger, "batch_bytes": batch_bytes, "buffer_bytes": buffer_bytes}
        return BatchingProducer(self._handle, self._producer, sync=False, **settings)
