"""The protobuf wire format, as far as receivers need it: the fields of a message, without its schema."""

from collections.abc import Iterator

_VARINT, _FIXED64, _LENGTH_DELIMITED, _FIXED32 = 0, 1, 2, 5


class Malformed(ValueError):
    """A request does not conform to its protocol."""


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    r"""The fields of a serialized message in their order: number, and a varint's value or the field's bytes.

    Raises:
        Malformed: The bytes are not a protobuf message.

    Example:
        >>> list(fields(b"\x0a\x03one\x10\x07"))
        [(1, b'one'), (2, 7)]
    """
    at, end = 0, len(message)
    while at < end:
        start = at
        tag, at = _varint(message, at)
        number, kind = tag >> 3, tag & 7
        if number == 0:
            raise Malformed(f"a protobuf message has a field of number 0 at byte {start}")
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        if kind == _LENGTH_DELIMITED:
            size, at = _varint(message, at)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise Malformed(f"a protobuf message has a field of wire type {kind} at byte {start}")
        if size > end - at:
            raise Malformed(f"a protobuf message of {end} bytes ends inside of a field")
        yield number, message[at : at + size]
        at += size


def repeated(message: bytes, number: int) -> list[bytes]:
    """The values of a message's repeated field of bytes or messages.

    Raises:
        Malformed: The bytes are not a protobuf message, or the field has another type.
    """
    found = []
    for each, value in fields(message):
        if each == number:
            if isinstance(value, int):
                raise Malformed(f"field {number} of a protobuf message is a number and not bytes")
            found.append(value)
    return found


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    for i in range(at, min(at + 10, len(message))):
        byte = message[i]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, i + 1
        shift += 7
    raise Malformed(f"a protobuf message of {len(message)} bytes has no number at byte {at}")
