"""Draws the dashboard's panels from the data of a real Prometheus: `make dashboard`."""

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib import pyplot as plt

from bench_report.charts import BLUE, OTHERS, WIDTH, save, tidy

from .live import Prometheus, at_work, filled_in, panels

SECONDS = 90
_COLUMNS = 2
_UNITS = {"s": "s", "bytes": "MiB", "Bps": "MiB/s", "rowsps": "records/s", "ops": "1/s", "short": ""}
_MIB = 1 << 20
#: Of the queries of a panel: what was pushed, popped and acked lies one on the other.
_LINES = ("-", "--", ":")


class Curve(NamedTuple):
    """One series: the number of its query in the panel, its legend, seconds before the last sample, and values."""

    query: int
    label: str
    seconds: list[float]
    values: list[float]


class Panel(NamedTuple):
    """One panel of the dashboard."""

    title: str
    unit: str
    curves: list[Curve]


def measured(prometheus: Prometheus) -> list[Panel]:
    """The panels with lines, each with the series of its queries. Prometheus has scraped for some time."""
    found = []
    for panel in panels():
        if panel["type"] != "timeseries":
            continue
        unit = panel["fieldConfig"]["defaults"]["unit"]
        scale = _MIB if unit in ("bytes", "Bps") else 1
        curves = []
        for number, target in enumerate(panel["targets"]):
            for series in prometheus.range(filled_in(target["expr"]), SECONDS):
                if series["metric"].get("job", "app") != "app":
                    continue  # The exporter gives the same again.
                times = [float(at) for at, _ in series["values"]]
                values = [float(value) / scale for _, value in series["values"]]
                curves.append(Curve(number, legend(target, series["metric"]), [at - times[-1] for at in times], values))
        found.append(Panel(panel["title"], _UNITS[unit], curves))
    return found


def draw(shown: Sequence[Panel], to: Path) -> None:
    """Writes the picture."""
    rows = -(-len(shown) // _COLUMNS)
    figure, axes = plt.subplots(rows, _COLUMNS, figsize=(WIDTH, 2.5 * rows), layout="constrained")
    colors = (BLUE, *OTHERS)
    for panel, axis in zip(shown, axes.flat, strict=False):
        for number, (query, label, seconds, values) in enumerate(panel.curves):
            style = _LINES[query % len(_LINES)]
            axis.plot(seconds, values, linewidth=1.4, linestyle=style, color=colors[number % len(colors)], label=label)
        axis.set_title(f"{panel.title}, {panel.unit}" if panel.unit else panel.title, loc="left", fontweight="bold")
        axis.set_ylim(bottom=0)
        axis.tick_params(labelsize=8)
        axis.legend(fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2)
        tidy(axis)
    for axis in list(axes.flat)[len(shown) :]:
        axis.axis("off")
    figure.supxlabel("seconds before the last sample", fontsize=9)
    save(figure, to)


def legend(target: dict[str, Any], labels: dict[str, str]) -> str:
    """The legend of a series, with queues by the last part of their directory."""
    text = str(target["legendFormat"])
    for name, value in labels.items():
        text = text.replace("{{" + name + "}}", value.rpartition("/")[2])
    return text


def main() -> None:
    """Runs the load for a while, and draws it into the file that is named."""
    with tempfile.TemporaryDirectory() as directory, at_work(Path(directory)) as prometheus:
        time.sleep(SECONDS)
        found = measured(prometheus)
    draw(found, Path(sys.argv[1]))


if __name__ == "__main__":
    main()
