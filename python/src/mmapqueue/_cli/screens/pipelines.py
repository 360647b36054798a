"""The tables of `top` for a pipeline."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from mmapqueue._cli.output import Column, age_text, print_table, printable

if TYPE_CHECKING:
    from mmapqueue.pipeline._watching import SenderRow, WatchedPipeline

_FULL, _NEARLY_FULL = 0.9, 0.7
_OK = "ok"
_COLUMNS = [
    Column("pipe", "PIPE"),
    Column("received_per_second", "RECEIVED/S", "{:.0f}".format, right=True),
    Column("refused", "REFUSED", right=True),
    Column("fill", "FILL", "{:.1%}".format, right=True),
    Column("sender", "SENDER"),
    Column("sent_per_second", "SENT/S", "{:.0f}".format, right=True),
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


def screen(pipeline: WatchedPipeline, interval: float) -> RenderableType:
    """The last sample for a terminal.

    Args:
        pipeline: The pipeline, with its samples.
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
    for title in (
        "pipe",
        "received",
        "in all",
        "refused",
        "fill",
        "sender",
        "sent",
        "in all",
        "given up",
        "lag",
        "age",
    ):
        table.add_column(title, justify="left" if title in ("pipe", "sender") else "right", no_wrap=True)
    before = None
    for row in pipeline.rows():
        table.add_row(*_of_pipe(row, is_first=row.pipe != before), *_of_sender(row))
        before = row.pipe
    troubles = [
        Text.assemble((f"{row.pipe}.{row.sender or ''}".rstrip("."), "bold"), "  ", (printable(row.state), "red"))
        for row in pipeline.rows()
        if row.state != _OK
    ]
    refused = [
        Text.assemble("server ", (printable(what), "bold"), f"  refused {count:,}", style="yellow")
        for what, count in pipeline.servers().items()
    ]
    return Group(head, Text(), table, Text(), *troubles, *refused)


def _of_pipe(row: SenderRow, *, is_first: bool) -> list[RenderableType]:
    if not is_first:
        return [""] * 5
    fill = row.fill or 0.0
    color = "red" if fill >= _FULL else "yellow" if fill >= _NEARLY_FULL else "green"
    return [
        Text(row.pipe, style="bold"),
        f"{row.received_per_second:,.0f}/s",
        f"{row.received:,}",
        _alarming(row.refused),
        Text("-" if row.fill is None else f"{fill:.1%}", style=color),
    ]


def _of_sender(row: SenderRow) -> list[RenderableType]:
    return [
        Text(row.sender or "-", style="bold" if row.state == _OK else "bold red"),
        f"{row.sent_per_second:,.0f}/s",
        f"{row.sent:,}",
        _alarming(row.given_up),
        "-" if row.lag_records is None else f"{row.lag_records:,}",
        "-" if row.lag_seconds is None else age_text(row.lag_seconds),
    ]


def _alarming(count: int) -> Text:
    return Text(f"{count:,}", style="red" if count else "")
