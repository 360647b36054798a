"""The dead-letter queue of a pipe: records that could not be decoded, and rows that could not be sent, as events."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

import mmapqueue
from mmapqueue.pipeline.config import Pipe
from mmapqueue.pipeline.plugins import Size
from mmapqueue.pipeline.process.records import event_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row
    from pyspark.sql.streaming.readwriter import DataStreamWriter

#: Room for what a dead letter says besides its record.
_ENVELOPE = 64 << 10
_RAW = "application/octet-stream"
_LARGEST_EVENT = (1 << 27) - 1
_BYTES = TypeAdapter(Size)


class DeadLetters:
    """Writes dead letters.

    Each is an event. Payload, content type and type are as they were; a record that cannot be decoded is the data of an
    event of type Other. `meta` has reason, pipe, sender, partition and offset besides.

    Attributes:
        directory: The queue.
        batch_bytes: Bytes of the pipe's queue that a micro-batch may hold, so that all of it fits here.
    """

    def __init__(self, pipe: Pipe) -> None:
        if pipe.dead_letter is None:
            raise ValueError(f"pipe {pipe.name} has no dead_letter")
        self.directory: Path = pipe.dead_letter.dir
        keys: dict[str, Any] = pipe.dead_letter.keys()
        keys.setdefault("segment_size", pipe.queue.segment_size)
        segment = _BYTES.validate_python(keys["segment_size"])
        if "queue_capacity_segments" in keys:
            capacity = int(keys["queue_capacity_segments"]) * segment
        else:
            capacity = _BYTES.validate_python(keys.setdefault("capacity", pipe.queue.total))
        # A row as JSON has its bytes in base64.
        largest = 2 * pipe.queue.max_event_size + _ENVELOPE
        keys.setdefault("max_event_size", min(largest, capacity // 2, _LARGEST_EVENT))
        self._keys = keys
        self.batch_bytes = max(1, min(capacity, pipe.queue.total) // 8)

    def write(self, events: DataFrame) -> None:
        """Pushes a column `value` of serialized events: all of them, or none."""
        mmapqueue.write(events, self.directory, **self._keys)

    def stream(self, events: DataFrame, checkpoint: Path) -> DataStreamWriter:
        """A writer that pushes a column `value` of serialized events, each exactly once."""
        return mmapqueue.write_stream(events, self.directory, checkpoint=checkpoint, **self._keys)


def letters(failed: DataFrame, pipe: str) -> DataFrame:
    """Rows with `error` as dead letters, in a column `value`. The same rows give the same bytes.

    Args:
        failed: Rows of `events` or `explode`.
        pipe: Name of the pipe.
    """
    from pyspark.sql import functions as sf

    letter = sf.udf(functools.partial(_letter, pipe), "binary", useArrow=False)
    columns = ("content_type", "data", "type", "meta", "id", "source", "partition", "offset", "error")
    # The time of the push, as an undecodable event has no time of its own.
    return failed.select(letter(sf.struct(*columns, sf.unix_millis("pushed").alias("time_ms"))).alias("value"))


def _letter(pipe: str, row: Row) -> bytes:
    about = {
        "reason": row["error"],
        "pipe": pipe,
        "sender": "",
        "partition": str(row["partition"]),
        "offset": str(row["offset"]),
    }
    return event_of({**row.asDict(), "content_type": row["content_type"] or _RAW}, about)
