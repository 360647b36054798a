"""Sender to any HTTP endpoint."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any, ClassVar, Literal
from urllib.parse import quote

from pydantic import model_validator

from mmapqueue.pipeline.config import ClientTls, Url
from mmapqueue.pipeline.process.senders._client import Client
from mmapqueue.pipeline.process.senders._http import HttpConnection
from mmapqueue.pipeline.process.senders._network import NetworkSender
from mmapqueue.pipeline.process.senders._requests import RequestLimits, Row

_NEEDS: dict[str, tuple[str, ...]] = {
    "data": ("data", "content_type"),
    "ndjson": ("json",),
    "cloudevents": ("data", "content_type", "time", "type", "source", "id"),
}
_ONE = RequestLimits(max_records=1)
_CLOUDEVENT = "application/cloudevents+json"
_TEXTS = ("text/", "application/x-ndjson", "application/xml")


class HttpSender(NetworkSender):
    """Sends rows by HTTP.

    Attributes:
        url: http:// or https:// URL.
        method: The method of requests.
        body: `data`: one event a request, its payload and its content type as they came. `ndjson`: rows as JSON, one a
            line. `cloudevents`: events as a batch of CloudEvents (application/cloudevents-batch+json).
        compression: The compression of bodies.
        tls: Certificates, for https.
    """

    needs: ClassVar[tuple[str, ...]] = ()

    type: Literal["http"] = "http"
    url: Url
    method: Literal["POST", "PUT", "PATCH"] = "POST"
    body: Literal["data", "ndjson", "cloudevents"] = "data"
    compression: Literal["none", "gzip"] = "none"
    tls: ClientTls | None = None

    @model_validator(mode="after")
    def _check(self) -> HttpSender:
        if self.body == "data" and "request" in self.model_fields_set:
            raise ValueError("request has no effect with body: data, which sends one event per request")
        if self.tls is not None and not self.url.startswith("https:"):
            raise ValueError("tls has no effect with a URL of http://")
        return self

    def columns(self) -> tuple[str, ...]:
        """As `NetworkSender.columns`."""
        return _NEEDS[self.body]

    def size(self, row: Row) -> int:
        """As `NetworkSender.size`."""
        return len(row["json"]) if self.body == "ndjson" else super().size(row)

    def limits(self, route: str) -> RequestLimits:
        """As `NetworkSender.limits`."""
        return _ONE if self.body == "data" else super().limits(route)

    def client(self) -> Client:
        """As `NetworkSender.client`."""
        return _Client(self)


class _Client:
    def __init__(self, sender: HttpSender) -> None:
        self._sender = sender
        self._http = HttpConnection(sender.headers, sender.tls, sender.compression)

    async def close(self) -> None:
        await self._http.close()

    async def send(self, route: str, rows: Sequence[Row], key: str) -> None:  # noqa: ARG002
        if self._sender.body == "ndjson":
            body, content_type = b"".join(row["json"].encode() + b"\n" for row in rows), "application/x-ndjson"
        elif self._sender.body == "cloudevents":
            queue = key.split("/", 1)[0]
            body = json.dumps([cloud_event(row, queue) for row in rows], ensure_ascii=False).encode()
            content_type = "application/cloudevents-batch+json"
        else:
            # The encoded rows of one record come together, and concatenation merges their requests.
            body = b"".join(bytes(row["data"] or b"") for row in rows)
            content_type = rows[0]["content_type"] or "application/octet-stream"
        await self._http.send(self._sender.method, self._sender.url, body, content_type, key)


def cloud_event(row: Row, queue: str) -> dict[str, Any]:
    """A row as a CloudEvent 1.0. A row that was received as a structured CloudEvent is sent unchanged.

    Args:
        row: A row of the event schema, with `time_ms`.
        queue: Identity of the queue's partition. An event without an id of its own gets `<queue>/<partition>/<offset>`,
            and an encoded row `<queue>/<partition>/<offset>/<index>`.
    """
    data, content_type = bytes(row["data"] or b""), row["content_type"] or ""
    if content_type.startswith(_CLOUDEVENT):
        event: dict[str, Any] = json.loads(data)
        return event
    position = (str(row[name]) for name in ("partition", "offset", "index") if name in row)
    event = {
        "specversion": "1.0",
        "id": row["id"] or "/".join([queue, *position]),
        "source": quote(row["source"] or queue, safe="/:@?&=#%+,;!~*'()[]"),
        "type": row["type"],
    }
    # The attribute is optional, and has no form for years before 1 or after 9999.
    with contextlib.suppress(ValueError, OverflowError, OSError):
        time = datetime.fromtimestamp((row["time_ms"] or 0) / 1000, timezone.utc)
        event["time"] = time.isoformat(timespec="milliseconds")
    if content_type:
        event["datacontenttype"] = content_type
    try:
        if content_type.partition(";")[0].endswith("json"):
            event["data"] = json.loads(data)
        elif content_type.startswith(_TEXTS):
            event["data"] = data.decode()
        else:
            event["data_base64"] = base64.b64encode(data).decode()
    except ValueError:
        event["data_base64"] = base64.b64encode(data).decode()
    return event
