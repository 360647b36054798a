"""Listeners of queries. Imports PySpark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from pyspark import SparkContext
from pyspark.sql.streaming.listener import JStreamingQueryListener, StreamingQueryListener


class JsonListener(StreamingQueryListener):
    """A listener that gets `progress.json` alone of progress, and no idle events.

    PySpark's events have each field of the progress as an object, by some hundred calls of the JVM. With a dozen
    queries a listener is slower than their micro-batches then, and Spark ends when it has caught up.
    """

    _json_listener: Any = None

    @property
    def _jlistener(self) -> Any:
        if self._json_listener is None:
            streaming = SparkContext._jvm.org.apache.spark.sql.streaming  # type: ignore[union-attr]
            self._json_listener = streaming.PythonStreamingQueryListenerWrapper(_Events(self))
        return self._json_listener


class _Events(JStreamingQueryListener):
    """What the JVM calls."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        progress = SimpleNamespace(json=event.progress().json())
        self.pylistener.onQueryProgress(SimpleNamespace(progress=progress))  # type: ignore[arg-type]

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        pass
