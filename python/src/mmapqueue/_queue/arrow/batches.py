"""Records as batches of Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from mmapqueue._jvm import names
from mmapqueue._jvm.lending import HeldRecords
from mmapqueue._values.annotations import RecordBatch
from mmapqueue._values.message import AnyMessage

#: The name of the column with the records.
VALUE = "value"
#: The maximum number of bytes of values in one batch, since positions have 32 bits.
MAX_VALUE_BYTES = 2**31 - 1


@cache
def pyarrow() -> Any:
    """The module pyarrow.

    Raises:
        ImportError: pyarrow is not installed.
    """
    try:
        import pyarrow
        import pyarrow.compute
    except ImportError as error:
        raise ImportError(f"Arrow needs pyarrow: pip install 'mmapqueue[arrow]' ({error})") from error
    return pyarrow


@cache
def schema() -> Any:
    """The schema of batches of records."""
    pa = pyarrow()
    return pa.schema(
        [
            pa.field("offset", pa.int64(), nullable=False),
            pa.field("timestamp", pa.timestamp("us", "UTC")),
            pa.field(VALUE, pa.binary(), nullable=False),
        ]
    )


def record_batch(chunks: Iterable[Sequence[AnyMessage]]) -> RecordBatch:
    """The records of all chunks as one batch; a single chunk of held records is not copied."""
    batches = [_held_batch(chunk) if isinstance(chunk, HeldRecords) else _copied_batch(chunk) for chunk in chunks]
    return joined(batches)


def joined(batches: list[RecordBatch]) -> RecordBatch:
    """One batch of several; copies them unless there is only one."""
    if len(batches) == 1:
        return batches[0]
    if not batches:
        return _copied_batch(())
    return pyarrow().Table.from_batches(batches).combine_chunks().to_batches()[0]


def _held_batch(records: HeldRecords) -> RecordBatch:
    """A batch on the records of a shared buffer, which has Arrow's columns."""
    pa = pyarrow()
    columns = records.columns
    memory: Any
    if records.loan is None:
        memory = pa.py_buffer(records.copied)
    else:
        memory = pa.foreign_buffer(records.loan.address, columns.end, records.loan)

    def column(kind: Any, *positions: tuple[int, int]) -> Any:
        return pa.Array.from_buffers(
            kind, columns.records, [None, *(memory.slice(start, stop - start) for start, stop in positions)]
        )

    timestamp = column(schema().field("timestamp").type, (columns.timestamps, columns.offsets))
    if not columns.has_all_timestamps:
        micros = timestamp.cast(pa.int64())
        timestamp = pa.compute.if_else(pa.compute.equal(micros, 0), None, timestamp)
    # The values array begins with the header of the buffer: positions count from the buffer's start.
    values = column(
        pa.binary(),
        (columns.positions, columns.positions + 4 * (columns.records + 1)),
        (0, names.PAYLOAD + columns.size),
    )
    return pa.RecordBatch.from_arrays(
        [column(pa.int64(), (columns.offsets, columns.end)), timestamp, values], schema=schema()
    )


def _copied_batch(messages: Sequence[AnyMessage]) -> RecordBatch:
    pa = pyarrow()
    micros = pa.array([message.timestamp_micros or None for message in messages], pa.int64())
    return pa.RecordBatch.from_arrays(
        [
            pa.array([message.offset for message in messages], pa.int64()),
            micros.cast(schema().field("timestamp").type),
            pa.array([message.data for message in messages], pa.binary()),
        ],
        schema=schema(),
    )
