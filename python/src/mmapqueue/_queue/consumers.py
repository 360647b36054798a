"""The consumers of a queue, and reading as one of them."""

from __future__ import annotations

import threading

from mmapqueue._queue.arrow.reading import ArrowReading
from mmapqueue._queue.async_methods import AsyncReading
from mmapqueue._queue.consumer import Consumer
from mmapqueue._queue.consuming.ahead import Ahead
from mmapqueue._queue.consuming.popper import Popper
from mmapqueue._queue.handle import QueueHandle
from mmapqueue._queue.stats import ConsumerStats, parsed_consumers
from mmapqueue._values.annotations import Value
from mmapqueue._values.arguments import name_of
from mmapqueue._values.durations import Duration
from mmapqueue._values.offsets import STARTS, SeekTarget, target_text


class Consumers(AsyncReading[Value], ArrowReading[Value]):
    """The methods of a queue for its consumers, and the methods of the consumer that the queue was opened with.

    That consumer is created by the first call that pops, iterates or seeks. Calls that only read, and acks, do not
    create it.
    """

    _handle: QueueHandle
    _consumers: dict[str, Consumer[Value]]
    _consumers_lock: threading.RLock
    _consumer_name: str
    _ahead: Ahead

    def consumer(
        self,
        name: str,
        start: SeekTarget = "earliest",
        *,
        prefetch: int | None = None,
        ack_linger: Duration | None = None,
    ) -> Consumer[Value]:
        """Returns the consumer of a name; creates it if it does not exist. Each consumer gets every record.

        Args:
            name: 1 to 100 letters, digits, "_", "-" or "."; the same name returns the same object, until that is
                closed.
            start: Where a new consumer starts: "earliest", at the oldest retained record; "latest", at the next record
                that is pushed; an offset; or an aware datetime, at the first record that was pushed then or later.
            prefetch: As in `Queue`; None for the queue's own. An open consumer keeps the value that it was opened with.
            ack_linger: As in `Queue`; None for the queue's own, likewise.

        Returns:
            The consumer. This process owns it until the consumer or the queue is closed.

        Raises:
            Locked: Another process owns it.
            ConfigError: The name, the start, prefetch or ack_linger is not allowed.
            OutOfRange: The first record is not retained any more, or not pushed yet.
            ValueError: The datetime is naive.
            Closed: The queue is closed.

        Example:
            >>> audit = queue.consumer("audit", start="latest")
            >>> queue.push(b"one")
            0
            >>> audit.pop().data, queue.pop().data
            (b'one', b'one')
        """
        self._handle.check()
        name_of("consumer", name)
        ahead = self._ahead.replaced(self._handle.config, prefetch, ack_linger)
        with self._consumers_lock:
            known = self._consumers.get(name)
            if known is None or known.closed:
                known = self._consumers[name] = Consumer(self._handle, name, start, ahead)
            return known

    def create_consumer(self, name: str, start: SeekTarget = "earliest") -> None:
        """Creates a consumer for later use, or for another process that opens the queue with `read_only=True`.

        From then on the queue retains the records that the consumer has not acked. Does nothing if it exists.

        Args:
            name: As in `consumer`.
            start: As in `consumer`.

        Raises:
            ConfigError: The name or the start is not allowed.
            OutOfRange: The first record is not retained any more, or not pushed yet.
            ValueError: The datetime is naive.
            Closed: The queue is closed.

        Example:
            >>> queue.create_consumer("audit")
            >>> queue.consumers()
            ['audit']
        """
        self._handle.call("createConsumer", name_of("consumer", name), target_text(start, STARTS))

    def delete_consumer(self, name: str) -> None:
        """Deletes a consumer; the ring may reuse space that it alone retained. Closes it if this process owns it.

        Any consumer can be deleted, the default one and the last one included. A queue without a consumer retains all
        records from the last one's committed position on, until the queue is full. The next `pop` of a queue that reads
        as this consumer creates it again: stop its readers first.

        Args:
            name: The consumer's name.

        Raises:
            ConfigError: No consumer has this name, or the format version is 1, which always has its default consumer.
            Locked: Another process owns it.
            Closed: The queue is closed.

        Example:
            >>> queue.create_consumer("audit")
            >>> queue.delete_consumer("audit")
            >>> queue.consumers()
            []
        """
        self._handle.call("deleteConsumer", name_of("consumer", name))
        known = self._consumers.get(name)
        if known is not None:
            known.close()

    def consumers(self) -> list[str]:
        """The names of all consumers, whichever process owns them, in alphabetical order.

        A new queue of format version 2 has none.

        Example:
            >>> queue.create_consumer("audit")
            >>> queue.push(b"one")
            0
            >>> message = queue.pop()
            >>> queue.consumers()
            ['audit', 'default']
        """
        lines: str = self._handle.call("consumers")
        return lines.splitlines()

    def consumer_stats(self) -> dict[str, ConsumerStats]:
        """The position and lag of each consumer by its name, in the order of `consumers`.

        Example:
            >>> queue.create_consumer("audit")
            >>> queue.push_many([b"one", b"two"])
            2
            >>> queue.consumer_stats()["audit"].lag_records
            2
        """
        return parsed_consumers(self._handle.call("consumerStats"))

    @property
    def _popper(self) -> Popper:
        known = self._consumers.get(self._consumer_name)
        return self._use((self.consumer(self._consumer_name) if known is None or known.closed else known)._popper)

    def _existing(self) -> Popper | None:
        known = self._consumers.get(self._consumer_name)
        if known is None or known.closed:
            return self._popper if self._consumer_name in self.consumers() else None
        return self._use(known._popper)
