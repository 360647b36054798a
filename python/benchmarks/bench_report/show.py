"""Prints the tables of one part of a run: what the benchmarks print when they end.

python -m bench_report.show PART RUN
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

from . import machine, pipeline, python, real_time, scale, spark, tables_jvm, tables_latency
from .publish import dump, read
from .raw import Run, load

_TABLES: dict[str, Callable[[Run], str]] = {
    "jmh": tables_jvm.everything,
    "latency": tables_latency.latencies,
    "pipeline": pipeline.tables,
    "python": python.tables,
    "real-time": real_time.tables,
    "scale": scale.tables,
    "spark": spark.tables,
}


def show(part: str, run: Path) -> str:
    """Returns the tables of one part of the run in the directory `run`, their columns aligned."""
    with tempfile.TemporaryDirectory() as kept:
        for name, content in read(run):
            if name.startswith(part):
                path = Path(kept, name)
                path.parent.mkdir(exist_ok=True)
                path.write_text(dump(content), encoding="utf-8")
        Path(kept, machine.NAME).write_text(dump({"machine": {}, "parts": {}}), encoding="utf-8")
        return aligned(_TABLES[part](load(Path(kept))))


def aligned(markdown: str) -> str:
    """Returns the text with the columns of each table as wide as their widest cell, for a terminal."""
    blocks = []
    for block in markdown.split("\n\n"):
        lines = block.splitlines()
        if not lines or not lines[0].startswith("| "):
            blocks.append(block)
            continue
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        head, rule, *body = rows
        widths = [max(len(row[column]) for row in [head, *body]) for column in range(len(head))]
        right = [cell.endswith(":") for cell in rule]
        blocks.append(
            "\n".join(
                "  ".join(
                    cell.rjust(width) if number else cell.ljust(width)
                    for cell, width, number in zip(row, widths, right, strict=True)
                ).rstrip()
                for row in [head, *body]
            )
        )
    return "\n\n".join(blocks)


def main() -> None:
    """Reads the arguments and prints the tables."""
    parser = argparse.ArgumentParser(prog="bench_report.show", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("part", choices=machine.PARTS)
    parser.add_argument("run", type=Path, help="directory of the run's results")
    options = parser.parse_args()
    print(show(options.part, options.run))


if __name__ == "__main__":
    main()
