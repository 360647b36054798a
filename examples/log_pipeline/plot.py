"""The queue's depth over time, and what else a run has to show, with the kills marked, as a PNG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl

mpl.use("Agg")  # no display needed
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

_FILL, _LINE, _KILL, _BACK, _GRID = "#9ecae1", "#2171b5", "#cb181d", "#238b45", "#d9d9d9"


class Depth(NamedTuple):
    """How many records lay in the queue, not yet acked."""

    seconds: float
    records: int


def depth_over_time(agent: Sequence[dict[str, Any]], job: Sequence[dict[str, Any]]) -> list[Depth]:
    """Return the depth after each status line of the agent (where the queue ends) and the job (what is acked)."""
    ends = [(entry["time"], "end", entry["end"]) for entry in agent if "end" in entry]
    acks = [(entry["time"], "acked", entry["last"] + 1) for entry in job if entry["event"] == "acked"]
    latest = {"end": 0, "acked": 0}
    depths = []
    for time, which, offset in sorted(ends + acks):
        # A batch may be acked before the agent has said that it is in.
        latest[which] = max(latest[which], offset)
        depths.append(Depth(time, max(0, latest["end"] - latest["acked"])))
    return depths


def draw(path: Path, depths: Sequence[Depth], events: Sequence[dict[str, Any]]) -> None:
    """Draw the depth as a filled step curve, and each event as a line with its name."""
    start = min([depth.seconds for depth in depths] + [event["time"] for event in events], default=0.0)
    figure, axes = plt.subplots(figsize=(10, 4.5), layout="constrained")
    seconds = [depth.seconds - start for depth in depths]
    records = [depth.records for depth in depths]
    axes.fill_between(seconds, records, step="post", color=_FILL, alpha=0.6, linewidth=0)
    axes.step(seconds, records, where="post", color=_LINE, linewidth=1.6)
    axes.set_ylim(0, max([*records, 1]) * 1.25)
    axes.set_xlim(0, max([*seconds, 1.0]))
    mark(axes, events, start)
    axes.set_xlabel("seconds since the start")
    axes.set_ylabel("records pushed, not yet acked")
    axes.set_title("Depth of the queue", loc="left", fontweight="bold")
    tidy(axes)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def mark(axes: Axes, events: Sequence[dict[str, Any]], start: float) -> None:
    """Draw each event as a line with its name; `start` is the time of the axis's zero."""
    for event in events:
        killed = event["event"].endswith("killed")
        at = event["time"] - start
        color = _KILL if killed else _BACK
        axes.axvline(at, color=color, linewidth=1.2, linestyle="-" if killed else "--")
        axes.annotate(
            event["event"],
            (at, 0.985),
            xycoords=("data", "axes fraction"),
            xytext=(-3, 0),
            textcoords="offset points",
            rotation=90,
            va="top",
            ha="right",
            color=color,
            fontsize=9,
        )


def tidy(axes: Axes) -> None:
    """Give axes the looks of this demo."""
    axes.grid(color=_GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
