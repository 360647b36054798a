"""Runs logical threads one at a time; a seed decides which one continues at each step.

A logical thread is a greenlet: a change of threads takes a microsecond, so a second has a thousand runs.
"""

from __future__ import annotations

import ast
import gc
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random
from types import CodeType, FunctionType
from typing import Any
from weakref import WeakKeyDictionary

import pytest
from greenlet import getcurrent, greenlet
from memory_port import MemoryPort

from mmapqueue._queue import consuming
from mmapqueue._queue.consuming import delivery, thread_buffers
from mmapqueue._queue.consuming.ahead import Ahead
from mmapqueue._queue.consuming.popper import Popper

#: A run that takes more steps does not end.
_MAX_STEPS = 100_000
#: Not the main thread, as signals would be deferred there at each call.
_THREAD = ThreadPoolExecutor(1)


class Scheduler:
    """The logical threads of one run.

    Args:
        seed: Decides the order.
        lines: Whether a thread may be left at each statement of the consumer; otherwise at calls of the port and at
            locks.

    Attributes:
        trace: The steps in order, each with the number of its thread.
    """

    def __init__(self, seed: int, lines: bool = False) -> None:
        self.lines = lines
        self.random = Random(seed)
        # Short turns find races of neighbours, long ones those of a thread that is left for long.
        self._stays = self.random.choice((0.0, 0.5, 0.9, 0.97))
        self.trace: list[tuple[int, str]] = []
        self._numbers: dict[greenlet, int] = {}
        self._left: list[greenlet] = []

    def run(self, *threads: Callable[[], None]) -> None:
        """Runs the threads to their ends; raises the first error."""
        errors = _THREAD.submit(self._run, threads).result(60)
        if errors:
            raise errors[0]

    def _run(self, threads: tuple[Callable[[], None], ...]) -> list[BaseException]:
        errors = []
        self._left = [greenlet(thread) for thread in threads]
        self._numbers = {each: number for number, each in enumerate(self._left)}
        while self._left:
            try:
                self.random.choice(self._left).switch()
            except BaseException as error:
                errors.append(error)
            self._left = [each for each in self._left if not each.dead]
        self._numbers = {}
        return errors

    def step(self, what: str) -> None:
        """Lets another thread continue, or this one. Does nothing outside of `run`."""
        number = self._numbers.get(getcurrent())
        if number is None:
            return
        self.trace.append((number, what))
        assert len(self.trace) < _MAX_STEPS, self.trace[-20:]
        blocked = what in ("locked", "idle", "sleep")
        if blocked or self.random.random() >= self._stays:
            # A thread that has ended returns to `_run`, which takes it off the list.
            self.random.choice(self._left).switch()


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


class StepLocal:
    """Takes the place of `threading.local`: each logical thread has its own attributes."""

    def __init__(self) -> None:
        self.__dict__["_of"] = WeakKeyDictionary()

    def __getattr__(self, name: str) -> Any:
        try:
            return self._of[getcurrent()][name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: object) -> None:
        self._of.setdefault(getcurrent(), {})[name] = value


class _Steps(ast.NodeTransformer):
    """Inserts a step before each statement of a function."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        # A finalizer may run in any thread, also in one that has ended.
        return node if node.name == "__del__" else self._with_steps(node)

    def _with_steps(self, node: Any) -> Any:
        for field in ("body", "orelse", "finalbody"):
            statements = getattr(node, field, None)
            if isinstance(statements, list):
                stepped = []
                for statement in statements:
                    step = ast.parse(f"__step__({f'line {statement.lineno}'!r})").body[0]
                    for each in ast.walk(step):
                        ast.copy_location(each, statement)
                    stepped += [step, self._with_steps(statement)]
                setattr(node, field, stepped)
        for handler in getattr(node, "handlers", ()):
            self._with_steps(handler)
        return node


@cache
def _functions_with_steps() -> list[tuple[FunctionType, CodeType]]:
    """The functions of the consumer, each with its code with a step before each statement."""
    stepped: dict[tuple[str, str, int], CodeType] = {}

    def collect(code: CodeType) -> None:
        stepped[code.co_filename, code.co_name, code.co_firstlineno] = code
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                collect(constant)

    files = {str(file): file.read_text() for file in Path(next(iter(consuming.__path__))).glob("*.py")}
    for name, text in files.items():
        collect(compile(_Steps().visit(ast.parse(text)), name, "exec"))
    return [
        (each, stepped[each.__code__.co_filename, each.__code__.co_name, each.__code__.co_firstlineno])
        for each in gc.get_objects()
        if isinstance(each, FunctionType) and each.__code__.co_filename in files
    ]


@contextmanager
def consumer(scheduler: Scheduler, ahead: Ahead, **options: Any) -> Iterator[tuple[Popper, MemoryPort, StepUpkeep]]:
    """A consumer over a queue in memory, each of whose steps is the scheduler's."""
    port, upkeep = MemoryPort(**options), StepUpkeep(scheduler)
    port.step = scheduler.step
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(thread_buffers, "sleep", lambda _: scheduler.step("sleep"))
        patch.setattr(delivery, "monotonic", lambda: port.now)
        if scheduler.lines:
            for function, code in _functions_with_steps():
                patch.setattr(function, "__code__", code)
                patch.setitem(function.__globals__, "__step__", scheduler.step)
        with pytest.MonkeyPatch.context() as locks:
            # The locks of the parts, and no others.
            locks.setattr(threading, "Lock", lambda: StepLock(scheduler))
            locks.setattr(threading, "local", StepLocal)
            popper = Popper(port, ahead, upkeep)  # type: ignore[arg-type]
        yield popper, port, upkeep
