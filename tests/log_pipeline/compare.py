"""What came out of a pipeline against what went in: lines byte for byte, records of clients by their numbers."""

from __future__ import annotations

import mmap
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from journal import Request
from outputs import LINE, Row, numbers_of

# ---- lines


class File(NamedTuple):
    """A file that went in, or the beginning of one that still grows."""

    path: Path
    inode: int
    size: int


@dataclass
class Lines:
    """How the lines of one file came out. Everything but `expected` and `found` must be zero."""

    path: str
    expected: int = 0
    found: int = 0
    lost: int = 0
    altered: int = 0
    repeated: int = 0

    @property
    def exact(self) -> bool:
        """Whether each line came out once, byte for byte."""
        return self.expected == self.found and not (self.lost or self.altered or self.repeated)


class LineCheck:
    """Compares rows of lines with files, as they come, and tells in the end what is missing."""

    def __init__(self, files: Iterable[File]) -> None:
        self.unknown = 0
        self._files = {each.inode: each for each in files}
        self._content = {inode: _content(each) for inode, each in self._files.items()}
        self._spans = {inode: (array("q"), array("q")) for inode in self._files}
        self._altered: Counter[int] = Counter()

    def add(self, row: Row) -> None:
        """Takes one row of a line."""
        inode, position = int(row.meta["inode"]), int(row.meta["position"])
        content = self._content.get(inode)
        if content is None:
            self.unknown += 1
            return
        if position >= len(content):
            return  # written after the size was taken
        if content[position : position + len(row.data)] != row.data:
            self._altered[inode] += 1
            return
        starts, lengths = self._spans[inode]
        starts.append(position)
        lengths.append(len(row.data))

    def results(self) -> list[Lines]:
        """The result for each file."""
        return [self._result(inode) for inode in self._files]

    def _result(self, inode: int) -> Lines:
        content = self._content[inode]
        result = Lines(str(self._files[inode].path), count_lines(content), altered=self._altered[inode])
        reached = 0
        for position, length in sorted(zip(*self._spans[inode], strict=True)):
            # Between two rows there is nothing but the newline that ended the first one.
            if position < reached:
                result.repeated += 1
                continue
            result.lost += count_lines(content[reached:position])
            end = position + length
            reached = end + (content[end : end + 1] == b"\n")
            result.found += reached > end or reached == len(content)
        result.lost += count_lines(content[reached:])
        return result


def _content(file: File) -> bytes | mmap.mmap:
    if not file.size:
        return b""
    with file.path.open("rb") as opened:
        return mmap.mmap(opened.fileno(), file.size, prot=mmap.PROT_READ)


def count_lines(data: bytes | mmap.mmap) -> int:
    """Number of lines, an unfinished last one included."""
    whole = data[:] if isinstance(data, mmap.mmap) else data
    return whole.count(b"\n") + (bool(whole) and not whole.endswith(b"\n"))


# ---- records of clients


@dataclass
class Records:
    """How the records of one kind came out. `lost`, `foreign` and `excess` must be zero.

    Attributes:
        accepted: Records of requests that were answered.
        found: Of these, how many came out.
        lost: Of these, how many did not.
        repeated: Copies that a client made: it sent a request again that a kill had left without answer.
        excess: Copies that no kill explains.
        unanswered: Records that came out although their request was given up without answer.
        foreign: Records that nobody has sent.
    """

    kind: str
    accepted: int = 0
    found: int = 0
    lost: int = 0
    repeated: int = 0
    excess: int = 0
    unanswered: int = 0
    foreign: int = 0

    @property
    def exact(self) -> bool:
        """Whether all that was accepted came out, once for each request that the client may have sent."""
        return not (self.lost or self.excess or self.foreign)


def check_records(kind: str, requests: Iterable[Request], found: Mapping[int, int], kills: Sequence[float]) -> Records:
    """Compares the numbers that came out with the answers that a client got.

    Args:
        kind: Kind of the records.
        requests: What the client sent.
        found: How often each number came out.
        kills: When the server was killed, in seconds since 1970.
    """
    result = Records(kind)
    sent = set()
    for request in requests:
        sent.update(request.numbers)
        # Each kill between the first attempt and the answer may have hidden the answer of one attempt.
        copies = sum(request.sent <= kill <= (request.answered or kill) for kill in kills)
        for number in request.numbers:
            times = found.get(number, 0)
            if request.answered is None:
                result.unanswered += times
                result.excess += max(0, times - 1)
                continue
            result.accepted += 1
            result.found += times > 0
            result.lost += times == 0
            result.repeated += min(max(0, times - 1), copies)
            result.excess += max(0, times - 1 - copies)
    result.foreign = sum(times for number, times in found.items() if number not in sent)
    return result


# ---- both


@dataclass
class Outcome:
    """What one sender has written."""

    name: str
    rows: int
    lines: list[Lines]
    records: list[Records]
    unknown: int
    kinds: dict[str, int] = field(default_factory=dict)

    @property
    def exact(self) -> bool:
        """Whether everything that was accepted came out, and nothing else."""
        lines = all(each.exact for each in self.lines)
        return not self.unknown and lines and all(each.exact for each in self.records)

    @property
    def events(self) -> int:
        """Lines, logs, spans and segments that came out."""
        return sum(each.found for each in self.lines) + sum(self.kinds.values())


def compare(
    name: str,
    rows: Iterable[Row],
    files: Sequence[File],
    journals: Sequence[Sequence[Request]],
    kills: Sequence[float],
) -> Outcome:
    """Compares the rows of one sender with all that went in.

    Args:
        name: Name of the sender.
        rows: What it wrote.
        files: Files that were followed.
        journals: Requests of each client.
        kills: When the gathering process was killed.
    """
    lines = LineCheck(files)
    found: dict[str, Counter[int]] = defaultdict(Counter)
    count = 0
    for row in rows:
        count += 1
        if row.content_type == LINE:
            lines.add(row)
        else:
            kind, numbers = numbers_of(row)
            if numbers:
                found[kind].update(numbers)
    requests: dict[str, list[Request]] = defaultdict(list)
    for journal in journals:
        for request in journal:
            requests[request.kind].append(request)
    records = [
        check_records(kind, requests[kind], found[kind], kills) for kind in sorted(requests.keys() | found.keys())
    ]
    kinds = {kind: sum(each.values()) for kind, each in found.items()}
    return Outcome(name, count, lines.results(), records, lines.unknown, kinds)
