"""Figures, sizes and tables as people read them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from .figure import Figure

#: Between groups of three digits; it does not break over a line.
_SPACE = "\u202f"
#: What a table says where nothing was measured.
NOTHING = "–"


def number(value: float) -> str:
    """Three digits that count, and groups of three: 0.123, 4.57, 12.3, 457, 4 573."""
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}".replace(",", _SPACE)
    decimals = 1 if size >= 10 else 2 if size >= 1 else 3
    return f"{value:.{decimals}f}"


def percent(value: float) -> str:
    """A share of one."""
    return f"{100 * value:.0f}{_SPACE}%"


def times(value: float) -> str:
    """A ratio."""
    return f"{value:.2f}{_SPACE}×" if value < 10 else f"{value:.0f}{_SPACE}×"


def size(count: float) -> str:
    """Bytes in the largest binary unit of which there is at least one."""
    for power, unit in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        value = count / 1024**power
        if value >= 1:
            return f"{trimmed(number(value))} {unit}"
    return f"{count:.0f} B"


def trimmed(told: str) -> str:
    """Without zeros at the end of a fraction, which would promise a precision: 0.150 × as 0.15 ×."""
    return re.sub(r"(\.\d*?)0+(?!\d)", lambda found: found.group(1).rstrip("."), told)


def rate(per_second: float) -> str:
    """Per second, with k for thousands and M for millions."""
    for least, unit in ((1e6, "M"), (1e4, "k")):
        if per_second >= least:
            return f"{number(per_second / (1e6 if unit == 'M' else 1e3))} {unit}"
    return number(per_second)


def spread(figure: Figure) -> str:
    """From the least to the greatest."""
    low, high = figure.spread
    return f"{number(low)}–{number(high)}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A table in Markdown; the first columns, `left` of them, are text, the others figures."""
    rule = ["---"] * left + ["--:"] * (len(head) - left)
    lines = [head, rule, *rows]
    for row in rows:
        if len(row) != len(head):
            raise ValueError(f"a row of {len(row)} columns in a table of {len(head)}: {row}")
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def wrapped(text: str, hanging: int = 0) -> str:
    """A paragraph in lines as long as those written by hand, indented by `hanging` from the second on."""
    indent = " " * hanging
    return textwrap.fill(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def slug(title: str) -> str:
    """The anchor that GitHub gives to a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
