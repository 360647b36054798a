"""Draws the dashboard's panels from the data of a real Prometheus: `make dashboard`."""

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import matplotlib

from .live import Prometheus, at_work, filled_in, panels

SECONDS = 90
_COLUMNS = 3
_UNITS = {"s": "s", "bytes": "MiB", "Bps": "MiB/s", "rowsps": "records/s", "ops": "1/s", "short": ""}
_MIB = 1 << 20


def draw(prometheus: Prometheus, to: Path) -> None:
    """Writes the picture.

    Args:
        prometheus: It has scraped for some time.
        to: The file.
    """
    matplotlib.use("Agg")
    from matplotlib import pyplot

    shown = [panel for panel in panels() if panel["type"] == "timeseries"]
    rows = -(-len(shown) // _COLUMNS)
    figure, axes = pyplot.subplots(rows, _COLUMNS, figsize=(15, 3.3 * rows), layout="constrained")
    for panel, axis in zip(shown, axes.flat, strict=False):
        unit = panel["fieldConfig"]["defaults"]["unit"]
        for target in panel["targets"]:
            for series in prometheus.range(filled_in(target["expr"]), SECONDS):
                if series["metric"].get("job", "app") != "app":
                    continue  # The exporter gives the same again.
                times = [float(at) for at, _ in series["values"]]
                values = [float(value) / (_MIB if unit in ("bytes", "Bps") else 1) for _, value in series["values"]]
                axis.plot([at - times[-1] for at in times], values, linewidth=1, label=legend(target, series["metric"]))
        axis.set_title(panel["title"], fontsize=10)
        axis.set_ylabel(_UNITS[unit], fontsize=8)
        axis.set_ylim(bottom=0)
        axis.tick_params(labelsize=7)
        axis.legend(fontsize=6, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=3)
    for axis in list(axes.flat)[len(shown) :]:
        axis.axis("off")
    figure.savefig(to, dpi=70)


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
        draw(prometheus, Path(sys.argv[1]))


if __name__ == "__main__":
    main()
