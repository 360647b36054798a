"""A cluster of test hosts: HDFS and, if it is wanted, Spark, and writers with queues of their own."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cluster.hdfs import ROOT, Hdfs
from cluster.hosts import Host, Network, Process
from cluster.standalone import Standalone

#: Host of the name node, of Spark's master and of drivers.
HUB = "hub"
#: Those with queues, data nodes and executors.
HOSTS = ("h1", "h2", "h3")

_DIRECTORY = ROOT / "build" / "cluster"


class Cluster:
    """What runs in the hosts. Logs are below `root/logs`."""

    def __init__(self, root: Path, network: Network, *, spark: bool) -> None:
        self.root = root
        self.network = network
        self.hub = network[HUB]
        self.hosts = [network[name] for name in HOSTS]
        self.hdfs = Hdfs(root, self.hub, self.hosts)
        self._spark = Standalone(root, self.hub, self.hosts) if spark else None

    @property
    def spark(self) -> Standalone:
        assert self._spark is not None, "the cluster was made without Spark"
        return self._spark

    def python(self, host: Host, log: str, program: Path, *arguments: object) -> Process:
        """Starts a Python program in a host."""
        paths = [str(ROOT / "tests"), str(ROOT / "python" / "benchmarks")]
        return host.start(
            [sys.executable, str(program), *map(str, arguments)],
            self.root / "logs" / f"{log}.log",
            {
                "PYTHONPATH": os.pathsep.join(paths),
                "PYSPARK_PYTHON": sys.executable,
                "PYTHONUNBUFFERED": "1",
                "MMAPQUEUE_CLASSPATH": self.hdfs.client,
            },
        )

    def writer(self, host: Host, *options: object, name: str = "queue") -> Process:
        """Starts a program that pushes into a queue of the host, and waits until it does."""
        program = ROOT / "tests" / "cluster" / "writer.py"
        writer = self.python(host, f"writer-{host.name}-{name}", program, self.queue(host, name), host.name, *options)
        writer.await_word("pushing")
        return writer

    def shipper(self, host: Host, queue: Path, archive: str, *options: str) -> Process:
        """Starts a program that ships a queue of the host into an archive."""
        command = [sys.executable, "-m", "mmapqueue", "ship", str(queue), "--to", archive, *options]
        return host.start(
            command,
            self.root / "logs" / f"shipper-{host.name}-{queue.parent.name}.log",
            {"MMAPQUEUE_CLASSPATH": self.hdfs.client},
        )

    def queue(self, host: Host, name: str = "queue") -> Path:
        """The directory of a host's queue."""
        return host.directory / name / "queue"

    def pushed(self, host: Host, name: str = "queue") -> int:
        """The number of records that the host's writer knows to be in its queue."""
        with contextlib.suppress(FileNotFoundError, ValueError):
            return int((self.queue(host, name).parent / "pushed").read_text())
        return 0


@contextmanager
def cluster(name: str, *, spark: bool = True) -> Iterator[Cluster]:
    """A cluster with data of its own; all of it ends with the block, and its data are removed.

    Args:
        name: Of its directory below build/cluster; logs stay there.
        spark: Whether it has Spark's master and workers.

    Raises:
        RuntimeError: A cluster of this name runs, or this process is in no network namespace of its own.
    """
    _DIRECTORY.mkdir(parents=True, exist_ok=True)
    with (_DIRECTORY / f"{name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RuntimeError(f"another process has the cluster {name} of this checkout") from None
        root = _DIRECTORY / name
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        network = Network(root / "hosts", [HUB, *HOSTS])
        try:
            yield Cluster(root, network, spark=spark)
        finally:
            network.end()
            shutil.rmtree(root / "hosts", ignore_errors=True)
