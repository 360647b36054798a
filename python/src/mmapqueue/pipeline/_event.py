"""Encodes events: a header by protobuf, then the payload, appended unchanged."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from mmapqueue.pipeline.event_pb2 import Event, EventType

#: Content types of payloads that have no media type of their own.
OTLP_LOGS = "application/x-protobuf; proto=otlp.logs"
OTLP_TRACES = "application/x-protobuf; proto=otlp.traces"
OTLP_METRICS = "application/x-protobuf; proto=otlp.metrics"
OTLP_PROFILES = "application/x-protobuf; proto=otlp.profiles"

_SEGMENT = 9
_LOG_LIST = 10
_LOGS = 1
_DATA = 1001
_LENGTH_DELIMITED = 2


def encode(
    *,
    type: EventType,  # noqa: A002
    data: bytes = b"",
    content_type: str = "",
    name: str = "",
    time_ms: int | None = None,
    remote: bool = True,
    meta: Mapping[str, str] | None = None,
    segment: bytes | None = None,
    logs: Sequence[bytes] | None = None,
    fields: Mapping[str, Any] | None = None,
    id: str = "",  # noqa: A002
    source: str = "",
) -> bytes:
    """Serializes an `Event`. Payloads are copied once and never parsed. Safe for any number of threads.

    Args:
        type: The type of the event.
        data: The payload, as the client sent it.
        content_type: Media type of `data`.
        name: Name of the event.
        time_ms: Milliseconds since 1970; now, when None.
        remote: Whether senders get the event.
        meta: Metadata of the transport.
        segment: A serialized SkyWalking SegmentObject, in place of `data`.
        logs: Serialized SkyWalking LogData messages, in place of `data`.
        fields: Structured data, of values that JSON has.
        id: Identity that the client gave.
        source: Origin of the event.

    Returns:
        The serialized event.

    Example:
        >>> Event.FromString(encode(type=EventType.LOGGING, data=b"one", content_type="text/plain")).data
        b'one'
    """
    header = Event(
        timestamp=time.time_ns() // 1_000_000 if time_ms is None else time_ms,
        name=name,
        type=type,
        remote=remote,
        meta=meta,
        content_type=content_type,
        id=id,
        source=source,
    )
    if fields is not None:
        header.fields.update(dict(fields))
    # Equal arguments give equal bytes in every process, map entries included, since sinks compare repeated writes.
    parts = [header.SerializeToString(deterministic=True)]
    if segment is not None:
        parts += field(_SEGMENT, segment)
    if logs is not None:
        parts += field(_LOG_LIST, repeated(_LOGS, logs))
    if data:
        parts += field(_DATA, data)
    return b"".join(parts)


def repeated(number: int, messages: Sequence[bytes]) -> bytes:
    """Serializes a message with the single field `repeated bytes` (or messages) of that number."""
    return b"".join(part for message in messages for part in field(number, message))


def data_header(length: int) -> bytes:
    """Tag and length of `Event.data`; bytes of that number must follow."""
    return _varint(_DATA << 3 | _LENGTH_DELIMITED) + _varint(length)


def field(number: int, value: int | bytes) -> tuple[bytes, ...]:
    """The parts of a serialized field: a number that is not negative, or bytes."""
    if isinstance(value, int):
        return _varint(number << 3), _varint(value)
    return _varint(number << 3 | _LENGTH_DELIMITED), _varint(len(value)), value


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
