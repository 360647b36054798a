"""Filters that choose rows and columns."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from mmapqueue._values.annotations import DataFrame
from mmapqueue.pipeline.plugins import Filter


def sample(frame: DataFrame, fraction: float) -> DataFrame:
    """Keeps about a fraction of the rows; the choice depends on their positions in the queue alone.

    Rows that `explode` made of one event are chosen one by one.

    Args:
        frame: Rows with columns partition and offset.
        fraction: From 0 to 1.

    Raises:
        ValueError: The fraction is out of range.

    Example:
        >>> sample(events, 0.1)
    """
    from pyspark.sql import functions as sql

    if not 0 <= fraction <= 1:
        raise ValueError(f"fraction = {fraction}; allowed: 0 to 1")
    identity = ["partition", "offset", *(["index"] if "index" in frame.columns else [])]
    buckets = 1 << 30
    return frame.where(sql.pmod(sql.xxhash64(*identity), sql.lit(buckets)) < int(fraction * buckets))


class Where(Filter):
    """Keeps the rows of which a condition is true.

    Attributes:
        condition: An expression of Spark SQL, such as `severity_number >= 9`.
    """

    keeps_types: ClassVar[bool] = True

    type: Literal["where"] = "where"
    condition: Annotated[str, Field(min_length=1)]

    def apply(self, events: DataFrame) -> DataFrame:
        """The rows that are kept."""
        return events.where(self.condition)


class Select(Filter):
    """Keeps or computes columns.

    Attributes:
        columns: Expressions of Spark SQL: `body`, `upper(service) AS service`, `*`.
    """

    type: Literal["select"] = "select"
    columns: Annotated[list[str], Field(min_length=1)]

    def apply(self, events: DataFrame) -> DataFrame:
        """The rows with these columns alone."""
        return events.selectExpr(*self.columns)


class Drop(Filter):
    """Drops columns.

    Attributes:
        columns: The columns' names. A column that is missing is an error.
    """

    type: Literal["drop"] = "drop"
    columns: Annotated[list[str], Field(min_length=1)]

    def apply(self, events: DataFrame) -> DataFrame:
        """The rows without these columns."""
        known = {name.lower() for name in events.columns}
        missing = [name for name in self.columns if name.lower() not in known]
        if missing:
            raise ValueError(f"drop: no column {', '.join(missing)}; columns: {', '.join(events.columns)}")
        return events.drop(*self.columns)


class Sample(Filter):
    """Keeps about a fraction of the rows, the same ones each time.

    Attributes:
        fraction: From 0 to 1.
    """

    keeps_types: ClassVar[bool] = True

    type: Literal["sample"] = "sample"
    fraction: Annotated[float, Field(ge=0, le=1)]

    def apply(self, events: DataFrame) -> DataFrame:
        """The rows that are kept."""
        return sample(events, self.fraction)
