"""Reads HTTP bodies, of requests and of answers: decompressed, whole, and never more than a limit."""

import zlib

from aiohttp import StreamReader

#: The argument of zlib for each content encoding.
WINDOW_BITS = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}


class TooLong(ValueError):
    """A body exceeds the limit."""


class Damaged(ValueError):
    """A body is not in its encoding, or is cut off. The message has the reason."""


async def read(content: StreamReader, encoding: str, limit: int) -> bytes:
    """Reads a body to its end.

    Args:
        content: The body.
        encoding: Its content encoding, a key of WINDOW_BITS; empty for none.
        limit: The maximum number of bytes, before and after decompression.

    Raises:
        TooLong: It has more bytes.
        Damaged: It cannot be decompressed to its end.
    """
    body = bytearray()
    if not encoding:
        async for chunk in content.iter_any():
            body += chunk
            if len(body) > limit:
                raise TooLong
        return bytes(body)
    bits = WINDOW_BITS[encoding]
    inflate, read = zlib.decompressobj(bits), 0
    try:
        async for chunk in content.iter_any():
            if encoding == "deflate" and not read and chunk and chunk[0] & 0x0F != 8:
                inflate = zlib.decompressobj(-zlib.MAX_WBITS)  # Some peers send deflate without zlib's header.
            read += len(chunk)
            while chunk:
                body += inflate.decompress(chunk, limit + 1 - len(body))
                if len(body) > limit or read > limit:
                    raise TooLong
                chunk = inflate.unconsumed_tail
                if inflate.eof:
                    # A gzip file may have several members.
                    chunk = inflate.unused_data
                    if chunk:
                        inflate = zlib.decompressobj(bits)
    except zlib.error as error:
        raise Damaged(f"the body is not {encoding}: {error}") from error
    if not inflate.eof:
        raise Damaged(f"the body is truncated: its {encoding} data has no end")
    return bytes(body)
