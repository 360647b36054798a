"""The queues of the standard library, which keep everything in memory."""

from __future__ import annotations

import multiprocessing
import platform
import queue
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from queue_bench.workload import Popped, Session, Step, Subject, Workload, one, times


class _Threads(Session):
    def __init__(self, _directory: Path, payload: int) -> None:
        super().__init__(payload)
        self._queue: queue.Queue[bytes] = queue.Queue()

    def workloads(self, batches: Sequence[int]) -> Iterable[Workload]:
        if 1 in batches:
            popped = Popped(self.record)
            steps = (
                Step("push", times(partial(self._queue.put, self.record)), 1),
                Step("pop", popped.keep(self._queue.get), 1),
                Step("ack", times(self._queue.task_done), 1),
            )
            yield Workload(steps, popped.check(1, one))

    def close(self) -> None:
        """Does nothing."""


class _Processes(Session):
    def __init__(self, _directory: Path, payload: int) -> None:
        super().__init__(payload)
        self._queue: multiprocessing.Queue[bytes] = multiprocessing.Queue()

    def workloads(self, batches: Sequence[int]) -> Iterable[Workload]:
        if 1 in batches:
            popped = Popped(self.record)
            steps = (
                Step("push", times(partial(self._queue.put, self.record)), 1),
                Step("pop", popped.keep(self._queue.get), 1),
            )
            yield Workload(steps, popped.check(1, one))

    def close(self) -> None:
        self._queue.close()
        self._queue.join_thread()


SUBJECTS = [
    Subject(
        "queue.Queue",
        "put, get, task_done; unbounded, both ends in one thread",
        "nothing: memory",
        platform.python_version,
        _Threads,
    ),
    Subject(
        "multiprocessing.Queue",
        "put, get; both ends in one process. put returns when a thread of its own has the record, so only push and pop "
        "together are comparable",
        "nothing: memory and a pipe",
        platform.python_version,
        _Processes,
    ),
]
