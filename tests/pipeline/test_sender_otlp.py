"""The OTLP sender: what receivers get, and what their answers mean."""

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsPartialSuccess,
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)

from mmapqueue.pipeline._event import OTLP_LOGS, OTLP_PROFILES, OTLP_TRACES
from mmapqueue.pipeline.process.senders._requests import RequestLimits
from mmapqueue.pipeline.process.senders.otlp import OtlpSender, protobuf_of
from pipeline.receiving import grpc_receiver, http_receiver
from pipeline.sending import failed, row, sent


def export(body: str) -> bytes:
    request = ExportLogsServiceRequest()
    record = request.resource_logs.add().scope_logs.add().log_records.add()
    record.body.string_value = body
    record.trace_id = bytes(range(16))
    return bytes(request.SerializeToString())


EXPORT_JSON = (
    b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"traceId":"000102030405060708090a0b0c0d0e0f",'
    b'"body":{"stringValue":"one"}}]}]}]}'
)


def test_otlp_is_sent_as_it_came_and_merged_by_its_bytes() -> None:
    with grpc_receiver() as (endpoint, receiver):
        sender = OtlpSender(name="s", endpoint=endpoint, merge=True)
        sent(sender, row(0, export("one"), OTLP_LOGS))
        sent(sender, row(1, export("two"), OTLP_LOGS), row(2, export("three"), OTLP_LOGS))
        sent(sender, row(3, EXPORT_JSON, "application/json; proto=otlp.logs"))
        sent(sender, row(4, b"", OTLP_TRACES))
        sent(sender, row(5, b'{"dictionary":{}}', "application/json; proto=otlp.profiles"))
    one, merged, converted, traces, profiles = receiver.calls
    assert one.path == "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
    assert traces.path == "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
    assert profiles.path == "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
    assert profiles.messages == [b"\x12\x00"]
    assert one.messages == [export("one")]
    bodies = [
        record.body.string_value
        for resource in ExportLogsServiceRequest.FromString(merged.messages[0]).resource_logs
        for scope in resource.scope_logs
        for record in scope.log_records
    ]
    assert bodies == ["two", "three"]
    assert converted.messages == [export("one")]


def test_otlp_limits_count_only_with_merge() -> None:
    merging = OtlpSender(name="s", endpoint="h:1", merge=True, request=RequestLimits(max_records=7))
    assert merging.limits("logs").max_records == 7
    assert merging.limits("logs+json").max_records == 1
    # Each request of profiles has a dictionary of its own.
    assert merging.limits("profiles").max_records == 1
    assert OtlpSender(name="s", endpoint="h:1").limits("logs").max_records == 1


def test_otlp_over_http() -> None:
    with http_receiver() as receiver:
        sender = OtlpSender(name="s", endpoint=receiver.url, protocol="http", compression="none")
        sent(sender, row(0, export("one"), OTLP_LOGS))
        sent(sender, row(1, EXPORT_JSON, "application/json; proto=otlp.logs"))
        sent(sender, row(2, b"\x12\x00", OTLP_PROFILES))
    assert [(each.path, each.headers["content-type"], each.body) for each in receiver.taken] == [
        ("/v1/logs", "application/x-protobuf", export("one")),
        ("/v1/logs", "application/json", EXPORT_JSON),
        ("/v1development/profiles", "application/x-protobuf", b"\x12\x00"),
    ]


def test_otlp_partial_success_is_told() -> None:
    partial = ExportLogsServiceResponse(
        partial_success=ExportLogsPartialSuccess(rejected_log_records=3, error_message="too old")
    ).SerializeToString()
    with grpc_receiver(answer=partial) as (endpoint, _):
        error = failed(OtlpSender(name="s", endpoint=endpoint), row(0, export("one"), OTLP_LOGS))
    assert (error.partial, error.retryable, error.reason) == (True, False, "partial success: 3 rejected: too old")
    answer = (200, {"Content-Type": "application/json"}, b'{"partialSuccess":{"rejectedLogRecords":"2"}}')
    with http_receiver(answer) as receiver:
        sender = OtlpSender(name="s", endpoint=receiver.url, protocol="http")
        assert failed(sender, row(0, EXPORT_JSON, "application/json; proto=otlp.logs")).partial


def test_otlp_refuses_other_payloads() -> None:
    sender = OtlpSender(name="s", endpoint="127.0.0.1:1")
    error = failed(sender, row(0, b"line", "text/plain"))
    assert not error.retryable
    assert "`where`" in error.reason
    with pytest.raises(ValueError, match="not an OTLP request of logs"):
        protobuf_of("logs", b'{"resourceLogs": 7}')
