"""Takes events from another pipeline's `mmapqueue` sender, unchanged."""

from typing import Literal

from mmapqueue.pipeline.gather.wire import repeated
from mmapqueue.pipeline.plugins import GrpcCall, Host, Receiver

#: Events/Push of event.proto.
PUSH = "/mmapqueue.pipeline.v1.Events/Push"
_EVENTS = 1


class EventsReceiver(Receiver):
    """Takes events from `mmapqueue` senders. The events of a request are stored together or not at all.

    Attributes:
        server: Name of a gRPC server.
    """

    type: Literal["mmapqueue"] = "mmapqueue"
    server: str

    async def start(self, host: Host) -> None:
        """Registers with the server."""

        async def push(request: bytes, _: GrpcCall) -> bytes:
            await host.inbox.put(*repeated(request, _EVENTS))
            return b""  # An empty Pushed.

        host.grpc(self.server).unary(PUSH, push, owner=f"pipe {host.pipe}: receiver mmapqueue")
