"""Counts records and payloads that cannot be decoded in each micro-batch, and logs the first one."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LOG = logging.getLogger("mmapqueue.pipeline.process")
_NAME = "undecodable."


class Undecodable(NamedTuple):
    """Rows with an error in one micro-batch.

    Attributes:
        records: The number of these rows.
        partition: The partition of the first one.
        offset: The offset of the first one.
        reason: The reason why the first one cannot be decoded.
    """

    records: int
    partition: int
    offset: int
    reason: str


def observed(rows: DataFrame, step: int = 0) -> DataFrame:
    """The same rows; Spark counts those with `error`, and adds their number to the progress of each micro-batch.

    Args:
        rows: Rows with columns partition, offset and error.
        step: Number of this call; unique in a query.
    """
    from pyspark.sql import functions as sf

    failed = sf.col("error").isNotNull()
    first = sf.min(sf.when(failed, sf.struct("partition", "offset", "error")))
    return rows.observe(f"{_NAME}{step}", sf.count_if(failed).alias("records"), first.alias("first"))


def undecodable(progress: Mapping[str, Any]) -> Undecodable | None:
    """The rows with an error, from the progress of a micro-batch; None when it has none.

    Args:
        progress: The progress as parsed JSON.
    """
    metrics = progress.get("observedMetrics") or {}
    found = [each for name, each in metrics.items() if name.startswith(_NAME) and each.get("records")]
    if not found:
        return None
    first = min((each["first"] for each in found), key=lambda each: (each["partition"], each["offset"]))
    records = sum(each["records"] for each in found)
    return Undecodable(records, first["partition"], first["offset"], first["error"])


class UndecodableLog:
    """Logs one warning for each micro-batch with undecodable records. Safe for any number of threads.

    Args:
        outcomes: The treatment of such records, by the name of the query.
    """

    def __init__(self, outcomes: Mapping[str, str]) -> None:
        self._outcomes = outcomes
        #: Number of the last micro-batch that was logged, by run.
        self._last: dict[str, int] = {}
        self._lock = threading.Lock()

    def change(self, outcomes: Mapping[str, str]) -> None:
        """Logs by other outcomes from now on."""
        self._outcomes = outcomes

    def note(self, progress: Mapping[str, Any]) -> None:
        """Takes the progress of a micro-batch, in order within a run. Progress that was taken before is ignored."""
        found = undecodable(progress)
        name = progress.get("name") or ""
        outcome = self._outcomes.get(name)
        if found is None or outcome is None:
            return
        run, batch = str(progress["runId"]), int(progress["batchId"])
        with self._lock:
            if batch <= self._last.get(run, -1):
                return
            self._last[run] = batch
            # Under the lock: when a call returns, the line is written, also by another thread.
            _LOG.warning(
                "%s: %d undecodable records in micro-batch %d, %s; the first one: partition %d, offset %d: %s",
                *(name, found.records, batch, outcome, found.partition, found.offset, found.reason),
            )

    def listener(self) -> Any:
        """A listener for `spark.streams.addListener`: notes the micro-batches of queries that start from then on."""
        from mmapqueue.pipeline.process.listening import JsonListener

        note = self.note
        # Spark reports late: a listener gets micro-batches of queries that ended before it was added.
        running: set[str] = set()

        class Listener(JsonListener):
            def onQueryStarted(self, event: Any) -> None:  # noqa: N802
                running.add(str(event.runId))

            def onQueryProgress(self, event: Any) -> None:  # noqa: N802
                progress = json.loads(event.progress.json)
                if progress["runId"] in running:
                    note(progress)

            def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
                running.discard(str(event.runId))

        return Listener()
