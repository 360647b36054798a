"""The accepted logs that survive a kill -9 of the server under load."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pipeline_bench import loads
from pipeline_bench.subjects import Persistent
from pipeline_bench.tools import Tools

#: Seconds of load before the kill: at least, at most.
_LEAST, _MOST = 1.5, 4.0


@dataclass(frozen=True)
class Left:
    """The logs after one kill.

    Attributes:
        accepted: Logs that the server had accepted.
        lost: Accepted logs that were not read.
        repeated: Reads of a log beyond the first.
        unanswered: Logs that were read, with requests that were never answered.
    """

    accepted: int
    lost: int
    repeated: int
    unanswered: int


def compare(accepted: Iterable[str], batch: int, kept: Iterable[str]) -> Left:
    """Compares the logs that a client knows as accepted with the logs that were read.

    Args:
        accepted: Ids of accepted requests.
        batch: Logs in each.
        kept: Ids of the logs that were read: id of the request, "-", number in four hexadecimal digits.
    """
    counts = Counter(kept)
    wanted = {f"{request}-{number:04x}" for request in accepted for number in range(batch)}
    return Left(
        accepted=len(wanted),
        lost=sum(1 for each in wanted if each not in counts),
        repeated=sum(counts.values()) - len(counts),
        unanswered=sum(1 for each in counts if each not in wanted),
    )


def kill(subject: Persistent, tools: Tools, directory: Path, batch: int, chance: random.Random) -> Left:
    """Starts a server, kills it under load, and reads its logs. Raises RuntimeError if the load ends first."""
    scratch = Path(tempfile.mkdtemp(prefix="killed-", dir=directory))
    try:
        accepted = scratch / "accepted"
        server = subject.start(scratch)
        try:
            server.ready()
            more = ("-end-on-error", "-accepted", str(accepted.resolve()))
            command = loads.load_command(tools.load(), server, subject.protocol, batch, 60, more)
            with (scratch / "load.log").open("wb") as errors:
                load = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors)
            time.sleep(chance.uniform(_LEAST, _MOST))
            if load.poll() is not None:
                raise RuntimeError(
                    f"the load ended before the kill: {(scratch / 'load.log').read_text('utf-8')[-1000:]}"
                )
        finally:
            server.kill()
        told, _ = load.communicate()
        if json.loads(told)["failed_requests"] == 0:
            raise RuntimeError("no request was in flight at the kill")
        return compare(accepted.read_text("ascii").split(), batch, subject.kept(scratch))
    finally:
        shutil.rmtree(scratch)
