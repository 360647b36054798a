"""Kills a pipeline under clients that repeat their requests with idempotency keys; each event must come out once.

    python keyed_kill_loop.py <kills> [--processes N] [--seed N]

The clients reset a tenth of their connections before the answer. Killed at random are gather with its JVM, the JVM
alone or Python alone, with several processes those of one, and sometimes the Spark job. In between are reloads, bad
files, drains and rolling restarts, and kills amid those. `process` writes Parquet, without the filter `dedupe`. In the
end every number that was sent is in the files once.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "log_pipeline"))

from outputs import rows_of_parquet
from pipeline.halves import AMID, PLANNED, RESTART, Halves, wait
from pipeline.keyed_clients import CLIENTS, KeyedClients, number_of
from pipeline.kill_loop import SPARK
from services import ServiceError, free_ports

#: One of so many kills is that of the Spark job.
_EVERY = 20
WHOLE, JVM, SPARK_JOB = "gather", "JVM", "process"


def settings(
    directory: Path, grpc_port: int, http_port: int, fluent_port: int, *, processes: int, changed: Counter[str]
) -> dict[str, object]:
    """The configuration, by how often each of its parts was changed."""
    limits = {"max_message_size": "64k", "max_connections": 1000 + changed["server"]}
    fluent = {"listen": f"tcp://127.0.0.1:{fluent_port}", "max_connections": 1000 + changed["receiver"]}
    return {
        "name": "keys",
        "gather": {"processes": processes},
        "servers": [
            {"name": "grpc", "type": "grpc", "listen": f"127.0.0.1:{grpc_port}", **limits},
            {"name": "http", "type": "http", "listen": f"127.0.0.1:{http_port}", **limits},
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
                    {"type": "fluent", **fluent},
                ],
                "checkpoints": str(directory / "checkpoints"),
                "senders": [
                    {
                        "type": "spark",
                        "name": "archive",
                        "format": "parquet",
                        "options": {"path": str(directory / "archive")},
                        "batch": {"max_records": 100_000 + changed["sender"]},
                    }
                ],
            }
        ],
    }


class Loop(Halves):
    """Both halves, their clients, and the kills."""

    def __init__(self, directory: Path, chance: random.Random, processes: int) -> None:
        ports = free_ports(3)
        super().__init__(
            directory,
            chance,
            processes,
            lambda changed: settings(directory, *ports, processes=processes, changed=changed),
        )
        self.unanswered = 0
        self.clients = KeyedClients(f"127.0.0.1:{ports[0]}", f"127.0.0.1:{ports[1]}", ports[2], chance)

    def act(self, what: str) -> None:
        """Waits for a moment in which all clients get answers, then kills, changes or restarts something."""
        before = Counter(self.clients.answered)
        wait(
            lambda: all(self.clients.answered[name] > before[name] for name in CLIENTS),
            "a client gets no answer",
            self.process,
        )
        time.sleep(self.chance.uniform(0, 0.2))  # any moment
        if what in PLANNED:
            self.plan(what)
            return
        self.unanswered += self.clients.unanswered
        if what in AMID:
            self.kill_amid(what.rpartition(" ")[2])
            return
        self.done[f"{what} killed"] += 1
        if what == SPARK_JOB:
            self.process.kill()
            self.process.start()
            return
        if what != WHOLE:
            # The rest runs on for some time, and has to notice.
            self.kill_part(what)
            time.sleep(self.chance.uniform(0, 0.5))
        self.kill_gather()
        self.start_gather()


def run(kills: int, directory: Path, *, seed: int = 0, processes: int = 1) -> dict[str, object]:
    """Runs the loop.

    Raises:
        AssertionError: An event is lost, or there twice.
    """
    chance = random.Random(seed)
    loop = Loop(directory, chance, processes)
    python = "main" if processes == 1 else "partition"
    acts = [WHOLE, WHOLE, JVM, python, *(each for each in (*PLANNED, *AMID) if processes > 1 or RESTART not in each)]
    try:
        loop.start_gather()
        loop.process.start()
        loop.clients.start()
        for number in range(1, kills + 1):
            loop.act(SPARK_JOB if number % _EVERY == 0 else chance.choice(acts))
        sent = loop.clients.stop()
        loop.finish("archive")
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
        "done": dict(sorted(loop.done.items())),
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
