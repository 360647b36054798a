"""SkyWalking: its Python agent against the receiver, and raw streams."""

import random
import threading
from collections.abc import Iterator
from typing import Any

import grpc
import pytest

import mmapqueue
from mmapqueue.pipeline import EventType
from mmapqueue.pipeline._event import repeated as join
from mmapqueue.pipeline.gather import wire
from mmapqueue.pipeline.gather.receivers import skywalking
from mmapqueue.pipeline.gather.receivers.events import PUSH, EventsReceiver
from mmapqueue.pipeline.gather.receivers.skywalking import SkyWalkingReceiver

from .serving import FakeInbox, Serving, wait_for

V3 = "/skywalking.v3."
AGENT = """
import logging, sys
from skywalking import agent, config
config.init(
    agent_collector_backend_services=sys.argv[1], agent_name="shop", agent_instance_name="one",
    agent_log_reporter_active=True, agent_log_reporter_level="INFO",
    agent_meter_reporter_active=False, agent_collector_heartbeat_period=1,
)
agent.start()
from skywalking.trace.context import get_context
for number in range(20):
    with get_context().new_local_span(op=f"/operation/{number}"):
        logging.getLogger("shop").warning("log %d", number)
print("emitted", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def whole_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow a client is, its stream is not divided by time."""
    monkeypatch.setattr(skywalking, "_WITHIN", 60.0)


def test_the_python_agent(script: Any) -> None:
    pytest.importorskip("skywalking")
    with Serving(SkyWalkingReceiver(server="grpc")) as serving:
        process = script.start(AGENT, serving.grpc_address)
        assert process.stdout.readline() == "emitted\n", process.communicate()[1]

        def found() -> tuple[set[str], set[str]]:
            from skywalking.protocol.language_agent.Tracing_pb2 import SegmentObject
            from skywalking.protocol.logging.Logging_pb2 import LogData

            logs = {LogData.FromString(each).body.text.text for event in serving.events for each in event.log_list.logs}
            segments = [SegmentObject.FromString(each.segment) for each in serving.events if each.segment]
            return logs, {span.operationName for segment in segments for span in segment.spans}

        operations = {f"/operation/{number}" for number in range(20)}
        # The agent's first meters come after 20 s.
        types = {EventType.LOGGING, EventType.TRACING, EventType.MANAGEMENT}

        def complete() -> bool:
            logs, names = found()
            every = all(any(each.endswith(f"log {number}") for each in logs) for number in range(20))
            return every and operations <= names and types <= {each.type for each in serving.events}

        wait_for(complete)


def stream(serving: Serving, path: str, messages: Iterator[bytes] | list[bytes]) -> bytes:
    with grpc.insecure_channel(serving.grpc_address) as channel:
        reply: bytes = channel.stream_unary(path)(iter(messages), timeout=60)
        return reply


def unary(serving: Serving, path: str, message: bytes) -> bytes:
    with grpc.insecure_channel(serving.grpc_address) as channel:
        reply: bytes = channel.unary_unary(path)(message, timeout=60)
        return reply


def log(service: str = "", text: str = "") -> bytes:
    return join(2, [service.encode()] if service else []) + join(5, [text.encode()])


@pytest.mark.usefixtures("whole_streams")
def test_a_stream_of_logs_is_one_event() -> None:
    messages = [random.Random(seed).randbytes(seed) for seed in range(100)]
    with Serving(SkyWalkingReceiver(server="grpc")) as serving:
        assert stream(serving, V3 + "LogReportService/collect", messages) == b""
        (event,) = serving.events
    assert list(event.log_list.logs) == messages
    assert event.type == EventType.LOGGING
    assert not event.meta
    assert event.source.startswith("skywalking://127.0.0.1:")


@pytest.mark.usefixtures("whole_streams")
def test_a_large_stream_of_logs_is_several_events_which_name_the_service() -> None:
    messages = [log("shop"), *[log(text=f"{number} " + "x" * 1000) for number in range(50)]]
    messages[30] = log("other")
    with Serving(SkyWalkingReceiver(server="grpc"), inbox=FakeInbox(max_event_size=20_000)) as serving:
        assert stream(serving, V3 + "LogReportService/collect", messages) == b""
        events = serving.events
    assert len(events) > 3
    carried: list[bytes] = []
    seen = b""
    for event in events:
        first, *rest = event.log_list.logs
        own = messages[len(carried)]
        # What comes last in a message counts: its own fields.
        inherits = seen and 2 not in dict(wire.fields(own))
        assert first == (join(2, [seen]) if inherits else b"") + own
        carried += [own, *rest]
        for each in carried:
            seen = dict(wire.fields(each)).get(2, seen)  # type: ignore[assignment]
    assert carried == messages
    assert seen == b"other"


def test_an_open_stream_is_pushed_before_it_ends() -> None:
    pushed = threading.Event()

    def messages() -> Iterator[bytes]:
        yield log("shop", "first")
        pushed.wait(60)
        yield log(text="second")

    with Serving(SkyWalkingReceiver(server="grpc")) as serving:
        with grpc.insecure_channel(serving.grpc_address) as channel:
            reply = channel.stream_unary(V3 + "LogReportService/collect").future(messages(), timeout=90)
            assert serving.inbox.waiting.acquire(timeout=60)
            assert not reply.done()
            pushed.set()
            assert reply.result(60) == b""
        first, second = serving.events
    assert list(first.log_list.logs) == [log("shop", "first")]
    assert list(second.log_list.logs) == [log("shop", "second")]


@pytest.mark.usefixtures("whole_streams")
@pytest.mark.parametrize("prefix", [V3, "/"])
def test_each_segment_is_an_event(prefix: str) -> None:
    segments = [b"\x0a\x03one", b"", b"\x0a\x05three"]
    with Serving(SkyWalkingReceiver(server="grpc")) as serving:
        assert stream(serving, prefix + "TraceSegmentReportService/collect", segments) == b""
        assert unary(serving, prefix + "TraceSegmentReportService/collectInSync", join(1, segments)) == b""
        assert [each.segment for each in serving.events] == segments * 2
        assert [len(each) for each in serving.inbox.puts] == [3, 3]
        assert {each.type for each in serving.events} == {EventType.TRACING}


@pytest.mark.usefixtures("whole_streams")
def test_a_stream_of_meters_is_one_collection_and_so_is_each_collection() -> None:
    meters = [b"\x1a\x04shop" + b"\x22\x03one" + b"\x28\x07", b"\x0a\x01x", b"\x0a\x01y"]
    collections = [join(1, meters), join(1, meters[1:])]
    with Serving(SkyWalkingReceiver(server="grpc")) as serving:
        assert stream(serving, V3 + "MeterReportService/collect", meters) == b""
        assert stream(serving, V3 + "MeterReportService/collectBatch", collections) == b""
        events = serving.events
    assert [each.data for each in events] == [join(1, meters), *collections]
    assert {each.content_type for each in events} == {"application/x-protobuf; proto=skywalking.meters"}


@pytest.mark.usefixtures("whole_streams")
def test_later_parts_of_meters_have_what_the_first_one_had() -> None:
    about = b"\x1a\x04shop" + b"\x22\x03one" + b"\x28\x07"
    meters = [about, *[join(1, [b"x" * 1000]) for _ in range(30)]]
    with Serving(SkyWalkingReceiver(server="grpc"), inbox=FakeInbox(max_event_size=20_000)) as serving:
        assert stream(serving, V3 + "MeterReportService/collect", meters) == b""
        parts = [wire.repeated(event.data, 1) for event in serving.events]
    assert [each[0][: len(about)] for each in parts] == [about] * 4
    assert [each.removeprefix(about) for part in parts for each in part] == [
        each.removeprefix(about) for each in meters
    ]


@pytest.mark.usefixtures("whole_streams")
@pytest.mark.parametrize(
    ("path", "content_type", "inherited"),
    [
        ("/envoy.service.accesslog.v2.AccessLogService/StreamAccessLogs", "envoy.access_logs_v2", [1]),
        ("/envoy.service.accesslog.v3.AccessLogService/StreamAccessLogs", "envoy.access_logs_v3", [1]),
        ("/envoy.service.metrics.v2.MetricsService/StreamMetrics", "envoy.metrics_v2", [1]),
        ("/envoy.service.metrics.v3.MetricsService/StreamMetrics", "envoy.metrics_v3", [1]),
        (V3 + "EBPFAccessLogService/collect", "skywalking.ebpf_access_logs", [1, 2]),
        (V3 + "EBPFProfilingService/collectProfilingData", "skywalking.ebpf_profiling", [1]),
    ],
)
def test_each_part_of_a_stream_of_envoy_and_ebpf_stands_alone(
    path: str, content_type: str, inherited: list[int]
) -> None:
    about = b"".join(join(number, [b"about %d" % number]) for number in inherited)
    messages = [about + join(3, [b"first"]), *[join(3, [b"%d" % number + b"x" * 1000]) for number in range(30)]]
    messages[15] = about.replace(b"about", b"later") + messages[15]
    with Serving(SkyWalkingReceiver(server="grpc"), inbox=FakeInbox(max_event_size=20_000)) as serving:
        assert stream(serving, path, messages) == b""
        assert stream(serving, path, [b"\xff\x00kept as it is"]) == b""
        *events, other = serving.events
    assert {each.content_type for each in events} == {f"application/x-protobuf; proto={content_type}"}
    parts = [wire.repeated(event.data, 1) for event in events]
    assert len(parts) > 3
    assert [wire.repeated(each, 3) for part in parts for each in part] == [wire.repeated(each, 3) for each in messages]
    for part in parts:
        word = b"about" if len(wire.repeated(part[0], 3)[0]) < 10 or b"about" in part[0] else b"later"
        assert [(number, value) for number, value in wire.fields(part[0]) if number in inherited] == [
            (number, word + b" %d" % number) for number in inherited
        ]
    assert b"later" in parts[-1][0]
    assert wire.repeated(other.data, 1) == [b"\xff\x00kept as it is"]


@pytest.mark.parametrize(
    ("path", "streams", "type_", "proto"),
    [
        ("JVMMetricReportService/collect", False, EventType.JVM, "jvm_metrics"),
        ("CLRMetricReportService/collect", False, EventType.CLR, "clr_metrics"),
        ("ManagementService/reportInstanceProperties", False, EventType.MANAGEMENT, "instance_properties"),
        ("ManagementService/keepAlive", False, EventType.MANAGEMENT, "instance_ping"),
        ("EventService/collect", True, EventType.EVENT, "event"),
        ("ProfileTask/collectSnapshot", True, EventType.PROFILE, "thread_snapshot"),
        ("BrowserPerfService/collectPerfData", False, EventType.OTHER, "browser_perf"),
        ("BrowserPerfService/collectErrorLogs", True, EventType.OTHER, "browser_error_log"),
        ("ServiceMeshMetricService/collect", True, EventType.SERVICE_MESH, "mesh_metrics"),
        ("SpanAttachedEventReportService/collect", True, EventType.TRACING, "span_attached_event"),
        ("EBPFProcessService/keepAlive", False, EventType.OTHER, "ebpf_process_ping"),
    ],
)
def test_other_methods(path: str, streams: bool, type_: EventType, proto: str) -> None:
    sent = [b"\xff\x00one", b"two"] if streams else [b"\xff\x00one"]
    with Serving(SkyWalkingReceiver(server="grpc")) as serving:
        reply = stream(serving, V3 + path, sent) if streams else unary(serving, V3 + path, sent[0])
        assert reply == b""
        assert [each.data for each in serving.events] == sent
        assert {each.type for each in serving.events} == {type_}
        assert {each.content_type for each in serving.events} == {f"application/x-protobuf; proto=skywalking.{proto}"}


def test_signals_that_are_not_taken_and_queries_that_are_answered() -> None:
    with Serving(SkyWalkingReceiver(server="grpc", signals=("logs",))) as serving:
        for path in (
            "ManagementService/keepAlive",
            "ProfileTask/getProfileTaskCommands",
            "ConfigurationDiscoveryService/fetchConfigurations",
        ):
            assert unary(serving, V3 + path, b"query") == b""
        with pytest.raises(grpc.RpcError) as caught:
            unary(serving, V3 + "JVMMetricReportService/collect", b"x")
        assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED
        assert not serving.inbox.records


def test_pipes_share_a_server_by_signals() -> None:
    receivers = [SkyWalkingReceiver(server="grpc", signals=(each,)) for each in ("logs", "traces", "management")]
    with Serving(*receivers) as serving:
        stream(serving, V3 + "LogReportService/collect", [log("a")])
        stream(serving, V3 + "TraceSegmentReportService/collect", [b"s"])
        unary(serving, V3 + "ManagementService/keepAlive", b"k")
        assert [each.type for each in serving.events] == [EventType.LOGGING, EventType.TRACING, EventType.MANAGEMENT]


def test_a_stream_ends_with_the_status_of_its_error() -> None:
    stopped = threading.Event()

    def messages() -> Iterator[bytes]:
        for _ in range(100):
            yield b"x" * 1000
        stopped.wait(60)

    with Serving(SkyWalkingReceiver(server="grpc"), inbox=FakeInbox(max_event_size=20_000)) as serving:
        serving.inbox.failures.append(mmapqueue.Full("no consumer"))
        try:
            with grpc.insecure_channel(serving.grpc_address) as channel, pytest.raises(grpc.RpcError) as caught:
                channel.stream_unary(V3 + "TraceSegmentReportService/collect")(messages(), timeout=60)
            assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        finally:
            stopped.set()
        with pytest.raises(grpc.RpcError) as caught:
            unary(serving, V3 + "TraceSegmentReportService/collectInSync", b"\x0a\x7fshort")
        assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        assert not serving.inbox.records


def test_events_of_another_pipeline_are_kept_and_stored_together() -> None:
    events = [b"one", b"", random.Random(1).randbytes(3000)]
    with Serving(EventsReceiver(server="grpc")) as serving:
        assert unary(serving, PUSH, join(1, events) + join(2, [b"key"])) == b""
        assert serving.inbox.puts == [tuple(events)]
        with pytest.raises(grpc.RpcError) as caught:
            unary(serving, PUSH, b"\x08")
        assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        serving.inbox.failures.append(mmapqueue.Full("no consumer"))
        with pytest.raises(grpc.RpcError) as caught:
            unary(serving, PUSH, join(1, events))
        assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert len(serving.inbox.puts) == 1
