"""The table of a watched pipeline: the one that `top` draws in a terminal, and that the telemetry serves as a page."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from mmapqueue._values.durations import age_text
from mmapqueue.pipeline._watching import OK, SenderRow, WatchedPipeline

_FULL, _NEARLY_FULL = 0.9, 0.7


class Tone(Enum):
    """How a text is to look."""

    PLAIN = ""
    NAME = "name"
    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"


class Cell(NamedTuple):
    """A text of the table."""

    text: str
    tone: Tone = Tone.PLAIN


class Column(NamedTuple):
    """A column of the table.

    Attributes:
        title: Its heading.
        is_figure: Whether its texts are figures, aligned to the right.
        is_extra: Whether a narrow terminal leaves it out.
    """

    title: str
    is_figure: bool = True
    is_extra: bool = False


COLUMNS = (
    Column("pipe", is_figure=False),
    Column("received"),
    Column("total", is_extra=True),
    Column("repeated", is_extra=True),
    Column("refused"),
    Column("queued"),
    Column("fill"),
    Column("sender", is_figure=False),
    Column("sent"),
    Column("total", is_extra=True),
    Column("repeated", is_extra=True),
    Column("dead"),
    Column("given up"),
    Column("lag"),
    Column("age"),
)
_OF_PIPE = 7


def lines(pipeline: WatchedPipeline) -> Iterator[list[Cell]]:
    """The last sample: a line for each sender; what is of a pipe is in its first line alone."""
    before = None
    for row in pipeline.rows():
        yield [*(_of_pipe(row) if row.pipe != before else [Cell("")] * _OF_PIPE), *_of_sender(row)]
        before = row.pipe


def troubles(pipeline: WatchedPipeline) -> Iterator[tuple[str, str]]:
    """The last error of each sender that has one: `<pipe>.<sender>`, or `<pipe>`, and the error."""
    for row in pipeline.rows():
        if row.state != OK:
            yield f"{row.pipe}.{row.sender or ''}".rstrip("."), row.state


def _of_pipe(row: SenderRow) -> list[Cell]:
    fill = row.fill or 0.0
    tone = Tone.BAD if fill >= _FULL else Tone.WARNING if fill >= _NEARLY_FULL else Tone.GOOD
    return [
        Cell(row.pipe, Tone.NAME),
        _rate(row.received_per_second),
        Cell(f"{row.received:,}"),
        Cell(f"{row.received_again:,}"),
        _alarming(row.refused),
        Cell("-" if row.queued is None else f"{row.queued:,}"),
        Cell("-" if row.fill is None else f"{fill:.1%}", tone),
    ]


def _of_sender(row: SenderRow) -> list[Cell]:
    return [
        Cell(row.sender or "-", Tone.NAME if row.state == OK else Tone.BAD),
        _rate(row.sent_per_second),
        Cell(f"{row.sent:,}"),
        Cell(f"{row.sent_again:,}"),
        _alarming(row.dead_letters),
        _alarming(row.given_up),
        Cell("-" if row.lag_records is None else f"{row.lag_records:,}"),
        Cell("-" if row.lag_seconds is None else age_text(row.lag_seconds)),
    ]


def _rate(per_second: float | None) -> Cell:
    return Cell("-" if per_second is None else f"{per_second:,.0f}/s")


def _alarming(count: int) -> Cell:
    return Cell(f"{count:,}", Tone.BAD if count else Tone.PLAIN)
