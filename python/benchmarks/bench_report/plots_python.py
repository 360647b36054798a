"""The plot of the Python module beside Python's queues."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib import pyplot as plt

from .charts import BLUE, OTHERS, WIDTH, legend, plain_ticks, save, tidy
from .python import OWN, batches_of, results
from .raw import Run
from .subjects import KIB
from .words import rate, size, trimmed

_MARKERS = "sD^vP*XphH"


def plot(run: Run, path: Path) -> bool:
    """Records by the second over the size of a batch, of 1 KiB; False when there is nothing to draw."""
    batches = batches_of(run, KIB)
    if len(batches) < 2:
        return False
    canvas, panels = plt.subplots(1, 2, figsize=(WIDTH, 4.2), layout="constrained", sharey=True)
    looks = _looks(run)
    for axes, (title, operations) in zip(
        panels, (("push", ("push", "push_many")), ("pop", ("pop", "pop_many"))), strict=True
    ):
        for subject, (color, marker) in looks.items():
            curve = sorted(_curve(run, subject, operations).items())
            if curve:
                # Without batches each record takes as long as one alone.
                alone = len(curve) == 1
                drawn = [(batch, curve[0][1]) for batch in batches] if alone else curve
                axes.plot(
                    *zip(*drawn, strict=True),
                    color=color,
                    linestyle=":" if alone else "-",
                    marker=marker,
                    markevery=[0] if alone else None,
                    markersize=4.5,
                    linewidth=2.2 if subject == OWN else 1.3,
                    label=subject,
                )
        axes.set_xscale("log")
        axes.set_yscale("log")
        plain_ticks(axes, "x", batches)
        axes.set_xlabel("records in a call")
        axes.set_title(f"{title}, {size(KIB)}", loc="left", fontweight="bold")
        tidy(axes)
    panels[0].yaxis.set_major_formatter(lambda value, _: trimmed(rate(value)))
    panels[0].set_ylabel("records/s")
    legend(canvas, list(panels), 4)
    save(canvas, path)
    return True


def _looks(run: Run) -> dict[str, tuple[str, str]]:
    others = [name for name in dict.fromkeys(each.subject for each in results(run)) if name != OWN]
    looks = {OWN: (BLUE, "o")}
    for number_, name in enumerate(others):
        looks[name] = (OTHERS[number_ % len(OTHERS)], _MARKERS[number_ % len(_MARKERS)])
    return looks


def _curve(run: Run, subject: str, operations: Sequence[str]) -> dict[int, float]:
    """Records by the second by batch. `operations` are that of one record, and that of many."""
    points: dict[int, float] = {}
    for operation in reversed(operations):
        for each in results(run):
            if (each.subject, each.operation, each.payload) == (subject, operation, KIB):
                points[each.batch] = each.per_second.median
    return points
