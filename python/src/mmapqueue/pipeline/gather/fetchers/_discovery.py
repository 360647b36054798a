"""Finds the files that the paths of a fetcher match."""

import glob
import os
import stat
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

from mmapqueue.pipeline.gather.fetchers._tail import Key


def matches(paths: Sequence[str], exclude: Sequence[str]) -> dict[Key, Path]:
    """The regular files that the paths match, by identity. Of several names of one file, the first one counts.

    Args:
        paths: Absolute paths with glob characters.
        exclude: Patterns of paths, or of names, to leave out.
    """
    found: dict[Key, Path] = {}
    for pattern in paths:
        for name in sorted(glob.iglob(pattern, recursive=True)):  # noqa: PTH207
            if any(fnmatch(name, each) or fnmatch(os.path.basename(name), each) for each in exclude):  # noqa: PTH119
                continue
            key = _identity(name)
            if key is not None:
                found.setdefault(key, Path(name))
    return found


def renamed(keys: Collection[Key], directories: Collection[Path]) -> dict[Key, Path]:
    """Those of the given files that are in the directories, under any name."""
    inodes = {key.inode for key in keys}
    found: dict[Key, Path] = {}
    for directory in directories if inodes else ():
        try:
            entries = [entry.path for entry in os.scandir(directory) if entry.inode() in inodes]
        except OSError:
            continue
        for name in entries:
            key = _identity(name)
            if key is not None and key in keys:
                found[key] = Path(name)
    return found


def directories(paths: Sequence[str], files: Collection[Path]) -> frozenset[Path]:
    """The existing directories with files of the paths, also behind links, or in which such files may appear."""
    containing = {parent for path in files for parent in _parents(path)}
    return frozenset(each for each in containing | set(map(_base, paths)) if os.path.isdir(each))  # noqa: PTH112 (Path's raises for a directory that may not be entered)


def _parents(file: Path) -> Iterator[Path]:
    yield file.parent
    if os.path.islink(file):  # noqa: PTH114 (as above)
        # A rotation renames the file that the link names, there.
        yield Path(os.path.realpath(file)).parent


def _base(pattern: str) -> Path:
    """The directory before the first glob character."""
    return Path(*_plain(Path(pattern).parts[:-1]))


def _plain(parts: Sequence[str]) -> Iterator[str]:
    for part in parts:
        if glob.has_magic(part):
            return
        yield part


def _identity(name: str) -> Key | None:
    try:
        found = os.stat(name)  # noqa: PTH116
    except OSError:
        return None
    return Key(found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None
