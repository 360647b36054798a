"""The results as JSON."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from queue_bench.own import STANDALONE
from queue_bench.rounds import Figures, Measurement
from queue_bench.workload import Step, Subject


def machine() -> dict[str, object]:
    """Returns the facts of the machine and its load."""
    model = ""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    java = subprocess.run(["java", "-version"], check=False, capture_output=True, text=True).stderr.splitlines()
    return {
        "cpu": model or platform.machine(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "java": java[0] if java else "",
        "py4j": version("py4j"),
        "load_average": os.getloadavg()[0],
    }


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
    before: dict[str, object],
) -> dict[str, Any]:
    """Returns all results, ready for JSON.

    Args:
        measurements: What was measured.
        subjects: Who took part.
        missing: Who did not, and why.
        rounds: How many rounds there were.
        before: The machine at the beginning.
    """
    units = _units(measurements)
    return {
        "machine": {**before, "load_average_after": os.getloadavg()[0]},
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
