"""What the agent and the job agree on: the record, the status lines, and how a queue is opened."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import mmapqueue

Opened = TypeVar("Opened")


class Line(NamedTuple):
    """One line of a log file.

    ``raw`` holds the bytes as they are in the file, line end included: lines may hold any bytes, and the
    lines of a source, joined, are the file again. ``(source, position)`` names a line for good, whoever
    pushes it and how often: that is what duplicates are recognised by.
    """

    source: str  # path of the file
    position: int  # where the line begins in it, in bytes
    line: int  # its number, from 1
    raw: bytes


def pack(line: Line) -> bytes:
    """Return the record for a line: a JSON header, a newline, then the raw bytes."""
    header = {"source": line.source, "position": line.position, "line": line.line}
    return json.dumps(header, separators=(",", ":")).encode() + b"\n" + line.raw


def unpack(record: bytes) -> Line:
    """Return the line that `pack` made a record of. JSON escapes newlines, so the first one ends the header."""
    header, raw = record.split(b"\n", 1)
    return Line(raw=raw, **json.loads(header))


def open_patiently(open_queue: Callable[[], Opened], seconds: float = 15.0) -> Opened:
    """Open a queue, waiting while another process still holds it.

    A process that was killed holds its locks until the system has taken it down, and a supervisor may be
    quicker than that with the next one.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            return open_queue()
        except mmapqueue.Locked:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def append_status(path: Path | None, **fields: object) -> None:
    """Append one JSON line with the time to a status file, for whoever watches from outside."""
    if path is not None:
        with path.open("a") as file:
            file.write(json.dumps({"time": time.time(), **fields}) + "\n")


def read_status(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a status file. A line that a kill cut short is left out."""
    entries = []
    if path.exists():
        for text in path.read_text().splitlines():
            try:
                entries.append(json.loads(text))
            except ValueError:
                continue
    return entries
