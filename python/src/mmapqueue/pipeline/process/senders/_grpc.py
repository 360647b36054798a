"""gRPC clients with raw bytes, and the meaning of their errors."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from mmapqueue.pipeline._channels import Channels, Unreachable
from mmapqueue.pipeline._grpc import grpc
from mmapqueue.pipeline.config import Addresses, ClientTls
from mmapqueue.pipeline.process.senders._client import Client
from mmapqueue.pipeline.process.senders._delivery import Undelivered
from mmapqueue.pipeline.process.senders._network import NetworkSender
from mmapqueue.pipeline.process.senders._requests import Row

#: Status codes of requests that can never succeed. All others are outages, also of credentials.
REFUSED = frozenset(
    {
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.ALREADY_EXISTS,
        grpc.StatusCode.UNIMPLEMENTED,
    }
)
#: How gRPC's libraries say RESOURCE_EXHAUSTED of a message beyond the server's limit.
_TOO_LARGE = re.compile(r"larger than max|exceeds (the )?maximum", re.IGNORECASE)
_DETAILS = "grpc-status-details-bin"


class GrpcClient:
    """Calls methods of one server, or of several of which any may take a request.

    Belongs to the event loop on which it is created.

    Args:
        endpoint: HOST:PORT, or several separated by commas.
        tls: Plain text when None.
        headers: Metadata of each call.
        compression: "gzip" or "none".
    """

    def __init__(self, endpoint: str, tls: ClientTls | None, headers: Mapping[str, str], compression: str) -> None:
        self._channels = Channels(endpoint, tls, compression)
        self._headers = [(name.lower(), value) for name, value in headers.items()]

    async def close(self) -> None:
        """Closes the channels; calls in flight fail."""
        await self._channels.close()

    async def unary(self, path: str, request: bytes, key: str, *, one_server: bool = False) -> bytes:
        """Calls a method with one message; raises `Undelivered`.

        Args:
            path: The method.
            request: The message.
            key: Idempotency key.
            one_server: Use the first connected server in the order of `endpoint`, and not any of them.
        """
        channel = await self._channel(one_server)
        try:
            reply: bytes = await channel.unary_unary(path)(request, metadata=self._metadata(key))
        except grpc.aio.AioRpcError as error:
            raise undelivered(error) from None
        return reply

    async def stream(self, path: str, messages: Sequence[bytes], key: str, *, one_server: bool = False) -> bytes:
        """Calls a method with a stream of messages. Otherwise as `unary`."""

        async def each() -> AsyncIterator[bytes]:
            for message in messages:
                yield message

        channel = await self._channel(one_server)
        try:
            reply: bytes = await channel.stream_unary(path)(each(), metadata=self._metadata(key))
        except grpc.aio.AioRpcError as error:
            raise undelivered(error) from None
        return reply

    async def _channel(self, one_server: bool) -> Any:  # noqa: FBT001
        try:
            return await self._channels.pick(first=one_server)
        except Unreachable as error:
            raise Undelivered(f"UNAVAILABLE: {error}", retryable=True) from None

    def _metadata(self, key: str) -> tuple[tuple[str, str], ...]:
        return (*self._headers, ("idempotency-key", key))


class GrpcConnection:
    """A channel with a function that sends requests on it: the client of a sender.

    Args:
        grpc: The channel.
        call: Sends a request once: channel, route, rows, key.
    """

    def __init__(
        self, grpc: GrpcClient, call: Callable[[GrpcClient, str, Sequence[Row], str], Awaitable[None]]
    ) -> None:
        self._grpc, self._call = grpc, call

    async def send(self, route: str, rows: Sequence[Row], key: str) -> None:
        """As `Client.send`."""
        await self._call(self._grpc, route, rows, key)

    async def close(self) -> None:
        """As `Client.close`."""
        await self._grpc.close()


class GrpcSender(NetworkSender):
    """A network sender with one gRPC channel for each worker process and address.

    Attributes:
        endpoint: HOST:PORT of the server, or several separated by commas.
        tls: TLS settings; None for plain text.
        compression: Of messages.
    """

    endpoint: Addresses
    tls: ClientTls | None = None
    compression: Literal["none", "gzip"] = "none"

    @property
    def over_grpc(self) -> bool:
        """As `NetworkSender.over_grpc`."""
        return True

    def client(self) -> Client:
        """As `NetworkSender.client`."""
        return GrpcConnection(GrpcClient(self.endpoint, self.tls, self.headers, self.compression), self.call)

    @abstractmethod
    async def call(self, grpc: GrpcClient, route: str, rows: Sequence[Row], key: str) -> None:
        """Sends a request once, on a channel. Otherwise as `Client.send`."""


def undelivered(error: grpc.aio.AioRpcError) -> Undelivered:
    """Converts the error of a failed call."""
    code, details = error.code(), error.details() or ""
    too_large = code == grpc.StatusCode.RESOURCE_EXHAUSTED and _TOO_LARGE.search(details) is not None
    return Undelivered(
        f"{code.name}: {details}",
        retryable=not (code in REFUSED or too_large),
        retry_after=_retry_after(error),
        divisible=code == grpc.StatusCode.INVALID_ARGUMENT or too_large,
    )


def _retry_after(error: grpc.aio.AioRpcError) -> float:
    """Seconds of a RetryInfo in the error's details; 0 for none."""
    for name, value in error.trailing_metadata() or ():
        if name != _DETAILS:
            continue
        try:
            details = Status.FromString(value).details
            for each in details:
                info = RetryInfo()
                if each.Unpack(info):
                    return max(0.0, float(info.retry_delay.seconds + info.retry_delay.nanos / 1e9))
        except DecodeError:
            return 0.0
    return 0.0
