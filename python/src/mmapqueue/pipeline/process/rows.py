"""The rows of a pipe, from its queue to its senders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from mmapqueue.pipeline.config import Pipe
from mmapqueue.pipeline.plugins import Batch, Filter, Sender
from mmapqueue.pipeline.process import damage
from mmapqueue.pipeline.process.dead_letters import as_events, letters, serialized
from mmapqueue.pipeline.process.events import ENCODERS, events
from mmapqueue.pipeline.process.undecodable import observed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_EXPLODE = "explode"
#: Selects rows of a sender that it can never write, with a column `reason`.
Refused: TypeAlias = "Callable[[DataFrame], DataFrame]"


def sent_rows(spark: SparkSession, pipe: Pipe, sender: Sender, *, batch_bytes: int | None = None) -> DataFrame:
    """The rows of a sender: decoded events with remote = true, after the filters.

    With `on_undecodable: drop` the progress of each micro-batch has the number of rows with an error, and with
    `on_damage: skip` the number of records that were read.

    Args:
        spark: The session.
        pipe: The pipe.
        sender: One of its senders.
        batch_bytes: The maximum number of bytes of the queue in a micro-batch, if the configuration sets none.
    """
    drops = pipe.on_undecodable == "drop"
    frame = _events(spark, pipe, sender.name, sender.bounded, batch_bytes)
    if pipe.on_damage == "skip":
        frame = damage.observed(frame)
    frame = (observed(frame) if drops else frame).where("error IS NULL AND remote").drop("error")
    return _filtered(frame, pipe, sender, observes=drops)


def _filtered(frame: DataFrame, pipe: Pipe, sender: Sender, *, observes: bool = False) -> DataFrame:
    """Events after the pipe's filters and the sender's condition, encoded as the sender says."""
    for step, each in enumerate(pipe.filters, 1):
        if each.type == _EXPLODE:
            rows = each.apply(_with_error(frame))
            # `data` is the payload that could not be exploded.
            frame = (observed(rows, step) if observes else rows).where("error IS NULL").drop("error", "data")
        else:
            frame = each.apply(frame)
    frame = frame if sender.where is None else frame.where(sender.where)
    return frame if sender.encode is None else ENCODERS[pipe.exploded or "logs"](frame)


def dead_rows(
    spark: SparkSession, pipe: Pipe, consumer: str, refused: Mapping[str, Refused], *, batch_bytes: int
) -> DataFrame:
    """The dead letters of a pipe in a column `value`: what senders do not get, and what they can never write.

    The progress of each micro-batch has the number of records and payloads that cannot be decoded.

    Args:
        spark: The session.
        pipe: The pipe.
        consumer: Name of the consumer.
        refused: Selects the rows that a sender can never write, by the sender's name.
        batch_bytes: The maximum number of bytes of the queue in a micro-batch.
    """
    from pyspark.sql import functions as sf

    frame = _events(spark, pipe, consumer, Batch(max_bytes=batch_bytes), None)
    found = letters(_failed_rows(frame, pipe), pipe.name)
    for sender in pipe.senders:
        if sender.name in refused:
            events = _filtered(frame.where("error IS NULL AND remote").drop("error"), pipe, sender)
            rows = refused[sender.name](events)
            letter = as_events(rows).withColumn("sender", sf.lit(sender.name))
            found = found.unionByName(serialized(letter, pipe.name))
    return found


def _failed_rows(frame: DataFrame, pipe: Pipe) -> DataFrame:
    """Rows with `error`, of records that could not be decoded and of payloads that could not be exploded."""
    frame = frame.where("error IS NOT NULL OR remote")
    filters = list(pipe.filters[: _last_explode(pipe.filters) + 1])
    if filters and filters[0].type == _EXPLODE:
        # An event with an error keeps it.
        frame = filters.pop(0).apply(frame)
    failed = _failed(frame)
    frame = frame.where("error IS NULL")
    for each in filters:
        frame = frame.drop("error")
        if each.type == _EXPLODE:
            frame = each.apply(_with_error(frame))
            failed = failed.unionByName(_failed(frame))
            frame = frame.where("error IS NULL")
        else:
            frame = each.apply(frame)
    return observed(failed)


def _with_error(frame: DataFrame) -> DataFrame:
    """Rows without errors, with a null column `error`, which `explode` reads."""
    from pyspark.sql import functions as sf

    return frame.withColumn("error", sf.lit(None).cast("string"))


def _failed(frame: DataFrame) -> DataFrame:
    columns = ("content_type", "data", "type", "meta", "id", "source", "partition", "offset", "error", "pushed")
    return frame.where("error IS NOT NULL").select(*columns)


def _last_explode(filters: tuple[Filter, ...]) -> int:
    found = [position for position, each in enumerate(filters) if each.type == _EXPLODE]
    return found[-1] if found else -1


def _events(spark: SparkSession, pipe: Pipe, consumer: str, batch: Batch, batch_bytes: int | None) -> DataFrame:
    source: dict[str, Any] = {
        "on_damage": pipe.on_damage,
        "max_offsets_per_trigger": batch.max_records,
        "max_bytes_per_trigger": min(filter(None, (batch.max_bytes, batch_bytes)), default=None),
    }
    if pipe.queue.max_consumer_lag or pipe.queue.max_age:
        # What the queue drops for a sender that lags is lost as configured: an error would come again at each restart.
        source["fail_on_data_loss"] = False
    if pipe.on_full == "overflow":
        # The consumer is older than the query, and the oldest record of the ring may be after its position.
        source["starting_offsets"] = "committed"
    if batch.min_records > 1:
        source["min_offsets_per_trigger"] = batch.min_records
        source["max_trigger_delay"] = batch.longest_wait
    return events(spark, pipe.queue.dir, consumer=consumer, **source)
