"""Processes of the demo: the two halves of the pipeline and the clients, started, killed and started again."""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

_HERE = Path(__file__).parent
_CONFIGURATION = Path(__file__).parents[2] / "examples" / "log_pipeline" / "pipeline.yaml"


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
    def pid(self) -> int:
        """Its process, which must run."""
        assert self._process is not None
        return self._process.pid

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
        """Kills it and all that it has started with SIGKILL. Returns when it had ended, in seconds since 1970.

        A request that comes at the last moment may be stored, and its answer lost: it was sent before that time.
        """
        if self._process is not None:
            self.signal_all(signal.SIGKILL)
            self._process.wait()
            self._process = None
        return time.time()

    def signal_all(self, number: signal.Signals) -> None:
        """Sends a signal to it and all that it has started."""
        if self._process is not None:
            for pid in [self._process.pid, *descendants(self._process.pid)]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)

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


def of_pipeline(
    out: Path, options: argparse.Namespace, port: int, metrics: int, files: Sequence[Path]
) -> list[Service]:
    """Gather, process and the two clients. The configuration is pipeline.yaml, with the files to follow."""
    settings = yaml.safe_load(_CONFIGURATION.read_text())
    pipe = settings["pipes"][0]
    # The growing file is matched under both of its names.
    pipe["fetchers"][0]["paths"] = [*(glob_of(path) for path in files), str(out / "input" / "app.log*")]
    for sender in pipe["senders"]:
        sender["batch"]["max_records"] = max(1000, options.lines // 4)
    # Spark lives for a minute: code that is compiled soon counts more than code that is compiled well.
    settings["spark"]["conf"]["spark.driver.extraJavaOptions"] = "-XX:TieredStopAtLevel=1"
    config = out / "pipeline.yaml"
    config.write_text(yaml.safe_dump(settings, sort_keys=False, allow_unicode=True))
    variables = {"DATA": str(out), "PORT": str(port), "METRICS_PORT": str(metrics)}
    logs = out / "logs"

    def command(name: str) -> Service:
        return Service(name, [sys.executable, "-m", "mmapqueue", name, str(config)], logs, variables)

    def client(name: str, *arguments: str) -> Service:
        words = [sys.executable, str(_HERE / f"{name}_client.py"), "--journal", str(out / f"{name}.jsonl"), *arguments]
        return Service(name, words, logs)

    per_second = 1 / options.seconds
    return [
        command("gather"),
        command("process"),
        client(
            "otel",
            *("--endpoint", f"http://127.0.0.1:{port}"),
            *("--logs", str(options.records), "--log-rate", str(options.records * per_second)),
            *("--spans", str(options.records // 10), "--span-rate", str(options.records // 10 * per_second)),
        ),
        client(
            "skywalking",
            *("--endpoint", f"127.0.0.1:{port}", "--requests", str(options.records // 50)),
            *("--rate", str(options.records // 50 * per_second)),
        ),
    ]


def glob_of(path: Path) -> str:
    """A pattern that matches this path alone."""
    return "".join(f"[{each}]" if each in "*?[" else each for each in str(path))


def free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that nothing listens on.

    They are below those that the kernel chooses: another process could get one of these before a service listens on it.
    """
    ports: list[int] = []
    while len(ports) < count:
        port = random.randrange(10_000, 32_768)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            if port not in ports:
                ports.append(port)
    return ports
