"""Filters that change attributes and texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from mmapqueue._values.annotations import DataFrame
from mmapqueue.pipeline.plugins import Filter
from mmapqueue.pipeline.process.events import changed_attributes
from mmapqueue.pipeline.process.filters._columns import quoted, replaced


def attributes(
    frame: DataFrame,
    column: str = "attributes",
    *,
    add: Mapping[str, str] | None = None,
    rename: Mapping[str, str] | None = None,
    remove: Sequence[str] = (),
) -> DataFrame:
    """Adds, renames and removes attributes, in a column of JSON text: `attributes` or `resource`.

    First attributes are renamed, then removed, then added. The others keep their values byte for byte. A text that is
    not a JSON object stays as it is.

    Args:
        frame: Rows with the column.
        column: The column's name.
        add: Expressions of Spark SQL by attribute; a value that is null adds nothing. They replace attributes of the
            same name.
        rename: New names by name. A renamed attribute replaces one that has the new name.
        remove: Names.

    Raises:
        ValueError: There is nothing to change.

    Example:
        >>> attributes(rows, add={"region": "'eu'"}, rename={"usr": "user.id"}, remove=["password"])
    """
    from pyspark.sql import functions as sql

    if not (add or rename or remove):
        raise ValueError("there is nothing to change; allowed: at least one of add, rename, remove")
    more = sql.to_json(sql.struct(*(sql.expr(each).alias(name) for name, each in add.items()))) if add else None
    names: dict[str, str | None] = {**(rename or {}), **dict.fromkeys(remove)}
    return replaced(frame, {column: changed_attributes(frame, column, names, more)})


def redact(
    frame: DataFrame, pattern: str, columns: Sequence[str] = ("body",), *, replacement: str = "***"
) -> DataFrame:
    """Replaces each match of a regular expression in columns of text.

    JSON text, as in `attributes`, is matched as text, names included: a match that contains a quotation mark or a
    bracket may leave something that is no JSON.

    Args:
        frame: Rows with the columns.
        pattern: In Java's syntax.
        columns: Names of string columns.
        replacement: The text for each match; `$1` is the first group.

    Raises:
        ValueError: A column is missing or no string.

    Example:
        >>> redact(rows, "[0-9]{16}", ["body", "attributes"])
    """
    from pyspark.sql import functions as sql

    types = dict(frame.dtypes)
    wrong = [name for name in columns if types.get(name) != "string"]
    if wrong:
        texts = ", ".join(name for name, type_ in types.items() if type_ == "string")
        raise ValueError(f"redact: no column {', '.join(wrong)} of type string; columns of this type: {texts}")
    with_pattern, with_replacement = sql.lit(pattern), sql.lit(replacement)
    made = {name: sql.regexp_replace(sql.col(quoted(name)), with_pattern, with_replacement) for name in columns}
    return frame.withColumns(made)


class Attributes(Filter):
    """Adds, renames and removes attributes.

    Attributes:
        column: The column of JSON text: `attributes` or `resource`.
        add: SQL expressions by attribute.
        rename: New names by name.
        remove: Names.
    """

    keeps_types: ClassVar[bool] = True

    type: Literal["attributes"] = "attributes"
    column: str = "attributes"
    add: dict[str, str] = Field(default_factory=dict)
    rename: dict[str, str] = Field(default_factory=dict)
    remove: list[str] = Field(default_factory=list)

    @model_validator(mode="after")
    def _check(self) -> Attributes:
        if not (self.add or self.rename or self.remove):
            raise ValueError("nothing to change; allowed: at least one of add, rename, remove")
        return self

    def apply(self, events: DataFrame) -> DataFrame:
        """The rows with changed attributes."""
        return attributes(events, self.column, add=self.add, rename=self.rename, remove=self.remove)


class Redact(Filter):
    """Replaces each match of a regular expression.

    Attributes:
        columns: Columns of text.
        pattern: In Java's syntax.
        replacement: The text for each match; `$1` is the first group.
    """

    keeps_types: ClassVar[bool] = True

    type: Literal["redact"] = "redact"
    columns: Annotated[list[str], Field(min_length=1)] = Field(default=["body"])
    pattern: Annotated[str, Field(min_length=1)]
    replacement: str = "***"

    def apply(self, events: DataFrame) -> DataFrame:
        """The rows with the matches replaced."""
        return redact(events, self.pattern, self.columns, replacement=self.replacement)
