"""Checks the relative links of all Markdown files: the file exists, and so does the heading that an anchor names.

Links to the web are not followed. Run it from anywhere:

    python lint/check_links.py     # exit status 0 or 1; prints `file:line: target: what is wrong`
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[1]

_PARSER = MarkdownIt("commonmark").enable("table")
_HTML_LINK = re.compile(r"""<[^>]*?\s(?:href|src|srcset)\s*=\s*["']([^"']+)["']""")
_HTML_ID = re.compile(r"""<[^>]*?\s(?:id|name)\s*=\s*["']([^"']+)["']""")
_REFERENCE = re.compile(r"\[[^\[\]]+\]\[([^\[\]]*)\]")
_LINES = re.compile(r"L(\d+)(?:-L(\d+))?")


def slug(heading: str) -> str:
    """Makes the anchor of a heading, as GitHub does: lower case, no punctuation, a hyphen for each space."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(text: str) -> set[str]:
    """Returns the anchors of a Markdown file: its headings, numbered where they repeat, and the ids in its HTML."""
    found: set[str] = set()
    tokens = _PARSER.parse(text)
    for number, token in enumerate(tokens):
        if token.type == "heading_open":
            name = slug("".join(child.content for child in tokens[number + 1].children or ()))
            repeated = 0
            while (anchor := f"{name}-{repeated}" if repeated else name) in found:
                repeated += 1
            found.add(anchor)
        for part in (token, *(token.children or ())):
            if part.type in ("html_block", "html_inline"):
                found.update(_HTML_ID.findall(part.content))
    return found


def links(text: str) -> Iterator[tuple[int, str]]:
    """Yields line and target of each link and image; a reference without a definition is yielded as `[name]`."""
    for block in _PARSER.parse(text):
        line = 1 + (block.map[0] if block.map else 0)
        for token in (block, *(block.children or ())):
            for target in _targets(token):
                yield line, target
            if token.type in ("softbreak", "hardbreak"):
                line += 1


def _targets(token: Token) -> list[str]:
    if token.type == "link_open":
        return [str(token.attrs["href"])]
    if token.type == "image":
        return [str(token.attrs["src"])]
    if token.type in ("html_block", "html_inline"):
        return _HTML_LINK.findall(token.content)
    if token.type == "text":
        return [f"[{name}]" for name in _REFERENCE.findall(token.content)]
    return []


@cache
def _anchors_of(file: Path) -> set[str]:
    return anchors(file.read_text(encoding="utf-8"))


def problem(file: Path, target: str, root: Path) -> str | None:
    """Returns what is wrong with a link, or None.

    Args:
        file: the Markdown file that has the link
        target: where it leads
        root: directory of the repository; links must stay within
    """
    if target.startswith("["):
        return "the reference has no definition"
    if re.match(r"[a-z][a-z0-9+.-]*:|//", target):
        return None
    path, _, anchor = unquote(target).partition("#")
    found = (file.parent / path).resolve() if path else file
    if not found.is_relative_to(root):
        return "the link leaves the repository"
    if not found.exists():
        return "the file does not exist"
    if anchor and found.suffix == ".md":
        return None if anchor in _anchors_of(found) else "the file has no such heading"
    if anchor:
        lines = _LINES.fullmatch(anchor)
        count = found.read_text(encoding="utf-8").count("\n") if found.is_file() else 0
        if not lines or int(lines[2] or lines[1]) > count:
            return f"the anchor is not a line of the file: L1 to L{count}"
    return None


def problems(files: list[Path], root: Path) -> Iterator[str]:
    """Yields one line of text for each broken link in files."""
    for file in files:
        for line, target in links(file.read_text(encoding="utf-8")):
            wrong = problem(file, target, root)
            if wrong:
                yield f"{file.relative_to(root)}:{line}: {target}: {wrong}"


def main() -> int:
    """Runs the check over the files of the repository; returns the exit status."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    files = [ROOT / name for name in sorted(set(listed.split("\0")) - {""}) if (ROOT / name).is_file()]
    found = list(problems(files, ROOT))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
