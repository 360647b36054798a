"""The results as JSON."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from queue_bench.own import STANDALONE
from queue_bench.rounds import Figures, Measurement
from queue_bench.workload import Step, Subject


def _units(measurements: Iterable[Measurement]) -> dict[str, list[float]]:
    """Microseconds of a null call round by round, for each subject that has one."""
    found: dict[str, list[list[float]]] = {}
    for measurement in measurements:
        if measurement.null_us:
            found.setdefault(measurement.subject, []).append(measurement.null_us)
    return {
        name: [round(statistics.median(each), 2) for each in zip(*rounds, strict=True)]
        for name, rounds in found.items()
    }


def _row(measurement: Measurement, step: Step, figures: Figures, unit: Sequence[float]) -> dict[str, object]:
    ratios = figures.null_calls
    if not ratios and step.batch == 1 and unit:
        # Not made side by side, but in the same rounds.
        ratios = [us / null for us, null in zip(figures.us_per_call, unit, strict=True)]
    return {
        "subject": measurement.subject,
        "operation": step.operation,
        "batch": step.batch,
        "payload": measurement.payload,
        "per_second": [round(step.batch * 1e6 / us, 1) for us in figures.us_per_call],
        "us_per_call": round(statistics.median(figures.us_per_call), 3),
        "null_calls": [round(ratio, 4) for ratio in ratios],
    }


def results(
    measurements: Sequence[Measurement],
    subjects: Iterable[Subject],
    missing: dict[str, str],
    rounds: int,
) -> dict[str, Any]:
    """Returns all results, ready for JSON.

    Args:
        measurements: The measurements.
        subjects: The measured subjects.
        missing: Subjects that are not installed, and why.
        rounds: The number of rounds.
    """
    units = _units(measurements)
    return {
        "rounds": rounds,
        "unit_null_call_us": units,
        "subjects": {
            each.name: {"version": each.version(), "fast_path": each.fast_path, "survives": each.survives}
            for each in subjects
        },
        "missing": missing,
        "results": [
            _row(measurement, step, figures, units.get(STANDALONE, ()))
            for measurement in measurements
            for step, figures in measurement.figures.items()
        ],
    }
