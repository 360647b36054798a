"""Puts generated text between the markers of a document, and leaves everything else as it was written by hand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

_BEGIN = re.compile(r"^<!-- generated: (?P<name>[\w-]+) -->$", re.MULTILINE)


def fill(path: Path, blocks: Mapping[str, str]) -> None:
    """Replaces what lies between the markers of each block.

    Raises SystemExit where a marker has no end, or names no block, or a block has no marker, or two.
    """
    text = path.read_text(encoding="utf-8")
    names = [found.group("name") for found in _BEGIN.finditer(text)]
    for name in names:
        if name not in blocks:
            raise SystemExit(f"{path}: nothing is generated under the name {name}; expected {', '.join(blocks)}")
    for name, content in blocks.items():
        if names.count(name) != 1:
            raise SystemExit(f"{path}: {names.count(name)} markers <!-- generated: {name} -->, expected one")
        text = _replaced(path, text, name, content.strip())
    path.write_text(text, encoding="utf-8")


def _replaced(path: Path, text: str, name: str, content: str) -> str:
    begin, end = f"<!-- generated: {name} -->\n", f"<!-- end: {name} -->"
    start = text.index(begin) + len(begin)
    stop = text.find(end, start)
    if stop < 0 or _BEGIN.search(text, start, stop):
        raise SystemExit(f"{path}: the marker <!-- generated: {name} --> has no {end} before the next one")
    return f"{text[:start]}\n{content}\n\n{text[stop:]}"


def headings(path: Path, below: str) -> list[str]:
    """Returns the titles of the sections of level three in the section `below`, in order."""
    found = re.search(
        rf"^## {re.escape(below)}$(?P<body>.*?)(?=^## |\Z)", path.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    return re.findall(r"^### (.+?)\s*$", found.group("body"), re.MULTILINE) if found else []
