"""Checks names and prose of all tracked files against the vocabulary in words.yaml.

words.counts holds how often each banned word may still occur. The check fails when a word occurs more
often, and prints `file:line: word -> what to write`. Run it from the root of the repository:

    python lint/check_words.py              # exit status 0 or 1
    python lint/check_words.py --update     # lower the counts to what is found; a missing file is made anew
    python lint/check_words.py --list TEXT  # print where the words occur whose expression contains TEXT; "" lists all
"""

from __future__ import annotations

import argparse
import fnmatch
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
WORDS = ROOT / "lint" / "words.yaml"
COUNTS = ROOT / "lint" / "words.counts"
MOST_PRINTED = 20

#: Stands for what is no prose. Neither a letter nor white space, so no phrase reaches across it.
CODE = "\0"

_STRING = r'"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"'
_PYTHON_STRING = rf"{_STRING}|'''(?:\\.|[^\\])*?'''|'(?:\\.|[^'\\\n])*'"
#: How to find comments and strings, by the end of a file's name.
_SCANNERS = {
    "java": re.compile(rf"(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<string>{_STRING})|'(?:\\.|[^'\\\n])+'", re.DOTALL),
    "python": re.compile(rf"(?P<comment>#[^\n]*)|(?P<string>{_PYTHON_STRING})", re.DOTALL),
    "hash": re.compile(r"(?:(?<=\s)|^)(?P<comment>#[^\n]*)", re.MULTILINE),
    "markdown": re.compile(
        r"^ *(?P<fence>```+|~~~+)[^\n]*\n.*?^ *(?P=fence)|``.+?``|`[^`]+`|(?P<address>\]\([^)\s]*\)|https?://\S+)",
        re.DOTALL | re.MULTILINE,
    ),
}
_KINDS = {
    ".java": "java", ".gradle": "java", ".proto": "java", ".py": "python", ".pyi": "python", ".md": "markdown",
    ".mk": "hash", ".yaml": "hash", ".yml": "hash", ".toml": "hash", ".properties": "hash", ".in": "hash",
    ".args": "hash", "Makefile": "hash", "": "hash",
}  # fmt: skip
#: Code within prose: a code span, a reference of Javadoc or of a docstring, a replacement field of an f-string.
_SPAN = re.compile(r"\{@\w+ [^}]*\}|``.+?``|`[^`\n]+`|@param \S+|\{[^{}\s]*\}|https?://\S+", re.DOTALL)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@dataclass(frozen=True, eq=False)
class Word:
    """One entry of words.yaml."""

    ban: str
    write: str
    names: bool = True
    prose: bool = True
    exceptions: tuple[str, ...] = ()
    known: frozenset[str] = field(default_factory=frozenset)
    only: tuple[str, ...] = ()

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Word:
        """Reads an entry.

        Raises:
            ValueError: if it has a key that does not exist, or `in` has another value than names, prose, both.
        """
        unknown = entry.keys() - {"ban", "write", "in", "except", "known", "only"}
        where = entry.get("in", "both")
        if unknown or where not in ("names", "prose", "both"):
            raise ValueError(f"words.yaml: {dict(entry)}: in is one of names, prose, both; unknown keys: {unknown}")
        return cls(
            entry["ban"],
            entry["write"],
            where != "prose",
            where != "names",
            tuple(entry.get("except", ())),
            frozenset(entry.get("known", ())),
            tuple(entry.get("only", ())),
        )

    def applies_to(self, path: str) -> bool:
        """Tells whether files of this path are checked for the word."""
        return not self.only or any(fnmatch.fnmatch(path, pattern) for pattern in self.only)

    def matches(self, text: str) -> list[re.Match[str]]:
        """Returns where the word occurs in a text, without the exceptions."""
        found = list(_regex(self.ban).finditer(text))
        if found and self.exceptions:
            allowed = [match.span() for exception in self.exceptions for match in _regex(exception).finditer(text)]
            found = [m for m in found if not any(start <= m.start() and m.end() <= end for start, end in allowed)]
        return found


@dataclass(frozen=True)
class Finding:
    """A banned word at a line of a file; line 0 is the file's name."""

    path: str
    line: int
    word: Word
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text} -> {self.word.write}"


@cache
def _regex(pattern: str) -> re.Pattern[str]:
    # A line of a comment begins with *, // or #; adjacent strings of Python end and begin with a quote.
    gap = pattern.replace(" ", r"""[\s*/#"']+""")
    return re.compile(rf"(?<![\w-])(?:{gap})(?![\w-])", re.IGNORECASE)


def split_text(path: str, text: str) -> tuple[str, str]:
    """Splits a file into prose and code.

    Returns:
        Prose and code, with the lines of the text. CODE stands in the prose for what was left out.
    """
    kind = "hash" if Path(path).name == "Makefile" else _KINDS[Path(path).suffix]
    prose: list[str] = []
    code: list[str] = []
    at = 0
    for start, end, side in _parts(kind, text):
        _append(code if kind != "markdown" else prose, prose if kind != "markdown" else code, text[at:start])
        if side is None:
            _append([], prose, text[start:end])
            code.append(re.sub(r"[^\n]+", " ", text[start:end]))
        else:
            _append(*((prose, code) if side == "prose" else (code, prose)), text[start:end])
        at = end
    _append(code if kind != "markdown" else prose, prose if kind != "markdown" else code, text[at:])
    return "".join(prose), "" if kind == "hash" else "".join(code)


def _append(side: list[str], other: list[str], text: str) -> None:
    side.append(text)
    other.append(re.sub(r"\S(?:[^\n]*\S)?", CODE, text))


def _parts(kind: str, text: str) -> Iterator[tuple[int, int, str | None]]:
    # What is not of the kind of text that the file is made of: prose in code, code in Markdown. None is neither.
    for match in _SCANNERS[kind].finditer(text):
        start, end = match.span()
        if kind == "markdown":
            yield start, end, None if match["address"] else "code"
        elif match["comment"] or (kind != "hash" and match["string"] and re.search(r"\S\s+\S", match[0])):
            for span in _SPAN.finditer(text, start, end):
                yield start, span.start(), "prose"
                yield *span.span(), "code"
                start = span.end()
            yield start, end, "prose"
        else:
            yield start, end, None


class Vocabulary:
    """The entries of words.yaml.

    Example:
        `Vocabulary([Word("utilize", "use")]).findings("a.md", "To utilize")` yields one finding, in line 1.
    """

    def __init__(self, words: Sequence[Word]) -> None:
        self.words = words
        self._in_name: dict[str, list[Word]] = {}

    def findings(self, path: str, text: str) -> Iterator[Finding]:
        """Finds the banned words in one file, first in its prose, then in its names."""
        prose, code = split_text(path, text)
        for word in self.words:
            for match in word.matches(prose) if word.prose and word.applies_to(path) else ():
                line = 1 + prose.count("\n", 0, match.start())
                yield Finding(path, line, word, re.sub(r"""[\s*/#"']+""", " ", match[0]))
        for line, text_of_line in enumerate([Path(path).stem, *code.split("\n")]):
            for name in _IDENTIFIER.findall(text_of_line):
                for word in self._banned_in(name):
                    if word.applies_to(path):
                        yield Finding(path, line, word, name)

    def _banned_in(self, name: str) -> list[Word]:
        if name not in self._in_name:
            parts = " ".join(_PART.findall(name)).lower()
            self._in_name[name] = [w for w in self.words if w.names and name not in w.known and w.matches(parts)]
        return self._in_name[name]


def load(file: Path = WORDS) -> tuple[list[str], Vocabulary]:
    """Reads words.yaml: patterns of files to skip, and the words."""
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    return content["skip"], Vocabulary([Word.of(entry) for entry in content["words"]])


def over_count(found: Sequence[Finding], counts: Mapping[str, int]) -> dict[str, list[Finding]]:
    """Returns the words that occur more often than counts allow, with all their places; without a count none may."""
    places: dict[str, list[Finding]] = {}
    for finding in found:
        places.setdefault(finding.word.ban, []).append(finding)
    return {ban: all_of_it for ban, all_of_it in places.items() if len(all_of_it) > counts.get(ban, 0)}


def lowered(found: Sequence[Finding], counts: Mapping[str, int] | None) -> dict[str, int]:
    """Returns new counts: what is found, but no more than was allowed; all that is found if there were no counts."""
    now = Counter(finding.word.ban for finding in found)
    return dict(now) if counts is None else {ban: min(now[ban], n) for ban, n in counts.items() if now[ban]}


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def tracked_files(skip: Sequence[str]) -> list[str]:
    """Lists the files of the repository that the vocabulary has an opinion on; new ones are in, ignored ones not."""
    names = _git("ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    return [
        name
        for name in sorted(set(names) - {""})
        if (Path(name).suffix in _KINDS or Path(name).name == "Makefile")
        and (ROOT / name).is_file()
        and not any(fnmatch.fnmatch(name, pattern) for pattern in skip)
    ]


def changed_lines() -> set[tuple[str, int]]:
    """Lists the lines that differ from the last commit."""
    changed, path = set(), ""
    for line in _git("diff", "-U0", "--no-color", "--no-ext-diff", "HEAD").splitlines():
        if line.startswith("+++ "):
            path = line[6:]
        elif hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(hunk[1]), int(hunk[2] or 1)
            changed |= {(path, number) for number in range(first, first + count)}
    return changed


def _report(excess: Mapping[str, list[Finding]], counts: Mapping[str, int]) -> None:
    changed = changed_lines()
    for ban, places in excess.items():
        new = [finding for finding in places if (finding.path, finding.line) in changed] or places
        for finding in new[:MOST_PRINTED]:
            print(finding)
        if len(new) > MOST_PRINTED:
            print(f"and {len(new) - MOST_PRINTED} more: lint/check_words.py --list '{ban}'")
        print(f"words.counts: '{ban}' may occur {counts.get(ban, 0)} times, and occurs {len(places)} times\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the check; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--update", action="store_true", help="lower the counts to what is found")
    parser.add_argument("--list", metavar="BAN", help="print where the words occur whose expression contains this text")
    options = parser.parse_args(arguments)
    skip, vocabulary = load()
    if options.list is not None:
        vocabulary = Vocabulary([word for word in vocabulary.words if options.list in word.ban])
    found = [
        finding
        for path in tracked_files(skip)
        for finding in vocabulary.findings(path, (ROOT / path).read_text(encoding="utf-8", errors="replace"))
    ]
    if options.list is not None:
        print(*found, sep="\n")
        return 0
    counts = yaml.safe_load(COUNTS.read_text(encoding="utf-8")) or {} if COUNTS.exists() else None
    if options.update:
        counts = lowered(found, counts)
        COUNTS.write_text(yaml.safe_dump(counts, width=1000, allow_unicode=True), encoding="utf-8")
    excess = over_count(found, counts or {})
    _report(excess, counts or {})
    return 1 if excess else 0


if __name__ == "__main__":
    sys.exit(main())
