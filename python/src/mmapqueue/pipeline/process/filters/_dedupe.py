"""Removes duplicates within a delay."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from mmapqueue._values.annotations import DataFrame
from mmapqueue.pipeline.plugins import Duration, Filter
from mmapqueue.pipeline.process.filters._columns import quoted

_RECORD = "__record"


def dedupe(frame: DataFrame, keys: Sequence[str], *, time: str = "time", within: timedelta) -> DataFrame:
    """Keeps the first of rows with equal keys that are within a delay of each other.

    In a stream, Spark's state keeps the keys for the delay, so memory is bounded. A row that is older than the newest
    one by more than the delay is dropped. A row with null keys alone equals no other row; this needs the columns
    partition and offset, without which Spark counts nulls as equal.

    Args:
        frame: Rows with these columns.
        keys: The key columns.
        time: The column with the row's time. A stream drops rows without a time.
        within: The delay: the maximum time between equal rows.

    Raises:
        ValueError: No keys or no delay are given.

    Example:
        >>> dedupe(rows, ["id"], within=timedelta(minutes=10))
    """
    if not keys:
        raise ValueError("keys is empty; allowed: names of columns")
    if within <= timedelta(0):
        raise ValueError(f"within = {within}; allowed: more than 0")
    rows, columns = _distinct_nulls(frame, keys)
    if frame.isStreaming:
        delay = f"{within // timedelta(milliseconds=1)} milliseconds"
        kept = rows.withWatermark(time, delay).dropDuplicatesWithinWatermark(columns)
    else:
        kept = rows.dropDuplicates(columns)
    return kept.drop(_RECORD)


def _distinct_nulls(frame: DataFrame, keys: Sequence[str]) -> tuple[DataFrame, list[str]]:
    """The rows and their key columns; for a row with only null keys, its position is a key, too."""
    from pyspark.sql import functions as sql

    identity = [name for name in ("partition", "offset", "index") if name in frame.columns]
    if "offset" not in identity:
        return frame, list(keys)
    missing = sql.coalesce(*(sql.col(quoted(key)).cast("string") for key in keys)).isNull()
    return frame.withColumn(_RECORD, sql.when(missing, sql.concat_ws("/", *identity))), [*keys, _RECORD]


class Dedupe(Filter):
    """Keeps the first of equal rows that are within a delay of each other.

    Attributes:
        keys: Columns that determine which rows are equal; by default the events' identity.
        time: The column with the row's time.
        within: The maximum time between equal rows. Spark's state grows with it.
    """

    keeps_types: ClassVar[bool] = True

    type: Literal["dedupe"] = "dedupe"
    keys: Annotated[list[str], Field(min_length=1)] = Field(default=["id"])
    time: str = "time"
    within: Annotated[Duration, Field(gt=timedelta(0))] = timedelta(minutes=10)

    def apply(self, events: DataFrame) -> DataFrame:
        """The rows that are kept."""
        return dedupe(events, self.keys, time=self.time, within=self.within)
