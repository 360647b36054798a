"""SkyWalking's native protocol over gRPC, and Envoy's that the OAP takes. Messages are kept without decoding."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import Annotated, Literal, NamedTuple, get_args

from pydantic import Field, PrivateAttr

from mmapqueue.pipeline._event import encode
from mmapqueue.pipeline._event import repeated as join
from mmapqueue.pipeline._skywalking import METERS, content_type
from mmapqueue.pipeline.event_pb2 import EventType
from mmapqueue.pipeline.gather.backend import Backend, BackendSettings
from mmapqueue.pipeline.gather.identity import identity
from mmapqueue.pipeline.gather.streams import GROUP_BYTES, groups
from mmapqueue.pipeline.gather.wire import Inherited, repeated
from mmapqueue.pipeline.plugins import GrpcCall, Host, Receiver, Stream, Unary

SignalName = Literal[
    "logs",
    "traces",
    "meters",
    "jvm",
    "clr",
    "events",
    "management",
    "profile",
    "browser",
    "mesh",
    "cds",
    "async_profiler",
    "pprof",
    "process",
    "ebpf_profiling",
    "ebpf_access_logs",
    "envoy_access_logs_v2",
    "envoy_access_logs_v3",
    "envoy_metrics_v2",
    "envoy_metrics_v3",
]
#: Seconds for which a message of an open stream waits for others before they are pushed.
_WITHIN = 1.0
_SEGMENTS = 1
_METER_DATA = 1
_MESSAGES = 1
#: Field numbers: service, service_instance, endpoint, layer.
_INHERITED_BY_LOGS = (2, 3, 4, 8)
#: Field numbers: service, service_instance, timestamp.
_INHERITED_BY_METERS = (3, 4, 5)
#: Field numbers: the node and the connection; the task; the identifier.
_INHERITED_BY_ACCESS_LOGS, _INHERITED_BY_PROFILING, _INHERITED_BY_ENVOY = (1, 2), (1,), (1,)

#: Makes the events of some messages of one stream or request.
_Events = Callable[[Sequence[bytes], GrpcCall], list[bytes]]


class _Method(NamedTuple):
    """A method by which clients deliver data: it goes to the queue."""

    signal: SignalName
    path: str
    events: _Events
    stream: bool = True
    #: Fields that messages may take over from earlier ones of their stream.
    inherited: tuple[int, ...] = ()
    #: Whether agents also call the service without its package.
    compatible: bool = True
    package: str = "/skywalking.v3."


class _Question(NamedTuple):
    """A method whose answer matters: the backend gets it while the client waits."""

    signal: SignalName
    paths: tuple[str, ...]
    #: Whether it is a stream that takes as long as the client needs. Without a backend it is unknown.
    upload: bool = False


def _source(call: GrpcCall) -> str:
    return f"skywalking://{call.peer}"


def _logs(messages: Sequence[bytes], call: GrpcCall) -> list[bytes]:
    return [encode(type=EventType.LOGGING, logs=messages, name=call.path, source=_source(call))]


def _segments(messages: Sequence[bytes], call: GrpcCall) -> list[bytes]:
    source = _source(call)
    return [encode(type=EventType.TRACING, segment=each, name=call.path, source=source) for each in messages]


def _segment_collections(messages: Sequence[bytes], call: GrpcCall) -> list[bytes]:
    return _segments([each for message in messages for each in repeated(message, _SEGMENTS)], call)


def _each(type_: EventType, payload: str) -> _Events:
    """Makes one event of each message."""

    def make(messages: Sequence[bytes], call: GrpcCall) -> list[bytes]:
        source = _source(call)
        return [encode(type=type_, data=each, content_type=payload, name=call.path, source=source) for each in messages]

    return make


def _all(type_: EventType, payload: str, number: int = _MESSAGES) -> _Events:
    """Makes one event of all messages, which are a repeated field of its payload."""

    def make(messages: Sequence[bytes], call: GrpcCall) -> list[bytes]:
        data = join(number, messages)
        return [encode(type=type_, data=data, content_type=payload, name=call.path, source=_source(call))]

    return make


def _native(name: str) -> str:
    return content_type(f"skywalking.{name}")


def _envoy(signal: SignalName, path: str) -> _Method:
    events = _all(EventType.OTHER, content_type(f"envoy.{signal.removeprefix('envoy_')}"))
    return _Method(signal, path, events, inherited=_INHERITED_BY_ENVOY, compatible=False, package="/envoy.service.")


_METHODS = (
    _Method("logs", "LogReportService/collect", _logs, inherited=_INHERITED_BY_LOGS, compatible=False),
    _Method("traces", "TraceSegmentReportService/collect", _segments),
    _Method("traces", "TraceSegmentReportService/collectInSync", _segment_collections, stream=False),
    _Method(
        "traces",
        "SpanAttachedEventReportService/collect",
        _each(EventType.TRACING, _native("span_attached_event")),
        compatible=False,
    ),
    _Method(
        "meters",
        "MeterReportService/collect",
        _all(EventType.METRICS, METERS, _METER_DATA),
        inherited=_INHERITED_BY_METERS,
    ),
    _Method("meters", "MeterReportService/collectBatch", _each(EventType.METRICS, METERS), compatible=False),
    _Method("jvm", "JVMMetricReportService/collect", _each(EventType.JVM, _native("jvm_metrics")), stream=False),
    _Method("clr", "CLRMetricReportService/collect", _each(EventType.CLR, _native("clr_metrics")), stream=False),
    _Method("events", "EventService/collect", _each(EventType.EVENT, _native("event")), compatible=False),
    _Method(
        "management",
        "ManagementService/reportInstanceProperties",
        _each(EventType.MANAGEMENT, _native("instance_properties")),
        stream=False,
    ),
    _Method(
        "management",
        "ManagementService/keepAlive",
        _each(EventType.MANAGEMENT, _native("instance_ping")),
        stream=False,
    ),
    _Method("profile", "ProfileTask/collectSnapshot", _each(EventType.PROFILE, _native("thread_snapshot"))),
    _Method(
        "browser", "BrowserPerfService/collectPerfData", _each(EventType.OTHER, _native("browser_perf")), stream=False
    ),
    _Method("browser", "BrowserPerfService/collectErrorLogs", _each(EventType.OTHER, _native("browser_error_log"))),
    _Method(
        "mesh",
        "ServiceMeshMetricService/collect",
        _each(EventType.SERVICE_MESH, _native("mesh_metrics")),
        compatible=False,
    ),
    _Method(
        "process",
        "EBPFProcessService/keepAlive",
        _each(EventType.OTHER, _native("ebpf_process_ping")),
        stream=False,
        compatible=False,
    ),
    _Method(
        "ebpf_profiling",
        "EBPFProfilingService/collectProfilingData",
        _all(EventType.OTHER, _native("ebpf_profiling")),
        inherited=_INHERITED_BY_PROFILING,
        compatible=False,
    ),
    _Method(
        "ebpf_access_logs",
        "EBPFAccessLogService/collect",
        _all(EventType.OTHER, _native("ebpf_access_logs")),
        inherited=_INHERITED_BY_ACCESS_LOGS,
        compatible=False,
    ),
    _envoy("envoy_access_logs_v2", "accesslog.v2.AccessLogService/StreamAccessLogs"),
    _envoy("envoy_access_logs_v3", "accesslog.v3.AccessLogService/StreamAccessLogs"),
    _envoy("envoy_metrics_v2", "metrics.v2.MetricsService/StreamMetrics"),
    _envoy("envoy_metrics_v3", "metrics.v3.MetricsService/StreamMetrics"),
)
_QUESTIONS = (
    _Question(
        "profile",
        (
            "/skywalking.v3.ProfileTask/getProfileTaskCommands",
            "/skywalking.v3.ProfileTask/reportTaskFinish",
            "/ProfileTask/getProfileTaskCommands",
            "/ProfileTask/reportTaskFinish",
        ),
    ),
    _Question("profile", ("/skywalking.v3.ProfileTask/goProfileReport",), upload=True),
    _Question("cds", ("/skywalking.v3.ConfigurationDiscoveryService/fetchConfigurations",)),
    _Question("async_profiler", ("/skywalking.v10.AsyncProfilerTask/getAsyncProfilerTaskCommands",)),
    _Question("async_profiler", ("/skywalking.v10.AsyncProfilerTask/collect",), upload=True),
    _Question("pprof", ("/skywalking.v10.PprofTask/getPprofTaskCommands",)),
    _Question("pprof", ("/skywalking.v10.PprofTask/collect",), upload=True),
    _Question("process", ("/skywalking.v3.EBPFProcessService/reportProcesses",)),
    _Question(
        "ebpf_profiling",
        (
            "/skywalking.v3.EBPFProfilingService/queryTasks",
            "/skywalking.v3.ContinuousProfilingService/queryPolicies",
            "/skywalking.v3.ContinuousProfilingService/reportProfilingTask",
        ),
    ),
)
#: Answered with empty Commands, too, where no pipe takes them, since agents call them all the time.
_MANAGEMENT = (
    "/skywalking.v3.ManagementService/reportInstanceProperties",
    "/skywalking.v3.ManagementService/keepAlive",
    "/ManagementService/reportInstanceProperties",
    "/ManagementService/keepAlive",
)


class SkyWalkingReceiver(Receiver):
    """Takes the reports of SkyWalking agents, of Rover and of Envoy.

    Data goes to the queue. Calls whose answer matters, such as queries for tasks, are passed on to `backend` while the
    client waits.

    A stream of logs is one event, and so is a stream of meters, of Envoy's and of eBPF's messages. Each segment is one
    event, and so is each message of the other methods. An open stream is pushed in parts: each second, and before it
    has 1 MiB. The first message of a later part gets the fields that it may take over from earlier ones: service,
    instance, of logs endpoint and layer, of meters the time, of Envoy the identifier, of eBPF the node, connection
    and task.

    Attributes:
        server: Name of a gRPC server.
        signals: What it takes. Methods of other signals are unknown.
        backend: The server that answers queries; without one they get empty answers, and uploads of profiles are
            unknown methods.
    """

    type: Literal["skywalking"] = "skywalking"
    server: str
    signals: Annotated[tuple[SignalName, ...], Field(min_length=1)] = get_args(SignalName)
    backend: BackendSettings | None = None
    _backend: Backend | None = PrivateAttr(None)

    @property
    def makes(self) -> tuple[str, ...] | None:
        """As `Source.makes`."""
        return content_type("skywalking."), content_type("envoy.")

    async def start(self, host: Host) -> None:
        """Registers with the server."""
        server = host.grpc(self.server)
        owner = f"pipe {host.pipe}: receiver skywalking"
        for method in _METHODS:
            if method.signal in self.signals:
                for prefix in (method.package, "/") if method.compatible else (method.package,):
                    if method.stream:
                        server.stream(prefix + method.path, _stream(host, method), owner=owner, pipe=host.pipe)
                    else:
                        server.unary(prefix + method.path, _unary(host, method), owner=owner, pipe=host.pipe)
        if self.backend is not None:
            self._backend = Backend(self.backend)
        for question in _QUESTIONS:
            for path in question.paths:
                if self._backend is not None and question.signal in self.signals:
                    handler = self._backend.upload if question.upload else self._backend.ask
                    server.exchange(path, handler, owner=owner, pipe=host.pipe)
                if not question.upload:
                    server.answer(path)
        for path in _MANAGEMENT:
            server.answer(path)

    async def stop(self) -> None:
        """Ends the connections to the backend."""
        backend, self._backend = self._backend, None
        if backend is not None:
            await backend.close()


def _unary(host: Host, method: _Method) -> Unary:
    async def take(request: bytes, call: GrpcCall) -> bytes:
        key = identity(call.metadata, call.path, request)
        await host.inbox.put(*method.events([request], call), key=key)
        return b""  # An empty Commands.

    return take


def _stream(host: Host, method: _Method) -> Stream:
    # Half of the limit, because the event's header must fit, too.
    most_bytes = min(GROUP_BYTES, host.inbox.max_event_size // 2)

    async def take(messages: AsyncIterator[bytes], call: GrpcCall) -> bytes:
        inherited = Inherited(method.inherited)
        last: Sequence[bytes] = ()
        # With a key only bytes decide where a part ends, so that a repeated stream has the same parts.
        within = None if identity(call.metadata, call.path) is not None else _WITHIN
        number = 0
        async with aclosing(groups(messages, most_bytes=most_bytes, within=within)) as parts:
            async for part in parts:
                # Only streams of several parts are read.
                inherited.read(last)
                key = identity(call.metadata, call.path, b"%d" % number, *part)
                await host.inbox.put(*method.events([inherited.completed(part[0]), *part[1:]], call), key=key)
                last = part
                number += 1
        return b""  # An empty message.

    return take
