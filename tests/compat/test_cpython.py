"""The interpreter's own tests of `queue.Queue`, run with the queue on the disk. LIFO and priority are out of scope."""

import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from mmapqueue import compat

theirs = pytest.importorskip("test.test_queue", reason="this interpreter comes without the package test")


class Queue(compat.Queue[Any]):
    """Constructed as the standard queue, with a size alone."""

    opened: ClassVar[list["Queue"]] = []
    directory: Path

    def __init__(self, maxsize: int = 0) -> None:
        super().__init__(maxsize, path=tempfile.mkdtemp(dir=Queue.directory))
        Queue.opened.append(self)


NAMES = SimpleNamespace(Queue=Queue, Empty=compat.Empty, Full=compat.Full, ShutDown=compat.ShutDown)


@pytest.fixture(autouse=True)
def directory(tmp_path: Path) -> Iterator[None]:
    Queue.directory = tmp_path
    yield
    while Queue.opened:
        Queue.opened.pop().close()


class TestQueue(theirs.QueueTest, unittest.TestCase):  # type: ignore[misc, name-defined]
    queue = NAMES


class TestFailingQueue(theirs.FailingQueueTest, unittest.TestCase):  # type: ignore[misc, name-defined]
    queue = NAMES
