"""Metrics of gathering."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from aiohttp import web
from prometheus_client import Metric
from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.registry import Collector

import mmapqueue
from mmapqueue._tools.pages import address, cannot_listen
from mmapqueue.pipeline._http import Connection, sign
from mmapqueue.pipeline._metrics import Counts, Pages, Reloads
from mmapqueue.pipeline._page import LivePage
from mmapqueue.pipeline.config import Pipeline

_LOG = logging.getLogger("mmapqueue.pipeline.telemetry")
_QUIET: dict[str, Any] = {"access_log": None}
#: Called with a status and a number of events.
_Count = Callable[[str, int], None]


class _Inbox(Protocol):
    @property
    def failure(self) -> str | None:
        """The error of the last push; None after a success."""


class _Pipe(Protocol):
    @property
    def pipe(self) -> str: ...
    @property
    def queue(self) -> mmapqueue.Queue: ...
    @property
    def inbox(self) -> _Inbox: ...


class _Server(Protocol):
    @property
    def protocol(self) -> str: ...
    @property
    def connections(self) -> int: ...


class Measured(Protocol):
    """A running agent: what is measured of it. The agent knows its telemetry, and not the other way round."""

    @property
    def pipes(self) -> Mapping[str, _Pipe]: ...
    @property
    def servers(self) -> Mapping[str, _Server]: ...


class GatherTelemetry:
    """Counts the events of one gather process, and serves the metrics. Belongs to one event loop.

    It serves `/` (as `mmapqueue top`), `/metrics`, `/health` (503 when a queue cannot be written) and `/ready` (503
    until `watch` was called with the agent, after its servers listen, and while pushes fail).

    Example:
        telemetry = GatherTelemetry(pipeline, partition)
        await telemetry.start()
        async with Agent(pipeline, partition, telemetry) as agent:
            telemetry.watch(agent)
            await stopped.wait()
            telemetry.watch(None)
        await telemetry.stop()

    Args:
        pipeline: The configuration. Nothing is served when its `telemetry` is None.
        partition: Number of this process, which listens on port + partition.
    """

    def __init__(self, pipeline: Pipeline, partition: int = 0) -> None:
        self._pipeline = pipeline
        self._partition = partition
        self._agent: Measured | None = None
        self._stopping = False
        self._runner: web.AppRunner | None = None
        self._listener: asyncio.Server | None = None
        self._page = LivePage(pipeline)
        self._pages = Pages(self._health, self._ready, self._page.answer)
        self._reloads = Reloads()
        self._received = Counts("gatherer_receive_count", "Events that receivers got.", ("pipe", "status"))
        self._fetched = Counts("gatherer_fetch_count", "Events that fetchers got.", ("pipe", "status"))
        self._refused = Counts(
            "server_refused_count", "Requests and connections that the server refused.", ("server", "reason")
        )
        for each in (self._received, self._fetched, self._refused, self._reloads, _Gauges(self)):
            self._pages.registry.register(each)

    def receive_count(self, pipe: str) -> _Count:
        """Returns the counter of a pipe's receivers: called with a status and a number of events."""
        return lambda status, number: self._received.add((pipe, status), number)

    def fetch_count(self, pipe: str) -> _Count:
        """Returns the counter of a pipe's fetchers: called with a status and a number of events."""
        return lambda status, number: self._fetched.add((pipe, status), number)

    def refused_count(self, server: str) -> Callable[[str], None]:
        """Returns the counter of what a server refuses before a receiver sees it: called with a reason."""
        return lambda reason: self._refused.add((server, reason), 1)

    def reloaded(self, succeeded: bool) -> None:  # noqa: FBT001
        """Counts a reload of the configuration."""
        self._reloads.add(succeeded=succeeded)

    def change(self, pipeline: Pipeline) -> None:
        """Shows the pipes of another configuration from now on."""
        self._page.change(pipeline)

    def watch(self, agent: Measured | None) -> None:
        """Measures the queues and servers of a running agent; None, before the agent closes them, to stop."""
        self._stopping = agent is None
        self._agent = agent

    @property
    def agent(self) -> Measured | None:
        """The agent that is watched."""
        return self._agent

    @property
    def partition(self) -> int:
        """Number of this process."""
        return self._partition

    async def start(self) -> None:
        """Listens. Does nothing when the pipeline has no `telemetry`.

        Raises:
            OSError: The address is in use, or not this machine's.
            ValueError: The port of this process is above 65535.
        """
        if self._pipeline.telemetry is None:
            return
        host, port = address("telemetry.listen", self._pipeline.telemetry.listen, self._partition)
        app = web.Application()
        app.router.add_get("/{path:.*}", self._answer)
        app.on_response_prepare.append(sign)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        server, loop = self._runner.server, asyncio.get_running_loop()
        assert server is not None
        try:
            self._listener = await loop.create_server(
                lambda: Connection(server, loop=loop, **_QUIET), host or None, port
            )
        except BaseException as error:
            await self.stop()
            if isinstance(error, OSError):
                raise cannot_listen(host, port, error, "telemetry.listen") from None
            raise
        _LOG.info("metrics at port %d", self.port)

    async def stop(self) -> None:
        """Stops listening."""
        runner, self._runner = self._runner, None
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()
        if runner is not None:
            await runner.cleanup()

    @property
    def port(self) -> int:
        """The port that it listens on.

        Raises:
            RuntimeError: It does not listen.
        """
        if self._listener is None:
            raise RuntimeError("the server of the telemetry was not started")
        return int(self._listener.sockets[0].getsockname()[1])

    async def _answer(self, request: web.Request) -> web.Response:
        # In a thread, as it queries and flushes queues.
        page = await asyncio.to_thread(self._pages.answer, request.path, ",".join(request.headers.getall("Accept", [])))
        return web.Response(status=page.status, body=page.body, headers={"Content-Type": page.content_type})

    def _health(self) -> str | None:
        agent = self._agent
        for pipe in list(agent.pipes.values()) if agent is not None else ():
            try:
                # Raises Poisoned after a failed write, and costs an fsync at most.
                pipe.queue.flush()
            except mmapqueue.MmapQueueError as error:
                if self._agent is agent:
                    return f"pipe {pipe.pipe}: {type(error).__name__}: {error}"
        return None

    def _ready(self) -> str | None:
        agent = self._agent
        if agent is None:
            return "gather is stopping" if self._stopping else "the receivers have not started yet"
        for pipe in list(agent.pipes.values()):
            failure = pipe.inbox.failure
            if failure is not None:
                return f"pipe {pipe.pipe}: events cannot be stored: {failure}"
        return None


class _Gauges(Collector):
    """Figures of queues and servers at the time of a scrape."""

    def __init__(self, telemetry: GatherTelemetry) -> None:
        self._telemetry = telemetry

    def collect(self) -> Iterator[Metric]:
        """As `prometheus_client.registry.Collector.collect`."""
        agent = self._telemetry.agent
        if agent is None:
            return
        servers = list(agent.servers.values())
        for protocol in ("grpc", "http"):
            connections = sum(each.connections for each in servers if each.protocol == protocol)
            name = f"{protocol}_server_connection_count"
            yield GaugeMetricFamily(name, f"Open connections of {protocol} servers.", value=connections)
        yield from _queue_metrics([(each.pipe, each.queue) for each in agent.pipes.values()], self._telemetry.partition)


def _queue_metrics(queues: list[tuple[str, mmapqueue.Queue]], partition: int) -> Iterator[Metric]:
    capacity = GaugeMetricFamily(
        "pipeline_queue_total_capacity", "Bytes that the queue of a pipe may hold.", labels=("pipeline",)
    )
    used = GaugeMetricFamily(
        "pipeline_queue_partition_size",
        "Bytes that are not acked by every consumer.",
        labels=("pipeline", "partition"),
    )
    families: dict[str, Metric] = {}
    for pipe, queue in queues:
        try:
            stats = queue.stats()
        except mmapqueue.MmapQueueError as error:
            _LOG.debug(
                "the statistics of pipe %s cannot be read: %s", pipe, error
            )  # It is closing; /health says what else it may be.
            continue
        capacity.add_metric((pipe,), stats.capacity)
        used.add_metric((pipe, str(partition)), stats.end_position - stats.low_watermark)
        labels = {"pipe": pipe, "partition": str(partition)}
        for family in mmapqueue.MetricsCollector(queue, labels=labels).collect():
            known = families.setdefault(family.name, family)
            if known is not family:
                known.samples += family.samples
    yield from (capacity, used, *families.values())
