"""The part of network senders that runs in Spark's Python workers: rows in, requests out, outcomes back."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections import Counter, deque
from collections.abc import Coroutine, Iterator, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import pyarrow as pa

from mmapqueue.pipeline.process.records import event_of
from mmapqueue.pipeline.process.senders._delivery import Undelivered, deliver
from mmapqueue.pipeline.process.senders._requests import Request, Row, requests

if TYPE_CHECKING:
    from mmapqueue.pipeline.process.senders._network import Client, NetworkSender

_LOG = logging.getLogger("mmapqueue.pipeline.senders")
_T = TypeVar("_T")

#: Rows that tasks return: counts (status, records), or one dead letter each (value, a serialized event).
OUTCOME_DDL = "status string, records long, value binary"
_OUTCOME = pa.schema([("status", pa.string()), ("records", pa.int64()), ("value", pa.binary())])


class Task(NamedTuple):
    """Sends the rows of a micro-batch that one Spark task has. Pickled to the workers.

    Attributes:
        sender: Whose rows they are.
        pipe: Its pipe.
        queues: Identity of each partition of the queue.
    """

    sender: NetworkSender
    pipe: str
    queues: Mapping[int, str]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Sends rows that are sorted by partition and offset, at most `sender.parallel` requests at a time.

        Yields:
            Outcomes, once each request is delivered or given up.
        """
        sender = self.sender
        counts: Counter[str] = Counter()
        pending: deque[tuple[Request, Future[Undelivered | None]]] = deque()
        rows = (row for batch in batches for row in batch.to_pylist())
        cut = requests(rows, queues=self.queues, route=sender.route, size=sender.size, limits=sender.limits)
        try:
            for request in cut:
                if len(pending) >= sender.parallel:
                    yield from self._finish(*pending.popleft(), counts)
                pending.append((request, _submit(_send(sender, request))))
            while pending:
                yield from self._finish(*pending.popleft(), counts)
        finally:
            for _, future in pending:
                future.cancel()
        yield _table(list(counts), list(counts.values()), [None] * len(counts))

    def _finish(
        self, request: Request, future: Future[Undelivered | None], counts: Counter[str]
    ) -> Iterator[pa.RecordBatch]:
        failure = future.result()
        records = len(request.rows)
        if failure is None:
            counts["success"] += records
            return
        then = self.sender.retry.then
        if then == "dead_letter":
            counts["dead_letter"] += records
            letters = [self._letter(request, row, failure.reason) for row in request.rows]
            yield _table([None] * records, [None] * records, letters)
        elif failure.partial:
            counts["rejected"] += records
        else:
            counts["dropped"] += records
        _LOG.error("request %s is given up (%s): %s", request.key, then, failure.reason)

    def _letter(self, request: Request, row: Row, reason: str) -> bytes:
        about = {
            "reason": reason,
            "pipe": self.pipe,
            "sender": self.sender.name,
            "partition": str(request.partition),
            "offset": str(row["offset"]),
        }
        if "data" not in row:
            row = {"data": row["json"].encode(), "content_type": "application/json", "time_ms": row.get("time_ms")}
        return event_of(row, about)


async def _send(sender: NetworkSender, request: Request) -> Undelivered | None:
    client = await _client(sender)
    return await deliver(
        lambda: client.send(request.route, request.rows, request.key), sender.retry, request.key
    )


def _table(statuses: list[Any], records: list[Any], values: list[Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array(column, kind.type) for column, kind in zip((statuses, records, values), _OUTCOME, strict=True)],
        schema=_OUTCOME,
    )


# ---- one event loop and one client a sender in each worker process, kept from task to task

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_clients: dict[str, Client] = {}


def _submit(coroutine: Coroutine[Any, Any, _T]) -> Future[_T]:
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="senders", daemon=True).start()
    return asyncio.run_coroutine_threadsafe(coroutine, _loop)


async def _client(sender: NetworkSender) -> Client:
    name = json.dumps([type(sender).__qualname__, sender.model_dump_json()])
    found = _clients.get(name)
    if found is None:
        found = _clients[name] = sender.client()
    return found
