"""A copy of each message through a mapped file: what Python does with these bytes without a queue."""

from __future__ import annotations

import mmap
import platform
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from queue_bench.workload import Popped, Session, Step, Subject, Workload, times

NAME = "plain copy through mmap"


class _Ring(Session):
    """Messages back to back in a file as large as a queue's ring, from which it begins again at the end."""

    def __init__(self, ring: int, directory: Path, payload: int) -> None:
        super().__init__(payload)
        self.room = ring // 8
        with (directory / "ring").open("wb+") as file:
            file.truncate(ring)
            self._map = mmap.mmap(file.fileno(), ring)
        self._pushed = self._popped = 0

    def warm(self) -> None:
        for at in range(0, len(self._map), mmap.PAGESIZE):
            self._map[at] = 1

    def workloads(self, batches: Sequence[int]) -> Iterable[Workload]:
        for batch in batches:
            popped = Popped(self.record)
            steps = (
                Step("push_many", times(partial(self._push_many, [self.record] * batch)), batch),
                Step("pop_many", popped.keep(partial(self._pop_many, batch)), batch),
            )
            yield Workload(steps, popped.check(batch, lambda messages: messages))

    def _push_many(self, records: list[bytes]) -> None:
        found, at, size = self._map, self._start(self._pushed, len(records)), len(self.record)
        for record in records:
            found[at : at + size] = record
            at += size
        self._pushed = at

    def _pop_many(self, count: int) -> list[bytes]:
        found, start, size = self._map, self._start(self._popped, count), len(self.record)
        self._popped = start + count * size
        return [found[at : at + size] for at in range(start, self._popped, size)]

    def _start(self, at: int, count: int) -> int:
        return at if at + count * len(self.record) <= len(self._map) else 0

    def close(self) -> None:
        self._map.close()


def subjects(ring: int) -> list[Subject]:
    """The copy, through a ring of a size in bytes."""
    return [
        Subject(
            NAME,
            f"slices of a mapped file of {ring >> 20} MiB, a message at a time; no checksums, offsets or acks",
            "the bytes, and no position",
            platform.python_version,
            partial(_Ring, ring),
        )
    ]
