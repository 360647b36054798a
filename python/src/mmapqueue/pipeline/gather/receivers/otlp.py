"""OTLP: logs, traces and metrics, over gRPC or HTTP. A request is one event, byte for byte as it was sent."""

import json
from collections.abc import Awaitable, Callable
from typing import Annotated, Literal, NamedTuple

from google.rpc.status_pb2 import Status
from pydantic import Field

from mmapqueue.pipeline._event import OTLP_LOGS, OTLP_METRICS, OTLP_TRACES, encode
from mmapqueue.pipeline.event_pb2 import EventType
from mmapqueue.pipeline.gather.grpc_server import Call
from mmapqueue.pipeline.gather.http_server import HttpError, HttpReply, HttpRequest
from mmapqueue.pipeline.plugins import Host, Receiver

SignalName = Literal["logs", "traces", "metrics"]
_PROTOBUF = "application/x-protobuf"
_JSON = "application/json"


class _Signal(NamedTuple):
    type: "EventType"  # quoted: protobuf's enums are no classes, which Python 3.10 asks for
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

    Attributes:
        server: Name of a gRPC or HTTP server.
        signals: The accepted signals. Others are unknown methods (gRPC) or paths (HTTP).
    """

    type: Literal["otlp"] = "otlp"
    server: str
    signals: Annotated[tuple[SignalName, ...], Field(min_length=1)] = ("logs", "traces", "metrics")

    @property
    def makes(self) -> tuple[str, ...] | None:
        """As `Source.makes`."""
        return (f"{_PROTOBUF}; proto=otlp.", f"{_JSON}; proto=otlp.")

    async def start(self, host: Host) -> None:
        """Registers with the server."""
        owner = f"pipe {host.pipe}: receiver otlp"
        for name in dict.fromkeys(self.signals):
            signal = _SIGNALS[name]
            if host.protocol(self.server) == "grpc":
                host.grpc(self.server).unary(signal.method, _export(host, signal), owner=owner)
            else:
                host.http(self.server).post(
                    signal.path, _post(host, signal), owner=owner, pipe=host.pipe, error_reply=_error_reply
                )


def _export(host: Host, signal: _Signal) -> Callable[[bytes, Call], Awaitable[bytes]]:
    async def take(request: bytes, call: Call) -> bytes:
        await host.inbox.put(
            encode(
                type=signal.type,
                data=request,
                content_type=signal.content_type,
                name=signal.method,
                source=f"otlp://{call.peer}",
            )
        )
        return b""  # An empty Export…ServiceResponse: nothing was rejected.

    return take


def _post(host: Host, signal: _Signal) -> Callable[[HttpRequest], Awaitable[HttpReply]]:
    parameters = signal.content_type.partition(";")[2]

    async def take(request: HttpRequest) -> HttpReply:
        media_type = request.media_type
        if media_type not in (_PROTOBUF, _JSON):
            raise HttpError(415, f"content type {request.content_type!r} is none of {_PROTOBUF}, {_JSON}")
        await host.inbox.put(
            encode(
                type=signal.type,
                data=request.body,
                content_type=f"{media_type};{parameters}",
                name=signal.path,
                source=f"otlp://{request.peer}",
            )
        )
        return HttpReply(body=b"{}" if media_type == _JSON else b"", content_type=media_type)

    return take


def _error_reply(status: int, message: str, media_type: str) -> HttpReply:
    """An error as google.rpc.Status, in the request's encoding."""
    code = _CODES.get(status, 2)
    if media_type == _JSON:
        return HttpReply(status, json.dumps({"code": code, "message": message}).encode(), _JSON)
    return HttpReply(status, Status(code=code, message=message).SerializeToString(), _PROTOBUF)
