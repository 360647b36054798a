"""HTTP: a POST request is one event; CloudEvents keep their identity."""

import json
from collections.abc import Mapping
from typing import Annotated, Literal
from urllib.parse import unquote

from pydantic import Field

from mmapqueue.pipeline._event import encode
from mmapqueue.pipeline.event_pb2 import EventType
from mmapqueue.pipeline.gather.identity import identity, identity_by_ids, ids_of_json
from mmapqueue.pipeline.gather.wire import Malformed
from mmapqueue.pipeline.plugins import Host, HttpError, HttpReply, HttpRequest, Receiver

_CLOUD_EVENT = "application/cloudevents+json"
_ATTRIBUTE = "ce-"
_VERSION = "ce-specversion"
EventName = Literal["logging", "tracing", "metrics", "event", "other"]
_TYPES: dict[EventName, EventType] = {
    "logging": EventType.LOGGING,
    "tracing": EventType.TRACING,
    "metrics": EventType.METRICS,
    "event": EventType.EVENT,
    "other": EventType.OTHER,
}
_REQUIRED = ("id", "source", "type", "specversion")


class HttpReceiver(Receiver):
    """Takes POST requests: NDJSON, CloudEvents or anything else. A request is one event, byte for byte as it was sent.

    CloudEvents in binary mode (headers `ce-…`) have their attributes in `meta`, and their id becomes the event's id.
    Those in structured mode pass on their id, too; a batch has none.

    Attributes:
        server: Name of an HTTP server.
        path: The path of the POST requests.
        event: Type of the events: logging, tracing, metrics, event or other.
        content_types: The accepted media types; empty for all.
        id_header: Header with the identity of a request, for instance Idempotency-Key.
        headers: Headers that are kept in `meta`.
        key_fields: Members of JSON, or attributes of CloudEvents, whose values identify an event: the key of requests
            without the header Idempotency-Key.
    """

    type: Literal["http"] = "http"
    server: str
    path: Annotated[str, Field(pattern=r"^/[A-Za-z0-9_.~:@!$&'()*+,;=%/-]*$")] = "/"
    event: EventName = "logging"
    content_types: tuple[str, ...] = ()
    id_header: str | None = None
    headers: tuple[str, ...] = ()
    key_fields: tuple[str, ...] = ()

    @property
    def makes(self) -> tuple[str, ...] | None:
        """As `Source.makes`."""
        return self.content_types or None

    async def start(self, host: Host) -> None:
        """Registers with the server."""
        type_ = _TYPES[self.event]
        allowed = {each.lower() for each in self.content_types}

        async def take(request: HttpRequest) -> HttpReply:
            if allowed and request.media_type not in allowed:
                raise HttpError(
                    415, f"content type {request.content_type!r} is not one of {', '.join(sorted(allowed))}"
                )
            meta = {each.lower(): request.headers[each] for each in self.headers if each in request.headers}
            event_id = request.headers.get(self.id_header, "") if self.id_header else ""
            if request.media_type == _CLOUD_EVENT:
                event_id = event_id or _structured_id(request.body)
            elif _VERSION in request.headers:
                attributes = _attributes(request.headers)
                meta.update(attributes)
                event_id = event_id or attributes["ce-id"]
            await host.inbox.put(
                encode(
                    type=type_,
                    data=request.body,
                    content_type=request.content_type,
                    name=request.path,
                    meta=meta,
                    id=event_id,
                    source=f"http://{request.peer}",
                ),
                key=self._key(request),
            )
            return HttpReply(204)

        host.http(self.server).post(self.path, take, owner=f"pipe {host.pipe}: receiver http", pipe=host.pipe)

    def _key(self, request: HttpRequest) -> bytes | None:
        key = identity(request.headers, request.path, request.body)
        if key is not None or not self.key_fields:
            return key
        if _VERSION in request.headers:
            attributes = _attributes(request.headers)
            values = [attributes.get(_ATTRIBUTE + name.lower(), "").encode() for name in self.key_fields]
            return identity_by_ids(request.path, values) if all(values) else None
        ids = ids_of_json(request.body, self.key_fields)
        return None if ids is None else identity_by_ids(request.path, ids)


def _attributes(headers: Mapping[str, str]) -> dict[str, str]:
    """The attributes of a CloudEvent in binary mode, by the names of their headers in lower case."""
    found = {key.lower(): unquote(value) for key, value in headers.items() if key.lower().startswith(_ATTRIBUTE)}
    missing = [each for each in _REQUIRED if not found.get(_ATTRIBUTE + each)]
    if missing:
        raise Malformed(f"a CloudEvent needs the header {_ATTRIBUTE}{missing[0]}")
    return found


def _structured_id(body: bytes) -> str:
    """The id of a CloudEvent in structured mode."""
    try:
        event = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"the CloudEvent is not JSON: {error}") from error
    if not isinstance(event, dict):
        raise Malformed("the CloudEvent is not a JSON object")
    missing = [each for each in _REQUIRED if not isinstance(event.get(each), str) or not event[each]]
    if missing:
        raise Malformed(f"a CloudEvent needs the attribute {missing[0]}, a non-empty string")
    return str(event["id"])
