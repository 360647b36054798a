"""Sends to a SkyWalking OAP server, by SkyWalking's own gRPC protocol and Envoy's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from mmapqueue.pipeline._skywalking import TARGETS
from mmapqueue.pipeline.event_pb2 import LogList
from mmapqueue.pipeline.process.senders._delivery import Undelivered
from mmapqueue.pipeline.process.senders._grpc import GrpcClient, GrpcSender
from mmapqueue.pipeline.process.senders._requests import RequestLimits, Row

_BY_PATH = {each.path: each for each in TARGETS.values()}
_ONE = RequestLimits(max_records=1)


class SkyWalkingSender(GrpcSender):
    """Sends everything that the receiver of this type takes, by the method that took it.

    Messages that do not depend on others, for instance segments, are sent as one stream. Other streams are sent one by
    one, as they were received: one event is one stream of logs. Rows of other content types are refused at once, as
    `retry.refused` says.

    Attributes:
        endpoint: HOST:PORT of the OAP server, or several separated by commas. Requests go to the connected ones in
            turn; meters and metrics go to the first connected one, since the OAP computes rates from the values that
            one server gets.
        tls: TLS settings; None for plain text.
        compression: The compression of messages.
    """

    type: Literal["skywalking"] = "skywalking"

    @property
    def takes(self) -> tuple[str, ...] | None:
        """As `Sender.takes`."""
        return tuple(TARGETS)

    def route(self, row: Row) -> str:
        """The RPC that takes a row's payload; for other rows, their content type."""
        content_type = str(row["content_type"])
        target = TARGETS.get(content_type)
        return content_type if target is None else target.path

    def limits(self, route: str) -> RequestLimits:
        """As `NetworkSender.limits`."""
        target = _BY_PATH.get(route)
        return super().limits(route) if target is not None and target.payload == "message" else _ONE

    async def call(self, grpc: GrpcClient, route: str, rows: Sequence[Row], key: str) -> None:
        """As `GrpcSender.call`."""
        target = _BY_PATH.get(route)
        if target is None:
            raise Undelivered(
                f"content type {route!r} is not one of SkyWalking's; exclude such rows with the sender's `where`",
                retryable=False,
            )
        payloads = [bytes(row["data"]) for row in rows]
        if target.payload == "request":
            await grpc.unary(route, payloads[0], key, one_server=target.one_server)
            return
        if target.payload == "stream":
            # The lists of all protocols are repeated bytes in field 1.
            payloads = list(LogList.FromString(payloads[0]).logs)
        await grpc.stream(route, payloads, key, one_server=target.one_server)
