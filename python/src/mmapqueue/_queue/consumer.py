"""A named consumer."""

from __future__ import annotations

from mmapqueue._queue.consuming.ahead import Ahead
from mmapqueue._queue.consuming.jvm_port import open_consumer
from mmapqueue._queue.handle import QueueHandle
from mmapqueue._queue.reading import Reading
from mmapqueue._queue.source import OneConsumer
from mmapqueue._values.annotations import Value
from mmapqueue._values.offsets import STARTS, SeekTarget, target_text


class Consumer(Reading[Value]):
    """Reads a queue independently of its other consumers.

    `pop` moves its reading position, `ack` its committed position. The queue reuses space that every consumer has
    acked. Delivery is at least once: a record that was popped and not acked is redelivered after the next open.

        with queue.consumer("billing") as consumer:
            for message in consumer.consume(timeout=1.0):
                handle(message.data)
                consumer.ack(message)

    Made by `Queue.consumer`. Safe for any number of threads: each record goes to one of them. A context manager that
    closes itself, also with `async with`. A queue has the same methods, for the consumer that it was opened with.

    Attributes:
        name: The consumer's name.
    """

    def __init__(self, handle: QueueHandle, name: str, start: SeekTarget, ahead: Ahead) -> None:
        self.name = name
        self._one = open_consumer(handle, name, target_text("start", start, STARTS), ahead)
        super().__init__(handle, OneConsumer(self._one))
        self._use(self._one)

    @property
    def closed(self) -> bool:
        """Whether the consumer was closed or deleted, or the queue was closed.

        Example:
            >>> consumer = queue.consumer("billing")
            >>> consumer.close()
            >>> consumer.closed
            True
        """
        return self._one.closed

    def close(self) -> None:
        """Closes the consumer, so that another process can open it. The committed position stays.

        Waiting calls raise Closed, and so does every later one; `Queue.consumer` opens the consumer again. Does nothing
        when repeated, and in a forked child.

        Example:
            >>> consumer = queue.consumer("billing")
            >>> consumer.close()
            >>> queue.consumer("billing").lag()
            0
        """
        super().close()

    def __repr__(self) -> str:
        return f"<mmapqueue.Consumer {self.name!r} of {self._handle.path!r}{' (closed)' if self.closed else ''}>"
