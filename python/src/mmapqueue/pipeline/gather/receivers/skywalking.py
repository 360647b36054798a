"""SkyWalking's native protocol over gRPC. Messages are kept byte for byte, without decoding."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from mmapqueue.pipeline._event import SKYWALKING_METERS, encode
from mmapqueue.pipeline._event import repeated as join
from mmapqueue.pipeline.event_pb2 import EventType
from mmapqueue.pipeline.gather.identity import identity
from mmapqueue.pipeline.gather.streams import GROUP_BYTES, groups
from mmapqueue.pipeline.gather.wire import Malformed, fields, repeated
from mmapqueue.pipeline.plugins import GrpcCall, Host, Receiver, Stream, Unary

SignalName = Literal["logs", "traces", "meters", "jvm", "clr", "events", "management", "profile", "browser", "mesh"]
#: Seconds for which a message of an open stream waits for others before they are pushed.
_WITHIN = 1.0
_SEGMENTS = 1
_METER_DATA = 1
#: Fields that only an earlier message of the stream may have, by field number.
_SHARED_BY_LOGS = {2: "service", 3: "service_instance", 4: "endpoint", 8: "layer"}
_SHARED_BY_METERS = {3: "service", 4: "service_instance", 5: "timestamp"}

#: Makes the events of some messages of one stream or request.
_Events = Callable[[Sequence[bytes], GrpcCall, Mapping[str, str]], list[bytes]]


class _Method(NamedTuple):
    signal: SignalName
    path: str
    events: _Events
    stream: bool = True
    #: Fields that messages inherit from earlier ones of their stream.
    shared: Mapping[int, str] | None = None
    #: The field with the actual messages, when the stream's messages are collections.
    collection: int | None = None
    #: Whether agents also call the service without its package.
    compatible: bool = True


def _source(call: GrpcCall) -> str:
    return f"skywalking://{call.peer}"


def _logs(messages: Sequence[bytes], call: GrpcCall, meta: Mapping[str, str]) -> list[bytes]:
    return [encode(type=EventType.LOGGING, logs=messages, name=call.path, meta=meta, source=_source(call))]


def _segments(messages: Sequence[bytes], call: GrpcCall, _: Mapping[str, str]) -> list[bytes]:
    source = _source(call)
    return [encode(type=EventType.TRACING, segment=each, name=call.path, source=source) for each in messages]


def _segment_collections(messages: Sequence[bytes], call: GrpcCall, meta: Mapping[str, str]) -> list[bytes]:
    return _segments([each for message in messages for each in repeated(message, _SEGMENTS)], call, meta)


def _meter_collections(messages: Sequence[bytes], call: GrpcCall, meta: Mapping[str, str]) -> list[bytes]:
    # Concatenated protobuf messages are one message with the fields of all.
    return [
        encode(
            type=EventType.METRICS,
            data=b"".join(messages),
            content_type=SKYWALKING_METERS,
            name=call.path,
            meta=meta,
            source=_source(call),
        )
    ]


def _meters(messages: Sequence[bytes], call: GrpcCall, meta: Mapping[str, str]) -> list[bytes]:
    return _meter_collections([join(_METER_DATA, messages)], call, meta)


def _each(type_: EventType, proto: str) -> _Events:
    """Makes one event of each message."""
    content_type = f"application/x-protobuf; proto=skywalking.{proto}"

    def make(messages: Sequence[bytes], call: GrpcCall, _: Mapping[str, str]) -> list[bytes]:
        source = _source(call)
        return [
            encode(type=type_, data=each, content_type=content_type, name=call.path, source=source) for each in messages
        ]

    return make


_METHODS = (
    _Method("logs", "LogReportService/collect", _logs, shared=_SHARED_BY_LOGS, compatible=False),
    _Method("traces", "TraceSegmentReportService/collect", _segments),
    _Method("traces", "TraceSegmentReportService/collectInSync", _segment_collections, stream=False),
    _Method("meters", "MeterReportService/collect", _meters, shared=_SHARED_BY_METERS),
    _Method(
        "meters",
        "MeterReportService/collectBatch",
        _meter_collections,
        shared=_SHARED_BY_METERS,
        collection=_METER_DATA,
        compatible=False,
    ),
    _Method("jvm", "JVMMetricReportService/collect", _each(EventType.JVM, "jvm_metrics"), stream=False),
    _Method("clr", "CLRMetricReportService/collect", _each(EventType.CLR, "clr_metrics"), stream=False),
    _Method("events", "EventService/collect", _each(EventType.EVENT, "event"), compatible=False),
    _Method(
        "management",
        "ManagementService/reportInstanceProperties",
        _each(EventType.MANAGEMENT, "instance_properties"),
        stream=False,
    ),
    _Method("management", "ManagementService/keepAlive", _each(EventType.MANAGEMENT, "instance_ping"), stream=False),
    _Method("profile", "ProfileTask/collectSnapshot", _each(EventType.PROFILE, "thread_snapshot")),
    _Method("browser", "BrowserPerfService/collectPerfData", _each(EventType.OTHER, "browser_perf"), stream=False),
    _Method("browser", "BrowserPerfService/collectErrorLogs", _each(EventType.OTHER, "browser_error_log")),
    _Method(
        "mesh", "ServiceMeshMetricService/collect", _each(EventType.SERVICE_MESH, "mesh_metrics"), compatible=False
    ),
)
#: Methods that are answered with empty Commands whatever the signals are, since agents call them all the time.
_ANSWERED = (
    "/skywalking.v3.ManagementService/reportInstanceProperties",
    "/skywalking.v3.ManagementService/keepAlive",
    "/skywalking.v3.ProfileTask/getProfileTaskCommands",
    "/skywalking.v3.ProfileTask/reportTaskFinish",
    "/skywalking.v3.ConfigurationDiscoveryService/fetchConfigurations",
    "/skywalking.v10.AsyncProfilerTask/getAsyncProfilerTaskCommands",
    "/skywalking.v10.PprofTask/getPprofTaskCommands",
    "/ManagementService/reportInstanceProperties",
    "/ManagementService/keepAlive",
    "/ProfileTask/getProfileTaskCommands",
    "/ProfileTask/reportTaskFinish",
)


class SkyWalkingReceiver(Receiver):
    """Takes the reports of SkyWalking agents.

    A stream of logs is one event, and so is a stream of meters. Each segment is one event, and so is each message of
    the other methods. An open stream is pushed in parts: each second, and before it has 1 MiB. Later parts have in
    `meta` what their messages may take over from earlier ones: service and service_instance, of logs endpoint and
    layer, of meters timestamp.

    Attributes:
        server: Name of a gRPC server.
        signals: What it takes. Methods of other signals are unknown; those of management and of profile queries are
            answered, and nothing is stored.
    """

    type: Literal["skywalking"] = "skywalking"
    server: str
    signals: Annotated[tuple[SignalName, ...], Field(min_length=1)] = (
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
    )

    @property
    def makes(self) -> tuple[str, ...] | None:
        """As `Source.makes`."""
        return ("application/x-protobuf; proto=skywalking.",)

    async def start(self, host: Host) -> None:
        """Registers with the server."""
        server = host.grpc(self.server)
        owner = f"pipe {host.pipe}: receiver skywalking"
        for method in _METHODS:
            if method.signal in self.signals:
                for prefix in ("/skywalking.v3.", "/") if method.compatible else ("/skywalking.v3.",):
                    if method.stream:
                        server.stream(prefix + method.path, _stream(host, method), owner=owner, pipe=host.pipe)
                    else:
                        server.unary(prefix + method.path, _unary(host, method), owner=owner, pipe=host.pipe)
        for path in _ANSWERED:
            server.answer(path)


def _unary(host: Host, method: _Method) -> Unary:
    async def take(request: bytes, call: GrpcCall) -> bytes:
        key = identity(call.metadata, call.path, request)
        await host.inbox.put(*method.events([request], call, {}), key=key)
        return b""  # An empty Commands.

    return take


def _stream(host: Host, method: _Method) -> Stream:
    # Half of the limit, because the event's header must fit, too.
    most_bytes = min(GROUP_BYTES, host.inbox.max_event_size // 2)

    async def take(messages: AsyncIterator[bytes], call: GrpcCall) -> bytes:
        meta: dict[str, str] = {}
        last: Sequence[bytes] = ()
        # With a key only bytes decide where a part ends, so that a repeated stream has the same parts.
        within = None if identity(call.metadata, call.path) is not None else _WITHIN
        number = 0
        async with aclosing(groups(messages, most_bytes=most_bytes, within=within)) as parts:
            async for part in parts:
                if method.shared is not None:
                    # Needed only for streams of several parts.
                    _update_shared(meta, last, method.shared, method.collection)
                key = identity(call.metadata, call.path, b"%d" % number, *part)
                await host.inbox.put(*method.events(part, call, meta), key=key)
                last = part
                number += 1
        return b""  # An empty Commands.

    return take


def _update_shared(
    meta: dict[str, str], messages: Sequence[bytes], shared: Mapping[int, str], collection: int | None
) -> None:
    """Updates the inherited fields with their last values in the messages."""
    if collection is not None:
        messages = [each for message in messages for each in repeated(message, collection)]
    for message in messages:
        for number, value in fields(message):
            name = shared.get(number)
            if name is None or not value:
                continue
            try:
                meta[name] = str(value) if isinstance(value, int) else value.decode()
            except UnicodeDecodeError as error:
                raise Malformed(f"{name}, field {number} of a message, is not UTF-8: {error}") from error
