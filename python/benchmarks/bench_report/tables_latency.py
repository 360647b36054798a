"""The tables of latencies of pushes at a steady rate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .raw import Run
from .subjects import LARGE, RATE, SATELLITE
from .words import NOTHING, number, table

#: The columns, as the raw results call them.
POINTS = ("p50", "p90", "p99", "p99.9", "p99.99", "max")
#: The usual bound when a queue's rate is quoted, in microseconds: 99 % of the response times are below it.
BOUND = 10


class Series(NamedTuple):
    """A row of the tables, and a curve of the plot: a subject with its segments."""

    name: str
    subject: str
    segment: int


SERIES = (
    Series("roofline, 64 MiB", "ring+flush", LARGE.segment),
    Series("mmapqueue, 64 MiB", "queue", LARGE.segment),
    Series("roofline, 128 KiB", "ring+flush", SATELLITE.segment),
    Series("mmapqueue, 128 KiB", "queue", SATELLITE.segment),
    Series("Chronicle Queue", "chronicle", LARGE.segment),
    Series("bigqueue", "bigqueue", LARGE.segment),
    Series("RocksDB", "rocksdb", LARGE.segment),
)


def report(run: Run) -> str:
    """The times at the rate of the targets, and the rates within the bound; a plot has the other times."""
    return _joined(_times(run, [RATE]), bounded(run))


def latencies(run: Run) -> str:
    """The times at each rate, and the rates within the bound."""
    return _joined(_times(run, sorted({each.rate for each in run.latencies})), bounded(run))


def bounded(run: Run) -> str:
    """The highest measured rate of each subject at which 99 % of the response times are below the bound."""
    rows = []
    for name, subject, segment in SERIES:
        measured = [each for each in run.latencies if (each.subject, each.segment) == (subject, segment)]
        within = [each.rate for each in measured if each.response["p99"].median < BOUND]
        if measured:
            rows.append([name, number(max(within)) if within else NOTHING])
    if not rows:
        return ""
    rates = ", ".join(number(rate) for rate in sorted({each.rate for each in run.latencies}))
    told = f"Highest measured rate with p99 of the response time below {BOUND} µs, of {rates}:"
    return f"{told}\n\n{table(['', 'pushes/s'], rows)}"


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def _times(run: Run, rates: Sequence[int]) -> str:
    parts = []
    for kind, told in (
        ("service", "Service time, from the call to its return, µs:"),
        ("response", "Response time, from when the push was due, µs:"),
    ):
        rows = []
        for rate in rates:
            for name, subject, segment in SERIES:
                found = run.latency(subject, rate, segment)
                if found:
                    points = found.service if kind == "service" else found.response
                    values = [number(points[point].median) if point in points else NOTHING for point in POINTS]
                    rows.append([name, number(rate), *values])
        if rows:
            parts.append(f"{told}\n\n{table(['', 'pushes/s', *POINTS], rows)}")
    return "\n\n".join(parts)
