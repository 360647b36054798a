"""Kills a pipeline under clients that repeat their requests with idempotency keys; each event must come out once.

    python keyed_kill_loop.py <kills> [--processes N] [--seed N]

The clients reset a tenth of their connections before the answer. Killed at random are gather with its JVM, the JVM
alone or Python alone, with several processes those of one, and sometimes the Spark job. `process` writes Parquet,
without the filter `dedupe`. In the end every number that was sent is in the files once.
"""

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import yaml

import mmapqueue

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "log_pipeline"))

from outputs import rows_of_parquet
from pipeline.keyed_clients import CLIENTS, KeyedClients, number_of
from pipeline.kill_loop import SPARK, wait
from services import Service, ServiceError, descendants, free_ports
from view import committed

#: One of so many kills is that of the Spark job.
_EVERY = 20
WHOLE, JVM, PYTHON, SPARK_JOB = "gather", "its JVM", "its Python", "process"


def settings(directory: Path, grpc_port: int, http_port: int, fluent_port: int, processes: int) -> dict[str, object]:
    """The configuration."""
    return {
        "name": "keys",
        "gather": {"processes": processes},
        "servers": [
            {"name": "grpc", "type": "grpc", "listen": f"127.0.0.1:{grpc_port}", "max_message_size": "64k"},
            {"name": "http", "type": "http", "listen": f"127.0.0.1:{http_port}", "max_message_size": "64k"},
        ],
        "spark": {"master": "local[2]", "conf": SPARK},
        "pipes": [
            {
                "name": "logs",
                "queue": {"dir": str(directory / "queue"), "capacity": "256m", "max_event_size": "256k"},
                "receivers": [
                    {"type": "otlp", "server": "grpc"},
                    {"type": "otlp", "server": "http"},
                    {"type": "http", "server": "http", "path": "/ids", "key_fields": ["id"]},
                    {"type": "remote_write", "server": "http"},
                    {"type": "fluent", "listen": f"tcp://127.0.0.1:{fluent_port}"},
                ],
                "checkpoints": str(directory / "checkpoints"),
                "senders": [
                    {
                        "type": "spark",
                        "name": "archive",
                        "format": "parquet",
                        "options": {"path": str(directory / "archive")},
                    }
                ],
            }
        ],
    }


class Loop:
    """Both halves, their clients, and the kills."""

    def __init__(self, directory: Path, chance: random.Random, processes: int) -> None:
        grpc_port, http_port, fluent_port = free_ports(3)
        config = directory / "pipeline.yaml"
        config.write_text(yaml.safe_dump(settings(directory, grpc_port, http_port, fluent_port, processes)))
        (directory / "logs").mkdir()
        self.directory = directory
        self.chance = chance
        self.processes = processes
        self.killed: Counter[str] = Counter()
        self.unanswered = 0
        self.gather = self._service("gather", config)
        self.process = self._service("process", config)
        self.clients = KeyedClients(f"127.0.0.1:{grpc_port}", f"127.0.0.1:{http_port}", fluent_port, chance)

    def _service(self, name: str, config: Path) -> Service:
        return Service(name, [sys.executable, "-m", "mmapqueue", name, str(config)], self.directory / "logs")

    def start_gather(self) -> None:
        """Starts gather, and waits until it is ready."""
        self.gather.start()
        wait(lambda: self.gather.said("ready:") or self.gather.ended(), "gather does not start")

    def kill(self, which: str) -> None:
        """Waits for a moment in which all clients get answers, then kills."""
        before = Counter(self.clients.answered)
        wait(
            lambda: all(self.clients.answered[name] > before[name] for name in CLIENTS),
            "a client gets no answer",
            self.process,
        )
        time.sleep(self.chance.uniform(0, 0.2))  # any moment
        self.killed[which] += 1
        self.unanswered += self.clients.unanswered
        if which == SPARK_JOB:
            self.process.kill()
            self.process.start()
            return
        if which != WHOLE:
            # The rest runs on for some time, and has to notice.
            self._kill_part(which)
            time.sleep(self.chance.uniform(0, 0.5))
        self.gather.kill()
        self.start_gather()

    def _kill_part(self, which: str) -> None:
        owners = [pid for pid in descendants(self.gather.pid) if _is_jvm(pid)]
        if not owners:
            return
        pid = self.chance.choice(owners)
        with suppress(ProcessLookupError):
            os.kill(pid if which == JVM else _parent(pid), signal.SIGKILL)

    def finish(self) -> int:
        """Ends the clients, then gather, then process when it has written all. Returns how many events were sent."""
        sent = self.clients.stop()
        self.gather.stop()
        wait(self.gather.ended, "gather does not end")
        stored = 0
        queue = self.directory / "queue"
        for part in sorted(queue.glob("p=*")) or [queue]:
            with mmapqueue.Queue(part, read_only=True) as opened:
                stored += opened.stats().end_offset
        wait(
            lambda: committed(self.directory / "checkpoints" / "archive") >= stored,
            "the archive is not complete",
            self.process,
        )
        self.process.stop()
        wait(self.process.ended, "process does not end")
        return sent

    def close(self) -> None:
        """Kills what runs."""
        for each in (self.gather, self.process):
            each.kill()


def _is_jvm(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip() == "java"
    return False


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def run(kills: int, directory: Path, *, seed: int = 0, processes: int = 1) -> dict[str, object]:
    """Runs the loop.

    Raises:
        AssertionError: An event is lost, or there twice.
    """
    chance = random.Random(seed)
    loop = Loop(directory, chance, processes)
    try:
        loop.start_gather()
        loop.process.start()
        loop.clients.start()
        for number in range(1, kills + 1):
            loop.kill(SPARK_JOB if number % _EVERY == 0 else chance.choice([WHOLE, WHOLE, JVM, PYTHON]))
        sent = loop.finish()
    finally:
        loop.close()
    found = Counter(number_of(row.content_type, row.data) for row in rows_of_parquet(directory / "archive"))
    lost = sent - len(found)
    twice = {number: times for number, times in found.items() if times > 1}
    assert set(found) <= set(range(sent))
    assert not lost, f"{lost} of {sent} events are lost"
    assert not twice, f"{len(twice)} of {sent} events are there more than once: {[*twice.items()][:20]}"
    return {
        "seed": seed,
        "processes": processes,
        "kills": dict(loop.killed),
        "events, each there once": sent,
        "by client": dict(loop.clients.answered),
        "attempts": dict(loop.clients.attempts),
        "requests without answer at the kills": loop.unanswered,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("kills", type=int)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="keyed-kill-") as directory:
        print(f"{arguments.kills} kills, seed {arguments.seed}, {directory}", flush=True)
        try:
            figures = run(arguments.kills, Path(directory), seed=arguments.seed, processes=arguments.processes)
        except ServiceError as error:
            raise SystemExit(str(error)) from error
        print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
