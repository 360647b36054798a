"""One thread's buffer for pops, and a batch of popped records."""

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from mmapqueue._jvm.shared_buffer import SharedBuffer
from mmapqueue._queue.consuming.port import ConsumerPort
from mmapqueue._queue.consuming.undelivered import NEVER, Undelivered
from mmapqueue._values.message import AnyMessage

#: The records of several calls, call by call.
Chunks = tuple[Sequence[AnyMessage], ...]
State = tuple[SharedBuffer, int, Chunks]


class PopBuffer:
    """The shared buffer with which one thread pops.

    Attributes:
        state: The shared buffer; the number of its last call that was answered; records read and not delivered.
        busy: Whether a call runs.
        lease_end: The end of the first lease of these records, by `time.monotonic`.
    """

    __slots__ = ("__weakref__", "_orphans", "_port", "busy", "lease_end", "state")

    def __init__(self, port: ConsumerPort, buffer: SharedBuffer, orphans: list[State]) -> None:
        self.state: State = (buffer, buffer.last_call, ())
        self.busy = False
        self.lease_end = NEVER
        self._port = port
        self._orphans = orphans
        port.track(self)

    def free(self) -> None:
        self.state[0].memory.close()

    def __del__(self) -> None:
        """Releases the buffer when the thread has ended, perhaps within a call. Finalizers take no lock."""
        buffer, answered, chunks = self.state
        if chunks or buffer.last_call != answered:
            self._orphans.append(self.state)
        else:
            self._port.put(buffer)


class Batch(NamedTuple):
    """Records that were popped together.

    Attributes:
        messages: The records.
        lease_end: The end of the first lease, by `time.monotonic`. From then on the JVM redelivers records.
        undelivered: Takes the rest of the batch. After a seek the consumer has another one, and the batch is stale.
    """

    messages: list[AnyMessage]
    lease_end: float
    undelivered: Undelivered


def flat(chunks: Chunks) -> list[AnyMessage]:
    """The records of all chunks."""
    if len(chunks) == 1 and isinstance(chunks[0], list):
        return chunks[0]
    return list(chain.from_iterable(chunks))
