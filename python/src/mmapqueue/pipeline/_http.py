"""Answers of aiohttp that name this product, also those that do not pass through an application."""

import asyncio
from typing import Any

from aiohttp import web

from mmapqueue._values.version import PRODUCT


class Connection(web.RequestHandler):
    """A connection. Its answers to requests that cannot be parsed do not pass through the application.

    Attributes:
        made: Whether its handshake is done.
        heard: The loop's time when the connection was accepted, got its last bytes, or ended its last request.
        requests: Requests in progress.
    """

    __slots__ = ("_ended", "heard", "made", "requests")

    def __init__(self, manager: web.Server, *, loop: asyncio.AbstractEventLoop, **options: Any) -> None:
        super().__init__(manager, loop=loop, **options)
        self._ended = False
        self.made = False
        self.requests = 0
        self.heard = loop.time()

    def connection_made(self, transport: Any) -> None:
        """As `web.RequestHandler.connection_made`."""
        self.made = True
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """As `web.RequestHandler.data_received`. After `end`, bytes are discarded."""
        self.heard = self._loop.time()
        if not self._ended:
            super().data_received(data)

    def end(self) -> None:
        """Ends an idle connection in order: it is open until the client closes it, so that nothing resets it."""
        transport: Any = self.transport
        if transport is None or self._ended:
            return
        self._ended = True
        if transport.can_write_eof():
            transport.write_eof()
        else:
            transport.close()

    def handle_error(self, request: web.BaseRequest, *args: Any, **options: Any) -> web.StreamResponse:
        """As `web.RequestHandler.handle_error`."""
        response = super().handle_error(request, *args, **options)
        response.headers["Server"] = PRODUCT
        return response


async def sign(_request: web.Request, response: web.StreamResponse) -> None:
    """Names the product in each answer of an application, as its `on_response_prepare`."""
    response.headers["Server"] = PRODUCT
