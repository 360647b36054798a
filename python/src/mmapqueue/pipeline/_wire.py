"""Cutting of protobuf messages along their fields, without decoding what the fields hold."""

from __future__ import annotations

from collections.abc import Iterator

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message in their order: number, and an integer or bytes.

    Raises:
        ValueError: The bytes are no protobuf message; names the position.
    """
    position = 0
    while position < len(message):
        tag, position = _varint(message, position)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            value, position = _varint(message, position)
            yield number, value
            continue
        if kind == _BYTES:
            length, position = _varint(message, position)
        elif kind in (_FIXED64, _FIXED32):
            length = 8 if kind == _FIXED64 else 4
        else:
            raise ValueError(f"wire type {kind} at position {position} is not one of protobuf's")
        if position + length > len(message):
            raise ValueError(f"field {number} ends at {position + length}, beyond the message of {len(message)} bytes")
        yield number, message[position : position + length]
        position += length


def entries(message: bytes, number: int = 1) -> list[bytes]:
    """The bytes of a repeated field.

    Example:
        >>> entries(b"\\x0a\\x01a\\x0a\\x01b")
        [b'a', b'b']

    Raises:
        ValueError: The bytes are no protobuf message.
    """
    return [value for found, value in fields(message) if found == number and isinstance(value, bytes)]


def _varint(message: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(message) or shift > 63:
            raise ValueError(f"no number ends at position {position} of {len(message)} bytes")
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
