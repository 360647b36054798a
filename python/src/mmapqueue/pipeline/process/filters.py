"""Filters of a pipe, and the functions on DataFrames that they are.

    from mmapqueue.pipeline import events, explode
    from mmapqueue.pipeline.process import filters

    rows = filters.parse_json(explode(events(spark, "/data/logs"), "logs"), "body", {"status": "int", "path": "string"})
    errors = filters.sample(rows.where("status < 500"), 0.01).unionByName(rows.where("status >= 500"))

A filter gets rows without errors. All of them are deterministic: a micro-batch that is repeated gives the same rows.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field

from mmapqueue._values.annotations import DataFrame
from mmapqueue.pipeline.plugins import Duration, Filter
from mmapqueue.pipeline.process.events import Rows
from mmapqueue.pipeline.process.events import explode as explode_rows

if TYPE_CHECKING:
    from pyspark.sql import Column

_PLACE = "__place"
_GROUP = re.compile(r"\(\?<([A-Za-z][A-Za-z0-9]*)>")
_PYTHON_GROUP = re.compile(r"\(\?P<")
_REFERENCE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


def sample(frame: DataFrame, fraction: float) -> DataFrame:
    """Keeps about a fraction of the rows; which ones depends on their place in the queue alone.

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
    place = ["partition", "offset", *(["index"] if "index" in frame.columns else [])]
    buckets = 1 << 30
    return frame.where(sql.pmod(sql.xxhash64(*place), sql.lit(buckets)) < int(fraction * buckets))


def parse_json(frame: DataFrame, column: str, schema: str | Mapping[str, str], *, into: str | None = None) -> DataFrame:
    """Parses a column of JSON text, or of binary that is JSON text.

    A text that is not JSON, and a member that is missing or of another type, gives null.

    Args:
        frame: Rows with the column.
        column: Its name.
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
    ddl = schema if isinstance(schema, str) else ", ".join(f"{_quoted(name)} {kind}" for name, kind in schema.items())
    parsed = sql.from_json(sql.col(_quoted(column)).cast("string"), ddl)
    if into is not None:
        return frame.withColumn(into, parsed)
    # Computed once, before the members are taken out of it.
    made = frame.withColumn("__json", parsed)
    names = list(made.select("__json.*").columns)
    return _replaced(made, {name: sql.col("__json")[name] for name in names}).drop("__json")


def regex(frame: DataFrame, column: str, pattern: str, *, keep_others: bool = True) -> DataFrame:
    """Makes a text column of each named group of a regular expression.

    Args:
        frame: Rows with the column.
        column: Its name.
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
    text = sql.col(_quoted(column)).cast("string")
    matches = sql.rlike(text, sql.lit(pattern))
    rows = frame if keep_others else frame.where(matches)
    made = {name: sql.when(matches, sql.regexp_extract(text, pattern, number)) for name, number in groups.items()}
    return _replaced(rows, made)


def dedupe(frame: DataFrame, keys: Sequence[str], *, time: str = "time", within: timedelta) -> DataFrame:
    """Keeps the first of the rows that have the same keys, as long as they come within a delay of each other.

    In a stream Spark keeps the keys for that long in its state, so memory is bounded. A row whose time is older than
    the newest one's by more than the delay is dropped. Rows whose keys are all null equal no other row; this needs the
    columns partition and offset, without which Spark counts nulls as equal.

    Args:
        frame: Rows with these columns.
        keys: Columns that say which rows are the same.
        time: The column with the row's time. Rows without a time are dropped by the watermark of a stream.
        within: How long equal rows may be apart.

    Raises:
        ValueError: There are no keys, or no delay.

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
    return kept.drop(_PLACE)


def _distinct_nulls(frame: DataFrame, keys: Sequence[str]) -> tuple[DataFrame, list[str]]:
    """The rows, and the columns that make them equal: where all keys are null, the row's place is one, too."""
    from pyspark.sql import functions as sql

    place = [name for name in ("partition", "offset", "index") if name in frame.columns]
    if "offset" not in place:
        return frame, list(keys)
    missing = sql.coalesce(*(sql.col(_quoted(key)).cast("string") for key in keys)).isNull()
    return frame.withColumn(_PLACE, sql.when(missing, sql.concat_ws("/", *place))), [*keys, _PLACE]


def python(frame: DataFrame, function: str, arguments: Mapping[str, Any] | None = None) -> DataFrame:
    """Calls a function of a module with the DataFrame; what it returns are the rows.

    Args:
        frame: The rows.
        function: "package.module:function", as Python's path finds it.
        arguments: Keyword arguments.

    Raises:
        ValueError: The name has another form, or there is no such function.
        TypeError: It returned no DataFrame.
    """
    found = load(function)
    made = found(frame, **(arguments or {}))
    if not hasattr(made, "isStreaming"):
        raise TypeError(f"{function} returned {type(made).__name__}; allowed: a DataFrame")
    return made


def load(function: str) -> Callable[..., DataFrame]:
    """The function of a name "package.module:function".

    Raises:
        ValueError: The name has another form, or there is no such function.
    """
    if not _REFERENCE.fullmatch(function):
        raise ValueError(f"{function!r} is no name of a function; allowed: package.module:function")
    module, name = function.split(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"there is no function {function}: {error}") from error
    if not callable(found):
        raise ValueError(f"{function} is a {type(found).__name__}; allowed: a function")
    result: Callable[..., DataFrame] = found
    return result


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


def _replaced(frame: DataFrame, columns: Mapping[str, Column]) -> DataFrame:
    """The frame with columns added, in place of those of the same name."""
    from pyspark.sql import functions as sql

    taken = {name.lower() for name in columns}
    kept = [sql.col(_quoted(name)) for name in frame.columns if name.lower() not in taken]
    return frame.select(*kept, *(column.alias(name) for name, column in columns.items()))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


class Where(Filter):
    """Keeps the rows of which a condition is true.

    Attributes:
        condition: An expression of Spark SQL, such as `severity_number >= 9`.
    """

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
        columns: Their names. A column that is missing is an error.
    """

    type: Literal["drop"] = "drop"
    columns: Annotated[list[str], Field(min_length=1)]

    def apply(self, events: DataFrame) -> DataFrame:
        """The rows without these columns."""
        known = {name.lower() for name in events.columns}
        missing = [name for name in self.columns if name.lower() not in known]
        if missing:
            raise ValueError(f"drop: no column {', '.join(missing)}; there are: {', '.join(events.columns)}")
        return events.drop(*self.columns)


class Sample(Filter):
    """Keeps about a fraction of the rows, the same ones each time.

    Attributes:
        fraction: From 0 to 1.
    """

    type: Literal["sample"] = "sample"
    fraction: Annotated[float, Field(ge=0, le=1)]

    def apply(self, events: DataFrame) -> DataFrame:
        """The rows that are kept."""
        return sample(events, self.fraction)


class ParseJson(Filter):
    """Parses a column of JSON text.

    Attributes:
        column: Its name.
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


def _with_groups(pattern: str) -> str:
    _named_groups(pattern)
    return pattern


class Regex(Filter):
    """Makes a column of each named group of a regular expression.

    Attributes:
        column: The text that it is applied to.
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


class Dedupe(Filter):
    """Keeps the first of equal rows that come within a delay of each other.

    Attributes:
        keys: Columns that say which rows are equal; by default the events' identity.
        time: The column with the row's time.
        within: How long equal rows may be apart. Spark's state grows with it.
    """

    type: Literal["dedupe"] = "dedupe"
    keys: Annotated[list[str], Field(min_length=1)] = Field(default=["id"])
    time: str = "time"
    within: Annotated[Duration, Field(gt=timedelta(0))] = timedelta(minutes=10)

    def apply(self, events: DataFrame) -> DataFrame:
        """The rows that are kept."""
        return dedupe(events, self.keys, time=self.time, within=self.within)


def _reference(function: str) -> str:
    if not _REFERENCE.fullmatch(function):
        raise ValueError(f"{function!r} is no name of a function; allowed: package.module:function")
    return function


class PythonFilter(Filter):
    """Calls a function of your own: a DataFrame in, a DataFrame out.

    Attributes:
        function: `package.module:function`, as Python's path finds it.
        arguments: Its keyword arguments.
    """

    type: Literal["python"] = "python"
    function: Annotated[str, AfterValidator(_reference)]
    arguments: dict[str, Any] = Field(default_factory=dict)

    def apply(self, events: DataFrame) -> DataFrame:
        """What the function returns."""
        return python(events, self.function, self.arguments)


class Explode(Filter):
    """Makes one row of each log record, span or data point.

    Attributes:
        rows: `logs`, `spans` or `points`.
    """

    type: Literal["explode"] = "explode"
    rows: Rows

    def apply(self, events: DataFrame) -> DataFrame:
        """The rows; payloads that cannot be decoded are rows with `error`."""
        return explode_rows(events, self.rows)
