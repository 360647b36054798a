"""Columns of the named groups of a regular expression."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator

from mmapqueue._values.annotations import DataFrame
from mmapqueue.pipeline.plugins import Filter
from mmapqueue.pipeline.process.filters._columns import quoted, replaced

_GROUP = re.compile(r"\(\?<([A-Za-z][A-Za-z0-9]*)>")
_PYTHON_GROUP = re.compile(r"\(\?P<")


def regex(frame: DataFrame, column: str, pattern: str, *, keep_others: bool = True) -> DataFrame:
    """Makes a string column of each named group of a regular expression.

    Args:
        frame: Rows with the column.
        column: The column's name.
        pattern: In Java's syntax, found anywhere in the text, with groups (?<name>…). Groups that take no part in a
            match are empty texts.
        keep_others: Whether rows that do not match are kept, with nulls.

    Raises:
        ValueError: The pattern has no named group, or one of Python's form.

    Example:
        >>> regex(rows, "body", r"(?<method>[A-Z]+) (?<path>/[^ ]*)")
    """
    from pyspark.sql import functions as sql

    groups = _named_groups(pattern)
    text = sql.col(quoted(column)).cast("string")
    matches = sql.rlike(text, sql.lit(pattern))
    rows = frame if keep_others else frame.where(matches)
    made = {name: sql.when(matches, sql.regexp_extract(text, pattern, number)) for name, number in groups.items()}
    return replaced(rows, made)


def _named_groups(pattern: str) -> dict[str, int]:
    """The named groups of a pattern in Java's syntax and their numbers."""
    if _PYTHON_GROUP.search(pattern):
        raise ValueError(f"pattern {pattern!r} has a group (?P<name>…); allowed: Java's form (?<name>…)")
    groups: dict[str, int] = {}
    number = 0
    in_class = 0
    at = 0
    while at < len(pattern):
        if pattern.startswith("\\Q", at):
            end = pattern.find("\\E", at)
            at = len(pattern) if end < 0 else end + 2
            continue
        if pattern[at] == "\\":
            at += 2
            continue
        if pattern[at] == "[":
            in_class += 1
        elif pattern[at] == "]" and in_class:
            in_class -= 1
        elif pattern[at] == "(" and not in_class:
            named = _GROUP.match(pattern, at)
            if named or pattern[at + 1 : at + 2] != "?":
                number += 1
            if named:
                groups[named[1]] = number
        at += 1
    if not groups:
        raise ValueError(f"pattern {pattern!r} has no named group; allowed: groups such as (?<name>…)")
    return groups


def _with_groups(pattern: str) -> str:
    _named_groups(pattern)
    return pattern


class Regex(Filter):
    """Makes a column of each named group of a regular expression.

    Attributes:
        column: The column with the text to match.
        pattern: In Java's syntax, with groups `(?<name>…)`.
        keep_others: Whether rows that do not match are kept, with nulls.
    """

    type: Literal["regex"] = "regex"
    column: str = "body"
    pattern: Annotated[str, AfterValidator(_with_groups)]
    keep_others: bool = True

    def apply(self, events: DataFrame) -> DataFrame:
        """The rows with the groups."""
        return regex(events, self.column, self.pattern, keep_others=self.keep_others)
