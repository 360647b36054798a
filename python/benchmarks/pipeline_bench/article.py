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
class Held:
    """What a server held of the rate that was asked for.

    Attributes:
        sent: What the generator achieved.
        cpu_cores: Processors that the server kept busy.
        memory: The most that it had resident.
        lost: Accepted requests that Spark has not read; None where nothing reads.
        read: Records that Spark has read; None where nothing reads.
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
        directory: Where servers keep their files, on a real disk.
        connections: Connections at a time.
        rate: Logs by the second over all of them.
        seconds: How long they send.
    """

    tools: Tools
    directory: Path
    connections: int
    rate: float
    seconds: float


def hold(subject: Subject, setting: Setting, *, spark: bool) -> Held:
    """Sends at the rate, with a Spark job that reads the queue at the same time, or without."""
    place = Path(tempfile.mkdtemp(prefix="article-", dir=setting.directory))
    try:
        server = subject.start(place)
        try:
            server.ready()
            if not (spark and isinstance(subject, Gather)):
                sent, cpu, memory = _send(subject, server, setting, place)
                return Held(sent, cpu, memory)
            with _Reader(subject.data(place), place) as reader:
                sent, cpu, memory = _send(subject, server, setting, place)
                found = reader.finish()
            accepted = set((place / "accepted").read_text("ascii").split())
            lost = len(accepted - reader.ids())
            return Held(sent, cpu, memory, lost=lost, read=found["records"])
        finally:
            server.kill()
    finally:
        shutil.rmtree(place)


def _send(subject: Subject, server: Server, setting: Setting, place: Path) -> tuple[loads.Sent, float, Memory]:
    more = ("-connections", str(setting.connections), "-rate", f"{setting.rate:g}")
    accepted = ("-accepted", str((place / "accepted").resolve()))
    binary = setting.tools.load()
    command = loads.load_command(binary, server, subject.protocol, BATCH, setting.seconds, (*more, *accepted))
    cpu = server.cpu_seconds()
    with Watch(server) as watch:
        sent = loads.parse_load(loads.run(command, place / "load.log"))
    return sent, (server.cpu_seconds() - cpu) / sent.seconds, watch.most


class _Reader:
    """The Spark job in a process of its own."""

    def __init__(self, queue: Path, place: Path) -> None:
        self._out = place / "out"
        self._out.mkdir()
        self._log = place / "reader.log"
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
        """Lets it read what is left, and returns what it has read."""
        (self._out / "stop").touch()
        told, _ = self._process.communicate()
        if self._process.returncode:
            raise RuntimeError(f"the Spark job failed:\n{self._log.read_text('utf-8', 'replace')[-2000:]}")
        found: dict[str, Any] = json.loads(told.splitlines()[-1])
        return found

    def ids(self) -> set[str]:
        """The ids of the requests that it has read."""
        return set((self._out / "ids").read_text("ascii").split())

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
