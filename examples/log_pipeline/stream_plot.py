"""Throughput and lag of the streaming queries over time, with the kills marked, as a PNG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib import pyplot as plt

from plot import mark, tidy

_PUSHED, _COLORS = "#969696", ("#2171b5", "#e6550d")


class Curve(NamedTuple):
    """Values over time: `seconds` as status lines give it."""

    name: str
    seconds: list[float]
    values: list[float]


def ends_of(query: str, job: Sequence[dict[str, Any]]) -> list[tuple[float, int]]:
    """Return up to which offset a query had read at which time."""
    return [(entry["time"], entry["end"]) for entry in job if entry["event"] == "batch" and entry["query"] == query]


def pushed(agent: Sequence[dict[str, Any]]) -> list[tuple[float, int]]:
    """Return up to which offset the queue reached at which time."""
    return [(entry["time"], entry["end"]) for entry in agent if "end" in entry]


def rates(query: str, job: Sequence[dict[str, Any]]) -> Curve:
    """Return the records a second of each of a query's batches, from its beginning to its end, and none in between."""
    curve = Curve(query, [], [])
    for entry in job:
        if entry["event"] == "batch" and entry["query"] == query and entry["seconds"]:
            curve.seconds.extend((entry["time"] - entry["seconds"], entry["time"]))
            curve.values.extend((entry["rows"] / entry["seconds"], 0.0))
    return curve


def throughput(name: str, ends: Sequence[tuple[float, int]], step: float = 1.0) -> Curve:
    """Return records a second, in steps of so many seconds; none pass while a process is away."""
    if not ends:
        return Curve(name, [], [])
    start = ends[0][0]
    buckets = [0] * (int((ends[-1][0] - start) / step) + 1)
    before = ends[0][1]
    for time, end in ends[1:]:
        buckets[int((time - start) / step)] += max(0, end - before)
        before = max(before, end)
    return Curve(name, [start + step * number for number in range(len(buckets))], [count / step for count in buckets])


def lag(name: str, pushes: Sequence[tuple[float, int]], ends: Sequence[tuple[float, int]]) -> Curve:
    """Return how many records lay in the queue that the query had not done, after each status line of both."""
    curve = Curve(name, [], [])
    latest = {"pushed": 0, "done": 0}
    merged = [(time, "pushed", end) for time, end in pushes] + [(time, "done", end) for time, end in ends]
    for time, which, end in sorted(merged):
        # A batch may be done before the agent has said that its records are in.
        latest[which] = max(latest[which], end)
        curve.seconds.append(time)
        curve.values.append(max(0, latest["pushed"] - latest["done"]))
    return curve


def draw(
    path: Path,
    agent: Sequence[dict[str, Any]],
    job: Sequence[dict[str, Any]],
    events: Sequence[dict[str, Any]],
    queries: Sequence[str],
) -> None:
    """Draw throughput above, lag below, and each event as a line with its name."""
    pushes = pushed(agent)
    start = min([time for time, _ in pushes] + [event["time"] for event in events], default=0.0)
    speeds = [rates(query, job) for query in queries]
    lags = [lag(query, pushes, ends_of(query, job)) for query in queries]
    intake = throughput("pushed", pushes)
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(10, 7), sharex=True, layout="constrained")
    seconds = [second - start for second in intake.seconds]
    upper.fill_between(seconds, intake.values, step="post", color=_PUSHED, alpha=0.35, linewidth=0, label="pushed")
    for axes, curves, others in ((upper, speeds, [intake]), (lower, lags, [])):
        # The second one is dashed: where both do the same, the first one still shows.
        for curve, color, style in zip(curves, _COLORS, ("-", "--"), strict=True):
            seconds = [second - start for second in curve.seconds]
            axes.step(
                seconds,
                curve.values,
                where="post",
                color=color,
                linestyle=style,
                linewidth=1.5,
                label=f"query {curve.name}",
            )
        highest = max((value for curve in [*curves, *others] for value in curve.values), default=1)
        axes.set_ylim(0, max(highest, 1) * 1.3)
        mark(axes, events, start)
        tidy(axes)
        axes.legend(loc="upper left", frameon=False, fontsize=9)
    upper.set_ylabel("records a second")
    upper.set_title("Throughput", loc="left", fontweight="bold")
    lower.set_ylabel("records pushed, not yet done")
    lower.set_title("Lag", loc="left", fontweight="bold")
    lower.set_xlabel("seconds since the start")
    figure.savefig(path, dpi=120)
    plt.close(figure)
