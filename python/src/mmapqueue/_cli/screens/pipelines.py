"""The tables of `top` for a pipeline."""

from __future__ import annotations

from datetime import datetime
from itertools import compress
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from mmapqueue._cli.output import Column, print_table
from mmapqueue._values.durations import age_text
from mmapqueue._values.texts import printable
from mmapqueue.pipeline._table import COLUMNS, Tone, lines, troubles

if TYPE_CHECKING:
    from mmapqueue.pipeline._watching import WatchedPipeline

#: A terminal with fewer columns has no room for all of the table.
_WIDE = 118
_STYLES = {Tone.PLAIN: "", Tone.NAME: "bold", Tone.GOOD: "green", Tone.WARNING: "yellow", Tone.BAD: "bold red"}
_COLUMNS = [
    Column("pipe", "PIPE"),
    Column("received_per_second", "RECEIVED/S", "{:.0f}".format, right=True),
    Column("received_again", "REPEATED", right=True),
    Column("refused", "REFUSED", right=True),
    Column("queued", "QUEUED", right=True),
    Column("fill", "FILL", "{:.1%}".format, right=True),
    Column("sender", "SENDER"),
    Column("sent_per_second", "SENT/S", "{:.0f}".format, right=True),
    Column("sent_again", "SENT-AGAIN", right=True),
    Column("dead_letters", "DEAD", right=True),
    Column("given_up", "GIVEN-UP", right=True),
    Column("lag_records", "LAG", right=True),
    Column("lag_seconds", "AGE", age_text, right=True),
    Column("state", "STATE"),
]


def print_rows(pipeline: WatchedPipeline) -> None:
    """Prints the last sample: a table, and what servers have refused."""
    print_table(_COLUMNS, (row._asdict() for row in pipeline.rows()), as_json=False)
    for what, count in pipeline.servers().items():
        print(f"refused by server {printable(what)}: {count}")


def screen(pipeline: WatchedPipeline, width: int, interval: float) -> RenderableType:
    """The last sample for a terminal.

    Args:
        pipeline: The pipeline, with its samples.
        width: Columns of the terminal.
        interval: Seconds between two samples.
    """
    head = Table.grid(expand=True)
    head.add_column()
    head.add_column(justify="right")
    head.add_row(
        Text.assemble(
            ("mmapqueue top", "bold"), f" {pipeline.file}  every {age_text(interval)}  ", ("q", "bold"), " ends"
        ),
        Text(f"{datetime.now():%H:%M:%S}"),
    )
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    shown = [not column.is_extra or width >= _WIDE for column in COLUMNS]
    for column in compress(COLUMNS, shown):
        table.add_column(column.title, justify="right" if column.is_figure else "left", no_wrap=True)
    for line in lines(pipeline):
        table.add_row(*(Text(cell.text, style=_STYLES[cell.tone]) for cell in compress(line, shown)))
    errors = [
        Text.assemble((name, "bold"), "  ", (printable(error), _STYLES[Tone.BAD])) for name, error in troubles(pipeline)
    ]
    refused = [
        Text.assemble("server ", (printable(what), "bold"), f"  refused {count:,}", style=_STYLES[Tone.WARNING])
        for what, count in pipeline.servers().items()
    ]
    return Group(head, Text(), table, Text(), *errors, *refused)
