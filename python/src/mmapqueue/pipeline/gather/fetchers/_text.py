"""The encodings of files: where lines and characters begin and end."""

import re
from typing import Literal

#: utf-16 is little-endian, unless the file begins with a byte order mark of the other order.
Encoding = Literal["utf-8", "utf-16", "utf-16-le", "utf-16-be"]
_NULS = re.compile(rb"\0*")
_BIG_ENDIAN = b"\xfe\xff"
_LITTLE_ENDIAN = b"\xff\xfe"
_UTF8 = b"\xef\xbb\xbf"
#: The maximum number of bytes of a character of UTF-8 after its first one.
_CONTINUED = 3


class Text:
    """How the bytes of a file are read. Immutable. Offsets are whole units from the start of the data.

    Attributes:
        unit: Bytes of a code unit.
        newline: The bytes of a newline.
        mark: The byte order mark.
    """

    def __init__(self, encoding: Encoding, head: bytes) -> None:
        """Chooses the byte order.

        Args:
            encoding: The encoding.
            head: The first bytes of the file; only utf-16 needs them.
        """
        self.unit = 1 if encoding == "utf-8" else 2
        big = encoding == "utf-16-be" or (encoding == "utf-16" and head[:2] == _BIG_ENDIAN)
        self._codec = "utf-16-be" if big else "utf-16-le"
        self._high = 0 if big else 1
        self.newline = b"\n" if self.unit == 1 else "\n".encode(self._codec)
        self.mark = _UTF8 if self.unit == 1 else _BIG_ENDIAN if big else _LITTLE_ENDIAN

    def fits(self, room: int) -> int:
        """The maximum number of bytes of the file whose text has this number of bytes in UTF-8."""
        # Each unit of two bytes becomes three at most.
        return room if self.unit == 1 else room // 3 * 2

    def utf8(self, data: bytes) -> bytes:
        """Data of units of two bytes in UTF-8; what is not text becomes U+FFFD."""
        return data.decode(self._codec, "replace").encode()

    def line_end(self, data: bytes, begin: int) -> int:
        """The end of the line that begins there, after its newline; 0 for none."""
        found = data.find(self.newline, begin)
        while found >= 0 and found % self.unit:
            found = data.find(self.newline, found + 1)
        return found + self.unit if found >= 0 else 0

    def ends_line(self, data: bytes, begin: int, end: int) -> bool:
        """Whether a newline is before the end."""
        return data.endswith(self.newline, begin, end)

    def line_start(self, data: bytes, at: int, position: int) -> int:
        """The first byte of the line at an offset: after a hole, and after a byte order mark at the file's start.

        Args:
            data: The data.
            at: The offset.
            position: The position of the data in the file.
        """
        if position + at == 0 and data.startswith(self.mark):
            at = len(self.mark)
        found = _NULS.match(data, at)
        end = at if found is None else found.end()
        return end - (end - at) % self.unit

    def last(self, data: bytes, begin: int) -> int:
        """The end of the data, without a unit that is cut off and without NULs at its end."""
        end = len(data) - len(data) % self.unit
        while end > begin and not any(data[end - self.unit : end]):
            end = begin + len(data[begin:end].rstrip(b"\0"))
            end += (begin - end) % self.unit
        return max(begin, end)

    def cut(self, data: bytes, begin: int, end: int) -> int:
        """The last end of a character from `begin` to `end`; `end` itself when the bytes there are not text."""
        if self.unit == 2:
            end -= (end - begin) % 2
            surrogate = 0xD8 <= data[end - 2 + self._high] <= 0xDB
            return end - 2 if surrogate and end - 2 > begin else end
        for at in range(end, max(begin, end - _CONTINUED - 1), -1):
            if data[at] & 0xC0 != 0x80:
                return at if at == end or data[at] >= 0xC0 else end
        return end

    def begins_line(self, last: bytes) -> bool:
        """Whether a line begins after these last bytes of a file, or all of them, whole units.

        After a newline, after a hole that follows one, and after nothing else than a hole or a byte order mark.
        """
        end = len(last)
        while end and not any(last[end - self.unit : end]):
            end -= self.unit
        return end == 0 or last.endswith(self.newline, 0, end) or last[:end] == self.mark
