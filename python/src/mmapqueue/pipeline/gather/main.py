"""`mmapqueue gather`: one agent in this process, or several in processes of their own."""

import asyncio
import base64
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

import uvloop

import mmapqueue
from mmapqueue._jvm import standalone
from mmapqueue.pipeline import _signals
from mmapqueue.pipeline._control import Control
from mmapqueue.pipeline._timeout import timeout
from mmapqueue.pipeline.config import ConfigFileError, Pipeline, files_of, load, only_by_restart
from mmapqueue.pipeline.gather.agent import Agent, Change
from mmapqueue.pipeline.gather.rehearsal import rehearse
from mmapqueue.pipeline.gather.successor import await_turn
from mmapqueue.pipeline.gather.supervisor import end_with, run_partitions

_LOG = logging.getLogger("mmapqueue.pipeline.gather")
#: Seconds between two checks of the JVM.
_JVM_LOOK_SECONDS = 0.5
#: Seconds for which a dead letter that is sent again waits for room in its queue.
_ROOM_SECONDS = 5.0
_T = TypeVar("_T")


def run(
    pipeline: Pipeline,
    *,
    file: str,
    partition: int | None = None,
    listen: dict[str, str] | None = None,
    parent: int | None = None,
    successor: int | None = None,
    log_level: str = "info",
    watch: bool = False,
) -> int:
    """Gathers until SIGTERM or SIGINT. Reloads the file by SIGHUP, and when `mmapqueue reload` asks for it.

    Prints `ready: SERVER HOST:PORT …` on stdout when events are taken. Belongs to the main thread: it handles signals.

    Args:
        pipeline: The configuration.
        file: The configuration's file, for child processes.
        partition: The number of this process of several; None runs all of them.
        listen: Addresses of servers, which replace those of the configuration.
        parent: Process id of the parent; this process ends with it.
        successor: The socket by which the parent lets this process go on, when its predecessor has ended.
        log_level: The log level of child processes.
        watch: Whether to reload when the file changes.

    Returns:
        The exit status.

    Raises:
        mmapqueue.MmapQueueError: A queue cannot be opened, or the JVM that has the queues has ended.
        OSError: An address cannot be listened on.
    """
    if parent is not None:
        end_with(parent)
    if partition is None and pipeline.gather.processes > 1:
        return run_partitions(pipeline, file, log_level=log_level, watch=watch)
    if successor is not None:
        standalone.jvm()
        await_turn(successor)
        # A reload since then has reached the predecessor alone.
        with contextlib.suppress(ValueError, ConfigFileError):
            pipeline = _gathered(file, pipeline, {})
    addresses = listen or {}
    running = _Gathering(
        _listening(pipeline, addresses), file, partition, addresses, supervised=parent is not None, watch=watch
    )
    return uvloop.run(running.run())


def start_ahead(pipeline: Pipeline, *, partition: int | None) -> None:
    """Starts the JVM of `run`, beside the imports that follow; does nothing when `run` needs none."""
    if partition is not None or pipeline.gather.processes == 1:
        standalone.start_small()
        standalone.start_ahead(None)


def _listening(pipeline: Pipeline, addresses: Mapping[str, str]) -> Pipeline:
    """The pipeline with other addresses of servers."""
    servers = tuple(
        each.model_copy(update={"listen": addresses.get(each.name, each.listen)}) for each in pipeline.servers
    )
    return pipeline.model_copy(update={"servers": servers})


class _Gathering:
    """The agent of this process, and what reloads and stops it."""

    def __init__(
        self,
        pipeline: Pipeline,
        file: str,
        partition: int | None,
        addresses: Mapping[str, str],
        *,
        supervised: bool,
        watch: bool,
    ) -> None:
        self._pipeline = pipeline
        self._file = file
        self._partition = partition or 0
        self._addresses = addresses
        self._supervised = supervised
        self._stop = asyncio.Event()
        #: Held by what changes the agent.
        self._changing = asyncio.Lock()
        self._telemetry: Any = None
        role = "gather" if partition is None else f"gather-{partition}"
        watched = (lambda: files_of(file, self._pipeline)) if watch else None
        self._control = Control(
            role, file, self._prepared, watched=watched, noted=self._noted, check=self._checked, others=self._others()
        )

    async def run(self) -> int:
        with _handled_signals(self._stop, self._control, supervised=self._supervised):
            await self._serve(self._pipeline, self._partition, self._stop)
        return 0

    def _noted(self, succeeded: bool) -> None:  # noqa: FBT001
        if self._telemetry is not None:
            self._telemetry.reloaded(succeeded)

    def _checked(self) -> Pipeline:
        """Loads the file. In the thread of the control."""
        return _gathered(self._file, self._pipeline, self._addresses)

    @contextlib.contextmanager
    def _prepared(self) -> Iterator[Callable[[], object]]:
        """Loads the file, and opens what is new. In the thread of the control."""
        change = self._on_loop(self._prepare(self._checked()))
        try:
            yield lambda: self._on_loop(self._commit(change))
        finally:
            self._on_loop(self._end(change))

    def _on_loop(self, work: Coroutine[Any, Any, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _others(self) -> dict[str, Callable[..., Any]]:
        """Requests about the queues, of which this process alone is the writer. In the thread of the control."""

        def last_sequence(pipe: str, producer: str) -> int | None:
            return self._agent.pipes[pipe].queue.last_sequence(producer)

        def push_once(pipe: str, producer: str, sequence: int, record: str) -> None:
            queue = self._agent.pipes[pipe].queue
            queue.push_once(producer, sequence, [base64.b64decode(record)], timeout=_ROOM_SECONDS, sync=True)

        return {"partition": lambda: self._partition, "last_sequence": last_sequence, "push_once": push_once}

    async def _prepare(self, pipeline: Pipeline) -> Change:
        await self._changing.acquire()
        try:
            if self._stop.is_set():
                raise ValueError("gather is stopping")
            return await self._agent.prepare(pipeline)
        except BaseException:
            self._changing.release()
            raise

    async def _commit(self, change: Change) -> None:
        await change.commit()
        self._pipeline = change.pipeline
        if self._telemetry is not None:
            self._telemetry.change(change.pipeline)

    async def _end(self, change: Change) -> None:
        try:
            await change.give_up()
        finally:
            self._changing.release()

    async def _serve(self, pipeline: Pipeline, partition: int, stop: asyncio.Event) -> None:
        self._loop = asyncio.get_running_loop()
        async with contextlib.AsyncExitStack() as stack:
            telemetry: Any = None
            if pipeline.telemetry is not None:
                from mmapqueue.pipeline.telemetry import GatherTelemetry

                self._telemetry = telemetry = GatherTelemetry(pipeline, partition)
                await telemetry.start()
                stack.push_async_callback(telemetry.stop)
            self._agent = agent = await stack.enter_async_context(Agent(pipeline, partition, telemetry))
            if telemetry is not None:
                telemetry.watch(agent)
                # Stops measuring before the agent closes its queues.
                stack.callback(telemetry.watch, None)
            stack.enter_context(self._control)
            if not stop.is_set():
                print(_ready(pipeline, agent, telemetry), flush=True)
            await _stopped(stop)
            # A reload that has begun ends first, and does not wait for other processes.
            self._control.give_up()
            await self._changing.acquire()
            connections = sum(each.connections for each in agent.servers.values())
            within = agent.pipeline.gather.stop_within.total_seconds()
            _LOG.info("stopping: %d connections are ended within gather.stop_within = %g s", connections, within)


def _gathered(file: str, running: Pipeline, addresses: Mapping[str, str]) -> Pipeline:
    """As `checked`, for a process that gathers."""
    pipeline = checked(file, running, addresses)
    if not any(pipe.receivers or pipe.fetchers for pipe in pipeline.pipes):
        raise ValueError(f"{file}: no pipe has receivers or fetchers; there is nothing to gather")
    return pipeline


def checked(file: str, running: Pipeline, addresses: Mapping[str, str] | None = None) -> Pipeline:
    """Loads a file to which a running process is to change.

    Raises:
        ConfigFileError: It is invalid.
        ValueError: Receivers do not fit their servers, or something has changed that only a restart changes.
    """
    pipeline = _listening(load(file), addresses or {})
    try:
        rehearse(pipeline)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error
    frozen = [f"{file}: {line}" for line in only_by_restart(running, pipeline)]
    if frozen:
        raise ValueError("\n".join(frozen))
    return pipeline


async def _stopped(stop: asyncio.Event) -> None:
    """Waits for the event.

    Raises:
        mmapqueue.MmapQueueError: The JVM with the queues has ended. A supervisor should restart this process.
    """
    while not stop.is_set():
        with contextlib.suppress(asyncio.TimeoutError):
            async with timeout(_JVM_LOOK_SECONDS):
                await stop.wait()
        if standalone.has_ended():
            raise mmapqueue.MmapQueueError("the JVM that has the queues has ended; nothing more can be stored")


def _ready(pipeline: Pipeline, agent: Agent, telemetry: Any) -> str:
    """The line that reports where events are taken, with the chosen ports in place of 0."""
    words = ["ready:"]
    for server in pipeline.servers:
        host = server.listen.rpartition(":")[0]
        words += [server.name, f"{host}:{agent.servers[server.name].port}"]
    if pipeline.telemetry is not None:
        words += ["telemetry", f"{pipeline.telemetry.listen.rpartition(':')[0]}:{telemetry.port}"]
    return " ".join(words)


@contextlib.contextmanager
def _handled_signals(stop: asyncio.Event, control: Control, *, supervised: bool) -> Iterator[None]:
    """Sets the event at the first signal that stops; a second one ends the process at once. Reloads by SIGHUP.

    A supervisor kills a process that is to end at once. So a further signal to a supervised one asks for the same stop:
    the supervisor stops what it restarts, it ends during a stop, or a service manager signals all processes.
    """
    loop = asyncio.get_running_loop()

    def handle(number: int) -> None:
        if not stop.is_set():
            stop.set()
            return
        if supervised:
            return
        sys.stderr.flush()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    handlers: dict[int, Callable[[], None]] = {each: partial(handle, each) for each in _signals.stopping()}
    handlers |= dict.fromkeys(_signals.reloading(), _signals.hangups(control.request, stop.set))
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    _signals.release_hangups()
    try:
        yield
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)
