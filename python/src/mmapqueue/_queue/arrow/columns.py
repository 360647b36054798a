"""Columns of Arrow as records back to back."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any

from mmapqueue._queue.arrow.batches import VALUE, pyarrow


class BinaryColumn:
    """An array of binary or string values, as records. Copies no value.

    Attributes:
        size: Bytes of all values.
    """

    def __init__(self, array: Any) -> None:
        pa = pyarrow()
        wide = pa.types.is_large_binary(array.type) or pa.types.is_large_string(array.type)
        _, positions, values = array.buffers()
        self._array = array
        self._positions = _view(positions).cast("q" if wide else "i")[array.offset : array.offset + len(array) + 1]
        self._values = _view(values)
        self.size: int = self._positions[-1] - self._positions[0] if len(array) else 0

    def __len__(self) -> int:
        return len(self._array)

    def fitting(self, start: int, max_bytes: int, max_records: int) -> int:
        """As `ByteColumn.fitting`."""
        stop = min(len(self), start + max_records)
        return bisect_right(self._positions, self._positions[start] + max_bytes, start + 1, stop + 1) - 1

    def part(self, start: int, stop: int) -> tuple[memoryview, memoryview]:
        """As `ByteColumn.part`."""
        pa = pyarrow()
        lengths = pa.compute.binary_length(self._array.slice(start, stop - start)).cast(pa.int32())
        at = lengths.offset
        return (
            self._values[self._positions[start] : self._positions[stop]],
            _view(lengths.buffers()[1]).cast("I")[at : at + stop - start],
        )


def _view(buffer: Any) -> memoryview:
    """The bytes of a buffer; an empty array may have none."""
    return memoryview(b"" if buffer is None else buffer).cast("B")


def value_columns(data: object) -> Iterator[BinaryColumn]:
    """Yields the column of records in Arrow data, chunk by chunk.

    Args:
        data: A RecordBatch, a Table, a RecordBatchReader, or an object with `__arrow_c_stream__`.

    Raises:
        TypeError: `data` is anything else, or the column is neither binary nor text.
        ValueError: There are several columns, and none is "value", or the column has a null. For a RecordBatch or Table
            this is raised before the first chunk.
    """
    pa = pyarrow()
    found: Any = data
    if isinstance(data, pa.RecordBatch | pa.Table):
        index = _column_index(found.schema)
        arrays = [found.column(index)] if isinstance(data, pa.RecordBatch) else found.column(index).chunks
        yield from map(BinaryColumn, list(_non_null(arrays)))
    elif hasattr(data, "__arrow_c_stream__"):
        try:
            reader = data if isinstance(data, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(data)
        except pa.ArrowInvalid:  # A stream of values, without columns.
            raise _wrong(data) from None
        index = _column_index(reader.schema)
        yield from map(BinaryColumn, _non_null(batch.column(index) for batch in reader))
    else:
        raise _wrong(data)


def _wrong(data: object) -> TypeError:
    return TypeError(
        "push_arrow takes a RecordBatch, a Table, or what exports an Arrow stream, such as a DataFrame, not "
        f"{type(data).__name__}: for an array there is pyarrow.table({{'value': array}}), for an iterable of bytes "
        "push_many"
    )


def _column_index(found: Any) -> int:
    """The index of the column with the records in a schema."""
    indices: list[int] = found.get_all_field_indices(VALUE)
    if len(indices) != 1 and len(found) != 1:
        raise ValueError(
            f"push_arrow: the columns are {', '.join(found.names) or 'none'}; expected a single one, or one "
            f'of the name "{VALUE}": choose it with select'
        )
    index = indices[0] if len(indices) == 1 else 0
    kind = found.field(index).type
    if not _is_plain(kind) and not _is_castable(kind):
        raise TypeError(f"push_arrow: column {found.field(index).name} is {kind}; expected binary or string: cast it")
    return index


def _non_null(arrays: Iterable[Any]) -> Iterator[Any]:
    """The arrays, with values back to back; raises for a null."""
    row = 0
    for array in arrays:
        plain = array if _is_plain(array.type) else _cast(array)
        if plain.null_count:
            first = row + plain.is_null().index(True).as_py()
            raise ValueError(
                f"push_arrow: row {first} is null, and a record is bytes: drop the nulls, or fill them with "
                "pyarrow.compute.fill_null"
            )
        row += len(plain)
        yield plain


def _is_plain(kind: Any) -> bool:
    """Whether an array has its values back to back."""
    types = pyarrow().types
    return bool(
        types.is_binary(kind) or types.is_large_binary(kind) or types.is_string(kind) or types.is_large_string(kind)
    )


def _is_castable(kind: Any) -> bool:
    """Whether an array has binary values that a cast moves together."""
    types = pyarrow().types
    if types.is_dictionary(kind):
        return _is_plain(kind.value_type)
    return bool(types.is_fixed_size_binary(kind) or types.is_binary_view(kind) or types.is_string_view(kind))


def _cast(array: Any) -> Any:
    pa = pyarrow()
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else pa.large_binary()
    return array.cast(kind)
