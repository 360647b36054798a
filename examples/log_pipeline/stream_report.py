"""Compares what the streaming queries wrote with counts of the files, made in plain Python, and reports on the run.

    python stream_report.py --out build/demo-stream

The lines come from the files. From the queue, which keeps all of its records in this demo, comes when each was
pushed first, and that the records are the files, byte for byte. The exit status is 1 unless both outputs hold each
window and level once, with the right count.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

import inputs
import mmapqueue
from compare import Comparison, Copy, compare_all
from services import report_session
from shared import read_status
from stream_compare import (
    Count,
    Window,
    WindowComparison,
    WindowCounter,
    compare_windows,
    count_files,
    per_level,
)
from stream_job import QUERIES, lines_of
from stream_plot import draw

Rows = list[tuple[Window, Count]]


@dataclass
class Outcome:
    """The numbers of a run."""

    sources: dict[str, Comparison]  # what is in the queue against the files
    changed: list[str]  # inputs that were rewritten during the run, so that nothing can be said of them
    files: dict[str, Count]  # lines of the files, per level
    outputs: dict[str, WindowComparison]
    levels: dict[str, dict[str, Count]]  # what each output has per level, all windows together
    windows: int
    unfinished: list[str]  # queries that the kill left in the midst of a batch
    batches: dict[str, int]  # batches with records that were told of, of each query
    best: dict[str, float]  # records a second of each query's quickest batch
    largest_lag: int  # records behind the queue's end, as a query said itself
    last_lag: dict[str, int]

    @property
    def repeated(self) -> int:
        """Records that are in the queue more than once: pushed again by an agent that had been killed."""
        return sum(source.repeated for source in self.sources.values())

    @property
    def faithful(self) -> bool:
        """Whether both outputs hold what the files hold."""
        return (
            not self.changed
            and all(source.faithful for source in self.sources.values())
            and all(output.faithful for output in self.outputs.values())
            and all(levels == self.files for levels in self.levels.values())
        )


def examine(spark: SparkSession, out: Path) -> Outcome:
    """Count the inputs, compare the outputs with that, and take the speeds from the status lines."""
    taken = inputs.load(out / "inputs.json")
    counter = WindowCounter(json.loads((out / "settings.json").read_text())["window"])
    sources = compare_all(taken, counter.passing(_pushes(mmapqueue.read(spark, out / "queue"))))
    outputs = {"parquet": _parquet_rows(spark, out / "windows"), "results": _queue_rows(spark, out / "results")}
    batches = [entry for entry in read_status(out / "job.jsonl") if entry["event"] == "batch"]
    of = {query: [entry for entry in batches if entry["query"] == query] for query in QUERIES}
    return Outcome(
        sources=sources,
        changed=[source for source, entry in taken.items() if not inputs.unchanged(Path(source), entry)],
        files=count_files(taken),
        outputs={name: compare_windows(counter.windows, rows) for name, rows in outputs.items()},
        levels={name: per_level(rows) for name, rows in outputs.items()},
        windows=len(counter.windows),
        unfinished=json.loads((out / "unfinished.json").read_text()),
        batches={query: sum(entry["rows"] > 0 for entry in entries) for query, entries in of.items()},
        best={
            query: max((entry["rows"] / entry["seconds"] for entry in entries if entry["seconds"]), default=0.0)
            for query, entries in of.items()
        },
        largest_lag=max((entry["behind"] or 0 for entry in batches), default=0),
        last_lag={query: entries[-1]["behind"] or 0 for query, entries in of.items() if entries},
    )


def _pushes(records: DataFrame) -> Iterator[tuple[Copy, int]]:
    """Yield the lines in the queue with their push times. The closing record is of no file."""
    lines = lines_of(records).where("source <> ''").withColumn("time", F.unix_millis("timestamp"))
    ordered = lines.select("source", "position", "offset", "raw", "time").orderBy("source", "position", "offset")
    for row in ordered.toLocalIterator(prefetchPartitions=True):
        yield Copy(row.source, row.position, row.offset, bytes(row.raw)), row.time


def _parquet_rows(spark: SparkSession, windows: Path) -> Rows:
    rows = spark.read.parquet(str(windows)).select(F.unix_millis("start").alias("start"), "level", "lines", "bytes")
    return [(Window(row.start, row.level), Count(row.lines, row.bytes)) for row in rows.collect()]


def _queue_rows(spark: SparkSession, results: Path) -> Rows:
    rows = (json.loads(bytes(row.value)) for row in mmapqueue.read(spark, results).select("value").collect())
    return [(Window(row["start"], row["level"]), Count(row["lines"], row["bytes"])) for row in rows]


def show(console: Console, outcome: Outcome) -> None:
    """Print the report."""
    console.print(_levels(outcome))
    console.print(_outputs(outcome))
    for source in outcome.changed:
        console.print(f"[red]{source} was rewritten while the demo ran: run it again, or name others with LOGS.[/]")
    for name, comparison in outcome.sources.items():
        if not comparison.faithful:
            console.print(f"[red]{name} is not in the queue as it is on the disk: {comparison}[/]")
    if outcome.faithful:
        verdict = Text("Both outputs hold what the files hold, each window and level once.", style="bold green")
    else:
        verdict = Text("What was counted is not what went in.", style="bold red")
    console.print(Panel(verdict, expand=False))


def _levels(outcome: Outcome) -> Table:
    table = Table(title="Lines per level", title_justify="left", title_style="bold")
    table.add_column("level")
    for column in ("in the files", "in Parquet", "in the second queue"):
        table.add_column(column, justify="right")
    for level in sorted({*outcome.files, *(level for levels in outcome.levels.values() for level in levels)}):
        counts = [levels.get(level, Count()) for levels in (outcome.files, *outcome.levels.values())]
        style = "" if len(set(counts)) == 1 else "red"
        table.add_row(level, *(f"{count.lines:,}" for count in counts), style=style)
    return table


def _outputs(outcome: Outcome) -> Table:
    table = Table(title="Windows and delivery", title_justify="left", title_style="bold", show_header=False)
    table.add_column(justify="right", style="bold")
    table.add_column()
    table.add_row(f"{outcome.windows:,}", "windows and levels with lines")
    for name, output in outcome.outputs.items():
        faults = (
            f"{output.missing:,} missing, {output.wrong:,} wrong, {output.repeated:,} twice, {output.surplus:,} surplus"
        )
        table.add_row(f"{output.right:,}", f"right in {name}; {faults}", style="" if output.faithful else "red")
    table.add_row(f"{outcome.repeated:,}", "lines pushed again by the killed agent, counted once")
    table.add_row(f"{len(outcome.unfinished)}", "queries that the kill left in the midst of a batch")
    table.add_section()
    for query in QUERIES:
        table.add_row(f"{outcome.batches[query]:,}", f"batches of the query {query}")
        table.add_row(f"{outcome.best[query]:,.0f} /s", "records, in its quickest one")
        table.add_row(f"{outcome.last_lag.get(query, 0):,}", "records behind the queue's end after its last one")
    table.add_row(f"{outcome.largest_lag:,}", "records behind, the most that a query said of itself")
    return table


def run(out: Path, console: Console) -> int:
    """Examine, print, and draw; return the exit status."""
    outcome = examine(mmapqueue.configure(report_session()).getOrCreate(), out)
    show(console, outcome)
    (out / "report.json").write_text(json.dumps({"faithful": outcome.faithful, **asdict(outcome)}, indent=1))
    agent, job, events = (read_status(out / f"{name}.jsonl") for name in ("agent", "job", "events"))
    draw(out / "stream.png", agent, job, events, QUERIES)
    console.print(f"Throughput and lag over time: {out / 'stream.png'}")
    return 0 if outcome.faithful else 1


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Compare the streaming demo's output with its inputs.")
    parser.add_argument("--out", type=Path, default=Path("build/demo-stream"), help="directory of the run")
    return run(parser.parse_args(arguments).out, Console())


if __name__ == "__main__":
    raise SystemExit(main())
