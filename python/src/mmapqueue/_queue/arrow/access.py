"""The methods of a queue that push and read Apache Arrow."""

from __future__ import annotations

from collections.abc import Iterator

from mmapqueue._jvm import names
from mmapqueue._queue.arrow.batches import MAX_VALUE_BYTES, joined, pyarrow, schema
from mmapqueue._queue.arrow.columns import value_columns
from mmapqueue._queue.arrow.reading import read_batches, read_records
from mmapqueue._queue.handle import QueueHandle
from mmapqueue._queue.producer import Producer
from mmapqueue._values.annotations import RecordBatch, RecordBatchReader
from mmapqueue._values.arguments import count
from mmapqueue._values.durations import Duration
from mmapqueue._values.errors import TooLarge
from mmapqueue._values.offsets import as_long


class ArrowAccess:
    """The methods of a queue that push Arrow, and read by offset as Arrow. Needs `pip install 'mmapqueue[arrow]'`."""

    _handle: QueueHandle
    _producer: Producer

    def push_arrow(
        self,
        data: object,
        block: bool = True,
        timeout: Duration | None = None,
        *,
        atomic: bool = False,
        sync: bool = False,
    ) -> int:
        """Appends the values of a column of Apache Arrow, in order, each as a record.

        The bytes are copied from Arrow's memory into shared memory, without a Python object for each record.

        Args:
            data: A pyarrow RecordBatch, Table or RecordBatchReader, or an object with `__arrow_c_stream__`, such as a
                DataFrame of polars or pandas. The column is the one with the name "value", or the only one; binary or
                string of any kind, text as UTF-8. No serializer runs. Null values raise ValueError.
            block: Whether to wait for room when the queue is full.
            timeout: The longest to wait in all: seconds, a timedelta, or a text such as "30s"; None for as long as it
                takes.
            atomic: Whether all records become visible together, or none, as in `push_many`.
            sync: Whether to return only when the records are durable, as in `push_many`.

        Every exception has an attribute `pushed`, as from `push_many`.

        Returns:
            The number of pushed records.

        Raises:
            Full: There was no room in time.
            TooLarge: A record is larger than max_event_size, or an atomic batch larger than the queue. All before it
                went in, if not atomic.
            Closed: The queue is closed, or was closed during the wait.
            Poisoned: An earlier failure to write made the queue unsafe to write to.
            ValueError: There are several columns, and none is "value"; or a value is null. Nothing was pushed then,
                except from a stream.
            TypeError: `data` is not Arrow data, or the column is neither binary nor string. Nothing was pushed.
            ImportError: pyarrow is not installed.

        Example:
            >>> queue.push_arrow(pyarrow.table({"value": [b"one", b"two"]}))
            2
        """
        self._handle.check()
        return self._producer.push_columns(value_columns(data), block, timeout, atomic, sync)

    def read_arrow(self, first: int | None = None, end: int | None = None) -> RecordBatch:
        """Reads a range of offsets as one pyarrow RecordBatch, and moves no consumer.

        Up to 4 MiB of data stay where they are in shared memory, as from `pop_arrow`; more is copied into one piece.
        For ranges that exceed the memory, use `iter_arrow`.

        Args:
            first: The first record's offset; None for the log start.
            end: The offset after the last record, as in `range`; None, or any offset above `end_offset`, for the log
                end.

        Returns:
            The records, with columns as from `pop_arrow`; empty when `first` is `end` or the log end. Records that were
            lost before a repair are missing.

        Raises:
            OutOfRange: The first record is not retained any more, or not pushed yet; or a later record was reclaimed
                during the read.
            Corrupt: A record is damaged.
            TooLarge: The range has more than 2 GiB of data.
            Closed: The queue is closed.
            ValueError: `end` is below `first`.
            ImportError: pyarrow is not installed.

        Example:
            >>> queue.push_many([b"one", b"two", b"three"])
            3
            >>> queue.read_arrow(1, 3)["value"].to_pylist()
            [b'two', b'three']
        """
        batches: list[RecordBatch] = []
        size = 0
        for batch in self._batches(first, end, None):
            batches.append(batch)
            size += batch.nbytes
            if size > MAX_VALUE_BYTES:
                raise TooLarge(
                    "read_arrow: the range has more than 2 GiB of data: read it batch by batch, with iter_arrow"
                )
        return joined(batches)

    def iter_arrow(
        self, first: int | None = None, end: int | None = None, *, max_records: int | None = None
    ) -> RecordBatchReader:
        """Reads a range of offsets as a pyarrow RecordBatchReader, one batch at a time, and moves no consumer.

        Args:
            first: The first record's offset; None for the log start.
            end: The offset after the last record, as in `range`; None, or any offset above `end_offset`, for the log
                end at the time of this call.
            max_records: The most records of a batch; None for 4 MiB of data, or a single larger record.

        Returns:
            An iterator over RecordBatches, which DuckDB, polars and pyarrow also read as a stream. Each batch is read
            when it is requested, and raises as `read_arrow`.

        Raises:
            OutOfRange: The first record is not pushed yet.
            Closed: The queue is closed.
            ValueError: `end` is below `first`, or `max_records` below 1.
            ImportError: pyarrow is not installed.

        Example:
            >>> queue.push_many([b"one", b"two", b"three"])
            3
            >>> sum(batch.num_rows for batch in queue.iter_arrow(max_records=2))
            3
        """
        if max_records is not None:
            count("max_records", max_records)
        batches = self._batches(first, end, max_records)
        reader: RecordBatchReader = pyarrow().RecordBatchReader.from_batches(schema(), batches)
        return reader

    def _batches(self, first: int | None, end: int | None, max_records: int | None) -> Iterator[RecordBatch]:
        """The batches of a range, with the bounds checked at the call."""
        pyarrow()
        handle = self._handle
        start: int = handle.call("firstOffset") if first is None else as_long(first)
        stop: int = handle.call("endOffset")
        if start > stop:
            read_records(handle, start, 1)  # Raises OutOfRange.
        if end is not None:
            stop = min(stop, as_long(end))
            if first is not None and as_long(end) < start:
                raise ValueError(f"end = {end}: it must be at least first = {first}")
        return read_batches(handle, start, stop, max_records or names.INT_MAX)
