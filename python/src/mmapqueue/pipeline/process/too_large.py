"""Rows that are larger than the events of the queue into which a sender writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NAME = "too_large"


def left_out(rows: DataFrame, largest: int) -> DataFrame:
    """The rows whose column `value` has at most `largest` bytes; Spark adds the number of others to the progress."""
    from pyspark.sql import functions as sf

    larger = sf.octet_length("value") > largest
    return rows.observe(_NAME, sf.count_if(larger).alias("records")).where(~sf.coalesce(larger, sf.lit(False)))


def too_large(progress: Mapping[str, Any]) -> int:
    """The number of rows that a micro-batch left out, from its progress as parsed JSON."""
    seen = (progress.get("observedMetrics") or {}).get(_NAME) or {}
    return int(seen.get("records") or 0)
