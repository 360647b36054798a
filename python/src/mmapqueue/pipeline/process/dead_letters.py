"""The dead-letter queue of a pipe: records that could not be decoded, and rows that could not be sent, as events."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

import mmapqueue
from mmapqueue.pipeline.config import Pipe
from mmapqueue.pipeline.plugins import Size
from mmapqueue.pipeline.process.columns import TYPES
from mmapqueue.pipeline.process.events import record

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

#: Bytes reserved for the fields of a dead letter besides its record.
_ENVELOPE = 64 << 10
_RAW = "application/octet-stream"
#: Entry of `meta`: what the data is, if it is not that of an event: the whole record, or a row as JSON.
FORM = "form"
RECORD, ROW = "record", "row"
#: The entries of `meta` that make an event a dead letter.
ABOUT = ("reason", "pipe", "sender", "partition", "offset", FORM)
_LARGEST_EVENT = (1 << 27) - 1
_BYTES = TypeAdapter(Size)


class DeadLetters:
    """Writes dead letters.

    Each dead letter is an event. Payload, content type and type are unchanged; a record that cannot be decoded is the
    data of an event of type Other. `meta` additionally has reason, pipe, sender, partition and offset, and `form` if
    the data is not an event's: `record`, or `row`.

    Attributes:
        directory: The queue.
        batch_bytes: The maximum number of bytes of the pipe's queue in a micro-batch, so that all of it fits into this
            queue.
    """

    def __init__(self, pipe: Pipe) -> None:
        settings = pipe.dead_letters
        if settings is None:
            raise ValueError(f"pipe {pipe.name} has no dead-letter queue")
        self.directory: Path = settings.dir
        keys: dict[str, Any] = settings.keys()
        keys.setdefault("segment_size", pipe.queue.segment_size)
        segment = _BYTES.validate_python(keys["segment_size"])
        if "queue_capacity_segments" in keys:
            capacity = int(keys["queue_capacity_segments"]) * segment
        else:
            capacity = _BYTES.validate_python(keys.setdefault("capacity", pipe.queue.total))
        # Bytes of a row are in base64 when it is JSON.
        largest = 2 * pipe.queue.max_event_size + _ENVELOPE
        keys.setdefault("max_event_size", min(largest, capacity // 2, _LARGEST_EVENT))
        self._keys = keys
        self.batch_bytes = max(1, min(capacity, pipe.queue.total) // 8)

    def write(self, events: DataFrame) -> None:
        """Pushes a column `value` of serialized events, durably: all of them, or none."""
        mmapqueue.write(events, self.directory, sync=True, **self._keys)

    def stream(self, events: DataFrame, checkpoint: Path) -> DataStreamWriter:
        """A writer that pushes a column `value` of serialized events, each exactly once."""
        return mmapqueue.write_stream(events, self.directory, checkpoint=checkpoint, sync=True, **self._keys)


def letters(failed: DataFrame, pipe: str) -> DataFrame:
    """Rows with `error` as dead letters, in a column `value`. The same rows give the same bytes.

    Args:
        failed: Rows of `events` or `explode`.
        pipe: Name of the pipe.
    """
    from pyspark.sql import functions as sf

    # The time of the push, since an undecodable event has no time of its own.
    rows = failed.withColumn("time", sf.col("pushed")).withColumn("sender", sf.lit(""))
    # A record that cannot be decoded has nothing of an event.
    rows = rows.withColumn(FORM, sf.when(sf.col("type").isNull(), RECORD))
    content_type = sf.when(sf.col("content_type") != "", sf.col("content_type")).otherwise(_RAW)
    return serialized(rows.withColumn("content_type", content_type).withColumnRenamed("error", "reason"), pipe)


def serialized(rows: DataFrame, pipe: str) -> DataFrame:
    """Dead letters in a column `value`.

    Args:
        rows: Rows with columns of the event schema, `partition`, `offset`, `reason`, `sender` and `form`.
        pipe: Name of the pipe.
    """
    from pyspark.sql import functions as sf

    about = {
        "reason": sf.col("reason"),
        "pipe": sf.lit(pipe),
        "sender": sf.col("sender"),
        "partition": sf.col("partition").cast("string"),
        "offset": sf.col("offset").cast("string"),
        FORM: sf.col(FORM).cast("string"),
    }
    entries = sf.create_map(*(each for key, value in about.items() for each in (sf.lit(key), value)))
    entries = sf.map_filter(entries, lambda _key, value: value.isNotNull())
    empty = sf.from_json(sf.lit("{}"), TYPES["meta"])
    meta = sf.coalesce(sf.col("meta").cast(TYPES["meta"]), empty)
    # A dead letter that is dead-lettered again has these entries, and a map has each key once.
    kept = sf.map_filter(meta, lambda key, _value: ~key.isin(*ABOUT))
    letter = rows.withColumn("meta", sf.map_concat(kept, entries))
    return letter.select(record(letter).alias("value"))


def as_events(rows: DataFrame) -> DataFrame:
    """The columns of an event, its position, `form` and `reason`. Rows that are not events become the data of one."""
    from pyspark.sql import functions as sf

    present = rows.columns
    whole = {"data", "content_type"} <= set(present)
    columns = {name: sf.col(name) for name in TYPES if whole and name in present}
    if not whole:
        columns["data"] = sf.to_json(sf.struct(*(name for name in present if name != "reason")))
        columns["content_type"] = sf.lit("application/json")
    has_time = "time" in present and dict(rows.dtypes)["time"] == "timestamp"
    columns["time"] = sf.col("time") if has_time else sf.lit(None)
    events = [columns.get(name, sf.lit(None)).cast(type_).alias(name) for name, type_ in TYPES.items()]
    position = (sf.col("partition").cast("int"), sf.col("offset").cast("bigint"))
    form = sf.lit(None if whole else ROW).alias(FORM)
    return rows.select(*position, form, *(["reason"] if "reason" in present else []), *events)
