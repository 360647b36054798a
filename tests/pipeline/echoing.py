"""Servers that answer with what they get."""

import asyncio
import contextlib
import http.client
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from mmapqueue.pipeline.gather.inbox import Full
from mmapqueue.pipeline.plugins import GrpcCall, HttpReply, HttpRequest

from .serving import Serving

ECHO = "/test.Service/Echo"
COUNT = "/test.Service/Count"


def full(seconds: float) -> Full:
    error = Full("consumer 'slow' has not acked")
    error.retry_after = seconds
    return error


class Echoing(Serving):
    """Servers that answer with what they get, after they raised what `raised` holds."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.raised: list[Exception] = []
        self.calls: list[GrpcCall] = []
        self.requests: list[HttpRequest] = []
        self.held: asyncio.Event | None = None
        self.received = asyncio.Event()
        self.grpc.unary(ECHO, self._echo)
        self.grpc.stream(COUNT, self._count)
        self.http.post("/echo", self._post)

    async def _answer(self) -> None:
        self.received.set()
        if self.held is not None:
            await self.held.wait()
        if self.raised:
            raise self.raised.pop(0)

    async def _echo(self, request: bytes, call: GrpcCall) -> bytes:
        self.calls.append(call)
        await self._answer()
        return request

    async def _count(self, messages: AsyncIterator[bytes], _: GrpcCall) -> bytes:
        total = [each async for each in messages]
        await self._answer()
        return b"%d" % len(total)

    async def _post(self, request: HttpRequest) -> HttpReply:
        self.requests.append(request)
        await self._answer()
        return HttpReply(body=request.body, content_type=request.content_type or "text/plain")

    def call(self, data: bytes = b"x", path: str = ECHO, **options: Any) -> bytes:
        with grpc.insecure_channel(self.grpc_address, options=[("grpc.max_send_message_length", -1)]) as channel:
            reply: bytes = channel.unary_unary(path)(data, timeout=30, **options)
            return reply

    def post(self, data: bytes = b"x", path: str = "/echo", **headers: str) -> tuple[int, bytes, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.http.port, timeout=30)
        with contextlib.closing(connection):
            connection.request("POST", path, data, {key.replace("_", "-"): value for key, value in headers.items()})
            with connection.getresponse() as reply:
                return reply.status, reply.read(), {key.lower(): value for key, value in reply.getheaders()}


def refused(serving: Echoing, data: bytes = b"x", **options: Any) -> Any:
    with pytest.raises(grpc.RpcError) as caught:
        serving.call(data, **options)
    return caught.value
