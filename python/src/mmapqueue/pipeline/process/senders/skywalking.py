"""Sends to a SkyWalking OAP server, by SkyWalking's own gRPC protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from mmapqueue.pipeline._event import SKYWALKING_METERS
from mmapqueue.pipeline.event_pb2 import LogList
from mmapqueue.pipeline.process.columns import LOGS, SEGMENT
from mmapqueue.pipeline.process.senders._delivery import Undelivered
from mmapqueue.pipeline.process.senders._grpc import GrpcClient, GrpcSender
from mmapqueue.pipeline.process.senders._requests import Row

_ROUTES = {
    SEGMENT: "/skywalking.v3.TraceSegmentReportService/collect",
    LOGS: "/skywalking.v3.LogReportService/collect",
    SKYWALKING_METERS: "/skywalking.v3.MeterReportService/collectBatch",
}


class SkyWalkingSender(GrpcSender):
    """Sends segments, logs and meters that were received in SkyWalking's protocol, unchanged.

    A request is one stream: of segments, of logs, or of meters. Rows of other content types cannot be sent, and are
    treated at once as `retry.then` says; filter them out by `where`.

    Attributes:
        endpoint: HOST:PORT of the OAP server.
        tls: TLS settings; None for plain text.
        compression: The compression of messages.
    """

    type: Literal["skywalking"] = "skywalking"

    def route(self, row: Row) -> str:
        """The RPC that takes a row's payload; for other rows, their content type."""
        content_type = str(row["content_type"])
        return _ROUTES.get(content_type, content_type)

    async def call(self, grpc: GrpcClient, route: str, rows: Sequence[Row], key: str) -> None:
        """As `GrpcSender.call`."""
        if not route.startswith("/"):
            raise Undelivered(
                f"content type {route!r} is not one of SkyWalking's ({', '.join(_ROUTES)}); "
                "leave such rows out by the sender's `where`",
                retryable=False,
            )
        payloads = [bytes(row["data"]) for row in rows]
        if route == _ROUTES[LOGS]:
            payloads = [log for logs in payloads for log in LogList.FromString(logs).logs]
        await grpc.stream(route, payloads, key)
