"""The identity that receivers give to requests: idempotency keys, and ids of events."""

import http.client
import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from mmapqueue.pipeline import EventType, encode
from mmapqueue.pipeline.event_pb2 import Batch
from mmapqueue.pipeline.gather.receivers import skywalking
from mmapqueue.pipeline.gather.receivers.events import PUSH, EventsReceiver
from mmapqueue.pipeline.gather.receivers.http import HttpReceiver
from mmapqueue.pipeline.gather.receivers.otlp import OtlpReceiver
from mmapqueue.pipeline.gather.receivers.skywalking import SkyWalkingReceiver

from .gathering import EXPORT, gathering, request, stored
from .serving import Serving

METRICS = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
STREAM = "/skywalking.v3.LogReportService/collect"


def post(serving: Serving, path: str, body: bytes, **headers: str) -> int:
    with closing(http.client.HTTPConnection("127.0.0.1", serving.http.port, timeout=30)) as connection:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("POST", path, body, named)
        reply = connection.getresponse()
        reply.read()
        return reply.status


def call(serving: Serving, path: str, *messages: bytes, key: str | None = None, streams: bool = False) -> None:
    metadata = () if key is None else (("idempotency-key", key),)
    with grpc.insecure_channel(serving.grpc_address) as channel:
        if streams:
            channel.stream_unary(path)(iter(messages), timeout=30, metadata=metadata)
        else:
            channel.unary_unary(path)(messages[0], timeout=30, metadata=metadata)


def same(keys: list[bytes | None]) -> list[int]:
    """For each key the position of the first one that is equal."""
    return [keys.index(each) for each in keys]


@pytest.fixture
def serving() -> Iterator[Serving]:
    receivers = (
        HttpReceiver(server="http", path="/a"),
        HttpReceiver(server="http", path="/b"),
        OtlpReceiver(server="http"),
        OtlpReceiver(server="grpc"),
        SkyWalkingReceiver(server="grpc"),
        EventsReceiver(server="grpc"),
    )
    with Serving(*receivers) as started:
        yield started


def test_path_key_and_content_identify_a_request_of_http(serving: Serving) -> None:
    for path, body, key in (
        ("/a", b"1", "k"),
        ("/a", b"1", "k"),
        ("/a", b"2", "k"),
        ("/a", b"1", "l"),
        ("/b", b"1", "k"),
    ):
        assert post(serving, path, body, Idempotency_Key=key) == 204
    assert same(serving.inbox.keys) == [0, 0, 2, 3, 4]
    assert post(serving, "/a", b"1") == 204
    assert serving.inbox.keys[-1] is None


def test_otlp_has_keys_over_grpc_and_http(serving: Serving) -> None:
    for key in ("k", "k", "l", None):
        call(serving, EXPORT, request("a"), key=key)
        headers = {} if key is None else {"idempotency_key": key}
        assert post(serving, "/v1/logs", request("a"), content_type="application/x-protobuf", **headers) == 200
    assert same(serving.inbox.keys[::2]) == [0, 0, 2, 3]
    assert same(serving.inbox.keys[1::2]) == [0, 0, 2, 3]
    assert serving.inbox.keys[-2:] == [None, None]


def test_parts_of_a_stream_with_a_key_depend_on_its_messages_alone(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without a key each message would be a part.
    monkeypatch.setattr(skywalking, "_WITHIN", 0.0)
    messages = [b"\x0a" + bytes([100]) + b"m" * 100] * 8000
    for key in ("k", "k", "l"):
        call(serving, STREAM, *messages, key=key, streams=True)
    parts = len(serving.inbox.keys) // 3
    assert parts > 1
    first, second, other = (serving.inbox.keys[at * parts : (at + 1) * parts] for at in range(3))
    assert first == second
    assert len({*first, *other}) == 2 * parts


def test_requests_of_another_pipeline_have_keys(serving: Serving) -> None:
    event = encode(type=EventType.LOGGING, data=b"a", time_ms=1)
    named = Batch(events=[event], key="k").SerializeToString()
    bare = Batch(events=[event]).SerializeToString()
    for message, key in ((named, None), (named, "k"), (bare, "k"), (bare, "k"), (bare, None)):
        call(serving, PUSH, message, key=key)
    keys = serving.inbox.keys
    assert keys[0] == keys[1]
    assert keys[2] == keys[3]
    assert keys[-1] is None
    assert serving.inbox.records == [event] * 5


@pytest.mark.parametrize("key", ["", "x" * 256, "a\tb", "\xe9"])
def test_keys_that_are_not_allowed_are_refused(serving: Serving, key: str) -> None:
    status = post(serving, "/a", b"x", Idempotency_Key=key)
    assert status == 400
    assert post(serving, "/v1/logs", b"", content_type="application/x-protobuf", Idempotency_Key=key) == 400
    assert not serving.inbox.records
    assert serving.host.counted == {"malformed": 1}
    if key.isprintable() and key.isascii():
        for path, streams in ((EXPORT, False), (STREAM, True), (PUSH, False)):
            with pytest.raises(grpc.RpcError) as caught:
                call(serving, path, b"", key=key, streams=streams)
            assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
            assert "expected 1 to 255 printable characters" in caught.value.details()


def test_fields_of_json_identify_events() -> None:
    bodies = [
        {"source": "s", "id": 1, "text": "a"},
        {"id": 1, "text": "other", "source": "s"},
        {"source": "s", "id": "1"},
        {"source": "t", "id": 1},
    ]
    with Serving(HttpReceiver(server="http", key_fields=("source", "id"))) as serving:
        for each in bodies:
            assert post(serving, "/", json.dumps(each).encode()) == 204
        assert same(serving.inbox.keys) == [0, 0, 2, 3]
        serving.inbox.keys.clear()
        # Lines, and an array of the same events.
        for body in (
            b"\n".join(json.dumps(each).encode() for each in bodies[:2]) + b"\r\n",
            json.dumps(bodies[:2]).encode(),
        ):
            assert post(serving, "/", body) == 204
        assert post(serving, "/", json.dumps(bodies[0]).encode() + b"\n" + json.dumps(bodies[3]).encode()) == 204
        assert same(serving.inbox.keys) == [0, 0, 2]
        serving.inbox.keys.clear()
        for body in (b"", b"{", b"1", b'{"source": "s"}', b'{"source": "s", "id": ""}', b'{"source": "s", "id": {}}'):
            assert post(serving, "/", body) == 204
        assert serving.inbox.keys == [None] * 6
        # The client's key counts.
        assert post(serving, "/", json.dumps(bodies[0]).encode(), Idempotency_Key="k") == 204
        assert post(serving, "/", json.dumps(bodies[1]).encode(), Idempotency_Key="k") == 204
        assert len(set(serving.inbox.keys)) == 3


def test_attributes_of_cloud_events_identify_them() -> None:
    headers = {"ce_specversion": "1.0", "ce_type": "t", "ce_source": "s"}
    with Serving(HttpReceiver(server="http", key_fields=("source", "id"))) as serving:
        for identity, body in (("1", b"a"), ("1", b"b"), ("2", b"a")):
            assert post(serving, "/", body, ce_id=identity, **headers) == 204
        assert same(serving.inbox.keys) == [0, 0, 2]
        assert None not in serving.inbox.keys


def logs(*uids: str | None, body: str = "") -> ExportLogsServiceRequest:
    made = ExportLogsServiceRequest()
    for uid in uids:
        record = made.resource_logs.add().scope_logs.add().log_records.add()
        record.body.string_value = body
        record.attributes.add(key="level").value.int_value = 1
        if uid is not None:
            record.attributes.add(key="log.record.uid").value.string_value = uid
    return made


def json_logs(*uids: str) -> bytes:
    records = [{"attributes": [{"key": "log.record.uid", "value": {"stringValue": each}}]} for each in uids]
    return json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}).encode()


def test_attributes_of_records_identify_requests_of_otlp() -> None:
    attributes = ("log.record.uid",)
    receivers = [OtlpReceiver(server=name, key_attributes=attributes) for name in ("grpc", "http")]
    with Serving(*receivers) as serving:
        sent = (logs("a", "b"), logs("a", "b", body="again"), logs("b", "a"), logs("a"), logs("a", None), logs())
        for each in sent:
            call(serving, EXPORT, each.SerializeToString())
        assert same(serving.inbox.keys[:4]) == [0, 0, 2, 3]
        assert serving.inbox.keys[4:] == [None, None]
        serving.inbox.keys.clear()
        for body in (json_logs("a", "b"), json_logs("a", "b") + b" ", json_logs("b"), b'{"resourceLogs": null}'):
            assert post(serving, "/v1/logs", body, content_type="application/json") == 200
        assert same(serving.inbox.keys) == [0, 0, 2, 3]
        assert serving.inbox.keys[3] is None
        serving.inbox.keys.clear()
        for number in (1, 1, 2):
            metrics = ExportMetricsServiceRequest()
            metric = metrics.resource_metrics.add().scope_metrics.add().metrics.add()
            metric.gauge.data_points.add().attributes.add(key="log.record.uid").value.int_value = number
            call(serving, METRICS, metrics.SerializeToString())
        assert same(serving.inbox.keys) == [0, 0, 2]
        assert None not in serving.inbox.keys


@pytest.mark.slow
def test_a_repeated_request_is_answered_and_counted_also_after_a_kill(tmp_path: Any) -> None:
    def export(gather: Any, text: str) -> None:
        gather.grpc.unary_unary(EXPORT)(request(text), timeout=120, metadata=(("idempotency-key", text),))

    with gathering(tmp_path) as gather:
        for text in ("a", "b", "a"):
            export(gather, text)
        assert gather.received() == {"success": 2, "repeated": 1}
    with gathering(tmp_path) as gather:
        for text in ("b", "c", "a"):
            export(gather, text)
        assert gather.received() == {"success": 1, "repeated": 2}
        assert stored(gather.directory) == [request(text) for text in "abc"]
