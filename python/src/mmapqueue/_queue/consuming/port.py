"""The calls of a consumer into the JVM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from mmapqueue._jvm.shared_buffer import SharedBuffer
from mmapqueue._values.errors import Closed
from mmapqueue._values.origin import OpenConsumer, OpenOrigin

_Result = TypeVar("_Result")


class AckRange(NamedTuple):
    """Acks of the records from `first` to `last`; of all up to `last` if `first` is below 0."""

    first: int
    last: int


class ThreadBuffer(Protocol):
    """The shared buffer that one thread keeps for its calls.

    Attributes:
        busy: Set before a call checks that the queue is open, cleared when the call has ended. `close` frees only
            buffers that are not busy.
    """

    busy: bool

    def free(self) -> None:
        """Frees the memory."""


class ConsumerPort(Protocol):
    """One consumer of an open queue, as the JVM has it. Safe for any number of threads.

    The only place where a consumer calls the JVM: a test replaces it by a queue in memory. No call sends pending acks
    or knows which records were delivered. All calls raise Closed once the queue or the consumer is closed.

    Attributes:
        name: The consumer's name.
        path: The queue's directory, for errors.
        max_event_size: The maximum number of bytes of a record.
        visibility: The time of a lease, in seconds; 0 for none.
        closed: Whether this process has closed the consumer. The port sets it, too, when the JVM says so.
        ended: Whether the consumer or its queue is closed.
    """

    name: str
    path: str
    max_event_size: int
    visibility: float
    closed: bool

    @property
    def ended(self) -> bool: ...

    def usable(self) -> bool:
        """Whether `check` would raise nothing."""

    def check(self) -> None:
        """Raises the error of a closed consumer, of a closed queue, or of a forked process."""

    def closed_error(self) -> Closed:
        """The error of calls after the queue or this consumer was closed."""

    def origin(self, popped_by: OpenConsumer) -> OpenOrigin:
        """A new origin object, which no popped message has."""

    async def in_thread(self, call: Callable[[], _Result]) -> _Result:
        """Runs a call that does not wait in a thread of the queue."""

    # ---- buffers

    def small_buffer(self) -> SharedBuffer:
        """A buffer for a thread that pops."""

    def large_buffer(self) -> SharedBuffer | None:
        """A buffer for many records; None when all are in use."""

    def put(self, buffer: SharedBuffer) -> None:
        """Puts a buffer back, also in a finalizer."""

    def track(self, own: ThreadBuffer) -> None:
        """Frees the memory of a thread's buffer at the close of the queue."""

    # ---- pops; all callers hold a Shield

    def pop(
        self, buffer: SharedBuffer, most: int, max_bytes: int, wait_millis: int, acks: AckRange | None = None
    ) -> int:
        """Acks a range of records, if one is given; then pops into a buffer.

        Returns:
            The number of records; 0 or less when none was available in time.

        Raises:
            UnackedLimit: The JVM may pop no further record.
            Dropped: Records were lost; reported once.
            Corrupt: The next record is damaged.
        """

    def repeat(self, buffer: SharedBuffer) -> int:
        """Repeats the last pop of a buffer: the JVM gives the same answer. If it never arrived, pops one record."""

    def peek(self, buffer: SharedBuffer) -> int:
        """Reads the next record into a buffer; returns 0 or less when there is none."""

    # ---- popped records; each raises OutOfRange for a record that is not in flight, and Dropped

    def ack(self, offset: int) -> None:
        """Acks one record."""

    def ack_up_to(self, offset: int) -> None:
        """Acks all records up to an offset."""

    def ack_many(self, offsets: Sequence[int]) -> None:
        """Acks several records, or none."""

    def nack(self, offset: int, delay_micros: int) -> None:
        """Requeues a record."""

    def release(self, offsets: list[int]) -> None:
        """Counts several records as not popped, or none."""

    # ---- position

    def seek(self, target: str) -> None:
        """Moves the consumer."""

    def size(self) -> int:
        """The number of records left to pop."""

    def lag(self) -> int:
        """The number of records that are not acked."""

    def unacked(self) -> int:
        """The number of records in flight."""

    def committed_offset(self) -> int:
        """The offset of the first record that is not acked."""

    def close(self) -> None:
        """Closes the consumer in the JVM."""
