"""Reads request bodies: decompressed, and never more than the limit."""

from collections.abc import Callable

from aiohttp import web

from mmapqueue.pipeline.gather.bodies import Damaged, TooLong, read
from mmapqueue.pipeline.plugins import HttpError


def encoding_of(request: web.Request) -> str:
    """The Content-Encoding of a request in lower case; empty for identity."""
    encoding = request.headers.get("Content-Encoding", "").strip().lower()
    return "" if encoding == "identity" else encoding


async def read_body(request: web.Request, limit: int, grown: Callable[[int], None]) -> bytes:
    """Reads a body of at most `limit` bytes, before and after decompression. As `bodies.read`."""
    try:
        return await read(request.content, encoding_of(request), limit, grown)
    except TooLong:
        raise too_large(limit) from None
    except Damaged as error:
        raise HttpError(400, str(error)) from error


def too_large(limit: int) -> HttpError:
    """The error of a body beyond the limit."""
    return HttpError(413, f"the body has more than max_message_size = {limit} bytes")
