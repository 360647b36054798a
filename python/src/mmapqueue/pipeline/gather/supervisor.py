"""Child processes: starts them, restarts them when they die, and stops them."""

import asyncio
import contextlib
import ctypes
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from mmapqueue.pipeline import _signals
from mmapqueue.pipeline._control import Control, gather_roles, reload_together
from mmapqueue.pipeline._timeout import timeout
from mmapqueue.pipeline.config import ConfigFileError, Pipeline, files_of, load
from mmapqueue.pipeline.gather.successor import Successor, spawn

_LOG = logging.getLogger("mmapqueue.pipeline.supervisor")
_PR_SET_PDEATHSIG = 1
#: Exit status of an invalid configuration: a restart would fail in the same way.
_REFUSED = 2
_FIRST_BACK_OFF = 0.5
_LONGEST_BACK_OFF = 30.0
#: Seconds of running after which a child that ends is restarted without back-off.
_STABLE = 60.0
_READY = b"ready:"
_T = TypeVar("_T")


def end_with(parent: int) -> None:
    """Has the kernel send SIGTERM to this process when its parent dies.

    Raises:
        SystemExit: The parent is dead already.
    """
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        raise SystemExit(1)


def run_partitions(pipeline: Pipeline, file: str, *, log_level: str, watch: bool) -> int:
    """Runs the agents of `gather.processes`, one process each, until SIGTERM or SIGINT. SIGHUP reloads all, or none.

    All of them share the ports of the servers; a port of 0 is chosen here. A process that dies is restarted.

    Returns:
        The exit status: 0 after a signal, otherwise that of a process that could not start.
    """
    with _gathering(pipeline, file, log_level) as (children, ready):
        return asyncio.run(Supervisor([children], ready, file, pipeline, watch=watch).run())


def run_both(pipeline: Pipeline, file: str, *, log_level: str, watch: bool) -> int:
    """Runs `gather` and, when it is ready, `process`, until SIGTERM or SIGINT. SIGHUP reloads both, or none.

    Then it stops gather before process. A process that is killed is restarted. When process ends by itself, gather is
    stopped.

    Returns:
        The exit status: 0 after a signal, otherwise that of a process that could not start, or of process.
    """
    command = _command("process", file, "--log-level", log_level)
    process = Child("process", command, ends_all=True, announces=False, roles=("process",))
    with _gathering(pipeline, file, log_level) as (children, ready):
        return asyncio.run(Supervisor([children, [process]], ready, file, pipeline, watch=watch).run())


@contextlib.contextmanager
def _gathering(pipeline: Pipeline, file: str, log_level: str) -> "Iterator[tuple[list[Child], Callable[[str], None]]]":
    """The processes that gather, and what gets their `ready:` lines and prints one for all. Ports are reserved."""
    roles = gather_roles(pipeline.gather.processes)
    if len(roles) == 1:
        command = _command("gather", file, "--log-level", log_level)
        yield [Child("gather", command, takes_over=True, roles=roles)], _say
        return
    with _reserved(pipeline) as addresses:
        listen = [word for name, address in addresses.items() for word in ("--listen", f"{name}={address}")]
        children = [
            Child(
                f"gather {partition}",
                _command("gather", file, "--partition", str(partition), "--log-level", log_level, *listen),
                takes_over=True,
                roles=(role,),
            )
            for partition, role in enumerate(roles)
        ]

        def ready(_: str) -> None:
            if all(child.ready for child in children):
                _say(" ".join(["ready:", *(word for item in addresses.items() for word in item)]))

        yield children, ready


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "mmapqueue", *words, "--parent", str(os.getpid())]


def _say(line: str) -> None:
    print(line, flush=True)


@contextlib.contextmanager
def _reserved(pipeline: Pipeline) -> Iterator[dict[str, str]]:
    """The servers' addresses, with ports chosen for 0, and reserved for the children until they have ended."""
    addresses = {}
    with contextlib.ExitStack() as stack:
        for server in pipeline.servers:
            host, _, port = server.listen.rpartition(":")
            if port == "0":
                bare = host.strip("[]")
                family = socket.AF_INET6 if ":" in bare or not bare else socket.AF_INET
                # Bound, but not listening: it accepts no connection.
                kept = stack.enter_context(socket.socket(family))
                kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                kept.bind((bare, 0))
                port = str(kept.getsockname()[1])
            addresses[server.name] = f"{host}:{port}"
        yield addresses


@dataclass
class Child:
    """A process that is kept running.

    Attributes:
        name: The name in the log.
        command: Program and arguments.
        ends_all: Whether all children end when this one has ended by itself.
        announces: Whether it prints `ready:` on stdout. Otherwise its stdout is that of this process.
        takes_over: Whether its program takes `--successor`, so that a restart prepares the next process first.
        roles: The roles by which its control, or those of its own children, are asked to reload.
        ready: Whether it has printed that once.
        restarted: Set when it runs again after a restart that was asked for; None for none.
        successor: The process that runs next; None to start one.
    """

    name: str
    command: Sequence[str]
    ends_all: bool = False
    announces: bool = True
    takes_over: bool = False
    roles: Sequence[str] = ()
    ready: bool = False
    restarted: asyncio.Event | None = field(default=None, repr=False)
    successor: Successor | None = field(default=None, repr=False)
    process: asyncio.subprocess.Process | None = field(default=None, repr=False)

    def send(self, number: int) -> None:
        """Sends a signal; does nothing when the child does not run."""
        if self.process is not None and self.process.returncode is None:
            self.process.send_signal(number)


class _NotStarted(Exception):
    """A child that has run before cannot be started at present."""


class Supervisor:
    """Runs groups of children: each group starts when the previous one is ready, and stops before the next one.

    Example:
        status = asyncio.run(Supervisor([[Child("echo", ["echo", "ready:"])]], print).run())
    """

    def __init__(
        self,
        groups: Sequence[Sequence[Child]],
        ready: Callable[[str], None],
        file: str | None = None,
        pipeline: Pipeline | None = None,
        *,
        watch: bool = False,
    ) -> None:
        """Starts nothing.

        Args:
            groups: The children.
            ready: Called with a child's line when it prints `ready:` for the first time.
            file: The configuration, whose `mmapqueue restart` this supervisor obeys, and which the children reload
                together; None for children without one, which get SIGHUP each.
            pipeline: What the file has.
            watch: Whether to reload when the file changes.
        """
        self._file = file
        self._pipeline = pipeline
        self._watch = watch
        self._groups = groups
        self._children = [child for group in groups for child in group]
        self._ready = ready
        self._status: int | None = None
        self._ended = asyncio.Event()
        self._group_ready = [asyncio.Event() for _ in groups]

    async def run(self) -> int:
        """Runs until SIGTERM or SIGINT, or until a child ends all. Has the children reload by SIGHUP.

        Returns:
            0 after a signal, otherwise the exit status of the child that has ended all.
        """
        loop = asyncio.get_running_loop()
        for number in _signals.stopping():
            loop.add_signal_handler(number, self._signalled)
        control = self._control(loop)
        for number in _signals.reloading():
            reload = partial(self._send_all, number) if control is None else control.request
            loop.add_signal_handler(number, _signals.hangups(reload, partial(self._end, 0)))
        _signals.release_hangups()
        tasks = [
            [asyncio.create_task(self._keep_or_end(child, index)) for child in group]
            for index, group in enumerate(self._groups)
        ]
        with control or contextlib.nullcontext():
            await self._ended.wait()
        for group, of_group in zip(self._groups, tasks, strict=True):
            for child, task in zip(group, of_group, strict=True):
                if child.process is None or child.process.returncode is not None:
                    task.cancel()  # It waits for its turn, or for its restart.
                child.send(signal.SIGTERM)
            await asyncio.gather(*of_group, return_exceptions=True)
        return self._status or 0

    def _control(self, loop: asyncio.AbstractEventLoop) -> Control | None:
        if self._file is None:
            return None
        file = self._file
        return Control(
            "supervisor",
            file,
            lambda: contextlib.nullcontext(lambda: self._reload(file, loop)),
            watched=(lambda: [] if self._pipeline is None else files_of(file, self._pipeline)) if self._watch else None,
            restart=lambda: self._restart_checked(file, loop),
        )

    def _reload(self, file: str, loop: asyncio.AbstractEventLoop) -> None:
        """Has the children reload, all or none. In the thread of the control.

        Raises:
            OSError: A child has ended meanwhile. Nothing has changed.
            ValueError: A child cannot take the file.
        """
        done = reload_together([role for child in self._children for role in child.roles], file)
        if done.failed:
            raise ValueError("\n".join(done.said()))
        with contextlib.suppress(ConfigFileError):  # It has changed again.
            self._pipeline = load(file)
        # One that is starting has no control yet, and may have read the file before it changed.
        starting = [child for child in self._children if not set(child.roles) <= set(done.running)]
        for child in starting:
            loop.call_soon_threadsafe(child.send, signal.SIGHUP)

    def _restart_checked(self, file: str, loop: asyncio.AbstractEventLoop) -> None:
        """Restarts the children, unless the file asks for another number of them. In the thread of the control."""
        wanted = load(file).gather.processes
        if self._pipeline is not None and wanted != self._pipeline.gather.processes:
            raise ValueError(
                f"{file}: gather.processes has changed from {self._pipeline.gather.processes} to {wanted}; "
                "stop the collector and start it again"
            )
        asyncio.run_coroutine_threadsafe(self.restart(), loop).result()

    async def restart(self) -> None:
        """Restarts all children, one after the other: the next one when the last one is ready again.

        A child that takes over is prepared before the one that runs is stopped.

        Raises:
            OSError: A successor cannot be started. Its child, and those after it, go on.
            RuntimeError: A successor has ended, likewise; or the children are ending.
        """
        for child in self._children:
            if child.takes_over:
                child.successor = await self._unless_ended(Successor.prepared(child.command), child)
            child.restarted = asyncio.Event()
            child.send(signal.SIGTERM)
            try:
                await self._unless_ended(child.restarted.wait(), child)
            finally:
                successor, child.successor = child.successor, None
                if successor is not None:
                    await successor.give_up()

    async def _unless_ended(self, work: Coroutine[Any, Any, _T], child: Child) -> _T:
        """The result of work on a restart, which is cancelled when all end."""
        ended, working = asyncio.create_task(self._ended.wait()), asyncio.create_task(work)
        try:
            await asyncio.wait((ended, working), return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                return working.result()
            raise RuntimeError(f"{child.name} was not restarted: all are ending")
        finally:
            ended.cancel()
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

    def _signalled(self) -> None:
        if self._status is None:
            self._end(0)
        else:
            self._send_all(signal.SIGKILL)

    def _send_all(self, number: int) -> None:
        for child in self._children:
            child.send(number)

    def _end(self, status: int) -> None:
        if self._status is None:
            self._status = status
            self._ended.set()

    async def _keep_or_end(self, child: Child, group: int) -> None:
        try:
            await self._keep(child, group)
        except Exception:
            _LOG.exception("%s cannot be kept running", child.name)
            self._end(1)

    async def _keep(self, child: Child, group: int) -> None:
        """Runs and restarts a child until all end."""
        if group:
            await self._group_ready[group - 1].wait()
        back_off = _FIRST_BACK_OFF
        while not self._ended.is_set():
            started = time.monotonic()
            try:
                status = await self._run(child, group)
            except _NotStarted as error:
                how = f"cannot be started ({error.__cause__})"
            else:
                if self._ended.is_set():
                    return
                if child.restarted is not None and not child.restarted.is_set() and status == 0:
                    continue
                itself = status >= 0
                if status == _REFUSED or (itself and (child.ends_all or not child.ready)):
                    self._end(status)
                    return
                how = f"has ended with status {status}" if itself else f"has ended by signal {-status}"
            if time.monotonic() - started > _STABLE:
                back_off = _FIRST_BACK_OFF
            _LOG.warning("%s %s; it starts again in %.1f s", child.name, how, back_off)
            with contextlib.suppress(asyncio.TimeoutError):
                async with timeout(back_off):
                    await self._ended.wait()
            back_off = min(2 * back_off, _LONGEST_BACK_OFF)

    async def _run(self, child: Child, group: int) -> int:
        successor, child.successor = child.successor, None
        child.process = await self._started(child) if successor is None else successor.go()
        if self._ended.is_set():
            child.send(signal.SIGTERM)
        if not child.announces and child.restarted is not None:
            child.restarted.set()
        if child.process.stdout is not None:
            await self._listen(child, child.process.stdout, group)
        return await child.process.wait()

    async def _started(self, child: Child) -> asyncio.subprocess.Process:
        stdout = asyncio.subprocess.PIPE if child.announces else None
        try:
            return await spawn(child.command, stdout=stdout)
        except OSError as error:
            if child.process is None:
                raise
            # It has run before: what is missing, processes, memory or descriptors, may be there again in a moment.
            raise _NotStarted from error

    async def _listen(self, child: Child, stdout: asyncio.StreamReader, group: int) -> None:
        """Passes on what a child prints. A very long line, which a plugin may print, loses its beginning."""
        while True:
            try:
                line = await stdout.readline()
            except ValueError:  # The reader has discarded what it had of the line.
                continue
            if not line:
                return
            if not line.startswith(_READY):
                sys.stdout.write(line.decode(errors="replace"))
                sys.stdout.flush()
                continue
            if child.restarted is not None:
                child.restarted.set()
            if not child.ready:
                child.ready = True
                self._ready(line.decode().rstrip("\n"))
                if all(each.ready for each in self._groups[group]):
                    self._group_ready[group].set()
