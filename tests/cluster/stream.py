"""Writers, shippers and one query: the queues of all hosts through an archive into an exactly-once sink."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

from cluster.clusters import Cluster
from cluster.hosts import Host, Process
from cluster.sink import Sink

_HERE = Path(__file__).parent

#: Queries that may end by themselves.
_RESTARTS = 20


class Stream:
    """All of it, on a cluster. What is killed can be started again."""

    def __init__(self, cluster: Cluster, name: str, *load: object, shipping: str = "process") -> None:
        """Starts writers, shippers and the query.

        Args:
            cluster: Where.
            name: Of its directories.
            *load: Options of the writers.
            shipping: "process" for `mmapqueue ship` beside each writer, "thread" for the writer's own.
        """
        self.cluster = cluster
        self._name = name
        self._load = load
        self.archive = f"{cluster.hdfs.uri}/{name}/archive"
        self.sink = Sink(cluster.hdfs, f"/{name}/sink")
        self.writers: dict[str, Process] = {}
        self.shippers: dict[str, Process] = {}
        for host in cluster.hosts:
            if shipping == "thread":
                options = (f"archive_uri={self.archive}", "ship_period=250ms")
                self.writers[host.name] = self._writer(host, *(f"--option={option}" for option in options))
            else:
                self.writers[host.name] = self._writer(host, "--consumer=ship")
                self.shippers[host.name] = self._shipper(host)
        self.driver = self._driver()
        #: How often the query has ended by itself: a file system that is away ends it.
        self.restarts = 0

    def _writer(self, host: Host, *options: str) -> Process:
        return self.cluster.writer(host, *self._load, *options, name=self._name)

    def _shipper(self, host: Host) -> Process:
        return self.cluster.shipper(host, self.cluster.queue(host, self._name), self.archive, "--period", "250ms")

    def _driver(self) -> Process:
        properties = {
            **self.cluster.spark.properties(self.cluster.hub),
            "spark.driver.extraClassPath": str(self.cluster.hdfs.configuration),
            "spark.executor.extraClassPath": str(self.cluster.hdfs.configuration),
        }
        directory = f"{self.cluster.hdfs.uri}/{self._name}"
        return self.cluster.python(
            self.cluster.hub,
            f"driver-{self._name}",
            _HERE / "query.py",
            self.archive,
            f"{directory}/sink",
            f"{directory}/checkpoint",
            json.dumps(properties),
        )

    def pushed(self) -> dict[str, int]:
        """The records of each host's queue, as its writer knows."""
        return {host.name: self.cluster.pushed(host, self._name) for host in self.cluster.hosts}

    def await_rows(self, expected: dict[str, int], seconds: float = 300) -> None:
        """Waits until the sink has this many rows of these hosts.

        Raises:
            TimeoutError: It has not.
            RuntimeError: The query ends too often.
        """
        deadline = time.monotonic() + seconds
        while True:
            self.sink.refresh()
            counts = self.sink.counts()
            if all(counts.get(host, 0) >= count for host, count in expected.items()):
                return
            self.supervise()
            if time.monotonic() > deadline:
                raise TimeoutError(f"the sink has {counts}, expected are {expected}: {self.driver.tail()}")
            time.sleep(0.5)

    def await_(self, condition: Callable[[], bool], seconds: float = 240) -> None:
        """Waits until something is true.

        Raises:
            TimeoutError: It is not.
        """
        deadline = time.monotonic() + seconds
        while not condition():
            self.supervise()
            if time.monotonic() > deadline:
                raise TimeoutError(f"pushed are {self.pushed()}: {self.driver.tail()}")
            time.sleep(0.2)

    def supervise(self) -> None:
        """Starts the query again if it has ended, as what runs a driver does.

        Raises:
            RuntimeError: It ends too often.
        """
        if self.driver.status is not None:
            self.restarts += 1
            if self.restarts > _RESTARTS:
                raise RuntimeError(self.driver.tail())
            self.driver.restart()

    def end(self) -> dict[str, int]:
        """Ends the writers, and returns how many records each host's queue has had."""
        for writer in self.writers.values():
            writer.stop(120)
        return self.pushed()

    def kill(self) -> None:
        """Kills all of it."""
        for process in (self.driver, *self.shippers.values(), *self.writers.values()):
            process.kill()
