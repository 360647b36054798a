"""Answers of aiohttp that name this product, also those that do not pass through an application."""

from typing import Any

from aiohttp import web

from mmapqueue._values.version import PRODUCT


class Connection(web.RequestHandler):
    """A connection. Its answers to requests that cannot be parsed do not pass through the application."""

    __slots__ = ()

    def handle_error(self, request: web.BaseRequest, *args: Any, **options: Any) -> web.StreamResponse:
        """As `web.RequestHandler.handle_error`."""
        response = super().handle_error(request, *args, **options)
        response.headers["Server"] = PRODUCT
        return response


async def sign(_request: web.Request, response: web.StreamResponse) -> None:
    """Names the product in each answer of an application, as its `on_response_prepare`."""
    response.headers["Server"] = PRODUCT
