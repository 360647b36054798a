"""gRPC clients with raw bytes, and the meaning of their errors."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Literal

import grpc
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from mmapqueue.pipeline.config import Address
from mmapqueue.pipeline.process.senders._client import Client
from mmapqueue.pipeline.process.senders._delivery import Undelivered
from mmapqueue.pipeline.process.senders._network import ClientTls, NetworkSender
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
_OPTIONS = (
    # Disables gRPC's retries: attempts are counted by the sender alone.
    ("grpc.enable_retries", 0),
    ("grpc.max_send_message_length", -1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 5000),
)


class GrpcClient:
    """A channel. Belongs to the event loop on which it is created.

    Args:
        endpoint: HOST:PORT.
        tls: Plain text when None.
        headers: Metadata of each call.
        compression: "gzip" or "none".
    """

    def __init__(self, endpoint: str, tls: ClientTls | None, headers: Mapping[str, str], compression: str) -> None:
        gzip = grpc.Compression.Gzip if compression == "gzip" else grpc.Compression.NoCompression
        if tls is None:
            self._channel = grpc.aio.insecure_channel(endpoint, options=_OPTIONS, compression=gzip)
        else:
            credentials = grpc.ssl_channel_credentials(
                root_certificates=tls.ca.read_bytes() if tls.ca else None,
                private_key=tls.key.read_bytes() if tls.key else None,
                certificate_chain=tls.certificate.read_bytes() if tls.certificate else None,
            )
            self._channel = grpc.aio.secure_channel(endpoint, credentials, options=_OPTIONS, compression=gzip)
        self._headers = [(name.lower(), value) for name, value in headers.items()]

    async def close(self) -> None:
        """Closes the channel; calls in flight fail."""
        await self._channel.close(None)

    async def unary(self, path: str, request: bytes, key: str) -> bytes:
        """Calls a method with one message; raises `Undelivered`."""
        try:
            reply: bytes = await self._channel.unary_unary(path)(request, metadata=self._metadata(key))
        except grpc.aio.AioRpcError as error:
            raise undelivered(error) from None
        return reply

    async def stream(self, path: str, messages: Sequence[bytes], key: str) -> bytes:
        """Calls a method with a stream of messages; raises `Undelivered`."""

        async def each() -> AsyncIterator[bytes]:
            for message in messages:
                yield message

        try:
            reply: bytes = await self._channel.stream_unary(path)(each(), metadata=self._metadata(key))
        except grpc.aio.AioRpcError as error:
            raise undelivered(error) from None
        return reply

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
    """A network sender with one gRPC channel for each worker process.

    Attributes:
        endpoint: HOST:PORT of the server.
        tls: TLS settings; None for plain text.
        compression: Of messages.
    """

    endpoint: Address
    tls: ClientTls | None = None
    compression: Literal["none", "gzip"] = "none"

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
