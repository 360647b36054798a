"""What is left of accepted logs after kill -9 of a server in the middle of its load."""

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
    """What one kill left.

    Attributes:
        accepted: Logs that the server had accepted.
        lost: Those of them that did not come out.
        repeated: Logs that came out more than once: how often beyond the first time.
        unanswered: Logs that came out though their requests were not answered any more.
    """

    accepted: int
    lost: int
    repeated: int
    unanswered: int


def compare(accepted: Iterable[str], batch: int, kept: Iterable[str]) -> Left:
    """Compares what a client was told with what came out.

    Args:
        accepted: Ids of accepted requests.
        batch: Logs in each.
        kept: Ids of the logs that came out: that of their request, "-", and their number in four hexadecimal digits.
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
    """Starts a server, kills it under load, and counts what comes out. Raises RuntimeError when it ends by itself."""
    place = Path(tempfile.mkdtemp(prefix="killed-", dir=directory))
    try:
        accepted = place / "accepted"
        server = subject.start(place)
        try:
            server.ready()
            more = ("-end-on-error", "-accepted", str(accepted.resolve()))
            command = loads.load_command(tools.load(), server, subject.protocol, batch, 60, more)
            with (place / "load.log").open("wb") as errors:
                load = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors)
            time.sleep(chance.uniform(_LEAST, _MOST))
            if load.poll() is not None:
                raise RuntimeError(f"the load ended before the kill: {(place / 'load.log').read_text('utf-8')[-1000:]}")
        finally:
            server.kill()
        told, _ = load.communicate()
        if json.loads(told)["failed_requests"] == 0:
            raise RuntimeError("no request was in flight at the kill")
        return compare(accepted.read_text("ascii").split(), batch, subject.kept(place))
    finally:
        shutil.rmtree(place)
