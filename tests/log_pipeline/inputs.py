"""The log files that the demo follows: those of this machine, and one that grows and is rotated while it runs."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from compare import File

#: Of what directories hold no more than this is taken, the small files first.
MOST_BYTES = 64 * 1024 * 1024

#: Where logs are, unless LOGS names other logs.
LOGS = "/var/log"

#: Lines of the file that grows, and taken where no log can be read.
SAMPLE = Path(__file__).with_name("sample.log")

_PACKED = {".gz", ".xz", ".bz2", ".zst", ".zip", ".journal"}


def find(logs: str | None, most_bytes: int = MOST_BYTES) -> tuple[list[Path], list[Path]]:
    """Finds the log files; returns those to take, and those that exceed the size limit.

    Args:
        logs: Files and directories, separated by ":"; None or "" for /var/log. Each file named here is taken; of
            directories only readable, non-empty text files.
        most_bytes: The most bytes of files in directories.

    Raises:
        SystemExit: A path does not exist.
    """
    named = [Path(name).absolute() for name in (logs or LOGS).split(":") if name]
    for path in named:
        if not path.exists():
            raise SystemExit(f"demo: there is no {path}")
    taken = [path for path in named if path.is_file()]
    found = {path for directory in named if directory.is_dir() for path in _text_files(directory)} - set(taken)
    left_out: list[Path] = []
    total = 0
    for path in sorted(found, key=lambda path: (path.stat().st_size, path)):
        total += path.stat().st_size
        (taken if total <= most_bytes else left_out).append(path)
    if not taken and not logs:
        taken = [SAMPLE]
    return sorted(taken), sorted(left_out)


def _text_files(directory: Path) -> Iterator[Path]:
    for folder, _, names in os.walk(directory):
        for name in names:
            path = Path(folder, name)
            if path.suffix not in _PACKED and name.isprintable() and _is_text(path):
                yield path


def _is_text(path: Path) -> bool:
    """Whether a file can be read, holds something, and has no zero byte at its beginning; not so for links."""
    if path.is_symlink() or not path.is_file() or not os.access(path, os.R_OK):
        return False
    with path.open("rb") as file:
        beginning = file.read(8192)
    return bool(beginning) and b"\0" not in beginning


def measure(path: Path) -> File:
    """A file as it is now, up to its last newline when it has one."""
    status = path.stat()
    size = status.st_size
    with path.open("rb") as file:
        while size:
            start = max(0, size - 65_536)
            file.seek(start)
            newline = file.read(size - start).rfind(b"\n")
            if newline >= 0:
                return File(path, status.st_ino, start + newline + 1)
            size = start
    return File(path, status.st_ino, status.st_size)


def unchanged(file: File) -> bool:
    """Whether a path is still the file that was measured, and not shorter; it may have grown."""
    if not file.path.is_file():
        return False
    status = file.path.stat()
    return status.st_ino == file.inode and status.st_size >= file.size


class GrowingLog:
    """A program that logs: it appends numbered lines to a file, and has it rotated half way.

    Attributes:
        written: Lines that are in the files.
        hold: It stops before this line until the number is raised.
    """

    def __init__(self, path: Path, lines: int, rate: float, hold: int) -> None:
        self.written = 0
        self.hold = hold
        self._path = path
        self._lines = lines
        self._rate = rate
        self._sample = SAMPLE.read_bytes().splitlines()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="growing log", daemon=True)

    @property
    def paths(self) -> list[Path]:
        """The files that it has written."""
        return [path for path in (self._path, self._path.with_name(self._path.name + ".1")) if path.exists()]

    def start(self) -> None:
        """Starts to write."""
        self._thread.start()

    def stop(self) -> None:
        """Returns when it no longer writes."""
        self._stopped.set()
        self._thread.join()

    def done(self) -> bool:
        """Whether all lines are written."""
        return self.written >= self._lines

    def _run(self) -> None:
        before = time.monotonic()
        while not self.done() and not self._stopped.wait(0.05):
            now = time.monotonic()
            due = min(self.written + int((now - before) * self._rate), self._lines, self.hold)
            before = now
            if due == self.written:
                continue
            half = self._lines // 2
            if self.written < half <= due:
                self._append(half)
                self._path.rename(self._path.with_name(self._path.name + ".1"))
            if due > self.written:
                self._append(due)

    def _append(self, end: int) -> None:
        """Writes the lines before a number."""
        lines = self._numbered(range(self.written, end))
        with self._path.open("ab") as file:
            file.write(b"\n".join(lines) + b"\n")
        self.written = end

    def _numbered(self, numbers: Sequence[int]) -> list[bytes]:
        return [b"%s n=%d" % (self._sample[number % len(self._sample)], number) for number in numbers]
