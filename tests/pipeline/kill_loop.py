"""Kills a pipeline at random moments under load from real clients, again and again, and compares in the end.

    python kill_loop.py <kills> [--seed N] [--directory DIR]

Two OpenTelemetry clients, a SkyWalking agent and a syslog client feed `mmapqueue gather`; `mmapqueue process` writes
Parquet (exactly once) and sends HTTP requests (at least once) to a server that fails now and then. Gather, process
or both are killed with SIGKILL, with all that they have started. In the end everything that was accepted must be in the
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
from dataclasses import asdict
from pathlib import Path

import yaml

import mmapqueue

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "log_pipeline"))

import journal
from compare import check_records
from outputs import rows_of_parquet
from pipeline.kill_peers import Recorder, SyslogClient, numbers
from services import Service, free_ports
from view import committed

DEMO = Path(journal.__file__).parent

#: For a process to start or end, and for the last rows to be written.
SECONDS = 300.0
SENDERS = ("archive", "backend")
PROCESSES = ("gather", "process", "both")


class Pipeline:
    """Both halves, their clients, and the moments of their kills."""

    def __init__(self, directory: Path, chance: random.Random, url: str) -> None:
        self.directory = directory
        self.chance = chance
        self.gather_kills: list[float] = []
        self.open_requests = 0
        port, syslog = free_ports(2)
        config = directory / "pipeline.yaml"
        config.write_text(yaml.safe_dump(settings(directory, port, syslog, url)))
        (directory / "logs").mkdir()
        self.gather = self._command("gather", config)
        self.process = self._command("process", config)
        self.syslog = SyslogClient(syslog, 50.0, random.Random(chance.random()))
        self.clients = [
            self._client("otel_client", 0, "--endpoint", f"http://127.0.0.1:{port}", *OTEL_LOAD),
            self._client(
                "otel_client", 1, "--endpoint", f"http://127.0.0.1:{port}", "--first", "1000000000", *OTEL_LOAD
            ),
            self._client("skywalking_client", 2, "--endpoint", f"127.0.0.1:{port}", "--rate", "20"),
        ]
        self._otel = [journal.Follower(self._journal(number)) for number in range(2)]

    def _command(self, name: str, config: Path) -> Service:
        return Service(name, [sys.executable, "-m", "mmapqueue", name, str(config)], self.directory / "logs")

    def _client(self, script: str, number: int, *arguments: str) -> Service:
        words = [sys.executable, str(DEMO / f"{script}.py"), "--journal", str(self._journal(number)), *arguments]
        return Service(f"{script}-{number}", words, self.directory / "logs")

    def _journal(self, number: int) -> Path:
        return self.directory / f"client-{number}.jsonl"

    def start_gather(self) -> None:
        self.gather.start()
        wait(lambda: self.gather.said("ready:") or self.gather.ended(), "gather does not start")

    def kill(self, which: str) -> None:
        """Kills one half or both, and starts them again."""
        if which == "both" and self.chance.random() < 0.5:
            self.process.kill()
        if which != "process":
            self.gather_kills.append(self.gather.kill())
            self.open_requests += self.requests_open()
        if which != "gather":
            self.process.kill()
        time.sleep(self.chance.uniform(0, 1))  # the load: the other half runs alone for some time
        if which != "gather":
            self.process.start()
        if which != "process":
            self.start_gather()

    def await_moment(self, which: str) -> None:
        """Waits for a moment at random: after some micro-batches, or whatever Spark is at."""
        if which != "gather" and self.chance.random() < 0.7:
            # Else the kill often comes while Spark starts.
            more = self.begun() + self.chance.randint(1, 6)
            wait(lambda: self.begun() >= more, "no micro-batch begins", self.process, self.gather)
        time.sleep(self.chance.uniform(0, 2))  # the load: any moment
        if which != "process" and self.chance.random() < 0.8:
            # Else gather mostly has nothing that is not answered.
            deadline = time.monotonic() + 10
            while not self.requests_open() and time.monotonic() < deadline:
                time.sleep(0.001)
        self.check(self.gather, self.process, *self.clients)

    def requests_open(self) -> int:
        """Requests of the OpenTelemetry clients that have no answer."""
        for follower in self._otel:
            follower.poll()
        return sum(len(follower.open) for follower in self._otel)

    def check(self, *services: Service) -> None:
        """Raises ServiceError when one has ended with an error."""
        for service in services:
            service.ended()

    def begun(self) -> int:
        """Micro-batches that were begun."""
        return sum(1 for name in SENDERS for _ in (self.checkpoint(name) / "offsets").glob("[0-9]*"))

    def checkpoint(self, sender: str) -> Path:
        return self.directory / "checkpoints" / sender

    def finish(self) -> int:
        """Ends the clients, then gather, then process when it has written all. Returns the records of the queue."""
        for client in self.clients:
            client.stop()
        wait(lambda: all(client.ended() for client in self.clients), "the clients do not end", self.gather)
        self.syslog.stop()
        self.gather.stop()
        wait(self.gather.ended, "gather does not end")
        with mmapqueue.Queue(self.directory / "queue", read_only=True) as queue:
            stored = queue.stats().end_offset
        for name in SENDERS:
            while (done := committed(self.checkpoint(name))) < stored:
                wait(
                    lambda name=name, done=done: committed(self.checkpoint(name)) > done,
                    f"{name} makes no progress at {done} of {stored}",
                    self.process,
                )
        self.process.stop()
        wait(self.process.ended, "process does not end")
        return stored

    def close(self) -> None:
        for service in (*self.clients, self.gather, self.process):
            service.kill()

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


def settings(directory: Path, port: int, syslog: int, url: str) -> dict[str, object]:
    """The configuration."""
    backoff = {"first": "50ms", "most": "500ms"}
    batch = {"interval": "300ms", "max_records": 2000}
    pipe = {
        "name": "logs",
        "queue": {"dir": str(directory / "queue"), "capacity": "1g"},
        "receivers": [
            {"type": "otlp", "server": "grpc"},
            {"type": "skywalking", "server": "grpc"},
            {"type": "syslog", "listen": f"tcp://127.0.0.1:{syslog}"},
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
        "servers": [{"name": "grpc", "type": "grpc", "listen": f"127.0.0.1:{port}"}],
        "spark": {"master": "local[2]", "conf": SPARK},
        "pipes": [pipe],
    }


def wait(holds: object, message: str, *alive: Service) -> None:
    """Waits until something holds.

    Raises:
        ServiceError: A process that must be alive has ended with an error.
        TimeoutError: It takes too long.
    """
    assert callable(holds)
    deadline = time.monotonic() + SECONDS
    while not holds():
        for service in alive:
            if service.ended():
                raise RuntimeError(f"{service.name} has ended; see {service.log}")
        if time.monotonic() > deadline:
            raise TimeoutError(message)
        time.sleep(0.05)


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


def run(kills: int, directory: Path, seed: int = 0, processes: tuple[str, ...] = PROCESSES) -> dict[str, object]:
    """Runs the loop. As many kills as `processes` kill each of them once, in this order; more kills choose at random.

    Raises:
        AssertionError: A record is lost, has too many duplicates, or a key has two contents.
    """
    chance = random.Random(seed)
    recorder = Recorder(random.Random(chance.random()))
    killed: Counter[str] = Counter()
    with recorder.serving() as url:
        pipeline = Pipeline(directory, chance, url)
        try:
            pipeline.start_gather()
            pipeline.process.start()
            pipeline.syslog.start()
            for client in pipeline.clients:
                client.start()
            for number in range(kills):
                which = processes[number] if kills <= len(processes) else chance.choice(processes)
                pipeline.await_moment(which)
                pipeline.kill(which)
                killed[which] += 1
            stored = pipeline.finish()
        finally:
            pipeline.close()
    return {"seed": seed, "kills": dict(killed), "records stored": stored, **verdict(pipeline, recorder)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("kills", type=int)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--directory", type=Path, help="where everything lies; a new one in the temporary directory")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pipeline-kill-") as temporary:
        directory = arguments.directory or Path(temporary)
        print(f"{arguments.kills} kills, seed {arguments.seed}, {directory}", flush=True)
        print(json.dumps(run(arguments.kills, directory, arguments.seed), indent=1))


if __name__ == "__main__":
    main()
