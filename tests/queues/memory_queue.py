"""An open queue in memory, for tests without a JVM: pushes, the close, and calls under asyncio."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any
from weakref import WeakValueDictionary

from memory_port import MemoryPort

from mmapqueue._jvm import names
from mmapqueue._jvm.shared_buffer import SMALL_BYTES, SharedBuffer
from mmapqueue._queue.consuming.popper import Popper
from mmapqueue._queue.handle import QueueHandle
from mmapqueue._queue.reading import Reading
from mmapqueue._queue.room import Room
from mmapqueue._queue.source import OneConsumer


class PushedBuffer:
    """Takes the place of a shared buffer from which threads push."""

    size = SMALL_BYTES
    payload_limit = 40
    record_limit = 4
    fitting = SharedBuffer.fitting

    def __init__(self, queue: MemoryQueue) -> None:
        self.memory = self
        self.last_call = 0
        self._queue = queue
        self._payload = b""
        self._lengths: list[int] = []
        self._count = 0
        self._loaded: tuple[bytes, list[int]] = (b"", [])

    def next_call(self) -> int:
        self.last_call += 1
        return self.last_call

    def count(self) -> int:
        return self._count

    def store(self, _at: int, payload: bytes) -> None:
        assert len(payload) <= self.payload_limit
        self._payload = payload

    def write(self, payload: bytes, lengths: Sequence[int]) -> None:
        self.store(0, payload)
        self._lengths = list(lengths)

    def push(self, _call: int, size: int, millis: int, _sync: bool) -> int:
        return self._push(lambda: [self._payload[:size]], millis)

    def push_many(self, call: int, size: int, count: int, done: int, millis: int) -> int:
        first = self.push_batch(call, size, count, done, millis, False)
        return first if first < 0 else self._count

    def push_batch(self, _call: int, size: int, count: int, done: int, millis: int, _sync: bool) -> int:
        return self._push(lambda: _cut(self._payload[:size], self._lengths[:count])[done:], millis)

    def load(self, _call: int, begin: bool, size: int, count: int) -> None:
        payload, lengths = (b"", []) if begin else self._loaded
        self._loaded = payload + self._payload[:size], lengths + self._lengths[:count]

    def push_loaded(self, _call: int, millis: int, _sync: bool) -> int:
        return self._push(lambda: _cut(*self._loaded), millis, whole=True)

    def _push(self, records: Callable[[], list[bytes]], millis: int, *, whole: bool = False) -> int:
        first, self._count = self._queue.append(records, millis, whole=whole)
        return first

    def close(self) -> None:
        """Nothing is freed."""


def _cut(payload: bytes, lengths: list[int]) -> list[bytes]:
    ends = [sum(lengths[: number + 1]) for number in range(len(lengths))]
    return [payload[end - length : end] for end, length in zip(ends, lengths, strict=True)]


class MemoryQueue(QueueHandle):
    """The handle of an open queue, whose log is that of a port.

    Attributes:
        room_for: The number of unacked records that have room.
        fail: Called before and after each push appends its records; may raise the error of the push.
    """

    def __init__(self, port: MemoryPort, room_for: int = 1 << 30) -> None:
        self.port = port
        self.room_for = room_for
        self.fail: Callable[[str], None] = lambda _: None
        self.path = port.path
        self.pid = os.getpid()
        self.lifetime = port.lifetime
        self.serializer = None
        self.max_event_size = port.max_event_size
        self.capacity = 1 << 30
        self.config: Any = {"max_attempts": 0}
        self._calls: Any = {"heldBy": lambda: "nothing holds it", "flush": lambda: self._call("flush")}
        self._close: Any = SimpleNamespace(within=lambda: port.step("close the queue"))
        self._closed = lambda: None
        self._threads = None
        self._free: list[PushedBuffer] = []
        self.pool: Any = SimpleNamespace(
            get_small=lambda: self._free.pop() if self._free else PushedBuffer(self),
            get_large=lambda: None,
            put=self._free.append,
            discard=lambda _: None,
            close=lambda: None,
        )
        self.room = Room(lambda: len(port.log), lambda _: "no room", lambda: port.now)
        self.thread_buffers = WeakValueDictionary()
        self.producers = set()
        self.releasables = WeakValueDictionary()

    def consumer(self, popper: Popper) -> Reading[bytes]:
        """What a program has of a consumer over the port."""
        self.releasables[id(popper)] = popper
        self.port.in_thread = self.threads.run  # type: ignore[method-assign]
        reading: Reading[bytes] = Reading(self, OneConsumer(popper))
        reading._use(popper)
        return reading

    def append(self, records: Callable[[], list[bytes]], millis: int, *, whole: bool) -> tuple[int, int]:
        """Appends as many records as have room, or all or none; returns the first one's offset and their number."""
        self._call("push")
        if not self._room(len(records()) if whole else 1) and millis:
            self._call("wait")
        found = records()
        room = self._room(len(found) if whole else 1)
        if not room:
            return names.FULL, 0
        self.fail("before")
        first = len(self.port.log)
        self.port.push(*found[:room])
        self.fail("after")
        return first, min(room, len(found))

    def _room(self, least: int) -> int:
        room = self.room_for - len(self.port.log) + self.port.committed
        return room if room >= least else 0

    def _call(self, name: str) -> None:
        self.port.step(name)
        if self.lifetime.closed:
            raise self.lifetime.closed_error()
