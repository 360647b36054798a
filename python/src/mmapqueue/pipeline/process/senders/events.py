"""Sender to another pipeline's receiver of type mmapqueue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from mmapqueue.pipeline.config import Address
from mmapqueue.pipeline.event_pb2 import Batch
from mmapqueue.pipeline.process.senders._grpc import GrpcClient
from mmapqueue.pipeline.process.senders._network import Client, ClientTls, NetworkSender
from mmapqueue.pipeline.process.senders._requests import Row

_PUSH = "/mmapqueue.pipeline.v1.Events/Push"


class EventsSender(NetworkSender):
    """Sends events to another gather process, which answers when they are in its queue.

    The receiver stores the events of a request together or not at all. An event without an identity gets
    `<queue id>/<partition>/<offset>` as its `id`, so that a `dedupe` filter over there recognises what came twice.

    Attributes:
        endpoint: HOST:PORT of the other pipeline's gRPC server.
        tls: Plain text when None.
        compression: Of requests.
    """

    needs: ClassVar[tuple[str, ...]] = ("data", "content_type", "record")

    type: Literal["mmapqueue"] = "mmapqueue"
    endpoint: Address
    tls: ClientTls | None = None
    compression: Literal["none", "gzip"] = "none"

    def size(self, row: Row) -> int:
        """Bytes of the serialized event."""
        return len(row["record"])

    def client(self) -> Client:
        """As `NetworkSender.client`."""
        return _Client(GrpcClient(self.endpoint, self.tls, self.headers, self.compression))


class _Client:
    def __init__(self, grpc: GrpcClient) -> None:
        self._grpc = grpc

    async def close(self) -> None:
        await self._grpc.close()

    async def send(self, route: str, rows: Sequence[Row], key: str) -> None:  # noqa: ARG002
        events = [bytes(row["record"]) for row in rows]
        await self._grpc.unary(_PUSH, Batch(events=events, key=key).SerializeToString(), key)
