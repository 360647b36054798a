"""Faults of a configuration, in one line each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mmapqueue._values.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: Keys and indexes from the root of a file.
Location = tuple[str | int, ...]

_SECRET = re.compile(
    r"token|passw|secret|authori[sz]ation|authentication|credential|api.?key|access.?key|headers", re.IGNORECASE
)
_USER_INFO = re.compile(r"(?<=://)[^/@\s]*:[^/@\s]*@")
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")
_MAX_SHOWN = 80


@dataclass(frozen=True)
class Problem:
    """One fault.

    Attributes:
        at: The location; () for the whole file.
        words: The description, without the location.
        line: The line in the file, when it is not that of `at`.
    """

    at: Location
    words: str
    line: int | None = None


class ConfigFileError(ConfigError):
    """A configuration file is invalid, and nothing was started. Subclass of `mmapqueue.ConfigError`.

    Attributes:
        problems: One line for each thing that is wrong: `FILE:LINE: KEY: what`.
    """

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


def lines_of(file: str, problems: Iterable[Problem], lines: Mapping[Location, int]) -> list[str]:
    """Problems as lines, in the order of the file, each once."""
    placed = [(each.line or line_of(each.at, lines), each) for each in problems]
    placed.sort(key=lambda each: each[0])
    return list(dict.fromkeys(_line(file, line, each) for line, each in placed))


def line_of(at: Location, lines: Mapping[Location, int]) -> int:
    """The line of the innermost part of a location that is in the file."""
    while at and at not in lines:
        at = at[:-1]
    return lines.get(at, 1)


def _line(file: str, line: int, problem: Problem) -> str:
    where = dotted(problem.at)
    return f"{file}:{line}: {where}: {problem.words}" if where else f"{file}:{line}: {problem.words}"


def dotted(at: Location) -> str:
    """A location in the usual notation: `pipes[0].queue.dir`."""
    text = ""
    for each in at:
        if isinstance(each, int):
            text += f"[{each}]"
        elif _PLAIN_KEY.fullmatch(each):
            text += f".{each}" if text else each
        else:
            text += f"[{each!r}]"
    return text


def is_secret(at: Iterable[str | int]) -> bool:
    """Whether the value at a location must not be printed."""
    return any(isinstance(each, str) and _SECRET.search(each) for each in at)


def without_user(text: str) -> str:
    """A string without the user and password of URLs in it."""
    return _USER_INFO.sub("***@", text)


def shown(at: Location, value: Any) -> str:
    """A value in printable form: secrets are hidden, long values truncated."""
    if is_secret(at):
        return "the value (hidden)"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    text = without_user(repr(value) if isinstance(value, str) else str(value))
    return text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "…"
