"""Compares configurations: which parts are equal, and what only a restart can change."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from mmapqueue.pipeline.config._model import Pipe, Pipeline

#: Larger files are no certificates or tokens, and compare by their paths.
_LARGEST_FILE = 1 << 20


def value_of(part: Any) -> Any:
    """What a part of a configuration is compared by: its type, its options, and the content of files that they name.

    Example:
        value_of(old.servers[0]) == value_of(new.servers[0])
    """
    if isinstance(part, BaseModel):
        return type(part), tuple((key, value_of(each)) for key, each in part)
    if isinstance(part, tuple | list):
        return tuple(value_of(each) for each in part)
    if isinstance(part, dict):
        return tuple(sorted((str(key), repr(value_of(each))) for key, each in part.items()))
    if isinstance(part, Path):
        return part, _digest(part)
    return part


def files_in(part: Any) -> Iterator[Path]:
    """The files that a part of a configuration names, by whose content it is compared: certificates and the like."""
    if isinstance(part, BaseModel):
        for _, each in part:
            yield from files_in(each)
    elif isinstance(part, tuple | list):
        for each in part:
            yield from files_in(each)
    elif isinstance(part, dict):
        yield from files_in(list(part.values()))
    elif isinstance(part, Path) and not part.is_dir():
        yield part


def files_of(file: str, pipeline: Pipeline) -> list[Path]:
    """The configuration file, and those that its parts name, such as certificates."""
    pipes = [(each.receivers, each.fetchers, each.filters, each.senders) for each in pipeline.pipes]
    return [Path(file), *files_in([pipeline.servers, pipes])]


def _digest(file: Path) -> bytes | None:
    try:
        if file.is_file() and file.stat().st_size <= _LARGEST_FILE:
            return hashlib.sha256(file.read_bytes()).digest()
    except OSError:
        pass
    return None


def only_by_restart(old: Pipeline, new: Pipeline) -> Iterator[str]:
    """What is different and cannot be changed in a running process: a text for each."""
    for key in ("name", "telemetry", "spark"):
        if value_of(getattr(old, key)) != value_of(getattr(new, key)):
            yield _words(key)
    if old.gather.processes != new.gather.processes:
        yield _words("gather.processes", old.gather.processes, new.gather.processes)
    before = {pipe.name: pipe for pipe in old.pipes}
    for number, pipe in enumerate(new.pipes):
        if pipe.name in before:
            yield from _queue(before[pipe.name], pipe, number)


def _queue(old: Pipe, new: Pipe, number: int) -> Iterator[str]:
    at = f"pipes[{number}]"
    for (key, before), (_, after) in zip(old.queue, new.queue, strict=True):
        if before != after:
            yield _words(f"{at}.queue.{key}", before, after)
    if (old.on_full == "overflow") != (new.on_full == "overflow"):
        yield _words(f"{at}.on_full", old.on_full, new.on_full)


def _words(key: str, *values: Any) -> str:
    change = " from {} to {}".format(*values) if values else ""
    return f"{key}: a reload cannot change it{change}; restart the collector"
