"""Metrics of queues for prometheus-client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mmapqueue._queue.queue import Queue
from mmapqueue._values.errors import MmapQueueError
from mmapqueue._values.prometheus import merged


class MetricsCollector:
    """Provides the metrics of queues to prometheus-client; each scrape queries the queues.

    A closed queue has no metrics. Needs the extra `metrics`. Safe for any number of threads.

    Args:
        queues: The queues.
        labels: Labels that each sample gets besides `queue` and `consumer`.

    Example:
        >>> from prometheus_client import REGISTRY, start_http_server
        >>> REGISTRY.register(mmapqueue.MetricsCollector(queue))
        >>> server, thread = start_http_server(0, "127.0.0.1")
        >>> server.shutdown()
        >>> server.server_close()
    """

    def __init__(self, *queues: Queue[Any], labels: Mapping[str, str] | None = None) -> None:
        self._queues = queues
        self._labels = dict(labels or {})

    def collect(self) -> Iterator[Any]:
        """The metrics now, as objects `Metric` of prometheus-client.

        Raises:
            ImportError: prometheus-client is not installed.

        Example:
            >>> queue.push(b"one")
            0
            >>> families = mmapqueue.MetricsCollector(queue).collect()
            >>> [int(each.samples[0].value) for each in families if each.name == "mmapqueue_pushed_records"]
            [1]
        """
        from prometheus_client.parser import text_string_to_metric_families

        texts = []
        for queue in self._queues:
            try:
                texts.append(queue.metrics())
            except MmapQueueError:
                continue  # The queue is closed.
        for family in text_string_to_metric_families(merged(texts)):
            family.samples = [each._replace(labels={**self._labels, **each.labels}) for each in family.samples]
            yield family
