"""Reads request bodies: decompressed, and never more than the limit."""

import zlib

from aiohttp import web

from mmapqueue.pipeline.gather.http_messages import HttpError

#: The argument of zlib for each content encoding.
WINDOW_BITS = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}


def encoding_of(request: web.Request) -> str:
    """The Content-Encoding of a request in lower case; empty for identity."""
    encoding = request.headers.get("Content-Encoding", "").strip().lower()
    return "" if encoding == "identity" else encoding


async def read_body(request: web.Request, limit: int) -> bytes:
    """Reads a body of at most `limit` bytes, before and after decompression."""
    encoding = encoding_of(request)
    if not encoding:
        body = bytearray()
        async for chunk in request.content.iter_any():
            body += chunk
            if len(body) > limit:
                raise too_large(limit)
        return bytes(body)
    body, bits = bytearray(), WINDOW_BITS[encoding]
    inflate, read = zlib.decompressobj(bits), 0
    try:
        async for chunk in request.content.iter_any():
            if encoding == "deflate" and not read and chunk and chunk[0] & 0x0F != 8:
                inflate = zlib.decompressobj(-zlib.MAX_WBITS)  # Some clients send deflate without zlib's header.
            read += len(chunk)
            while chunk:
                body += inflate.decompress(chunk, limit + 1 - len(body))
                if len(body) > limit or read > limit:
                    raise too_large(limit)
                chunk = inflate.unconsumed_tail
                if inflate.eof:
                    # A gzip file may have several members.
                    chunk = inflate.unused_data
                    if chunk:
                        inflate = zlib.decompressobj(bits)
    except zlib.error as error:
        raise HttpError(400, f"the body is not {encoding}: {error}") from error
    if not inflate.eof:
        raise HttpError(400, f"the body is cut off: its {encoding} data has no end")
    return bytes(body)


def too_large(limit: int) -> HttpError:
    """The error of a body beyond the limit."""
    return HttpError(413, f"the body has more than max_message_size = {limit} bytes")
