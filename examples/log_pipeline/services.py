"""The two processes of the demo, the agent and the job: started, killed and started again."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

import mmapqueue

_HERE = Path(__file__).parent

_SPARK_SETTINGS = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "1g",
}


class ServiceError(Exception):
    """A process of the demo ended on its own."""


class Service:
    """A process, and all that it starts."""

    def __init__(self, name: str, command: Sequence[str], logs: Path) -> None:
        self.name = name
        self.runs = 0
        self._command = list(command)
        self._logs = logs
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """What the latest run has printed."""
        return self._logs / f"{self.name}-{self.runs}.log"

    @property
    def running(self) -> bool:
        """Whether it has been started and not ended."""
        return self._process is not None and self._process.poll() is None

    def start(self, *more: str) -> None:
        """Start it, with more arguments for this run; what it prints goes to a log file of this run."""
        self.runs += 1
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [*self._command, *more],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment(),
                start_new_session=True,
            )

    def kill(self) -> None:
        """Kill it and all that it has started with SIGKILL, as the system would when memory runs out."""
        if self._process is not None:
            for pid in [self._process.pid, *descendants(self._process.pid)]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """Ask it to end, as a service manager would."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)

    def ended(self) -> bool:
        """Return whether it has ended well.

        Raises:
            ServiceError: it has ended with an error.
        """
        status = None if self._process is None else self._process.poll()
        if status:
            tail = self.log.read_text(errors="replace").splitlines()[-30:]
            raise ServiceError(
                "\n".join([f"the {self.name} ended with status {status}; the end of {self.log}:", *tail])
            )
        return status == 0


def descendants(pid: int) -> list[int]:
    """Return the children of a process, their children, and so on; some are in process groups of their own."""
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
    """Return the environment for all processes: Spark on this machine alone, with this Python."""
    return {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, "PYTHONUNBUFFERED": "1"}


def quiet_logging() -> str:
    """Return the JVM option that keeps Spark's log to warnings."""
    return f"-Dlog4j2.configurationFile={(_HERE / 'log4j2.properties').as_uri()}"


def report_session() -> SparkSession.Builder:
    """What a report builds its session with: small, and with nothing on the screen."""
    return (
        SparkSession.builder.appName("log pipeline report")
        .master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.extraJavaOptions", quiet_logging())
    )


def agent(out: Path, rate: float, capacity: str) -> Service:
    """Return the agent, which reads the inputs and writes the queue."""
    options: dict[str, Path | str | float] = {
        "--queue": out / "queue",
        "--capacity": capacity,
        "--state": out / "state.json",
        "--limits": out / "inputs.json",
        "--rate": rate,
        "--status": out / "agent.jsonl",
    }
    return Service("agent", [sys.executable, str(_HERE / "agent.py"), *_flat(options)], out / "logs")


def job(out: Path) -> Service:
    """Return the Spark job, which reads the queue and writes Parquet."""
    return _submitted("job.py", out, {})


def stream_job(out: Path, window: int, delay: int) -> Service:
    """Return the Spark job with the streaming queries; window and delay in seconds."""
    return _submitted("stream_job.py", out, {"--window": window, "--delay": delay})


def _submitted(script: str, out: Path, more: Mapping[str, Path | str | float]) -> Service:
    submit = [
        str(Path(pyspark.__file__).parent / "bin" / "spark-submit"),
        *("--jars", str(mmapqueue.jar_path())),
        *("--driver-java-options", quiet_logging()),
    ]
    for key, value in _SPARK_SETTINGS.items():
        submit += ["--conf", f"{key}={value}"]
    options = {
        "--queue": out / "queue",
        "--out": out,
        "--done": out / "done",
        "--status": out / "job.jsonl",
        **more,
    }
    return Service("job", [*submit, str(_HERE / script), *_flat(options)], out / "logs")


def _flat(options: Mapping[str, Path | str | float]) -> list[str]:
    return [str(word) for option in options.items() for word in option]
