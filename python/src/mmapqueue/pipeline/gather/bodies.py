"""Reads HTTP bodies, of requests and of answers: decompressed, whole, and never more than a limit."""

import asyncio
import importlib
import sys
import zlib
from collections.abc import Callable
from typing import Any

from aiohttp import StreamReader

#: The argument of zlib for each content encoding of its formats.
_WINDOW_BITS = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}
#: Bytes that are decompressed at once: what follows a member of gzip is copied, and there may be many small ones.
_PART = 4096
#: The content encodings that `read` decompresses.
ENCODINGS = frozenset({*_WINDOW_BITS, "zstd", "snappy"})


class TooLong(ValueError):
    """A body exceeds the limit."""


class Damaged(ValueError):
    """A body is not in its encoding, or is cut off. The message has the reason."""


async def read(
    content: StreamReader, encoding: str, limit: int, grown: Callable[[int], None] = lambda _: None
) -> bytes:
    """Reads a body to its end.

    Args:
        content: The body.
        encoding: Its content encoding, one of ENCODINGS; empty for none.
        limit: The maximum number of bytes, before and after decompression.
        grown: Called with the number of bytes so far; may raise an exception.

    Raises:
        TooLong: It has more bytes.
        Damaged: It cannot be decompressed to its end.
    """
    body = bytearray()
    if encoding not in _WINDOW_BITS:
        # A variable would keep the last part while the next one is waited for: twice the body of a slow client.
        while not content.at_eof():
            body += await content.readany()
            if len(body) > limit:
                raise TooLong
            grown(len(body))
        return await _UNPACKERS[encoding](body, limit) if encoding else bytes(body)
    bits = _WINDOW_BITS[encoding]
    inflate, read = zlib.decompressobj(bits), 0
    try:
        async for chunk in content.iter_any():
            if encoding == "deflate" and not read and chunk and chunk[0] & 0x0F != 8:
                inflate = zlib.decompressobj(-zlib.MAX_WBITS)  # Some peers send deflate without zlib's header.
            read += len(chunk)
            for at in range(0, len(chunk), _PART):
                rest = chunk[at : at + _PART]
                while rest:
                    if inflate.eof:
                        # A gzip file may have several members.
                        inflate = zlib.decompressobj(bits)
                    body += inflate.decompress(rest, limit + 1 - len(body))
                    if len(body) > limit or read > limit:
                        raise TooLong
                    rest = inflate.unused_data if inflate.eof else inflate.unconsumed_tail
                grown(len(body))
    except zlib.error as error:
        raise Damaged(f"the body is not {encoding}: {error}") from error
    if not inflate.eof:
        raise Damaged(f"the body is truncated: its {encoding} data has no end")
    return bytes(body)


async def _unzstd(packed: bytearray, limit: int) -> bytes:
    """Decompresses frames of zstd: no more than one byte beyond the limit."""
    arrow = await _arrow()
    try:
        body: bytes = arrow.CompressedInputStream(arrow.py_buffer(packed), "zstd").read(limit + 1)
    except OSError as error:
        if "Truncated" in str(error):
            raise Damaged("the body is truncated: its zstd data has no end") from error
        raise Damaged(f"the body is not zstd: {error}") from error
    if not packed:
        raise Damaged("the body is truncated: its zstd data has no end")
    if len(body) > limit:
        raise TooLong
    return body


async def unsnappy(packed: bytes | bytearray, limit: int) -> bytes:
    """Decompresses one block of snappy, which begins with the number of its bytes.

    Args:
        packed: The block.
        limit: The maximum number of bytes after decompression.

    Raises:
        TooLong: It has more bytes.
        Damaged: It is no block of snappy.
    """
    arrow = await _arrow()
    size = shift = 0
    for each in packed[:5]:
        size |= (each & 0x7F) << shift
        shift += 7
        if each < 0x80:
            break
    else:
        raise Damaged("the body is not snappy: it does not begin with a number")
    if size > limit:
        raise TooLong
    try:
        body: bytes = arrow.Codec("snappy").decompress(packed, size, asbytes=True)
    except (OSError, ValueError) as error:
        raise Damaged(f"the body is not snappy: {error}") from error
    return body


_UNPACKERS = {"zstd": _unzstd, "snappy": unsnappy}


async def _arrow() -> Any:
    # Imported when a client needs it, beside the event loop: it takes 40 MB and some tenths of a second.
    return sys.modules.get("pyarrow") or await asyncio.to_thread(importlib.import_module, "pyarrow")
