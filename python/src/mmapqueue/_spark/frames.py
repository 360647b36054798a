"""Spark's DataFrames from and into queues: `format("mmapqueue")`, with its options typed.

Only `real_time_sink` needs a JVM in this process: all else works over Spark Connect as well. docs/reference/spark.md
describes the options.
"""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timezone
from math import ceil
from typing import Any, Literal, TypeAlias

from py4j.protocol import Py4JError

from mmapqueue._jvm.bridge import class_of
from mmapqueue._jvm.jars import how_to_add
from mmapqueue._jvm.names import REAL_TIME_SINK
from mmapqueue._values.annotations import DataFrame, DataFrameWriter, DataStreamWriter, SparkSession, Unpack
from mmapqueue._values.arguments import Size, absolute, size_in_bytes
from mmapqueue._values.configuration import PERIODS, Configuration, check_keywords
from mmapqueue._values.durations import Duration, period_millis, seconds
from mmapqueue._values.errors import JarNotFound

_FORMAT = "mmapqueue"
#: The start of Spark's error for an unknown format.
_UNKNOWN_SOURCE = "Failed to find the data source"
#: Arguments of `write` that an unknown key may have been meant for.
_WRITE_ARGUMENTS = ("partitions", "key", "sync", "push_timeout")
#: Those of `real_time_sink`.
_REAL_TIME_ARGUMENTS = ("checkpoint", "batch", "sync", "push_timeout", "fail_on_data_loss")

Offsets: TypeAlias = str | int | Mapping[int, int]
"""A position: "earliest", "latest", "committed", an offset, or an offset for each partition."""


def read(
    path: str | os.PathLike[str],
    *,
    spark: SparkSession,
    starting_offsets: Offsets | None = None,
    ending_offsets: Offsets | None = None,
    starting_timestamp: datetime | str | int | None = None,
    ending_timestamp: datetime | str | int | None = None,
    consumer: str | None = None,
    min_partitions: int | None = None,
    max_partition_bytes: Size | None = None,
    fail_on_data_loss: bool | None = None,
    on_damage: Literal["error", "skip"] | None = None,
) -> DataFrame:
    """A DataFrame of a queue's or archive's records: value, partition, offset, timestamp. Moves no consumer.

    Args:
        path: The queue's directory, as Spark's driver and executors see it; or an archive, to which many hosts ship:
            its directory, or a URI such as "hdfs://nodes/archive".
        spark: A session, classic or Connect.
        starting_offsets: The first record; by default the oldest that is retained.
        ending_offsets: The offset after the last record; by default the log end at the start of the job.
        starting_timestamp: Instead of starting_offsets: the first record that was pushed then or later. An aware
            datetime, text such as "2026-01-31T12:00:00Z", or milliseconds since 1970.
        ending_timestamp: Instead of ending_offsets: the first record that was pushed then or later; a time in the same
            forms.
        consumer: The consumer that "committed" refers to; by default the default consumer.
        min_partitions: The minimum number of tasks, where there are enough records.
        max_partition_bytes: About the maximum number of bytes of the log for a task, or a string such as "64m".
        fail_on_data_loss: Whether records that are not retained any more are an error; by default they are.
        on_damage: Whether a damaged record is an error, as by default, or is skipped, logged and counted.

    Returns:
        A lazy DataFrame: each action reads, and raises Spark's errors.

    Raises:
        JarNotFound: Spark does not have the jar. Over Connect, an action raises Spark's own error instead.
        ValueError: A datetime has no time zone.
        TypeError: A time is of another type.
    """
    options = {
        "startingOffsets": _offsets(starting_offsets),
        "endingOffsets": _offsets(ending_offsets),
        "startingTimestamp": _instant("starting_timestamp", starting_timestamp),
        "endingTimestamp": _instant("ending_timestamp", ending_timestamp),
        "consumer": consumer,
        "minPartitions": min_partitions,
        "maxPartitionBytes": _bytes("max_partition_bytes", max_partition_bytes),
        "failOnDataLoss": fail_on_data_loss,
        "onDamage": on_damage,
    }
    with _needing_the_jar():
        return spark.read.format(_FORMAT).options(**_given(options)).load(_path(path))


def read_stream(
    path: str | os.PathLike[str],
    *,
    spark: SparkSession,
    name: str | None = None,
    starting_offsets: Offsets | None = None,
    starting_timestamp: datetime | str | int | None = None,
    consumer: str | None = None,
    max_offsets_per_trigger: int | None = None,
    min_offsets_per_trigger: int | None = None,
    max_trigger_delay: Duration | None = None,
    max_bytes_per_trigger: Size | None = None,
    min_partitions: int | None = None,
    max_partition_bytes: Size | None = None,
    fail_on_data_loss: bool | None = None,
    on_damage: Literal["error", "skip"] | None = None,
) -> DataFrame:
    """A streaming DataFrame of a queue's or archive's records, and of those pushed later.

    The query is a consumer: it retains every record that its checkpoint may replay, and acks committed ones.

    Args:
        path: The queue's directory, as Spark's driver and executors see it; or an archive, to which many hosts ship:
            its directory, or a URI such as "hdfs://nodes/archive".
        spark: A session, classic or Connect.
        name: The name of this source in the query's checkpoint: ASCII letters, digits, underscores. A restarted query
            may then read its queues in another order and, from Spark 4.3 on, more or fewer. Needs Spark 4.2, and
            `spark.sql.streaming.queryEvolution.enableSourceEvolution` = true, with which every source of a query has a
            name. Without names a query finds its sources by their order.
        starting_offsets: The first record of a new query; by default the oldest that is retained. A restarted query
            continues from its checkpoint.
        starting_timestamp: Instead of starting_offsets: the first record that was pushed then or later. An aware
            datetime, text such as "2026-01-31T12:00:00Z", or milliseconds since 1970.
        consumer: The consumer's name; by default derived from the checkpoint's location.
        max_offsets_per_trigger: The maximum number of records of a micro-batch.
        min_offsets_per_trigger: The records that a micro-batch waits for, max_trigger_delay at most.
        max_trigger_delay: How long it waits for them at most: seconds, a timedelta, or a string such as "30s".
        max_bytes_per_trigger: About the maximum number of bytes of the log of a micro-batch, or a string such as "64m".
        min_partitions: The minimum number of tasks, where there are enough records.
        max_partition_bytes: About the maximum number of bytes of the log for a task, or a string such as "64m".
        fail_on_data_loss: Whether records that are not there any more are an error; by default they are.
        on_damage: Whether a damaged record is an error, as by default, or is skipped, logged and counted.

    Returns:
        A streaming DataFrame: value, partition, offset, timestamp.

    Raises:
        JarNotFound: Spark does not have the jar. Over Connect, an action raises Spark's own error instead.
        NotImplementedError: A name, and Spark is older than 4.2.
        ValueError: A datetime has no time zone.
        TypeError: A time is of another type.
    """
    options = {
        "startingOffsets": _offsets(starting_offsets),
        "startingTimestamp": _instant("starting_timestamp", starting_timestamp),
        "consumer": consumer,
        "maxOffsetsPerTrigger": max_offsets_per_trigger,
        "minOffsetsPerTrigger": min_offsets_per_trigger,
        "maxTriggerDelay": _milliseconds("max_trigger_delay", max_trigger_delay),
        "maxBytesPerTrigger": _bytes("max_bytes_per_trigger", max_bytes_per_trigger),
        "minPartitions": min_partitions,
        "maxPartitionBytes": _bytes("max_partition_bytes", max_partition_bytes),
        "failOnDataLoss": fail_on_data_loss,
        "onDamage": on_damage,
    }
    reader: Any = spark.readStream.format(_FORMAT).options(**_given(options))
    if name is not None:
        if not hasattr(reader, "name"):
            raise NotImplementedError(
                f"name = {name!r}: sources have names from Spark 4.2 on; an older Spark finds the sources of a"
                " restarted query by their order: read the same queues in the same order, or use another checkpoint"
            )
        reader = reader.name(name)
    with _needing_the_jar():
        frame: DataFrame = reader.load(_path(path))
    return frame


def write(
    frame: DataFrame,
    path: str | os.PathLike[str],
    *,
    partitions: int | None = None,
    key: str | None = None,
    sync: bool | None = None,
    push_timeout: Duration | None = None,
    **configuration: Unpack[Configuration],
) -> None:
    """Pushes the rows of a DataFrame, all or none.

    Args:
        frame: Rows with a column `value`, binary or string.
        path: The queue's directory, as Spark's driver and executors see it; created if missing.
        partitions: The number of partitions of the queue; missing ones are created.
        key: The column with the values that decide the partition; without it rows go round robin.
        sync: Whether the rows are durable when this returns. By default they survive a kill of any process, but not a
            loss of power.
        push_timeout: How long to wait for room: seconds, a timedelta, or a string such as "30s".
        **configuration: Keys for creating and opening the queue; see Configuration.

    Raises:
        JarNotFound: Spark does not have the jar.
        TypeError: A key is unknown.
    """
    check_keywords("write", configuration, _WRITE_ARGUMENTS)
    with _needing_the_jar():
        _writer(
            frame, path, _sink(partitions, key, sync=sync, push_timeout=push_timeout, configuration=configuration)
        ).save()


def write_stream(
    frame: DataFrame,
    path: str | os.PathLike[str],
    *,
    checkpoint: str | os.PathLike[str],
    partitions: int | None = None,
    key: str | None = None,
    sync: bool | None = None,
    push_timeout: Duration | None = None,
    fail_on_data_loss: bool | None = None,
    **configuration: Unpack[Configuration],
) -> DataStreamWriter:
    """A writer that pushes each row of a streaming DataFrame exactly once; `start()` starts the query.

    Args:
        frame: Streaming rows with a column `value`, binary or string.
        path: The queue's directory, as Spark's driver and executors see it; created if missing.
        checkpoint: The directory of the query's checkpoint. A query with another checkpoint is another query.
        partitions: The number of partitions of the queue; missing ones are created.
        key: The column that determines a row's partition; without it rows are distributed round-robin.
        sync: Whether the rows of a committed epoch are durable. By default they survive a kill of any process, but not
            a loss of power.
        push_timeout: The maximum wait for room: seconds, a timedelta, or a string such as "30s".
        fail_on_data_loss: Whether an epoch that was pushed before, and is retried with other rows, is an error; by
            default it is. If not, these rows are dropped, with a line in the log.
        **configuration: Keys for creating and opening the queue; see Configuration.

    Returns:
        Spark's writer, to set trigger, name and output mode. The rows of every mode are appended.

    Raises:
        TypeError: A key is unknown.
    """
    check_keywords("write_stream", configuration, (*_WRITE_ARGUMENTS, "checkpoint", "fail_on_data_loss"))
    options = _sink(partitions, key, sync=sync, push_timeout=push_timeout, configuration=configuration)
    options["checkpointLocation"] = os.fspath(checkpoint)
    options["failOnDataLoss"] = fail_on_data_loss
    writer: DataStreamWriter = frame.writeStream.format(_FORMAT).options(**_given(options))
    return writer.option("path", _path(path))


def real_time_sink(
    rows: DataFrame,
    queue: str | os.PathLike[str],
    *,
    checkpoint: str | os.PathLike[str],
    batch: Duration = "5m",
    sync: bool | None = None,
    push_timeout: Duration | None = None,
    fail_on_data_loss: bool | None = None,
    **configuration: Unpack[Configuration],
) -> DataStreamWriter:
    """A writer that pushes each row of a query in real-time mode exactly once; `start()` starts the query.

        events = mmapqueue.read_stream("/data/events", spark=spark)
        rows = events.selectExpr("upper(CAST(value AS STRING)) AS value", "partition", "offset")
        query = mmapqueue.real_time_sink(rows, "/data/upper", checkpoint="/data/upper.checkpoint").start()

    The queue stores the place of a row's record in its source, `partition` and `offset`, with the row: a task that is
    repeated, also after a kill, pushes no row twice. Filters, projections, joins with a broadcast frame and `explode`
    keep these columns; several rows of one record need `ordinal`, too. Rows that are not in the order of their places
    end the query with an error. The tasks' process must be the only one that has the queue open for writing:
    `local[n]`, or one executor.

    Args:
        rows: Streaming rows with the columns `value` (binary or string), `partition` (int) and `offset` (bigint);
            optionally `ordinal` (int or bigint, 0 to 65535), the number of a row among those of its record, and
            `source` (string, up to 46 letters, digits, "_", "-" or "."), which distinguishes queues of a union. A
            column `timestamp` is ignored.
        queue: The directory of a queue of one partition, as Spark's driver and executors see it; created if missing.
        checkpoint: The directory of the query's checkpoint. A query with another checkpoint is another query.
        batch: How long a batch lasts: seconds, a timedelta, or a string such as "5m"; rows do not wait for its end.
        sync: Whether each row is durable before the next one is read. By default rows are durable when their batch
            ends: they survive a kill of any process, and a loss of power may store rows of the last batch twice.
        push_timeout: The maximum wait for room: seconds, a timedelta, or a string such as "30s".
        fail_on_data_loss: Whether batches that the checkpoint has and the queue has lost are an error; by default they
            are.
        **configuration: Keys for creating and opening the queue; see Configuration.

    Returns:
        Spark's writer, with trigger and output mode, for example to set a name. Do not set another trigger.

    Raises:
        JarNotFound: Spark does not have the jar.
        NotImplementedError: Spark is older than 4.1, or the session is one of Spark Connect.
        TypeError: A key is unknown.
        pyspark.errors.IllegalArgumentException: A column or a value is not allowed.
    """
    check_keywords("real_time_sink", configuration, _REAL_TIME_ARGUMENTS)
    plan: Any = rows
    if not hasattr(plan, "_jdf"):
        raise NotImplementedError("the sink of real-time mode runs in the JVM of the session: not over Spark Connect")
    own: Any = real_time(rows.writeStream, batch)
    sink = class_of(rows.sparkSession, REAL_TIME_SINK)
    options = _sink(None, None, sync=sync, push_timeout=push_timeout, configuration=configuration)
    options["failOnDataLoss"] = fail_on_data_loss
    given = {name: _text(value) for name, value in _given(options).items()}
    own._jwrite = own._jwrite.foreach(sink.of(_path(queue), plan._jdf.schema(), given))
    writer: DataStreamWriter = own.outputMode("update").option("checkpointLocation", os.fspath(checkpoint))
    return writer


def real_time(writer: DataStreamWriter, batch: Duration) -> DataStreamWriter:
    """Sets the trigger of real-time mode: `writer.trigger(realTime=…)`, which PySpark 4.1 lacks.

    Args:
        writer: A writer of a stream that is read from a queue, to a sink that Spark allows in real-time mode.
        batch: How long a batch lasts: seconds, a timedelta, or a string such as "5m"; records do not wait for its end.

    Returns:
        The writer.

    Raises:
        NotImplementedError: Spark is older than 4.1; or it is 4.1 and the session is one of Spark Connect.
    """
    duration = f"{ceil(seconds('batch', batch) * 1000)} milliseconds"
    own: Any = writer  # what follows differs from version to version
    if "realTime" in inspect.signature(writer.trigger).parameters:
        own.trigger(realTime=duration)
        return writer
    trigger: Any = own._spark._jvm.org.apache.spark.sql.streaming.Trigger if hasattr(own, "_jwrite") else None
    try:
        made = trigger.RealTime(duration)
    except (AttributeError, Py4JError):
        raise NotImplementedError("real-time mode begins with Spark 4.1, and over Spark Connect later") from None
    own._jwrite = own._jwrite.trigger(made)
    return writer


@contextmanager
def _needing_the_jar() -> Iterator[None]:
    """Advises what to do when Spark does not know the data source."""
    try:
        yield
    except Exception as error:
        text = str(error)
        if _UNKNOWN_SOURCE in text and f": {_FORMAT}" in text:
            raise JarNotFound(f"Spark does not have the jar of mmapqueue; {how_to_add()}") from None
        raise


def _writer(frame: DataFrame, path: str | os.PathLike[str], options: Mapping[str, object]) -> DataFrameWriter:
    return frame.write.format(_FORMAT).mode("append").options(**_given(options)).option("path", _path(path))


def _sink(
    partitions: int | None,
    key: str | None,
    *,
    sync: bool | None,
    push_timeout: Duration | None,
    configuration: Mapping[str, object],
) -> dict[str, object]:
    return {
        "partitions": partitions,
        "key": key,
        "sync": sync,
        "pushTimeout": _milliseconds("push_timeout", push_timeout),
        **{key: _value(key, value) for key, value in configuration.items()},
    }


def _value(key: str, value: object) -> object:
    """The value of a configuration key in the form that the data source takes."""
    if key in PERIODS and value is not None:
        return f"{period_millis(key, value)}ms"
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _text(value: object) -> str:
    """An option's value as PySpark writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _path(path: str | os.PathLike[str]) -> str:
    """The path in the form that Spark takes: a relative one is relative for Spark's driver, which may run elsewhere."""
    full = absolute("path", path)
    text = os.fspath(path)
    return full if text.startswith("~") else text


def _given(options: Mapping[str, object]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _offsets(offsets: Offsets | None) -> str | None:
    if offsets is None or isinstance(offsets, str):
        return offsets
    if isinstance(offsets, int):
        return str(offsets)
    return json.dumps({str(partition): offset for partition, offset in offsets.items()})


def _instant(name: str, time: datetime | str | int | None) -> str | None:
    if isinstance(time, datetime):
        if time.utcoffset() is None:
            raise ValueError(
                f"{name} = {time!r} has no time zone: use an aware datetime, as datetime.now(timezone.utc)"
            )
        return time.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
    if isinstance(time, bool) or not isinstance(time, str | int | None):
        raise TypeError(
            f"{name} is an aware datetime, text such as '2026-01-31T12:00:00Z', or milliseconds since 1970,"
            f" not {type(time).__name__}"
        )
    return None if time is None else str(time)


def _milliseconds(name: str, duration: Duration | None) -> str | None:
    return None if duration is None else f"{ceil(seconds(name, duration) * 1000)}ms"


def _bytes(name: str, size: Size | None) -> int | None:
    return None if size is None else size_in_bytes(name, size)
