"""Takes events from another pipeline's `mmapqueue` sender, unchanged."""

from typing import Literal

from mmapqueue.pipeline.gather.identity import identity
from mmapqueue.pipeline.gather.wire import repeated
from mmapqueue.pipeline.plugins import GrpcCall, Host, Receiver

#: Events/Push of event.proto.
PUSH = "/mmapqueue.pipeline.v1.Events/Push"
_EVENTS, _KEY = 1, 2


class EventsReceiver(Receiver):
    """Takes events from `mmapqueue` senders. The events of a request are stored together or not at all, and once.

    Attributes:
        server: Name of a gRPC server.
    """

    type: Literal["mmapqueue"] = "mmapqueue"
    server: str

    async def start(self, host: Host) -> None:
        """Registers with the server."""

        async def push(request: bytes, call: GrpcCall) -> bytes:
            keys = [each.decode(errors="replace") for each in repeated(request, _KEY)]
            key = identity(call.metadata, call.path, request, key=keys[-1] if keys else None)
            await host.inbox.put(*repeated(request, _EVENTS), key=key)
            return b""  # An empty Pushed.

        host.grpc(self.server).unary(PUSH, push, owner=f"pipe {host.pipe}: receiver mmapqueue", pipe=host.pipe)
