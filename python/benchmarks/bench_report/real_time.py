"""Latency of Spark's real-time mode, from queue to queue, beside Kafka: its table and its targets."""

from __future__ import annotations

from typing import Any

from .figure import Figure
from .raw import Run
from .spark import kafka_settings
from .targets import Check, Target
from .words import number, table

QUEUE, KAFKA = "mmapqueue", "Kafka"
#: p99 in ms at most, by records a second.
_LIMITS = {1_000: 10, 20_000: 25}
_POINTS = {"p50.0": "p50", "p90.0": "p90", "p99.0": "p99", "p99.9": "p99.9", "p100.0": "max"}


def tables(run: Run) -> str:
    """Percentiles by rate and subject."""
    if not run.real_time:
        return ""
    rows = [
        [f"{number(each['rate'])}/s", each["subject"], *(number(each["ms"][point]) for point in _POINTS)]
        for each in results(run)
    ]
    head = ["records", "", *(f"{name}, ms" for name in _POINTS.values())]
    parts = [
        f"Spark {run.real_time['spark']}, local[{run.real_time['cores']}], one round of {run.real_time['seconds']} s:",
        table(head, rows, left=2),
    ]
    if run.real_time["kafka"]:
        parts.append(kafka_settings(run.real_time["kafka"]))
    return "\n\n".join(parts)


def results(run: Run) -> list[dict[str, Any]]:
    """All results: by rate, the queue before Kafka."""
    return sorted(run.real_time.get("results", []), key=lambda each: (each["rate"], each["subject"] != QUEUE))


def targets(run: Run) -> list[Target]:
    """What is promised of latency."""
    found = {each["rate"]: each["ms"]["p99.0"] for each in results(run) if each["subject"] == QUEUE}
    checks = []
    for per_second, limit in _LIMITS.items():
        words = f"p99 from queue to queue at {number(per_second)} records/s, two cores"
        figure = Figure.of([found[per_second]]) if per_second in found else None
        checks.append(Check(words, figure, limit, "ms", at_least=False))
    return [Target("Spark in real time", checks)]
