"""Counts the records of a query's range of offsets that were not read: damaged ones, and dropped ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NAME = "read"
#: The figure of the source, which counts from the start of the query on.
_DROPPED = "dropped_records_total"
#: Beginning of the names of the source's own files in a checkpoint.
_ORIGIN = "queue-"


def observed(rows: DataFrame) -> DataFrame:
    """The same rows, one for each record; Spark adds their number to the progress of each micro-batch."""
    from pyspark.sql import functions as sf

    return rows.observe(_NAME, sf.count(sf.lit(1)).alias("records"))


def dropped(progress: Mapping[str, Any]) -> int:
    """The number of records that the queue has dropped before the query came to them, since the query's start."""
    return sum(int((each.get("metrics") or {}).get(_DROPPED, 0)) for each in progress["sources"])


def damaged(progress: Mapping[str, Any], checkpoint: Path) -> int:
    """The number of records that a micro-batch has not read: damaged and dropped ones.

    Args:
        progress: The progress, as parsed JSON, of a query with `observed` rows; 0 for any other.
        checkpoint: The query's checkpoint, which has the offsets before the first micro-batch.
    """
    seen = (progress.get("observedMetrics") or {}).get(_NAME)
    if seen is None:
        return 0
    wanted = 0
    for source in progress["sources"]:
        start, end = _offsets(source.get("startOffset")), _offsets(source.get("endOffset"))
        if not end.keys() <= start.keys():
            start = {**_origin(checkpoint), **start}
        wanted += sum(last - start.get(partition, last) for partition, last in end.items())
    return max(0, wanted - int(seen["records"]))


def _offsets(value: Any) -> dict[str, int]:
    parsed = json.loads(value) if isinstance(value, str) else value
    return {str(partition): int(offset) for partition, offset in (parsed or {}).items()}


def _origin(checkpoint: Path) -> dict[str, int]:
    """Where the source began to read each partition: the last file of its own in the checkpoint."""
    files = {
        int(each.name[6:]): each for each in (checkpoint / "sources" / "0").glob("queue-*") if each.name[6:].isdigit()
    }
    if not files:
        return {}
    partitions = json.loads(files[max(files)].read_text().strip().splitlines()[-1]).get("partitions", {})
    return {partition: int(part["start"]) for partition, part in partitions.items()}
