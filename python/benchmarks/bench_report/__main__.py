"""Makes the benchmark report of the kept raw results.

python -m bench_report [--root DIR] [--publish RUN]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from . import (
    document,
    pipeline,
    plots_jvm,
    plots_python,
    plots_real_time,
    plots_scale,
    plots_spark,
    prose,
    python,
    real_time,
    scale,
    spark,
    tables_jvm,
    tables_latency,
    targets,
    targets_jvm,
)
from .publish import publish
from .raw import Run, load

#: The section of docs/explanation/benchmarks.md that is written by hand, a subsection for each target that is missed.
MISSED = "Where a target is missed"
ABSENT = "This was not measured."

_TABLES: dict[str, Callable[[Run], str]] = {
    "machine": prose.machine,
    "peers": tables_jvm.peers,
    "unconfigured": tables_jvm.unconfigured,
    "rings": tables_jvm.rings,
    "variants": tables_jvm.variants,
    "durable": tables_jvm.durable,
    "latency": tables_latency.report,
    "reads": tables_jvm.reads,
    "opening": tables_jvm.opening,
    "satellite": tables_jvm.satellite,
    "scale": scale.report,
    "python": python.report,
    "spark": spark.report,
    "real-time": real_time.tables,
    "pipeline": pipeline.tables,
}
#: Each plot by the name of its file: the function that draws it, its block, and its description.
_PLOTS: dict[str, tuple[Callable[[Run, Path], bool], str, str]] = {
    "peers": (
        plots_jvm.peers,
        "peers",
        "Throughput of push, pop and both at once beside the roofline and other queues",
    ),
    "sizes": (plots_jvm.sizes, "rings", "Throughput over the size of a record"),
    "latency": (plots_jvm.latencies, "latency", "Percentiles of service and response times"),
    # The last plot of a block comes first.
    "recovery": (plots_scale.recovery, "scale", "Duration of recovery over the unflushed bytes"),
    "memory": (plots_scale.memory, "scale", "Memory of the process while a queue is filled, then drained"),
    "cost": (plots_scale.cost, "scale", "Cost of a push and a pop over the queued bytes"),
    "python": (plots_python.plot, "python", "Records by the second over the size of a batch in Python"),
    "spark": (plots_spark.plot, "spark", "Rows by the second of Spark's workloads"),
    "real-time": (plots_real_time.plot, "real-time", "Latency of real-time mode over the share of records"),
}
_TARGETS: tuple[Callable[[Run], list[targets.Target]], ...] = (
    targets_jvm.targets,
    scale.targets,
    python.targets,
    spark.targets,
    real_time.targets,
    pipeline.targets,
)


def draw(root: Path, run: Run) -> None:
    """Draws the plots; removes those of parts that the run has not measured."""
    for name, (plot, _, _) in _PLOTS.items():
        path = _picture(root, name)
        if not plot(run, path):
            path.unlink(missing_ok=True)


def write(root: Path, run: Run) -> list[str]:
    """Writes tables, targets and sentences into the documents below `root`, a checkout of the project.

    Returns the sections still to be written by hand, a line for each.
    """
    path = root / "docs" / "explanation" / "benchmarks.md"
    blocks = {name: make(run) or ABSENT for name, make in _TABLES.items()}
    for name, (_, block, words) in _PLOTS.items():
        if _picture(root, name).exists():
            blocks[block] = f"![{words}](../benchmarks/{name}.svg)\n\n{blocks[block]}"
    known = [target for of_part in _TARGETS for target in of_part(run)]
    explained = document.headings(path, MISSED)
    blocks["targets"] = f"{targets.summary(known)}\n\n{targets.shown(known, explained)}"
    document.fill(path, blocks)
    picture = f"![{_PLOTS['peers'][2]}](docs/benchmarks/peers.svg)" if _picture(root, "peers").exists() else ""
    document.fill(root / "README.md", {"benchmarks": prose.readme(run, picture)})
    return targets.loose_ends(known, explained)


def kept(root: Path) -> Path:
    """The directory of the kept raw results."""
    return root / "docs" / "benchmarks" / "raw"


def _picture(root: Path, name: str) -> Path:
    return root / "docs" / "benchmarks" / f"{name}.svg"


def main() -> None:
    """Reads the arguments and makes the report."""
    parser = argparse.ArgumentParser(prog="bench_report", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(), help="a checkout of the project")
    parser.add_argument("--publish", type=Path, metavar="RUN", help="keep the raw results of this directory first")
    options = parser.parse_args()
    if options.publish:
        for line in publish(options.publish, kept(options.root)):
            print(line)
    run = load(kept(options.root))
    draw(options.root, run)
    for line in write(options.root, run):
        print(f"to do: {line}", file=sys.stderr)


if __name__ == "__main__":
    main()
