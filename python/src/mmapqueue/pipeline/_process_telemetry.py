"""Metrics of processing."""

from __future__ import annotations

import functools
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from prometheus_client import Histogram, Metric
from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.registry import Collector

from mmapqueue._tools.pages import address, serve
from mmapqueue.pipeline._metrics import Counts, Pages, Reloads
from mmapqueue.pipeline._page import LivePage
from mmapqueue.pipeline.config import Pipeline
from mmapqueue.pipeline.process.backlog import Lag, lags
from mmapqueue.pipeline.process.damage import damaged, dropped
from mmapqueue.pipeline.process.queues import opened
from mmapqueue.pipeline.process.too_large import too_large
from mmapqueue.pipeline.process.undecodable import undecodable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.listener import (
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )

_LOG = logging.getLogger("mmapqueue.pipeline.telemetry")
_SECONDS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)


class ProcessTelemetry:
    """Counts what the queries of a pipeline read and send, and serves the metrics. Safe for any number of threads.

    It serves `/` (as `mmapqueue top`), `/metrics`, `/health` (503 when the Spark session has stopped) and `/ready`
    (503 until a query of each sender runs, and while one makes no progress). The queries have the names
    `<pipe>.<sender>`.

    Example:
        with ProcessTelemetry(pipeline) as telemetry:
            telemetry.attach(spark)

    Args:
        pipeline: The configuration. Nothing is served when its `telemetry` is None.
        clock: Monotonic seconds.
    """

    def __init__(self, pipeline: Pipeline, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._page = LivePage(pipeline)
        #: Names of running queries, by their run id.
        self._running: dict[str, str] = {}
        #: The number of records that each of these was too late for, by run id.
        self._dropped: dict[str, int] = {}
        #: What keeps queries from going on, by name: an outage of the receiver, or the error of the last run.
        self._outages: dict[str, str] = {}
        self._failures: dict[str, str] = {}
        #: The time of the last progress of each query, by name.
        self._moved: dict[str, float] = {}
        #: Senders that count their output themselves.
        self._counting: set[tuple[str, str]] = set()
        self._types: dict[tuple[str, str], str] = {}
        self.change(pipeline)
        self._spark: SparkSession | None = None
        self._listener: Any = None
        self._server: ThreadingHTTPServer | None = None
        self._pages = Pages(self._health, self._ready, self._page.answer)
        registry = self._pages.registry
        self._read = Counts("queue_output_count", "Events that senders have read from queues.", ("pipe", "status"))
        self._sent = Counts("sender_output_count", "Events and rows that were sent.", ("pipe", "status", "type"))
        registry.register(self._read)
        registry.register(self._sent)
        self._reloads = Reloads()
        registry.register(self._reloads)
        of_sender = ("pipe", "sender")
        registry.register(_Lags(self))
        self._seconds = Histogram(
            "sender_batch_seconds", "Duration of micro-batches.", of_sender, registry=registry, buckets=_SECONDS
        )

    def change(self, pipeline: Pipeline) -> None:
        """Measures the queries of another configuration from now on."""
        queries = {f"{pipe.name}.{name}": (pipe.name, name) for pipe in pipeline.pipes for name in pipe.consumers()}
        types = {(pipe.name, each.name): each.type for pipe in pipeline.pipes for each in pipe.senders}
        with self._lock:
            # A sender that is gone neither fails nor waits any more; one of another type may count in another way.
            noted: tuple[dict[str, Any], ...] = (self._outages, self._failures, self._moved)
            for each in noted:
                for name in each.keys() - queries.keys():
                    del each[name]
            self._counting = {name for name in self._counting if types.get(name) == self._types.get(name)}
            self._queries, self._types = queries, types
        self._pipeline = pipeline
        self._page.change(pipeline)
        #: The status of rows that a sender can never write, by pipe.
        self._refused = {
            pipe.name: "dead_letter" if pipe.on_undecodable == "dead_letter" else "dropped" for pipe in pipeline.pipes
        }
        self._checkpoints = {
            f"{pipe}.{name}": each.checkpoint(name)
            for pipe, name in self._queries.values()
            for each in pipeline.pipes
            if each.name == pipe
        }
        self._wanted = {f"{pipe.name}.{each.name}" for pipe in pipeline.pipes for each in pipe.senders}

    # ---- counting

    def sender_output(self, pipe: str, sender: str, status: str, count: int) -> None:
        """Counts the output of a sender. From the first call on, the rows of its query are not counted as well.

        Args:
            pipe: Name of the pipe.
            sender: Name of the sender; the label `type`.
            status: The outcome, for instance "success" or "failure".
            count: Number of events or rows.
        """
        with self._lock:
            self._counting.add((pipe, sender))
        self._move(f"{pipe}.{sender}")
        self._sent.add((pipe, status, sender), count)

    def sender_waiting(self, pipe: str, sender: str, reason: str | None) -> None:
        """Notes what keeps a sender from going on; None when nothing does."""
        name = f"{pipe}.{sender}"
        with self._lock:
            if reason is None or name not in self._queries:
                self._outages.pop(name, None)
            else:
                self._outages[name] = reason

    def _move(self, query: str) -> None:
        with self._lock:
            self._moved[query] = self._clock()
            self._failures.pop(query, None)

    def reloaded(self, succeeded: bool) -> None:  # noqa: FBT001
        """Counts a reload of the configuration."""
        self._reloads.add(succeeded=succeeded)

    def attach(self, spark: SparkSession) -> None:
        """Adds a listener for queries that start later in a session."""
        self.detach()
        self._spark, self._listener = spark, _listener(self)
        spark.streams.addListener(self._listener)

    def detach(self) -> None:
        """Removes the listener. Idempotent."""
        spark, self._spark = self._spark, None
        if spark is not None:
            spark.streams.removeListener(self._listener)

    def started(self, event: QueryStartedEvent) -> None:
        """Notes that a query has started."""
        if event.name in self._queries:
            with self._lock:
                self._running[str(event.runId)] = str(event.name)
                self._moved.setdefault(str(event.name), self._clock())

    def progressed(self, event: QueryProgressEvent) -> None:
        """Counts a micro-batch of a query whose start was noted.

        Spark reports late: a listener gets micro-batches of queries that ended before it was added.
        """
        progress: dict[str, Any] = json.loads(event.progress.json)
        known = self._queries.get(progress["name"] or "")
        with self._lock:
            if known is None or progress["runId"] not in self._running:
                return
        pipe, sender = known
        records = sum(each["numInputRows"] for each in progress["sources"])
        self._move(progress["name"])
        if records:
            self._read.add((pipe, "success"), records)
            # Spark 3.5 has no batchDuration.
            millis = progress.get("batchDuration", progress.get("durationMs", {}).get("triggerExecution", 0))
            self._seconds.labels(pipe, sender).observe(millis / 1000)
            with self._lock:
                counts = (pipe, sender) not in self._counting
            if counts:
                rows = progress["sink"].get("numOutputRows", -1)
                self._sent.add((pipe, "success", sender), rows if rows >= 0 else records)
        gone = self._dropped_since(progress)
        if gone:
            self._sent.add((pipe, "dropped", sender), gone)
        lost = damaged(progress, self._checkpoints[progress["name"]]) - gone
        if lost > 0:
            self._sent.add((pipe, "damaged", sender), lost)
        larger = too_large(progress)
        if larger:
            self._sent.add((pipe, self._refused[pipe], sender), larger)
        found = undecodable(progress)
        if found is not None:
            self._sent.add((pipe, "undecodable", sender), found.records)
        # By filters such as `dedupe`, for which rows come too late.
        late = sum(each.get("numRowsDroppedByWatermark", 0) for each in progress.get("stateOperators", ()))
        if late:
            self._sent.add((pipe, "dropped", sender), late)

    def _dropped_since(self, progress: dict[str, Any]) -> int:
        """The number of records that were found dropped since the progress before."""
        total = dropped(progress)
        with self._lock:
            before = self._dropped.get(progress["runId"], 0)
            self._dropped[progress["runId"]] = total
        return max(0, total - before)

    def terminated(self, event: QueryTerminatedEvent) -> None:
        """Notes that a query has ended, and counts a failure."""
        with self._lock:
            name = self._running.pop(str(event.runId), "")
            self._dropped.pop(str(event.runId), None)
            self._outages.pop(name, None)
            known = self._queries.get(name)
            if known is None or event.exception is None:
                return
            self._failures[name] = str(event.exception).partition("\n")[0]
        self._read.add((known[0], "failure"), 1)

    # ---- serving

    def start(self) -> None:
        """Listens, on the first port that no gather process uses. Does nothing without `telemetry`.

        Raises:
            OSError: The address is in use, or not this machine's.
            ValueError: The port is above 65535.
        """
        if self._pipeline.telemetry is None:
            return
        host, port = address("telemetry.listen", self._pipeline.telemetry.listen, self._pipeline.gather.processes)
        self._server = serve("pipeline.telemetry", host, port, self._pages.answer, "telemetry.listen")
        _LOG.info("metrics at port %d", self.port)

    def stop(self) -> None:
        """Stops listening."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()

    @property
    def port(self) -> int:
        """The port that it listens on.

        Raises:
            RuntimeError: It does not listen.
        """
        if self._server is None:
            raise RuntimeError("the server of the telemetry was not started")
        return int(self._server.server_address[1])

    def __enter__(self) -> ProcessTelemetry:
        """Starts it."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stops it."""
        self.stop()

    def _health(self) -> str | None:
        if self._spark is None:
            return None
        try:
            stopped = bool(self._spark.sparkContext._jsc.sc().isStopped())
        except Exception as error:
            return f"the Spark session does not answer: {type(error).__name__}"
        return "the Spark session has stopped" if stopped else None

    def _ready(self) -> str | None:
        with self._lock:
            missing = self._wanted - set(self._running.values())
            stopped = {**self._failures, **self._still(), **self._outages}
            outages = dict(self._outages)
        if stopped.keys() - outages.keys():
            behind = {f"{pipe}.{sender}": lag.records for (pipe, sender), lag in self.lags().items()}
            for name in stopped.keys() - outages.keys():
                # Without records that wait there is nothing to do.
                if behind.get(name) == 0:
                    self._move(name)
                    del stopped[name]
        problems = [f"queries that are not running: {', '.join(sorted(missing))}"] if missing else []
        problems += [f"{name}: {' '.join(reason.split())}" for name, reason in sorted(stopped.items())]
        return "\n".join(problems) or None

    def _still(self) -> dict[str, str]:
        """The queries without progress for `stalled_after`."""
        after = self._pipeline.telemetry.stalled_after.total_seconds() if self._pipeline.telemetry else 0.0
        since = {name: self._clock() - moved for name, moved in self._moved.items() if name in self._wanted}
        words = "no progress for {:.0f} s while records wait"
        return {name: words.format(seconds) for name, seconds in since.items() if seconds > after}

    def lags(self) -> dict[tuple[str, str], Lag]:
        """The lags of the queries, by pipe and sender; empty before a session is attached."""
        spark = self._spark
        if spark is None:
            return {}
        open_queue = functools.partial(opened, spark)
        return {
            (pipe.name, name): lag
            for pipe in self._pipeline.pipes
            if pipe.senders
            for name, lag in lags(pipe, open_queue).items()
        }


class _Lags(Collector):
    """Lags of senders at the time of a scrape."""

    def __init__(self, telemetry: ProcessTelemetry) -> None:
        self._telemetry = telemetry

    def collect(self) -> Iterator[Metric]:
        """As `prometheus_client.registry.Collector.collect`."""
        labels = ("pipe", "sender")
        records = GaugeMetricFamily("sender_lag_records", "Lag of the slowest partition, in records.", labels=labels)
        size = GaugeMetricFamily("sender_lag_bytes", "Lag, in bytes.", labels=labels)
        seconds = GaugeMetricFamily("sender_lag_seconds", "Age of the oldest unread record.", labels=labels)
        for sender, lag in sorted(self._telemetry.lags().items()):
            records.add_metric(sender, lag.records)
            size.add_metric(sender, lag.bytes)
            seconds.add_metric(sender, lag.seconds)
        yield from (records, size, seconds)


def _listener(telemetry: ProcessTelemetry) -> Any:
    from mmapqueue.pipeline.process.listening import JsonListener

    class Listener(JsonListener):
        """Passes events on. Spark would only log exceptions of this listener."""

        def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
            telemetry.started(event)

        def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
            telemetry.progressed(event)

        def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
            telemetry.terminated(event)

    return Listener()
