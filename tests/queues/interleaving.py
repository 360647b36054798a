"""Runs logical threads one at a time; a seed decides which one continues at each step.

A logical thread is a greenlet: a change of threads takes a microsecond, so a second has a thousand runs. Modules within
`stepped` start logical threads, and wait in steps: on locks, on conditions, in executors and in event loops.
"""

from __future__ import annotations

import ast
import asyncio
import gc
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from math import inf
from pathlib import Path
from random import Random
from types import CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

import pytest
from greenlet import getcurrent, greenlet
from memory_port import MemoryPort

from conftest import LONG
from mmapqueue._queue.consuming import ack_buffer, delivery, popper, thread_buffers
from mmapqueue._queue.consuming.ahead import Ahead
from mmapqueue._queue.consuming.popper import Popper

#: A run that takes more steps does not end.
_MAX_STEPS = 100_000
#: The time of a step in which a thread waits, in seconds; other steps take no time.
_WAIT_SECONDS = 0.001
_WAITS = frozenset({"answer", "locked", "idle", "sleep", "wait"})
#: Not the main thread, as signals would be deferred there at each call.
_THREAD = ThreadPoolExecutor(1)

CONSUMING = (ack_buffer, delivery, popper, thread_buffers)


def run_seeds(run: Callable[[int, bool], None], lines: bool, count: int, kept: Sequence[int] = ()) -> None:
    """Runs seeds, many of them in the long form. `SEED=n` repeats a failure.

    Args:
        run: Runs one seed.
        lines: As for `Scheduler`.
        count: The number of seeds in the short form.
        kept: Seeds that have found faults, without `lines`: those seeds change with each line.
    """
    seeds = [*kept[: 0 if lines else None], *range(5000 if LONG else count)]
    if "SEED" in os.environ:
        seeds = [int(os.environ["SEED"])]
    for seed in seeds:
        try:
            run(seed, lines)
        except BaseException as error:
            raise AssertionError(f"SEED={seed}: {error!r}") from error


class Scheduler:
    """The logical threads of one run.

    Args:
        seed: Decides the order.
        lines: Whether a thread may be left at each statement of the consumer; otherwise at calls of the port and at
            locks.

    Attributes:
        trace: The steps in order, each with the number of its thread.
        now: The time in seconds.
        ending: Whether the threads of `run` have ended. Executors then end, too.
    """

    def __init__(self, seed: int, lines: bool = False) -> None:
        self.lines = lines
        self.random = Random(seed)
        # Short turns find races of neighbours, long ones those of a thread that is left for long.
        self._stays = self.random.choice((0.0, 0.5, 0.9, 0.97))
        self.trace: list[tuple[int, str]] = []
        self.now = 0.0
        self.ending = False
        self._numbers: dict[greenlet, int] = {}
        self._started = 0
        self._left: list[greenlet] = []
        self._main: greenlet | None = None

    def run(self, *threads: Callable[[], None]) -> None:
        """Runs the threads, and those that they start, to their ends; raises the first error."""
        errors = _THREAD.submit(self._run, threads).result(60)
        assert len(self.trace) < _MAX_STEPS, f"the run does not end: {self.trace[-20:]}"
        if errors:
            raise errors[0]

    def _run(self, threads: tuple[Callable[[], None], ...]) -> list[BaseException]:
        errors: list[BaseException] = []
        self._main = getcurrent()
        for thread in threads:
            self.start(thread)
        given = self._left[:]
        # Finalizers of unreachable objects would run at other steps in each run of a seed.
        gc.disable()
        while self._left:
            try:
                self.random.choice(self._left).switch()
            except BaseException as error:
                errors.append(error)
            self._left = [each for each in self._left if not each.dead]
            self._numbers = {each: number for each, number in self._numbers.items() if not each.dead}
            given = [each for each in given if not each.dead]
            self.ending = not given
        gc.enable()
        self._numbers = {}
        return errors

    def start(self, target: Callable[[], None]) -> greenlet:
        """Starts a thread beside those that run, and called by one of them."""
        assert self._main is not None
        thread = greenlet(target, parent=self._main)
        self._numbers[thread] = self._started
        self._started += 1
        self._left.append(thread)
        return thread

    def step(self, what: str) -> None:
        """Lets another thread continue, or this one. Does nothing outside of `run`."""
        number = self._numbers.get(getcurrent())
        if number is None:
            return
        self.trace.append((number, what))
        assert len(self.trace) < _MAX_STEPS, self.trace[-20:]
        waits = what in _WAITS
        if waits:
            self.now += _WAIT_SECONDS
        if waits or self.random.random() >= self._stays:
            # A thread that has ended returns to `_run`, which takes it off the list.
            self.random.choice(self._left).switch()

    def replacements(self) -> dict[str, Any]:
        """What takes the place of names of the standard library in a module."""
        return {
            "threading": SimpleNamespace(
                Lock=lambda: StepLock(self),
                Condition=lambda: StepCondition(self),
                Thread=partial(StepThread, self),
                local=StepLocal,
                current_thread=lambda: getattr(getcurrent(), "thread", None),
            ),
            "Lock": lambda: StepLock(self),
            "ThreadPoolExecutor": partial(StepExecutor, self),
            "monotonic": lambda: self.now,
            "sleep": lambda _: self.step("sleep"),
        }


class StepLock:
    """A lock that lets other threads continue before it is taken, and while another one has it."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._taken = False

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        self._scheduler.step("lock")
        end = self._scheduler.now + (inf if timeout < 0 else timeout)
        while self._taken:
            if not blocking or self._scheduler.now >= end:
                return False
            self._scheduler.step("locked")
        self._taken = True
        return True

    def release(self) -> None:
        if not self._taken:
            raise RuntimeError("release unlocked lock")
        self._taken = False
        self._scheduler.step("unlock")

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def locked(self) -> bool:
        return self._taken


class StepCondition(StepLock):
    """A condition whose waits are steps."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__(scheduler)
        self._notified = 0

    def wait(self, timeout: float = inf) -> None:
        notified, end = self._notified, self._scheduler.now + timeout
        self.release()
        while self._notified == notified and self._scheduler.now < end:
            self._scheduler.step("idle")
        self.acquire()

    def notify_all(self) -> None:
        assert self._taken
        self._notified += 1


class StepThread:
    """Takes the place of `threading.Thread`."""

    def __init__(self, scheduler: Scheduler, *, target: Callable[[], None], **_: object) -> None:
        self._scheduler = scheduler
        self._target = target
        self._started = self._alive = False

    def start(self) -> None:
        self._started = self._alive = True
        self._scheduler.start(self._run).thread = self

    def _run(self) -> None:
        try:
            self._target()
        finally:
            self._alive = False

    def is_alive(self) -> bool:
        return self._alive

    def join(self, timeout: float = inf) -> None:
        if not self._started:
            raise RuntimeError("cannot join thread before it is started")
        end = self._scheduler.now + timeout
        while self._alive and self._scheduler.now < end:
            self._scheduler.step("idle")


class StepExecutor:
    """Takes the place of `ThreadPoolExecutor`."""

    def __init__(self, scheduler: Scheduler, max_workers: int = 2, **_: object) -> None:
        self._scheduler = scheduler
        self._calls: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._unstarted = max_workers
        self._idle = 0
        self._shut = False

    def submit(self, call: Callable[..., Any], *arguments: Any) -> Future[Any]:
        if self._shut:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future: Future[Any] = Future()
        self._calls.append((future, partial(call, *arguments)))
        if self._unstarted and not self._idle:
            self._unstarted -= 1
            self._scheduler.start(self._work)
        return future

    def shutdown(self, wait: bool = True) -> None:
        assert not wait
        self._shut = True

    def _work(self) -> None:
        while True:
            self._idle += 1
            while not self._calls:
                if self._shut or self._scheduler.ending:
                    return
                self._scheduler.step("idle")
            self._idle -= 1
            self._call(*self._calls.popleft())

    def _call(self, future: Future[Any], call: Callable[[], Any]) -> None:
        if future.set_running_or_notify_cancel():
            try:
                result = call()
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)


class StepLoop(asyncio.BaseEventLoop):
    """An event loop whose waits are steps: it has calls from other threads and timers, and no files."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__()
        self._scheduler = scheduler
        self._selector = self
        self._default_executor = StepExecutor(scheduler)

    def time(self) -> float:
        return self._scheduler.now

    def select(self, timeout: float | None) -> None:
        self._scheduler.step("loop" if timeout == 0 else "idle")

    def _process_events(self, _events: None) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """`select` returns after each step."""

    def run(self, main: Any) -> None:
        """As `asyncio.run`."""
        try:
            self.run_until_complete(main)
            self.run_until_complete(self.shutdown_asyncgens())
        finally:
            self.close()


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

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> Any:
        return self._with_steps(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
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
def _functions_with_steps(modules: tuple[ModuleType, ...]) -> list[tuple[FunctionType, CodeType]]:
    """The functions of some modules, each with its code with a step before each statement."""
    stepped: dict[tuple[str, str, int], CodeType] = {}

    def collect(code: CodeType) -> None:
        stepped[code.co_filename, code.co_name, code.co_firstlineno] = code
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                collect(constant)

    files = {str(module.__file__) for module in modules}
    for name in files:
        collect(compile(_Steps().visit(ast.parse(Path(name).read_text())), name, "exec"))
    return [
        (each, stepped[each.__code__.co_filename, each.__code__.co_name, each.__code__.co_firstlineno])
        for each in gc.get_objects()
        if isinstance(each, FunctionType) and each.__code__.co_filename in files
    ]


@contextmanager
def stepped(scheduler: Scheduler, *modules: ModuleType) -> Iterator[None]:
    """Within the block, threads, locks, waits and the time of these modules are those of the scheduler."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in scheduler.replacements().items():
            for module in modules:
                if hasattr(module, name):
                    patch.setattr(module, name, value)
        if scheduler.lines:
            for function, code in _functions_with_steps(modules):
                patch.setattr(function, "__code__", code)
                patch.setitem(function.__globals__, "__step__", scheduler.step)
        yield


@contextmanager
def consumer(scheduler: Scheduler, ahead: Ahead, **options: Any) -> Iterator[tuple[Popper, MemoryPort, StepUpkeep]]:
    """A consumer over a queue in memory, each of whose steps is the scheduler's."""
    port, upkeep = MemoryPort(**options), StepUpkeep(scheduler)

    def step(what: str) -> None:
        for _ in range(scheduler.random.choice((1, 1, 1, 30)) if what == "answer" else 1):
            scheduler.step(what)
        port.now = scheduler.now

    port.step = step
    with stepped(scheduler, *CONSUMING):
        yield Popper(port, ahead, upkeep), port, upkeep  # type: ignore[arg-type]
