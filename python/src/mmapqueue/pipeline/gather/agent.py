"""The agent: opens the queues of a pipeline and runs its servers, receivers and fetchers on one event loop."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import mmapqueue
from mmapqueue.pipeline._partitions import own_partition
from mmapqueue.pipeline.config import Pipe, Pipeline, Server, value_of
from mmapqueue.pipeline.gather.inbox import Counted, CountedInbox, QueueInbox
from mmapqueue.pipeline.gather.request_keys import RequestKeys
from mmapqueue.pipeline.gather.restarts import keep_running
from mmapqueue.pipeline.plugins import Fetcher, Receiver

if TYPE_CHECKING:
    from mmapqueue.pipeline.gather.grpc_server import GrpcServer, GrpcTable
    from mmapqueue.pipeline.gather.http_server import HttpServer, HttpTable

_LOG = logging.getLogger("mmapqueue.pipeline")
#: Seconds to wait for a queue while its last owner is ending: it may have been killed just now.
_LOCK_TIMEOUT = 30.0


class ServerLookup:
    """The servers of a pipeline, as one receiver uses them: what it registers takes effect when the agent publishes it.

    Attributes:
        pipe: Name of the pipe.
    """

    pipe: str
    _servers: "Mapping[str, GrpcServer | HttpServer]"
    #: What is registered with each server.
    _tables: "dict[str, GrpcTable | HttpTable]"

    def protocol(self, server: str) -> Literal["grpc", "http"]:
        """As `mmapqueue.pipeline.plugins.Host.protocol`."""
        return self._servers[server].protocol

    def grpc(self, name: str) -> "GrpcTable":
        """As `mmapqueue.pipeline.plugins.Host.grpc`."""
        table: GrpcTable = self._table(name, "grpc")
        return table

    def http(self, name: str) -> "HttpTable":
        """As `mmapqueue.pipeline.plugins.Host.http`."""
        table: HttpTable = self._table(name, "http")
        return table

    def _table(self, name: str, protocol: str) -> Any:
        server = self._servers[name]
        if server.protocol != protocol:
            raise ValueError(f"pipe {self.pipe}: server {name!r} has type {server.protocol}; expected {protocol}")
        return self._tables.setdefault(name, server.new_table())


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
    _counted: Counted
    _servers: "Mapping[str, GrpcServer | HttpServer]" = field(default_factory=dict)
    _tables: "dict[str, GrpcTable | HttpTable]" = field(default_factory=dict)

    def count(self, status: str, number: int) -> None:
        """As `mmapqueue.pipeline.plugins.Host.count`."""
        self._counted(status, number)


@dataclass
class _Server:
    """A server, with the value by which a reload finds out whether it has changed."""

    settings: Server
    value: Any
    running: Any


@dataclass
class _Receiver:
    pipe: str
    value: Any
    plugin: Receiver
    host: PipeHost


@dataclass
class _Fetcher:
    pipe: str
    value: Any
    plugin: Fetcher
    name: str
    task: "asyncio.Task[None] | None" = None


class Change:
    """What is opened for another configuration. It is committed or given up once.

    Attributes:
        pipeline: That configuration.
    """

    def __init__(
        self, pipeline: Pipeline, publish: "Callable[[], Coroutine[Any, Any, None]]", undo: AsyncExitStack
    ) -> None:
        self.pipeline = pipeline
        self._publish = publish
        self._undo = undo

    async def commit(self) -> None:
        """Runs the configuration. Returns when what has left it has ended."""
        self._undo.pop_all()
        await self._publish()

    async def give_up(self) -> None:
        """Closes what was opened; does nothing after a commit.

        Raises:
            OSError: A receiver that was stopped cannot listen again.
        """
        await self._undo.aclose()


class Agent:
    """Gathers the events of one process. Belongs to the event loop that it is entered on.

    Example:
        async with Agent(pipeline) as agent:
            await agent.change(load("shop.yaml"))
            await stopped.wait()

    Attributes:
        pipes: The running pipes, by name.
        servers: The running servers, by name.
    """

    def __init__(self, pipeline: Pipeline, partition: int = 0, telemetry: Any = None) -> None:
        self.pipes: dict[str, PipeHost] = {}
        self.servers: dict[str, GrpcServer | HttpServer] = {}
        self.pipeline = pipeline
        self._partition = partition
        self._telemetry = telemetry
        self._inboxes: dict[str, QueueInbox] = {}
        self._servers: dict[str, _Server] = {}
        self._receivers: list[_Receiver] = []
        self._fetchers: list[_Fetcher] = []

    async def __aenter__(self) -> "Agent":
        """Opens everything; receivers take events when it returns."""
        await self.change(self.pipeline)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stops taking events, answers requests in flight, closes the queues."""
        servers, receivers, fetchers = list(self._servers.values()), self._receivers, self._fetchers
        self._servers, self._receivers, self._fetchers = {}, [], []
        pipes = list(self.pipes)
        await self._retire(servers, receivers, fetchers, pipes, self.pipeline.gather.stop_within.total_seconds())

    async def change(self, pipeline: Pipeline) -> None:
        """Runs another configuration: starts what is new, stops what is gone, replaces what is different.

        Raises as `prepare`, and nothing has changed.
        """
        await (await self.prepare(pipeline)).commit()

    async def prepare(self, pipeline: Pipeline) -> "Change":
        """Opens what another configuration has and this one has not. Nothing else may change until the change ends.

        A part whose value is equal goes on untouched. What is new is opened first; when that fails, all is as before.
        A server that is different is opened beside the old one, whose clients leave as at a stop. A receiver with a
        socket of its own, whose address another one has, starts after that one was stopped.

        Raises:
            mmapqueue.MmapQueueError: A queue cannot be opened.
            OSError: An address cannot be listened on.
            ValueError: Receivers do not fit their servers or their queue, or a file of TLS is wrong.
        """
        gathering = {pipe.name: pipe for pipe in pipeline.pipes if pipe.receivers or pipe.fetchers}
        hosts, inboxes = dict(self.pipes), dict(self._inboxes)
        async with AsyncExitStack() as undo:
            for name, pipe in gathering.items():
                if name not in hosts:
                    hosts[name], inboxes[name] = await self._open_pipe(pipe, pipeline, undo)
            servers = self._chosen(pipeline)
            receivers, new, leaving = self._matched(gathering, hosts, servers)
            leaving = await _start_receivers(new, leaving, undo)
            tables = {name: each.running.new_table() for name, each in servers.items()}
            for receiver in receivers:
                for name, table in receiver.host._tables.items():
                    tables[name].add(table)
            within = self.pipeline.gather.stop_within.total_seconds()
            for name, server in servers.items():
                await _start_server(server, self._servers.get(name), tables[name], within, undo)
            publish = partial(self._publish, pipeline, gathering, hosts, inboxes, servers, tables, receivers, leaving)
            return Change(pipeline, publish, undo.pop_all())

    async def _publish(
        self,
        pipeline: Pipeline,
        gathering: Mapping[str, Pipe],
        hosts: dict[str, PipeHost],
        inboxes: dict[str, QueueInbox],
        servers: dict[str, _Server],
        tables: Mapping[str, Any],
        receivers: list[_Receiver],
        leaving: list[_Receiver],
    ) -> None:
        """Runs what was prepared, and stops what has left. Nothing of it fails."""
        old_servers = self._servers
        for name, server in servers.items():
            server.running.table = tables[name]
            server.running.authorize(server.settings.bearer_token)
        self.servers = {name: each.running for name, each in servers.items()}
        self._servers, self._receivers, self.pipeline = servers, receivers, pipeline
        closed = [name for name in self.pipes if name not in gathering]
        leaving_fetchers, new_fetchers = self._changed_fetchers(gathering)
        running = {id(each.running) for each in servers.values()}
        for name, pipe in gathering.items():
            inboxes[name].change(on_full=pipe.on_full, synced=pipe.ack == "synced", most_keys=pipe.idempotency_keys)
        self.pipes, self._inboxes = hosts, inboxes
        try:
            await self._retire(
                [each for each in old_servers.values() if id(each.running) not in running],
                leaving,
                leaving_fetchers,
                closed,
                pipeline.gather.stop_within.total_seconds(),
            )
        except Exception:  # A plugin may raise anything. The new configuration runs.
            _LOG.exception("a part that has left the configuration does not end in order")
        for fetcher in new_fetchers:
            self._start_fetcher(fetcher)

    def _chosen(self, pipeline: Pipeline) -> dict[str, _Server]:
        """The servers of a configuration: those that run with equal settings, and others that are not started."""
        chosen = {}
        for settings in pipeline.servers:
            old = self._servers.get(settings.name)
            value = value_of(settings.model_copy(update={"bearer_token": None}))
            if old is not None and old.value == value:
                chosen[settings.name] = _Server(settings, value, old.running)
                continue
            count = self._telemetry.refused_count(settings.name) if self._telemetry else None
            server = server_of(settings, shared=pipeline.gather.processes > 1, refused=count)
            chosen[settings.name] = _Server(settings, value, server)
        return chosen

    def _matched(
        self, gathering: Mapping[str, Pipe], hosts: Mapping[str, PipeHost], servers: Mapping[str, _Server]
    ) -> tuple[list[_Receiver], list[_Receiver], list[_Receiver]]:
        """All receivers of a configuration; those of them that are not started; those that run and are not in it."""
        lookup = {name: each.running for name, each in servers.items()}
        protocols = {name: each.running.protocol for name, each in self._servers.items()}
        receivers, new, leaving = [], [], list(self._receivers)
        for name, pipe in gathering.items():
            for plugin in pipe.receivers:
                value = value_of(plugin)
                server = getattr(plugin, "server", None)
                same = server is None or server not in lookup or protocols.get(server) == lookup[server].protocol
                kept = next((each for each in leaving if same and (each.pipe, each.value) == (name, value)), None)
                if kept is not None:
                    leaving.remove(kept)
                    receivers.append(kept)
                    continue
                host = replace(hosts[name], _servers=lookup, _tables={})
                receivers.append(_Receiver(name, value, plugin, host))
                new.append(receivers[-1])
        return receivers, new, leaving

    def _changed_fetchers(self, gathering: Mapping[str, Pipe]) -> tuple[list[_Fetcher], list[_Fetcher]]:
        """Fetchers that run and are not in a configuration; those that are new. Keeps the others."""
        kept, new, leaving = [], [], list(self._fetchers)
        # Only in one process: otherwise all would fetch the same.
        for name, pipe in gathering.items() if self._partition == 0 else ():
            for position, plugin in enumerate(pipe.fetchers):
                value = value_of(plugin)
                old = next((each for each in leaving if (each.pipe, each.value) == (name, value)), None)
                if old is not None:
                    leaving.remove(old)
                    kept.append(old)
                else:
                    new.append(_Fetcher(name, value, plugin, f"fetcher {plugin.type} (fetchers[{position}])"))
        self._fetchers = kept
        return leaving, new

    def _start_fetcher(self, fetcher: _Fetcher) -> None:
        count = self._telemetry.fetch_count(fetcher.pipe) if self._telemetry else _uncounted
        host, inbox = self.pipes[fetcher.pipe], self._inboxes[fetcher.pipe]
        fetcher.task = asyncio.create_task(_fetch(fetcher.plugin, fetcher.name, host, inbox, count))
        self._fetchers.append(fetcher)

    async def _retire(
        self,
        servers: list[_Server],
        receivers: list[_Receiver],
        fetchers: list[_Fetcher],
        pipes: list[str],
        seconds: float,
    ) -> None:
        """Stops parts: fetchers and servers, so that events they have taken are still pushed, and the queues last."""
        async with AsyncExitStack() as stack:
            for name in pipes:
                stack.push_async_callback(self._close_pipe, name)
            # At once: the queue may be full, and each of them waits for some seconds then.
            stack.push_async_callback(_all, [each.plugin.stop() for each in receivers])
            # Fetchers beside them: one may wait for a file system.
            cancelled = [_cancel(each.task) for each in fetchers if each.task is not None]
            stack.push_async_callback(_all, [*cancelled, *[each.running.stop(seconds) for each in servers]])

    async def _close_pipe(self, name: str) -> None:
        host, inbox = self.pipes.pop(name), self._inboxes.pop(name)
        await inbox.close()
        await host.queue.aclose()

    async def _open_pipe(self, pipe: Pipe, pipeline: Pipeline, undo: AsyncExitStack) -> tuple[PipeHost, QueueInbox]:
        directory = own_partition(pipe.queue.dir, self._partition, pipeline.gather.processes)
        queue = await mmapqueue.aopen(directory, lock_timeout=_LOCK_TIMEOUT, **pipe.queue_keys())
        undo.push_async_callback(queue.aclose)
        if pipe.on_full == "overflow":
            await asyncio.to_thread(_create_consumers, queue, pipe)
        count = self._telemetry.receive_count(pipe.name) if self._telemetry else _uncounted
        keys = RequestKeys(pipe.keys_directory, queue, partition=self._partition, most=pipe.idempotency_keys)
        synced = pipe.ack == "synced"
        inbox = QueueInbox(queue, pipe=pipe.name, on_full=pipe.on_full, synced=synced, keys=keys, count=count)
        undo.push_async_callback(inbox.close)
        await inbox.ready()
        log = _LOG.getChild(pipe.name)
        return PipeHost(pipe.name, queue, inbox, log, pipeline.gather.processes > 1, count), inbox


async def _start_receivers(
    new: "list[_Receiver]", leaving: "list[_Receiver]", undo: AsyncExitStack
) -> "list[_Receiver]":
    """Starts receivers; returns those of the leaving ones that run on.

    The others had an address that a new one needs: they are stopped side by side, after what needs none of them.
    """
    wanted = {address for each in new for address in each.plugin.listens}
    freed = [each for each in leaving if not wanted.isdisjoint(each.plugin.listens)]
    taken = {address for each in freed for address in each.plugin.listens}
    for after in (False, True):
        if after:
            for each in freed:
                undo.push_async_callback(each.plugin.start, each.host)
            await _all([each.plugin.stop() for each in freed])
        for each in new:
            if taken.isdisjoint(each.plugin.listens) is not after:
                undo.push_async_callback(each.plugin.stop)
                await each.plugin.start(each.host)
    return [each for each in leaving if each not in freed]


async def _start_server(server: _Server, old: _Server | None, table: Any, within: float, undo: AsyncExitStack) -> None:
    """Starts a server that does not run yet; its clients have so many seconds to leave when that is undone."""
    running = server.running
    if old is not None and old.running is running:
        return
    running.table = table
    beside = None
    if old is not None and (old.settings.type, old.settings.listen) == (server.settings.type, server.settings.listen):
        beside = old.running
        # The sockets are those of the old one, which goes on when this is undone.
        running.replaced = True
    undo.push_async_callback(running.stop, within)
    await running.start(beside)
    if beside is not None:
        running.replaced = False
        beside.replaced = True

        def undone() -> None:
            running.replaced, beside.replaced = True, False

        undo.callback(undone)


def _create_consumers(queue: mmapqueue.Queue, pipe: Pipe) -> None:
    """Creates the consumers of the pipe's senders: otherwise they would begin after what the ring has given up."""
    for name in pipe.consumers():
        queue.create_consumer(name)


async def _all(stops: "list[Coroutine[Any, Any, None]]") -> None:
    """Waits for all stops, also when some fail; then raises what the first of these has raised."""
    for each in await asyncio.gather(*stops, return_exceptions=True):
        if isinstance(each, BaseException):
            raise each


def _uncounted(_status: str, _number: int) -> None:
    pass


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
