"""OTLP: logs, traces and metrics, over gRPC or HTTP. A request is one event, byte for byte as it was sent."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Literal, NamedTuple

from google.rpc.status_pb2 import Status
from pydantic import Field

from mmapqueue.pipeline._event import OTLP_LOGS, OTLP_METRICS, OTLP_TRACES, encode
from mmapqueue.pipeline.event_pb2 import EventType
from mmapqueue.pipeline.gather.identity import identity, identity_by_ids
from mmapqueue.pipeline.gather.otlp import Checked, check_json, check_protobuf, ids_of_records
from mmapqueue.pipeline.gather.wire import Malformed
from mmapqueue.pipeline.plugins import GrpcCall, Host, HttpError, HttpReply, HttpRequest, Receiver

SignalName = Literal["logs", "traces", "metrics"]
#: Checks a request of a signal.
_Check = Callable[[str, bytes], Checked]
_PROTOBUF = "application/x-protobuf"
_JSON = "application/json"


class _Signal(NamedTuple):
    type: "EventType"  # quoted: protobuf's enums are not classes, which Python 3.10 asks for
    content_type: str
    method: str
    path: str


_SIGNALS: dict[SignalName, _Signal] = {
    "logs": _Signal(
        EventType.LOGGING, OTLP_LOGS, "/opentelemetry.proto.collector.logs.v1.LogsService/Export", "/v1/logs"
    ),
    "traces": _Signal(
        EventType.TRACING, OTLP_TRACES, "/opentelemetry.proto.collector.trace.v1.TraceService/Export", "/v1/traces"
    ),
    "metrics": _Signal(
        EventType.METRICS,
        OTLP_METRICS,
        "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
        "/v1/metrics",
    ),
}
#: Codes of google.rpc.Code, by HTTP status.
_CODES = {400: 3, 401: 16, 413: 3, 415: 3, 429: 8, 500: 13, 503: 14}


class OtlpReceiver(Receiver):
    """Takes OTLP. The server's protocol decides between gRPC and HTTP (protobuf and JSON).

    A request that cannot be decoded is answered with INVALID_ARGUMENT or 400, and not stored. One with content and
    without a record is stored and counted, since fields that are unknown are not errors in OTLP.

    Attributes:
        server: Name of a gRPC or HTTP server.
        signals: The accepted signals. Others are unknown methods (gRPC) or paths (HTTP).
        key_attributes: Attributes of a log record, span or data point whose values identify it, for instance
            log.record.uid: the key of requests without an idempotency key.
    """

    type: Literal["otlp"] = "otlp"
    server: str
    signals: Annotated[tuple[SignalName, ...], Field(min_length=1)] = ("logs", "traces", "metrics")
    key_attributes: tuple[str, ...] = ()

    @property
    def makes(self) -> tuple[str, ...] | None:
        """As `Source.makes`."""
        return (f"{_PROTOBUF}; proto=otlp.", f"{_JSON}; proto=otlp.")

    async def start(self, host: Host) -> None:
        """Registers with the server."""
        owner = f"pipe {host.pipe}: receiver otlp"
        for name in dict.fromkeys(self.signals):
            signal = _SIGNALS[name]
            requests = _Requests(host, name, signal, self.key_attributes)
            if host.protocol(self.server) == "grpc":
                host.grpc(self.server).unary(signal.method, requests.export, owner=owner)
            else:
                host.http(self.server).post(
                    signal.path, requests.post, owner=owner, pipe=host.pipe, error_reply=_error_reply
                )


class _Requests:
    """Takes the requests of one signal."""

    def __init__(self, host: Host, name: SignalName, signal: _Signal, key_attributes: Sequence[str]) -> None:
        self._host = host
        self._name = name
        self._signal = signal
        self._key_attributes = key_attributes
        self._parameters = signal.content_type.partition(";")[2]
        self._warned = False

    async def export(self, request: bytes, call: GrpcCall) -> bytes:
        """Takes a request of gRPC."""
        signal = self._signal
        source = f"otlp://{call.peer}"
        await self._put(check_protobuf, request, call.metadata, signal.content_type, signal.method, source)
        return b""  # An empty Export…ServiceResponse: nothing was rejected.

    async def post(self, request: HttpRequest) -> HttpReply:
        """Takes a request of HTTP."""
        media_type = request.media_type
        if media_type not in (_PROTOBUF, _JSON):
            raise HttpError(415, f"content type {request.content_type!r} is not one of {_PROTOBUF}, {_JSON}")
        check = check_json if media_type == _JSON else check_protobuf
        content_type = f"{media_type};{self._parameters}"
        source = f"otlp://{request.peer}"
        await self._put(check, request.body, request.headers, content_type, self._signal.path, source)
        return HttpReply(body=b"{}" if media_type == _JSON else b"", content_type=media_type)

    async def _put(
        self, check: _Check, data: bytes, given: Mapping[str, str], content_type: str, name: str, source: str
    ) -> None:
        try:
            found = check(self._name, data)
            key = self._key(data, given, name, is_json=check is check_json)
        except Malformed:
            self._host.count("malformed", 1)
            raise
        if found.content and not found.records:
            self._host.count("no_records", 1)
            if not self._warned:
                self._warned = True
                self._host.log.warning(
                    "a request of %d bytes from %s contains no OTLP %s: are its keys in lowerCamelCase? The status "
                    "no_records counts such requests; further ones are not logged",
                    *(len(data), source, self._name),
                )
        await self._host.inbox.put(
            encode(type=self._signal.type, data=data, content_type=content_type, name=name, source=source), key=key
        )

    def _key(self, data: bytes, given: Mapping[str, str], name: str, *, is_json: bool) -> bytes | None:
        key = identity(given, name, data)
        if key is not None or not self._key_attributes:
            return key
        ids = ids_of_records(self._name, data, self._key_attributes, is_json=is_json)
        return None if ids is None else identity_by_ids(name, ids)


def _error_reply(status: int, message: str, media_type: str) -> HttpReply:
    """An error as google.rpc.Status, in the request's encoding."""
    code = _CODES.get(status, 2)
    if media_type == _JSON:
        return HttpReply(status, json.dumps({"code": code, "message": message}).encode(), content_type=_JSON)
    return HttpReply(status, Status(code=code, message=message).SerializeToString(), content_type=_PROTOBUF)
