"""The style of all plots: SVG, for light pages and for dark ones."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl

mpl.use("Agg")  # no display needed
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from .figure import Figure
from .words import NOTHING, number, size, trimmed

#: By Okabe and Ito, for any colour vision. The queue is blue in all plots, the roofline grey.
BLUE, ORANGE, GREEN, PURPLE, SKY, RED = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"
GREY, GRID, INK = "#8C8C8C", "#DDDDDD", "#333333"
COLORS = {
    "queue": BLUE,
    "ring": GREY,
    "chronicle": ORANGE,
    "rocksdb": GREEN,
    "bigqueue": PURPLE,
    "heap": SKY,
}
#: For print without colours.
MARKERS = {"queue": "o", "ring": "D", "chronicle": "s", "rocksdb": "^", "bigqueue": "v", "heap": "P"}
#: Beyond those that have a colour by name.
BLACK, BROWN, VIOLET, OLIVE, STEEL = "#000000", "#8B4513", "#6A5ACD", "#808000", "#5F7A8C"
OTHERS = (ORANGE, GREEN, PURPLE, SKY, RED, BLACK, BROWN, VIOLET, GREY, OLIVE, STEEL)
PAPER, BOX = "#FFFFFF", "#EEF3F7"
#: What replaces each colour on a dark page. Those that are not here are legible on both.
_DARK = {
    PAPER: "#0D1117",
    BOX: "#1B2430",
    INK: "#D1D7E0",
    GRID: "#2F353D",
    BLUE: "#2F81F7",
    SKY: "#8FD3FF",
    BLACK: "#F0F6FC",
    BROWN: "#C98B5E",
    VIOLET: "#A79BFF",
    OLIVE: "#B5B53A",
}

_COORDINATES, _FRACTION = re.compile(r'\b(?:d|x|y)="[^"]*"'), re.compile(r"-?\d+\.\d{3,}")

#: Inches: 845 pixels, the width of a page on GitHub, so that nothing is scaled.
WIDTH = 8.8

mpl.rcParams.update(
    {
        # The same data give the same bytes.
        "svg.hashsalt": "mmapqueue",
        # Text stays text. The layout is that of a wide font, so that any other one fits.
        "svg.fonttype": "none",
        "font.sans-serif": ["DejaVu Sans", "Verdana", "Helvetica", "Arial"],
        "font.size": 9,
        "axes.titlesize": 9.5,
        "axes.edgecolor": GREY,
        "axes.labelcolor": INK,
        "text.color": INK,
        "xtick.color": INK,
        "ytick.color": INK,
    }
)


def tidy(axes: Axes, lines: str = "both") -> None:
    """Removes frames and ticks. `lines` of the grid: "x", "y" or "both"."""
    axes.grid(color=GRID, linewidth=0.6, axis=lines)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(which="both", length=0)


def plain_ticks(axes: Axes, which: str, values: Sequence[float] | None = None, sizes: bool = False) -> None:
    """Labels a logarithmic axis, "x" or "y", with plain numbers or with sizes in bytes; at these values, if given."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(FuncFormatter(lambda value, _: size(value) if sizes else trimmed(number(value))))
    if values is not None:
        axis.set_ticks(list(values))
        axis.set_minor_locator(NullLocator())
    elif few_decades(*axis.get_view_interval()):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))


def few_decades(low: float, high: float) -> bool:
    """Whether powers of ten alone would leave a logarithmic axis with next to no labels."""
    return low > 0 and high / low < 1000


def legend(canvas: Canvas, axes: Sequence[Axes], columns: int) -> None:
    """One legend for all panels, below them."""
    named = {label: handle for each in axes for handle, label in zip(*each.get_legend_handles_labels(), strict=True)}
    canvas.legend(named.values(), named.keys(), loc="outside lower center", ncols=columns, frameon=False)


class Bar(NamedTuple):
    """One bar; without a figure only its label is drawn."""

    label: str
    figure: Figure | None
    color: str


def bars(axes: Axes, entries: Sequence[Bar], title: str, unit: str) -> None:
    """Draws horizontal bars from the top down, with whiskers from the least to the greatest, and writes each value."""
    highest = max((max(entry.figure.median, entry.figure.spread[1]) for entry in entries if entry.figure), default=1.0)
    for line, (_, figure, color) in enumerate(entries):
        if figure is None:
            axes.annotate(NOTHING, (0, line), xytext=(4, 0), textcoords="offset points", va="center", color=GREY)
            continue
        low, high = figure.spread
        reach = [[figure.median - low], [high - figure.median]]
        whiskers = {"elinewidth": 0.8}
        axes.barh(line, figure.median, color=color, height=0.7)
        axes.errorbar(figure.median, line, xerr=reach, fmt="none", ecolor=INK, **whiskers)  # type: ignore[arg-type]
        # Beside the whisker, and not on it.
        at = (max(figure.median, high), line)
        axes.annotate(number(figure.median), at, xytext=(4, 0), textcoords="offset points", va="center")
    axes.set_yticks(range(len(entries)), [entry.label for entry in entries])
    axes.set_ylim(len(entries) - 0.4, -0.6)
    axes.set_xlim(0, highest * 1.25)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.set_title(title, loc="left", fontweight="bold")
    axes.set_xlabel(unit)
    tidy(axes, "x")


def save(canvas: Canvas, path: Path, **options: Any) -> None:
    """Writes an SVG with a second set of colours for dark pages; the same data give the same bytes.

    Args:
        canvas: It is closed.
        path: The file.
        options: More of those of `savefig`.
    """
    buffer = io.StringIO()
    canvas.savefig(buffer, format="svg", facecolor=PAPER, metadata={"Date": None}, **options)
    plt.close(canvas)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Trailing spaces are matplotlib's, and so are millionths of a point.
    text = "\n".join(line.rstrip() for line in buffer.getvalue().splitlines())
    text = _COORDINATES.sub(lambda found: _FRACTION.sub(lambda number: f"{float(number[0]):.2f}", found[0]), text)
    path.write_text(text.replace("<defs>", f"<style>{_dark_style()}</style>\n <defs>", 1) + "\n", encoding="utf-8")


def _dark_style() -> str:
    """The style sheet that replaces the colours of the elements' own styles."""
    rules = [
        f'[style*="{key}: {light.lower()}"]{{{key}:{dark}!important}}'
        for light, dark in _DARK.items()
        for key in ("fill", "stroke")
    ]
    return f"@media (prefers-color-scheme: dark){{{''.join(rules)}}}"
