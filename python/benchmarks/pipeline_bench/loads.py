"""Load generators: telemetrygen of the OpenTelemetry project, and the one below load/."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from pipeline_bench.processes import Server

#: Bytes in the body of a log.
BODY = 1000
#: Connections, each with one request in flight. The article's load has its own number.
WORKERS = 8
_EXPORTED = re.compile(r"^(\S+)\s.*\bexported batched logs\b.*\"count\": (\d+)", re.MULTILINE)
_STARTED = re.compile(r"^(\S+)\s.*\bstarting the logs generator\b", re.MULTILINE)


@dataclass(frozen=True)
class Sent:
    """The result of a load.

    Attributes:
        requests: Requests that the server accepted.
        logs: Logs in them.
        seconds: Duration of the load.
        refused: Requests rejected because the queue was full.
        failed: Requests that failed.
        latency_ms: Latencies by percentile, if the generator measures them.
    """

    requests: int
    logs: int
    seconds: float
    refused: int = 0
    failed: int = 0
    latency_ms: Mapping[str, float] = field(default_factory=dict)

    @property
    def logs_per_second(self) -> float:
        """Accepted logs by the second."""
        return self.logs / self.seconds


def telemetrygen_command(binary: Path, server: Server, protocol: str, batch: int, seconds: float) -> list[str]:
    """The command for logs at the server's rate, each built by the generator."""
    return [
        str(binary),
        "logs",
        *("--otlp-insecure", "--otlp-endpoint", server.endpoint),
        *(["--otlp-http"] if protocol == "http" else []),
        *("--rate", "0", "--interval", "0", "--workers", str(WORKERS)),
        *("--batch-size", str(batch), "--body", "m" * BODY, "--duration", f"{seconds:g}s"),
    ]


def load_command(
    binary: Path, server: Server, protocol: str, batch: int, seconds: float, more: Sequence[str] = ()
) -> list[str]:
    """The command for logs at the server's rate, encoded once except for their ids."""
    return [
        str(binary.resolve()),
        *("-endpoint", server.endpoint, "-protocol", protocol, "-connections", str(WORKERS)),
        *("-batch", str(batch), "-body", str(BODY), "-duration", f"{seconds:g}s", *more),
    ]


def run(command: Sequence[str], log: Path) -> str:
    """Runs a generator and returns its output. Raises RuntimeError with the end of the output if it fails."""
    with log.open("wb") as errors:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=errors, check=False)
    told = done.stdout.decode("utf-8", "replace")
    if done.returncode:
        tail = (told + log.read_text("utf-8", "replace"))[-2000:]
        raise RuntimeError(f"{Path(command[0]).name} ended with status {done.returncode}:\n{tail}")
    return told


def parse_load(told: str) -> Sent:
    """Reads the line of JSON that the generator below load/ prints."""
    found: dict[str, Any] = json.loads(told)
    return Sent(
        requests=found["accepted_requests"],
        logs=found["accepted_logs"],
        seconds=found["seconds"],
        refused=found["refused_requests"],
        failed=found["failed_requests"],
        latency_ms=found["latency_ms"],
    )


def parse_telemetrygen(log: str) -> Sent:
    """Sums the exported requests in telemetrygen's log. Raises RuntimeError if there are none."""
    started = _STARTED.search(log)
    exported = _EXPORTED.findall(log)
    if not started or not exported:
        raise RuntimeError(f"telemetrygen exported nothing:\n{log[-2000:]}")
    seconds = (_time(exported[-1][0]) - _time(started.group(1))).total_seconds()
    return Sent(requests=len(exported), logs=sum(int(count) for _, count in exported), seconds=seconds)


def _time(text: str) -> datetime:
    # Python 3.10 does not parse "Z".
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
