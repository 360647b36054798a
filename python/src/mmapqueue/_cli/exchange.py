"""Files of records: Parquet, and JSON lines.

A file has the columns, or keys, offset, timestamp and value. In JSON, a value that is not UTF-8 is `value_base64`.
"""

import binascii
import errno
import json
import os
import sys
from base64 import b64decode
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from mmapqueue._cli import framing
from mmapqueue._cli.output import json_text
from mmapqueue._cli.records import record_object
from mmapqueue._values.errors import ConfigError, MmapQueueError
from mmapqueue._values.message import AnyMessage

STANDARD = "-"
_STDIN_FILE = 0
_SUFFIXES = {".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}
#: The maximum number of records and bytes that are read at a time.
_MOST_ROWS = 10_000
_MOST_BYTES = 4 << 20


class Format(str, Enum):
    """The format of a file."""

    PARQUET = "parquet"
    JSON_LINES = "jsonl"


class Rows(NamedTuple):
    """Records of a file.

    Attributes:
        values: The records.
        offsets: The offset of each record in the file; None where the file has none.
    """

    values: list[bytes]
    offsets: list[int | None]


def format_of(file: str) -> Format:
    """The format for a file's name; JSON lines for stdin and stdout.

    Raises:
        ConfigError: The name has no known suffix.
    """
    found = "jsonl" if file == STANDARD else _SUFFIXES.get(Path(file).suffix.lower())
    if found is None:
        allowed = f"a name that ends in {', '.join(_SUFFIXES)}; or - for JSON lines"
        raise ConfigError(f"FILE = {file!r} is invalid; allowed: {allowed}", "FILE", file, allowed)
    return Format(found)


def write(batches: Iterable[list[AnyMessage]], file: Path | None) -> Iterator[int]:
    """Writes records; yields the number of records that each step has written. At the end, the file is durable.

    Args:
        batches: The records.
        file: The file, made anew; None for JSON lines to stdout.

    Raises:
        ImportError: The file is Parquet, and pyarrow is not installed.
        MmapQueueError: A record cannot be read. The file is then missing, or unchanged.
        OSError: The file cannot be written; likewise.
    """
    if file is None:
        yield from _write_json(batches, sys.stdout)
        return
    if not file.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(file.parent))
    partial = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        if format_of(file.name) is Format.PARQUET:
            yield from _write_parquet(batches, partial)
        else:
            with partial.open("w", encoding="utf-8") as stream:
                yield from _write_json(batches, stream)
        _sync(partial)
        partial.replace(file)
        with suppress(OSError):  # Some file systems do not fsync directories, and some directories are not readable.
            _sync(file.parent)
    finally:
        partial.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _write_json(batches: Iterable[list[AnyMessage]], stream: TextIO) -> Iterator[int]:
    for messages in batches:
        lines = [json_text(record_object(message), stream) for message in messages]
        stream.write("\n".join(lines) + "\n")
        yield len(lines)


def _write_parquet(batches: Iterable[list[AnyMessage]], file: Path) -> Iterator[int]:
    import pyarrow
    import pyarrow.parquet

    time = pyarrow.timestamp("us", "UTC")
    fields = [("offset", pyarrow.int64()), ("timestamp", time), ("value", pyarrow.binary())]
    with pyarrow.parquet.ParquetWriter(file, pyarrow.schema(fields), compression="zstd") as writer:
        for messages in batches:
            micros = [message.timestamp_micros or None for message in messages]
            columns = {
                "offset": [message.offset for message in messages],
                "timestamp": pyarrow.array(micros, pyarrow.int64()).cast(time),
                "value": [message.data for message in messages],
            }
            writer.write_batch(pyarrow.record_batch(columns, schema=writer.schema))
            yield len(messages)


def read(file: str) -> Iterator[Rows]:
    """The records of a file, in batches; of a pipe, before each wait, those that have come, and an empty batch.

    Raises:
        ImportError: The file is Parquet, and pyarrow is not installed.
        MmapQueueError: The file is of another form; the records before were returned.
        OSError: The file cannot be read.
    """
    if format_of(file) is Format.PARQUET:
        yield from _read_parquet(file)
    else:
        name = "stdin" if file == STANDARD else file
        # Not a stream of Python, whose lines end where a pipe that does not block has none for the moment.
        with FileIO(_STDIN_FILE, closefd=False) if file == STANDARD else FileIO(file) as stream:
            yield from _read_json(name, framing.batches(framing.chunks(stream), framing.Lines(name, sys.maxsize)))


def _read_parquet(file: str) -> Iterator[Rows]:
    import pyarrow
    import pyarrow.parquet

    with Path(file).open("rb") as stream, _parquet_errors(file):
        parquet = pyarrow.parquet.ParquetFile(stream)
        names = parquet.schema_arrow.names
        if "value" not in names:
            raise MmapQueueError(f"{file} has no column value, but {', '.join(names) or 'none'}")
        columns = [name for name in ("offset", "value") if name in names]
        groups = [parquet.metadata.row_group(index).total_byte_size for index in range(parquet.metadata.num_row_groups)]
        most = max(1, min(_MOST_ROWS, _MOST_BYTES * parquet.metadata.num_rows // (sum(groups) + 1)))
        row = 0
        for batch in parquet.iter_batches(most, columns=columns):
            values = batch.column("value").to_pylist()
            good = list(_as_bytes(values))
            offsets = batch.column("offset").to_pylist() if "offset" in names else [None] * len(values)
            yield Rows(good, offsets[: len(good)])
            row += len(good)
            if len(good) < len(values):
                raise MmapQueueError(
                    f"{file}: row {row + 1} of column value is {values[len(good)]!r}, not bytes or text"
                )


@contextmanager
def _parquet_errors(file: str) -> Iterator[None]:
    """Turns what pyarrow raises for a damaged file into MmapQueueError."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, UnicodeError) as error:
        raise MmapQueueError(f"{file} is not Parquet: {error}") from None


def _as_bytes(values: Iterable[Any]) -> Iterator[bytes]:
    """The values up to the first one that is neither bytes nor text."""
    for value in values:
        if isinstance(value, str):
            yield value.encode()
        elif isinstance(value, bytes):
            yield value
        else:
            return


def _read_json(name: str, batches: Iterable[list[bytes]]) -> Iterator[Rows]:
    rows, size, number = Rows([], []), 0, 0
    for lines in batches:
        for line in lines:
            number += 1
            try:
                value, offset = _parsed(line)
            except (ValueError, RecursionError) as error:
                yield rows
                raise MmapQueueError(f"{name}: line {number} is not a record: {_reason(error)}") from None
            rows.values.append(value)
            rows.offsets.append(offset)
            size += len(value)
            if len(rows.values) == _MOST_ROWS or size >= _MOST_BYTES:
                yield rows
                rows, size = Rows([], []), 0
        if not lines:
            if rows.values:
                yield rows
                rows, size = Rows([], []), 0
            yield rows
    yield rows


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "its JSON is nested too deeply"
    return f"{error.msg} at character {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)


def _parsed(line: bytes) -> tuple[bytes, int | None]:
    """The record and the offset of a line; raises ValueError for any other JSON."""
    found = json.loads(line.decode())
    if not isinstance(found, dict):
        raise ValueError(f"expected an object, found {type(found).__name__}")
    offset = found.get("offset")
    if not (offset is None or type(offset) is int):
        raise ValueError(f"offset is {offset!r}, not a number")
    text, encoded = found.get("value"), found.get("value_base64")
    if isinstance(text, str) and encoded is None:
        return text.encode(), offset
    if isinstance(encoded, str) and text is None:
        try:
            return b64decode(encoded, validate=True), offset
        except binascii.Error as error:
            raise ValueError(f"value_base64 is not base64: {error}") from None
    raise ValueError("expected one of value and value_base64, a string")
