"""OTLP: logs, traces, metrics and profiles, over gRPC or HTTP. A request is one event, byte for byte as it was sent."""

import json
from collections.abc import Callable, Mapping
from typing import Annotated, Literal, NamedTuple

from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from pydantic import Field

import mmapqueue
from mmapqueue.pipeline._event import OTLP_LOGS, OTLP_METRICS, OTLP_PROFILES, OTLP_TRACES, encode
from mmapqueue.pipeline.event_pb2 import EventType
from mmapqueue.pipeline.gather.identity import identity, identity_by_ids
from mmapqueue.pipeline.gather.otlp import (
    Checked,
    check_json,
    check_protobuf,
    ids_of_records,
    without_large_json,
    without_large_protobuf,
)
from mmapqueue.pipeline.gather.wire import Malformed
from mmapqueue.pipeline.plugins import GrpcCall, Host, HttpError, HttpReply, HttpRequest, Receiver, Size

SignalName = Literal["logs", "traces", "metrics", "profiles"]
_PROTOBUF = "application/x-protobuf"
_JSON = "application/json"


class _Signal(NamedTuple):
    type: "EventType"  # quoted: protobuf's enums are not classes, which Python 3.10 asks for
    content_type: str
    method: str
    path: str
    #: What a record is called, in PartialSuccess.
    records: str


class _Encoding(NamedTuple):
    media_type: str
    check: Callable[[str, bytes], Checked]
    without_large: Callable[[str, bytes, int], tuple[bytes, int, int]]
    #: Makes an answer: the name of the records, the number that was rejected, and why; empty for a full success.
    answer: Callable[[str, int, str], bytes]


_SIGNALS: dict[SignalName, _Signal] = {
    "logs": _Signal(
        EventType.LOGGING,
        OTLP_LOGS,
        "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
        "/v1/logs",
        "LogRecords",
    ),
    "traces": _Signal(
        EventType.TRACING,
        OTLP_TRACES,
        "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
        "/v1/traces",
        "Spans",
    ),
    "metrics": _Signal(
        EventType.METRICS,
        OTLP_METRICS,
        "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
        "/v1/metrics",
        "DataPoints",
    ),
    "profiles": _Signal(
        EventType.PROFILE,
        OTLP_PROFILES,
        "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
        "/v1development/profiles",
        "Profiles",
    ),
}
#: Codes of google.rpc.Code, by HTTP status.
_CODES = {400: 3, 401: 16, 403: 7, 405: 12, 408: 4, 411: 3, 413: 3, 415: 3, 429: 8, 500: 13, 503: 14}


class OtlpReceiver(Receiver):
    """Takes OTLP. The server's protocol decides between gRPC and HTTP (protobuf and JSON).

    A request that cannot be decoded is answered with INVALID_ARGUMENT or 400, and not stored. One with content and
    without a record is stored and counted, since fields that are unknown are not errors in OTLP; its client is told by
    a partial success that rejects nothing.

    Attributes:
        server: Name of a gRPC or HTTP server.
        signals: The accepted signals. Others are unknown methods (gRPC) or paths (HTTP).
        key_attributes: Attributes of a log record, span or data point whose values identify it, for instance
            log.record.uid: the key of requests without an idempotency key.
        max_record_size: Bytes of a log record, span, data point or profile. Larger ones are left out of their request
            and counted, and its client is told how many, and why, by a partial success; None for no limit.
    """

    type: Literal["otlp"] = "otlp"
    server: str
    signals: Annotated[tuple[SignalName, ...], Field(min_length=1)] = ("logs", "traces", "metrics")
    key_attributes: tuple[str, ...] = ()
    max_record_size: Size | None = None

    @property
    def makes(self) -> tuple[str, ...] | None:
        """As `Source.makes`."""
        return (f"{_PROTOBUF}; proto=otlp.", f"{_JSON}; proto=otlp.")

    async def start(self, host: Host) -> None:
        """Registers with the server."""
        owner = f"pipe {host.pipe}: receiver otlp"
        for name in dict.fromkeys(self.signals):
            signal = _SIGNALS[name]
            requests = _Requests(host, name, signal, self)
            if host.protocol(self.server) == "grpc":
                host.grpc(self.server).unary(signal.method, requests.export, owner=owner, pipe=host.pipe)
            else:
                host.http(self.server).post(
                    signal.path, requests.post, owner=owner, pipe=host.pipe, error_reply=_error_reply
                )


class _Requests:
    """Takes the requests of one signal."""

    def __init__(self, host: Host, name: SignalName, signal: _Signal, options: OtlpReceiver) -> None:
        self._host = host
        self._name = name
        self._signal = signal
        self._key_attributes = options.key_attributes
        self._max_record_size = options.max_record_size
        self._parameters = signal.content_type.partition(";")[2]
        self._warned = False

    async def export(self, request: bytes, call: GrpcCall) -> bytes:
        """Takes a request of gRPC."""
        source = f"otlp://{call.peer}"
        return await self._put(_ENCODINGS[_PROTOBUF], request, call.metadata, self._signal.method, source)

    async def post(self, request: HttpRequest) -> HttpReply:
        """Takes a request of HTTP."""
        encoding = _ENCODINGS.get(request.media_type)
        if encoding is None:
            raise HttpError(415, f"content type {request.content_type!r} is not one of {', '.join(_ENCODINGS)}")
        answer = await self._put(encoding, request.body, request.headers, self._signal.path, f"otlp://{request.peer}")
        return HttpReply(body=answer, content_type=encoding.media_type)

    async def _put(self, encoding: _Encoding, data: bytes, given: Mapping[str, str], name: str, source: str) -> bytes:
        """Stores a request, and returns its answer."""
        rejected, message = 0, ""
        try:
            found = encoding.check(self._name, data)
            key = self._key(data, given, name, is_json=encoding.media_type == _JSON)
            if self._max_record_size is not None:
                data, rejected, kept = encoding.without_large(self._name, data, self._max_record_size)
        except Malformed:
            self._host.count("malformed", 1)
            raise
        if rejected:
            self._host.count("record_too_large", rejected)
            message = f"{rejected} records have more than max_record_size = {self._max_record_size} bytes"
            if not kept:
                raise mmapqueue.TooLarge(f"all {message}")
        elif found.content and not found.records:
            hint = ": are its keys in lowerCamelCase?" if encoding.media_type == _JSON else ""
            message = f"contains no OTLP {self._name}{hint}"
            self._note_no_records(len(data), source, message)
            message = f"the request {message}"
        content_type = f"{encoding.media_type};{self._parameters}"
        await self._host.inbox.put(
            encode(type=self._signal.type, data=data, content_type=content_type, name=name, source=source), key=key
        )
        return encoding.answer(self._signal.records, rejected, message)

    def _note_no_records(self, size: int, source: str, message: str) -> None:
        """Counts a request without a record, and logs the first."""
        self._host.count("no_records", 1)
        if not self._warned:
            self._warned = True
            self._host.log.warning(
                "a request of %d bytes from %s %s. The status no_records counts such requests; "
                "further ones are not logged",
                *(size, source, message),
            )

    def _key(self, data: bytes, given: Mapping[str, str], name: str, *, is_json: bool) -> bytes | None:
        key = identity(given, name, data)
        if key is not None or not self._key_attributes:
            return key
        ids = ids_of_records(self._name, data, self._key_attributes, is_json=is_json)
        return None if ids is None else identity_by_ids(name, ids)


def _protobuf_answer(_: str, rejected: int, message: str) -> bytes:
    """An Export…ServiceResponse; the fields have the same numbers for all signals."""
    answer = ExportLogsServiceResponse()
    if message:
        answer.partial_success.rejected_log_records = rejected
        answer.partial_success.error_message = message
    serialized: bytes = answer.SerializeToString()
    return serialized


def _json_answer(records: str, rejected: int, message: str) -> bytes:
    if not message:
        return b"{}"
    # 64-bit integers are texts in protobuf's JSON.
    return json.dumps({"partialSuccess": {f"rejected{records}": str(rejected), "errorMessage": message}}).encode()


_ENCODINGS = {
    _PROTOBUF: _Encoding(_PROTOBUF, check_protobuf, without_large_protobuf, _protobuf_answer),
    _JSON: _Encoding(_JSON, check_json, without_large_json, _json_answer),
}


def _error_reply(status: int, message: str, media_type: str) -> HttpReply:
    """An error as google.rpc.Status, in the request's encoding."""
    code = _CODES.get(status, 2)
    if media_type == _JSON:
        return HttpReply(status, json.dumps({"code": code, "message": message}).encode(), content_type=_JSON)
    return HttpReply(status, Status(code=code, message=message).SerializeToString(), content_type=_PROTOBUF)
