"""Sends to a SkyWalking OAP server, by SkyWalking's own gRPC protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from mmapqueue.pipeline._event import SKYWALKING_METERS
from mmapqueue.pipeline.event_pb2 import LogList
from mmapqueue.pipeline.process.columns import LOGS, SEGMENT
from mmapqueue.pipeline.process.senders._delivery import Undelivered
from mmapqueue.pipeline.process.senders._grpc import GrpcClient, GrpcSender
from mmapqueue.pipeline.process.senders._requests import RequestLimits, Row


def _proto(name: str) -> str:
    return f"application/x-protobuf; proto=skywalking.{name}"


#: Methods that take a stream of messages, by content type.
_STREAMS = {
    SEGMENT: "/skywalking.v3.TraceSegmentReportService/collect",
    LOGS: "/skywalking.v3.LogReportService/collect",
    SKYWALKING_METERS: "/skywalking.v3.MeterReportService/collectBatch",
    _proto("event"): "/skywalking.v3.EventService/collect",
    _proto("thread_snapshot"): "/skywalking.v3.ProfileTask/collectSnapshot",
    _proto("browser_error_log"): "/skywalking.v3.BrowserPerfService/collectErrorLogs",
    _proto("mesh_metrics"): "/skywalking.v3.ServiceMeshMetricService/collect",
}
#: Methods that take one message.
_UNARY = {
    _proto("instance_properties"): "/skywalking.v3.ManagementService/reportInstanceProperties",
    _proto("instance_ping"): "/skywalking.v3.ManagementService/keepAlive",
    _proto("jvm_metrics"): "/skywalking.v3.JVMMetricReportService/collect",
    _proto("clr_metrics"): "/skywalking.v3.CLRMetricReportService/collect",
    _proto("browser_perf"): "/skywalking.v3.BrowserPerfService/collectPerfData",
}
_ROUTES = {**_STREAMS, **_UNARY}
_SINGLE = frozenset(_UNARY.values())
_ONE = RequestLimits(max_records=1)


class SkyWalkingSender(GrpcSender):
    """Sends everything that the receiver of this type takes, unchanged.

    A request is one stream, for instance of segments or of logs, or one message of a method without a stream. Rows of
    other content types are refused at once, as `retry.refused` says.

    Attributes:
        endpoint: HOST:PORT of the OAP server.
        tls: TLS settings; None for plain text.
        compression: The compression of messages.
    """

    type: Literal["skywalking"] = "skywalking"

    @property
    def takes(self) -> tuple[str, ...] | None:
        """As `Sender.takes`."""
        return tuple(_ROUTES)

    def route(self, row: Row) -> str:
        """The RPC that takes a row's payload; for other rows, their content type."""
        content_type = str(row["content_type"])
        return _ROUTES.get(content_type, content_type)

    def limits(self, route: str) -> RequestLimits:
        """As `NetworkSender.limits`."""
        return _ONE if route in _SINGLE else super().limits(route)

    async def call(self, grpc: GrpcClient, route: str, rows: Sequence[Row], key: str) -> None:
        """As `GrpcSender.call`."""
        if not route.startswith("/"):
            raise Undelivered(
                f"content type {route!r} is not one of SkyWalking's; exclude such rows with the sender's `where`",
                retryable=False,
            )
        if route in _SINGLE:
            await grpc.unary(route, bytes(rows[0]["data"]), key)
            return
        payloads = [bytes(row["data"]) for row in rows]
        if route == _STREAMS[LOGS]:
            payloads = [log for logs in payloads for log in LogList.FromString(logs).logs]
        await grpc.stream(route, payloads, key)
