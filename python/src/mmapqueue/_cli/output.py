"""The output of commands: aligned text, tables on a terminal, JSON; everything to stdout but errors and progress.

The environment variable NO_COLOR switches colours off.
"""

import json
import sys
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from mmapqueue._values.texts import printable

if TYPE_CHECKING:
    from rich.console import Console

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
#: On a narrow terminal a column that is cut has this width at least, and one without the middle of its values that.
_CUT_TO, _ELIDED_TO = 12, 16


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        key: The key of the column's value in a row.
        title: Its heading.
        text: Formats a value; "-" is shown for None.
        right: Whether the column is aligned to the right, as numbers are.
        cut: Whether a terminal cuts values that are too wide, instead of folding them.
        elided: Whether a narrow terminal leaves out the middle of long values.
    """

    key: str
    title: str
    text: Callable[[Any], str] = str
    right: bool = False
    cut: bool = False
    elided: bool = False


@cache
def console() -> "Console":
    """The console of stdout; width and colours are those of the terminal."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)


@cache
def error_console() -> "Console":
    """The console of stderr, for progress."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def print_object(values: Mapping[str, Any] | tuple[Any, ...]) -> None:
    """Prints a mapping or a named tuple as a JSON object, on a line of its own. Times are ISO 8601 in UTC."""
    print(json_text(_plain(values), sys.stdout))


def json_text(value: Any, stream: TextIO) -> str:
    """A value as JSON on one line. For a terminal, characters that are not printable are escaped."""
    text = json.dumps(value, ensure_ascii=False)
    if text.isprintable() or not stream.isatty():
        return text
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text)


def print_table(columns: Sequence[Column], rows: Iterable[Mapping[str, Any]], *, as_json: bool) -> None:
    """Prints rows: as a table, or each as a JSON object with all its values.

    Args:
        columns: The columns of the table.
        rows: The rows; each may have values that no column shows.
        as_json: Whether to print objects.
    """
    if as_json:
        for row in rows:
            print_object(row)
        return
    cells = [[_cell(column, row) for column in columns] for row in rows]
    if sys.stdout.isatty():
        _print_rich(columns, cells)
        return
    lines = [[column.title for column in columns], *cells]
    widths = [max(map(len, texts)) for texts in zip(*lines, strict=True)]
    for line in lines:
        aligned = (
            text.rjust(width) if column.right else text.ljust(width)
            for text, width, column in zip(line, widths, columns, strict=True)
        )
        print("  ".join(aligned).rstrip())


def print_facts(facts: Mapping[str, str], cut: Container[str] = ()) -> None:
    """Prints names and values, a pair on a line.

    Args:
        facts: The values by their names.
        cut: The names of values that a terminal cuts at its width, instead of wrapping them.
    """
    facts = {name: printable(value) for name, value in facts.items()}
    width = max(map(len, facts))
    if not sys.stdout.isatty():
        for name, value in facts.items():
            print(f"{name.ljust(width)}  {value}".rstrip())
        return
    from rich.text import Text

    for name, value in facts.items():
        line = Text.assemble((name.ljust(width), "bold"), "  ", value)
        if name in cut:
            line.truncate(console().width, overflow="ellipsis")
        console().print(line, soft_wrap=True)


def print_error(text: str) -> None:
    """Prints a line on stderr, with the name of the program."""
    print(f"mmapqueue: {text}", file=sys.stderr)


def error_text(error: BaseException) -> str:
    """The message of an exception; of an error of the system the file and the reason, without its number."""
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"


def escaped(data: bytes) -> str:
    r"""Data as printable text: as in a Python literal, with `\n`, `\x00`, `\xff`; printable UTF-8 stays."""
    return printable(data.replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace"))


def time_text(time: datetime) -> str:
    """A time in ISO 8601, in UTC, with microseconds."""
    return time.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def micros_text(micros: int) -> str | None:
    """The text of a time in microseconds since 1970; None for 0, which means no time."""
    return time_text(_EPOCH + timedelta(microseconds=micros)) if micros else None


def _plain(value: Any) -> Any:
    """Converts to values that JSON has: objects for named tuples, texts for times and enumerations."""
    if isinstance(value, datetime):
        return time_text(value)
    if isinstance(value, Enum):
        return value.value
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _cell(column: Column, row: Mapping[str, Any]) -> str:
    value = row[column.key]
    return "-" if value is None else printable(column.text(value))


def _print_rich(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> None:
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    widths = [max(map(cell_len, texts)) for texts in zip([each.title for each in columns], *cells, strict=True)]
    needed = sum(min(width, _CUT_TO) if each.cut else width for width, each in zip(widths, columns, strict=True))
    gaps = len(columns) - 1
    gap = 2 if needed + 2 * gaps <= console().width else 1
    missing = max(0, needed + gap * gaps - console().width)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, gap - 1))
    for column in columns:
        table.add_column(column.title, justify="right" if column.right else "left", overflow="fold")

    def shown(text: str, column: Column, width: int) -> str | Text:
        if column.cut:
            return Text(text, no_wrap=True, overflow="ellipsis")
        return _elided(text, max(width - missing, _ELIDED_TO)) if column.elided else text

    for row in cells:
        table.add_row(*map(shown, row, columns, widths))
    console().print(table)


def _elided(text: str, width: int) -> str:
    """A string, without its middle if it is longer."""
    half = width // 2
    return text if len(text) <= width else f"{text[: width - half - 1]}…{text[-half:]}"
