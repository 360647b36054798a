"""Offsets and seek targets, in the forms of users and of the JVM."""

import sys
from array import array
from datetime import datetime, timedelta, timezone
from typing import Any

from mmapqueue._values.arguments import whole
from mmapqueue._values.errors import ConfigError, Foreign
from mmapqueue._values.message import AnyMessage, Message
from mmapqueue._values.origin import Origin

#: The start or seek target of a consumer: a word, an offset, or the time of a record.
SeekTarget = str | int | datetime

#: The words for the start of a new consumer.
STARTS = ("earliest", "latest")
#: The words for a seek.
SEEKS = (*STARTS, "committed")

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)
_LONG_MAX = 2**63 - 1


def target_text(name: str, value: SeekTarget, words: tuple[str, ...]) -> str:
    """A seek target in the form that the JVM takes.

    Args:
        name: The name of the parameter, for errors.
        value: One of the words, an offset, or an aware datetime.
        words: The allowed words.

    Raises:
        ConfigError: The value is another word.
        ValueError: The datetime is naive.
        TypeError: The value is of another type.
    """
    if isinstance(value, str):
        if value.lower() not in words:
            allowed = f"{', '.join(words[:-1])} or {words[-1]}, an offset, or an aware datetime"
            raise ConfigError(f"{name} = {value!r} is invalid; allowed: {allowed}", name, value, allowed)
        return value.lower()
    if isinstance(value, datetime):
        return f"time:{micros(value)}"
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        allowed = ", ".join(map(repr, words))
        raise TypeError(f"a start or seek target is {allowed}, an int or a datetime, not {type(value).__name__}")
    return f"offset:{as_long(value)}"


def micros(time: datetime) -> int:
    """Microseconds since 1970.

    Raises:
        ValueError: The datetime is naive.
        TypeError: The value is not a datetime.
    """
    if not isinstance(time, datetime):
        raise TypeError(f"a time is an aware datetime, not {type(time).__name__}")
    if time.utcoffset() is None:
        raise ValueError(
            f"{time!r} is naive, and may mean any time zone: give it one, as in time.replace(tzinfo=timezone.utc) or "
            "time.astimezone()"
        )
    return (time - _EPOCH) // _MICROSECOND


def offsets_text(first: int, end: int) -> str:
    """The offsets from the first one up to the end, which is excluded, for messages; without any, the next one."""
    if end <= first:
        return f"next offset {end}"
    return f"offset {first}" if end == first + 1 else f"offsets {first} to {end - 1}"


def as_long(number: int) -> int:
    """An offset cut to 64 bits: the JVM then raises that the nearest offset is out of range."""
    return max(-_LONG_MAX - 1, min(_LONG_MAX, whole("an offset", number)))


def offset_of(what: str, message: AnyMessage | int, origin: Origin) -> int:
    """The offset of a record.

    Args:
        what: The call, for the error.
        message: The record, or its offset.
        origin: The queue and the consumer that the record must come from.

    Raises:
        Foreign: The record is of another queue or consumer.
        TypeError: `message` is neither a message nor an offset.
    """
    if not isinstance(message, Message):
        if isinstance(message, bool) or not hasattr(message, "__index__"):
            raise TypeError(f"{what} takes a message or an offset, not {type(message).__name__}")
        return as_long(message)
    found = message.origin
    # Compared by value, too: the message may have been popped before the queue was closed and opened again.
    if found is not None and found is not origin and found not in (origin, Origin(origin.queue, None)):
        raise Foreign(
            f"{what} by {origin}: the message is of {found}, where offset {message.offset} is a different record"
        )
    return message.offset


def offsets_of(what: str, messages: Any, origin: Origin) -> list[int]:
    """The offsets of records.

    Args:
        what: The call, for the error.
        messages: A RecordBatch or Table; or any number of these, of messages and of offsets.
        origin: The queue and the consumer that the records must come from.

    Raises:
        Foreign: A record is of another queue or consumer.
        TypeError: Something is neither of these.
    """
    column = offset_column(messages)
    if column is not None:
        return offsets_in(column).tolist()
    found: list[int] = []
    for message in messages:
        if type(message) is Message and message.origin is origin:
            found.append(message.offset)
        elif (column := offset_column(message)) is not None:
            found += offsets_in(column)
        else:
            found.append(offset_of(what, message, origin))
    return found


def offset_column(value: object) -> Any:
    """The column of offsets of a RecordBatch or Table, as `pop_arrow` returns them; None for anything else.

    Raises:
        TypeError: The batch has no column of offsets, or one with nulls.
    """
    # Without an import: pyarrow is optional, and already imported where a batch exists.
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is None or not isinstance(value, (pyarrow.RecordBatch, pyarrow.Table)):
        return None
    if len(value.schema.get_all_field_indices("offset")) == 1:
        column = value["offset"]
        if column.type == pyarrow.int64() and not column.null_count:
            return column
    raise TypeError(f"a batch needs a column offset of int64 without nulls, and the columns are {value.schema.names}")


def offsets_in(column: Any) -> "array[int]":
    """The offsets of a column of offsets, read from its buffers: a list of ints is ten times slower."""
    offsets = array("q")
    for chunk in getattr(column, "chunks", [column]):
        if len(chunk):
            offsets.frombytes(memoryview(chunk.buffers()[1])[8 * chunk.offset : 8 * (chunk.offset + len(chunk))])
    return offsets


def last_offset(column: Any) -> int | None:
    """The highest offset of a column of offsets; None for an empty column."""
    from pyarrow import compute

    last: int | None = compute.max(column).as_py()
    return last
