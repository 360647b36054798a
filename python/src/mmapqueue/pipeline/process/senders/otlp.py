"""Sender to an OTLP endpoint, by gRPC or HTTP."""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

from google.protobuf import json_format
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2 import ExportProfilesServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric, ScopeMetrics
from pydantic import model_validator

from mmapqueue.pipeline.config import ClientTls
from mmapqueue.pipeline.config._model import check_addresses, check_url
from mmapqueue.pipeline.config._problems import shown
from mmapqueue.pipeline.config._refused import Refused
from mmapqueue.pipeline.process.senders._client import Client
from mmapqueue.pipeline.process.senders._delivery import Undelivered
from mmapqueue.pipeline.process.senders._grpc import GrpcClient, GrpcConnection
from mmapqueue.pipeline.process.senders._http import HttpConnection
from mmapqueue.pipeline.process.senders._network import NetworkSender
from mmapqueue.pipeline.process.senders._requests import RequestLimits, Row

_PROTOBUF = "application/x-protobuf; proto=otlp."
_JSON = "application/json; proto=otlp."
_REQUESTS: dict[str, Any] = {
    "logs": ExportLogsServiceRequest,
    "traces": ExportTraceServiceRequest,
    "metrics": ExportMetricsServiceRequest,
    "profiles": ExportProfilesServiceRequest,
}
_RPCS = {
    "logs": "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    "traces": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "metrics": "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
    "profiles": "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
}
_PATHS = {"logs": "v1/logs", "traces": "v1/traces", "metrics": "v1/metrics", "profiles": "v1development/profiles"}
#: Requests of these signals become one by concatenation. Each request of profiles has a dictionary of its own.
_MERGEABLE = {"logs", "traces", "metrics"}
#: The nested messages of a request, of the signals whose rows are encoded.
_LEVELS = {
    "logs": ("resource_logs", "scope_logs", "log_records"),
    "traces": ("resource_spans", "scope_spans", "spans"),
    "metrics": ("resource_metrics", "scope_metrics", "metrics"),
}
#: Fields that are hexadecimal in OTLP's JSON, and base64 in protobuf's JSON.
_HEXADECIMAL = frozenset({"traceId", "spanId", "parentSpanId", "trace_id", "span_id", "parent_span_id"})
_ONE = RequestLimits(max_records=1)


#: Makes the body of a request from its rows.
Merged: TypeAlias = "Callable[[Sequence[Row]], bytes]"


class OtlpSender(NetworkSender):
    """Sends events that were received by OTLP, unchanged: each event is one Export request.

    With `encode: otlp` it sends rows of logs, spans or points of any origin. Those of one resource and scope are sent
    together, and so are the points of a metric, up to the limits of `request`.

    Rows of other content types are refused at once, as `retry.refused` says; filter them out by `where`. Events that
    were received as JSON are sent as JSON over HTTP, and converted for gRPC.

    An answer of partial success means that the receiver took the request and rejected some of it permanently. By OTLP's
    rule it is not sent again: with `refused: dead_letter` the whole request goes to the dead-letter queue, otherwise
    its rows count as rejected.

    Attributes:
        endpoint: HOST:PORT for gRPC, or several separated by commas; for HTTP the base URL of /v1/logs and the other
            paths.
        protocol: grpc or http.
        merge: Events of one signal become one request, up to the limits of `request`, by concatenation of their bytes.
        compression: The compression of requests.
        tls: gRPC: plain text when None. HTTP: certificates for https.
    """

    type: Literal["otlp"] = "otlp"
    endpoint: str
    protocol: Literal["grpc", "http"] = "grpc"
    merge: bool = False
    compression: Literal["none", "gzip"] = "gzip"
    tls: ClientTls | None = None

    @model_validator(mode="after")
    def _check(self) -> OtlpSender:
        try:
            (check_addresses if self.protocol == "grpc" else check_url)(self.endpoint)
        except ValueError as error:
            words = f"{shown((), self.endpoint)} is invalid with protocol: {self.protocol}: {error}"
            raise Refused(words, "endpoint") from None
        if self.protocol == "http" and self.tls is not None and not self.endpoint.startswith("https:"):
            raise ValueError("tls has no effect with an endpoint of http://")
        if self.encode is not None and "merge" in self.model_fields_set:
            raise ValueError("merge has no effect with encode: otlp, which merges rows up to the limits of request")
        if not self._merges and "request" in self.model_fields_set:
            raise ValueError("request has no effect without merge: true: each event is one request")
        return self

    @property
    def _merges(self) -> bool:
        return self.merge or self.encode is not None

    @property
    def over_grpc(self) -> bool:
        """As `NetworkSender.over_grpc`."""
        return self.protocol == "grpc"

    @property
    def takes(self) -> tuple[str, ...] | None:
        """As `Sender.takes`."""
        return _PROTOBUF, _JSON

    def route(self, row: Row) -> str:
        """`logs`, `traces`, `metrics` or `profiles`, with `+json` for JSON; the content type for any other payload."""
        content_type = str(row["content_type"])
        if content_type.startswith(_PROTOBUF):
            return content_type[len(_PROTOBUF) :]
        if content_type.startswith(_JSON):
            return content_type[len(_JSON) :] + "+json"
        return content_type

    def limits(self, route: str) -> RequestLimits:
        """As `NetworkSender.limits`; JSON and profiles are never merged."""
        return self.request if self._merges and route in _MERGEABLE else _ONE

    def client(self) -> Client:
        """As `NetworkSender.client`."""
        body = _grouped if self.encode is not None else _body
        if self.protocol == "grpc":
            grpc = GrpcClient(self.endpoint, self.tls, self.headers, self.compression)
            return GrpcConnection(grpc, functools.partial(_export, body))
        return _Http(HttpConnection(self.headers, self.tls, self.compression), self.endpoint.rstrip("/"), body)


async def _export(merged: Merged, grpc: GrpcClient, route: str, rows: Sequence[Row], key: str) -> None:
    signal, is_json = _signal(route)
    body = protobuf_of(signal, rows[0]["data"]) if is_json else merged(rows)
    # Backends compute rates from the metrics that one server gets.
    _check_partial(await grpc.unary(_RPCS[signal], body, key, one_server=signal == "metrics"))


class _Http:
    def __init__(self, http: HttpConnection, url: str, merged: Merged) -> None:
        self._http = http
        self._url = url
        self._merged = merged

    async def close(self) -> None:
        await self._http.close()

    async def send(self, route: str, rows: Sequence[Row], key: str) -> None:
        signal, is_json = _signal(route)
        content_type = "application/json" if is_json else "application/x-protobuf"
        url, body = f"{self._url}/{_PATHS[signal]}", self._merged(rows)
        answer_type, answer = await self._http.send("POST", url, body, content_type, key)
        if answer_type == "application/json":
            _check_partial_json(answer)
        elif answer_type == "application/x-protobuf":
            _check_partial(answer)


def protobuf_of(signal: str, document: bytes) -> bytes:
    """An Export request in OTLP's JSON as protobuf.

    Raises:
        ValueError: The document is not a request of that signal.
    """
    try:
        request = json_format.ParseDict(_base64(json.loads(document)), _REQUESTS[signal](), ignore_unknown_fields=True)
    except json_format.ParseError as error:
        raise ValueError(f"not an OTLP request of {signal} in JSON: {error}") from None
    serialized: bytes = request.SerializeToString()
    return serialized


def _base64(value: Any) -> Any:
    """A JSON value with hexadecimal identities converted to base64."""
    if isinstance(value, list):
        return [_base64(each) for each in value]
    if isinstance(value, dict):
        return {
            name: base64.b64encode(bytes.fromhex(inner)).decode()
            if name in _HEXADECIMAL and isinstance(inner, str)
            else _base64(inner)
            for name, inner in value.items()
        }
    return value


def _signal(route: str) -> tuple[str, bool]:
    signal = route.removesuffix("+json")
    if signal not in _RPCS:
        raise Undelivered(
            f"content type {route!r} is not one of OTLP's; exclude such rows with the sender's `where`", retryable=False
        )
    return signal, signal != route


def _body(rows: Sequence[Row]) -> bytes:
    # Concatenating two protobuf messages merges them, and Export requests have one repeated field.
    return b"".join(row["data"] or b"" for row in rows)


def _grouped(rows: Sequence[Row]) -> bytes:
    """Requests of one record each as one request, with each resource and scope once, in the order of their rows."""
    signal = str(rows[0]["content_type"])[len(_PROTOBUF) :]
    by_resource, by_scope, records = _LEVELS[signal]
    made = _REQUESTS[signal]()
    resources: dict[bytes, Any] = {}
    scopes: dict[tuple[bytes, bytes], Any] = {}
    for given in getattr(_REQUESTS[signal].FromString(_body(rows)), by_resource):
        resource = given.resource.SerializeToString()
        if resource not in resources:
            resources[resource] = getattr(made, by_resource).add()
            resources[resource].resource.CopyFrom(given.resource)
        for each in getattr(given, by_scope):
            scope = resource, each.scope.SerializeToString()
            if scope not in scopes:
                scopes[scope] = getattr(resources[resource], by_scope).add()
                scopes[scope].scope.CopyFrom(each.scope)
            getattr(scopes[scope], records).extend(getattr(each, records))
    if signal == "metrics":
        for each in scopes.values():
            _group_points(each)
    grouped: bytes = made.SerializeToString()
    return grouped


def _group_points(scope: ScopeMetrics) -> None:
    """Makes one metric of those that differ in their data points alone."""
    metrics: dict[bytes, Metric] = {}
    for each in scope.metrics:
        kind = each.WhichOneof("data") or "gauge"
        bare = Metric()
        bare.CopyFrom(each)
        getattr(bare, kind).ClearField("data_points")
        metric = metrics.setdefault(bare.SerializeToString(), bare)
        getattr(metric, kind).data_points.extend(getattr(each, kind).data_points)
    del scope.metrics[:]
    scope.metrics.extend(metrics.values())


def _check_partial(answer: bytes) -> None:
    # The field numbers are the same for all signals.
    try:
        partial = ExportLogsServiceResponse.FromString(answer).partial_success
    except DecodeError:
        return  # The status said that the request was taken.
    _refused(partial.rejected_log_records, partial.error_message)


def _check_partial_json(answer: bytes) -> None:
    try:
        partial = json.loads(answer or b"{}").get("partialSuccess") or {}
        rejected = sum(int(value) for name, value in partial.items() if name.startswith("rejected"))
    except (ValueError, AttributeError):
        return  # The status said that the request was taken.
    _refused(rejected, partial.get("errorMessage", ""))


def _refused(rejected: int, message: str) -> None:
    if rejected:
        raise Undelivered(f"partial success: {rejected} rejected: {message}", retryable=False, partial=True)
