"""The rate that servers accept, in rounds of all measurements, forth and back in turn."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline_bench import loads
from pipeline_bench.processes import Memory, Server, Watch, disk_bytes
from pipeline_bench.subjects import Persistent, Subject
from pipeline_bench.tools import Tools

LOADS = ("telemetrygen", "load")


@dataclass
class Measurement:
    """One server under one load, and its figures by round.

    Attributes:
        subject: The server.
        load: The generator.
        batch: Logs in a request.
        logs_per_second: Accepted logs by the second.
        cpu_us_per_log: Microseconds of processor time that the server took for a log.
        memory: The most resident memory.
        disk_bytes_per_log: Growth of its files by log; empty for servers that keep nothing.
        latency_ms: Latencies by percentile, if the generator measures them.
    """

    subject: Subject
    load: str
    batch: int
    logs_per_second: list[float] = field(default_factory=list)
    cpu_us_per_log: list[float] = field(default_factory=list)
    memory: list[Memory] = field(default_factory=list)
    disk_bytes_per_log: list[float] = field(default_factory=list)
    latency_ms: list[dict[str, float]] = field(default_factory=list)

    @property
    def title(self) -> str:
        """Name for --only and --list."""
        return f"{self.subject.name}: {self.load}, batch {self.batch}"


def measurements(subjects: Sequence[Subject], kinds: Sequence[str], batches: Sequence[int]) -> Iterator[Measurement]:
    """All measurements; compared ones are neighbours."""
    for protocol in ("grpc", "http"):
        for kind in kinds:
            for batch in batches:
                for subject in subjects:
                    if subject.protocol == protocol:
                        yield Measurement(subject, kind, batch)


@dataclass(frozen=True)
class Setting:
    """Settings of all measurements.

    Attributes:
        tools: The generators.
        directory: For the servers' files, on a real disk.
        warm: Seconds of warm-up.
        seconds: Seconds of measured load.
    """

    tools: Tools
    directory: Path
    warm: float
    seconds: float

    def command(self, measurement: Measurement, server: Server, seconds: float) -> list[str]:
        """The generator's command line."""
        if measurement.load == "telemetrygen":
            make, binary = loads.telemetrygen_command, self.tools.telemetrygen()
        else:
            make, binary = loads.load_command, self.tools.load()
        return make(binary, server, measurement.subject.protocol, measurement.batch, seconds)


def measure(measurement: Measurement, setting: Setting) -> None:
    """Starts a new server, warms it up, loads it and removes its files."""
    scratch = Path(tempfile.mkdtemp(prefix="server-", dir=setting.directory))
    log = scratch / "load.log"
    parse = loads.parse_telemetrygen if measurement.load == "telemetrygen" else loads.parse_load
    try:
        server = measurement.subject.start(scratch)
        try:
            server.ready()
            loads.run(setting.command(measurement, server, setting.warm), log)
            data = measurement.subject.data(scratch) if isinstance(measurement.subject, Persistent) else None
            disk = disk_bytes(data) if data else 0
            cpu = server.cpu_seconds()
            with Watch(server) as watch:
                told = loads.run(setting.command(measurement, server, setting.seconds), log)
            cpu = server.cpu_seconds() - cpu
            sent = parse(told + log.read_text("utf-8", "replace") if measurement.load == "telemetrygen" else told)
            if sent.failed or sent.refused:
                raise RuntimeError(f"{measurement.title}: {sent.refused} requests refused, {sent.failed} failed")
            if data:
                measurement.disk_bytes_per_log.append((disk_bytes(data) - disk) / sent.logs)
        finally:
            server.kill()
    finally:
        shutil.rmtree(scratch)
    measurement.logs_per_second.append(sent.logs_per_second)
    measurement.cpu_us_per_log.append(cpu * 1e6 / sent.logs)
    measurement.memory.append(watch.most)
    measurement.latency_ms.append(dict(sent.latency_ms))


def go(
    chosen: Sequence[Measurement], setting: Setting, rounds: int, deadline: float, tell: Callable[[str], None]
) -> int:
    """Measures in rounds.

    Args:
        chosen: The measurements of a round.
        setting: Settings of all measurements.
        rounds: The most rounds.
        deadline: After the first, no round starts that would probably end later: seconds of `time.monotonic`.
        tell: Gets a line for each measurement.

    Returns:
        The number of rounds.
    """
    longest = 0.0
    for number in range(rounds):
        start = time.monotonic()
        if number and start + longest > deadline:
            return number
        for measurement in reversed(chosen) if number % 2 else chosen:
            measure(measurement, setting)
            tell(f"round {number + 1}: {measurement.title}: {measurement.logs_per_second[-1]:,.0f} logs/s")
        longest = max(longest, time.monotonic() - start)
    return rounds
