"""The plot of the Spark data source beside Spark's own sources and Kafka."""

from __future__ import annotations

from pathlib import Path

from matplotlib import pyplot as plt

from .charts import BLUE, GREY, ORANGE, PURPLE, SKY, WIDTH, Bar, bars, save
from .raw import Run
from .spark import FLOOR, find, workloads
from .words import size

#: Variants that only the table has.
_LEFT_OUT = ("all columns", "offset", "count", "Kafka 1p")


def plot(run: Run, path: Path) -> bool:
    """Bars of the main workloads, a panel for each size of record; False if there is nothing to draw."""
    # The table has all columns and partitions, and the second measurement with less data beside the broker.
    found = [
        each
        for each in workloads(run)
        if not any(part in each.name for part in _LEFT_OUT) and find(run, each.name, each.size) == each.per_second
    ]
    if not found:
        return False
    sizes = sorted({each.size for each in found})
    tallest = max(sum(each.size == payload for each in found) for payload in sizes)
    canvas, panels = plt.subplots(
        1, len(sizes), figsize=(WIDTH, 0.9 + 0.24 * tallest), layout="constrained", squeeze=False
    )
    for axes, payload in zip(panels[0], sizes, strict=True):
        entries = [
            Bar(each.name, each.per_second.map(lambda rows: rows / 1e6), _color(each.name))
            for each in found
            if each.size == payload
        ]
        bars(axes, entries, f"records of {size(payload)}", "million rows/s")
        axes.label_outer(remove_inner_ticks=True)
    save(canvas, path)
    return True


def _color(name: str) -> str:
    for part, color in (("Kafka", ORANGE), ("Parquet", PURPLE), (FLOOR, GREY), ("rate", GREY), ("write", SKY)):
        if part in name:
            return color
    return BLUE
