"""Rows of spans become OTLP again: filters in front of senders, compared with what Parquet gets."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from mmapqueue.pipeline import Event, EventType, encode
from mmapqueue.pipeline._event import OTLP_TRACES
from mmapqueue.pipeline.event_pb2 import Batch
from mmapqueue.pipeline.plugins import Filter, Sender
from mmapqueue.pipeline.process.filters import Attributes, Drop, Explode, Redact, Select, Where
from mmapqueue.pipeline.process.senders.events import EventsSender
from mmapqueue.pipeline.process.senders.http import HttpSender
from mmapqueue.pipeline.process.senders.otlp import OtlpSender
from mmapqueue.pipeline.process.senders.spark import SparkSender
from pipeline.processing import parquet, pipeline, process, push
from pipeline.receiving import grpc_receiver, http_receiver

from .test_encoding import attributes, field, files, identity, sender

TIME = 1_700_000_000_000_000_000
KINDS = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"]


def text(key: str, value: str) -> KeyValue:
    return KeyValue(key=key, value=AnyValue(string_value=value))


def otlp_request() -> bytes:
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.append(text("service.name", "shop"))
    scope = resource.scope_spans.add()
    scope.scope.name = "web"
    for i in range(3):
        span = scope.spans.add(
            trace_id=bytes(range(16)),
            span_id=bytes([i, *range(7)]),
            parent_span_id=bytes(range(8)) if i else b"",
            name=f"GET /{i}",
            kind=i,
            start_time_unix_nano=TIME + i * 1000,
            end_time_unix_nano=TIME + i * 1_000_001,
        )
        span.attributes.extend([text("card", "4000111122223333"), text("password", "secret")])
        event = span.events.add(time_unix_nano=TIME + 7, name="retry")
        event.attributes.append(text("why", "secret"))
        span.links.add(trace_id=bytes(16), span_id=bytes(8), trace_state="a=b").attributes.append(text("l", "k"))
        span.status.code = i  # type: ignore[assignment]
        span.status.message = "failed" if i == 2 else ""
    request.resource_spans.add().scope_spans.add().spans.add(name="bare")
    return bytes(request.SerializeToString())


def number(tag: int, value: int) -> bytes:
    """A field of protobuf that is a number."""
    return bytes([tag << 3]) + bytes(AnyValue(int_value=value).SerializeToString()[1:])


def segment() -> bytes:
    times = number(3, TIME // 1_000_000) + number(4, TIME // 1_000_000 + 20)
    root = number(1, 0) + number(2, -1) + times + field(6, b"/pay") + field(12, field(1, b"k") + field(2, b"v"))
    child = number(1, 1) + number(2, 0) + times + field(6, b"SELECT") + number(8, 1)
    return field(1, b"abc.1.2") + field(2, b"seg") + field(3, root) + field(3, child) + field(4, b"agent")


def records() -> list[bytes]:
    tracing: dict[str, Any] = {"type": EventType.TRACING, "time_ms": TIME // 1_000_000}
    return [
        encode(**tracing, data=otlp_request(), content_type=OTLP_TRACES, id="one"),
        encode(**tracing, data=segment(), content_type="application/x-protobuf; proto=skywalking.segment"),
    ]


class Span(NamedTuple):
    """What a span says."""

    ids: tuple[str, ...]
    name: str
    kind: str
    times: tuple[int, int]
    status: tuple[str, str]
    attributes: str
    events: list[tuple[int, str, str]]
    links: list[tuple[str, str, str, str]]
    resource: str
    scope: str


def spans(data: bytes) -> Iterator[Span]:
    """The spans of a request."""
    for resource in ExportTraceServiceRequest.FromString(data).resource_spans:
        for scope in resource.scope_spans:
            for each in scope.spans:
                yield Span(
                    (each.trace_id.hex(), each.span_id.hex(), each.parent_span_id.hex()),
                    each.name,
                    KINDS[each.kind],
                    (each.start_time_unix_nano, each.end_time_unix_nano),
                    (["UNSET", "OK", "ERROR"][each.status.code], each.status.message),
                    attributes(each.attributes),
                    [(event.time_unix_nano, event.name, attributes(event.attributes)) for event in each.events],
                    [
                        (link.trace_id.hex(), link.span_id.hex(), link.trace_state, attributes(link.attributes))
                        for link in each.links
                    ],
                    attributes(resource.resource.attributes),
                    scope.scope.name,
                )


def inner(found: dict[str, Any]) -> str:
    return json.dumps(found.get("attributes") or {}, sort_keys=True)


def expected(spark: Any, path: Path) -> list[Span]:
    """The rows of a Parquet sender, as the table of docs/reference/pipeline/events.md maps them."""
    times = (f"coalesce(unix_micros({name}), 0) * 1000 AS {name}_ns" for name in ("start", "end"))
    found = []
    for row in (each.asDict() for each in spark.read.parquet(str(path)).selectExpr("*", *times).collect()):
        made = json.loads(row.get("attributes") or "{}")
        ids = []
        for name, digits in (("trace_id", 32), ("span_id", 16), ("parent_span_id", 16)):
            given = row.get(name) or ""
            ids.append(identity(given, digits))
            if ids[-1] != given:
                made[name] = given
        resource = json.loads(row.get("resource") or "{}")
        for key, column in (("service.name", "service"), ("service.instance.id", "instance")):
            if row.get(column):
                resource.setdefault(key, row[column])
        start, end = row["start_ns"], row["end_ns"]
        found.append(
            Span(
                tuple(ids),
                row.get("name") or "",
                row.get("kind") or "UNSPECIFIED",
                (start, start + row["duration_ns"] if row.get("duration_ns") is not None else end),
                (row.get("status") or "UNSET", row.get("status_message") or ""),
                json.dumps(made, sort_keys=True),
                [
                    (one["time_unix_nano"], one.get("name") or "", inner(one))
                    for one in json.loads(row.get("events") or "[]")
                ],
                [
                    (one["trace_id"], one["span_id"], one.get("trace_state") or "", inner(one))
                    for one in json.loads(row.get("links") or "[]")
                ],
                json.dumps(resource, sort_keys=True),
                row.get("scope") or "",
            )
        )
    return sorted(found, key=str)


#: Filters, and the number of rows that remain.
FILTERS: dict[str, tuple[Filter, int]] = {
    "none": (Where(condition="true"), 6),
    "where": (Where(condition="duration_ns > 1000000"), 3),
    "select few": (Select(columns=["span_id", "start", "end", "partition", "offset", "index"]), 6),
    "drop": (Drop(columns=["events", "links", "parent_span_id", "status"]), 6),
    "attributes": (Attributes(add={"region": "'eu'"}, rename={"card": "usr.card"}, remove=["password"]), 6),
    "redact": (Redact(columns=["attributes", "events"], pattern="4000[0-9]{8}([0-9]{4})|secret", replacement="…$1"), 6),
}


@pytest.mark.parametrize("name", FILTERS)
def test_filters_in_front_of_senders(spark: Any, tmp_path: Path, name: str) -> None:
    push(tmp_path / "queue", records())
    each, count = FILTERS[name]
    with grpc_receiver() as (endpoint, grpc), http_receiver() as http, grpc_receiver() as (events, other):
        senders: list[Sender] = [
            sender(SparkSender, "rows", **files(tmp_path / "rows"), encode=None),
            sender(SparkSender, "encoded", **files(tmp_path / "encoded")),
            sender(OtlpSender, "grpc", endpoint=endpoint),
            sender(OtlpSender, "http", endpoint=http.url, protocol="http", compression="none"),
            sender(HttpSender, "data", url=f"{http.url}/data"),
            sender(EventsSender, "events", endpoint=events),
        ]
        process(spark, pipeline(tmp_path, *senders, filters=(Explode(rows="spans"), each)))
    wanted = expected(spark, tmp_path / "rows")
    assert len(wanted) == count
    sent = [Event.FromString(each) for call in other.calls for each in Batch.FromString(call.messages[0]).events]
    bodies: dict[str, list[bytes]] = {
        "encoded": parquet(spark, tmp_path / "encoded"),
        "grpc": [message for call in grpc.calls for message in call.messages],
        "http": [request.body for request in http.taken if request.path == "/v1/traces"],
        "data": [request.body for request in http.taken if request.path == "/data"],
        "events": [event.data for event in sent],
    }
    assert {call.path for call in grpc.calls} == {"/opentelemetry.proto.collector.trace.v1.TraceService/Export"}
    assert {event.content_type for event in sent} == {OTLP_TRACES}
    for target, data in bodies.items():
        assert sorted((span for one in data for span in spans(one)), key=str) == wanted, target
    # Rows of one resource and scope are together.
    for one in bodies["grpc"]:
        found = [each.resource.SerializeToString() for each in ExportTraceServiceRequest.FromString(one).resource_spans]
        assert len(set(found)) == len(found)
