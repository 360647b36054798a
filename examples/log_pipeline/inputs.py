"""Which files the demo takes: found, measured and fingerprinted before anything runs."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

#: Of what is found in directories no more than this is taken, the small files first.
MOST_BYTES = 64 * 1024 * 1024

#: Where logs are, unless told otherwise.
LOGS = "/var/log"

#: Taken where no log can be read.
SAMPLE = Path(__file__).with_name("sample.log")

_PACKED = {".gz", ".xz", ".bz2", ".zst", ".journal"}


class Input(NamedTuple):
    """The part of a file that the demo takes: what was there at the start."""

    size: int
    lines: int
    sha256: str


def find(places: str | None, most_bytes: int = MOST_BYTES) -> tuple[list[Path], list[Path]]:
    """Return the files to take, and those left out because there was too much.

    Args:
        places: files and directories, separated by ":"; None or "" for /var/log. A file named here is taken
            whatever it holds; in directories only text files that can be read and are not empty.
        most_bytes: most that is taken of what is found in directories.
    """
    named = [Path(place).absolute() for place in (places or LOGS).split(":") if place]
    for place in named:
        if not place.exists():
            raise SystemExit(f"demo: there is no {place}")
    taken = [place for place in named if place.is_file()]
    found = {path for place in named if place.is_dir() for path in _text_files(place)} - set(taken)
    left_out: list[Path] = []
    total = 0
    for path in sorted(found, key=lambda path: (path.stat().st_size, path)):
        total += path.stat().st_size
        (taken if total <= most_bytes else left_out).append(path)
    if not taken and not places:
        taken = [SAMPLE]
    return sorted(taken), sorted(left_out)


def _text_files(directory: Path) -> Iterator[Path]:
    for folder, _, names in os.walk(directory):
        for name in names:
            path = Path(folder, name)
            if path.suffix not in _PACKED and name.isprintable() and _is_text(path):
                yield path


def _is_text(path: Path) -> bool:
    """Whether a file can be read, holds something, and has no zero byte at its beginning; not so for links."""
    if path.is_symlink() or not path.is_file() or not os.access(path, os.R_OK):
        return False
    with path.open("rb") as file:
        beginning = file.read(8192)
    return bool(beginning) and b"\0" not in beginning


def measure(path: Path) -> Input:
    """Return size, number of lines and fingerprint of a file as it is now."""
    return _fingerprint(path, path.stat().st_size)


def unchanged(path: Path, before: Input) -> bool:
    """Whether a file still begins with what was measured; it may have grown."""
    return path.is_file() and _fingerprint(path, before.size) == before


def _fingerprint(path: Path, size: int) -> Input:
    digest = hashlib.sha256()
    lines = 0
    left = size
    last = b"\n"
    with path.open("rb") as file:
        while left and (chunk := file.read(min(left, 1024 * 1024))):
            digest.update(chunk)
            lines += chunk.count(b"\n")
            left -= len(chunk)
            last = chunk
    unfinished = not last.endswith(b"\n")
    return Input(size - left, lines + unfinished, digest.hexdigest())


def save(path: Path, inputs: Mapping[str, Input]) -> None:
    """Write the inputs as JSON, by file name; the agent takes it as its limits."""
    path.write_text(json.dumps({source: entry._asdict() for source, entry in inputs.items()}, indent=1))


def load(path: Path) -> dict[str, Input]:
    """Return what `save` wrote."""
    return {source: Input(**entry) for source, entry in json.loads(path.read_text()).items()}
