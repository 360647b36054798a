"""The consumers that a queue has open, and reading as one of them."""

from __future__ import annotations

import json
import threading
from typing import Generic

from mmapqueue._jvm import names
from mmapqueue._queue.consumer import Consumer
from mmapqueue._queue.consuming.ahead import Ahead
from mmapqueue._queue.consuming.popper import Popper
from mmapqueue._queue.handle import QueueHandle
from mmapqueue._queue.random_access import oldest, retained
from mmapqueue._values.annotations import Value
from mmapqueue._values.arguments import name_of
from mmapqueue._values.durations import Duration
from mmapqueue._values.message import AnyMessage
from mmapqueue._values.offsets import SeekTarget


class Consumers(Generic[Value]):
    """The open consumers of a queue, by name. Safe for any number of threads."""

    def __init__(self, handle: QueueHandle, ahead: Ahead) -> None:
        self._handle = handle
        self._ahead = ahead
        self._open: dict[str, Consumer[Value]] = {}
        # Reentrant: a signal handler may run while this thread holds it.
        self._lock = threading.RLock()

    def open(
        self,
        name: str,
        start: SeekTarget = "earliest",
        prefetch: int | None = None,
        ack_linger: Duration | None = None,
    ) -> Consumer[Value]:
        """As `Queue.consumer`."""
        self._handle.check()
        name_of("consumer", name)
        ahead = self._ahead.replaced(self._handle.config, prefetch, ack_linger)
        with self._lock:
            known = self.known(name)
            if known is None:
                # Each that is closed keeps a shared buffer for each thread that has popped with it.
                for closed in [each for each, one in self._open.items() if one.closed]:
                    self._open.pop(closed, None)
                known = self._open[name] = Consumer(self._handle, name, start, ahead)
            return known

    def known(self, name: str) -> Consumer[Value] | None:
        """The open consumer of a name; None if it is not open."""
        known = self._open.get(name)
        return None if known is None or known.closed else known

    def delete(self, name: str) -> None:
        """As `Queue.delete_consumer`."""
        self._handle.call("deleteConsumer", name_of("consumer", name))
        known = self._open.get(name)
        if known is not None:
            known.close()

    def names(self) -> list[str]:
        """As `Queue.consumers`."""
        found: list[str] = json.loads(self._handle.call("consumers"))
        return found


class QueueSource:
    """The source of a queue: the consumer that it was opened with.

    That consumer is created by the first call that pops, iterates or seeks. Calls that only read, and acks, do not
    create it.
    """

    def __init__(self, handle: QueueHandle, consumers: Consumers[Value], name: str) -> None:
        self._handle = handle
        self._consumers = consumers
        self._name = name
        self.check = handle.check
        self.close = handle.close

    def open(self) -> Popper:
        return self._consumers.open(self._name)._popper

    def existing(self) -> Popper | None:
        known = self._consumers.known(self._name)
        if known is not None:
            return known._popper
        return self.open() if self._name in self._consumers.names() else None

    def oldest(self) -> AnyMessage | None:
        return oldest(self._handle, names.DEFAULT_CONSUMER)

    def retained(self) -> int:
        return retained(self._handle)
