"""The time from a push to the moment when a reader of the shared file system sees the record."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple


class Visible(NamedTuple):
    """Records that became visible together: the first one, the one after the last, and the time in ms since 1970."""

    first: int
    end: int
    millis: int


class Push(NamedTuple):
    """A batch of records: the first one, the one after the last, and the time in ns since 1970."""

    first: int
    end: int
    nanos: int


def pushes(file: Path) -> list[Push]:
    """Reads the batches that a writer has noted."""
    return [Push(*map(int, line.split())) for line in file.read_text().splitlines()]


def percentiles(
    pushed: Sequence[Push], visible: Iterable[Visible], points: Sequence[float] = (50, 99, 100)
) -> dict[str, float]:
    """Returns the latencies in ms of all records of these batches, as "p50", "p99" and so on.

    Raises:
        ValueError: A record did not become visible.
    """
    shown = sorted(visible)
    starts = [each.first for each in shown]
    taken: list[tuple[float, int]] = []
    for push in pushed:
        at = push.first
        while at < push.end:
            location = bisect_right(starts, at) - 1
            if location < 0 or shown[location].end <= at:
                raise ValueError(f"record {at} did not become visible")
            upto = min(push.end, shown[location].end)
            taken.append((shown[location].millis - push.nanos / 1e6, upto - at))
            at = upto
    taken.sort()
    total = sum(count for _, count in taken)
    return {f"p{point:g}": round(_at(taken, total * point / 100), 1) for point in points}


def _at(taken: Sequence[tuple[float, int]], records: float) -> float:
    """The latency that this many records have at most."""
    for latency, count in taken:
        records -= count
        if records <= 0:
            return latency
    return taken[-1][0]
