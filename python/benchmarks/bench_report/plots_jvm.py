"""The plots of the JVM's benchmarks: beside peers, by the size of a record, and latencies."""

from __future__ import annotations

from pathlib import Path

from matplotlib import pyplot as plt

from .charts import (
    BLUE,
    COLORS,
    GREEN,
    GREY,
    MARKERS,
    ORANGE,
    PURPLE,
    SKY,
    WIDTH,
    Bar,
    bars,
    legend,
    plain_ticks,
    save,
    tidy,
)
from .figure import Figure
from .raw import Row, Run
from .subjects import BENCHMARKS, NAMES, PAYLOADS, RATE
from .tables_latency import SERIES
from .words import number, size


def peers(run: Run, path: Path) -> bool:
    """Push, pop and both at once beside the peers; False when there is nothing to draw."""
    payloads = [payload for payload in PAYLOADS if run.row(BENCHMARKS[0].name, "queue", payload)]
    if not payloads:
        return False
    there = {
        payload: [name for name in NAMES if any(run.row(benchmark.name, name, payload) for benchmark in BENCHMARKS)]
        for payload in payloads
    }
    heights = [1 + len(names) for names in there.values()]
    canvas, grid = plt.subplots(
        len(payloads),
        len(BENCHMARKS),
        figsize=(WIDTH, 0.6 + 0.25 * sum(heights)),
        height_ratios=heights,
        layout="constrained",
        squeeze=False,
        gridspec_kw={"wspace": 0.08},
    )
    for line, (payload, names) in zip(grid, there.items(), strict=True):
        for axes, benchmark in zip(line, BENCHMARKS, strict=True):
            entries = [
                Bar(NAMES[name], _gigabytes(run.row(benchmark.name, name, payload)), COLORS[name]) for name in names
            ]
            bars(axes, entries, f"{benchmark.words}, {size(payload)}", "GB/s")
            axes.label_outer(remove_inner_ticks=True)
            axes.tick_params(axis="x", labelbottom=True)
            axes.set_xlabel("GB/s")
    save(canvas, path)
    return True


def _gigabytes(row: Row | None) -> Figure | None:
    return row.megabytes.map(lambda rate: rate / 1000) if row else None


def sizes(run: Run, path: Path) -> bool:
    """Throughput over the size of a record."""
    shown = ("ring", "queue", "chronicle", "bigqueue", "rocksdb")
    payloads = sorted(
        {
            row.payload
            for row in run.rows
            if row.benchmark == BENCHMARKS[0].name and row.parameters["segment"] == str(64 << 20)
        }
    )
    if len(payloads) < 2:
        return False
    canvas, panels = plt.subplots(1, len(BENCHMARKS), figsize=(WIDTH, 3.2), layout="constrained", sharey=True)
    for axes, benchmark in zip(panels, BENCHMARKS, strict=True):
        for subject in shown:
            found = [row for payload in payloads if (row := run.row(benchmark.name, subject, payload))]
            if found:
                axes.plot(
                    [row.payload for row in found],
                    [row.megabytes.median for row in found],
                    color=COLORS[subject],
                    marker=MARKERS[subject],
                    markersize=4.5,
                    linewidth=2.2 if subject == "queue" else 1.4,
                    label=NAMES[subject],
                )
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        plain_ticks(axes, "x", payloads, sizes=True)
        plain_ticks(axes, "y")
        axes.tick_params(axis="x", labelsize=8)
        axes.margins(x=0.12)
        axes.set_title(benchmark.words, loc="left", fontweight="bold")
        axes.set_xlabel("size of a record")
        tidy(axes)
    panels[0].set_ylabel("MB/s")
    legend(canvas, list(panels), len(shown))
    save(canvas, path)
    return True


def latencies(run: Run, path: Path) -> bool:
    """Percentiles of service and response times at one rate, the axis stretched towards the slowest pushes."""
    looks = dict(
        zip(
            (series.name for series in SERIES),
            ((GREY, "-"), (BLUE, "-"), (GREY, "--"), (SKY, "--"), (ORANGE, "-"), (PURPLE, "-"), (GREEN, "-")),
            strict=True,
        )
    )
    there = [c for c in SERIES if run.latency(c.subject, RATE, c.segment)]
    if not there:
        return False
    canvas, panels = plt.subplots(1, 2, figsize=(WIDTH, 3.9), layout="constrained", sharey=True)
    for axes, kind in zip(panels, ("service", "response"), strict=True):
        for series in there:
            found = run.latency(series.subject, RATE, series.segment)
            assert found
            points = found.service if kind == "service" else found.response
            curve = sorted((float(name[1:]), figure.median) for name, figure in points.items() if name[0] == "p")
            color, style = looks[series.name]
            axes.plot(
                [1 / (1 - percentile / 100) for percentile, _ in curve],
                [micros for _, micros in curve],
                color=color,
                linestyle=style,
                linewidth=2.2 if series.subject == "queue" else 1.4,
                label=series.name,
            )
        axes.set_xscale("log")
        axes.set_yscale("log")
        ticks = (50, 90, 99, 99.9, 99.99, 99.999)
        plain_ticks(axes, "x", [1 / (1 - tick / 100) for tick in ticks])
        axes.set_xticklabels([f"{tick:g} %" for tick in ticks], fontsize=8)
        plain_ticks(axes, "y")
        axes.set_xlabel("share of the pushes that are no slower")
        axes.set_title(f"{kind} time at {number(RATE)} pushes/s", loc="left", fontweight="bold")
        tidy(axes)
    panels[0].set_ylabel("µs")
    legend(canvas, list(panels), 4)
    save(canvas, path)
    return True
