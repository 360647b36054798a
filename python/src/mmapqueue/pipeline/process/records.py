"""Rows of the event schema as serialized events, for queues and for other pipelines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mmapqueue.pipeline._event import encode, repeated
from mmapqueue.pipeline.event_pb2 import EventType

#: Columns of an event's row that `event_of` reads. `time_ms` is the time in milliseconds since 1970.
COLUMNS = ("time", "name", "type", "remote", "meta", "content_type", "data", "fields", "id", "source")

SEGMENT = "application/x-protobuf; proto=skywalking.segment"
LOGS = "application/x-protobuf; proto=skywalking.logs"

_LOG_LIST = 10
_TYPES = {
    "CLR": EventType.CLR,
    "JVM": EventType.JVM,
    "Metrics": EventType.METRICS,
    "Tracing": EventType.TRACING,
    "Logging": EventType.LOGGING,
    "Management": EventType.MANAGEMENT,
    "Profile": EventType.PROFILE,
    "ServiceMesh": EventType.SERVICE_MESH,
    "Event": EventType.EVENT,
    "Other": EventType.OTHER,
}


def type_of(name: str | None) -> Any:
    """Number of a type by its text, `Type<n>` included; OTHER for any other text."""
    if name is None:
        return EventType.OTHER
    known = _TYPES.get(name)
    if known is not None:
        return known
    number = name.removeprefix("Type")
    return int(number) if name != number and number.isdigit() else EventType.OTHER


def event_of(row: Mapping[str, Any], extra: Mapping[str, str] | None = None) -> bytes:
    """Serializes a row of the event schema. Equal rows give equal bytes.

    Args:
        row: Values by column: `data` and `content_type`, and what there is of `COLUMNS`; `time_ms` for the time.
        extra: Further entries of `meta`.

    Returns:
        The serialized `Event`. SkyWalking's segments and logs go into the fields that Satellite has for them.
    """
    content_type, data = row.get("content_type") or "", row.get("data") or b""
    meta = dict(row.get("meta") or ())
    meta.update(extra or {})
    fields = row.get("fields")
    header: dict[str, Any] = {
        "type": type_of(row.get("type")),
        "name": row.get("name") or "",
        "time_ms": row.get("time_ms") or 0,
        "remote": row.get("remote") is not False,
        "meta": meta,
        "fields": json.loads(fields) if isinstance(fields, str) and fields else None,
        "id": row.get("id") or "",
        "source": row.get("source") or "",
    }
    if content_type == SEGMENT:
        return encode(segment=data, **header)
    if content_type == LOGS:
        return encode(**header) + repeated(_LOG_LIST, [data])
    return encode(content_type=content_type, data=data, **header)
