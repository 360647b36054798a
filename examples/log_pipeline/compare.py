"""What came out against what went in, byte for byte and in order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from inputs import Input


class Copy(NamedTuple):
    """One record that came out."""

    source: str
    position: int
    offset: int
    raw: bytes


@dataclass
class Comparison:
    """How one source came out. Everything but `lines_in`, `lines_out` and `repeated` must be zero."""

    lines_in: int
    lines_out: int = 0
    lost: int = 0
    altered: int = 0  # a record whose bytes are not those of the file
    misplaced: int = 0  # a record that left the queue before one that stands earlier in the file
    repeated: int = 0  # further copies of a line: pushed again by an agent that had been killed

    @property
    def faithful(self) -> bool:
        """Whether every line came out, unaltered and in order."""
        return self.lines_in == self.lines_out and not (self.lost or self.altered or self.misplaced)


def compare(data: bytes, copies: Iterable[Copy]) -> Comparison:
    """Compare a source with its records.

    Args:
        data: the bytes that went in.
        copies: the records that came out, by position and then by offset.
    """
    result = Comparison(lines_in=count_lines(data))
    reached = 0  # everything before this byte is accounted for
    latest = -1
    for copy in copies:
        end = copy.position + len(copy.raw)
        if data[copy.position : end] != copy.raw:
            result.altered += 1
        elif copy.position < reached:
            result.repeated += 1
        else:
            result.lost += count_lines(data[reached : copy.position])
            result.misplaced += copy.offset < latest
            result.lines_out += copy.raw.endswith(b"\n") or end == len(data)
            reached, latest = end, copy.offset
    result.lost += count_lines(data[reached:])
    return result


def compare_all(inputs: dict[str, Input], copies: Iterable[Copy]) -> dict[str, Comparison]:
    """Compare every source with its records; records of a source that was never taken count as altered.

    Args:
        inputs: what went in, by source.
        copies: what came out, by source, then by position, then by offset.
    """
    results: dict[str, Comparison] = {}
    for source, group in groupby(copies, key=lambda copy: copy.source):
        results[source] = compare(_content(source, inputs[source].size if source in inputs else 0), group)
    for source in inputs.keys() - results.keys():
        results[source] = compare(_content(source, inputs[source].size), [])
    return dict(sorted(results.items()))


def count_lines(data: bytes) -> int:
    """Return the number of lines, an unfinished last one included."""
    return data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))


def _content(source: str, size: int) -> bytes:
    if not size:
        return b""
    with Path(source).open("rb") as file:
        return file.read(size)
