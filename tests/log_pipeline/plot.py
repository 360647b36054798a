"""Rates and lag of a run over time, with the kills marked, as a PNG."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")  # no display needed
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from view import Sample

_IN, _OUT, _KILL, _BACK, _GRID = "#2171b5", ("#238b45", "#e6550d", "#756bb1"), "#cb181d", "#636363", "#d9d9d9"

#: How much of the upper plot the names of the marks take: the curves stay below them.
_NAMES = 0.36

#: Seconds between two points of a curve.
STEP = 1.0


def samples(path: Path) -> list[Sample]:
    """The samples that a `view.Watch` has noted."""
    return [Sample(**json.loads(line)) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


def rates(times: Sequence[float], totals: Sequence[int], step: float = STEP) -> tuple[list[float], list[float]]:
    """Rates a second of a total that never falls, one for each `step` seconds: ends of the steps, and rates."""
    ends, found = [], []
    first = 0
    for last in range(1, len(times)):
        if times[last] - times[first] >= step:
            ends.append(times[last])
            found.append((totals[last] - totals[first]) / (times[last] - times[first]))
            first = last
    return ends, found


def batch_rates(times: Sequence[float], totals: Sequence[int]) -> tuple[list[float], list[float]]:
    """Rates a second of a total that grows by micro-batches: from each commit to the next one."""
    ends, found = [], []
    first = 0
    for last in range(1, len(times)):
        if totals[last] != totals[first]:
            ends.append(times[last])
            found.append((totals[last] - totals[first]) / (times[last] - times[first]))
            first = last
    return ends, found


def best(times: Sequence[float], totals: Sequence[int]) -> float:
    """The highest rate of a second."""
    return max(rates(times, totals)[1], default=0.0)


def best_batch(times: Sequence[float], totals: Sequence[int]) -> float:
    """The highest rate of a micro-batch."""
    return max(batch_rates(times, totals)[1], default=0.0)


def draw(path: Path, taken: Sequence[Sample], marks: Sequence[dict[str, Any]]) -> None:
    """Draws rates above, lag below. A mark has a time and a text; those that end in "killed" are red."""
    start = taken[0].time
    times = [sample.time - start for sample in taken]
    figure, (above, below) = plt.subplots(2, 1, figsize=(10, 6.5), sharex=True, layout="constrained")
    senders = list(taken[-1].sent)
    above.step(*rates(times, [sample.stored for sample in taken]), where="pre", color=_IN, label="into the queue")
    for color, name in zip(_OUT, senders, strict=False):
        out = batch_rates(times, [sample.sent[name] for sample in taken])
        above.step(*out, where="pre", color=color, label=f"sender {name}")
        below.plot(times, [sample.lag(name) for sample in taken], color=color, label=f"sender {name}")
    above.set_ylabel("records a second")
    below.set_ylabel("records not yet committed")
    below.set_xlabel("seconds since the start")
    above.set_title("Rates", loc="left", fontweight="bold")
    below.set_title("Lag", loc="left", fontweight="bold")
    for axes in (above, below):
        _mark(axes, marks, start, named=axes is above)
        _tidy(axes)
        # Beside the title, above the curves.
        axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0, ncols=3, fontsize=9)
    above.set_ylim(top=above.get_ylim()[1] / (1 - _NAMES))
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _mark(axes: Axes, marks: Sequence[dict[str, Any]], start: float, named: bool) -> None:
    for mark in marks:
        killed = mark["text"].endswith("killed")
        at, color = mark["time"] - start, _KILL if killed else _BACK
        axes.axvline(at, color=color, linewidth=1.2, linestyle="-" if killed else "--")
        if named:
            axes.annotate(
                mark["text"],
                (at, 0.97),
                xycoords=("data", "axes fraction"),
                xytext=(-3, 0),
                textcoords="offset points",
                rotation=90,
                va="top",
                ha="right",
                color=color,
                fontsize=9,
            )


def _tidy(axes: Axes) -> None:
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.grid(color=_GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
