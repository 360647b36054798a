"""Senders by gRPC: what receivers get, and what their answers mean."""

import asyncio
import contextlib
import os
import socket
from collections.abc import Iterator

import grpc
import pytest
from google.protobuf.any_pb2 import Any as ProtobufAny
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from mmapqueue.pipeline._skywalking import LOGS, METERS, SEGMENT, TARGETS, content_type
from mmapqueue.pipeline.event_pb2 import Batch, LogList
from mmapqueue.pipeline.gather.sockets import _own_sockets
from mmapqueue.pipeline.process.senders import RequestLimits
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


def test_skywalking_gets_the_streams_and_messages_that_were_received() -> None:
    segments = [row(5, b"segment", SEGMENT), row(6, b"other", SEGMENT)]
    ping = content_type("skywalking.instance_ping")
    with grpc_receiver() as (endpoint, receiver):
        sender = SkyWalkingSender(name="s", endpoint=endpoint)
        for payload in (LOGS, content_type("envoy.access_logs_v3")):
            sent(sender, row(0, LogList(logs=[b"a", b"b"]).SerializeToString(), payload))
        sent(sender, *segments)
        sent(sender, row(7, b"meters", METERS))
        sent(sender, row(8, b"ping", ping))
        error = failed(sender, row(9, b"x", "text/plain"))
    assert [(call.path, call.messages) for call in receiver.calls] == [
        ("/skywalking.v3.LogReportService/collect", [b"a", b"b"]),
        ("/envoy.service.accesslog.v3.AccessLogService/StreamAccessLogs", [b"a", b"b"]),
        ("/skywalking.v3.TraceSegmentReportService/collect", [b"segment", b"other"]),
        ("/skywalking.v3.MeterReportService/collectBatch", [b"meters"]),
        ("/skywalking.v3.ManagementService/keepAlive", [b"ping"]),
    ]
    assert not error.retryable
    assert "'text/plain'" in error.reason


def test_streams_with_inherited_fields_are_never_joined() -> None:
    sender = SkyWalkingSender(name="s", endpoint="h:1", request=RequestLimits(max_records=7))
    limits = {each: sender.limits(sender.route(row(0, b"", each))).max_records for each in TARGETS}
    assert {each for each, most in limits.items() if most == 7} == {
        SEGMENT,
        METERS,
        *(
            content_type(f"skywalking.{name}")
            for name in ("span_attached_event", "event", "thread_snapshot", "browser_error_log", "mesh_metrics")
        ),
    }
    assert set(limits.values()) == {1, 7}


def test_several_addresses_take_turns_and_meters_stay_with_the_first() -> None:
    with grpc_receiver() as (one, first), grpc_receiver() as (two, second):
        sender = SkyWalkingSender(name="s", endpoint=f"{one}, {two}")

        async def send() -> None:
            client = sender.client()
            try:
                for number in range(4):
                    for each in (SEGMENT, METERS):
                        line = row(number, b"%d" % number, each)
                        await client.send(sender.route(line), [line], f"q/0/{number}")
            finally:
                await client.close()

        asyncio.run(send())
    paths = [[(call.path.rpartition("/")[2], call.messages[0]) for call in each.calls] for each in (first, second)]
    # The first request may meet a server that is connected later than the other one.
    segments = sorted(message for each in paths for path, message in each if path == "collect")
    assert segments == [b"0", b"1", b"2", b"3"]
    assert all(any(path == "collect" for path, _ in each) for each in paths)
    assert len({index for index, each in enumerate(paths) for path, _ in each if path == "collectBatch"} - {0}) <= 1
    assert [message for path, message in paths[0] if path == "collectBatch"][-3:] == [b"1", b"2", b"3"]


def test_a_server_that_is_away_gets_nothing_until_it_is_back() -> None:
    with grpc_receiver() as (gone, _):
        pass
    with grpc_receiver() as (endpoint, receiver):
        sender = SkyWalkingSender(name="s", endpoint=f"{gone},{endpoint}")
        for number in range(3):
            sent(sender, row(number, b"%d" % number, METERS))
            sent(sender, row(number, b"%d" % number, SEGMENT))
    assert len(receiver.calls) == 6
    error = failed(sender, row(0, b"x", METERS))
    assert (error.retryable, error.reason) == (True, f"UNAVAILABLE: none of {gone},{endpoint} can be connected")


def test_a_connection_to_a_host_that_has_died_ends() -> None:
    with grpc_receiver() as (endpoint, _):
        sender = SkyWalkingSender(name="s", endpoint=endpoint)

        async def timeouts() -> list[int]:
            client = sender.client()
            try:
                await client.send(sender.route(row(0, b"1", SEGMENT)), [row(0, b"1", SEGMENT)], "q/0/0-1")
                return [*user_timeouts(int(endpoint.rpartition(":")[2]))]
            finally:
                await client.close()

        assert asyncio.run(timeouts()) == [20_000]


def user_timeouts(port: int) -> Iterator[int]:
    """Milliseconds after which the system ends connections of this process to a port that acknowledge nothing."""
    for number, _ in _own_sockets():
        with socket.socket(fileno=os.dup(number)) as found, contextlib.suppress(OSError):
            if found.family in (socket.AF_INET, socket.AF_INET6) and found.getpeername()[1] == port:
                yield found.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)


def test_a_request_that_fails_on_its_way_is_not_sent_to_the_other_server() -> None:
    def fail(_position: int, context: grpc.ServicerContext) -> None:
        context.abort(grpc.StatusCode.UNAVAILABLE, "it may have been stored")

    with grpc_receiver(fail) as (one, first), grpc_receiver(fail) as (two, second):
        error = failed(SkyWalkingSender(name="s", endpoint=f"{one},{two}"), row(0, b"x", SEGMENT))
        assert (error.retryable, error.reason) == (True, "UNAVAILABLE: it may have been stored")
        assert len(first.calls) + len(second.calls) == 1


@pytest.mark.parametrize("endpoint", ["", "h", "h:1,", "h:1,h:1", "h:1,h", "h:1;h:2"])
def test_addresses_that_are_refused(endpoint: str) -> None:
    with pytest.raises(ValueError, match="address"):
        SkyWalkingSender(name="s", endpoint=endpoint)
