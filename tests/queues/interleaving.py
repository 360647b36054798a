"""Runs logical threads one at a time; a seed decides which one continues at each step."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest
from memory_port import MemoryPort

from mmapqueue._queue.consuming import delivery, thread_buffers
from mmapqueue._queue.consuming.ahead import Ahead
from mmapqueue._queue.consuming.popper import Popper

#: A run that takes more steps does not end.
_MAX_STEPS = 100_000


class Scheduler:
    """The logical threads of one run. Each is a thread of the process that waits for its turn.

    Args:
        seed: Decides the order.
        lines: Whether a thread may be left at each line of the consumer; otherwise at calls of the port and at locks.

    Attributes:
        trace: The steps in order, each with the number of its thread.
    """

    def __init__(self, seed: int, lines: bool = False) -> None:
        self._lines = lines
        self.random = Random(seed)
        # Short turns find races of neighbours, long ones those of a thread that is left for long.
        self._stays = self.random.choice((0.0, 0.5, 0.9, 0.97))
        self.trace: list[tuple[int, str]] = []
        self.errors: list[BaseException] = []
        self._turns: list[threading.Semaphore] = []
        self._left: list[int] = []
        self._numbers = threading.local()
        self._done = threading.Event()

    def _line(self, frame: Any, event: str, _argument: object) -> Any:
        """A trace function: each line of the consumer is a step."""
        # A finalizer may run in any thread, also in one that has ended.
        if "_queue/consuming" not in frame.f_code.co_filename or frame.f_code.co_name == "__del__":
            return None
        if event == "line":
            self.step(f"{frame.f_code.co_name}:{frame.f_lineno}")
        return self._line

    def run(self, *threads: Callable[[], None]) -> None:
        """Runs the threads to their ends; raises the first error."""
        self._turns = [threading.Semaphore(0) for _ in threads]
        self._left = list(range(len(threads)))
        started = [
            threading.Thread(target=self._whole, args=(number, thread), daemon=True)
            for number, thread in enumerate(threads)
        ]
        for thread in started:
            thread.start()
        self._next()
        assert self._done.wait(60), self.trace[-20:]
        for thread in started:
            thread.join(60)
        if self.errors:
            raise self.errors[0]

    def step(self, what: str) -> None:
        """Lets another thread continue, or this one. Does nothing outside of `run`."""
        number = getattr(self._numbers, "own", None)
        if number is None:
            return
        self.trace.append((number, what))
        assert len(self.trace) < _MAX_STEPS, self.trace[-20:]
        blocked = what in ("locked", "idle", "sleep")
        if not blocked and self.random.random() < self._stays:
            return
        chosen = self.random.choice(self._left)
        if chosen != number:
            self._turns[chosen].release()
            self._turns[number].acquire()

    def _whole(self, number: int, thread: Callable[[], None]) -> None:
        self._turns[number].acquire()
        self._numbers.own = number
        if self._lines:
            sys.settrace(self._line)
        try:
            thread()
        except BaseException as error:
            self.errors.append(error)
        finally:
            sys.settrace(None)
            self._numbers.own = None
            self._left.remove(number)
            self._next()

    def _next(self) -> None:
        if self._left:
            self._turns[self.random.choice(self._left)].release()
        else:
            self._done.set()


class StepLock:
    """A lock that lets other threads continue before it is taken, and while another one has it."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._taken = False

    def __enter__(self) -> None:
        self._scheduler.step("lock")
        while self._taken:
            self._scheduler.step("locked")
        self._taken = True

    def __exit__(self, *_: object) -> None:
        self._taken = False
        self._scheduler.step("unlock")

    def locked(self) -> bool:
        return self._taken


class StepUpkeep:
    """Takes the place of the thread in the background: `work` is a logical thread."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._woken: list[Any] = []
        self.stopped = False

    def join(self, owner: Any) -> Any:
        return owner

    def wake(self, ticket: Any, _seconds: float) -> None:
        self._woken.append(ticket)

    def end(self, ticket: Any) -> None:
        self._woken = [each for each in self._woken if each is not ticket]

    def work(self) -> None:
        while not self.stopped:
            self._scheduler.step("idle")
            for ticket in self._woken[:]:
                if ticket.tidy().seconds is None and ticket in self._woken:
                    self._woken.remove(ticket)


@contextmanager
def consumer(scheduler: Scheduler, ahead: Ahead, **options: Any) -> Iterator[tuple[Popper, MemoryPort, StepUpkeep]]:
    """A consumer over a queue in memory, each of whose steps is the scheduler's."""
    port, upkeep = MemoryPort(**options), StepUpkeep(scheduler)
    port.step = scheduler.step
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(thread_buffers, "sleep", lambda _: scheduler.step("sleep"))
        patch.setattr(delivery, "monotonic", lambda: port.now)
        with pytest.MonkeyPatch.context() as locks:
            # The locks of the parts, and no others.
            locks.setattr(threading, "Lock", lambda: StepLock(scheduler))
            popper = Popper(port, ahead, upkeep)  # type: ignore[arg-type]
        yield popper, port, upkeep
