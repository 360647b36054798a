"""Lines per window and level, counted without Spark, and what the streaming queries have written against it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from agent import Place, Tail
from compare import Copy
from inputs import Input

_LEVEL = re.compile(
    rb"(?i)(?<![A-Za-z0-9_])(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)(?![A-Za-z0-9_])"
)

_MOST_LINES = 5000


class Window(NamedTuple):
    """What lines are counted by."""

    start: int  # ms since 1970
    level: str


class Count(NamedTuple):
    """How many lines, and how many bytes they have, line ends included."""

    lines: int = 0
    size: int = 0

    def plus(self, raw: bytes) -> Count:
        """Return the count with one line more."""
        return Count(self.lines + 1, self.size + len(raw))


@dataclass
class WindowComparison:
    """How one output compares with what was counted. Everything but `right` must be zero."""

    right: int = 0
    missing: int = 0
    wrong: int = 0  # another count than expected
    repeated: int = 0  # a window and level that was there before
    surplus: int = 0  # a window and level without any line

    @property
    def faithful(self) -> bool:
        """Whether each window and level is there once, with the right count."""
        return not (self.missing or self.wrong or self.repeated or self.surplus)


class WindowCounter:
    """Counts lines per window, each by its first push."""

    def __init__(self, seconds: int) -> None:
        self._length = seconds * 1000
        self._latest: tuple[str, int] | None = None
        self.windows: dict[Window, Count] = {}

    def passing(self, pushes: Iterable[tuple[Copy, int]]) -> Iterator[Copy]:
        """Hand records on and count them: with their push times in ms, by source, position, and then offset."""
        for copy, time in pushes:
            name = (copy.source, copy.position)
            if name != self._latest:
                window = Window(time - time % self._length, level_of(copy.raw))
                self.windows[window] = self.windows.get(window, Count()).plus(copy.raw)
            self._latest = name
            yield copy


def level_of(raw: bytes) -> str:
    """Return the first word of a line that names a level, in capitals, or "none"."""
    found = _LEVEL.search(raw)
    return found[1].decode().upper() if found else "none"


def count_files(taken: Mapping[str, Input]) -> dict[str, Count]:
    """Count the lines of the files per level; of a line that is longer than a record each piece counts."""
    levels: dict[str, Count] = {}
    for source, entry in taken.items():
        tail = Tail(source, Place(), entry.size)
        while lines := tail.read(_MOST_LINES):
            for line in lines:
                level = level_of(line.raw)
                levels[level] = levels.get(level, Count()).plus(line.raw)
        tail.close()
    return levels


def per_level(windows: Iterable[tuple[Window, Count]]) -> dict[str, Count]:
    """Add the windows up."""
    levels: dict[str, Count] = {}
    for window, count in windows:
        before = levels.get(window.level, Count())
        levels[window.level] = Count(before.lines + count.lines, before.size + count.size)
    return levels


def compare_windows(expected: Mapping[Window, Count], rows: Iterable[tuple[Window, Count]]) -> WindowComparison:
    """Compare the rows of an output with what was counted."""
    result = WindowComparison()
    seen: Counter[Window] = Counter()
    for window, count in rows:
        seen[window] += 1
        if seen[window] > 1:
            result.repeated += 1
        elif window not in expected:
            result.surplus += 1
        elif expected[window] != count:
            result.wrong += 1
        else:
            result.right += 1
    result.missing = len(expected.keys() - seen.keys())
    return result
