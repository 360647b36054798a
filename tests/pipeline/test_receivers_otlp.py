"""OTLP: OpenTelemetry's own exporters against the receiver, and raw requests."""

import asyncio
import gzip
import http.client
import inspect
import json
import logging
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc.status_pb2 import Status

import mmapqueue
from conftest import Open
from mmapqueue.pipeline import Event, EventType
from mmapqueue.pipeline.gather.inbox import Full, QueueInbox
from mmapqueue.pipeline.gather.receivers.otlp import OtlpReceiver

from .serving import FakeInbox, Serving

pytest.importorskip("opentelemetry.sdk")

from opentelemetry._logs import SeverityNumber
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter as GrpcLogs
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter as GrpcMetrics
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpans
from opentelemetry.exporter.otlp.proto.http import Compression as HttpCompression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter as HttpLogs
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter as HttpMetrics
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpSpans
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

LOGS = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
METRICS = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exporter waits a minute for its answer."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "60")


@pytest.fixture(params=["grpc", "grpc gzip", "http", "http gzip"])
def exporting(request: pytest.FixtureRequest) -> Iterator[tuple[Serving, dict[str, Any]]]:
    """A receiver, and the exporters of one protocol."""
    protocol, _, compression = request.param.partition(" ")
    with Serving(OtlpReceiver(server=protocol)) as serving:
        if protocol == "grpc":
            options = {
                "endpoint": f"http://{serving.grpc_address}",
                "compression": grpc.Compression.Gzip if compression else grpc.Compression.NoCompression,
            }
            yield (
                serving,
                {
                    "logs": GrpcLogs(**options),
                    "traces": GrpcSpans(**options),
                    "metrics": GrpcMetrics(**options),
                },
            )
        else:
            packed = HttpCompression.Gzip if compression else HttpCompression.NoCompression
            yield (
                serving,
                {
                    "logs": HttpLogs(endpoint=f"{serving.url}/v1/logs", compression=packed),
                    "traces": HttpSpans(endpoint=f"{serving.url}/v1/traces", compression=packed),
                    "metrics": HttpMetrics(endpoint=f"{serving.url}/v1/metrics", compression=packed),
                },
            )


def emit(exporter: Any, bodies: list[str]) -> None:
    provider = LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    logger = provider.get_logger("test")
    if "body" not in inspect.signature(logger.emit).parameters:
        pytest.skip("this SDK of OpenTelemetry takes whole records")
    for body in bodies:
        logger.emit(body=body, severity_number=SeverityNumber.INFO)
    provider.shutdown()


def bodies(events: list[Event]) -> list[str]:
    requests = [ExportLogsServiceRequest.FromString(each.data) for each in events]
    return [
        record.body.string_value
        for request in requests
        for resource in request.resource_logs
        for scope in resource.scope_logs
        for record in scope.log_records
    ]


def test_logs_of_the_sdk(exporting: tuple[Serving, dict[str, Any]]) -> None:
    serving, exporters = exporting
    sent = [f"log {number}" for number in range(20)]
    emit(exporters["logs"], sent)
    assert bodies(serving.events) == sent
    for event in serving.events:
        assert event.type == EventType.LOGGING
        assert event.content_type == "application/x-protobuf; proto=otlp.logs"
        assert event.source.startswith("otlp://127.0.0.1:")
        assert event.remote


def test_spans_of_the_sdk(exporting: tuple[Serving, dict[str, Any]]) -> None:
    serving, exporters = exporting
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(exporters["traces"]))
    tracer = provider.get_tracer("test")
    for number in range(50):
        with tracer.start_as_current_span(f"span {number}"):
            pass
    provider.shutdown()
    requests = [ExportTraceServiceRequest.FromString(each.data) for each in serving.events]
    names = [
        span.name
        for request in requests
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    assert sorted(names) == sorted(f"span {number}" for number in range(50))
    assert {each.content_type for each in serving.events} == {"application/x-protobuf; proto=otlp.traces"}
    assert {each.type for each in serving.events} == {EventType.TRACING}


def test_metrics_of_the_sdk(exporting: tuple[Serving, dict[str, Any]]) -> None:
    serving, exporters = exporting
    reader = PeriodicExportingMetricReader(exporters["metrics"], export_interval_millis=3_600_000)
    provider = MeterProvider(metric_readers=[reader])
    provider.get_meter("test").create_counter("things").add(42)
    provider.shutdown()
    (event,) = serving.events
    request = ExportMetricsServiceRequest.FromString(event.data)
    metric = request.resource_metrics[0].scope_metrics[0].metrics[0]
    assert (metric.name, metric.sum.data_points[0].as_int) == ("things", 42)
    assert (event.type, event.content_type) == (EventType.METRICS, "application/x-protobuf; proto=otlp.metrics")


def full() -> Full:
    error = Full("consumer 'slow' has not acked")
    error.retry_after = 0.01
    return error


def test_the_sdk_tries_again_when_the_queue_is_full(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "opentelemetry")
    with Serving(OtlpReceiver(server="grpc")) as serving:
        serving.inbox.failures += [full(), full()]
        emit(GrpcLogs(endpoint=f"http://{serving.grpc_address}"), ["one"])
        assert bodies(serving.events) == ["one"]
        assert serving.inbox.refused == 2
    # The wait that RetryInfo asks for, and not the exporter's own of a second or more. It logs equal waits once.
    (wait,) = {each.getMessage() for each in caplog.records if "retrying in" in each.getMessage()}
    assert "RESOURCE_EXHAUSTED" in wait
    assert "retrying in 0.01s" in wait


def test_what_the_client_sent_is_kept_byte_for_byte() -> None:
    rng = random.Random(5)
    # A field that no one knows, of any bytes.
    requests = {
        path: [b"\xfa\x7f\x88\x27" + rng.randbytes(5000) for _ in range(30)] for path in (LOGS, TRACES, METRICS)
    }
    requests[LOGS] += [b"", logs("\xff")]
    with Serving(OtlpReceiver(server="grpc")) as serving:
        with grpc.insecure_channel(serving.grpc_address) as channel:
            for path, sent in requests.items():
                for data in sent:
                    answer = ExportLogsServiceResponse.FromString(channel.unary_unary(path)(data, timeout=30))
                    assert answer.partial_success.rejected_log_records == 0
        for path, sent in requests.items():
            assert [each.data for each in serving.events if each.name == path] == sent


def test_clients_are_answered_after_the_push() -> None:
    with Serving(OtlpReceiver(server="grpc")) as serving:
        serving.run(serving.inbox.hold())
        with grpc.insecure_channel(serving.grpc_address) as channel:
            reply = channel.unary_unary(LOGS).future(b"", timeout=60)
            assert serving.inbox.waiting.acquire(timeout=30)
            # A later call on the same connection is answered before it.
            assert channel.unary_unary("/no.such.Service/Method").future(b"").code() is grpc.StatusCode.UNIMPLEMENTED
            assert not reply.done()
            assert not serving.inbox.records
            serving.run(serving.inbox.release())
            assert reply.result(timeout=30) == b""
        assert len(serving.inbox.records) == 1


def test_signals_that_are_not_taken() -> None:
    receivers = (OtlpReceiver(server="grpc", signals=("traces",)), OtlpReceiver(server="http", signals=("traces",)))
    with Serving(*receivers) as serving:
        with grpc.insecure_channel(serving.grpc_address) as channel:
            assert channel.unary_unary(TRACES)(b"", timeout=30) == b""
            with pytest.raises(grpc.RpcError) as caught:
                channel.unary_unary(LOGS)(b"", timeout=30)
            assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED
        assert post(serving, "/v1/traces", b"", "application/x-protobuf")[0] == 200
        assert post(serving, "/v1/logs", b"", "application/x-protobuf")[0] == 404
    assert len(serving.inbox.records) == 2


def post(
    serving: Serving, path: str, data: bytes, content_type: str, **headers: str
) -> tuple[int, bytes, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", serving.http.port, timeout=30)
    try:
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        connection.request("POST", path, data, {"Content-Type": content_type, **named})
        reply = connection.getresponse()
        return reply.status, reply.read(), dict(reply.getheaders())
    finally:
        connection.close()


def logs(text: str) -> bytes:
    """A request with one log; a text of \\xff is not UTF-8."""
    body = text.encode("latin-1")
    return nested(1, nested(2, nested(2, nested(5, nested(1, body)))))


def nested(field: int, content: bytes) -> bytes:
    size = bytes([len(content) & 0x7F | 0x80, len(content) >> 7])
    return bytes([field << 3 | 2]) + size + content


#: Bodies that are not OTLP at all, or cut off.
NO_OTLP = [
    b"abc",
    b"not otlp",
    b'{"resourceLogs": []}',
    gzip.compress(b"x", mtime=0),
    logs("text")[:-1],
    b"\x08\x01",  # Field 1 is a number.
    nested(1, b"\x10\x01"),  # Field 2 of a resource is a number.
    nested(1, b"\xff" * 20),
]


#: Fields of another wire type inside records, beside a good one.
WRONG_TYPES = [
    (LOGS, [1, 2, 2], b"\x0a\x01x", "time_unix_nano"),  # Bytes in place of fixed64.
    (LOGS, [1, 2, 2], b"\x08\x01", "time_unix_nano"),
    (LOGS, [1, 2, 2], b"\x18\x01", "severity_text"),
    (LOGS, [1, 2, 2, 6], b"\x08\x01", "key"),
    (LOGS, [1, 2, 2, 5], b"\x08\x01", "string_value"),
    (LOGS, [1, 2, 2, 5, 6, 1, 2], b"\x10\x01\x1a\x01x", "int_value"),
    (LOGS, [1, 2, 2, 5], b"\x0b\x0c", "string_value"),  # A group.
    (LOGS, [1, 1, 1, 2], b"\x08\x01", "string_value"),  # In the resource.
    (TRACES, [1, 2, 2], b"\x08\x01", "trace_id"),
    (TRACES, [1, 2, 2, 11], b"\x08\x01", "time_unix_nano"),
    (METRICS, [1, 2, 2, 5, 1], b"\x20\x01", "as_double"),
    (METRICS, [1, 2, 2, 9, 1], b"\x3d\x01\x01\x01\x01", "explicit_bounds"),
]


@pytest.mark.parametrize(("path", "fields", "content", "name"), WRONG_TYPES)
def test_another_wire_type_inside_a_record_is_refused(path: str, fields: list[int], content: bytes, name: str) -> None:
    for field in reversed(fields):
        content = nested(field, content)
    good = nested(1, nested(2, nested(2, nested(5, nested(1, b"")))))
    with Serving(OtlpReceiver(server="grpc"), OtlpReceiver(server="http")) as serving:
        with grpc.insecure_channel(serving.grpc_address) as channel, pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary(path)(good + content, timeout=30)
        assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        assert f"{name} has the wire type" in caught.value.details()
        signal = {LOGS: "logs", TRACES: "traces", METRICS: "metrics"}[path]
        status, answer, _ = post(serving, f"/v1/{signal}", good + content, "application/x-protobuf")
        assert (status, Status.FromString(answer).code) == (400, 3)
        assert not serving.inbox.records
        assert serving.host.counted == {"malformed": 2}


def test_of_a_large_request_the_first_records_are_checked() -> None:
    """A client that encodes a field wrongly does so in each record."""
    wrong = nested(1, nested(2, nested(2, b"\x08\x01")))
    large = logs("x" * 10_000) * 2
    with Serving(OtlpReceiver(server="http")) as serving:
        assert post(serving, "/v1/logs", wrong + large, "application/x-protobuf")[0] == 400
        assert post(serving, "/v1/logs", large + wrong, "application/x-protobuf")[0] == 400
        metric = nested(1, nested(2, nested(2, nested(5, nested(1, b"\x20\x01")) + nested(1, b"x" * 16_000))))
        assert post(serving, "/v1/metrics", metric, "application/x-protobuf")[0] == 400
        assert post(serving, "/v1/logs", large * 20, "application/x-protobuf")[0] == 200
        assert len(serving.events) == 1


def test_unknown_fields_and_other_encodings_are_no_error() -> None:
    """As protobuf asks: fields of later versions, long varints, packed or not, a message in two parts."""
    unknown = b"\xfa\x7f\x01x"  # Field 2047.
    record = b"\x10\x89\x80\x00" + unknown + nested(5, nested(1, b"a") + unknown) + nested(5, unknown)
    request = nested(1, nested(2, nested(2, record) + unknown) + unknown) + unknown
    bounds = b"\x39" + bytes(8) + b"\x3a\x10" + bytes(16)
    metrics = nested(1, nested(2, nested(2, nested(9, nested(1, bounds)))))
    with Serving(OtlpReceiver(server="http")) as serving:
        sent = [request, metrics, request + logs("x" * 15_000) * 2]
        for path, body in zip(("/v1/logs", "/v1/metrics", "/v1/logs"), sent, strict=True):
            assert post(serving, path, body, "application/x-protobuf")[0] == 200
        assert not serving.host.counted
        assert [each.data for each in serving.events] == sent


@pytest.mark.parametrize("body", NO_OTLP)
def test_a_body_that_is_no_otlp_is_refused(body: bytes) -> None:
    with Serving(OtlpReceiver(server="grpc"), OtlpReceiver(server="http")) as serving:
        with grpc.insecure_channel(serving.grpc_address) as channel:
            for path in (LOGS, TRACES, METRICS):
                with pytest.raises(grpc.RpcError) as caught:
                    channel.unary_unary(path)(body, timeout=30)
                assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
                assert "the request is not OTLP" in caught.value.details()
        for path in ("/v1/logs", "/v1/traces", "/v1/metrics"):
            status, answer, _ = post(serving, path, body, "application/x-protobuf")
            assert (status, Status.FromString(answer).code) == (400, 3)
        assert not serving.inbox.records
        assert serving.host.counted == {"malformed": 6}


def record(member: str) -> str:
    return '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{' + member + "}]}]}]}"


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        "{",
        "{} {}",
        "NaN",
        '{"resourceLogs": {}}',
        '{"resourceLogs": [[]]}',
        '{"resourceLogs": 1}',
        '{"a": ' + "[" * 100_000,
        '{"resourceLogs":[{"scopeLogs":[{"logRecords":[null]}]}]}',
        record('"severityNumber": 9.5'),
        record('"severityNumber": 2147483648'),
        record('"severityNumber": "SEVERITY_NUMBER_INFO"'),
        record('"severityNumber": true'),
        record('"severityText": {}'),
        record('"timeUnixNano": -1'),
        record('"timeUnixNano": "soon"'),
        record('"timeUnixNano": 18446744073709551616'),
        record('"timeUnixNano": 1e999999999'),
        record('"timeUnixNano": 1e-999999999'),
        record('"timeUnixNano": NaN'),
        record('"traceId": "xy"'),
        record('"traceId": "a b"'),
        record('"traceId": 12'),
        record('"body": {"intValue": 9223372036854775808}'),
        record('"body": {"intValue": "+5"}'),
        record('"body": {"doubleValue": 1e400}'),
        record('"body": {"doubleValue": "1d"}'),
        record('"body": {"boolValue": "true"}'),
        record('"body": {"bytesValue": "A"}'),
        record('"body": {"bytesValue": "QQ="}'),
        record('"body": [{"stringValue": "a"}]'),
        record('"body": {"stringValue": "a", "intValue": 1}'),
        record('"body": {"stringValue": "a", "stringValue": "b"}'),
        record('"body": {"arrayValue": {"values": [null]}}'),
        record('"attributes": {"key": "a"}'),
        record('"body": ' + '{"arrayValue": {"values": [' * 60 + "]}}" * 60),
    ],
)
def test_json_that_is_no_otlp_is_refused(body: str) -> None:
    with Serving(OtlpReceiver(server="http")) as serving:
        status, answer, _ = post(serving, "/v1/logs", body.encode(), "application/json")
        assert (status, json.loads(answer)["code"]) == (400, 3), answer
        assert "the request is not OTLP logs in JSON: " in json.loads(answer)["message"]
        assert not serving.inbox.records
        assert serving.host.counted == {"malformed": 1}


def test_json_in_all_forms_of_protobuf_is_taken() -> None:
    body = record(
        '"severityNumber": 9.0, "timeUnixNano": "1.5e18", "observedTimeUnixNano": 18446744073709551615,'
        '"x": [{}, null],'
        '"traceId": "0aFF", "flags": 1, "attributes": [{"key": "k", "value": {"intValue": "-9223372036854775808"}},'
        '{"key": "k", "value": {"doubleValue": "-Infinity"}}, {"key": "b", "value": {"bytesValue": "_-8"}},'
        '{"value": {"kvlistValue": {"values": [{"value": {}}]}}}, {"key": "n", "value": null}],'
        '"body": {"intValue": 92233720368547758.07e2, "doubleValue": null}'
    )
    with Serving(OtlpReceiver(server="http")) as serving:
        assert post(serving, "/v1/logs", body.encode(), "application/json")[0] == 200
        assert [each.data for each in serving.events] == [body.encode()]
        assert not serving.host.counted


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/logs", '{"resource_logs":[{"scope_logs":[{"log_records":[{}]}]}]}'),
        ("/v1/logs", '{"resourceLogs":[{"scopeLogs":[{"log_records":[{}]}]}]}'),
        ("/v1/traces", '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{}]}]}]}'),
        ("/v1/metrics", '{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"x","sum":{"dataPoints":[]}}]}]}]}'),
    ],
)
def test_content_without_records_is_counted_and_logged_once(
    path: str, body: str, caplog: pytest.LogCaptureFixture
) -> None:
    with Serving(OtlpReceiver(server="http")) as serving:
        for _ in range(3):
            # Unknown members are not errors in OTLP.
            assert post(serving, path, body.encode(), "application/json")[0] == 200
        assert serving.host.counted == {"no_records": 3}
        assert len(serving.events) == 3
    assert caplog.text.count("contains no OTLP") == 1


@pytest.mark.parametrize("body", ["{}", '{"resourceLogs": []}', '{"resourceLogs": null}'])
def test_an_empty_request_is_no_content(body: str) -> None:
    with Serving(OtlpReceiver(server="http")) as serving:
        assert post(serving, "/v1/logs", body.encode(), "application/json")[0] == 200
        assert post(serving, "/v1/logs", b"", "application/x-protobuf")[0] == 200
        assert not serving.host.counted


def test_protobuf_without_records_is_counted_and_the_client_is_told() -> None:
    requests = {
        LOGS: nested(15, b"unknown"),
        TRACES: nested(1, nested(1, b"")),
        METRICS: nested(1, nested(2, nested(2, nested(5, b"")))),
    }
    with Serving(OtlpReceiver(server="grpc")) as serving:
        with grpc.insecure_channel(serving.grpc_address) as channel:
            for path, request in requests.items():
                answer = ExportLogsServiceResponse.FromString(channel.unary_unary(path)(request, timeout=30))
                assert answer.partial_success.rejected_log_records == 0
                assert answer.partial_success.error_message.startswith("the request contains no OTLP ")
        assert serving.host.counted == {"no_records": 3}


def test_json_over_http() -> None:
    data = b'{"resourceLogs": []}'
    with Serving(OtlpReceiver(server="http")) as serving:
        sent = gzip.compress(data)
        status, body, headers = post(
            serving, "/v1/logs", sent, "application/json; charset=utf-8", Content_Encoding="gzip"
        )
        assert (status, body, headers["Content-Type"]) == (200, b"{}", "application/json")
        (event,) = serving.events
        assert (event.data, event.content_type) == (data, "application/json; proto=otlp.logs")


def test_errors_over_http_are_a_status_in_the_encoding_of_the_request() -> None:
    with Serving(OtlpReceiver(server="http"), http={"max_message_size": 1000}) as serving:
        serving.inbox.failures += [full(), full(), mmapqueue.Closed("stopping")]
        status, body, headers = post(serving, "/v1/logs", b"", "application/x-protobuf")
        assert (status, headers["Retry-After"], headers["Content-Type"]) == (429, "1", "application/x-protobuf")
        assert Status.FromString(body).code == 8
        status, body, headers = post(serving, "/v1/logs", b"{}", "application/json")
        assert (status, headers["Retry-After"], json.loads(body)["code"]) == (429, "1", 8)
        status, body, headers = post(serving, "/v1/logs", b"{}", "application/json")
        assert (status, headers["Retry-After"], json.loads(body)["code"]) == (503, "1", 14)
        assert post(serving, "/v1/logs", b"a" * 1001, "application/x-protobuf")[0] == 413
        assert post(serving, "/v1/logs", b"abc", "text/plain")[0] == 415
        assert not serving.inbox.records


def test_an_event_larger_than_the_queue_takes_is_refused() -> None:
    with Serving(OtlpReceiver(server="grpc"), inbox=FakeInbox(max_event_size=1000)) as serving:
        with grpc.insecure_channel(serving.grpc_address) as channel, pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary(LOGS)(logs("a" * 1000), timeout=30)
        assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT


def test_into_a_real_queue(open_queue: Open, tmp_path: Path) -> None:
    queue = open_queue(tmp_path / "real")
    with Serving(OtlpReceiver(server="grpc")) as serving:

        async def make() -> QueueInbox:
            return QueueInbox(queue, pipe="logs")

        inbox = serving.run(make())
        serving.host.inbox = inbox  # type: ignore[assignment]
        sent = [f"log {number}" for number in range(30)]
        emit(GrpcLogs(endpoint=f"http://{serving.grpc_address}"), sent)
        stored = [each.data for each in queue.read_many(queue.first_offset(), 1000)]
        assert bodies([Event.FromString(each) for each in stored]) == sent

        async def close() -> None:
            await inbox.close()

        serving.run(close())
        with grpc.insecure_channel(serving.grpc_address) as channel, pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary(LOGS)(b"", timeout=30)
        assert caught.value.code() == grpc.StatusCode.UNAVAILABLE


def test_two_pipes_cannot_take_one_signal_from_one_server() -> None:
    serving = Serving()

    async def start() -> None:
        await OtlpReceiver(server="grpc").start(serving.host)
        serving.host.pipe = "second"
        await OtlpReceiver(server="grpc", signals=("logs",)).start(serving.host)

    with pytest.raises(ValueError, match=r"pipe pipe: receiver otlp already receives .*; pipe second: receiver otlp"):
        asyncio.run(start())
