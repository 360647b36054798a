"""Subjects of the benchmark: a subject opens sessions, a session has workloads, a workload has steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

#: Makes a number of calls.
Run = Callable[[int], object]


def nothing(_calls: int) -> None:
    """Does nothing."""


@dataclass(frozen=True)
class Step:
    """A part of a workload.

    Attributes:
        operation: Name in the results; empty for a step that is not reported.
        run: Makes a number of calls.
        batch: Records in a call.
    """

    operation: str
    run: Run
    batch: int


@dataclass(frozen=True)
class Workload:
    """Consecutive steps: the last one leaves the queue empty, so the workload can be repeated.

    Attributes:
        steps: Each makes the same number of calls.
        verify: Verifies the popped records, given the number of calls, and cleans up; untimed.
    """

    steps: Sequence[Step]
    verify: Run

    @property
    def batch(self) -> int:
        """The maximum number of records in a call."""
        return max(step.batch for step in self.steps)

    @property
    def whole(self) -> Step | None:
        """All steps as one, if there are several and all are reported; for the results alone."""
        if len(self.steps) < 2 or not all(step.operation for step in self.steps):
            return None
        kind = self.steps[0].operation.removeprefix("push")
        return Step("round_trip" + kind, nothing, self.batch)


class Session(ABC):
    """An open queue for records of one size.

    Attributes:
        record: The record of all pushes.
        null: A call to the queue's JVM that does nothing, if it has one.
        room: The maximum number of bytes of records in the queue at once.
    """

    null: Callable[[], object] | None = None
    room = 32 << 20

    def __init__(self, payload: int) -> None:
        self.record = (bytes(range(256)) * (payload // 256 + 1))[:payload]

    @abstractmethod
    def workloads(self, batches: Sequence[int]) -> Iterable[Workload]:
        """The workloads with batches of these sizes, as far as the queue has calls for them."""

    def warm(self) -> None:
        """Warms up, once, before all measurements."""
        return

    @abstractmethod
    def close(self) -> None:
        """Closes the queue. The caller removes the directory."""


@dataclass(frozen=True)
class Subject:
    """A queue that can be measured.

    Attributes:
        name: Name in the results.
        fast_path: The calls used, by its own documentation.
        survives: The records that survive a kill of the process.
        version: Returns its version; raises ImportError or FileNotFoundError if it is not installed.
        open: Opens a queue in an empty directory, for records of a size in bytes.
    """

    name: str
    fast_path: str
    survives: str
    version: Callable[[], str]
    open: Callable[[Path, int], Session]


class Popped(list[Any]):
    """Results of pops, call by call, until they are acked and verified."""

    def __init__(self, record: bytes) -> None:
        super().__init__()
        self._record = record

    def keep(self, call: Callable[[], object]) -> Run:
        """Keeps the result of each call."""

        def run(calls: int) -> None:
            self[:] = [call() for _ in repeat(None, calls)]

        return run

    def each(self, call: Callable[[Any], object]) -> Run:
        """Calls with each kept result."""

        def run(_calls: int) -> None:
            for popped in self:
                call(popped)

        return run

    def check(self, batch: int, payloads: Callable[[Any], Sequence[bytes]]) -> Run:
        """Verifies that the kept results have every record unchanged."""

        def run(calls: int) -> None:
            found = sum(1 for each in self for payload in payloads(each) if payload == self._record)
            self.clear()
            if found != calls * batch:
                raise RuntimeError(f"{found} records of {calls * batch} popped unchanged")

        return run


def times(call: Callable[[], object]) -> Run:
    """Repeats one call."""

    def run(calls: int) -> None:
        for _ in repeat(None, calls):
            call()

    return run


def one(payload: bytes) -> Sequence[bytes]:
    """The records of a pop that returns one record as bytes."""
    return (payload,)
