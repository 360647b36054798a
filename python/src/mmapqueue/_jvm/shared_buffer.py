"""Stages: how records are laid out in shared memory, and who has which piece of it."""

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import accumulate, pairwise, repeat
from pathlib import Path

from py4j.java_gateway import JavaObject

from mmapqueue._jvm import names
from mmapqueue._jvm.calls import Call
from mmapqueue._jvm.shared_memory import Allocator, Memory
from mmapqueue._values.message import Message, Origin, messages

#: What every thread gets that uses the queue: plenty for records one by one.
SMALL = 64 << 10
#: What threads get that move many at a time, a thousand records of 1 KiB: a call costs little beside that.
LARGE = 5 << 18
#: So many large ones there are in a process; when all are taken, threads make do with small ones.
MOST_LARGE = 16
# One for each that may still be made. A list, as for the lists of a pool.
_large_left = [None] * MOST_LARGE

_HEADER_BYTES = names.HEADER.size


class Stage:
    """One stage. For one thread at a time, and not for two calls of one thread at once.

    Attributes:
        call: The number of the last call that was begun. The JVM answers a repeated number as it did before, and keeps
            what the stage held.
        payload_limit: Bytes of payload that fit.
        record_limit: Records that fit.
    """

    __slots__ = (
        "ack_many",
        "call",
        "fetch",
        "get",
        "load",
        "memory",
        "payload_limit",
        "peek",
        "pop",
        "push",
        "push_loaded",
        "push_loaded_once",
        "push_many",
        "record_limit",
        "size",
    )

    def __init__(self, stage: JavaObject, memory: Memory, size: int) -> None:
        def call(name: str) -> Call:
            return Call(stage, name, names.STAGE_CALLS[name])

        self.call = 0
        self.memory = memory
        self.size = size
        self.push = call("push").within
        self.push_many = call("pushMany").within
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
        """Begins a call: its number."""
        # The JVM's are ints; a number comes back after two thousand million calls.
        self.call = self.call % names.INT_MAX + 1
        return self.call

    def fitting(self, lengths: list[int], start: int) -> int:
        """Where the records end that fit, of those from `start` on."""
        ends = list(accumulate(lengths[start : start + self.record_limit]))
        return start + bisect_right(ends, self.payload_limit)

    def write(self, payload: bytes, lengths: "Sequence[int] | array[int]") -> None:
        """Lays records out: their bytes back to back, then the lengths."""
        self.memory.store(names.PAYLOAD, payload)
        if lengths:
            self.memory.store(names.aligned(names.PAYLOAD + len(payload)), array("I", lengths).tobytes())

    def read(self, origin: Origin) -> list[Message]:
        """The records that the JVM has laid out, as messages of an origin."""
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
        """The bytes of the one record that there is; the JVM keeps one that is larger than the stage."""
        at = names.PAYLOAD
        if size <= self.payload_limit:
            return self.memory.load(at + size)[at : at + size]
        data = bytearray()
        while len(data) < size:
            length = self.fetch(len(data))
            data += self.memory.load(at + length)[at : at + length]
        return bytes(data)


class Pool:
    """All stages of a queue. Safe for any number of threads."""

    def __init__(self, handle: JavaObject, directory: Path) -> None:
        self._allocator = Allocator(handle, directory)
        # Lists, as their append and pop are one step each: `give` runs in finalizers, where no lock may be taken.
        self._small: list[Stage] = []
        self._large: list[Stage] = []
        self._large_made: list[None] = []

    def small(self) -> Stage:
        """A stage for any thread."""
        try:
            return self._small.pop()
        except IndexError:
            return Stage(*(self._allocator.shared(SMALL) or self._allocator.unshared(SMALL)), SMALL)

    def large(self) -> Stage | None:
        """A large stage, or None when all are in use or no memory can be had for one."""
        try:
            return self._large.pop()
        except IndexError:
            pass
        try:
            self._large_made.append(_large_left.pop())
        except IndexError:
            return None
        found = self._allocator.shared(LARGE)
        # Without one the place stays taken: to try again each time would cost more than it may bring.
        return None if found is None else Stage(*found, LARGE)

    @contextmanager
    def lent(self, size: int) -> Iterator[Stage]:
        """A stage for one call that is not numbered; a large one, if there is one, for more bytes than a small one has.

        Args:
            size: Bytes of payload.
        """
        stage = self.small()
        if size > stage.payload_limit and (large := self.large()) is not None:
            self.give(stage)
            stage = large
        try:
            yield stage
        except BaseException as error:
            if getattr(error, "java_class", None) is None:
                # The call may be under way still.
                self.discard(stage)
            else:
                self.give(stage)
            raise
        self.give(stage)

    def give(self, stage: Stage) -> None:
        """Takes a stage back that nobody uses, nor anything in it."""
        (self._small if stage.size == SMALL else self._large).append(stage)

    def discard(self, stage: Stage) -> None:
        """Forgets a stage that the JVM may be using still."""
        if stage.size == LARGE:
            self._give_place_back()

    def close(self) -> None:
        """Gives the memory back of the stages that are not in use."""
        for stages in (self._small, self._large):
            while stages:
                stages.pop().memory.close()
        while self._large_made:
            self._give_place_back()

    def _give_place_back(self) -> None:
        with suppress(IndexError):
            _large_left.append(self._large_made.pop())

    def __del__(self) -> None:
        while self._large_made:
            self._give_place_back()
