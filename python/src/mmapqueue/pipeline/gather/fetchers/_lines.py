"""Events of a file's lines, encoded in bulk."""

import os
import re
import time
from collections.abc import Iterator
from typing import NamedTuple

from mmapqueue.pipeline._event import data_header, encode
from mmapqueue.pipeline.event_pb2 import Event, EventType

#: The most bytes that timestamp, position, marks and lengths add to the header of an event.
_VARIABLE = 112
_NEWLINE = 0x0A
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

    Example:
        >>> encoder = LineEncoder("/var/log/app.log", inode=5, max_event_size=4096)
        >>> events = encoder.events(b"one\ntwo\nthr", 0, after_newline=True, everything=False, most=100)
        >>> len(events.records), events.size
        (2, 8)

    Attributes:
        overhead: The most bytes of an event besides its line.
        max_line: The most bytes of a line in one event.
    """

    def __init__(
        self, source: str | os.PathLike[str], inode: int, max_event_size: int, start: re.Pattern[bytes] | None = None
    ) -> None:
        """Computes the fields that all events of a file share.

        Args:
            source: Path of the file.
            inode: The file's inode.
            max_event_size: The most bytes of an event.
            start: Matches at the start of lines that begin an event; None if every line is an event.

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
        self.overhead = len(self._common) + _VARIABLE
        self.max_line = max_event_size - self.overhead
        if self.max_line < 1:
            raise ValueError(
                f"max_event_size = {max_event_size} leaves no room for lines of {path}: {self.overhead + 1} at least"
            )

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
        if self._start is None and after_newline and not everything:
            return self._lines(prefix, data, position, most)
        return self._spans(prefix, data, position, after_newline, everything, most)

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
                records += self._pieces(prefix, data, begin_in_data, begin_in_data + length + 1, position, True)
            else:
                digits = b"%d" % begin
                head = _DATA[length] if length < known else data_header(length)
                add(join((prefix, _POSITION[len(digits)], digits, head, line)))
            begin += length + 1
        if len(rest) > longest and len(lines) < most:
            # Of a line without an end, takes as much as fills an event.
            begin_in_data = begin - position
            records += self._pieces(prefix, data, begin_in_data, begin_in_data + longest, position, True)
            begin += longest
        return Events(records, begin - position)

    def _spans(
        self, prefix: bytes, data: bytes, position: int, after_newline: bool, everything: bool, most: int
    ) -> Events:
        records: list[bytes] = []
        done = 0
        for end in self._ends(data):
            if len(records) >= most:
                return Events(records, done)
            records += self._pieces(prefix, data, done, end, position, after_newline)
            done = end
        while done < len(data) and (everything or len(data) - done > self.max_line):
            end = min(done + self.max_line, len(data))
            records += self._pieces(prefix, data, done, end, position, after_newline)
            done = end
        return Events(records, done)

    def _ends(self, data: bytes) -> Iterator[int]:
        """The ends of complete events."""
        whole = data.rfind(b"\n") + 1
        if self._start is None:
            end = data.find(b"\n") + 1
            while end:
                yield end
                end = data.find(b"\n", end) + 1
        else:
            yield from (found.start() for found in self._start.finditer(data, 0, whole) if 0 < found.start() < whole)

    def _pieces(
        self, prefix: bytes, data: bytes, begin: int, end: int, position: int, after_newline: bool
    ) -> Iterator[bytes]:
        """The event of data[begin:end], a trailing newline excluded; several when it is too long for one."""
        stop = end - 1 if data[end - 1] == _NEWLINE else end
        continuation = data[begin - 1] != _NEWLINE if begin else not after_newline
        if begin == stop and continuation:
            return  # A newline that ends the data of earlier events.
        while True:
            piece = min(begin + self.max_line, stop)
            incomplete = data[piece - 1] != _NEWLINE if piece < stop else stop == end
            digits = b"%d" % (position + begin)
            yield b"".join(
                (
                    prefix,
                    _POSITION[len(digits)],
                    digits,
                    _MARKS[continuation, incomplete],
                    _data(piece - begin),
                    data[begin:piece],
                )
            )
            begin = piece
            if begin == stop:
                return
            continuation = data[begin - 1] != _NEWLINE


def _timestamp() -> bytes:
    return Event(timestamp=time.time_ns() // 1_000_000).SerializeToString()


def _data(length: int) -> bytes:
    return _DATA[length] if length < len(_DATA) else data_header(length)
