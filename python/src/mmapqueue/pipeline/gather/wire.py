"""The protobuf wire format, as far as receivers must know it: which fields a message has, without its schema."""

from collections.abc import Iterator

_VARINT, _FIXED64, _LENGTH_DELIMITED, _FIXED32 = 0, 1, 2, 5


class Malformed(ValueError):
    """A request is not what its protocol says."""


def length_delimited(message: bytes) -> Iterator[tuple[int, bytes]]:
    r"""The length-delimited fields of a serialized message: number and bytes, in their order. Others are skipped.

    Raises:
        Malformed: The bytes are no protobuf message.

    Example:
        >>> list(length_delimited(b"\x0a\x03one\x10\x07"))
        [(1, b'one')]
    """
    at, end = 0, len(message)
    while at < end:
        tag, at = _varint(message, at)
        number, kind = tag >> 3, tag & 7
        if number == 0:
            raise Malformed(f"a protobuf message has a field of number 0 at byte {at}")
        if kind == _LENGTH_DELIMITED:
            size, at = _varint(message, at)
            if size > end - at:
                raise Malformed(f"a protobuf field of {size} bytes goes beyond its message of {end} bytes")
            yield number, message[at : at + size]
            at += size
        elif kind == _VARINT:
            _, at = _varint(message, at)
        elif kind in (_FIXED64, _FIXED32):
            at += 8 if kind == _FIXED64 else 4
            if at > end:
                raise Malformed(f"a protobuf message of {end} bytes is cut off")
        else:
            raise Malformed(f"a protobuf message has wire type {kind} at byte {at}")


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    for i in range(at, min(at + 10, len(message))):
        byte = message[i]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, i + 1
        shift += 7
    raise Malformed(f"a protobuf message of {len(message)} bytes is cut off")
