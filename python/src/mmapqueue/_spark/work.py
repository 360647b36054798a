"""A queue's records as the work of a streaming query: each record of a micro-batch gets an outcome."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Protocol
from uuid import uuid4

from mmapqueue._jvm import bridge, names
from mmapqueue._values.annotations import DataFrame, DataStreamWriter, SparkSession
from mmapqueue._values.arguments import Size, absolute, count, name_of, size_in_bytes
from mmapqueue._values.durations import Duration, delay_micros
from mmapqueue._values.functions import eager, unfinished

#: The columns of outcomes and their types, in the order in which the JVM expects them.
_COLUMNS = {"partition": "int", "offset": "bigint", "outcome": "string", "delay": "double", "reason": "string"}
_REQUIRED = ("offset", "outcome")
_EXPECTED = "a DataFrame of offset and outcome, or 'ack', 'nack' or 'dead-letter' for all of its records"
_EAGER = f"a handler returns {_EXPECTED}"


class _OpenQueue(Protocol):
    path: str


def process_stream(
    spark: SparkSession,
    queue: str | os.PathLike[str] | _OpenQueue,
    handle_batch: Callable[[DataFrame], DataFrame | str],
    *,
    consumer: str = "default",
    max_records: int = 10_000,
    max_bytes: Size = "64m",
    min_partitions: int | None = None,
    retry_delay: Duration | None = None,
) -> DataStreamWriter:
    """A streaming query that calls a handler with micro-batches of records, and gives each record its own outcome.

    A consumer pops the records, as with `process`, and Spark's executors read them. The handler gets a DataFrame with
    the columns value, partition, offset, timestamp, and attempt, the number of this delivery. It returns a DataFrame
    with a row for each record:

        offset      The record. Also partition, if the queue has several.
        outcome     "ack"; "nack" to have it redelivered; "dead-letter" to move it to the queue in dead_letter_dir.
        delay       Optional: the seconds before a nacked record is redelivered.
        reason      Optional: why it is a dead letter, for the log.

    The returned DataFrame is computed once, by the executors. A string is the outcome of all records. A record without
    an outcome is redelivered, and a line in the log counts these records. Redelivered records come with later
    micro-batches, also if nothing new is pushed.

    Outcomes are durable before Spark commits the micro-batch. A kill of any process, an exception of the handler or a
    stop redelivers the records that had none, with an attempt more. An exception ends the query, and all records of the
    micro-batch are redelivered. So does an outcome of a record that is not in the micro-batch, and two different ones
    for one record.

    The consumer knows which records are left, so the query needs no checkpoint. With the trigger availableNow a query
    delivers each record that exists at its start at most once, and ends.

    Args:
        spark: A classic session: the driver runs in this process, on the queue's host.
        queue: The directory of the queue, or of its partitions; or a queue that was opened with `spark`, so that its
            max_attempts and dead_letter_dir apply.
        handle_batch: Called in the driver with each micro-batch that has records, one after the other.
        consumer: The consumer, which is created at the oldest retained record. It belongs to one query at a time.
        max_records: The maximum number of records of a micro-batch.
        max_bytes: The maximum number of bytes of data of a micro-batch, or a string such as "16m"; the first record may
            be larger.
        min_partitions: The minimum number of tasks that read a micro-batch, where there are enough records.
        retry_delay: The delay of redelivery of nacked records without a delay, and of records without an outcome:
            seconds, a timedelta, or a string such as "30s". By default 0.1 s after the first attempt, doubled with each
            further one, 60 s at most.

    Returns:
        Spark's writer, to set trigger and name; `start()` starts the query. Each query needs a call of its own.

    Raises:
        JarNotFound: Spark does not have the jar.
        MmapQueueError: The session is one of Spark Connect.
        ValueError: The queue is closed, or was not opened with `spark`.
        TypeError: The handler cannot be called, or is an async function or a generator function.

    Example:
        def send(batch):
            outcome = "CASE WHEN value = 'to: nobody' THEN 'nack' ELSE 'ack' END AS outcome"
            return batch.selectExpr("offset", outcome, "60 AS delay")

        query = mmapqueue.process_stream(spark, "/data/mails", send).start()
    """
    eager("handle_batch", handle_batch, _EAGER)
    work = bridge.class_of(spark, names.WORK)
    identity = uuid4().hex
    options: dict[str, Any] = {
        "id": identity,
        "consumer": name_of("consumer", consumer),
        "maxRecords": count("max_records", max_records),
        "maxBytes": size_in_bytes("max_bytes", max_bytes),
        "minPartitions": None if min_partitions is None else count("min_partitions", min_partitions),
        "retryMicros": None if retry_delay is None else delay_micros("retry_delay", retry_delay),
    }
    if isinstance(queue, str | os.PathLike):
        path = absolute("queue", queue)
    else:
        path = queue.path
        if not bridge.is_open(spark, path):
            raise ValueError(f"{queue!r} is not open in the JVM of this session: open it with spark=spark")
    frame = (
        spark.readStream.format(names.WORK_SOURCE)
        .options(**{name: value for name, value in options.items() if value is not None})
        .load(path)
    )
    writer: Any = frame.writeStream
    return writer.foreachBatch(_Handling(work, identity, handle_batch, queue))  # type: ignore[no-any-return]


class _Handling:
    """What Spark calls with each micro-batch. It keeps the queue open, so that the queue's configuration stays."""

    def __init__(self, work: Any, identity: str, handler: Callable[[DataFrame], object], queue: object) -> None:
        self._work = work
        self._identity = identity
        self._handler = handler
        self._queue = queue

    def __call__(self, batch: DataFrame, _number: int) -> None:
        # A micro-batch that a restart repeats is empty: its records come again later.
        if not self._work.begin(self._identity):
            return
        result: Any = self._handler(batch)
        if isinstance(result, str):
            self._work.settleAll(self._identity, result)
        elif hasattr(result, "_jdf"):
            self._work.settle(self._identity, _outcomes(result)._jdf)
        else:
            raise unfinished("handler", self._handler, result, _EAGER) or TypeError(
                f"the handler {self._handler!r} returned {result!r:.100}, and not {_EXPECTED}"
            )


def _outcomes(frame: Any) -> Any:
    """The columns that the JVM expects."""
    given: Mapping[str, str] = {name.lower(): name for name in frame.columns}
    unknown = [name for lower, name in given.items() if lower not in _COLUMNS]
    missing = [name for name in _REQUIRED if name not in given]
    if unknown or missing:
        raise ValueError(
            f"outcomes have the columns {', '.join(frame.columns)}; "
            f"required: {', '.join(_REQUIRED)}; allowed: {', '.join(_COLUMNS)}"
        )
    return frame.selectExpr(
        *(f"CAST({f'`{given[name]}`' if name in given else 'NULL'} AS {kind})" for name, kind in _COLUMNS.items())
    )
