"""Shared buffers: the layout of records in memory shared with the JVM, and the pool of these buffers."""

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import accumulate, pairwise, repeat
from pathlib import Path

from py4j.java_gateway import JavaObject

from mmapqueue._jvm import names
from mmapqueue._jvm.calls import Call, Lifetime
from mmapqueue._jvm.shared_memory import Allocator, Memory
from mmapqueue._values.message import AnyMessage, messages
from mmapqueue._values.origin import Origin

#: The buffer of every thread that uses the queue: plenty for single records.
SMALL_BYTES = 64 << 10
#: The buffer of threads that move many records: a thousand of 1 KiB, beside which a call costs little.
LARGE_BYTES = 5 << 18
#: The most large buffers of a process. Threads keep small ones when all are taken.
MAX_LARGE = 16
# One entry for each large buffer that may still be made. A list, as its append and pop are atomic.
_large_left = [None] * MAX_LARGE

_HEADER_BYTES = names.HEADER.size


class SharedBuffer:
    """One shared buffer. For one call of one thread at a time.

    Attributes:
        last_call: The number of the last call. For a repeated number the JVM repeats its answer, and leaves the
            buffer as it is.
        payload_limit: Bytes of payload that fit.
        record_limit: Records that fit.
    """

    __slots__ = (
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
        self.push_many = call("pushMany").within
        self.push_batch = call("pushBatch").within
        self.load = call("load").within
        self.push_loaded = call("pushLoaded").within
        self.push_loaded_once = call("pushLoadedOnce").within
        self.pop = call("pop").within
        self.peek = call("peek").within
        self.fetch = call("fetch").within
        self.get = call("get").within
        self.ack_many = call("ackMany").within
        self.payload_limit: int = call("payloadLimit")()
        self.record_limit: int = call("recordLimit")()

    def next_call(self) -> int:
        """Begins a call; returns its number."""
        # A Java int: a number repeats after two thousand million calls.
        self.last_call = self.last_call % names.INT_MAX + 1
        return self.last_call

    def fitting(self, lengths: list[int], start: int) -> int:
        """The index after the last record that fits, of those from `start` on."""
        ends = list(accumulate(lengths[start : start + self.record_limit]))
        return start + bisect_right(ends, self.payload_limit)

    def write(self, payload: bytes, lengths: "Sequence[int] | array[int]") -> None:
        """Writes records: their bytes back to back, then the lengths."""
        self.memory.store(names.PAYLOAD, payload)
        if lengths:
            self.memory.store(names.aligned(names.PAYLOAD + len(payload)), array("I", lengths).tobytes())

    def count(self) -> int:
        """The number of records that the last call has written or pushed."""
        count: int = names.HEADER.unpack_from(self.memory.load(_HEADER_BYTES))[2]
        return count

    def read(self, origin: Origin) -> list[AnyMessage]:
        """The records that the JVM has written, as messages of an origin."""
        offset, timestamp, count, flags, size, attempts = names.HEADER.unpack_from(self.memory.load(_HEADER_BYTES))
        if count == 1:
            return list(messages((self._payload(size),), (offset,), (timestamp,), (attempts,), origin))
        lengths_at = names.aligned(names.PAYLOAD + size)
        timestamps_at = names.aligned(lengths_at + 4 * count)
        offsets_at = timestamps_at + (8 * count if flags & names.HAS_TIMESTAMPS else 0)
        attempts_at = offsets_at + (8 * count if flags & names.HAS_OFFSETS else 0)
        view = self.memory.load(attempts_at + (4 * count if flags & names.HAS_ATTEMPTS else 0))
        lengths = array("I", view[lengths_at : lengths_at + 4 * count])
        ends = accumulate(lengths, initial=names.PAYLOAD)
        return list(
            messages(
                [view[a:b] for a, b in pairwise(ends)],
                array("q", view[offsets_at:attempts_at])
                if flags & names.HAS_OFFSETS
                else range(offset, offset + count),
                array("q", view[timestamps_at:offsets_at]) if flags & names.HAS_TIMESTAMPS else repeat(0, count),
                array("i", view[attempts_at : attempts_at + 4 * count])
                if flags & names.HAS_ATTEMPTS
                else repeat(attempts, count),
                origin,
            )
        )

    def _payload(self, size: int) -> bytes:
        """The bytes of a single record. The JVM keeps one that is larger than the buffer, for `fetch`."""
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
        # Lists, as their append and pop are atomic: `put` runs in finalizers, which take no lock.
        self._small: list[SharedBuffer] = []
        self._large: list[SharedBuffer] = []
        self._large_made: list[None] = []
        # All buffers of the queue. A finalizer may put a buffer back that the garbage collector has found in a cycle;
        # without this reference py4j would have released its Java object before the finalizer ran.
        self._made: set[SharedBuffer] = set()

    def get_small(self) -> SharedBuffer:
        """A small buffer."""
        try:
            return self._small.pop()
        except IndexError:
            found = self._allocator.shared(SMALL_BYTES) or self._allocator.in_heap(SMALL_BYTES)
            return self._new(found, SMALL_BYTES)

    def get_large(self) -> SharedBuffer | None:
        """A large buffer; None when all are in use, or when no memory can be shared."""
        try:
            return self._large.pop()
        except IndexError:
            pass
        try:
            self._large_made.append(_large_left.pop())
        except IndexError:
            return None
        found = self._allocator.shared(LARGE_BYTES)
        # After a failure the entry stays taken: retrying on each call would cost more than a large buffer gains.
        return None if found is None else self._new(found, LARGE_BYTES)

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
                # The call may still run.
                self.discard(buffer)
            else:
                self.put(buffer)
            raise
        self.put(buffer)

    def put(self, buffer: SharedBuffer) -> None:
        """Puts a buffer back. The caller uses neither the buffer nor its content any more."""
        (self._small if buffer.size == SMALL_BYTES else self._large).append(buffer)

    def discard(self, buffer: SharedBuffer) -> None:
        """Drops a buffer that the JVM may still use."""
        self._made.discard(buffer)
        if buffer.size == LARGE_BYTES:
            self._free_large()

    def close(self) -> None:
        """Frees the memory of the buffers in the pool."""
        for buffers in (self._small, self._large):
            while buffers:
                buffers.pop().memory.close()
        while self._large_made:
            self._free_large()
        self._made.clear()

    def _free_large(self) -> None:
        with suppress(IndexError):
            _large_left.append(self._large_made.pop())

    def __del__(self) -> None:
        while self._large_made:
            self._free_large()
