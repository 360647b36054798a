"""Records of a stream of bytes: lines, texts that end with NUL, JSON lines, records with a length before them."""

import json
import select
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from io import FileIO

from mmapqueue._values.errors import MmapQueueError

#: Bytes of one read. A pipe returns at most 64 KiB at a time.
_READ_BYTES = 1 << 20
#: Bytes of a length before a record: an unsigned number, big-endian.
_LENGTH_BYTES = 4


class Splitter(ABC):
    """Divides one stream into records. For one thread.

    Args:
        name: The stream, for errors.
        most: Bytes of the largest record that is allowed.
    """

    #: The name of a record in errors.
    kind = "record"

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._most = most
        self._count = 0
        # The incomplete record, and its bytes.
        self._pieces: list[bytes] = []
        self._size = 0

    @abstractmethod
    def feed(self, data: bytes) -> Iterator[bytes]:
        """The records that these bytes complete. All of them must be taken before the next call.

        Raises:
            MmapQueueError: A record is wrong. The records before it were returned.
        """

    @abstractmethod
    def end(self) -> Iterator[bytes]:
        """The record that the end of the stream completes; raises as `feed`."""

    def check(self, record: bytes) -> None:  # noqa: B027 - most kinds have nothing to check
        """Raises MmapQueueError for a record that is wrong."""

    def _hold(self, piece: bytes) -> None:
        """Keeps a part of an incomplete record."""
        self._check_size(self._size + len(piece))
        self._pieces.append(piece)
        self._size += len(piece)

    def _take(self) -> bytes:
        """Takes the parts that were kept."""
        data = b"".join(self._pieces)
        self._pieces, self._size = [], 0
        return data

    def _next(self, record: bytes) -> bytes:
        """Counts a complete record, and checks it."""
        self._check_size(len(record))
        self.check(record)
        self._count += 1
        return record

    def _check_size(self, size: int) -> None:
        if size > self._most:
            raise self._error(f"has {size} bytes or more, and max_event_size is {self._most}")

    def _error(self, text: str) -> MmapQueueError:
        return MmapQueueError(f"{self._name}: {self.kind} {self._count + 1} {text}")


class Lines(Splitter):
    """Records with a separator after each; the last one needs none. Every line is a record, also an empty one."""

    kind = "line"
    separator = b"\n"

    def feed(self, data: bytes) -> Iterator[bytes]:
        """As `Splitter.feed`."""
        first, *rest = data.split(self.separator)
        self._hold(first)
        if rest:
            last = rest.pop()
            yield self._next(self._take())
            for record in rest:
                yield self._next(record)
            self._hold(last)

    def end(self) -> Iterator[bytes]:
        """As `Splitter.end`."""
        if self._size:
            yield self._next(self._take())


class NulSeparated(Lines):
    """Records with a NUL after each, such as `find -print0` writes."""

    kind = "record"
    separator = b"\0"


class JsonLines(Lines):
    """Lines that are JSON each. Stored as they are."""

    def check(self, record: bytes) -> None:
        """Raises MmapQueueError for a line that is not JSON; NaN and infinity are not."""
        try:
            json.loads(record.decode(), parse_constant=_no_json)
        except json.JSONDecodeError as error:
            raise self._error(f"is not JSON: {error.msg} at character {error.colno}") from None
        except (ValueError, RecursionError) as error:
            raise self._error(f"is not JSON: {error}") from None


class LengthPrefixed(Splitter):
    """Records with a length before each: 4 bytes, unsigned, big-endian."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """As `Splitter.feed`."""
        self._pieces.append(data)
        self._size += len(data)
        if self._size < self._needed():
            return
        data, start = self._take(), 0
        while len(data) - start >= _LENGTH_BYTES:
            stop = start + _LENGTH_BYTES + self._length(data, start)
            if stop > len(data):
                break
            yield self._next(data[start + _LENGTH_BYTES : stop])
            start = stop
        self._pieces, self._size = [data[start:]], len(data) - start

    def end(self) -> Iterator[bytes]:
        """As `Splitter.end`; raises MmapQueueError within a record."""
        if self._size:
            needed = self._needed()
            raise self._error(f"ends after {self._size} of {needed} bytes, its length included")
        yield from ()

    def _needed(self) -> int:
        """Bytes of the incomplete record and its length; bytes of a length while that is incomplete."""
        if self._size < _LENGTH_BYTES:
            return _LENGTH_BYTES
        if len(self._pieces[0]) < _LENGTH_BYTES:
            self._pieces = [b"".join(self._pieces)]
        return _LENGTH_BYTES + self._length(self._pieces[0], 0)

    def _length(self, data: bytes, start: int) -> int:
        length = int.from_bytes(data[start : start + _LENGTH_BYTES], "big")
        self._check_size(length)
        return length


def _no_json(constant: str) -> None:
    raise ValueError(f"JSON has no {constant}")


def chunks(stream: FileIO) -> Iterator[bytes]:
    """The bytes of a stream, as soon as they arrive; b"" before each wait for more."""
    # Not `select`, which takes no descriptor above 1023: a command may have many inputs.
    poll = select.poll()
    poll.register(stream, select.POLLIN)
    while True:
        if not poll.poll(0):
            yield b""
            poll.poll()
        data = stream.read(_READ_BYTES)
        if data is None:
            continue  # Another reader of a stream that does not block was faster.
        if not data:
            return
        yield data


def batches(data: Iterable[bytes], splitter: Splitter) -> Iterator[list[bytes]]:
    """The records of each chunk; an empty list for an empty chunk. Records before a wrong one precede its error."""
    for chunk in data:
        if chunk:
            yield from _complete(splitter.feed(chunk))
        else:
            yield []
    yield from _complete(splitter.end())


def _complete(records: Iterator[bytes]) -> Iterator[list[bytes]]:
    found: list[bytes] = []
    failure = None
    try:
        found.extend(records)
    except MmapQueueError as error:
        failure = error
    if found:
        yield found
    if failure is not None:
        raise failure
