"""Events of a file's lines, encoded in bulk."""

import os
import re
import time
from collections.abc import Iterator
from typing import NamedTuple

from mmapqueue.pipeline._event import data_header, encode
from mmapqueue.pipeline.event_pb2 import Event, EventType
from mmapqueue.pipeline.gather.fetchers._text import Encoding, Text

#: The maximum number of bytes that timestamp, position, marks and lengths add to the header of an event.
_VARIABLE = 112
#: The first bytes of parts of a file that may begin with a hole or a byte order mark.
_ODD_STARTS = (b"\0", b"\xef")
#: A `meta` entry with the key "position", up to its value, by the number of digits of the value.
_POSITION = [b"\x2a" + bytes((12 + n,)) + b"\x0a\x08position\x12" + bytes((n,)) for n in range(20)]
_MARKS = {
    (continuation, incomplete): Event(
        meta={
            **({"continuation": "true"} if continuation else {}),
            **({"incomplete": "true"} if incomplete else {}),
        }
    ).SerializeToString()
    for continuation in (False, True)
    for incomplete in (False, True)
}


#: Tag and length of `Event.data`, by its length, for common lengths.
_DATA = [data_header(length) if length else b"" for length in range(1024)]


class Events(NamedTuple):
    """Events of a part of a file.

    Attributes:
        records: The serialized events.
        size: Bytes of the file that they cover.
    """

    records: list[bytes]
    size: int


class LineEncoder:
    r"""Makes one event of each line, or of each group of lines, of one file. Not thread-safe.

    An event without the whole line marks that in `meta`: `continuation` = "true" when the byte before it is not a
    newline, `incomplete` = "true" when no newline ends it. Both follow from the file's bytes alone, so they are the
    same when a part of the file is read again.

    NULs at the start of a line are left out: they are the hole that a writer leaves that goes on at its old position
    after a truncation, or room that a writer has allocated. So is a byte order mark at the start of the file.

    Example:
        >>> encoder = LineEncoder("/var/log/app.log", inode=5, max_event_size=4096)
        >>> events = encoder.events(b"one\ntwo\nthr", 0, after_newline=True, everything=False, most=100)
        >>> len(events.records), events.size
        (2, 8)

    Attributes:
        overhead: The maximum number of bytes of an event besides its line.
        max_line: The maximum number of bytes of a line, as it is in the file, in one event.
        text: How the file's bytes are read.
    """

    def __init__(
        self,
        source: str | os.PathLike[str],
        inode: int,
        max_event_size: int,
        start: re.Pattern[bytes] | None = None,
        encoding: Encoding = "utf-8",
    ) -> None:
        """Computes the fields that all events of a file share.

        Args:
            source: Path of the file.
            inode: The file's inode.
            max_event_size: The maximum number of bytes of an event.
            start: Matches at the start of lines that begin an event; None if every line is an event.
            encoding: The encoding of the file.

        Raises:
            ValueError: `max_event_size` leaves no room for a line beside the path.
        """
        path = os.fsencode(source).decode("utf-8", "replace")
        self._common = encode(
            type=EventType.LOGGING,
            content_type="text/plain",
            name=path.rpartition("/")[2],
            time_ms=0,
            meta={"inode": str(inode)},
            source=path,
        )
        self._start = start
        self._encoding: Encoding = encoding
        self.text = Text(encoding, b"")
        self.overhead = len(self._common) + _VARIABLE
        self.max_line = self.text.fits(max_event_size - self.overhead)
        if self.max_line < self.text.unit:
            least = self.overhead + (1 if self.text.unit == 1 else 3)
            raise ValueError(
                f"max_event_size = {max_event_size} is too small for lines of {path}; allowed: at least {least}"
            )

    def begin(self, head: bytes) -> None:
        """Takes the first bytes of the file, which may have a byte order mark. Needed for utf-16 alone."""
        if self._encoding == "utf-16":
            self.text = Text(self._encoding, head)

    def events(self, data: bytes, position: int, *, after_newline: bool, everything: bool, most: int) -> Events:
        """Encodes the lines of a part of the file.

        Args:
            data: The bytes from `position` on.
            position: The position of the data in the file, in bytes.
            after_newline: Whether a line begins at the position.
            everything: Whether the rest after the last line, or the last group, is an event, too.
            most: The most lines, or groups, to encode; one that is too long for an event becomes several events.

        Returns:
            The events. `size` is 0 when nothing is complete.
        """
        prefix = self._common + _timestamp()
        plain = self._start is None and after_newline and not everything and self.text.unit == 1
        if plain and data[:1] not in _ODD_STARTS and b"\n\0" not in data:
            return self._lines(prefix, data, position, most)
        return self._spans(prefix, data, position, after_newline=after_newline, everything=everything, most=most)

    def _lines(self, prefix: bytes, data: bytes, position: int, most: int) -> Events:
        """Encodes whole lines, the common case."""
        lines = data.split(b"\n", most)
        rest = lines.pop()
        begin = position
        records: list[bytes] = []
        add, join, known, longest = records.append, b"".join, len(_DATA), self.max_line
        for line in lines:
            length = len(line)
            if length > longest:
                begin_in_data = begin - position
                records += self._pieces(
                    prefix, data, begin_in_data, begin_in_data + length + 1, position, continuation=False
                )
            else:
                digits = b"%d" % begin
                head = _DATA[length] if length < known else data_header(length)
                add(join((prefix, _POSITION[len(digits)], digits, head, line)))
            begin += length + 1
        if len(rest) > longest and len(lines) < most:
            # Of a line without an end, takes as much as fills an event.
            begin_in_data = begin - position
            if self.text.last(data, begin_in_data) - begin_in_data > longest:
                end = self.text.cut(data, begin_in_data, begin_in_data + longest)
                records += self._pieces(prefix, data, begin_in_data, end, position, continuation=False)
                begin = position + end
        return Events(records, begin - position)

    def _spans(
        self, prefix: bytes, data: bytes, position: int, *, after_newline: bool, everything: bool, most: int
    ) -> Events:
        text = self.text
        records: list[bytes] = []
        done = 0
        begin = text.line_start(data, 0, position) if after_newline else 0
        continuation = not after_newline
        for end in self._ends(data, begin):
            if len(records) >= most:
                return Events(records, done)
            records += self._pieces(prefix, data, begin, end, position, continuation=continuation)
            done = end
            continuation = False
            begin = text.line_start(data, end, position)
        # Room that is allocated and not written yet is not part of the line.
        stop = text.last(data, begin)
        while begin < stop and (everything or stop - begin > self.max_line):
            end = text.cut(data, begin, begin + self.max_line) if stop - begin > self.max_line else stop
            records += self._pieces(prefix, data, begin, end, position, continuation=continuation)
            begin = done = end
            continuation = True
        return Events(records, done)

    def _ends(self, data: bytes, begin: int) -> Iterator[int]:
        """The ends of complete events."""
        text, start = self.text, self._start
        end = text.line_end(data, begin)
        if start is None:
            while end:
                yield end
                end = text.line_end(data, end)
        elif text.unit == 1:
            whole = data.rfind(b"\n") + 1
            yield from (found.start() for found in start.finditer(data, begin, whole) if begin < found.start() < whole)
        else:
            # Each line but the first, when the newline that ends it is there.
            while end:
                after = text.line_end(data, end)
                if after and start.match(text.utf8(data[text.line_start(data, end, end) : after])):
                    yield end
                end = after

    def _pieces(
        self, prefix: bytes, data: bytes, begin: int, end: int, position: int, *, continuation: bool
    ) -> Iterator[bytes]:
        """The event of data[begin:end], a trailing newline excluded; several when it is too long for one."""
        text = self.text
        stop = end - text.unit if text.ends_line(data, begin, end) else end
        if begin == stop and continuation:
            return  # A newline that ends the data of earlier events.
        while True:
            piece = text.cut(data, begin, begin + self.max_line) if stop - begin > self.max_line else stop
            incomplete = not text.ends_line(data, begin, piece) if piece < stop else stop == end
            line = data[begin:piece] if text.unit == 1 else text.utf8(data[begin:piece])
            digits = b"%d" % (position + begin)
            yield b"".join(
                (
                    prefix,
                    _POSITION[len(digits)],
                    digits,
                    _MARKS[continuation, incomplete],
                    _data(len(line)),
                    line,
                )
            )
            continuation = not text.ends_line(data, begin, piece)
            begin = piece
            if begin == stop:
                return


def _timestamp() -> bytes:
    return Event(timestamp=time.time_ns() // 1_000_000).SerializeToString()


def _data(length: int) -> bytes:
    return _DATA[length] if length < len(_DATA) else data_header(length)
