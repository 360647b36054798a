"""Functions for columns of DataFrames by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mmapqueue._values.annotations import DataFrame

if TYPE_CHECKING:
    from pyspark.sql import Column


def replaced(frame: DataFrame, columns: Mapping[str, Column]) -> DataFrame:
    """The frame with columns added; they replace columns of the same name."""
    from pyspark.sql import functions as sql

    taken = {name.lower() for name in columns}
    kept = [sql.col(quoted(name)) for name in frame.columns if name.lower() not in taken]
    return frame.select(*kept, *(column.alias(name) for name, column in columns.items()))


def quoted(name: str) -> str:
    """A column's name as an expression of Spark SQL."""
    return "`" + name.replace("`", "``") + "`"
