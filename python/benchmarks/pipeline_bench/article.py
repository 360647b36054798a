"""The seeds' article: 1 000 connections send 100 000 logs a second of 1 KB; Spark reads what gather has queued."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline_bench import loads
from pipeline_bench.processes import Memory, Server, Watch
from pipeline_bench.subjects import Gather, Subject
from pipeline_bench.tools import Tools

BATCH = 100


@dataclass(frozen=True)
class Sustained:
    """The part of the requested rate that a server sustained.

    Attributes:
        sent: The accepted load.
        cpu_cores: Processor time by second.
        memory: The most resident memory.
        lost: Accepted requests that Spark has not read; None without Spark.
        read: Records that Spark has read; None without Spark.
    """

    sent: loads.Sent
    cpu_cores: float
    memory: Memory
    lost: int | None = None
    read: int | None = None


@dataclass(frozen=True)
class Setting:
    """The load.

    Attributes:
        tools: The generator.
        directory: For the servers' files, on a real disk.
        connections: Connections at a time.
        rate: Logs by the second over all of them.
        seconds: Duration of the load.
    """

    tools: Tools
    directory: Path
    connections: int
    rate: float
    seconds: float


def sustain(subject: Subject, setting: Setting, *, spark: bool) -> Sustained:
    """Sends at the rate, with or without a Spark job that reads the queue at the same time."""
    scratch = Path(tempfile.mkdtemp(prefix="article-", dir=setting.directory))
    try:
        server = subject.start(scratch)
        try:
            server.ready()
            if not (spark and isinstance(subject, Gather)):
                sent, cpu, memory = _send(subject, server, setting, scratch)
                return Sustained(sent, cpu, memory)
            with _Reader(subject.data(scratch), scratch) as reader:
                sent, cpu, memory = _send(subject, server, setting, scratch)
                found = reader.finish()
            accepted = set((scratch / "accepted").read_text("ascii").split())
            lost = len(accepted - reader.ids())
            return Sustained(sent, cpu, memory, lost=lost, read=found["records"])
        finally:
            server.kill()
    finally:
        shutil.rmtree(scratch)


def _send(subject: Subject, server: Server, setting: Setting, scratch: Path) -> tuple[loads.Sent, float, Memory]:
    more = ("-connections", str(setting.connections), "-rate", f"{setting.rate:g}")
    accepted = ("-accepted", str((scratch / "accepted").resolve()))
    binary = setting.tools.load()
    command = loads.load_command(binary, server, subject.protocol, BATCH, setting.seconds, (*more, *accepted))
    cpu = server.cpu_seconds()
    with Watch(server) as watch:
        sent = loads.parse_load(loads.run(command, scratch / "load.log"))
    return sent, (server.cpu_seconds() - cpu) / sent.seconds, watch.most


class _Reader:
    """The Spark job in a process of its own."""

    def __init__(self, queue: Path, scratch: Path) -> None:
        self._out = scratch / "out"
        self._out.mkdir()
        self._log = scratch / "reader.log"
        with self._log.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("reader.py")), str(queue), str(self._out)],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def __enter__(self) -> _Reader:
        while not (self._out / "started").exists():
            if self._process.poll() is not None:
                raise RuntimeError(f"the Spark job ended:\n{self._log.read_text('utf-8', 'replace')[-2000:]}")
            time.sleep(0.1)
        return self

    def finish(self) -> dict[str, Any]:
        """Waits until all is read, and returns the job's counts."""
        (self._out / "stop").touch()
        told, _ = self._process.communicate()
        if self._process.returncode:
            raise RuntimeError(f"the Spark job failed:\n{self._log.read_text('utf-8', 'replace')[-2000:]}")
        found: dict[str, Any] = json.loads(told.splitlines()[-1])
        return found

    def ids(self) -> set[str]:
        """The ids of the requests that the job has read."""
        return set((self._out / "ids").read_text("ascii").split())

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
