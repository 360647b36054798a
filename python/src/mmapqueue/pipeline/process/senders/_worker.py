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
from mmapqueue.pipeline.process.senders._delivery import GivenUp, Outcome, Waiting, deliver
from mmapqueue.pipeline.process.senders._requests import Request, Row, requests

if TYPE_CHECKING:
    from mmapqueue.pipeline.process.senders._network import Client, NetworkSender

_LOG = logging.getLogger("mmapqueue.pipeline.senders")
_T = TypeVar("_T")

#: Rows that tasks return. kind `count`: rows by status. `letter`: value is a dead letter, a serialized event.
#: `done`: requests of the partition that are finished. `waiting`: attempts made for the request after these, status is
#: the reason, pause the seconds until the next attempt.
OUTCOME_DDL = "kind string, status string, partition int, number long, pause double, value binary"
_OUTCOME = pa.schema(
    [
        ("kind", pa.string()),
        ("status", pa.string()),
        ("partition", pa.int32()),
        ("number", pa.int64()),
        ("pause", pa.float64()),
        ("value", pa.binary()),
    ]
)
_OutcomeRow = tuple[str, str | None, int | None, int, float | None, bytes | None]


class Task(NamedTuple):
    """Sends the rows of a micro-batch that one Spark task has. Pickled to the workers.

    Attributes:
        sender: Whose rows they are.
        pipe: Its pipe.
        queues: Identity of each partition of the queue.
        done: Requests of each partition that earlier runs have finished, counted in the order of `requests`.
        attempts: Attempts that earlier runs made for the first request that is not finished, by partition.
    """

    sender: NetworkSender
    pipe: str
    queues: Mapping[int, str]
    done: Mapping[int, int]
    attempts: Mapping[int, int]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Sends rows that are sorted by partition and offset, at most `sender.parallel` requests at a time.

        Stops at the first request that has to wait longer than a task may.

        Yields:
            Outcomes, each once its request is finished.
        """
        counts: Counter[str] = Counter()
        finished: Counter[int] = Counter(self.done)
        pending: deque[tuple[Request, Future[Outcome]]] = deque()
        rows = (row for batch in batches for row in batch.to_pylist())
        unfinished = self._unfinished(rows)
        waiting: tuple[Request, Waiting] | None = None
        try:
            while waiting is None:
                started = next(unfinished, None)
                if started is not None:
                    pending.append((started[0], _submit(_send(self.sender, *started))))
                if not pending:
                    break
                if started is not None and len(pending) < self.sender.parallel:
                    continue
                request, future = pending.popleft()
                outcome = future.result()
                if isinstance(outcome, Waiting):
                    waiting = request, outcome
                    deque(batches, maxlen=0)  # Spark keeps a worker that has read all of its input.
                    break
                finished[request.partition] += 1
                letters = self._finish(request, outcome, counts)
                if letters:
                    yield _table([("letter", None, None, 0, None, letter) for letter in letters])
        finally:
            for _, future in pending:
                future.cancel()
        report: list[_OutcomeRow] = [("count", status, None, records, None, None) for status, records in counts.items()]
        report += [("done", None, partition, number, None, None) for partition, number in finished.items()]
        if waiting is not None:
            request, outcome = waiting
            reason = f"request {request.key}: {outcome.error}"
            report.append(("waiting", reason, request.partition, outcome.attempts, outcome.pause, None))
        yield _table(report)

    def _unfinished(self, rows: Iterator[Row]) -> Iterator[tuple[Request, int]]:
        """Requests that earlier runs have not finished, and the attempts that these made for them."""
        sender, seen = self.sender, Counter[int]()
        cut = requests(rows, queues=self.queues, route=sender.route, size=sender.size, limits=sender.limits)
        for request in cut:
            seen[request.partition] += 1
            further = seen[request.partition] - self.done.get(request.partition, 0)
            if further > 0:
                yield request, self.attempts.get(request.partition, 0) if further == 1 else 0

    def _finish(self, request: Request, outcome: Outcome, counts: Counter[str]) -> list[bytes]:
        """Counts the rows of a request, and gives back its dead letters."""
        records = len(request.rows)
        if not isinstance(outcome, GivenUp):
            counts["success"] += records
            return []
        then, error = self.sender.retry.then, outcome.error
        _LOG.error("request %s is given up, then: %s: %s", request.key, then, error.reason)
        if then == "dead_letter":
            counts["dead_letter"] += records
            return [self._letter(request, row, error.reason) for row in request.rows]
        counts["rejected" if error.partial else "dropped"] += records
        return []

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


async def _send(sender: NetworkSender, request: Request, earlier: int) -> Outcome:
    client = await _client(sender)
    return await deliver(
        lambda: client.send(request.route, request.rows, request.key), sender.retry, request.key, earlier=earlier
    )


def _table(rows: list[_OutcomeRow]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else [()] * len(_OUTCOME)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _OUTCOME, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_OUTCOME)


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
