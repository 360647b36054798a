"""Reads a file as it grows, and finds the position again after a restart."""

import os
import re
import time
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from mmapqueue.pipeline.gather.fetchers._birth import birth_time
from mmapqueue.pipeline.gather.fetchers._lines import Events, LineEncoder
from mmapqueue.pipeline.gather.fetchers._text import Encoding

#: Bytes at the start of a file, and before the position, by which the file is recognised.
WINDOW = 1024
#: The maximum number of reads of NULs in one turn, and the bytes of each.
_HOLE_READS, _HOLE_BYTES = 16, 1 << 20
_CHECK_BITS = 20
#: The maximum number of bytes of a file, which a sequence has room for.
MAX_POSITION = (1 << 63 - _CHECK_BITS) - 1


class Key(NamedTuple):
    """The identity of a file, for as long as the file exists."""

    device: int
    inode: int


class Batch(NamedTuple):
    """The result of one read.

    Attributes:
        producer: The producer of the file's generation.
        sequence: Sequence of the batch.
        records: The serialized events.
        end: The position after the batch, in bytes.
        head: The first bytes of the file up to `end`, at most WINDOW.
        last: The last bytes of the file before `end`, at most WINDOW.
    """

    producer: str
    sequence: int
    records: Sequence[bytes]
    end: int
    head: bytes
    last: bytes


def sequence(position: int, head: bytes, last: bytes, born: int) -> int:
    """The sequence of a batch that ends at a position: the position, and a checksum of the file before it.

    Args:
        position: The position, in bytes.
        head: The first bytes of the file up to it, WINDOW at most.
        last: The last bytes before it, WINDOW at most.
        born: The file's creation time, from `birth_time`.

    Raises:
        ValueError: The position is beyond MAX_POSITION.
    """
    if position > MAX_POSITION:
        raise ValueError(f"position {position} exceeds the maximum size of a file, {MAX_POSITION} bytes")
    checksum = zlib.crc32(last, zlib.crc32(head, zlib.crc32(b"%d" % born)))
    return position << _CHECK_BITS | checksum & (1 << _CHECK_BITS) - 1


class Tail:
    """One file that is read as it grows. Not thread-safe.

    Attributes:
        key: Device and inode.
        path: The present path.
        generation: The number of times that the file, or another file of the same inode, was truncated or replaced.
        position: Everything before it was read, in bytes.
        matched: Whether one of the fetcher's paths matches it.
        drained: Whether the last read found nothing.
    """

    def __init__(
        self,
        prefix: str,
        path: Path,
        key: Key,
        max_event_size: int,
        start: re.Pattern[bytes] | None,
        encoding: Encoding = "utf-8",
    ) -> None:
        self.key = key
        self.path = path
        self.generation = 0
        self.position = 0
        self.matched = True
        self._prefix = prefix
        self._head = self._last = b""
        self._encoder = LineEncoder(path, key.inode, max_event_size, start, encoding)
        self._fd: int | None = None
        self._born = 0
        self._seen: tuple[int, int] | None = None
        self._grown = time.monotonic()
        self._complete = True
        self.drained = False

    @property
    def producer(self) -> str:
        """The producer of this generation."""
        return producer(self._prefix, self.key, self.generation)

    # ---- the file

    def open(self) -> None:
        """Opens the file, unless it is open.

        Raises:
            OSError: The file cannot be opened.
            FileNotFoundError: The path is now that of another file.
        """
        if self._fd is not None:
            return
        fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        stat = os.fstat(fd)
        if Key(stat.st_dev, stat.st_ino) != self.key:
            os.close(fd)
            raise FileNotFoundError(f"{self.path} was replaced by another file")
        self._fd = fd
        born = birth_time(fd)
        if self._born != born and self.position:
            # Replaced by a file of the same path and inode while it was closed.
            self._begin_generation()
        self._born = born

    def close(self) -> None:
        """Closes the file. `open` opens it again."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    @property
    def is_open(self) -> bool:
        """Whether the file is open."""
        return self._fd is not None

    def quiet(self) -> float:
        """Seconds since a change of the file was seen."""
        return time.monotonic() - self._grown

    def due(self, idle: float) -> bool:
        """Whether there may be something to read: the file has changed, or its last line has waited for `idle` seconds.

        Raises:
            FileNotFoundError: The file is closed, and its path does not exist any more.
        """
        if self._fd is None:
            stat = self.path.stat()
            if Key(stat.st_dev, stat.st_ino) != self.key:
                return False
        else:
            stat = os.fstat(self._fd)
        if not self.drained or (stat.st_size, stat.st_mtime_ns) != self._seen:
            return True
        return not self._complete and self.quiet() >= idle

    def finished(self, seconds: float) -> bool:
        """Whether everything was read, and the file has not grown for this time."""
        return self.drained and self._complete and self.quiet() >= seconds

    # ---- position

    def resume(self, generation: int, last_sequence: int | None) -> None:
        """Continues after the last batch of a producer if the file still has the bytes that were read. It must be open.

        Otherwise a new generation begins at the file's first byte.
        """
        self.generation = generation
        self.position, self._head, self._last = 0, b"", b""
        self._seen = None
        if last_sequence is None:
            return
        position = last_sequence >> _CHECK_BITS
        head, last = self._windows(position)
        # A file system that reports birth times only since an upgrade has stored checksums with 0.
        same = {sequence(position, head, last, born) for born in (self._born, 0)}
        if len(last) == min(position, WINDOW) and last_sequence in same:
            self.position, self._head, self._last = position, head, last
        else:
            self._begin_generation()

    def skip(self) -> Batch:
        """Returns a batch without records that ends at the file's end. The file must be open."""
        size = os.fstat(self._descriptor()).st_size
        return self._without_records(size - size % self._encoder.text.unit)

    def commit(self, batch: Batch) -> None:
        """Moves past a stored batch."""
        self.position, self._head, self._last = batch.end, batch.head, batch.last

    # ---- lines

    def read(self, limit: int, idle: float) -> Batch | None:
        """Reads from the position on. The file must be open.

        Args:
            limit: Approximate limit of the bytes of a batch's events and lines.
            idle: Seconds after which a last line without a newline is taken.

        Returns:
            A batch; None when nothing more can be read at present.
        """
        stat = os.fstat(self._descriptor())
        if (stat.st_size, stat.st_mtime_ns) != self._seen:
            if self._seen is None or stat.st_size != self._seen[0]:
                self._grown = time.monotonic()
            self._seen = stat.st_size, stat.st_mtime_ns
        data = self._follow(limit, stat.st_size)
        everything = self.quiet() >= idle and self.position + len(data) == stat.st_size
        events = self._events(data, limit, everything=everything)
        if not events.size and len(data) >= limit:
            # The line is longer than a batch.
            data = self._follow(max(limit, self._encoder.max_line + 1), stat.st_size)
            events = self._events(data, limit, everything=False)
        if not events.size:
            hole = len(data) - len(data.lstrip(b"\0")) if self._begins_line() else 0
            if hole:
                return self._after_hole(self.position + hole, ended=hole < len(data))
            self._complete = everything or not data
            self.drained = True
            return None
        self.drained = False
        done = data[: events.size] if events.size <= WINDOW else data[events.size - WINDOW : events.size]
        head = self._head if len(self._head) == WINDOW else (self._head + data[: min(events.size, WINDOW)])[:WINDOW]
        last = (self._last + done)[-WINDOW:]
        end = self.position + events.size
        return Batch(self.producer, sequence(end, head, last, self._born), events.records, end, head, last)

    def _events(self, data: bytes, limit: int, *, everything: bool) -> Events:
        self._encoder.begin(self._head or data[:WINDOW])
        most = max(1, limit // self._encoder.overhead)
        return self._encoder.events(
            data, self.position, after_newline=self._begins_line(), everything=everything, most=most
        )

    def _begins_line(self) -> bool:
        return (
            self._last[-1:] == b"\n"
            if self._last and self._encoder.text.unit == 1 and self._last[-1]
            else (self._encoder.text.begins_line(self._last))
        )

    def _after_hole(self, position: int, *, ended: bool) -> Batch | None:
        """A batch without records up to the end of NULs that begin at the tail's position; None when they have no end.

        NULs up to the end of the file stay unread: a writer may fill them.

        Args:
            position: All before it is NUL.
            ended: Whether the file goes on there with another byte.
        """
        unit = self._encoder.text.unit
        if ended and position - position % unit > self.position:
            self.drained = False
            return self._without_records(position - position % unit)
        self._complete, self.drained = not ended, True
        if ended:
            return None
        for _ in range(_HOLE_READS):
            with suppress(OSError):  # Not all file systems have it. There are no data after the position, perhaps.
                position = os.lseek(self._descriptor(), position, os.SEEK_DATA)
            data = os.pread(self._descriptor(), _HOLE_BYTES, position)
            if not data:
                return None
            rest = data.lstrip(b"\0")
            position += len(data) - len(rest)
            if rest:
                self.drained = False
                return self._without_records(position - position % unit)
        # The rest is another turn's.
        self.drained = False
        return None

    def _without_records(self, position: int) -> Batch:
        head, last = self._windows(position)
        return Batch(self.producer, sequence(position, head, last, self._born), (), position, head, last)

    def _follow(self, size: int, file_size: int) -> bytes:
        """Bytes from the position on. The read covers the bytes before it, too, which shows a truncation."""
        overlap = len(self._last)
        if file_size >= self.position:
            data = os.pread(self._descriptor(), overlap + size, self.position - overlap)
            if data.startswith(self._last):
                return data[overlap:]
        self._begin_generation()
        return os.pread(self._descriptor(), size, 0)

    def _begin_generation(self) -> None:
        self.generation += 1
        self.position, self._head, self._last = 0, b"", b""

    def _windows(self, position: int) -> tuple[bytes, bytes]:
        size = min(position, WINDOW)
        return os.pread(self._descriptor(), size, 0), os.pread(self._descriptor(), size, position - size)

    def _descriptor(self) -> int:
        if self._fd is None:
            raise ValueError(f"{self.path} is closed")
        return self._fd


# ---- names of producers


def producer(prefix: str, key: Key, generation: int) -> str:
    """Name of the producer of a file's generation."""
    return f"{prefix}{key.device:x}-{key.inode:x}.{generation}"


def generations(prefix: str, producers: Sequence[str]) -> dict[Key, list[int]]:
    """The files and generations of the producers with a prefix: generations by file, in ascending order."""
    pattern = re.compile(re.escape(prefix) + r"([0-9a-f]+)-([0-9a-f]+)\.([0-9]+)")
    found: dict[Key, list[int]] = {}
    for name in producers:
        match = pattern.fullmatch(name)
        if match:
            found.setdefault(Key(int(match[1], 16), int(match[2], 16)), []).append(int(match[3]))
    return {key: sorted(each) for key, each in found.items()}
