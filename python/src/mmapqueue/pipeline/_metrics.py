"""Serving of metrics for both halves of a pipeline: counters with exact names, and the pages of a process."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence

from prometheus_client import CollectorRegistry, Metric, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import GaugeMetricFamily, UnknownMetricFamily
from prometheus_client.registry import Collector

from mmapqueue._tools.pages import TEXT, Page


class Counts(Collector):
    """A counter with samples of exactly its name. Thread-safe.

    prometheus-client's Counter appends _total, which Satellite's names do not have. So these have the type unknown, on
    which `rate()` works as on a counter.

    Example:
        >>> received = Counts("gatherer_receive_count", "Events received.", ("pipe", "status"))
        >>> received.add(("logs", "success"), 3)
    """

    def __init__(self, name: str, documentation: str, labels: Sequence[str]) -> None:
        self._name = name
        self._documentation = documentation
        self._labels = tuple(labels)
        self._values: dict[tuple[str, ...], int] = {}
        self._lock = threading.Lock()

    def add(self, labels: tuple[str, ...], number: int) -> None:
        """Adds to the value of some labels."""
        with self._lock:
            self._values[labels] = self._values.get(labels, 0) + number

    def collect(self) -> Iterator[Metric]:
        """As `prometheus_client.registry.Collector.collect`."""
        metric = UnknownMetricFamily(self._name, self._documentation, labels=self._labels)
        with self._lock:
            values = sorted(self._values.items())
        for labels, value in values:
            metric.add_metric(labels, value)
        yield metric


class Reloads(Collector):
    """Counts reloads of the configuration. Thread-safe."""

    def __init__(self) -> None:
        self._counts = Counts("config_reload_count", "Reloads of the configuration.", ("status",))
        self._succeeded = time.time()
        for status in ("success", "fail"):
            self._counts.add((status,), 0)

    def add(self, *, succeeded: bool) -> None:
        """Counts a reload."""
        self._counts.add(("success" if succeeded else "fail",), 1)
        if succeeded:
            self._succeeded = time.time()

    def collect(self) -> Iterator[Metric]:
        """As `prometheus_client.registry.Collector.collect`."""
        yield from self._counts.collect()
        yield GaugeMetricFamily(
            "config_last_success_timestamp_seconds",
            "When the running configuration was loaded, in seconds since 1970.",
            value=self._succeeded,
        )


#: Returns the fault, None for none.
Check = Callable[[], str | None]


class Pages:
    """The pages of a process. Safe for any number of threads.

    Args:
        health: The fault of `/health`.
        ready: The fault of `/ready`.
        overview: Makes the page `/`, for people.

    Attributes:
        registry: The registry of the metrics.
    """

    def __init__(self, health: Check, ready: Check, overview: Callable[[], Page]) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(ProcessCollector(registry=None))
        self._checks = {"/health": health, "/ready": ready}
        self._overview = overview

    def answer(self, path: str, accept: str) -> Page:
        """The answer to GET.

        Args:
            path: Path of the request, without its query.
            accept: Its header Accept: the OpenMetrics format when that is asked for, else Prometheus' text format.

        Returns:
            The page: 200 or 503 for /health and /ready, 404 for an unknown path.
        """
        if path == "/metrics":
            encode, content_type = choose_encoder(accept)
            return Page(200, content_type, encode(self.registry))
        if path == "/":
            return self._overview()
        check = self._checks.get(path)
        if check is None:
            return Page(404, TEXT, b"there are /, /metrics, /health and /ready\n")
        problem = check()
        if problem is None:
            return Page(200, TEXT, b"ok\n")
        return Page(503, TEXT, problem.encode() + b"\n")
