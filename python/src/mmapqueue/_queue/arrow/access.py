"""Reading ranges of offsets as Apache Arrow."""

from __future__ import annotations

from collections.abc import Iterator

from mmapqueue._jvm import names
from mmapqueue._queue.arrow.batches import MAX_VALUE_BYTES, joined, pyarrow, schema
from mmapqueue._queue.arrow.reading import read_batches, read_records
from mmapqueue._queue.handle import QueueHandle
from mmapqueue._values.annotations import RecordBatch, RecordBatchReader
from mmapqueue._values.errors import TooLarge
from mmapqueue._values.offsets import as_long


def joined_range(handle: QueueHandle, first: int | None, end: int | None) -> RecordBatch:
    """As `Queue.read_arrow`."""
    batches: list[RecordBatch] = []
    size = 0
    for batch in _batches(handle, first, end, None):
        batches.append(batch)
        size += batch.nbytes
        if size > MAX_VALUE_BYTES:
            raise TooLarge("read_arrow: the range has more than 2 GiB of data: read it batch by batch, with iter_arrow")
    return joined(batches)


def batch_reader(handle: QueueHandle, first: int | None, end: int | None, max_records: int | None) -> RecordBatchReader:
    """As `Queue.iter_arrow`, with a limit that is already checked."""
    batches = _batches(handle, first, end, max_records)
    reader: RecordBatchReader = pyarrow().RecordBatchReader.from_batches(schema(), batches)
    return reader


def _batches(handle: QueueHandle, first: int | None, end: int | None, max_records: int | None) -> Iterator[RecordBatch]:
    """The batches of a range, with the bounds checked at the call."""
    pyarrow()
    start: int = handle.call("firstOffset") if first is None else as_long(first)
    stop: int = handle.call("endOffset")
    if start > stop:
        read_records(handle, start, 1)  # Raises OutOfRange.
    if end is not None:
        stop = min(stop, as_long(end))
        if first is not None and as_long(end) < start:
            raise ValueError(f"end = {end}: it must be at least first = {first}")
    return read_batches(handle, start, stop, max_records or names.INT_MAX)
