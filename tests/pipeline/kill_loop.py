"""Kills, reloads, drains and restarts a pipeline at random moments under load, again and again; compares in the end.

    python kill_loop.py <number> [--processes N] [--seed N] [--directory DIR]

Two OpenTelemetry clients, a SkyWalking agent and a syslog client feed `mmapqueue gather`; `mmapqueue process` writes
Parquet (exactly once) and sends HTTP requests (at least once) to a server that fails now and then. Gather, process
or both are killed with SIGKILL, with all that they have started; in between both reload, by a signal or a command, a
file that changes a part, nothing, or that is bad; they are stopped and started; and the processes of gather are
restarted one after the other. Some kills come amid such a change, also to one process alone: the main one, that of a
partition, its JVM, or a successor that is being prepared. In the end everything that was accepted must be in the
Parquet files once, and in the requests once when those with equal keys count once; equal keys have equal contents.
The client sends a request again that a kill left unanswered: each such kill may add one copy of it.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "log_pipeline"))

import journal
from compare import check_records
from outputs import rows_of_parquet
from pipeline.halves import AMID, PLANNED, RESTART, Halves, wait
from pipeline.kill_peers import Recorder, SyslogClient, numbers
from services import Service, free_ports

DEMO = Path(journal.__file__).parent

SENDERS = ("archive", "backend")
#: What is done: kills of a half or both, what is planned, and kills amid that.
ACTS = ("gather", "process", "both", *PLANNED, *AMID)


class Pipeline(Halves):
    """Both halves and their clients."""

    def __init__(self, directory: Path, chance: random.Random, url: str, processes: int) -> None:
        port, syslog = free_ports(2)
        super().__init__(
            directory,
            chance,
            processes,
            lambda changed: settings(directory, port, syslog, url, processes=processes, changed=changed),
        )
        self.open_requests = 0
        self.syslog = SyslogClient(syslog, 50.0, random.Random(chance.random()))
        self.clients = [
            self._client("otel_client", 0, "--endpoint", f"http://127.0.0.1:{port}", *OTEL_LOAD),
            self._client(
                "otel_client", 1, "--endpoint", f"http://127.0.0.1:{port}", "--first", "1000000000", *OTEL_LOAD
            ),
            self._client("skywalking_client", 2, "--endpoint", f"127.0.0.1:{port}", "--rate", "20"),
        ]
        self._otel = [journal.Follower(self._journal(number)) for number in range(2)]

    def _client(self, script: str, number: int, *arguments: str) -> Service:
        words = [sys.executable, str(DEMO / f"{script}.py"), "--journal", str(self._journal(number)), *arguments]
        return Service(f"{script}-{number}", words, self.directory / "logs")

    def _journal(self, number: int) -> Path:
        return self.directory / f"client-{number}.jsonl"

    def act(self, what: str) -> None:
        """Waits for a moment, and does one of `ACTS`."""
        self._await_moment(what)
        if what in PLANNED:
            self.plan(what)
        elif what in AMID:
            self.open_requests += self.requests_open()
            self.kill_amid(what.rpartition(" ")[2])
        else:
            self._kill(what)

    def _kill(self, which: str) -> None:
        """Kills one half or both, and starts them again."""
        if which == "both" and self.chance.random() < 0.5:
            self.process.kill()
        if which != "process":
            self.kill_gather()
            self.open_requests += self.requests_open()
        if which != "gather":
            self.process.kill()
        self.done[f"{which} killed"] += 1
        time.sleep(self.chance.uniform(0, 1))  # the load: the other half runs alone for some time
        if which != "gather":
            self.process.start()
        if which != "process":
            self.start_gather()

    def _await_moment(self, what: str) -> None:
        """Waits for a moment at random: after some micro-batches, or whatever Spark is at."""
        if what in ("process", "both") and self.chance.random() < 0.7:
            # Else the kill often comes while Spark starts.
            more = self.begun() + self.chance.randint(1, 6)
            wait(lambda: self.begun() >= more, "no micro-batch begins", self.process, self.gather)
        time.sleep(self.chance.uniform(0, 2))  # the load: any moment
        if what != "process" and self.chance.random() < 0.8:
            # Else gather mostly has nothing that is not answered.
            deadline = time.monotonic() + 10
            while not self.requests_open() and time.monotonic() < deadline:
                time.sleep(0.001)
        for service in (self.gather, self.process, *self.clients):
            service.ended()  # raises when one has ended with an error

    def requests_open(self) -> int:
        """Requests of the OpenTelemetry clients that have no answer."""
        for follower in self._otel:
            follower.poll()
        return sum(len(follower.open) for follower in self._otel)

    def begun(self) -> int:
        """Micro-batches that were begun."""
        checkpoints = self.directory / "checkpoints"
        return sum(1 for name in SENDERS for _ in (checkpoints / name / "offsets").glob("[0-9]*"))

    def end(self) -> int:
        """Ends the clients, then both halves. Returns the records of the queue."""
        for client in self.clients:
            client.stop()
        wait(lambda: all(client.ended() for client in self.clients), "the clients do not end", self.gather)
        self.syslog.stop()
        return self.finish(*SENDERS)

    def close(self) -> None:
        for client in self.clients:
            client.kill()
        super().close()

    def sent(self) -> dict[str, list[journal.Request]]:
        """What was sent, by kind."""
        found: dict[str, list[journal.Request]] = defaultdict(list)
        for number in range(len(self.clients)):
            for request in journal.read(self._journal(number)):
                found[request.kind].append(request)
        found["syslog"] = self.syslog.requests
        return found


#: Properties of Spark. Each driver lives for some seconds, so that compiling with C1 alone is quicker.
SPARK = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
OTEL_LOAD = ("--log-rate", "300", "--span-rate", "30", "--batch", "100")


def settings(
    directory: Path, port: int, syslog: int, url: str, *, processes: int, changed: Counter[str]
) -> dict[str, object]:
    """The configuration, by how often each of its parts was changed."""
    backoff = {"first": "50ms", "most": f"{500 + changed['sender']}ms"}
    batch = {"interval": "300ms", "max_records": 2000}
    pipe = {
        "name": "logs",
        "queue": {"dir": str(directory / "queue"), "capacity": "1g"},
        "receivers": [
            {"type": "otlp", "server": "grpc"},
            {"type": "skywalking", "server": "grpc"},
            {
                "type": "syslog",
                "listen": f"tcp://127.0.0.1:{syslog}",
                "max_connections": 1000 + changed["receiver"],
            },
        ],
        "checkpoints": str(directory / "checkpoints"),
        "senders": [
            {
                "type": "spark",
                "name": "archive",
                "format": "parquet",
                "options": {"path": str(directory / "archive")},
                "batch": batch,
            },
            {
                "type": "http",
                "name": "backend",
                "url": url,
                "body": "cloudevents",
                "request": {"max_records": 100},
                "batch": batch,
                "retry": {"backoff": backoff, "then": "block"},
            },
        ],
    }
    return {
        "name": "kills",
        "gather": {"processes": processes},
        "servers": [
            {
                "name": "grpc",
                "type": "grpc",
                "listen": f"127.0.0.1:{port}",
                "max_connections": 1000 + changed["server"],
            }
        ],
        "spark": {"master": "local[2]", "conf": SPARK},
        "pipes": [pipe],
    }


def verdict(pipeline: Pipeline, recorder: Recorder) -> dict[str, object]:
    """Compares what came out with what was accepted.

    Raises:
        AssertionError: It is not what it has to be.
    """
    archived: dict[str, Counter[int]] = defaultdict(Counter)
    for row in rows_of_parquet(pipeline.directory / "archive"):
        kind, found = numbers(row)
        archived[kind].update(found)
    sent = pipeline.sent()
    results = {
        name: [check_records(kind, sent[kind], found[kind], pipeline.gather_kills) for kind in sorted(sent)]
        for name, found in (("archive", archived), ("backend", recorder.delivered))
    }
    faults = [f"{name}: {asdict(each)}" for name, kinds in results.items() for each in kinds if not each.exact]
    faults += [f"{key} has {len(each)} contents" for key, each in recorder.digests.items() if len(each) > 1]
    faults += [f"{recorder.without_key} requests have no key"] * bool(recorder.without_key)
    assert archived == recorder.delivered or faults, "the senders differ"
    assert not faults, "\n".join(faults[:20])
    return {
        "accepted": {each.kind: each.accepted for each in results["archive"]},
        "sent again by clients after a kill": {each.kind: each.repeated for each in results["archive"]},
        "requests without answer at the kills": pipeline.open_requests,
        "never answered and there": {each.kind: each.unanswered for each in results["archive"]},
        "HTTP requests": recorder.requests,
        "HTTP requests repeated with an equal key": recorder.repeated,
    }


def run(
    number: int, directory: Path, seed: int = 0, processes: int = 1, acts: Sequence[str] | None = None
) -> dict[str, object]:
    """Runs the loop.

    Args:
        number: How much is done.
        directory: Where everything lies.
        seed: Of what is drawn.
        processes: `gather.processes`.
        acts: What is done, in this order; by default it is drawn.

    Raises:
        AssertionError: A record is lost, has too many duplicates, or a key has two contents.
    """
    chance = random.Random(seed)
    recorder = Recorder(random.Random(chance.random()))
    with recorder.serving() as url:
        pipeline = Pipeline(directory, chance, url, processes)
        try:
            pipeline.start_gather()
            pipeline.process.start()
            pipeline.syslog.start()
            for client in pipeline.clients:
                client.start()
            possible = [each for each in ACTS if processes > 1 or not each.endswith(RESTART)]
            for what in acts or chance.choices(possible, k=number):
                pipeline.act(what)
            stored = pipeline.end()
        finally:
            pipeline.close()
    done = dict(sorted(pipeline.done.items()))
    return {"seed": seed, "processes": processes, "done": done, "records stored": stored, **verdict(pipeline, recorder)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("number", type=int)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--directory", type=Path, help="where everything lies; a new one in the temporary directory")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pipeline-kill-") as temporary:
        directory = wanted.directory or Path(temporary)
        print(f"{wanted.number} kills and changes, seed {wanted.seed}, {directory}", flush=True)
        print(json.dumps(run(wanted.number, directory, wanted.seed, wanted.processes), indent=1))


if __name__ == "__main__":
    main()
