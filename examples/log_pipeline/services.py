"""Processes of the demo: started, killed and started again."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path


class ServiceError(Exception):
    """A process of the demo ended by itself, or nothing moves any more."""


class Service:
    """A process and all that it starts.

    Attributes:
        name: Its name.
        runs: How often it was started.
    """

    def __init__(
        self, name: str, command: Sequence[str], logs: Path, variables: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self.runs = 0
        self._command = list(command)
        self._logs = logs
        self._environment = {**environment(), **(variables or {})}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """What its latest run has printed."""
        return self._logs / f"{self.name}-{self.runs}.log"

    @property
    def running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Starts it; what it prints goes to a log of this run."""
        self.runs += 1
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment,
                start_new_session=True,
            )

    def said(self, word: str) -> bool:
        """Whether its latest run has printed a line that begins with a word."""
        return any(line.startswith(word) for line in self.log.read_text(errors="replace").splitlines())

    def kill(self) -> float:
        """Kills it and all that it has started with SIGKILL. Returns the moment before, in seconds since 1970."""
        moment = time.time()
        if self._process is not None:
            for pid in [self._process.pid, *descendants(self._process.pid)]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._process.wait()
            self._process = None
        return moment

    def stop(self) -> None:
        """Asks it to end, as a service manager does."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)

    def ended(self) -> bool:
        """Whether it has ended well.

        Raises:
            ServiceError: It has ended with an error.
        """
        status = None if self._process is None else self._process.poll()
        if status:
            tail = self.log.read_text(errors="replace").splitlines()[-30:]
            raise ServiceError("\n".join([f"{self.name} ended with status {status}; the end of {self.log}:", *tail]))
        return status == 0


def descendants(pid: int) -> list[int]:
    """The children of a process, their children, and so on; some are in process groups of their own."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            child, rest = entry.parent.name, entry.read_text(errors="replace")
            parent = int(rest.rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(child))
    found = []
    waiting = [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def environment() -> dict[str, str]:
    """The environment of all processes: Spark on this machine alone, with this Python."""
    return {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, "PYTHONUNBUFFERED": "1"}
