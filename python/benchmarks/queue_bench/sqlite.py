"""Queues on SQLite."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from queue_bench.workload import Popped, Run, Session, Step, Subject, Workload, one, times

#: Each put fsyncs: larger batches would give the same rate, and take minutes.
_MOST_PUTS = 100


class _AckQueue(Session):
    """persist-queue's SQLiteAckQueue: each call is a transaction."""

    def __init__(self, directory: Path, payload: int) -> None:
        from persistqueue import SQLiteAckQueue

        super().__init__(payload)
        self._queue: Any = SQLiteAckQueue(str(directory))

    def workloads(self, batches: Sequence[int]) -> Iterable[Workload]:
        if 1 in batches:
            popped = Popped(self.record)
            check = popped.check(1, lambda item: (item["data"],))

            def verify(calls: int) -> None:
                check(calls)
                self._queue.clear_acked_data(max_delete=calls, keep_latest=0)

            steps = (
                Step("push", times(partial(self._queue.put, self.record)), 1),
                Step("pop", popped.keep(partial(self._queue.get, block=False, raw=True)), 1),
                Step("ack", popped.each(self._queue.ack), 1),
            )
            yield Workload(steps, verify)

    def close(self) -> None:
        self._queue.close()


class _BatchQueue(Session):
    """persist-queue's SQLiteQueue without auto_commit: task_done deletes a batch at once; each put commits."""

    def __init__(self, directory: Path, payload: int) -> None:
        from persistqueue import SQLiteQueue

        super().__init__(payload)
        self._queue: Any = SQLiteQueue(str(directory), auto_commit=False)

    def workloads(self, batches: Sequence[int]) -> Iterable[Workload]:
        for batch in batches:
            if batch > _MOST_PUTS:
                continue
            popped = Popped(self.record)
            steps = (
                Step("push_many", times(partial(self._push, batch)), batch),
                Step("pop_many", popped.keep(partial(self._pop, batch)), batch),
            )
            yield Workload(steps, popped.check(batch, list))

    def _push(self, batch: int) -> None:
        for _ in range(batch):
            self._queue.put(self.record)
        self._queue.task_done()

    def _pop(self, batch: int) -> list[bytes]:
        records = [self._queue.get(block=False) for _ in range(batch)]
        self._queue.task_done()
        return records

    def close(self) -> None:
        self._queue.close()


class _Deque(Session):
    """diskcache.Deque: a batch is a transaction."""

    def __init__(self, directory: Path, payload: int) -> None:
        from diskcache import Deque

        super().__init__(payload)
        self._deque: Any = Deque(directory=str(directory))

    def workloads(self, batches: Sequence[int]) -> Iterable[Workload]:
        for batch in batches:
            popped = Popped(self.record)
            if batch == 1:
                steps = (
                    Step("push", times(partial(self._deque.append, self.record)), 1),
                    Step("pop", popped.keep(self._deque.popleft), 1),
                )
                yield Workload(steps, popped.check(1, one))
            else:
                steps = (
                    Step("push_many", times(partial(self._push, batch)), batch),
                    Step("pop_many", popped.keep(partial(self._pop, batch)), batch),
                )
                yield Workload(steps, popped.check(batch, list))

    def _push(self, batch: int) -> None:
        with self._deque.transact():
            for _ in range(batch):
                self._deque.append(self.record)

    def _pop(self, batch: int) -> list[bytes]:
        with self._deque.transact():
            return [self._deque.popleft() for _ in range(batch)]

    def close(self) -> None:
        self._deque.cache.close()


class _LiteQueue(Session):
    """litequeue: many puts in a transaction; each pop is a transaction, and sorts all queued records."""

    def __init__(self, directory: Path, payload: int) -> None:
        from litequeue import LiteQueue

        super().__init__(payload)
        self._queue: Any = LiteQueue(directory / "queue.db")

    def workloads(self, batches: Sequence[int]) -> Iterable[Workload]:
        for batch in batches:
            if batch == 1:
                yield self._singles()
            else:
                yield Workload((Step("push_many", times(partial(self._push, batch)), batch),), self._forget(batch))

    def _singles(self) -> Workload:
        popped = Popped(self.record)
        check = popped.check(1, lambda message: (message.data,))

        def verify(calls: int) -> None:
            check(calls)
            self._queue.prune()

        steps = (
            Step("push", times(partial(self._queue.put, self.record)), 1),
            Step("pop", popped.keep(self._queue.pop), 1),
            Step("ack", popped.each(lambda message: self._queue.done(message.message_id)), 1),
        )
        return Workload(steps, verify)

    def _forget(self, batch: int) -> Run:
        def verify(calls: int) -> None:
            if self._queue.qsize() != calls * batch:
                raise RuntimeError(f"{self._queue.qsize()} records left of {calls * batch}")
            self._queue.conn.execute(f"DELETE FROM {self._queue.table}")

        return verify

    def _push(self, batch: int) -> None:
        with self._queue.transaction():
            for _ in range(batch):
                self._queue.put(self.record)

    def close(self) -> None:
        self._queue.close()


_SYNCED = "what was committed; a loss of power, too (WAL, synchronous=FULL)"
_COMMITTED = "what was committed; a loss of power takes the newest commits (WAL, synchronous=NORMAL)"

SUBJECTS = [
    Subject(
        "persist-queue SQLiteAckQueue",
        "put, get, ack; a transaction each, no other way with acks. Acked records are cleared between measurements",
        _SYNCED,
        lambda: version("persist-queue"),
        _AckQueue,
    ),
    Subject(
        "persist-queue SQLiteQueue",
        "auto_commit=False: put or get a batch, then task_done. Each put is a commit all the same",
        _SYNCED,
        lambda: version("persist-queue"),
        _BatchQueue,
    ),
    Subject(
        "diskcache.Deque",
        "append, popleft; a batch of them inside transact(). No acks: popped records are gone",
        _COMMITTED,
        lambda: version("diskcache"),
        _Deque,
    ),
    Subject(
        "litequeue",
        "put, pop, done; a batch of put inside transaction(). Done records are pruned between measurements",
        _COMMITTED,
        lambda: version("litequeue"),
        _LiteQueue,
    ),
]
