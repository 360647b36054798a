"""The tables of latencies of pushes at a steady rate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .raw import Run
from .subjects import LARGE, RATE, SATELLITE
from .words import NOTHING, number, table

#: The columns, as the raw results call them.
POINTS = ("p50", "p90", "p99", "p99.9", "p99.99", "max")


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
    """The times at the rate of the targets; a plot has the others."""
    return latencies(run, [RATE])


def latencies(run: Run, rates: Sequence[int] | None = None) -> str:
    """Service and response times at these rates, else at each one, in microseconds."""
    parts = []
    for kind, told in (
        ("service", "Service time, from the call to its return, µs:"),
        ("response", "Response time, from when the push was due, µs:"),
    ):
        rows = []
        for rate in rates or sorted({each.rate for each in run.latencies}):
            for name, subject, segment in SERIES:
                found = run.latency(subject, rate, segment)
                if found:
                    points = found.service if kind == "service" else found.response
                    values = [number(points[point].median) if point in points else NOTHING for point in POINTS]
                    rows.append([name, number(rate), *values])
        if rows:
            parts.append(f"{told}\n\n{table(['', 'pushes/s', *POINTS], rows)}")
    return "\n\n".join(parts)
