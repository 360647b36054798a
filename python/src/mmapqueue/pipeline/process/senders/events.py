"""Sends events to another pipeline's receiver of type mmapqueue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from mmapqueue.pipeline.event_pb2 import Batch
from mmapqueue.pipeline.process.senders._grpc import GrpcClient, GrpcSender
from mmapqueue.pipeline.process.senders._requests import Row

_PUSH = "/mmapqueue.pipeline.v1.Events/Push"


class EventsSender(GrpcSender):
    """Sends events to another gather process, which answers when they are in its queue.

    The receiver stores the events of a request together or not at all. An event without an identity gets `<queue
    id>/<partition>/<offset>` as its `id`, so that a `dedupe` filter of the other pipeline recognises duplicates.

    Attributes:
        endpoint: HOST:PORT of the other pipeline's gRPC server.
        tls: TLS settings; None for plain text.
        compression: Of requests.
    """

    needs: ClassVar[tuple[str, ...]] = ("data", "content_type", "record")

    type: Literal["mmapqueue"] = "mmapqueue"

    def size(self, row: Row) -> int:
        """Bytes of the serialized event."""
        return len(row["record"])

    async def call(self, grpc: GrpcClient, route: str, rows: Sequence[Row], key: str) -> None:  # noqa: ARG002
        """As `GrpcSender.call`."""
        events = [bytes(row["record"]) for row in rows]
        await grpc.unary(_PUSH, Batch(events=events, key=key).SerializeToString(), key)
