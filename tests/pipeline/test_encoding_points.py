"""Rows of data points become OTLP again: filters in front of senders, compared with what Parquet gets."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality

from mmapqueue.pipeline import Event, EventType, encode
from mmapqueue.pipeline._event import OTLP_METRICS
from mmapqueue.pipeline.event_pb2 import Batch
from mmapqueue.pipeline.plugins import Filter, Sender
from mmapqueue.pipeline.process.filters import Attributes, Drop, Explode, Select, Where
from mmapqueue.pipeline.process.senders.events import EventsSender
from mmapqueue.pipeline.process.senders.http import HttpSender
from mmapqueue.pipeline.process.senders.otlp import OtlpSender
from mmapqueue.pipeline.process.senders.spark import SparkSender
from pipeline.processing import parquet, pipeline, process, push
from pipeline.receiving import grpc_receiver, http_receiver

from .test_encoding import attributes, files, sender
from .test_encoding_spans import text

TIME = 1_700_000_000_000
SCRAPE = b"""\
# TYPE up gauge
up{job="a"} 1 1700000000000
up{job="b"} 0 1700000000000
# TYPE http_requests_total counter
http_requests_total{code="200"} 17 1700000000000
# TYPE t histogram
t_bucket{le="0.1"} 2 1700000000000
t_bucket{le="+Inf"} 5 1700000000000
t_sum 1.5 1700000000000
t_count 5 1700000000000
"""


def otlp_request() -> bytes:
    request = ExportMetricsServiceRequest()
    resource = request.resource_metrics.add()
    resource.resource.attributes.append(text("service.name", "shop"))
    scope = resource.scope_metrics.add()
    scope.scope.name = "web"
    gauge = scope.metrics.add(name="load", description="of a minute", unit="1").gauge
    for core in ("0", "1"):
        gauge.data_points.add(time_unix_nano=TIME * 10**6, as_double=1.5).attributes.append(text("core", core))
    sizes = scope.metrics.add(name="sizes").exponential_histogram
    sizes.aggregation_temporality = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE
    point = sizes.data_points.add(time_unix_nano=TIME * 10**6, count=6, sum=2.5, scale=-3, zero_count=1)
    point.positive.offset = -2
    point.positive.bucket_counts.extend([2, 3])
    quantiles = scope.metrics.add(name="quantiles").summary.data_points.add(count=2, sum=3)
    quantiles.quantile_values.add(quantile=0.5, value=1)
    return bytes(request.SerializeToString())


def records() -> list[bytes]:
    metrics: dict[str, Any] = {"type": EventType.METRICS, "time_ms": TIME}
    return [
        encode(**metrics, data=otlp_request(), content_type=OTLP_METRICS, id="one"),
        encode(**metrics, data=SCRAPE, content_type="text/plain; version=0.0.4"),
    ]


class Point(NamedTuple):
    """What a data point says."""

    name: str
    description: str
    unit: str
    kind: str
    temporality: int
    monotonic: bool
    time: int
    value: float | None
    number: int | None
    total: float | None
    buckets: str
    attributes: str
    resource: str
    scope: str


def _buckets(kind: str, each: Any) -> Any:
    if kind == "histogram":
        return {"bounds": list(each.explicit_bounds), "counts": list(each.bucket_counts)}
    if kind == "exponential_histogram":
        sides = {
            side: {"offset": getattr(each, side).offset, "counts": list(getattr(each, side).bucket_counts)}
            for side in ("positive", "negative")
            if each.HasField(side)
        }
        return {"scale": each.scale, "zero_count": each.zero_count, **sides}
    if kind == "summary":
        return {"quantiles": [{"quantile": one.quantile, "value": one.value} for one in each.quantile_values]}
    return None


def points(data: bytes) -> Iterator[Point]:
    """The data points of a request."""
    for resource in ExportMetricsServiceRequest.FromString(data).resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                kind = metric.WhichOneof("data") or ""
                values = getattr(metric, kind)
                for each in values.data_points:
                    is_number = kind in ("gauge", "sum")
                    yield Point(
                        metric.name,
                        metric.description,
                        metric.unit,
                        kind,
                        getattr(values, "aggregation_temporality", 0),
                        getattr(values, "is_monotonic", False),
                        each.time_unix_nano // 1000,
                        each.as_double if is_number and each.WhichOneof("value") else None,
                        None if is_number else each.count,
                        None if is_number else each.sum,
                        json.dumps(_buckets(kind, each), sort_keys=True),
                        attributes(each.attributes),
                        attributes(resource.resource.attributes),
                        scope.scope.name,
                    )


def expected(spark: Any, path: Path) -> list[Point]:
    """The rows of a Parquet sender, as the table of docs/reference/pipeline/events.md maps them."""
    found = []
    for row in (
        each.asDict() for each in spark.read.parquet(str(path)).selectExpr("*", "unix_micros(time) us").collect()
    ):
        resource = json.loads(row.get("resource") or "{}")
        for key, column in (("service.name", "service"), ("service.instance.id", "instance")):
            if row.get(column):
                resource.setdefault(key, row[column])
        is_number = row["kind"] in ("gauge", "sum")
        buckets = json.loads(row.get("buckets") or "null")
        if row["kind"] == "histogram" and buckets is None:
            buckets = {"bounds": [], "counts": []}
        found.append(
            Point(
                row["name"],
                row.get("description") or "",
                row.get("unit") or "",
                row["kind"],
                {"delta": 1, "cumulative": 2}.get(row.get("temporality") or "", 0),
                bool(row.get("monotonic")),
                row["us"] or 0,
                row.get("value"),
                None if is_number else row["count"],
                None if is_number else row["sum"],
                json.dumps(buckets, sort_keys=True),
                json.dumps(json.loads(row.get("attributes") or "{}"), sort_keys=True),
                json.dumps(resource, sort_keys=True),
                row.get("scope") or "",
            )
        )
    return sorted(found, key=str)


#: Filters, and the number of rows that remain.
FILTERS: dict[str, tuple[Filter, int]] = {
    "none": (Where(condition="true"), 8),
    "where": (Where(condition="name <> 'up'"), 6),
    "select few": (
        Select(columns=["name", "kind", "time", "value", "count", "sum", "buckets", "partition", "offset", "index"]),
        8,
    ),
    "drop": (Drop(columns=["description", "resource", "service", "start"]), 8),
    "attributes": (Attributes(add={"region": "'eu'"}, rename={"job": "service.name"}, remove=["core"]), 8),
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
        process(spark, pipeline(tmp_path, *senders, filters=(Explode(rows="points"), each)))
    wanted = expected(spark, tmp_path / "rows")
    assert len(wanted) == count
    sent = [Event.FromString(each) for call in other.calls for each in Batch.FromString(call.messages[0]).events]
    bodies: dict[str, list[bytes]] = {
        "encoded": parquet(spark, tmp_path / "encoded"),
        "grpc": [message for call in grpc.calls for message in call.messages],
        "http": [request.body for request in http.taken if request.path == "/v1/metrics"],
        "data": [request.body for request in http.taken if request.path == "/data"],
        "events": [event.data for event in sent],
    }
    assert {event.content_type for event in sent} == {OTLP_METRICS}
    for target, data in bodies.items():
        assert sorted((point for one in data for point in points(one)), key=str) == wanted, target
    # Each metric of a resource and scope is there once.
    for one in bodies["grpc"]:
        for resource in ExportMetricsServiceRequest.FromString(one).resource_metrics:
            for scope in resource.scope_metrics:
                names = [metric.name for metric in scope.metrics]
                assert len(set(names)) == len(names)
