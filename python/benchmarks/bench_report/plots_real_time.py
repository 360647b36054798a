"""The plot of the latencies of Spark's real-time mode."""

from __future__ import annotations

from pathlib import Path

from matplotlib import pyplot as plt

from .charts import BLUE, ORANGE, WIDTH, legend, save, tidy
from .raw import Run
from .real_time import QUEUE, results


def plot(run: Run, path: Path) -> bool:
    """The distributions, a panel for each rate; False if there is nothing to draw."""
    found = results(run)
    if not found:
        return False
    rates = sorted({each["rate"] for each in found})
    canvas, panels = plt.subplots(1, len(rates), figsize=(WIDTH, 2.8), layout="constrained", squeeze=False, sharey=True)
    for axes, per_second in zip(panels[0], rates, strict=True):
        for each in found:
            if each["rate"] == per_second:
                shares = [1 / (1 - share) for share, _ in each["curve"]]
                color = BLUE if each["subject"] == QUEUE else ORANGE
                axes.plot(shares, [ms for _, ms in each["curve"]], color=color, label=each["subject"])
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks([2, 10, 100, 1000, 10000], ["50 %", "90 %", "99 %", "99.9 %", "99.99 %"])
        axes.set_title(f"{per_second:,} records/s", loc="left", fontweight="bold")
        axes.set_xlabel("share of records")
        tidy(axes)
    panels[0][0].set_ylabel("latency at most, ms")
    legend(canvas, list(panels[0]), 2)
    save(canvas, path)
    return True
