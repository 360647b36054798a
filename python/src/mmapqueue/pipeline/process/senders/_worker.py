"""The part of network senders that runs in Spark's Python workers: rows in, requests out, outcomes back."""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import threading
from collections import Counter, deque
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from mmapqueue._values.errors import ConfigError
from mmapqueue.pipeline.process.senders._client import Client, RequestSender
from mmapqueue.pipeline.process.senders._delivery import Delivered, GivenUp, Outcome, Undelivered, Waiting, deliver
from mmapqueue.pipeline.process.senders._finished import FinishedRequests
from mmapqueue.pipeline.process.senders._requests import Request, Row, requests, whole

if TYPE_CHECKING:
    from pyspark.sql import Row as SparkRow

_LOG = logging.getLogger("mmapqueue.pipeline.senders")
_T = TypeVar("_T")
#: A request, or a part of one, and its outcome.
Part: TypeAlias = "tuple[Request, Outcome]"


class Report(NamedTuple):
    """The result of a task's requests.

    Attributes:
        kind: `count`: number of rows by status. `refused`: rows that become dead letters. `done`: number of requests of
            the partition that are finished. `waiting`: number of attempts made for the request after these. `settled`:
            a request after that one, or a part of it, that is finished.
        status: Of rows; with `refused` the reason; with `waiting` the last error; with `settled` the label.
        partition: Partition of the queue.
        number: As kind says.
        pause: With `waiting`, seconds until the next attempt.
        offsets: With `refused`, the offsets of the rows.
    """

    kind: str
    status: str = ""
    partition: int = -1
    number: int = 0
    pause: float = 0.0
    offsets: tuple[int, ...] = ()


class Task(NamedTuple):
    """Sends the rows of a micro-batch that one Spark task has. Pickled to the workers.

    Attributes:
        sender: The sender of the rows.
        queues: Identity of each partition of the queue.
        done: Requests of each partition that earlier runs have finished, counted in the order of `requests`.
        attempts: Attempts that earlier runs made for the first request that is not finished, by partition.
        notes: Directory with the finished requests of the micro-batch.
        batch: Number of the micro-batch.
        settled: Labels of further requests, and of parts of requests, that earlier runs have finished.
        version: Of the sender, from `NetworkSender._version`: workers keep the client of one version.
    """

    sender: RequestSender
    queues: Mapping[int, str]
    done: Mapping[int, int]
    attempts: Mapping[int, int]
    notes: Path
    batch: int
    settled: frozenset[str] = frozenset()
    version: str = ""

    def run(self, batch: Iterable[SparkRow]) -> Iterator[Report]:
        """Sends rows that are sorted by partition and offset, at most `sender.parallel` requests at a time.

        Stops at the first request that has to wait longer than a task may.

        Args:
            batch: The rows; after those of each partition one with the offset `END`.

        Yields:
            Refused rows, once their request is finished; the rest at the end.

        Raises:
            CutOff: The last rows are missing. What they belong to is not sent.
        """
        counts: Counter[str] = Counter()
        finished: Counter[int] = Counter()
        pending: deque[tuple[Request, Future[list[Part]]]] = deque()
        notes: dict[int, FinishedRequests] = {}
        unfinished = self._unfinished(whole(row.asDict() for row in batch))
        waiting: tuple[Request, Waiting] | None = None
        try:
            while waiting is None:
                started = next(unfinished, None)
                if started is not None:
                    request = started[0]
                    noted = notes.get(request.partition) or self._notes(request.partition)
                    notes[request.partition] = noted
                    pending.append((request, _submit(_send(self, *started, noted))))
                if not pending:
                    break
                if started is not None and len(pending) < self.sender.parallel:
                    continue
                request, future = pending.popleft()
                parts = future.result()
                last, outcome = parts[-1] if parts else (request, Delivered())
                if isinstance(outcome, Waiting):
                    waiting = last, outcome
                    pending.appendleft((request, future))
                    break
                finished[request.partition] += 1
                yield from self._finish(request, parts, counts, notes[request.partition])
            # Those behind a request that waits are not sent again with it, and neither are its other parts.
            for request, future in pending:
                yield from self._settle(request, future.result(), counts, notes[request.partition])
            if waiting is not None:
                deque(batch, maxlen=0)  # Reads the rest: Spark reuses only a worker that has read all of its input.
        finally:
            for _, future in pending:
                future.cancel()
            for noted in notes.values():
                noted.close()
        for status, records in counts.items():
            yield Report("count", status, number=records)
        for partition, number in finished.items():
            yield Report("done", partition=partition, number=self.done.get(partition, 0) + number)
        if waiting is not None:
            request, outcome = waiting
            reason = f"request {request.key}: {outcome.error}"
            yield Report("waiting", reason, request.partition, outcome.attempts, outcome.pause)

    def _notes(self, partition: int) -> FinishedRequests:
        return FinishedRequests(self.notes, partition, self.batch)

    def _unfinished(self, rows: Iterator[Row]) -> Iterator[tuple[Request, int]]:
        """The requests that earlier runs have not finished, with the number of attempts that these made."""
        sender, seen = self.sender, Counter[int]()
        cut = requests(rows, queues=self.queues, route=sender.route, size=sender.size, limits=sender.limits)
        for request in cut:
            seen[request.partition] += 1
            further = seen[request.partition] - self.done.get(request.partition, 0)
            if further > 0:
                yield request, self.attempts.get(request.partition, 0) if further == 1 else 0

    def _settle(
        self, request: Request, parts: Sequence[Part], counts: Counter[str], noted: FinishedRequests
    ) -> Iterator[Report]:
        """Finishes a request behind one that waits, which does not count as done, or parts of one that do not wait."""
        ended = [each for each in parts if not isinstance(each[1], Waiting)]
        for each, its in [(request, ended)] if len(ended) == len(parts) else [(part[0], [part]) for part in ended]:
            yield from self._finish(each, its, counts, noted)
            yield Report("settled", each.label, each.partition)

    def _finish(
        self, request: Request, parts: Sequence[Part], counts: Counter[str], noted: FinishedRequests
    ) -> Iterator[Report]:
        """Counts the rows of a request; yields those that become dead letters."""
        refused = [each for part, outcome in parts for each in self._count(part, outcome, counts)]
        if not refused:
            # Otherwise rows become dead letters, but not before the task has ended.
            noted.add(request)
        yield from refused

    def _count(self, request: Request, outcome: Outcome, counts: Counter[str]) -> Iterator[Report]:
        """Counts the rows of a request; yields those that become dead letters."""
        records = len(request.rows)
        if not isinstance(outcome, GivenUp):
            counts["success"] += records
            return
        error = outcome.error
        then = self.sender.retry.then if error.retryable else self.sender.retry.refused
        _LOG.error("request %s is given up (then: %s): %s", request.key, then, error.reason)
        if then == "dead_letter":
            counts["dead_letter"] += records
            yield Report("refused", error.reason, request.partition, offsets=request.offsets)
            return
        counts["rejected" if error.partial else "dropped"] += records


async def _send(task: Task, request: Request, earlier: int, noted: FinishedRequests) -> list[Part]:
    """Sends a request. One that is refused for its content is sent in halves, so that only the records that the
    receiver refuses become dead letters. Nothing is sent after a part that waits: it is the last one of the result.
    What is settled is not in it.
    """  # noqa: D205
    sender = task.sender
    client = await _client(sender, task.version)
    sent: list[Part] = []
    unsent = [request]
    while unsent:
        part = unsent.pop()
        if part.label in task.settled:
            continue
        if part in noted:
            sent.append((part, Delivered()))
            continue
        outcome = await deliver(
            functools.partial(client.send, part.route, part.rows, part.key), sender.retry, part.key, earlier=earlier
        )
        halves = part.halves()
        if isinstance(outcome, GivenUp) and outcome.error.divisible and len(halves) > 1:
            _LOG.warning("request %s is sent again in halves: %s", part.key, outcome.error.reason)
            unsent += reversed(halves)
            continue
        sent.append((part, outcome))
        if isinstance(outcome, Waiting):
            break
    return sent


# ---- one event loop, and one client for each sender, in each worker process, kept across tasks

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
#: Version and client, by the options of the sender.
_clients: dict[str, tuple[str, Client]] = {}


def _submit(coroutine: Coroutine[Any, Any, _T]) -> Future[_T]:
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="senders", daemon=True).start()
    return asyncio.run_coroutine_threadsafe(coroutine, _loop)


class _NoClient:
    """Stands for a client that cannot be made: each request waits, as while the receiver is away."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def send(self, route: str, rows: Sequence[Row], key: str) -> None:  # noqa: ARG002
        raise Undelivered(self._reason, retryable=True)

    async def close(self) -> None:
        pass


async def _client(sender: RequestSender, version: str) -> Client:
    name = json.dumps([type(sender).__qualname__, sender.model_dump_json()])
    kept = _clients.get(name)
    if kept is not None and kept[0] == version:
        return kept[1]
    try:
        client = sender.client()
    except ConfigError as error:
        # A file of TLS that was right when the process started. It may be so again, and is not kept.
        return _NoClient(str(error))
    _clients[name] = version, client
    if kept is not None:
        await kept[1].close()
    return client
