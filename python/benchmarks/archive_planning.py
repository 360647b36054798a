"""The table and the plot of an archive's listings, as docs/scale.md has them.

python archive_planning.py FILE [--keep]

FILE has the output of `make archive`. With --keep it becomes the kept raw result, and the page and the plot are made of
it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from matplotlib import pyplot as plt

from bench_report import machine
from bench_report.charts import BLUE, GREEN, ORANGE, WIDTH, plain_ticks, save, tidy
from bench_report.publish import dump
from bench_report.words import number, table

_ROOT = Path(__file__).resolve().parents[2]
KEPT = _ROOT / "docs" / "benchmarks" / "raw" / "archive.json"
PAGE = _ROOT / "docs" / "scale.md"
PLOT = _ROOT / "docs" / "benchmarks" / "archive.svg"
#: What the page has the table between.
_BEGIN, _END = "<!-- make archive -->", "<!-- end of make archive -->"
#: A line: runs, ms of the first listing, of a plan, of the same again, of a search, of a refresh (median and greatest).
_LINE = re.compile(r"([\d,]+)" + r" +([\d.]+)" * 5 + r" \(max ([\d.]+)\)")
_NAMES = ("runs", "open_ms", "plan_ms", "again_ms", "find_ms", "refresh_ms", "refresh_max_ms")


def parsed(output: str) -> list[dict[str, float]]:
    """The figures by number of runs; of equal numbers the last line counts, as the first one warms up.

    Raises:
        ValueError: There are none.
    """
    found = {}
    for match in _LINE.finditer(output):
        values = [float(each.replace(",", "")) for each in match.groups()]
        found[values[0]] = dict(zip(_NAMES, values, strict=True))
    if not found:
        raise ValueError("no line of `make archive` has figures of a plan")
    return [found[runs] for runs in sorted(found)]


def text(run: Mapping[str, Any]) -> str:
    """The table, and what it was measured on."""
    head = ["runs", "first listing, ms", "plan of all, ms", "a run by offset, ms", "refresh, ms", "refresh, max, ms"]
    keys = ("open_ms", "plan_ms", "find_ms", "refresh_ms", "refresh_max_ms")
    rows = [[number(each["runs"]), *(number(each[key]) for key in keys)] for each in run["results"]]
    where = run["machine"]
    return (
        f"{table(head, rows, left=0)}\n\nOne partition on `file:`; {where['cpu']}, {where['cores']} cores, "
        f"{where['file_system']}, {run['date']}.\n\n"
        f"![Time of a listing over the number of runs](benchmarks/{PLOT.name})"
    )


def plot(run: Mapping[str, Any], path: Path) -> None:
    """Draws the first listing, the plan and the refresh over the number of runs."""
    canvas, axes = plt.subplots(figsize=(WIDTH, 3.4), layout="constrained")
    runs = [each["runs"] for each in run["results"]]
    for key, label, color, marker in (
        ("open_ms", "first listing: once a process", ORANGE, "s"),
        ("plan_ms", "plan of all runs: a batch", GREEN, "^"),
        ("refresh_ms", "refresh: each trigger", BLUE, "o"),
    ):
        axes.plot(runs, [each[key] for each in run["results"]], color=color, marker=marker, markersize=5, label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    plain_ticks(axes, "x", [1e2, 1e3, 1e4, 1e5])
    plain_ticks(axes, "y")
    axes.set_xlabel("runs in the partition")
    axes.set_ylabel("ms")
    axes.set_title("A trigger lists the newest bucket alone, so its cost is bounded", loc="left", fontweight="bold")
    tidy(axes)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    save(canvas, path)


def filled(page: str, run: Mapping[str, Any]) -> str:
    """Returns the page with the table of this run."""
    return re.sub(f"(?<={_BEGIN}\n).*?(?={_END})", lambda _: f"\n{text(run)}\n\n", page, count=1, flags=re.DOTALL)


def main() -> None:
    """Prints or keeps."""
    parser = argparse.ArgumentParser(prog="archive_planning", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    run = {
        "machine": machine.facts(Path(os.environ.get("TMPDIR", "/tmp"))),
        "date": date.today().isoformat(),
        "results": parsed(options.file.read_text(encoding="utf-8")),
    }
    print(json.dumps(run["results"], indent=1))
    if options.keep:
        KEPT.write_text(dump(run), encoding="utf-8")
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), run), encoding="utf-8")
        plot(run, PLOT)


if __name__ == "__main__":
    main()
