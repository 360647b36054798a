"""The targets of performance: limit, measured figure, met or missed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from .figure import Figure
from .words import NOTHING, number, percent, slug, table, times, trimmed

#: Formats of figures and limits.
_FORMS: dict[str, Callable[[float], str]] = {
    "percent": percent,
    "count": lambda value: f"{value:.0f}",
    "times": times,
    "µs": lambda value: f"{number(value)}\u202fµs",
    "ms": lambda value: f"{number(value)}\u202fms",
    "GB": lambda value: f"{number(value)}\u202fGB",
    "MiB": lambda value: f"{number(value)}\u202fMiB",
    "MB/s": lambda value: f"{number(value)}\u202fMB/s",
    "million/s": lambda value: f"{number(value)}\u202fmillion/s",
}


@dataclass(frozen=True)
class Check:
    """One comparison of a target: it is met when the figure is at least, or else at most, the limit."""

    words: str
    figure: Figure | None
    limit: float
    form: str
    at_least: bool = True

    @property
    def met(self) -> bool | None:
        """Whether it is met by the median; None where nothing was measured."""
        if self.figure is None:
            return None
        return self.figure.median >= self.limit if self.at_least else self.figure.median <= self.limit


@dataclass(frozen=True)
class Target:
    """A promise to users. A section of the same title explains a missed one."""

    title: str
    checks: Sequence[Check]

    @property
    def missed(self) -> bool:
        """Whether any of its comparisons is missed."""
        return any(check.met is False for check in self.checks)


def ratio(upper: Figure | None, lower: Figure | None) -> Figure | None:
    """How many times the one is the other, or None when one was not measured."""
    return upper.over(lower) if upper and lower else None


def shown(targets: Sequence[Target], explained: Collection[str]) -> str:
    """The table of all targets; `explained` are the titles of the sections about missed ones."""
    rows = []
    for target in targets:
        title = f"[{target.title}](#{slug(target.title)})" if target.title in explained else target.title
        for check in target.checks:
            if check.figure is None:
                figure, spread, verdict = NOTHING, "", "not measured"
            else:
                tell = _FORMS[check.form]
                figure = tell(check.figure.median)
                low, high = check.figure.spread
                spread = "" if low == high else f"{tell(low)} – {tell(high)}"
                verdict = "met" if check.met else "**missed**"
            bound = f"{'≥' if check.at_least else '≤'} {trimmed(_FORMS[check.form](check.limit))}"
            rows.append([title, check.words, bound, figure, spread, verdict])
            title = ""
    return table(["", "target", "limit", "measured", "min–max", ""], rows, left=2)


def summary(targets: Sequence[Target]) -> str:
    """How many comparisons there are of each kind."""
    verdicts = [check.met for target in targets for check in target.checks]
    told = [f"{verdicts.count(True)} of {len(verdicts)} are met", f"{verdicts.count(False)} missed"]
    if None in verdicts:
        told.append(f"{verdicts.count(None)} not measured")
    return ", ".join(told) + "."


def loose_ends(targets: Sequence[Target], explained: Collection[str]) -> list[str]:
    """Missing and superfluous sections about missed targets, a line for each."""
    missed = [target.title for target in targets if target.missed]
    known = {target.title for target in targets}
    return [
        *(f'"{title}" is missed, and no section "### {title}" says why' for title in missed if title not in explained),
        *(
            f'"{title}" is not missed in this run, and has a section'
            for title in explained
            if title in known and title not in missed
        ),
        *(f'the section "### {title}" belongs to no target' for title in explained if title not in known),
    ]
