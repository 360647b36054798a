"""Restarts one streaming query whenever it fails."""

from __future__ import annotations

import json
import logging
import random
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_LOG = logging.getLogger("mmapqueue.pipeline.process")
#: Seconds before the first and before the last restarts of a failing query.
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
_REASON_CHARACTERS = 2000
_EXPONENTS = 30


class SupervisedQuery:
    """Keeps a query running. For one thread.

    Args:
        name: Name of the query.
        start: Starts the query from its checkpoint.
        stopping: What the query's pauses between attempts wait for; set when the query must end.
        restarts: Whether the query is restarted after a failure.

    Attributes:
        ended: Whether the query will not run again.
        failure: The error that ended it; None after a success.
    """

    def __init__(
        self, name: str, start: Callable[[], StreamingQuery], stopping: threading.Event, *, restarts: bool
    ) -> None:
        self.name = name
        self.ended = False
        self.failure: str | None = None
        self._start = start
        self._stopping = stopping
        self._restarts = restarts
        self._query: StreamingQuery | None = None
        self._started: StreamingQuery | None = None
        self._failures = 0
        self._due = 0.0

    @property
    def active(self) -> bool:
        """Whether the query is running."""
        return self._query is not None and bool(self._query.isActive)

    def start(self) -> None:
        """Starts the query; passes on Spark's exceptions."""
        self._started = self._query = self._start()

    def look(self) -> None:
        """Notices that the query has ended, and restarts it when that is due."""
        if self.ended or self.active:
            return
        if self._query is not None:
            error = self._query.exception()
            progressed = self._query.lastProgress is not None
            self._query = None
            if error is None:
                self.ended = True
                return
            self._failed(error, progressed=progressed)
        elif time.monotonic() >= self._due:
            try:
                self.start()
            except Exception as error:
                self._failed(error, progressed=False)

    def progress(self) -> list[dict[str, Any]]:
        """The progress of the last micro-batches since the last start, as parsed JSON."""
        try:
            recent: list[Any] = [] if self._started is None else self._started.recentProgress
        except Exception as error:
            # The session has ended.
            _LOG.debug("%s: no progress: %s", self.name, reason(error))
            return []
        return [json.loads(each.json) if hasattr(each, "json") else each for each in recent]

    def finish_batch(self) -> Callable[[], bool]:
        """Returns a function that returns whether the present micro-batch has ended, which is also when it cannot."""
        self._stopping.set()
        query = self._query
        if query is None:
            return lambda: True
        before = _batch(query)
        return lambda: not query.isActive or not query.status["isTriggerActive"] or _batch(query) != before

    def stop(self) -> None:
        """Stops the query. Its micro-batch is repeated from the checkpoint when it had not ended."""
        self.ended = True
        if self._query is None:
            return
        try:
            self._query.stop()
        except Exception as error:
            _LOG.warning("%s: stop: %s", self.name, reason(error))

    def _failed(self, error: Exception, *, progressed: bool) -> None:
        text = reason(error)
        if not self._restarts:
            self.ended, self.failure = True, text
            _LOG.error("%s failed: %s", self.name, text)
            return
        self._failures = 1 if progressed else self._failures + 1
        pause = min(FIRST_PAUSE * 2.0 ** min(self._failures - 1, _EXPONENTS), LONGEST_PAUSE) * random.uniform(0.75, 1)
        self._due = time.monotonic() + pause
        _LOG.error("%s failed (%d in a row), next start in %.1f s: %s", self.name, self._failures, pause, text)


def _batch(query: StreamingQuery) -> Any:
    progress: Any = query.lastProgress
    if progress is None:
        return None
    return progress["batchId"] if isinstance(progress, dict) else progress.batchId


def reason(error: Exception) -> str:
    """The text of Spark's error, without the stack trace."""
    java: Any = getattr(error, "java_exception", None)
    text = str(error) if java is None else str(java.toString())
    return text.partition("\nJVM stacktrace")[0].strip()[:_REASON_CHARACTERS] or type(error).__name__
