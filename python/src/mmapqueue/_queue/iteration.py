"""Iteration: pops batches, yields records one by one or passes them to handlers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from time import monotonic

from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.consuming.delivery import NEVER
from mmapqueue._queue.consuming.popper import Popper
from mmapqueue._queue.deadline import Deadline
from mmapqueue._queue.reading import Reading, bounds
from mmapqueue._queue.workers import ASYNC_HANDLER, Workers
from mmapqueue._values.annotations import Value
from mmapqueue._values.arguments import Size, count
from mmapqueue._values.durations import Duration, delay_micros
from mmapqueue._values.functions import eager
from mmapqueue._values.message import AnyMessage, Message


class Iteration(Reading[Value]):
    """The methods of a consumer that pop without end."""

    def consume(
        self, timeout: Duration | None = None, *, max_records: int = 1000, max_bytes: Size | None = None
    ) -> Iterator[Message[Value]]:
        """Iterates over the records, popping them in batches. After a `break`, the next pop delivers the rest.

        With visibility_timeout set, a whole batch must be handled within it: keep max_records small.

        Args:
            timeout: Ends when no record became available for this time: seconds, a timedelta, or a text such as "30s";
                None to wait without end.
            max_records: The most records of a batch.
            max_bytes: The most bytes of data of a batch, or a text such as "1m".

        Returns:
            An iterator over the records, in order, for one thread.

        Raises:
            Closed: While iterating: the queue or this consumer was closed.
            Corrupt: While iterating: the next record is damaged.
            Dropped: While iterating, as from `pop`; the next call continues.
            UnackedLimit: While iterating, as from `pop`.

        Example:
            >>> queue.push_many([b"one", b"two"])
            2
            >>> for message in queue.consume(timeout=0):
            ...     print(message.data)
            ...     queue.ack(message)
            b'one'
            b'two'
        """
        limit, _ = bounds(max_records, max_bytes, timeout)
        return iterate(self._popper, timeout, max_records, limit)

    def process(
        self,
        handler: Callable[[Message[Value]], object],
        *,
        workers: int = 1,
        timeout: Duration | None = None,
        retry_delay: Duration | None = None,
        max_records: int = 100,
        max_bytes: Size | None = None,
    ) -> int:
        """Calls a handler with each record, in threads, and acks each record for which the handler returns.

        A record is acked by itself when the handler returns, unless the handler has acked, nacked or released it. When
        the handler raises an Exception, the record is requeued with `nack`, and the logger "mmapqueue" logs the
        exception. The record is redelivered after retry_delay, at most max_attempts times if the queue was opened with
        that, otherwise without limit; other records are handled between the attempts. On Ctrl-C, and on any error of
        this call, records that no handler was called with are released, running handlers are waited for, and the error
        is raised. A second Ctrl-C does not wait: each handler then acks or nacks its own record at its end.

        With visibility_timeout set, a whole batch must be handled within it: keep max_records small.

        Args:
            handler: Called with each record, in threads of its own. It need not ack the record.
            workers: The number of threads. A single thread keeps the order of records.
            timeout: Ends when no record became available for this time, or when only records came that the handler had
                failed for in this call, it failed for each of them again, and no handler runs. Seconds, a timedelta, or
                a text such as "30s"; None to wait without end.
            retry_delay: The delay of redelivery after the handler has raised: seconds, a timedelta, or a text. By
                default 0.1 s after the first attempt, doubled with each further one, 60 s at most.
            max_records: The most records of a batch.
            max_bytes: The most bytes of data of a batch, or a text such as "1m".

        Returns:
            The number of times that the handler has returned.

        Raises:
            Closed: The queue or this consumer was closed.
            Corrupt: The next record is damaged.
            Dropped: As from `pop`; the next call continues.
            UnackedLimit: As from `pop`.
            TypeError: The handler cannot be called; or it is an async function or a generator function, or returns what
                such a function returns: under asyncio, use `aconsume`. No record of such a handler is acked.

        Example:
            >>> queue.push_many([b"one", b"two"])
            2
            >>> queue.process(lambda message: print(message.text), timeout=0)
            one
            two
            2
        """
        limit, _ = bounds(max_records, max_bytes, timeout)
        eager("handler", handler, ASYNC_HANDLER)
        count("workers", workers)
        most = self._handle.config["max_attempts"]
        delay = None if retry_delay is None else delay_micros("retry_delay", retry_delay)
        return Workers(self._popper, handler, workers, delay, max_records, limit, most).run(timeout)

    def aconsume(
        self, timeout: Duration | None = None, *, max_records: int = 1000, max_bytes: Size | None = None
    ) -> AsyncGenerator[Message[Value], None]:
        """Iterates over the records under asyncio. A thread pops them in batches.

        A cancellation loses no record: the next pop delivers the rest of the batch. A loop that is left by `break`
        keeps the rest of its batch until the generator is closed: use `contextlib.aclosing`, or call `aclose`.

        Args:
            timeout: Ends when no record became available for this time: seconds, a timedelta, or a text such as "30s";
                None to wait without end.
            max_records: The most records of a batch.
            max_bytes: The most bytes of data of a batch, or a text such as "1m".

        Returns:
            An asynchronous generator of the records, in order, for one task.

        Raises:
            Closed: While iterating: the queue or this consumer was closed.
            Corrupt: While iterating: the next record is damaged.
            Dropped: While iterating, as from `pop`; another iterator continues.
            UnackedLimit: While iterating, as from `pop`.

        Example:
            >>> async def main():
            ...     async for message in queue.aconsume(timeout=0.1):
            ...         print(message.data)
            ...         await queue.aack(message)
            >>> queue.push_many([b"one", b"two"])
            2
            >>> asyncio.run(main())
            b'one'
            b'two'
        """
        # Imported on first use: asyncio is slow to import.
        from mmapqueue._queue.async_iteration import consume_async

        limit, _ = bounds(max_records, max_bytes, timeout)
        return consume_async(self._popper, timeout, max_records, limit)

    def __iter__(self) -> Iterator[Message[Value]]:
        """Iterates over the records that exist at present: ends without waiting when nothing is left to pop."""
        return self.consume(timeout=0.0)

    def __contains__(self, item: object) -> bool:
        """Raises TypeError: Python would search by `__iter__`, and so pop all records before the item."""
        raise TypeError(
            f"{item!r:.100} in a {type(self).__name__}: a search would pop records; `find` and `read_at` of the queue "
            "read without popping"
        )


def iterate(popper: Popper, timeout: Duration | None, max_records: int, max_bytes: int) -> Iterator[AnyMessage]:
    """As `Consumer.consume`, with limits that are already checked."""
    delivery = popper.delivery
    while True:
        own, empty, batch = popper.begin_batch(max_records, max_bytes, Deadline(True, timeout))
        messages, lease_end, undelivered = batch
        delivered = 0
        try:
            own.state = empty
            own.busy = False
            for message in messages:
                delivered += 1
                yield message
                # The consumer may have moved since the pop, or the leases may have ended.
                if delivery.undelivered is not undelivered or (lease_end is not NEVER and lease_end <= monotonic()):
                    delivered = len(messages)
                    break
        finally:
            if delivered < len(messages):
                with Shield():
                    undelivered.put_first(messages[delivered:], lease_end)
        if not messages:
            return
