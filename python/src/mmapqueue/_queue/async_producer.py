"""Pushing under asyncio: threads make the calls, and the event loop stays free."""

from __future__ import annotations

from collections.abc import Sequence

from mmapqueue._queue.deadline import Deadline
from mmapqueue._queue.handle import QueueHandle
from mmapqueue._queue.producer import Producer
from mmapqueue._queue.shipping import Archive
from mmapqueue._values.errors import Full

#: The records of one call of `push_many`; a cancellation waits for one call.
_SLICE_RECORDS = 8192


class AsyncProducer:
    """The producer of a queue under asyncio. For any number of tasks."""

    def __init__(self, handle: QueueHandle, producer: Producer) -> None:
        self._handle = handle
        self._producer = producer

    async def push(self, record: bytes, deadline: Deadline, *, sync: bool) -> int:
        """As `Queue.apush`."""
        return await self._handle.threads.push(
            lambda seconds: self._producer.push(record, block=True, timeout=seconds, sync=sync), deadline
        )

    async def push_many(
        self, records: Sequence[bytes], deadline: Deadline, *, atomic: bool, sync: bool, archive: Archive | None
    ) -> int:
        """As `Queue.apush_many`; with an archive also waits for the archive."""
        pushed = 0

        def push_some(seconds: float) -> int:
            part = records if atomic else records[pushed : pushed + _SLICE_RECORDS]
            try:
                return self._producer.push_many(part, block=True, timeout=seconds, atomic=atomic, sync=False)
            except Full as error:
                if error.pushed:
                    return error.pushed
                raise

        try:
            while pushed < len(records):
                pushed += await self._handle.threads.push(push_some, deadline)
            if sync and pushed:
                await self.flush()
            if archive is not None and pushed:
                await archive.wait_for_async(await self._handle.threads.run(archive.last_offset))
        except BaseException as error:
            error.pushed = pushed + getattr(error, "pushed", 0)  # type: ignore[attr-defined]
            raise
        return pushed

    async def flush(self) -> None:
        """As `Queue.aflush`."""
        await self._handle.threads.run(lambda: self._handle.call("flush"))
