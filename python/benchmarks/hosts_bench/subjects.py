"""What is compared: ways from the queues of many hosts to one shared file system."""

from __future__ import annotations

import io
import json
import re
from abc import ABC, abstractmethod
from pathlib import Path

import pyarrow.parquet as pq

from cluster.clusters import Cluster
from cluster.hosts import Host, Process

from .latency import Visible


class Subject(ABC):
    """One way."""

    #: Of its results, of its directories and of the queue in each host.
    name: str

    @abstractmethod
    def options(self, cluster: Cluster) -> tuple[str, ...]:
        """Options of the writers."""

    @abstractmethod
    def start(self, cluster: Cluster, host: Host) -> Process | None:
        """Starts what a host runs beside its writer; None if that is a thread of the writer."""

    def look(self, cluster: Cluster) -> None:  # noqa: B027
        """Notes what is visible by now, in a subject that replaces its files later."""

    @abstractmethod
    def visible(self, cluster: Cluster, host: Host) -> list[Visible]:
        """What became visible of a host's records, and when."""

    def directory(self) -> str:
        """The directory on the shared file system."""
        return "/" + self.name.replace(" ", "-")


class ParquetJobs(Subject):
    """A Spark job on each host: the local queue as a stream, Parquet files with Spark's own log of commits."""

    def __init__(self, trigger: str) -> None:
        self.name = f"parquet {trigger}"
        self._trigger = trigger

    def options(self, cluster: Cluster) -> tuple[str, ...]:  # noqa: ARG002
        """A consumer that retains what the query has not read yet."""
        # The query's own consumer is made later than the first push.
        return ("--consumer=hold",)

    def start(self, cluster: Cluster, host: Host) -> Process:
        """Starts the host's job."""
        job = cluster.python(
            host,
            f"job-{host.name}-{self.name.replace(' ', '-')}",
            Path(__file__).with_name("parquet_job.py"),
            cluster.queue(host, self.name),
            f"{cluster.hdfs.uri}{self.directory()}/host={host.name}",
            f"{cluster.hdfs.uri}/checkpoints{self.directory()}/{host.name}",
            self._trigger,
            f"spark.driver.host={host.name}",
            f"spark.driver.extraClassPath={cluster.hdfs.configuration}",
            "spark.driver.memory=512m",
            "spark.ui.enabled=false",
            "spark.ui.showConsoleProgress=false",
        )
        job.await_word("started")
        return job

    def visible(self, cluster: Cluster, host: Host) -> list[Visible]:
        """By the times of the files of Spark's log."""
        top = f"{self.directory()}/host={host.name}"
        log = [entry for entry in cluster.hdfs.list(f"{top}/_spark_metadata") if re.search(r"/\d+", entry.path)]
        log.sort(key=lambda entry: int(Path(entry.path).name.partition(".")[0]))
        ranges = {}
        for entry in cluster.hdfs.list(top):
            if entry.path.endswith(".parquet"):
                file = pq.ParquetFile(io.BytesIO(cluster.hdfs.read(entry.path)))
                column = file.schema_arrow.names.index("offset")
                groups = [
                    file.metadata.row_group(i).column(column).statistics for i in range(file.metadata.num_row_groups)
                ]
                if groups:
                    ranges[Path(entry.path).name] = (min(g.min for g in groups), max(g.max for g in groups) + 1)
        found, seen = [], set()
        for entry in log:
            # The compacted ones repeat what is in earlier ones.
            for line in cluster.hdfs.read(entry.path).decode().splitlines()[1:]:
                name = Path(json.loads(line)["path"]).name
                if name not in seen and name in ranges:
                    found.append(Visible(*ranges[name], entry.modified_millis))
                seen.add(name)
        return found


class Archive(Subject):
    """The archive, shipped by a process beside each writer or by a thread of it."""

    def __init__(self, name: str, *, thread: bool = False, period: str = "1s", flush: str = "1s") -> None:
        self.name = name
        self._thread = thread
        self._period = period
        self._flush = flush
        self._seen: dict[str, dict[int, Visible]] = {}

    def options(self, cluster: Cluster) -> tuple[str, ...]:
        """The period of flushes, and what a thread ships to."""
        flush = f"--option=flush_period={self._flush}"
        if not self._thread:
            return (flush, "--consumer=ship")
        archive = cluster.hdfs.uri + self.directory()
        return (flush, f"--option=archive_uri={archive}", f"--option=ship_period={self._period}")

    def start(self, cluster: Cluster, host: Host) -> Process | None:
        """Starts the host's `mmapqueue ship`, unless a thread ships."""
        if self._thread:
            return None
        shipper = cluster.shipper(
            host, cluster.queue(host, self.name), cluster.hdfs.uri + self.directory(), "--period", self._period
        )
        shipper.await_word("ready")
        return shipper

    def look(self, cluster: Cluster) -> None:
        """Notes new runs."""
        # A compacted run is newer than those that it replaces, which are deleted later.
        hosts = {}
        for entry in cluster.hdfs.list(f"{self.directory()}/partitions"):
            properties = dict(line.split("=", 1) for line in cluster.hdfs.read(entry.path).decode().splitlines())
            hosts[Path(entry.path).stem] = properties["host"]
        for partition, host in hosts.items():
            seen = self._seen.setdefault(host, {})
            for entry in cluster.hdfs.files(f"{self.directory()}/data/{partition}"):
                if entry.path.endswith(".run"):
                    first, end = map(int, Path(entry.path).name.split("-")[:2])
                    if first not in seen or end < seen[first].end:
                        seen[first] = Visible(first, end, entry.modified_millis)

    def visible(self, cluster: Cluster, host: Host) -> list[Visible]:  # noqa: ARG002
        """By the times of the runs."""
        return list(self._seen.get(host.name, {}).values())
