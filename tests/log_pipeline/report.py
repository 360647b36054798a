"""The comparison of a finished run: its tables, `report.json`, and whether it was exact.

python report.py --out build/demo
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

import journal
import plot
from compare import File, Outcome, Records, compare
from inputs import unchanged
from outputs import rows_of_parquet, rows_of_queue
from view import Sample

#: Log files that the report names one by one, the largest ones.
NAMED = 8


def examine(out: Path, run: dict[str, Any]) -> list[Outcome]:
    """Compares what both senders have written with what went in."""
    files = [File(Path(path), inode, size) for path, inode, size in run["files"]]
    journals = [journal.read(Path(path)) for path in run["journals"]]
    written = {"archive": rows_of_parquet(out / "archive"), "copy": rows_of_queue(out / "copy")}
    return [compare(name, rows, files, journals, run["gather_kills"]) for name, rows in written.items()]


def show(console: Console, outcomes: Sequence[Outcome], run: dict[str, Any], samples: Sequence[Sample]) -> None:
    """Prints the tables, each within 80 columns."""
    console.print()
    console.print(_lines(outcomes))
    console.print()
    console.print(_records(outcomes))
    console.print("[dim]resent: the client sent it again, as a kill had left it without an answer[/]", soft_wrap=True)
    console.print("[dim]gave up: came out, though its client had no answer and never sent again[/]\n", soft_wrap=True)
    console.print(_rates(outcomes, run, samples))


def _table(title: str, first: str, columns: Sequence[str]) -> Table:
    """A table of a name and numbers."""
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, show_edge=False, padding=0)
    table.add_column(first, overflow="fold")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True, min_width=len(column) + 1)
    return table


def _lines(outcomes: Sequence[Outcome]) -> Table:
    """Lines by file, the same for all senders unless one of them is wrong."""
    counts = ("went in", *(each.name for each in outcomes), "lost", "altered", "twice")
    table = _table("Lines of log files", "file", counts)
    files = sorted(zip(*(each.lines for each in outcomes), strict=True), key=lambda each: -each[0].expected)
    wrong = [each for each in files[NAMED:] if not all(lines.exact for lines in each)]
    shown = files[:NAMED] + wrong
    rest = [each for each in files[NAMED:] if each not in wrong]
    for group in [[each] for each in shown] + ([rest] if rest else []):
        name = _shortest(group[0][0].path) if len(group) == 1 else f"{len(group)} others"
        flat = [lines for each in group for lines in each]
        table.add_row(
            name,
            f"{sum(each[0].expected for each in group):,}",
            *(f"{sum(each[i].found for each in group):,}" for i in range(len(outcomes))),
            *(f"{sum(getattr(lines, field) for lines in flat):,}" for field in ("lost", "altered", "repeated")),
            style="" if all(lines.exact for lines in flat) else "red",
        )
    return table


def _shortest(path: str) -> str:
    """A path as the working directory sees it, if that is shorter."""
    return min(path, os.path.relpath(path), key=len)


def _records(outcomes: Sequence[Outcome]) -> Table:
    """Records by kind. `twice` counts copies that nothing explains."""
    counts = ("accepted", *(each.name for each in outcomes), "lost", "foreign", "twice", "resent", "gave up")
    table = _table("Records of clients", "kind", counts)
    for kind in sorted({each.kind for outcome in outcomes for each in outcome.records}):
        group = [{each.kind: each for each in outcome.records}.get(kind, Records(kind)) for outcome in outcomes]
        sums = [sum(getattr(each, name) for each in group) for name in ("lost", "foreign", "excess")]
        may = [max(getattr(each, name) for each in group) for name in ("repeated", "unanswered")]
        numbers = [group[0].accepted, *(each.found for each in group), *sums, *may]
        style = "" if all(each.exact for each in group) else "red"
        table.add_row(kind, *(f"{number:,}" for number in numbers), style=style)
    return table


def _rates(outcomes: Sequence[Outcome], run: dict[str, Any], samples: Sequence[Sample]) -> Table:
    table = Table(title="Rates", title_justify="left", title_style="bold", box=None, show_header=False, pad_edge=False)
    table.add_column(justify="right", style="bold", no_wrap=True)
    table.add_column()
    times = [sample.time for sample in samples]
    seconds = max(0.1, run["ended"] - run["started"])
    table.add_row(f"{outcomes[0].events:,}", "events: lines, logs, spans and segments")
    table.add_row(f"{seconds:,.1f} s", "from the first to the last, with kills and starts of Spark")
    table.add_row(f"{outcomes[0].events / seconds:,.0f} /s", "events end to end")
    table.add_row(
        f"{plot.best(times, [each.stored for each in samples]):,.0f} /s", "records into the queue, best second"
    )
    for outcome in outcomes:
        sent = [each.sent[outcome.name] for each in samples]
        table.add_row(f"{plot.best_batch(times, sent):,.0f} /s", f"records of sender {outcome.name}, best micro-batch")
    return table


def run(out: Path, console: Console) -> int:
    """Compares, prints and draws. Returns the exit status."""
    facts = json.loads((out / "run.json").read_text())
    samples = plot.samples(out / "samples.jsonl")
    outcomes = examine(out, facts)
    changed = [path for path, inode, size in facts["files"] if not unchanged(File(Path(path), inode, size))]
    show(console, outcomes, facts, samples)
    console.print()
    plot.draw(out / "run.png", samples, facts["marks"])
    exact = not changed and all(outcome.exact for outcome in outcomes)
    report = {"exact": exact, "changed": changed, "events": outcomes[0].events}
    report["senders"] = [{**asdict(outcome), "exact": outcome.exact} for outcome in outcomes]
    (out / "report.json").write_text(json.dumps(report, indent=1))
    for path in changed:
        console.print(f"[red]{path} was rewritten while the demo ran: run it again, or name others with LOGS.[/]")
    again = max((sum(each.repeated for each in outcome.records) for outcome in outcomes), default=0)
    if exact:
        text = "Exact: everything that was accepted came out, each line once and byte for byte."
        if again:
            text += (
                f" {again:,} {'record' if again == 1 else 'records'} came twice: resent, as the client had no answer."
            )
        console.print(Panel(text, style="green", expand=False))
    else:
        console.print(Panel("What came out is not what went in.", style="bold red", expand=False))
    console.print(f"Rates and lag over time: {_shortest(str(out / 'run.png'))}", soft_wrap=True)
    return 0 if exact else 1


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Compare a demo's output with its inputs.")
    parser.add_argument("--out", type=Path, default=Path("build/demo"), help="directory of the run (build/demo)")
    return run(parser.parse_args(arguments).out.absolute(), Console())


if __name__ == "__main__":
    raise SystemExit(main())
