"""The results: as JSON, and as a table for people."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from queue_bench.course import Contender, Step
from queue_bench.own import STANDALONE
from queue_bench.rounds import Cell, Figures


def machine() -> dict[str, object]:
    """What the figures were measured on."""
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


def _units(cells: Iterable[Cell]) -> dict[str, list[float]]:
    """Microseconds of a null call round by round, for each contender that has one."""
    found: dict[str, list[list[float]]] = {}
    for cell in cells:
        if cell.null_us:
            found.setdefault(cell.contender, []).append(cell.null_us)
    return {
        name: [round(statistics.median(each), 2) for each in zip(*rounds, strict=True)]
        for name, rounds in found.items()
    }


def _row(cell: Cell, step: Step, figures: Figures, unit: Sequence[float]) -> dict[str, object]:
    ratios = figures.null_calls
    if not ratios and step.batch == 1 and unit:
        # Not made side by side, but in the same rounds.
        ratios = [us / null for us, null in zip(figures.us_per_call, unit, strict=True)]
    return {
        "contender": cell.contender,
        "operation": step.operation,
        "batch": step.batch,
        "payload": cell.payload,
        "per_second": [round(step.batch * 1e6 / us, 1) for us in figures.us_per_call],
        "us_per_call": round(statistics.median(figures.us_per_call), 3),
        "null_calls": [round(ratio, 4) for ratio in ratios],
    }


def results(
    cells: Sequence[Cell],
    contenders: Iterable[Contender],
    missing: dict[str, str],
    rounds: int,
    before: dict[str, object],
) -> dict[str, Any]:
    """Everything that was found, ready for JSON.

    Args:
        cells: What was measured.
        contenders: Who took part.
        missing: Who did not, and why.
        rounds: How many rounds there were.
        before: The machine at the beginning.
    """
    units = _units(cells)
    return {
        "machine": {**before, "load_average_after": os.getloadavg()[0]},
        "rounds": rounds,
        "unit_null_call_us": units,
        "contenders": {
            each.name: {"version": each.version(), "fast_path": each.fast_path, "survives": each.survives}
            for each in contenders
        },
        "missing": missing,
        "results": [
            _row(cell, step, figures, units.get(STANDALONE, ()))
            for cell in cells
            for step, figures in cell.figures.items()
        ],
    }


def table(found: dict[str, Any]) -> str:
    """The same to be read: medians over the rounds; the slowest and the fastest one in parentheses."""
    lines = []
    for name, us in found["unit_null_call_us"].items():
        lines.append(f"null py4j call, {name}: {statistics.median(us):.1f} us ({min(us):.1f} .. {max(us):.1f})")
    for name, why in found["missing"].items():
        lines.append(f"{name}: not found ({why})")
    rows = sorted(found["results"], key=lambda row: (row["payload"], row["operation"], row["batch"]))
    heading = None
    for row in rows:
        if (row["payload"], row["operation"]) != heading:
            heading = (row["payload"], row["operation"])
            title = f"{row['operation']}, {row['payload']} B"
            lines.append(
                f"\n{title:40} {'batch':>6} {'records/s':>11} {'':24} {'MB/s':>7} {'us/call':>10} {'null calls':>10}"
            )
        rates = row["per_second"]
        median = statistics.median(rates)
        spread = f"({min(rates):,.0f} .. {max(rates):,.0f})"
        megabytes = "" if row["operation"].startswith("ack") else f"{median * row['payload'] / 1e6:,.0f}"
        nulls = f"{statistics.median(row['null_calls']):.2f}" if row["null_calls"] else ""
        lines.append(
            f"  {row['contender']:38} {row['batch']:>6} {median:>11,.0f} {spread:24} {megabytes:>7} "
            f"{row['us_per_call']:>10,.1f} {nulls:>10}"
        )
    for name, about in found["contenders"].items():
        lines.append(
            f"\n{name} {about['version']}\n  used by: {about['fast_path']}\n  after a kill: {about['survives']}"
        )
    return "\n".join(lines).lstrip("\n")
