"""Metrics of queues that other processes write, read beside those processes."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import mmapqueue
from mmapqueue._cli.output import error_text
from mmapqueue._cli.queues import open_to_read, queues_in
from mmapqueue._tools.pages import TEXT, Page
from mmapqueue._values.arguments import absolute
from mmapqueue._values.errors import MmapQueueError
from mmapqueue._values.prometheus import MEDIA_TYPE, merged, quoted

_META = "meta.dat"
#: The one metric that the jar does not provide: it also exists for a queue that cannot be read.
UP = "# HELP mmapqueue_up 1 if the exporter can read the queue, else 0.\n# TYPE mmapqueue_up gauge\n"


class _Opened(NamedTuple):
    """An open queue, and the identity of a file that distinguishes it from a later queue of the same directory."""

    queue: mmapqueue.Queue[bytes]
    file: tuple[int, int]


class Exporter:
    """Reads the metrics of queues at each scrape. Safe for any number of threads; one scrape at a time.

    A directory that has no queue yet, or a different one than before, is opened again at each scrape. A directory with
    partitions, `p=0` and so on, counts as these.

    Args:
        directories: The directories.

    Raises:
        ConfigError: One of them is not a path.
    """

    def __init__(self, directories: Iterable[str]) -> None:
        self._directories = [absolute("DIR", each) for each in directories]
        self._opened: dict[str, _Opened] = {}
        self._lock = threading.Lock()
        #: The reasons for which directories could not be read at the last scrape.
        self.failures: dict[str, str] = {}

    def answer(self, path: str, accept: str = "") -> Page:  # noqa: ARG002
        """The answer to GET: /metrics, and /health with 503 while a queue cannot be read."""
        if path not in ("/metrics", "/health"):
            return Page(404, TEXT, b"there are /metrics and /health\n")
        text = self.metrics()
        if path == "/metrics":
            return Page(200, MEDIA_TYPE, text.encode())
        failures = "".join(f"{each}\n" for each in self.failures.values())
        return Page(503, TEXT, failures.encode()) if failures else Page(200, TEXT, b"ok\n")

    def metrics(self) -> str:
        """The metrics of all queues, in the text format of Prometheus."""
        with self._lock:
            return self._metrics()

    def _metrics(self) -> str:
        paths = list(dict.fromkeys(path for each in self._directories for path in _queues_in(each)))
        for path in self._opened.keys() - paths:
            self._close(path)
        texts, up = [], []
        self.failures = {}
        for path in paths:
            try:
                texts.append(self._open(path).metrics())
            except (MmapQueueError, OSError) as error:
                self.failures[path] = error_text(error)
                self._close(path)
            up.append(f"mmapqueue_up{{queue={quoted(path)}}} {int(path not in self.failures)}\n")
        return UP + "".join(up) + merged(texts)

    def _open(self, path: str) -> mmapqueue.Queue[bytes]:
        opened = self._opened.get(path)
        if opened is not None and opened.file == _identity(path):
            return opened.queue
        self._close(path)
        file = _identity(path)
        queue = open_to_read(path)
        self._opened[path] = _Opened(queue, file)
        return queue

    def _close(self, path: str) -> None:
        opened = self._opened.pop(path, None)
        if opened is not None:
            with suppress(MmapQueueError):  # The JVM has ended; the next queue that is opened starts another one.
                opened.queue.close()

    def close(self) -> None:
        """Closes the queues."""
        with self._lock:
            for path in list(self._opened):
                self._close(path)


def _queues_in(directory: str) -> list[str]:
    """As `queues_in`; of a directory that cannot be read itself, so that the others are shown and this one fails."""
    try:
        return queues_in(directory)
    except OSError:
        return [directory]


def _identity(path: str) -> tuple[int, int]:
    try:
        status = (Path(path) / _META).stat()
    except FileNotFoundError:
        return (0, 0)  # Opening the queue raises the error.
    return status.st_dev, status.st_ino
