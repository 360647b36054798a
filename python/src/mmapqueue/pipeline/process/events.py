"""Events of a queue as rows of Spark: the envelope, and the log records, spans and data points in payloads.

    from mmapqueue.pipeline import events, explode

    rows = explode(events(spark, "/data/logs"), rows="logs").where("error IS NULL AND severity_number >= 17")

Decoding runs in Spark's JVM, in generated code. Nothing here needs a JVM in this process, so all of it works over Spark
Connect, too.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import mmapqueue
from mmapqueue._values.annotations import DataFrame, SparkSession
from mmapqueue.pipeline._event import OTLP_LOGS, OTLP_METRICS, OTLP_TRACES

if TYPE_CHECKING:
    from pyspark.sql import Column

Rows: TypeAlias = Literal["logs", "spans", "points"]
"""The rows of a payload: log records, spans, data points of metrics."""

Fields: TypeAlias = Literal["json", "variant"]
"""Type of the column `fields`: JSON text, or VARIANT (Spark 4)."""

_CATALOG = "mmapqueue_events"
_CATALOG_CLASS = "org.mmapqueue.spark.events.EventFunctions"
_ROWS = ("logs", "spans", "points")
#: Columns of an event that each of its rows keeps, under other names if the row has a column of that name.
_KEPT = ("type", "remote", "meta", "id", "source", "partition", "offset", "pushed", "content_type")


def events(
    spark: SparkSession,
    path: str | os.PathLike[str],
    *,
    consumer: str | None = None,
    fields: Fields = "json",
    **source: Any,
) -> DataFrame:
    """The events of a queue, and those that are pushed later, as a streaming DataFrame.

    A record that cannot be decoded is a row, too: `error` has the reason, `data` is the record, and all other columns
    of the event are null. `where("error IS NULL")` filters these rows out.

    Args:
        spark: A session, classic or Connect.
        path: The queue's directory, as Spark's driver and executors see it.
        consumer: The consumer's name; by default one derived from the checkpoint's location.
        fields: Type of the column `fields`.
        **source: Other arguments of `mmapqueue.read_stream`.

    Returns:
        Columns: time timestamp, name string, type string, remote boolean, meta map<string,string>, content_type string,
        data binary, fields string, id string, source string, partition int, offset bigint, pushed timestamp, error
        string. What an event does not have is null; `meta` is empty then.

    Raises:
        JarNotFound: Spark does not have the jar. Over Connect, Spark raises its own error later.
        ValueError: `fields` is "variant", and Spark is older than 4.

    Example:
        >>> query = events(spark, "/data/logs").where("type = 'Logging'").writeStream.format("console").start()
    """
    return decode(mmapqueue.read_stream(path, spark=spark, consumer=consumer, **source), fields=fields)


def events_batch(
    spark: SparkSession, path: str | os.PathLike[str], *, fields: Fields = "json", **source: Any
) -> DataFrame:
    """The events of a queue, as of the start of the job. Moves no consumer.

    Args:
        spark: A session, classic or Connect.
        path: The queue's directory, as Spark's driver and executors see it.
        fields: Type of the column `fields`.
        **source: Other arguments of `mmapqueue.read`.

    Returns:
        The columns of `events`.

    Raises:
        JarNotFound: Spark does not have the jar. Over Connect, Spark raises its own error later.
        ValueError: `fields` is "variant", and Spark is older than 4.
    """
    return decode(mmapqueue.read(path, spark=spark, **source), fields=fields)


def decode(records: DataFrame, *, fields: Fields = "json") -> DataFrame:
    """Records as events: the columns of `events`.

    Args:
        records: Rows of `mmapqueue.read` or `mmapqueue.read_stream`, or others with columns value, partition, offset
            and timestamp.
        fields: Type of the column `fields`.

    Raises:
        ValueError: `fields` is "variant", and Spark is older than 4.
    """
    sql = _functions(records)
    structured = _fields(records, fields)
    rows = records.select(
        sql.inline(_call(records, "event_rows", sql.col("value"))),
        "partition",
        "offset",
        sql.col("timestamp").alias("pushed"),
    )
    return rows.select(
        *("time", "name", "type", "remote", "meta", "content_type", "data", structured, "id", "source"),
        *("partition", "offset", "pushed", "error"),
    )


def explode(events: DataFrame, rows: Rows) -> DataFrame:
    """Makes one row of each log record, span or data point.

    The payload is decoded as its content type says: OTLP (protobuf or JSON) and SkyWalking; for logs also lines of
    text, NDJSON, JSON, CloudEvents and syslog. All have the same columns. A payload that cannot be decoded, or that has
    no such rows, is one row with `error`, in which `data` is the payload. An event with an error keeps it.

    Args:
        events: Rows with the columns of `events`.
        rows: "logs", "spans" or "points".

    Returns:
        The row's own columns (docs/reference/pipeline/events.md lists them), then those of its event: event_time,
        event_name, type, remote, meta, id, source, partition, offset, pushed, content_type, index (the row's number in
        the event), data (null without an error), error.

    Raises:
        ValueError: `rows` is another text.

    Example:
        >>> explode(events(spark, "/data/traces"), rows="spans").groupBy("service").count()
    """
    if rows not in _ROWS:
        raise ValueError(f"rows = {rows!r}; allowed: {', '.join(_ROWS)}")
    sql = _functions(events)
    # 0 for no time: a primitive argument that is null would make the whole array null.
    time = sql.coalesce(sql.col("time"), sql.col("pushed"), sql.timestamp_seconds(sql.lit(0)))
    made = events.select(
        sql.inline(_call(events, rows, sql.col("content_type"), sql.col("data"), time, sql.col("error"))),
        sql.col("time").alias("event_time"),
        sql.col("name").alias("event_name"),
        *_KEPT,
        "data",
    )
    own = [name for name in made.columns[: -len(_KEPT) - 3] if name not in ("index", "error")]
    data = sql.when(sql.col("error").isNotNull(), sql.col("data")).alias("data")
    return made.select(*own, "event_time", "event_name", *_KEPT, "index", data, "error")


def record(events: DataFrame, *, id: Column | None = None) -> Column:  # noqa: A002
    """Rows of events as records, the inverse of `decode`.

    Args:
        events: Rows with the columns of `events`, or some of them; missing ones are empty.
        id: Identity of the event, in place of the column `id`.

    Returns:
        A binary column: the serialized Event of each row. Equal rows give equal bytes.

    Example:
        >>> queue = events_batch(spark, "/data/logs").where("type = 'Logging'")
        >>> mmapqueue.write(queue.select(record(queue).alias("value")), "/data/only-logs")
    """
    sql = _functions(events)

    def column(name: str, type_: str = "string") -> Column:
        found: Column = sql.col(name) if name in events.columns else sql.lit(None).cast(type_)
        return found

    return _call(
        events,
        "record",
        sql.coalesce(sql.unix_millis(column("time", "timestamp")), sql.lit(0).cast("long")),
        column("name"),
        column("type"),
        sql.coalesce(column("remote", "boolean"), sql.lit(True)),  # noqa: FBT003
        # The function takes one type of maps: values may be null.
        column("meta", "map<string,string>").cast("map<string,string>"),
        column("content_type"),
        column("data", "binary"),
        column("fields"),
        column("id") if id is None else id,
        column("source"),
    )


def encode_logs(rows: DataFrame) -> DataFrame:
    """Rows of logs as events of OTLP, the inverse of `explode(rows="logs")`.

    Each row becomes an event with one export request of one log record, whose content type is
    `application/x-protobuf; proto=otlp.logs`. docs/reference/pipeline/events.md says which column becomes which field.

    Args:
        rows: Rows with the columns of `explode`, or some of them: `body` at least.

    Returns:
        The columns of `events` that the rows have, with `data`, `content_type` and `index`. The `id` of an event has
        the row's number appended: `<id>/<index>`.

    Raises:
        ValueError: There is no column `body`: the rows are not logs.

    Example:
        >>> logs = explode(events_batch(spark, "/data/logs"), rows="logs").where("error IS NULL")
        >>> errors = encode_logs(logs.where("severity_number >= 17"))
        >>> mmapqueue.write(errors.select(record(errors).alias("value")), "/data/errors")
    """
    if "body" not in rows.columns:
        raise ValueError(_not_rows(rows, "logs", "body"))
    sql = _functions(rows)
    text, micros = _Texts(rows), _Micros(rows)
    number = sql.coalesce(text("severity_number").cast("int"), sql.lit(0))
    types = dict(rows.dtypes)
    # The fetcher of files alone notes an inode.
    is_file = sql.col("meta")["inode"].isNotNull() if "meta" in types else sql.lit(False)  # noqa: FBT003
    more = sql.create_map(
        *(sql.lit("endpoint"), text("endpoint")),
        *(sql.lit("log.file.path"), sql.when(is_file, text("source"))),
    )
    request = _call(
        rows,
        "otlp_log",
        *(micros("time"), micros("observed_time"), text("severity"), number, text("body"), text("attributes")),
        *(text("resource"), text("service"), text("instance"), text("scope"), text("trace_id"), text("span_id")),
        more.cast("map<string,string>"),
    )
    return _encoded(rows, request, OTLP_LOGS, "time")


def encode_spans(rows: DataFrame) -> DataFrame:
    """Rows of spans as events of OTLP, the inverse of `explode(rows="spans")`.

    Each row becomes an event with one export request of one span, whose content type is
    `application/x-protobuf; proto=otlp.traces`. docs/reference/pipeline/events.md says which column becomes which
    field.

    Args:
        rows: Rows with the columns of `explode`, or some of them: `span_id` at least.

    Returns:
        As `encode_logs`; the time of an event is the start of its span.

    Raises:
        ValueError: There is no column `span_id`: the rows are not spans.

    Example:
        >>> spans = explode(events_batch(spark, "/data/traces"), rows="spans").where("error IS NULL")
        >>> slow = encode_spans(spans.where("duration_ns > 1000000000"))
        >>> mmapqueue.write(slow.select(record(slow).alias("value")), "/data/slow")
    """
    if "span_id" not in rows.columns:
        raise ValueError(_not_rows(rows, "spans", "span_id"))
    sql = _functions(rows)
    text, micros = _Texts(rows), _Micros(rows)
    between = (micros("end") - micros("start")) * 1000
    nanos = sql.coalesce(sql.col("duration_ns").cast("long"), between) if "duration_ns" in rows.columns else between
    names = ("name", "kind", "status", "status_message", "attributes", "events", "links", "resource", "service")
    others = ("instance", "scope", "trace_id", "span_id", "parent_span_id")
    request = _call(rows, "otlp_span", micros("start"), micros("end"), nanos, *map(text, names + others))
    return _encoded(rows, request, OTLP_TRACES, "start")


def encode_points(rows: DataFrame) -> DataFrame:
    """Rows of data points as events of OTLP, the inverse of `explode(rows="points")`.

    Each row becomes an event with one export request of one metric with one data point, whose content type is
    `application/x-protobuf; proto=otlp.metrics`. docs/reference/pipeline/events.md says which column becomes which
    field.

    Args:
        rows: Rows with the columns of `explode`, or some of them: `name` and `kind` at least.

    Returns:
        As `encode_logs`.

    Raises:
        ValueError: There is no column `name` or `kind`: the rows are not data points.

    Example:
        >>> points = explode(events_batch(spark, "/data/metrics"), rows="points").where("error IS NULL")
        >>> own = encode_points(points.where("name NOT LIKE 'go_%'"))
        >>> mmapqueue.write(own.select(record(own).alias("value")), "/data/own")
    """
    for column in ("name", "kind"):
        if column not in rows.columns:
            raise ValueError(_not_rows(rows, "points", column))
    sql = _functions(rows)
    text, micros = _Texts(rows), _Micros(rows)
    types = dict(rows.dtypes)

    def number(name: str, type_: str) -> Column:
        found: Column = (sql.col(name) if name in types else sql.lit(None)).cast(type_)
        return found

    names = ("name", "description", "unit", "kind", "temporality", "buckets", "attributes", "resource", "service")
    request = _call(
        rows,
        "otlp_point",
        *(micros("time"), micros("start"), number("value", "double"), number("count", "long"), number("sum", "double")),
        *(number("monotonic", "boolean"), *map(text, (*names, "instance", "scope"))),
    )
    return _encoded(rows, request, OTLP_METRICS, "time")


#: By what `explode` makes.
ENCODERS = {"logs": encode_logs, "spans": encode_spans, "points": encode_points}


def _not_rows(rows: DataFrame, kind: str, column: str) -> str:
    return (
        f"encode: otlp needs rows of {kind}, which have a column {column}; add the filter "
        f"{{type: explode, rows: {kind}}}; columns: {', '.join(rows.columns)}"
    )


class _Texts:
    """The columns of a frame as texts: null for one that is missing, JSON for a struct, map or array."""

    def __init__(self, rows: DataFrame) -> None:
        self._sql = _functions(rows)
        self._types = dict(rows.dtypes)

    def __call__(self, name: str) -> Column:
        sql = self._sql
        structured = self._types.get(name, "").startswith(("struct", "map", "array", "variant"))
        given = sql.to_json(sql.col(name)) if structured else sql.col(name) if name in self._types else sql.lit(None)
        found: Column = given.cast("string")
        return found


class _Micros:
    """The times of a frame in µs since 1970: 0 for one that is missing or null."""

    def __init__(self, rows: DataFrame) -> None:
        self._sql = _functions(rows)
        self._types = dict(rows.dtypes)

    def __call__(self, name: str) -> Column:
        sql = self._sql
        is_time = self._types.get(name, "").startswith("timestamp")
        given = sql.unix_micros(sql.col(name).cast("timestamp")) if is_time else sql.lit(None)
        # An argument of a primitive type must not be null.
        found: Column = sql.coalesce(given, sql.lit(0)).cast("long")
        return found


def _encoded(rows: DataFrame, request: Column, content_type: str, time: str) -> DataFrame:
    """Events of requests, with the columns of the event that the rows have."""
    sql = _functions(rows)
    types = dict(rows.dtypes)
    made = {"data": request, "content_type": sql.lit(content_type)}
    if time != "time" and time in types:
        made["time"] = sql.col(time)
    if "event_name" in types:
        made["name"] = sql.col("event_name")
    if {"id", "index"} <= set(types):
        made["id"] = sql.when(sql.col("id") != "", sql.concat_ws("/", "id", "index"))
    kept = [name for name in ("time", "type", "remote", "meta", "id", "source") if name in types and name not in made]
    positions = [name for name in ("partition", "offset", "index", "pushed") if name in types]
    return rows.select(*kept, *(column.alias(name) for name, column in made.items()), *positions)


def changed_attributes(
    frame: DataFrame, column: str, names: Mapping[str, str | None], more: Column | None = None
) -> Column:
    """A column of JSON objects with members renamed, removed and added. Values stay byte for byte.

    Args:
        frame: Rows with the column.
        column: Name of a column of JSON text. Null counts as an object without members; another text stays.
        names: New names by name, in this order; None removes the member.
        more: A JSON object with members to add or to replace.
    """
    sql = _functions(frame)
    entries = [sql.lit(each) for entry in names.items() for each in entry]
    renamed = sql.create_map(*entries) if entries else sql.from_json(sql.lit("{}"), "map<string,string>")
    text: Column = sql.col("`" + column.replace("`", "``") + "`").cast("string")
    # The function takes one type of maps: values may be null.
    added = sql.lit(None).cast("string") if more is None else more
    return _call(frame, "changed_attributes", text, renamed.cast("map<string,string>"), added)


def _call(frame: DataFrame, function: str, *arguments: Column) -> Column:
    frame.sparkSession.conf.set(f"spark.sql.catalog.{_CATALOG}", _CATALOG_CLASS)
    called: Column = _functions(frame).call_function(f"{_CATALOG}.{function}", *arguments)
    return called


def _functions(frame: DataFrame) -> Any:
    """Spark's functions for columns of a frame: those of Connect, if the session is one of Connect."""
    if type(frame).__module__.startswith("pyspark.sql.connect"):
        from pyspark.sql.connect import functions as remote

        return remote
    from pyspark.sql import functions as local

    return local


def _fields(frame: DataFrame, fields: Fields) -> Column:
    sql = _functions(frame)
    if fields == "json":
        text: Column = sql.col("fields")
        return text
    if fields != "variant":
        raise ValueError(f"fields = {fields!r}; allowed: json, variant")
    version = frame.sparkSession.version
    if int(version.split(".")[0]) < 4:
        raise ValueError(f"fields = 'variant' needs Spark 4, this is {version}; allowed: json")
    variant: Column = sql.try_parse_json(sql.col("fields")).alias("fields")
    return variant
