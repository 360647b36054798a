"""The protobuf wire format, as far as receivers need it: the fields of a message, without its schema."""

from collections.abc import Collection, Iterator, Sequence

from mmapqueue.pipeline._event import field

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


class Inherited:
    """Fields that the messages of a stream take over from earlier ones, as they were last.

    Args:
        numbers: Their numbers: numbers, texts or messages.
    """

    def __init__(self, numbers: Collection[int]) -> None:
        self._numbers = frozenset(numbers)
        self._values: dict[int, int | bytes] = {}

    def read(self, messages: Sequence[bytes]) -> None:
        """Takes over the fields of messages.

        Raises:
            Malformed: One is not a protobuf message.
        """
        if self._numbers:
            for message in messages:
                for number, value in fields(message):
                    # 0 and the empty text mean that a field is left out.
                    if number in self._numbers and value:
                        self._values[number] = value

    def completed(self, message: bytes) -> bytes:
        """The message with the fields before it that it leaves out.

        Raises:
            Malformed: It is not a protobuf message.
        """
        if not self._values:
            return message
        present = {number for number, value in fields(message) if value}
        absent = [b"".join(field(number, self._values[number])) for number in self._values if number not in present]
        return b"".join((*absent, message))


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    for i in range(at, min(at + 10, len(message))):
        byte = message[i]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, i + 1
        shift += 7
    raise Malformed(f"a protobuf message of {len(message)} bytes has no number at byte {at}")
