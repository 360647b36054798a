"""What a queue lets itself be measured by: sessions, which have workloads, which have steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

#: Does something so many times.
Run = Callable[[int], object]


def nothing(_calls: int) -> None:
    """For what needs nothing to be done."""


@dataclass(frozen=True)
class Step:
    """A part of a workload.

    Attributes:
        operation: What it is called in the results; empty for what is done but not told.
        run: Makes so many calls.
        batch: Records in a call.
    """

    operation: str
    run: Run
    batch: int


@dataclass(frozen=True)
class Workload:
    """Steps that follow each other: what the first puts in the last has taken out, so it can be gone through again.

    Attributes:
        steps: Each makes the same number of calls.
        settle: Checks what came out, given the number of calls, and cleans up; it is not timed.
    """

    steps: Sequence[Step]
    settle: Run

    @property
    def batch(self) -> int:
        """The most records in a call."""
        return max(step.batch for step in self.steps)

    @property
    def whole(self) -> Step | None:
        """All steps as one, where each of several is told; it is not there to be run."""
        if len(self.steps) < 2 or not all(step.operation for step in self.steps):
            return None
        many = "_many" if self.steps[0].operation.endswith("_many") else ""
        return Step("round_trip" + many, nothing, self.batch)


class Session(ABC):
    """A queue that is open, for records of one size.

    Attributes:
        record: The record that is pushed, again and again.
        null: A call to the queue's JVM that does nothing, if it has one.
        room: The most bytes of records that are to be in it at once.
    """

    null: Callable[[], object] | None = None
    room = 32 << 20

    def __init__(self, payload: int) -> None:
        self.record = (bytes(range(256)) * (payload // 256 + 1))[:payload]

    @abstractmethod
    def workloads(self, batches: Sequence[int]) -> Iterable[Workload]:
        """The workloads with batches of these sizes, as far as there are calls for them."""

    def warm(self) -> None:
        """Does what has to be done once, before anything is measured."""
        return

    @abstractmethod
    def close(self) -> None:
        """Lets go of everything; the directory is removed by who has made it."""


@dataclass(frozen=True)
class Subject:
    """A queue that can be measured.

    Attributes:
        name: What it is called in the results.
        fast_path: How it is used, by its own documentation.
        survives: What is still there when the process that uses it is killed.
        version: Tells its version; raises ImportError or FileNotFoundError when it is not installed.
        open: Opens one in a directory that is there and empty, for records of so many bytes.
    """

    name: str
    fast_path: str
    survives: str
    version: Callable[[], str]
    open: Callable[[Path, int], Session]


class Held(list[Any]):
    """What was popped, call by call, until it is acked and checked."""

    def __init__(self, record: bytes) -> None:
        super().__init__()
        self._record = record

    def take(self, call: Callable[[], object]) -> Run:
        """Keeps what each call returns."""

        def run(calls: int) -> None:
            self[:] = [call() for _ in repeat(None, calls)]

        return run

    def give(self, call: Callable[[Any], object]) -> Run:
        """Calls with each that was kept."""

        def run(_calls: int) -> None:
            for each in self:
                call(each)

        return run

    def check(self, batch: int, payloads: Callable[[Any], Sequence[bytes]]) -> Run:
        """Compares what was kept with what must have come: every record, whole."""

        def run(calls: int) -> None:
            found = sum(1 for each in self for payload in payloads(each) if payload == self._record)
            self.clear()
            if found != calls * batch:
                raise RuntimeError(f"{found} records came out whole of {calls * batch}")

        return run


def times(call: Callable[[], object]) -> Run:
    """Makes the same call again and again."""

    def run(calls: int) -> None:
        for _ in repeat(None, calls):
            call()

    return run


def one(payload: bytes) -> Sequence[bytes]:
    """The records of a pop that gives the bytes of a single one."""
    return (payload,)
