"""Senders by gRPC: what receivers get, and what their answers mean."""

import grpc
import pytest
from google.protobuf.any_pb2 import Any as ProtobufAny
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from mmapqueue.pipeline._event import SKYWALKING_METERS
from mmapqueue.pipeline.event_pb2 import Batch, LogList
from mmapqueue.pipeline.process.columns import LOGS, SEGMENT
from mmapqueue.pipeline.process.senders.events import EventsSender
from mmapqueue.pipeline.process.senders.skywalking import SkyWalkingSender
from pipeline.receiving import grpc_receiver
from pipeline.sending import failed, row, sent


def retry_info(seconds: int, nanos: int) -> bytes:
    info = RetryInfo()
    info.retry_delay.seconds, info.retry_delay.nanos = seconds, nanos
    packed = ProtobufAny()
    packed.Pack(info)
    return bytes(Status(code=8, message="full", details=[packed]).SerializeToString())


@pytest.mark.parametrize(
    ("code", "retryable"),
    [
        (grpc.StatusCode.UNAVAILABLE, True),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, True),
        (grpc.StatusCode.DEADLINE_EXCEEDED, True),
        (grpc.StatusCode.INTERNAL, True),
        (grpc.StatusCode.UNKNOWN, True),
        (grpc.StatusCode.UNAUTHENTICATED, True),
        (grpc.StatusCode.PERMISSION_DENIED, True),
        (grpc.StatusCode.INVALID_ARGUMENT, False),
        (grpc.StatusCode.UNIMPLEMENTED, False),
    ],
)
def test_grpc_answers(code: grpc.StatusCode, retryable: bool) -> None:
    def fail(_position: int, context: grpc.ServicerContext) -> None:
        context.set_trailing_metadata([("grpc-status-details-bin", retry_info(2, 500_000_000))])
        context.abort(code, "because")

    with grpc_receiver(fail) as (endpoint, _):
        error = failed(EventsSender(name="s", endpoint=endpoint), row(0, record=b"event"))
    assert (error.retryable, error.retry_after, error.reason) == (retryable, 2.5, f"{code.name}: because")


@pytest.mark.parametrize(
    "words",
    [
        "Received message larger than max (5242880 vs. 4194304)",
        "grpc: received message after decompression larger than max 4194304",
        "gRPC message exceeds maximum size 4194304: 5242880",
        "Received message exceeds the maximum configured message size.",
    ],
)
def test_a_message_beyond_the_servers_limit_is_refused(words: str) -> None:
    def fail(_position: int, context: grpc.ServicerContext) -> None:
        context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, words)

    with grpc_receiver(fail) as (endpoint, _):
        error = failed(EventsSender(name="s", endpoint=endpoint), row(0, record=b"event"))
    assert (error.retryable, error.divisible) == (False, True)


def test_grpc_without_a_receiver_is_retryable() -> None:
    with grpc_receiver() as (endpoint, _):
        pass
    assert failed(EventsSender(name="s", endpoint=endpoint), row(0, record=b"event")).retryable


def test_events_are_sent_as_spark_has_serialized_them() -> None:
    rows = [row(i, record=b"event %d" % i) for i in range(3)]
    with grpc_receiver() as (endpoint, receiver):
        sent(EventsSender(name="s", endpoint=endpoint, headers={"Authorization": "Bearer x"}), *rows, key="q/0/0-3")
    (call,) = receiver.calls
    assert call.path == "/mmapqueue.pipeline.v1.Events/Push"
    assert (call.metadata["idempotency-key"], call.metadata["authorization"]) == ("q/0/0-3", "Bearer x")
    batch = Batch.FromString(call.messages[0])
    assert (batch.key, list(batch.events)) == ("q/0/0-3", [b"event 0", b"event 1", b"event 2"])


def test_skywalking_gets_streams_of_its_own_messages() -> None:
    logs = [row(i, LogList(logs=[b"a%d" % i, b"b%d" % i]).SerializeToString(), LOGS) for i in range(2)]
    segments = [row(5, b"segment", SEGMENT), row(6, b"other", SEGMENT)]
    with grpc_receiver() as (endpoint, receiver):
        sender = SkyWalkingSender(name="s", endpoint=endpoint)
        sent(sender, *logs)
        sent(sender, *segments)
        sent(sender, row(7, b"meters", SKYWALKING_METERS))
        error = failed(sender, row(8, b"x", "text/plain"))
    assert [(call.path, call.messages) for call in receiver.calls] == [
        ("/skywalking.v3.LogReportService/collect", [b"a0", b"b0", b"a1", b"b1"]),
        ("/skywalking.v3.TraceSegmentReportService/collect", [b"segment", b"other"]),
        ("/skywalking.v3.MeterReportService/collectBatch", [b"meters"]),
    ]
    assert not error.retryable
    assert "'text/plain'" in error.reason
