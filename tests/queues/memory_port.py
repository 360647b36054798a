"""A queue in memory with one consumer: the other side of `ConsumerPort`, for tests without a JVM."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

from mmapqueue._jvm.calls import Lifetime
from mmapqueue._jvm.shared_buffer import SMALL_BYTES
from mmapqueue._queue.consuming.port import AckRange, ThreadBuffer
from mmapqueue._values.errors import Closed, Dropped, MmapQueueError, OutOfRange, UnackedLimit
from mmapqueue._values.message import Message
from mmapqueue._values.origin import OpenConsumer, OpenOrigin, Origin

_Method = TypeVar("_Method", bound=Callable[..., Any])


class MemoryBuffer:
    """Takes the place of a shared buffer: holds the answer of its last call."""

    size = SMALL_BYTES

    def __init__(self, payload_limit: int, record_limit: int) -> None:
        self.payload_limit = payload_limit
        self.record_limit = record_limit
        self.last_call = 0
        self.answered = 0
        self.records: list[tuple[bytes, int, int]] = []

    def next_call(self) -> int:
        self.last_call += 1
        return self.last_call

    def read(self, origin: Origin) -> list[Message[Any]]:
        return [Message(data, offset, 0, attempts, origin) for data, offset, attempts in self.records]


def _answers(call: _Method) -> _Method:
    """Makes the answer of a call arrive later than its effect."""

    @wraps(call)
    def answers(port: MemoryPort, *arguments: Any) -> Any:
        result = call(port, *arguments)
        port.step("answer")
        return result

    return answers  # type: ignore[return-value]


class MemoryPort:
    """The contract is that of `ConsumerPort`.

    Attributes:
        log: The records, by offset.
        now: The time by which leases and delays end, in seconds. It stands still.
        step: Called with the call's name at the begin of each call into the JVM, and with "answer" before most returns.
        lifetime: Whether the whole queue is open.
    """

    name = "memory"
    path = "/memory"
    max_event_size = 1000

    def __init__(
        self,
        visibility: float = 0.0,
        max_unacked: int = 1 << 30,
        payload_limit: int = 16_000,
        record_limit: int = 1000,
    ) -> None:
        self.visibility = visibility
        self.closed = False
        self.lifetime = Lifetime(self.path)
        self.log: list[bytes] = []
        self.now = 0.0
        self.step: Callable[[str], None] = lambda _: None
        self._max_unacked = max_unacked
        self._limits = payload_limit, record_limit
        self._first = 0
        self._loss: Dropped | None = None
        self._free: list[MemoryBuffer] = []
        self._move_to(0)

    def _move_to(self, offset: int) -> None:
        self._committed = self._position = offset
        self._acked: set[int] = set()
        # Attempts of records that were popped and are not acked; the end of each lease.
        self._attempts: dict[int, int] = {}
        self._leases: dict[int, float] = {}
        # Requeued records, with the time at which they are due.
        self._requeued: list[tuple[float, int]] = []

    # ---- the test's side

    def push(self, *records: bytes) -> None:
        self.log += records

    def drop_before(self, offset: int) -> None:
        """The queue drops records that the consumer has not acked."""
        self._first = offset
        if offset > self._committed:
            loss = Dropped(f"records {self._committed} to {offset - 1} were dropped")
            loss.first, loss.last, loss.java_class = self._committed, offset - 1, "Dropped"
            self._loss = loss
            self._forget(range(self._committed, offset))
            self._committed = offset
            self._position = max(self._position, offset)
            self._advance()

    @property
    def committed(self) -> int:
        return self._committed

    @property
    def acked(self) -> set[int]:
        """All acked records, or dropped ones."""
        return self._acked | set(range(self._committed))

    # ---- state

    @property
    def ended(self) -> bool:
        return self.closed or self.lifetime.closed

    def usable(self) -> bool:
        return not self.ended

    def check(self) -> None:
        if self.ended:
            raise self.closed_error()

    def closed_error(self) -> Closed:
        return self.lifetime.closed_error() if self.lifetime.closed else Closed(f"the consumer {self.name} is closed")

    def origin(self, popped_by: OpenConsumer) -> OpenOrigin:
        return OpenOrigin.of(self.path, self.name, None, popped_by)

    async def in_thread(self, call: Callable[[], Any]) -> Any:
        return call()

    # ---- buffers

    def small_buffer(self) -> MemoryBuffer:
        return self._free.pop() if self._free else MemoryBuffer(*self._limits)

    def large_buffer(self) -> None:
        return None

    def put(self, buffer: MemoryBuffer) -> None:
        self._free.append(buffer)

    def track(self, own: ThreadBuffer) -> None:
        """Nothing is freed."""

    # ---- pops

    @_answers
    def pop(
        self, buffer: MemoryBuffer, most: int, max_bytes: int, wait_millis: int, acks: AckRange | None = None
    ) -> int:
        buffer.next_call()
        self._begin("pop" if wait_millis == 0 else "wait")
        if acks is not None:
            self._ack(range(self._committed, acks.last + 1) if acks.first < 0 else range(acks.first, acks.last + 1))
        return self._pop(buffer, most, max_bytes)

    @_answers
    def repeat(self, buffer: MemoryBuffer) -> int:
        self._begin("repeat")
        return len(buffer.records) if buffer.answered == buffer.last_call else self._pop(buffer, 1, 1)

    def _pop(self, buffer: MemoryBuffer, most: int, max_bytes: int) -> int:
        self._end_leases()
        taken: list[tuple[bytes, int, int]] = []
        size = 0
        while len(taken) < min(most, buffer.record_limit):
            offset = self._next()
            if offset is None:
                break
            if offset == self._position and offset - self._committed >= self._max_unacked:
                if taken:
                    break
                error = UnackedLimit(f"{self._max_unacked} records are in flight")
                error.java_class = "UnackedLimit"
                raise error
            size += len(self.log[offset])
            if taken and size > min(max_bytes, buffer.payload_limit):
                break
            self._take(offset)
            taken.append((self.log[offset], offset, self._attempts[offset]))
        buffer.answered, buffer.records = buffer.last_call, taken
        return len(taken) or -2

    def peek(self, buffer: MemoryBuffer) -> int:
        self._begin("peek")
        self._end_leases()
        offset = self._next()
        if offset is None:
            return -2
        buffer.records = [(self.log[offset], offset, self._attempts.get(offset, 0) + 1)]
        return 1

    def _next(self) -> int | None:
        if self._requeued and self._requeued[0][0] <= self.now:
            return min(offset for due, offset in self._requeued if due <= self.now)
        while self._position in self._acked:
            self._position += 1
        return self._position if self._position < len(self.log) else None

    def _take(self, offset: int) -> None:
        self._requeued = [each for each in self._requeued if each[1] != offset]
        self._position = max(self._position, offset + 1)
        self._attempts[offset] = self._attempts.get(offset, 0) + 1
        self._leases[offset] = self.now + self.visibility if self.visibility else float("inf")

    def _end_leases(self) -> None:
        for offset in [offset for offset, end in self._leases.items() if end <= self.now]:
            self._requeue(offset, self._leases[offset])

    def _requeue(self, offset: int, due: float) -> None:
        del self._leases[offset]
        insort(self._requeued, (due, offset))

    # ---- popped records

    @_answers
    def ack(self, offset: int) -> None:
        self._begin("ack")
        self._check_popped(offset)
        self._ack([offset])

    @_answers
    def ack_up_to(self, offset: int) -> None:
        self._begin("ack_up_to")
        self._check_popped(offset)
        self._ack(range(self._committed, offset + 1))

    @_answers
    def ack_many(self, offsets: Sequence[int]) -> None:
        self._begin("ack_many")
        for offset in offsets:
            self._check_popped(offset)
        self._ack(offsets)

    @_answers
    def nack(self, offset: int, delay_micros: int) -> None:
        self._begin("nack")
        self._check_popped(offset)
        self._end_leases()
        if offset in self._leases:
            self._requeue(offset, self.now + delay_micros / 1e6)
        elif offset not in self._attempts:
            raise self._out_of_range(offset)

    @_answers
    def release(self, offsets: list[int]) -> None:
        self._begin("release")
        for offset in offsets:
            self._check_popped(offset)
        for offset in offsets:
            if offset in self._leases:
                self._release(offset)

    def _release(self, offset: int) -> None:
        self._attempts[offset] -= 1
        self._requeue(offset, self.now)

    def _ack(self, offsets: Sequence[int] | range) -> None:
        self._acked.update(offset for offset in offsets if offset >= self._committed)
        self._forget(offsets)
        self._advance()

    def _advance(self) -> None:
        while self._committed in self._acked:
            self._acked.discard(self._committed)
            self._committed += 1
        self._position = max(self._position, self._committed)

    def _forget(self, offsets: Sequence[int] | range) -> None:
        gone = set(offsets)
        for offset in gone:
            self._attempts.pop(offset, None)
            self._leases.pop(offset, None)
        self._requeued = [each for each in self._requeued if each[1] not in gone]

    def _check_popped(self, offset: int) -> None:
        if not 0 <= offset < self._position:
            raise self._out_of_range(offset)

    def _out_of_range(self, offset: int) -> MmapQueueError:
        error = OutOfRange(f"offset {offset} is out of range")
        error.java_class = "OutOfRange"
        return error

    # ---- position

    @_answers
    def seek(self, target: str) -> None:
        self._begin("seek")
        if target == "committed":
            for offset in list(self._leases):
                self._requeue(offset, self.now)
            return
        end = {"earliest": self._first, "latest": len(self.log)}.get(target)
        offset = int(target.removeprefix("offset:")) if end is None else end
        if not self._first <= offset <= len(self.log):
            raise self._out_of_range(offset)
        self._move_to(offset)

    def size(self) -> int:
        self._begin("size")
        self._end_leases()
        new = sum(offset not in self._acked for offset in range(self._position, len(self.log)))
        return len(self._requeued) + new

    def lag(self) -> int:
        self._begin("lag")
        return len(self.log) - self._committed - len(self._acked)

    def unacked(self) -> int:
        self._begin("unacked")
        self._end_leases()
        return len(self._leases)

    def committed_offset(self) -> int:
        self._begin("committed_offset")
        return self._committed

    def close(self) -> None:
        self.step("close")
        if self.lifetime.closed:
            raise self.closed_error()
        self.closed = True

    def _begin(self, call: str) -> None:
        self.step(call)
        self.check()
        loss, self._loss = self._loss, None
        if loss is not None:
            raise loss
