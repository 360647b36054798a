"""`mmapqueue gather`: one agent in this process, or several in processes of their own."""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

import uvloop

import mmapqueue
from mmapqueue._jvm import standalone
from mmapqueue.pipeline import _signals
from mmapqueue.pipeline._timeout import timeout
from mmapqueue.pipeline.config import Pipeline
from mmapqueue.pipeline.gather.agent import Agent
from mmapqueue.pipeline.gather.supervisor import end_with, run_partitions

_LOG = logging.getLogger("mmapqueue.pipeline.gather")
#: Seconds between two checks of the JVM.
_JVM_LOOK_SECONDS = 0.5


def run(
    pipeline: Pipeline,
    *,
    file: str,
    partition: int | None = None,
    listen: dict[str, str] | None = None,
    parent: int | None = None,
    log_level: str = "info",
) -> int:
    """Gathers until SIGTERM, SIGINT or SIGHUP.

    Prints `ready: SERVER HOST:PORT …` on stdout when events are taken. Belongs to the main thread: it handles signals.

    Args:
        pipeline: The configuration.
        file: The configuration's file, for child processes.
        partition: The number of this process of several; None runs all of them.
        listen: Addresses of servers, which replace those of the configuration.
        parent: Process id of the parent; this process ends with it.
        log_level: The log level of child processes.

    Returns:
        The exit status.

    Raises:
        mmapqueue.MmapQueueError: A queue cannot be opened, or the JVM that has the queues has ended.
        OSError: An address cannot be listened on.
    """
    if parent is not None:
        end_with(parent)
    if partition is None and pipeline.gather.processes > 1:
        return run_partitions(pipeline, file, log_level=log_level)
    standalone.start_small()
    if listen:
        servers = tuple(
            each.model_copy(update={"listen": listen.get(each.name, each.listen)}) for each in pipeline.servers
        )
        pipeline = pipeline.model_copy(update={"servers": servers})
    return uvloop.run(_gather(pipeline, partition or 0))


async def _gather(pipeline: Pipeline, partition: int) -> int:
    stop = asyncio.Event()
    with _stopped_by_signals(stop):
        await _serve(pipeline, partition, stop)
    return 0


async def _serve(pipeline: Pipeline, partition: int, stop: asyncio.Event) -> None:
    async with contextlib.AsyncExitStack() as stack:
        telemetry: Any = None
        if pipeline.telemetry is not None:
            from mmapqueue.pipeline.telemetry import GatherTelemetry

            telemetry = GatherTelemetry(pipeline, partition)
            await telemetry.start()
            stack.push_async_callback(telemetry.stop)
        agent = await stack.enter_async_context(Agent(pipeline, partition, telemetry))
        if telemetry is not None:
            telemetry.watch(agent)
            # Stops measuring before the agent closes its queues.
            stack.callback(telemetry.watch, None)
        if not stop.is_set():
            print(_ready(pipeline, agent, telemetry), flush=True)
        await _stopped(stop)
        connections = sum(each.connections for each in agent.servers.values())
        within = pipeline.gather.stop_within.total_seconds()
        _LOG.info("stopping: %d connections are ended within gather.stop_within = %g s", connections, within)


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
def _stopped_by_signals(stop: asyncio.Event) -> Iterator[None]:
    """Sets the event at the first signal; a second one ends the process at once."""
    loop = asyncio.get_running_loop()
    numbers = _signals.stopping()

    def handle(number: int) -> None:
        if not stop.is_set():
            stop.set()
            return
        if not _signals.repeats(number):
            return
        sys.stderr.flush()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    for number in numbers:
        loop.add_signal_handler(number, handle, number)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
