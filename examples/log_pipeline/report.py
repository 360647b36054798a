"""Compares what the pipeline wrote with the files it read, and reports on the run.

    python report.py --out build/demo

It reads the Parquet files as any user of them would. The exit status is 1 if a line is lost or altered, or
out of order.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

import inputs
from compare import Comparison, Copy, compare_all
from parsing import without_duplicates
from plot import depth_over_time, draw
from services import report_session
from shared import read_status


@dataclass
class Outcome:
    """The numbers of a run."""

    sources: dict[str, Comparison]
    changed: list[str]  # inputs that were rewritten during the run, so that nothing can be said of them
    missing: int  # offsets that the queue gave out and no row has
    delivered: int  # records popped, over all runs of the job
    rows: int  # rows in the Parquet files
    kept: int  # of those, rows that are left when the duplicates are dropped
    redelivered: int  # popped more than once: not acked before a kill
    rewritten: int  # rows with an offset that another row has too
    seconds: float  # from the first push to the last ack
    best: float  # lines a second in the batch that the job parsed and wrote the quickest

    @property
    def faithful(self) -> bool:
        """Whether everything that went in came out, unaltered and in order, and only once."""
        result = self.sources.values()
        once = self.kept == self.rows - self.rewritten - sum(source.repeated for source in result)
        return once and not self.changed and not self.missing and all(source.faithful for source in result)

    def total(self, field: str) -> int:
        """Return the sum of a field over all sources."""
        return sum(getattr(source, field) for source in self.sources.values())


def examine(spark: SparkSession, out: Path) -> Outcome:
    """Compare the rows with the inputs, and take the times from the status lines."""
    taken = inputs.load(out / "inputs.json")
    rows = spark.read.parquet(str(out / "rows"))
    offsets = rows.select("offset").distinct().count()
    count = rows.count()

    agent, job = read_status(out / "agent.jsonl"), read_status(out / "job.jsonl")
    popped = [entry for entry in job if entry["event"] == "popped"]
    acked = [entry for entry in job if entry["event"] == "acked"]
    pushes = [entry for entry in agent if entry.get("pushed")]
    delivered = sum(entry["last"] - entry["first"] + 1 for entry in popped)
    end = max((entry["end"] for entry in pushes), default=0)
    return Outcome(
        sources=compare_all(taken, _copies(rows)),
        changed=[source for source, entry in taken.items() if not inputs.unchanged(Path(source), entry)],
        missing=max(0, end - offsets),
        delivered=delivered,
        rows=count,
        kept=without_duplicates(rows).count(),
        redelivered=delivered - offsets,
        rewritten=count - offsets,
        seconds=acked[-1]["time"] - pushes[0]["time"] if acked and pushes else 0.0,
        best=max(((entry["last"] - entry["first"] + 1) / entry["seconds"] for entry in acked), default=0.0),
    )


def _copies(rows: DataFrame) -> Iterator[Copy]:
    """Yield what came out. Rows with the same offset count once, but only if they are the same through and through."""
    columns = ["source", "position", "offset", "raw"]
    ordered = rows.select(columns).distinct().orderBy("source", "position", "offset")
    for row in ordered.toLocalIterator(prefetchPartitions=True):
        yield Copy(row.source, row.position, row.offset, bytes(row.raw))


def show(console: Console, outcome: Outcome, minutes: DataFrame) -> None:
    """Print the report."""
    console.print(_sources(outcome))
    console.print(_numbers(outcome))
    console.print(_busiest(minutes, common_directory(outcome.sources)))
    for source in outcome.changed:
        console.print(f"[red]{source} was rewritten while the demo ran: run it again, or name others with LOGS.[/]")
    if outcome.faithful:
        verdict = Text("Every line came out, byte for byte and in order; none is lost.", style="bold green")
    else:
        verdict = Text("What came out is not what went in.", style="bold red")
    console.print(Panel(verdict, expand=False))


def _sources(outcome: Outcome) -> Table:
    common = common_directory(outcome.sources)
    table = Table(title=f"Lines, of {common}", title_justify="left", title_style="bold")
    table.add_column("source", overflow="fold")
    for column in ("in", "out", "lost", "altered", "misplaced", "repeated"):
        table.add_column(column, justify="right")
    fields = ("lines_in", "lines_out", "lost", "altered", "misplaced", "repeated")
    for name, source in outcome.sources.items():
        numbers = [f"{getattr(source, field):,}" for field in fields]
        table.add_row(os.path.relpath(name, common), *numbers, style=_style(source.faithful))
    table.add_section()
    table.add_row("all", *(f"{outcome.total(field):,}" for field in fields), style="bold " + _style(outcome.faithful))
    return table


def common_directory(sources: Iterable[str]) -> str:
    """Return the directory that all sources are in."""
    return os.path.commonpath([os.path.dirname(source) for source in sources])  # noqa: PTH120


def _style(faithful: bool) -> str:
    return "" if faithful else "red"


def _numbers(outcome: Outcome) -> Table:
    table = Table(title="Delivery", title_justify="left", title_style="bold", show_header=False)
    table.add_column(justify="right", style="bold")
    table.add_column()
    repeated = outcome.total("repeated")
    pace = outcome.total("lines_out") / outcome.seconds if outcome.seconds else 0
    for number, meaning in (
        (outcome.missing, "records of the queue that are in no row"),
        (outcome.redelivered, "records popped again: the killed job had not acked them"),
        (outcome.rewritten, "rows written twice because of that, dropped by offset"),
        (repeated, "lines pushed again: the killed agent had not noted them; dropped by position"),
        (outcome.kept, "rows left, one for each line"),
    ):
        table.add_row(f"{number:,}", meaning)
    table.add_section()
    table.add_row(f"{outcome.seconds:,.1f} s", "from the first push to the last ack, restarts included")
    table.add_row(f"{pace:,.0f} /s", "lines end to end; the agent is paced, to last a while")
    table.add_row(f"{outcome.best:,.0f} /s", "lines parsed, written and acked in the job's quickest batch")
    return table


def _busiest(minutes: DataFrame, common: str, most: int = 5) -> Table:
    table = Table(title="Busiest sources and minutes", title_justify="left", title_style="bold")
    table.add_column("source", overflow="fold")
    table.add_column("minute")
    table.add_column("lines", justify="right")
    table.add_column("bytes", justify="right")
    sources = minutes.groupBy("source").agg(F.sum("lines").alias("lines"), F.sum("bytes").alias("bytes"))
    for row in sources.orderBy(F.desc("lines"), "source").limit(most).collect():
        table.add_row(os.path.relpath(row.source, common), "all", f"{row.lines:,}", f"{row.bytes:,}")
    table.add_section()
    for row in minutes.orderBy(F.desc("lines"), "minute", "source").limit(most).collect():
        minute = f"{row.minute:%Y-%m-%d %H:%M}" if row.minute else "no time"
        table.add_row(os.path.relpath(row.source, common), minute, f"{row.lines:,}", f"{row.bytes:,}")
    return table


def run(out: Path, console: Console) -> int:
    """Examine, print, and draw; return the exit status."""
    spark = report_session().getOrCreate()
    outcome = examine(spark, out)
    show(console, outcome, spark.read.parquet(str(out / "minutes")))
    (out / "report.json").write_text(json.dumps({"faithful": outcome.faithful, **asdict(outcome)}, indent=1))
    depths = depth_over_time(read_status(out / "agent.jsonl"), read_status(out / "job.jsonl"))
    draw(out / "depth.png", depths, read_status(out / "events.jsonl"))
    console.print(f"Depth of the queue over time: {out / 'depth.png'}")
    return 0 if outcome.faithful else 1


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Compare a demo's output with its inputs.")
    parser.add_argument("--out", type=Path, default=Path("build/demo"), help="directory of the run (build/demo)")
    return run(parser.parse_args(arguments).out, Console())


if __name__ == "__main__":
    raise SystemExit(main())
