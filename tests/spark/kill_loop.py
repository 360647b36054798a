"""Kills a pipeline of two queries at random moments, again and again, and compares what it has written in the end.

    python kill_loop.py <kills> [--master local[2,4]|hosts] [--seed N] [--directory DIR]

The pipeline (kill_pipeline.py) reads one queue twice: rows without duplicates go to a queue of three partitions, counts
to another one in update mode. Tasks fail at random and are done again. The whole process group is
killed with SIGKILL: driver, executors, Python. With a master of several processes (local-cluster[2,1,1024]) one
executor may be killed before, alone. In the end each row must be there exactly once.

Spark starts no speculative copy of a task on the host of its first attempt. The master "hosts" is a standalone cluster
with workers on 127.0.0.1 and 127.0.0.2, which are two hosts for Spark: tasks then have copies, some of which end first.
"""

import argparse
import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import mmapqueue

PIPELINE = Path(__file__).with_name("kill_pipeline.py")

#: Records that come with each round; each value comes twice.
ROUND = 600

#: Runs in the end that may fail because a task has failed too often.
MISHAPS = 5

#: For a pipeline to start, or to end when nobody kills it.
SECONDS = 600


#: The master that stands for a standalone cluster, and the addresses of its workers.
HOSTS = "hosts"
ADDRESSES = ("127.0.0.1", "127.0.0.2")


@contextlib.contextmanager
def cluster(directory: Path, master: str) -> Iterator[tuple[str, list[int]]]:
    """The URI of the master, and the processes that start executors: for "hosts", a standalone cluster of its own."""
    if master != HOSTS:
        yield master, []
        return
    import pyspark

    home = Path(pyspark.__file__).parent
    java = str(Path(os.environ["JAVA_HOME"]) / "bin" / "java") if "JAVA_HOME" in os.environ else "java"
    # Executors that are killed must not end their application.
    options = ["-Xmx192m", "-Dspark.deploy.maxExecutorRetries=-1"]
    command = [java, *options, "-cp", f"{home}/jars/*"]
    # Spark looks for a build of its sources without the version of Scala.
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_SCALA_VERSION": "2.13",
        "PYSPARK_PYTHON": sys.executable,
    }
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *arguments: str) -> Path:
        log = directory / f"{name}.log"
        with log.open("wb") as out:
            started.append(
                subprocess.Popen(
                    [*command, *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    env=environment,
                )
            )
        return log

    try:
        anywhere = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        log = start("master", "org.apache.spark.deploy.master.Master", *anywhere)
        uri = said(log, r"spark://127\.0\.0\.1:\d+", started)
        for number, address in enumerate(ADDRESSES):
            worker = ["org.apache.spark.deploy.worker.Worker", "--host", address, "--webui-port", "0"]
            worker += ["--cores", "2", "--memory", "1g", "--work-dir", str(directory / f"work-{number}"), uri]
            said(start(f"worker-{number}", *worker), "Successfully registered with master", started)
        yield uri, [process.pid for process in started[1:]]
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()


def said(log: Path, pattern: str, processes: "list[subprocess.Popen[bytes]]") -> str:
    """The first match in a log; waits for it."""
    deadline = time.monotonic() + SECONDS
    while not (found := re.search(pattern, log.read_text(errors="replace"))):
        if time.monotonic() > deadline or any(process.poll() is not None for process in processes):
            raise RuntimeError(f"{pattern!r} is not in {log}:\n{log.read_text(errors='replace')[-5000:]}")
        time.sleep(0.05)
    return found[0]


class Pipeline:
    """A run of the pipeline, in a process group of its own."""

    def __init__(self, directory: Path, master: str, once: bool, workers: list[int], program: Path = PIPELINE) -> None:
        self._workers = workers
        self.log = directory / f"pipeline-{len(list(directory.glob('pipeline-*')))}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(program), str(directory), master, str(int(once))],
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, "PYSPARK_PYTHON": sys.executable},
            )

    def said(self, word: str) -> bool:
        return word in self.log.read_text(errors="replace").split("\n")

    def wait_for_start(self) -> None:
        deadline = time.monotonic() + SECONDS
        while not self.said("started"):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the pipeline has not started:\n{self.log.read_text(errors='replace')[-5000:]}")
            time.sleep(0.05)

    def check(self) -> None:
        """Raises an error if the pipeline has ended."""
        if self.process.poll() is not None:
            raise RuntimeError(f"the pipeline has ended:\n{self.log.read_text(errors='replace')[-5000:]}")

    def members(self) -> dict[int, bytes]:
        """The processes of this group, and executors of workers, that have not ended, with their command lines."""
        found = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    state, parent, group = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
                    if (int(group) == self.process.pid or int(parent) in self._workers) and state != "Z":
                        found[int(entry.name)] = (entry / "cmdline").read_bytes()
                except OSError:
                    continue  # ended in between
        return found

    def executors(self) -> list[int]:
        """Those that run tasks and are not the driver."""
        return [pid for pid, line in self.members().items() if b"CoarseGrainedExecutorBackend" in line]

    def kill(self) -> None:
        """Kills all of them, and returns when they are gone."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        while members := self.members():
            for pid in members:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.poll()
            time.sleep(0.02)
        self.process.wait()


def opened_patiently(path: Path, seconds: float = 30.0) -> mmapqueue.Queue:
    """Opens a queue that a driver holds until the system has taken its JVM down."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return mmapqueue.Queue(path)
        except mmapqueue.Locked:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def records(path: Path) -> list[str]:
    with opened_patiently(path) as queue:
        return [message.data.decode() for message in queue.pop_many(10_000_000)]


def faults(directory: Path, values: int) -> list[str]:
    """The faults in the results, once the values 0 … were processed twice each."""
    found = []
    copied = [record for part in sorted((directory / "copy").glob("p=*")) for record in records(part)]
    times = Counter(copied)
    expected = {f"seen {i}" for i in range(values)}
    found += [f"{record!r} was written {count} times" for record, count in times.items() if count != 1]
    found += [f"{record!r} is missing" for record in sorted(expected - times.keys())]
    found += [f"{record!r} was never there" for record in sorted(times.keys() - expected)]
    history = defaultdict(list)
    for record in records(directory / "counts"):
        digit, count = record.split(":")
        history[digit].append(int(count))
    for digit in sorted({str(i % 10) for i in range(values)} | history.keys()):
        total = 2 * sum(1 for i in range(values) if str(i)[-1] == digit)
        if history[digit] != sorted(set(history[digit])):
            found.append(f"the counts of {digit} go back or come twice: {history[digit]}")
        if history[digit][-1:] != [total]:
            found.append(f"the last count of {digit} is {history[digit][-1:]}, expected {total}")
    for queue in ("copy", "counts"):
        left = [str(file) for file in (directory / queue / ".staging").rglob("*") if file.is_file()]
        found += [f"{file} was not deleted" for file in left]
    return found


def push(queue: mmapqueue.Queue, first: int, end: int, chance: random.Random) -> None:
    """Whether each value occurs twice, in any order."""
    values = [b"%d" % i for i in range(first, end)] * 2
    chance.shuffle(values)
    queue.push_many(values)


def epochs(directory: Path) -> int:
    """The number of epochs that the two queries have begun."""
    return sum(1 for _ in directory.glob("*-checkpoint/offsets/[0-9]*"))


def wait_for_epochs(directory: Path, count: int, pipeline: Pipeline) -> None:
    deadline = time.monotonic() + SECONDS
    while epochs(directory) < count and pipeline.process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)


def copies(directory: Path) -> int:
    """The number of speculative attempts of tasks that have ended, by Spark's event logs."""
    logs = [path for path in (directory / "events").rglob("*") if path.is_file()]
    lines = (line for path in logs for line in path.read_text(errors="replace").splitlines())
    return sum('"Event":"SparkListenerTaskEnd"' in line and '"Speculative":true' in line for line in lines)


def run(kills: int, directory: Path, master: str = "local[2,4]", seed: int = 0, longest: float = 3.0) -> dict[str, int]:
    """Runs the loop; raises AssertionError if a row is missing or duplicate."""
    with cluster(directory, master) as (uri, workers):
        return run_on(kills, directory, uri, workers, seed, longest)


def run_on(kills: int, directory: Path, master: str, workers: list[int], seed: int, longest: float) -> dict[str, int]:
    """As `run`, on a cluster that runs."""
    chance = random.Random(seed)
    values = 0
    killed_executors = ended = 0
    with mmapqueue.Queue(directory / "source", capacity="256m") as source:
        for _ in range(kills):
            push(source, values, values + ROUND // 2, chance)
            values += ROUND // 2
            pipeline = Pipeline(directory, master, once=False, workers=workers)
            try:
                pipeline.wait_for_start()
                if chance.random() < 0.7:
                    # Else the kill mostly comes while nothing is written yet.
                    wait_for_epochs(directory, epochs(directory) + chance.randint(1, 3), pipeline)
                time.sleep(chance.uniform(0, longest))  # the load: a kill at any moment
                executors = pipeline.executors()
                if executors and chance.random() < 0.5:
                    os.kill(chance.choice(executors), signal.SIGKILL)
                    killed_executors += 1
                    time.sleep(chance.uniform(0, longest))
                ended += pipeline.process.poll() is not None  # one task has failed too often
            finally:
                pipeline.kill()
        for _ in range(MISHAPS):
            pipeline = Pipeline(directory, master, once=True, workers=workers)
            try:
                pipeline.process.wait(SECONDS)
            finally:
                pipeline.kill()
            if pipeline.said("ended") and pipeline.process.returncode == 0:
                break
        else:
            raise RuntimeError(f"the pipeline does not end:\n{pipeline.log.read_text(errors='replace')[-5000:]}")
    found = faults(directory, values)
    assert not found, "\n".join([f"kills={kills} seed={seed} master={master}: {len(found)} faults", *found[:20]])
    committed = [int(path.name) for path in (directory / "copy-checkpoint/commits").iterdir() if path.name.isdigit()]
    return {
        "kills": kills,
        "executors killed alone": killed_executors,
        "ended by failed tasks": ended,
        "epochs": max(committed) + 1,
        "speculative attempts": copies(directory),
        "records in": 2 * values,
        "records out, each once": values,
    }


def command(
    doc: str | None,
    name: str,
    run: Callable[[int, Path, str, int], dict[str, int]],
    master: str = "of Spark",
    default: str = "local[2,4]",
) -> None:
    """Runs a loop with the arguments of the command line, and prints its counts.

    Args:
        doc: The text of the program, whose first line is that of its help.
        name: Of a new directory.
        run: The loop: number of kills, directory, master and seed.
        master: What a master may be, for the help.
        default: The master if none is given.
    """
    parser = argparse.ArgumentParser(description=(doc or "").split("\n")[0])
    parser.add_argument("kills", type=int)
    parser.add_argument("--master", default=default, help=master)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--directory", type=Path, help="where the queues lie; a new one in the temporary directory")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix=f"{name}-") as temporary:
        directory = arguments.directory or Path(temporary)
        print(f"{arguments.kills} kills, seed {arguments.seed}, {arguments.master}, {directory}", flush=True)
        print(json.dumps(run(arguments.kills, directory, arguments.master, arguments.seed)))


if __name__ == "__main__":
    command(__doc__, "spark-kill", run, 'of Spark, or "hosts"')
