"""Columns of the members of JSON text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from mmapqueue._values.annotations import DataFrame
from mmapqueue.pipeline.plugins import Filter
from mmapqueue.pipeline.process.filters._columns import quoted, replaced


def parse_json(frame: DataFrame, column: str, schema: str | Mapping[str, str], *, into: str | None = None) -> DataFrame:
    """Parses a column of JSON text, or of binary that is JSON text.

    Text that is not a JSON object, and a member that is missing or of another type, gives null.

    Args:
        frame: Rows with the column.
        column: The column's name.
        schema: Members and their types as DDL, "status int, path string", or as a mapping.
        into: Name of a struct column for the members; None: each member is a column of its own, in place of one that
            has its name.

    Raises:
        ValueError: The schema has no members.

    Example:
        >>> parse_json(rows, "body", "status int, path string").where("status >= 500")
    """
    from pyspark.sql import functions as sql

    if not schema:
        raise ValueError("schema is empty; allowed: members and their types, as in 'status int, path string'")
    ddl = schema if isinstance(schema, str) else ", ".join(f"{quoted(name)} {kind}" for name, kind in schema.items())
    text = sql.col(quoted(column)).cast("string")
    parsed = sql.from_json(text, ddl)
    if into is not None:
        # from_json makes a struct of nulls of text that it cannot parse.
        return frame.withColumn(into, sql.when(sql.json_object_keys(text).isNotNull(), parsed))
    # Computed once, before the members are extracted.
    made = frame.withColumn("__json", parsed)
    names = list(made.select("__json.*").columns)
    return replaced(made, {name: sql.col("__json")[name] for name in names}).drop("__json")


class ParseJson(Filter):
    """Parses a column of JSON text.

    Attributes:
        column: The column's name.
        fields: Members and their types.
        into: Name of a struct column for them; by default each is a column of its own.
    """

    type: Literal["parse_json"] = "parse_json"
    column: str = "body"
    fields: Annotated[dict[str, str], Field(min_length=1)]
    into: str | None = None

    def apply(self, events: DataFrame) -> DataFrame:
        """The rows with the members."""
        return parse_json(events, self.column, self.fields, into=self.into)
