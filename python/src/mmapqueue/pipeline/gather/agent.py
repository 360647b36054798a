"""The agent: opens the queues of a pipeline and runs its servers, receivers and fetchers on one event loop."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import mmapqueue
from mmapqueue.pipeline.config import Pipe, Pipeline, Server
from mmapqueue.pipeline.gather.inbox import Counted, CountedInbox, QueueInbox
from mmapqueue.pipeline.gather.restarts import keep_running
from mmapqueue.pipeline.plugins import Fetcher

if TYPE_CHECKING:
    from mmapqueue.pipeline.gather.grpc_server import GrpcServer
    from mmapqueue.pipeline.gather.http_server import HttpServer

_LOG = logging.getLogger("mmapqueue.pipeline")
#: Seconds to wait for a queue while its last owner is ending: it may have been killed just now.
_LOCK_TIMEOUT = 30.0


class ServerLookup:
    """The servers of a pipeline, as the receivers of a pipe use them.

    Attributes:
        pipe: Name of the pipe.
    """

    pipe: str
    _servers: "dict[str, GrpcServer | HttpServer]"

    def protocol(self, server: str) -> Literal["grpc", "http"]:
        """As `mmapqueue.pipeline.plugins.Host.protocol`."""
        return self._servers[server].protocol

    def grpc(self, name: str) -> "GrpcServer":
        """As `mmapqueue.pipeline.plugins.Host.grpc`."""
        server: GrpcServer = self._server(name, "grpc")
        return server

    def http(self, name: str) -> "HttpServer":
        """As `mmapqueue.pipeline.plugins.Host.http`."""
        server: HttpServer = self._server(name, "http")
        return server

    def _server(self, name: str, protocol: str) -> Any:
        server = self._servers[name]
        if server.protocol != protocol:
            raise ValueError(f"pipe {self.pipe}: server {name!r} has type {server.protocol}; expected {protocol}")
        return server


@dataclass
class PipeHost(ServerLookup):
    """One pipe of a running agent: the environment of its receivers and fetchers.

    Attributes:
        pipe: Name of the pipe.
        queue: The pipe's queue.
        inbox: The inbox of the queue.
        log: The pipe's logger.
        shared: Whether other processes of the pipeline listen on the same ports.
    """

    pipe: str
    queue: mmapqueue.Queue
    inbox: QueueInbox | CountedInbox
    log: logging.Logger
    shared: bool
    _servers: "dict[str, GrpcServer | HttpServer]"
    _counted: Counted

    def count(self, status: str, number: int) -> None:
        """As `mmapqueue.pipeline.plugins.Host.count`."""
        self._counted(status, number)


class Agent:
    """Gathers the events of one process. Belongs to the event loop that it is entered on.

    Example:
        async with Agent(pipeline):
            await stopped.wait()

    Attributes:
        pipes: The running pipes, by name.
        servers: The running servers, by name.
    """

    def __init__(self, pipeline: Pipeline, partition: int = 0, telemetry: Any = None) -> None:
        self.pipes: dict[str, PipeHost] = {}
        self.servers: dict[str, GrpcServer | HttpServer] = {}
        self._pipeline = pipeline
        self._partition = partition
        self._telemetry = telemetry
        self._inboxes: dict[str, QueueInbox] = {}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> "Agent":
        """Opens everything; receivers take events when it returns."""
        try:
            await self._open()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stops taking events, answers requests in flight, closes the queues."""
        await self._stack.aclose()

    async def _open(self) -> None:
        for server in self._pipeline.servers:
            count = self._telemetry.refused_count(server.name) if self._telemetry else None
            self.servers[server.name] = server_of(server, shared=self._pipeline.gather.processes > 1, refused=count)
        gathering = [pipe for pipe in self._pipeline.pipes if pipe.receivers or pipe.fetchers]
        for pipe in gathering:
            await self._open_pipe(pipe)
        # Stopped in reverse order: first the servers, so that events they have taken are still pushed.
        for pipe in gathering:
            for receiver in pipe.receivers:
                await receiver.start(self.pipes[pipe.name])
                self._stack.push_async_callback(receiver.stop)
        self._stack.push_async_callback(self._stop_servers)
        for running in self.servers.values():
            await running.start()
        # Only in one process: otherwise all would fetch the same.
        for pipe in gathering if self._partition == 0 else ():
            count = self._telemetry.fetch_count(pipe.name) if self._telemetry else _uncounted
            for position, fetcher in enumerate(pipe.fetchers):
                name = f"fetcher {fetcher.type} (fetchers[{position}])"
                fetching = _fetch(fetcher, name, self.pipes[pipe.name], self._inboxes[pipe.name], count)
                task = asyncio.create_task(fetching)
                self._stack.push_async_callback(_cancel, task)

    async def _stop_servers(self) -> None:
        seconds = self._pipeline.gather.stop_within.total_seconds()
        await asyncio.gather(*(each.stop(seconds) for each in self.servers.values()))

    async def _open_pipe(self, pipe: Pipe) -> None:
        directory = partition_directory(pipe.queue.dir, self._partition, self._pipeline.gather.processes)
        queue = await mmapqueue.aopen(directory, lock_timeout=_LOCK_TIMEOUT, **pipe.queue_keys())
        self._stack.push_async_callback(queue.aclose)
        count = self._telemetry.receive_count(pipe.name) if self._telemetry else _uncounted
        inbox = QueueInbox(queue, on_full=pipe.on_full, synced=pipe.ack == "synced", count=count)
        self._stack.push_async_callback(inbox.close)
        await inbox.ready()
        log = _LOG.getChild(pipe.name)
        shared = self._pipeline.gather.processes > 1
        host = PipeHost(pipe.name, queue, inbox, log, shared, self.servers, count)
        self.pipes[pipe.name] = host
        self._inboxes[pipe.name] = inbox


def _uncounted(_status: str, _number: int) -> None:
    pass


def partition_directory(directory: Path, partition: int, partitions: int) -> Path:
    """The directory of a process's partition of a queue, in the layout of the Spark source."""
    return directory if partitions == 1 else directory / f"p={partition}"


def server_of(settings: Server, *, shared: bool, refused: Callable[[str], None] | None = None) -> Any:
    """A server that is not started."""
    # Imported when needed, so that a pipeline that only fetches files starts without gRPC.
    if settings.type == "grpc":
        from mmapqueue.pipeline.gather.grpc_server import GrpcServer

        return GrpcServer(settings, shared=shared, refused=refused)
    from mmapqueue.pipeline.gather.http_server import HttpServer

    return HttpServer(settings, shared=shared, refused=refused)


async def _fetch(fetcher: Fetcher, name: str, host: PipeHost, inbox: QueueInbox, count: Counted) -> None:
    """Runs a fetcher in its pipe, with a counter of its own: its events do not count as received."""
    stored = 0

    def counted(status: str, number: int) -> None:
        nonlocal stored
        stored += number if status == "success" else 0
        count(status, number)

    own = replace(host, inbox=CountedInbox(inbox, counted), _counted=counted)
    await keep_running(fetcher, name, own, lambda: stored)


async def _cancel(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
