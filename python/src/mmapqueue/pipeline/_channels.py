"""Connections of gRPC to one server, or to several of which any may take a request."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from mmapqueue.pipeline._grpc import grpc
from mmapqueue.pipeline.config import require_tls

if TYPE_CHECKING:
    from mmapqueue.pipeline.config import ClientTls

_OPTIONS = (
    # Disables gRPC's retries: callers count attempts.
    ("grpc.enable_retries", 0),
    ("grpc.max_send_message_length", -1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 5000),
    # A host that has died acknowledges nothing: its connection ends after this time, and not after the 15 minutes of
    # the system (TCP_USER_TIMEOUT). Both go together; servers refuse pings that come more often than every 5 minutes.
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.keepalive_time_ms", 360_000),
)


class Unreachable(Exception):
    """There is no connection to any of the servers; nothing was sent."""


class Channels:
    """A channel for each address. Belongs to the event loop on which it is created.

    Args:
        endpoint: HOST:PORT, or several separated by commas.
        tls: Plain text when None.
        compression: "gzip" or "none".

    Raises:
        ConfigError: A file of TLS cannot be read, or is no certificate or key.
    """

    def __init__(self, endpoint: str, tls: ClientTls | None, compression: str = "none") -> None:
        gzip = grpc.Compression.Gzip if compression == "gzip" else grpc.Compression.NoCompression
        credentials = None if tls is None else _credentials(tls, f"{endpoint}: tls")
        self.endpoint = endpoint
        self._channels: list[Any] = [
            grpc.aio.insecure_channel(each, options=_OPTIONS, compression=gzip)
            if credentials is None
            else grpc.aio.secure_channel(each, credentials, options=_OPTIONS, compression=gzip)
            for each in endpoint.split(",")
        ]
        self._next = 0

    async def pick(self, *, first: bool = False) -> Any:
        """A channel for one request, chosen before anything is sent.

        Of several servers the connected ones take turns. Without a connection it waits until a server is connected, or
        all attempts to connect have failed. A single channel connects by itself with the request.

        Args:
            first: The first connected server in the order of the addresses, without turns.

        Raises:
            Unreachable: No server can be connected.
        """
        if len(self._channels) == 1:
            return self._channels[0]
        channels = self._channels
        if not first:
            channels = channels[self._next :] + channels[: self._next]
            self._next = (self._next + 1) % len(channels)
        # Begins to connect all of them.
        states = [each.get_state(try_to_connect=True) for each in channels]
        for channel, state in zip(channels, states, strict=True):
            if state is grpc.ChannelConnectivity.READY:
                return channel
        return await self._first_connected(channels)

    async def _first_connected(self, channels: list[Any]) -> Any:
        attempts: dict[asyncio.Future[bool], Any] = {asyncio.ensure_future(_connected(each)): each for each in channels}
        pending: set[asyncio.Future[bool]] = set(attempts)
        try:
            while pending:
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for each in done:
                    if each.result():
                        return attempts[each]
        finally:
            for each in pending:
                each.cancel()
            await asyncio.gather(*pending, return_exceptions=True)
        raise Unreachable(f"none of {self.endpoint} can be connected")

    async def close(self, grace: float | None = None) -> None:
        """Closes all channels; calls that are in flight after `grace` seconds fail."""
        await asyncio.gather(*(each.close(grace) for each in self._channels))


async def _connected(channel: Any) -> bool:
    """Whether the attempt to connect succeeds."""
    waiting = (grpc.ChannelConnectivity.IDLE, grpc.ChannelConnectivity.CONNECTING)
    while (state := channel.get_state(try_to_connect=True)) in waiting:
        await channel.wait_for_state_change(state)
    return bool(state is grpc.ChannelConnectivity.READY)


def _credentials(tls: ClientTls, where: str) -> Any:
    # The library finds out when it connects, and does not say what is wrong.
    require_tls(tls, where)
    return grpc.ssl_channel_credentials(
        root_certificates=tls.ca.read_bytes() if tls.ca else None,
        private_key=tls.key.read_bytes() if tls.key else None,
        certificate_chain=tls.certificate.read_bytes() if tls.certificate else None,
    )
