"""Shared buffers: the layout of records in memory shared with the JVM, and the pool of these buffers."""

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import accumulate
from pathlib import Path

from py4j.java_gateway import JavaObject

from mmapqueue._jvm import names
from mmapqueue._jvm.calls import Call, Lifetime
from mmapqueue._jvm.columns import Columns
from mmapqueue._jvm.shared_memory import Allocator, Memory
from mmapqueue._values.message import AnyMessage, messages
from mmapqueue._values.origin import Origin

#: Size of the buffer of every thread that uses the queue, which suffices for single records.
SMALL_BYTES = 64 << 10
#: Size of the buffer of threads that move many records: a thousand of 1 KiB, which outweigh the cost of a call.
LARGE_BYTES = 5 << 18
#: The maximum number of large buffers of a process. Threads keep small ones when all are in use.
MAX_LARGE = 16
#: Size of the buffers that can be lent: see `lending`.
LENT_BYTES = 4 << 20
#: The maximum number of lendable buffers of a process. Records are copied when all others are lent.
MAX_LENT = 16
# One entry for each buffer of a size that may still be made. A list, because its append and pop are atomic.
_large_left = [None] * MAX_LARGE
_lent_left = [None] * MAX_LENT
_left = {LARGE_BYTES: _large_left, LENT_BYTES: _lent_left}


class SharedBuffer:
    """One shared buffer. For one call of one thread at a time.

    Attributes:
        last_call: The number of the last call. The JVM answers a repeated number with the same answer, and leaves the
            buffer unchanged.
        payload_limit: Bytes of payload that fit.
        record_limit: Records that fit.
    """

    __slots__ = (
        "ack_and_pop",
        "ack_many",
        "fetch",
        "get",
        "last_call",
        "load",
        "memory",
        "payload_limit",
        "peek",
        "pop",
        "push",
        "push_batch",
        "push_loaded",
        "push_loaded_once",
        "push_many",
        "push_many_call",
        "record_limit",
        "size",
    )

    def __init__(self, buffer: JavaObject, memory: Memory, size: int, lifetime: Lifetime) -> None:
        def call(name: str) -> Call:
            return Call(buffer, name, names.SHARED_BUFFER_CALLS[name], lifetime)

        self.last_call = 0
        self.memory = memory
        self.size = size
        self.push = call("push").within
        self.push_many_call = call("pushMany")
        self.push_many = self.push_many_call.within
        self.push_batch = call("pushBatch").within
        self.load = call("load").within
        self.push_loaded = call("pushLoaded").within
        self.push_loaded_once = call("pushLoadedOnce").within
        self.pop = call("pop").within
        self.ack_and_pop = call("ackAndPop").within
        self.peek = call("peek").within
        self.fetch = call("fetch").within
        self.get = call("get").within
        self.ack_many = call("ackMany").within
        self.payload_limit: int = call("payloadLimit")()
        self.record_limit: int = call("recordLimit")()

    def next_call(self) -> int:
        """Begins a call; returns its number."""
        # A Java int: numbers repeat after two thousand million calls.
        self.last_call = self.last_call % names.INT_MAX + 1
        return self.last_call

    def fitting(self, lengths: list[int], start: int) -> int:
        """The index after the last record that fits, of those from `start` on."""
        if len(lengths) - start <= self.record_limit and sum(lengths) <= self.payload_limit:
            return len(lengths)
        ends = list(accumulate(lengths[start : start + self.record_limit]))
        return start + bisect_right(ends, self.payload_limit)

    def write(self, payload: bytes | memoryview, lengths: Sequence[int]) -> None:
        """Writes records: their bytes back to back, then the lengths. A memoryview of lengths has 32 bits for each."""
        self.memory.store(names.PAYLOAD, payload)
        if lengths:
            column = lengths if isinstance(lengths, memoryview) else memoryview(array("I", lengths))
            self.memory.store(names.aligned(names.PAYLOAD + len(payload)), column.cast("B"))

    def count(self) -> int:
        """The number of records that the last call has written or pushed."""
        count: int = names.HEADER.unpack_from(self.memory.load(names.HEADER.size))[2]
        return count

    def read(self, origin: Origin) -> list[AnyMessage]:
        """The records that the JVM has written, as messages of an origin."""
        header = self.memory.load(names.HEADER.size)
        offset, timestamp, count, _, size, attempts = names.HEADER.unpack_from(header)
        if count == 1:
            return list(messages((self._payload(size),), (offset,), (timestamp,), (attempts,), origin))
        columns = Columns.of(header)
        return columns.messages(self.memory.load(columns.last), origin)

    def _payload(self, size: int) -> bytes:
        """The bytes of a single record. The JVM keeps a record that is larger than the buffer, for `fetch`."""
        at = names.PAYLOAD
        if size <= self.payload_limit:
            return self.memory.load(at + size)[at : at + size]
        data = bytearray()
        while len(data) < size:
            length = self.fetch(len(data))
            data += self.memory.load(at + length)[at : at + length]
        return bytes(data)


class BufferPool:
    """The shared buffers of a queue that no thread keeps. Safe for any number of threads."""

    def __init__(self, handle: JavaObject, directory: Path, lifetime: Lifetime) -> None:
        self._allocator = Allocator(handle, directory, lifetime)
        self._lifetime = lifetime
        # Lists, because their append and pop are atomic: `put` runs in finalizers, which take no lock.
        self._free: dict[int, list[SharedBuffer]] = {SMALL_BYTES: [], LARGE_BYTES: [], LENT_BYTES: []}
        # The entries that this pool has taken from the process's supply, by size.
        self._taken: dict[int, list[None]] = {size: [] for size in _left}
        self._lent: set[SharedBuffer] = set()
        self._closed = False
        # All buffers of the queue. A finalizer may put back a buffer that the garbage collector found in a cycle;
        # without this reference py4j would have released the buffer's Java object before the finalizer ran.
        self._made: set[SharedBuffer] = set()

    def get_small(self) -> SharedBuffer:
        """A small buffer."""
        try:
            return self._free[SMALL_BYTES].pop()
        except IndexError:
            found = self._allocator.shared(SMALL_BYTES) or self._allocator.in_heap(SMALL_BYTES)
            return self._new(found, SMALL_BYTES)

    def get_large(self) -> SharedBuffer | None:
        """A large buffer; None when all are in use, or when no memory can be shared."""
        return self._get_limited(LARGE_BYTES)

    def get_lendable(self) -> SharedBuffer | None:
        """A buffer that may be lent; None when all are in use, or when no memory can be shared."""
        return self._get_limited(LENT_BYTES)

    def _get_limited(self, size: int) -> SharedBuffer | None:
        try:
            return self._free[size].pop()
        except IndexError:
            pass
        try:
            self._taken[size].append(_left[size].pop())
        except IndexError:
            return None
        found = self._allocator.shared(size)
        # After a failure the entry stays taken: a retry at each call would cost more than such a buffer gains.
        return None if found is None else self._new(found, size)

    def _new(self, found: tuple[JavaObject, Memory], size: int) -> SharedBuffer:
        buffer = SharedBuffer(*found, size, self._lifetime)
        self._made.add(buffer)
        return buffer

    @contextmanager
    def borrow(self, size: int) -> Iterator[SharedBuffer]:
        """A buffer for one call without a number; a large one, if available, for more bytes than a small one holds.

        Args:
            size: Bytes of payload.
        """
        buffer = self.get_small()
        if size > buffer.payload_limit and (large := self.get_large()) is not None:
            self.put(buffer)
            buffer = large
        try:
            yield buffer
        except BaseException as error:
            if getattr(error, "java_class", None) is None:
                # After an error the call may still run in the JVM, so the buffer is dropped.
                self.discard(buffer)
            else:
                self.put(buffer)
            raise
        self.put(buffer)

    def put(self, buffer: SharedBuffer) -> None:
        """Puts a buffer back. The caller must not use the buffer or its content any more."""
        self._free[buffer.size].append(buffer)

    def discard(self, buffer: SharedBuffer) -> None:
        """Drops a buffer that the JVM may still use."""
        self._made.discard(buffer)
        if buffer.size in _left:
            self._release_entry(buffer.size)

    def may_lend(self, buffer: SharedBuffer) -> bool:
        """Whether to lend a buffer: enough others must remain for calls."""
        return buffer.size == LENT_BYTES and bool(self._free[LENT_BYTES] or _lent_left)

    def lent(self, buffer: SharedBuffer) -> None:
        """Notes that a buffer is lent, so that `close` does not free its memory."""
        self._lent.add(buffer)

    def put_lent(self, buffer: SharedBuffer, *, reusable: bool) -> None:
        """Puts a lent buffer back, or drops it."""
        self._lent.discard(buffer)
        if reusable and not self._closed:
            self.put(buffer)
            return
        self.discard(buffer)
        if reusable:
            buffer.memory.close()

    def close(self) -> None:
        """Frees the memory of the buffers in the pool; that of lent ones is freed once nothing refers to it."""
        self._closed = True
        for buffers in self._free.values():
            while buffers:
                buffers.pop().memory.close()
        for size, taken in self._taken.items():
            for _ in range(len(taken) - (len(self._lent) if size == LENT_BYTES else 0)):
                self._release_entry(size)
        self._made.intersection_update(self._lent)

    def _release_entry(self, size: int) -> None:
        with suppress(IndexError):
            _left[size].append(self._taken[size].pop())

    def __del__(self) -> None:
        for size, taken in self._taken.items():
            while taken:
                self._release_entry(size)
