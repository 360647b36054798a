"""Queues on plain files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from queue_bench.workload import Popped, Session, Step, Subject, Workload, one, times


class _PersistQueue(Session):
    def __init__(self, directory: Path, payload: int) -> None:
        from persistqueue import Queue

        super().__init__(payload)
        temporary = directory / "temporary"
        temporary.mkdir()
        self._queue: Any = Queue(str(directory / "queue"), tempdir=str(temporary))

    def workloads(self, batches: Sequence[int]) -> Iterable[Workload]:
        if 1 in batches:
            popped = Popped(self.record)
            steps = (
                Step("push", times(partial(self._queue.put, self.record)), 1),
                Step("pop", popped.keep(partial(self._queue.get, block=False)), 1),
                Step("ack", times(self._queue.task_done), 1),
            )
            yield Workload(steps, popped.check(1, one))

    def close(self) -> None:
        """Does nothing: the garbage collector closes the files."""
        del self._queue


class _Queuelib(Session):
    def __init__(self, directory: Path, payload: int) -> None:
        from queuelib import FifoDiskQueue

        super().__init__(payload)
        self._queue: Any = FifoDiskQueue(str(directory / "queue"))

    def workloads(self, batches: Sequence[int]) -> Iterable[Workload]:
        if 1 in batches:
            popped = Popped(self.record)
            steps = (
                Step("push", times(partial(self._queue.push, self.record)), 1),
                Step("pop", popped.keep(self._queue.pop), 1),
            )
            yield Workload(steps, popped.check(1, one))

    def close(self) -> None:
        self._queue.close()


SUBJECTS = [
    Subject(
        "persist-queue Queue",
        "put, get, task_done, which saves the position; files of 100 records",
        "what was pushed; the position is that of the last task_done",
        lambda: version("persist-queue"),
        _PersistQueue,
    ),
    Subject(
        "queuelib FifoDiskQueue",
        "push, pop; files of 100 000 records. No acks: popped records are gone",
        "nothing that can be found: the positions are written by close() alone",
        lambda: version("queuelib"),
        _Queuelib,
    ),
]
