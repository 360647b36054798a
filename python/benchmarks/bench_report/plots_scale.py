"""The plots of a queue that grows large: cost, memory and recovery."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from .charts import BLUE, GREEN, GREY, ORANGE, RED, WIDTH, plain_ticks, save, tidy
from .figure import Figure
from .raw import Run
from .words import size

_MIB = 2**20


def cost(run: Run, path: Path) -> bool:
    """Cost of a record over the queued bytes; False if there is nothing to draw."""
    return _drawn(run, path, _cost)


def memory(run: Run, path: Path) -> bool:
    """Memory over the time of filling and draining; False if there is nothing to draw."""
    return _drawn(run, path, _memory)


def recovery(run: Run, path: Path) -> bool:
    """Duration of recovery over the unflushed bytes; False if there is nothing to draw."""
    return _drawn(run, path, _recovery)


def _drawn(run: Run, path: Path, draw: Callable[[Axes, Mapping[str, Any]], None]) -> bool:
    if not run.scales:
        return False
    canvas, axes = plt.subplots(figsize=(WIDTH, 3.2), layout="constrained")
    draw(axes, run.scales[0])
    tidy(axes)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    save(canvas, path)
    return True


def _cost(axes: Axes, scale: Mapping[str, Any]) -> None:
    for name, color in (("push", BLUE), ("pop", ORANGE)):
        queued = [pair["queued_bytes"] for pair in scale["pairs"]]
        figures = [Figure.of(pair[f"{name}_ns"]) for pair in scale["pairs"]]
        medians = [figure.median for figure in figures]
        reach = [[f.median - f.spread[0] for f in figures], [f.spread[1] - f.median for f in figures]]
        axes.errorbar(queued, medians, yerr=reach, color=color, marker="o", markersize=4, capsize=3, label=name)
    axes.set_xscale("log", base=2)
    plain_ticks(axes, "x", queued, sizes=True)
    axes.set_ylim(0, None)
    axes.set_xlabel("queued bytes")
    axes.set_ylabel("ns for each record of 1 KiB")
    axes.set_title("Cost of a record by queue size", loc="left", fontweight="bold")


def _memory(axes: Axes, scale: Mapping[str, Any]) -> None:
    samples = scale["samples"]
    seconds = [sample["seconds"] for sample in samples]
    for name, label, color in (
        ("queued", "queued", GREY),
        ("rss", "resident", BLUE),
        ("mapped", "mapped", GREEN),
        ("rss_anon", "resident, no files", RED),
        ("heap_live", "live on the heap", ORANGE),
    ):
        # A logarithmic axis has no 0.
        values = [sample[f"{name}_bytes"] or math.nan for sample in samples]
        style = "--" if name == "mapped" else "-"  # nearly equal to the resident memory
        axes.plot(seconds, values, color=color, linestyle=style, linewidth=1.5, label=label)
    axes.set_yscale("log", base=2)
    highest = max(sample["queued_bytes"] for sample in samples)
    ticks = [tick for tick in (_MIB * 8**power for power in range(8)) if tick <= highest * 8]
    plain_ticks(axes, "y", ticks, sizes=True)
    axes.set_xlabel("seconds")
    axes.set_title("Memory of the process while a queue is filled, then drained", loc="left", fontweight="bold")


def _recovery(axes: Axes, scale: Mapping[str, Any]) -> None:
    levels = sorted({each["queued_bytes"] for each in scale["recovery"]})
    for level, (color, marker) in zip(levels, ((GREEN, "s"), (BLUE, "o"), (ORANGE, "x"), (RED, "+")), strict=False):
        found = sorted(
            (each["tail_bytes"], Figure.of(each["open_ms"]).median)
            for each in scale["recovery"]
            if each["queued_bytes"] == level
        )
        tails, medians = zip(*found, strict=True)
        axes.plot(
            tails, medians, color=color, marker=marker, markersize=6, linewidth=1.5, label=f"{size(level)} queued"
        )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    plain_ticks(axes, "x", sorted({each["tail_bytes"] for each in scale["recovery"]}), sizes=True)
    plain_ticks(axes, "y")
    axes.set_xlabel("unflushed bytes")
    axes.set_ylabel("ms to open")
    axes.set_title("Open after a kill, by unflushed bytes", loc="left", fontweight="bold")
