"""A queue that grows large: its table, its plot and its targets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from .charts import BLUE, GREEN, GREY, ORANGE, RED, WIDTH, plain_ticks, save, tidy
from .figure import Figure
from .raw import Run
from .targets import Check, Target
from .words import number, size, spread, table, wrapped

_MIB = 2**20
#: What a meta page takes beside the segments.
_META_BYTES = 4096


def tables(run: Run) -> str:
    """Cost, opening and recovery by what is queued, and what memory the large queue took."""
    parts = []
    for scale in run.scales:
        rows = []
        for pair in scale["pairs"]:
            for name in ("push", "pop"):
                rows.append(_row(f"{name}, ns", pair["queued_bytes"], "", Figure.of(pair[f"{name}_ns"])))
        for opened in scale["open"]:
            rows.append(_row("open after a clean close, ms", opened["queued_bytes"], "", Figure.of(opened["open_ms"])))
        for each in scale["recovery"]:
            tail = size(each["tail_bytes"])
            rows.append(_row("open after a kill, ms", each["queued_bytes"], tail, Figure.of(each["open_ms"])))
        head = ["", "queued", "not flushed", "median", "min–max"]
        parts.append(f"Segments of {size(scale['segment_bytes'])}:\n\n{table(head, rows, left=3)}")
        parts.append(_memory(scale))
    return "\n\n".join(parts)


def _row(what: str, queued: int, tail: str, figure: Figure) -> list[str]:
    return [what, size(queued), tail, number(figure.median), spread(figure)]


def _memory(scale: Mapping[str, Any]) -> str:
    samples = scale["samples"]
    most = {
        name: size(max(sample[f"{name}_bytes"] for sample in samples))
        for name in ("queued", "rss", "rss_anon", "heap_live", "mapped")
    }
    return wrapped(
        f"While it was filled up to {most['queued']} and emptied again, in a JVM with {scale['jvm_flags']}, there were "
        f"at most {most['rss']} resident ({most['rss_anon']} without the pages of files), {most['heap_live']} of live "
        f"objects on the heap, and {most['mapped']} mapped."
    )


def plot(run: Run, path: Path) -> bool:
    """Cost over what is queued, memory over the run, recovery over the tail; False when there is nothing to draw."""
    if not run.scales:
        return False
    scale = run.scales[0]
    canvas, (cost, memory, recovery) = plt.subplots(1, 3, figsize=(WIDTH, 3.9), layout="constrained")
    _cost(cost, scale)
    _memory_panel(memory, scale)
    _recovery(recovery, scale)
    for axes in (cost, memory, recovery):
        tidy(axes)
        axes.legend(frameon=False, fontsize=7.5, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
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
    axes.set_xlabel("queued")
    axes.set_ylabel("ns for each record of 1 KiB")
    axes.set_title("Cost", loc="left", fontweight="bold")


def _memory_panel(axes: Axes, scale: Mapping[str, Any]) -> None:
    samples = scale["samples"]
    seconds = [sample["seconds"] for sample in samples]
    for name, label, color in (
        ("queued", "queued", GREY),
        ("rss", "resident", BLUE),
        ("mapped", "mapped", GREEN),
        ("rss_anon", "resident, no files", RED),
        ("heap_live", "live on the heap", ORANGE),
    ):
        # Nothing has no place on a logarithmic axis.
        values = [sample[f"{name}_bytes"] or math.nan for sample in samples]
        style = "--" if name == "mapped" else "-"  # nearly the same as what is resident
        axes.plot(seconds, values, color=color, linestyle=style, linewidth=1.5, label=label)
    axes.set_yscale("log", base=2)
    highest = max(sample["queued_bytes"] for sample in samples)
    ticks = [tick for tick in (_MIB * 8**power for power in range(8)) if tick <= highest * 8]
    plain_ticks(axes, "y", ticks, sizes=True)
    axes.set_xlabel("seconds: filling, then emptying")
    axes.set_title("Memory", loc="left", fontweight="bold")


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
    axes.tick_params(axis="x", labelsize=7.5)
    axes.set_xlabel("not flushed when it was killed")
    axes.set_ylabel("ms to open")
    axes.set_title("Recovery", loc="left", fontweight="bold")


def targets(run: Run) -> list[Target]:
    """What is promised of memory and of large queues."""
    scale = run.scales[0] if run.scales else None
    return [Target("Memory", _memory_checks(scale)), Target("Large queues", _size_checks(scale))]


def _memory_checks(scale: Mapping[str, Any] | None) -> list[Check]:
    filled = live = mapped = None
    if scale:
        samples = scale["samples"]
        filled = Figure.of([max(sample["queued_bytes"] for sample in samples) / 1e9])
        live = Figure.of([max(sample["heap_live_bytes"] for sample in samples) / _MIB])
        most = scale["max_in_mem_segments"] * scale["segment_bytes"] + _META_BYTES
        mapped = Figure.of([max(sample["mapped_bytes"] for sample in samples) / most])
    return [
        Check("A queue is filled up to and emptied, in a JVM of 32 MiB", filled, 20, "GB"),
        Check("Live objects on the heap meanwhile", live, 16, "MiB", at_least=False),
        Check(
            "Bytes mapped, as a share of max_in_mem_segments × segment_size + meta page", mapped, 1, "percent", False
        ),
    ]


def _size_checks(scale: Mapping[str, Any] | None) -> list[Check]:
    dear = cheap = opened = same = linear = None
    if scale:
        pairs = sorted(scale["pairs"], key=lambda pair: pair["queued_bytes"])
        costs = [Figure.of(pair["pair_ns"]) for pair in pairs]
        changes = [cost.over(costs[0]) for cost in costs[1:]]
        dear, cheap = max(changes, key=lambda c: c.median), min(changes, key=lambda c: c.median)
        opened = max((Figure.of(each["open_ms"]) for each in scale["open"]), key=lambda figure: figure.median)
        same, linear = _recoveries(scale["recovery"])
    return [
        Check(
            "Cost of a push and a pop, as a multiple of that of the smallest queue: the dearest",
            dear,
            1.10,
            "times",
            False,
        ),
        Check("The same: the cheapest", cheap, 0.90, "times"),
        Check("Opening after a clean close, at the worst size", opened, 50, "ms", False),
        Check(
            "Recovery with the same tail not flushed: the largest queue as a multiple of the smallest",
            same,
            1.25,
            "times",
            False,
        ),
        Check(
            "Recovery by the byte of tail: the longest tail as a multiple of the next one", linear, 1.25, "times", False
        ),
    ]


def _recoveries(recoveries: Sequence[Mapping[str, Any]]) -> tuple[Figure | None, Figure | None]:
    """How recovery grows with the queue while the tail stays, and with the tail while the queue stays."""
    by_tail: dict[int, list[Mapping[str, Any]]] = {}
    by_queue: dict[int, list[Mapping[str, Any]]] = {}
    for each in recoveries:
        by_tail.setdefault(each["tail_bytes"], []).append(each)
        by_queue.setdefault(each["queued_bytes"], []).append(each)
    most_sizes, most_tails = max(by_tail.values(), key=len), max(by_queue.values(), key=len)
    sizes = sorted(most_sizes, key=lambda each: int(each["queued_bytes"]))
    tails = sorted(most_tails, key=lambda each: int(each["tail_bytes"]))
    same = linear = None
    if len(sizes) > 1:
        same = Figure.of(sizes[-1]["open_ms"]).over(Figure.of(sizes[0]["open_ms"]))
    if len(tails) > 1:
        growth = Figure.of(tails[-1]["open_ms"]).over(Figure.of(tails[-2]["open_ms"]))
        longer = tails[-1]["tail_bytes"] / tails[-2]["tail_bytes"]
        linear = growth.map(lambda value: value / longer)
    return same, linear
