"""Calls that a backend answers: they are passed on while the client waits, since their answer is what it wants."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from datetime import timedelta
from typing import Annotated, Any

from pydantic import Field, model_validator

from mmapqueue.pipeline._channels import Channels, Unreachable
from mmapqueue.pipeline._grpc import grpc
from mmapqueue.pipeline._timeout import timeout
from mmapqueue.pipeline.config import Addresses, ClientTls
from mmapqueue.pipeline.config._headers import check_headers
from mmapqueue.pipeline.plugins import Duration, GrpcCall, GrpcError, Options

_LOG = logging.getLogger("mmapqueue.pipeline.backend")
#: What a client gets that is not connected to the backend, or not answered in time.
_UNAVAILABLE = "UNAVAILABLE"
#: What grpc says when the connection ends while a call begins.
_ENDED = (grpc.StatusCode.INTERNAL, "Internal error from Core")


class BackendSettings(Options):
    """The server that answers calls.

    Attributes:
        endpoint: HOST:PORT, or several separated by commas: calls go to the connected ones in turn.
        tls: TLS settings; None for plain text.
        headers: Metadata of each call, in place of the client's.
        timeout: The time in which a call is answered. Calls that upload files have the client's deadline instead.
    """

    endpoint: Addresses
    tls: ClientTls | None = None
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    timeout: Annotated[Duration, Field(gt=timedelta(0))] = timedelta(seconds=5)

    @model_validator(mode="after")
    def _check(self) -> BackendSettings:
        check_headers(self.headers, grpc=True)
        return self


class Backend:
    """Passes calls on to a server. Belongs to the event loop that it is created on.

    A call is sent once, and never again to another server: only its client knows whether that is right.

    Args:
        settings: The server.

    Raises:
        ConfigError: A file of TLS cannot be read, or is no certificate or key.
    """

    def __init__(self, settings: BackendSettings) -> None:
        self._settings = settings
        self._channels = Channels(settings.endpoint, settings.tls)
        self._headers = tuple((name.lower(), value) for name, value in settings.headers.items())

    def ask(self, messages: AsyncIterator[bytes], call: GrpcCall) -> AsyncGenerator[bytes, None]:
        """Passes on a call that is answered at once: `Exchange`. After `timeout` it ends with UNAVAILABLE."""
        return self._pass_on(messages, call, self._settings.timeout.total_seconds())

    def upload(self, messages: AsyncIterator[bytes], call: GrpcCall) -> AsyncGenerator[bytes, None]:
        """Passes on a call that takes as long as its client needs: `Exchange`."""
        return self._pass_on(messages, call, None)

    async def close(self) -> None:
        """Ends the connections; calls that are in flight after `timeout` fail."""
        await self._channels.close(self._settings.timeout.total_seconds())

    async def _pass_on(
        self, messages: AsyncIterator[bytes], call: GrpcCall, seconds: float | None
    ) -> AsyncGenerator[bytes, None]:
        passed: Any = None
        try:
            async with timeout(self._settings.timeout.total_seconds()):
                channel = await self._channels.pick()
            passed = channel.stream_stream(call.path)(messages, metadata=self._headers, timeout=seconds)
            async for reply in passed:
                yield reply
        except (Unreachable, TimeoutError, asyncio.TimeoutError):
            raise GrpcError(_UNAVAILABLE, f"the backend {self._settings.endpoint} cannot be connected") from None
        except grpc.aio.AioRpcError as error:
            raise self._failed(error, call.path, seconds) from None
        finally:
            if passed is not None:
                passed.cancel()

    def _failed(self, error: grpc.aio.AioRpcError, path: str, seconds: float | None) -> GrpcError:
        code, details = error.code(), error.details() or ""
        _LOG.debug("%s at %s: %s: %s", path, self._settings.endpoint, code.name, details)
        if code == grpc.StatusCode.DEADLINE_EXCEEDED and seconds is not None:
            return GrpcError(
                _UNAVAILABLE, f"the backend {self._settings.endpoint} did not answer {path} in {seconds:g} s"
            )
        if code == grpc.StatusCode.UNAVAILABLE or (code, details) == _ENDED:
            return GrpcError(_UNAVAILABLE, f"the backend {self._settings.endpoint} of {path}: {details}")
        return GrpcError(code.name, details)
