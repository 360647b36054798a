"""What a thread pushes with."""

from mmapqueue._jvm.shared_buffer import SharedBuffer
from mmapqueue._queue.deadline import Deadline
from mmapqueue._queue.handle import QueueHandle


class PushBuffer:
    """The shared buffer with which one thread pushes.

    Attributes:
        buffer: The shared buffer.
        busy: Whether a call runs. If the next call finds it set, the last call was interrupted, and the JVM may still
            read the buffer.
        extended: The last deadline beyond which a push was tried once more.
    """

    __slots__ = ("__weakref__", "_handle", "buffer", "busy", "extended")

    def __init__(self, handle: QueueHandle, buffer: SharedBuffer) -> None:
        self.buffer = buffer
        self.busy = False
        self.extended: Deadline | None = None
        self._handle = handle
        handle.thread_buffers[id(self)] = self

    def free(self) -> None:
        self.buffer.memory.close()

    def __del__(self) -> None:
        """Releases the buffer when the thread has ended, perhaps within a call. Finalizers take no lock."""
        if self.busy:
            self._handle.pool.discard(self.buffer)
        else:
            self._handle.pool.put(self.buffer)
