"""What the tests of mmapqueue.compat.Queue share."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conftest import eventually
from mmapqueue import compat

Make = Callable[..., compat.Queue[Any]]
InThread = Callable[[Callable[[], Any]], "Future[Any]"]


@contextmanager
def queues_in(directory: Path) -> Iterator[Make]:
    """Opens queues, all in one directory; they are closed in the end."""
    opened: list[compat.Queue[Any]] = []

    def make_one(maxsize: int = 0, **options: Any) -> compat.Queue[Any]:
        opened.append(compat.Queue(maxsize, path=directory, **options))
        return opened[-1]

    try:
        yield make_one
    finally:
        for jobs in opened:
            jobs.close()


def drained(jobs: compat.Queue[Any]) -> list[Any]:
    items = []
    while not jobs.empty():
        items.append(jobs.get_nowait())
    return items


def reopened(jobs: compat.Queue[Any], make: Make, **options: Any) -> list[Any]:
    """What is redelivered after the next open."""
    jobs.close()
    return drained(make(**options))


def is_waiting(condition: threading.Condition) -> bool:
    return eventually(lambda: bool(condition._waiters))  # type: ignore[attr-defined]
