"""What a client sent and what it was answered, as JSON lines that a kill of another process cannot touch."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


class Journal:
    """Appends to a file. Safe for any number of threads."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", buffering=1)
        self._lock = threading.Lock()
        self._requests = 0

    def sent(self, kind: str, numbers: Sequence[int]) -> int:
        """Notes a request before it is sent. Returns its number."""
        with self._lock:
            self._requests += 1
            self._write(what="sent", kind=kind, request=self._requests, numbers=ranges(numbers))
            return self._requests

    def answered(self, request: int) -> None:
        """Notes that the server has accepted a request."""
        with self._lock:
            self._write(what="answered", request=request)

    def failed(self, request: int) -> None:
        """Notes that a request failed and is not sent again."""
        with self._lock:
            self._write(what="failed", request=request)

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _write(self, **entry: object) -> None:
        self._file.write(json.dumps({"time": time.time(), **entry}) + "\n")


@dataclass
class Request:
    """One request of a client.

    Attributes:
        kind: What it carried: logs, spans, segments, …
        numbers: Numbers of its records.
        sent: When it was sent first, in seconds since 1970.
        answered: When it was accepted; None when it never was.
        failed: When the client gave it up; None when it did not.
    """

    kind: str
    numbers: list[int] = field(repr=False)
    sent: float
    answered: float | None = None
    failed: float | None = None

    def open_at(self, moment: float) -> bool:
        """Whether it had been sent at a moment and had no answer yet."""
        ended = self.answered or self.failed
        return self.sent <= moment and (ended is None or ended > moment)


def read(path: Path) -> list[Request]:
    """The requests of a journal, in the order in which they were sent. The file may grow during the call."""
    requests: dict[int, Request] = {}
    if not path.exists():
        return []
    for line in path.read_text().splitlines(keepends=True):
        if not line.endswith("\n"):
            break  # being written
        entry = json.loads(line)
        if entry["what"] == "sent":
            numbers = [number for first, last in entry["numbers"] for number in range(first, last + 1)]
            requests[entry["request"]] = Request(entry["kind"], numbers, entry["time"])
        else:
            setattr(requests[entry["request"]], entry["what"], entry["time"])
    return list(requests.values())


class Follower:
    """Counts what a journal says while it grows: each line is read once.

    Attributes:
        accepted: Records of requests that were answered.
        answered: Answered requests by kind.
        open: Requests without an answer, each with its number of records.
    """

    def __init__(self, path: Path) -> None:
        self.accepted = 0
        self.answered: Counter[str] = Counter()
        self.open: dict[int, int] = {}
        self._kinds: dict[int, str] = {}
        self._path = path
        self._read = 0

    def poll(self) -> None:
        """Reads what was added."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._read += len(line)
                self._take(json.loads(line))

    def _take(self, entry: dict[str, Any]) -> None:
        if entry["what"] == "sent":
            self._kinds[entry["request"]] = entry["kind"]
            self.open[entry["request"]] = sum(last - first + 1 for first, last in entry["numbers"])
            return
        records, kind = self.open.pop(entry["request"]), self._kinds.pop(entry["request"])
        if entry["what"] == "answered":
            self.accepted += records
            self.answered[kind] += 1


def ranges(numbers: Iterable[int]) -> list[list[int]]:
    """Numbers as pairs of first and last: [1, 2, 3, 7] gives [[1, 3], [7, 7]]."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found
