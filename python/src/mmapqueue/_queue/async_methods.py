"""Reading and writing under asyncio: each call runs in a thread, and the event loop stays free."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Generic

from mmapqueue._jvm import names
from mmapqueue._queue.async_closing import AsyncClosing
from mmapqueue._queue.consuming.popper import Popper
from mmapqueue._queue.deadline import Deadline
from mmapqueue._queue.iteration import Iteration
from mmapqueue._queue.producer import Producer, Record
from mmapqueue._queue.reading import bounds
from mmapqueue._queue.shipping import Shipping
from mmapqueue._values.annotations import Value
from mmapqueue._values.arguments import Size, flag
from mmapqueue._values.durations import Duration
from mmapqueue._values.errors import Empty, Full
from mmapqueue._values.message import AnyMessage, Message

#: The records of one call of `apush_many`; a cancellation waits for one call.
_SLICE_RECORDS = 8192


class AsyncReading(AsyncClosing, Iteration[Value]):
    """The methods of a consumer under asyncio."""

    async def apop(self, timeout: Duration | None = None) -> Message[Value]:
        """Pops the next record, under asyncio. A cancellation loses no record: the next pop delivers it.

        Tasks that pop at the same time get different records.

        Args:
            timeout: The longest wait: seconds, a timedelta, or a text such as "500ms"; None for as long as it takes.

        Returns:
            The record.

        Raises:
            Empty: No record was available in time.
            UnackedLimit: As from `pop`.
            Dropped: As from `pop`.
            Closed: The queue or this consumer is closed, or was closed during the wait.
            Corrupt: The record is damaged; the position has not moved.

        Example:
            >>> async def main():
            ...     await queue.apush(b"one")
            ...     async with await queue.apop() as message:
            ...         return message.data
            >>> asyncio.run(main())
            b'one'
        """
        deadline = Deadline(True, timeout)
        popper = self._popper
        messages = await self._pop_async(popper, 1, names.INT_MAX, deadline)
        if not messages:
            raise Empty(f"there is nothing to pop for consumer {popper.name}")
        return messages[0]

    async def apop_many(
        self, max_records: int = 1000, *, max_bytes: Size | None = None, timeout: Duration | None = 0.0
    ) -> list[Message[Value]]:
        """As `pop_many`, with its arguments and errors, under asyncio. A cancellation loses no record.

        Returns:
            The records, in order; empty when none was available in time.

        Example:
            >>> queue.push_many([b"one", b"two"])
            2
            >>> len(asyncio.run(queue.apop_many(10)))
            2
        """
        limit, deadline = bounds(max_records, max_bytes, timeout)
        popper = self._popper
        return await self._pop_async(popper, max_records, limit, deadline)

    async def _pop_async(self, popper: Popper, most: int, max_bytes: int, deadline: Deadline) -> list[AnyMessage]:
        # Imported on first use: asyncio is slow to import.
        from mmapqueue._queue.async_iteration import pop_async

        return await pop_async(self._handle.threads, popper, most, max_bytes, deadline)

    async def aack(self, message: AnyMessage | int) -> None:
        """As `ack`, with its arguments and errors, under asyncio.

        Example:
            >>> async def main():
            ...     await queue.apush(b"one")
            ...     await queue.aack(await queue.apop())
            >>> asyncio.run(main())
            >>> queue.lag()
            0
        """
        await self._required("ack").in_thread(partial(self.ack, message))

    async def aack_up_to(self, message: AnyMessage | int) -> None:
        """As `ack_up_to`, with its arguments and errors, under asyncio.

        Example:
            >>> async def main():
            ...     await queue.apush_many([b"one", b"two"])
            ...     messages = await queue.apop_many()
            ...     await queue.aack_up_to(messages[-1])
            >>> asyncio.run(main())
            >>> queue.lag()
            0
        """
        await self._required("ack_up_to").in_thread(partial(self.ack_up_to, message))

    async def aack_many(self, messages: Iterable[AnyMessage | int]) -> None:
        """As `ack_many`, with its arguments and errors, under asyncio.

        Example:
            >>> async def main():
            ...     await queue.apush_many([b"one", b"two"])
            ...     await queue.aack_many(await queue.apop_many())
            >>> asyncio.run(main())
            >>> queue.lag()
            0
        """
        await self._required("ack_many").in_thread(partial(self.ack_many, messages))

    async def anack(self, message: AnyMessage | int, delay: Duration = 0.0) -> None:
        """As `nack`, with its arguments and errors, under asyncio.

        Example:
            >>> async def main():
            ...     await queue.apush(b"one")
            ...     await queue.anack(await queue.apop())
            ...     return await queue.apop()
            >>> asyncio.run(main()).attempts
            2
        """
        await self._required("nack").in_thread(partial(self.nack, message, delay))

    async def arelease(self, messages: Iterable[AnyMessage | int]) -> None:
        """As `release`, with its arguments and errors, under asyncio.

        Example:
            >>> async def main():
            ...     await queue.apush(b"one")
            ...     await queue.arelease([await queue.apop()])
            ...     return await queue.apop()
            >>> asyncio.run(main()).attempts
            1
        """
        await self._required("release").in_thread(partial(self.release, messages))


class AsyncWriting(Shipping, Generic[Value]):
    """The methods of a queue that write under asyncio."""

    _producer: Producer

    async def apush(
        self,
        data: Value | Record,
        timeout: Duration | None = None,
        *,
        sync: bool = False,
        shipped: bool = False,
    ) -> int:
        """Appends a record, under asyncio, as `push`.

        After a cancellation the record may or may not be in the queue. Tasks that push at the same time push in any
        order, and with `sync` share one fsync.

        Args:
            data: The record.
            timeout: The longest to wait for room: seconds, a timedelta, or a text such as "500ms"; None for as long as
                it takes.
            sync: Whether to return only when the record is durable.
            shipped: Whether to return only when the archive has the record, as for `push`.

        Returns:
            The record's offset.

        Raises:
            Full: The queue had no room in time.
            TooLarge: The record is larger than max_event_size.
            Closed: The queue is closed, or was closed during the wait.
            Poisoned: An earlier failure to write made the queue unsafe to write to.
            ConfigError: With `shipped`: no process has shipped this queue. The record is in the queue.
            TypeError: `data` is not bytes-like, and the queue has no serializer.

        Example:
            >>> asyncio.run(queue.apush(b"one"))
            0
        """
        deadline = Deadline(True, timeout)
        flag("shipped", shipped)
        record = self._handle.record(data)
        offset = await self._handle.threads.push(
            lambda seconds: self._producer.push(record, True, seconds, sync), deadline
        )
        if shipped:
            await self.aawait_shipped(offset)
        return offset

    async def apush_many(
        self,
        items: Iterable[Value | Record],
        timeout: Duration | None = None,
        atomic: bool = False,
        *,
        sync: bool = False,
        shipped: bool = False,
    ) -> int:
        """Appends records, in order, under asyncio, as `push_many`.

        Args:
            items: The records, which this call reads into a list first.
            timeout: The longest to wait for room in all: seconds, a timedelta, or a text such as "500ms"; None for as
                long as it takes.
            atomic: Whether all records become visible together, or none.
            sync: Whether to return only when the records are durable, as after `aflush`.
            shipped: Whether to return only when the archive has the records, as for `push`.

        Every exception that this call raises, also that of a cancellation, has an attribute `pushed`: the number of
        records, from the first on, that were pushed before it. After a cancellation up to some thousand more may be in
        the queue. In Python 3.10, code that awaits a cancelled task gets another exception, which has this one as its
        `__context__`.

        Returns:
            The number of pushed records.

        Raises:
            Full: There was no room in time.
            TooLarge: A record is larger than max_event_size, or an atomic batch larger than the queue.
            Closed: The queue is closed, or was closed during the wait.
            Poisoned: An earlier failure to write made the queue unsafe to write to.
            TypeError: One of `items` is not bytes-like, and the queue has no serializer. None was pushed.

        Example:
            >>> asyncio.run(queue.apush_many([b"one", b"two"]))
            2
        """
        deadline = Deadline(True, timeout)
        for name, value in (("atomic", atomic), ("sync", sync), ("shipped", shipped)):
            flag(name, value)
        records = list(map(self._handle.record, items))
        pushed = 0

        def push_some(seconds: float) -> int:
            part = records if atomic else records[pushed : pushed + _SLICE_RECORDS]
            try:
                return self._producer.push_many(part, True, seconds, atomic, False)
            except Full as error:
                if error.pushed:
                    return error.pushed
                raise

        try:
            while pushed < len(records):
                pushed += await self._handle.threads.push(push_some, deadline)
            if sync and pushed:
                await self.aflush()
            if shipped and pushed:
                await self.aawait_shipped(await self._handle.threads.run(self._last_offset))
        except BaseException as error:
            error.pushed = pushed + getattr(error, "pushed", 0)  # type: ignore[attr-defined]
            raise
        return pushed

    async def aflush(self) -> None:
        """As `flush`, with its errors, under asyncio. A cancellation waits for the end of the fsync.

        Example:
            >>> async def main():
            ...     await queue.apush(b"one")
            ...     await queue.aflush()
            >>> asyncio.run(main())
        """
        await self._handle.threads.run(lambda: self._handle.call("flush"))
