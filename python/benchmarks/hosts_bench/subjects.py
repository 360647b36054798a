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
    #: Options of the writers.
    writer: tuple[str, ...] = ()

    @abstractmethod
    def start(self, cluster: Cluster, host: Host) -> Process | None:
        """Starts what a host runs beside its writer; None if that is a thread of the writer."""

    @abstractmethod
    def look(self, cluster: Cluster) -> None:
        """Notes what is visible by now, in a subject whose files are replaced later."""

    @abstractmethod
    def visible(self, cluster: Cluster, host: Host) -> list[Visible]:
        """What became visible of a host's records, and when."""

    @abstractmethod
    def directory(self) -> str:
        """The directory on the shared file system."""


class ParquetJobs(Subject):
    """A Spark job on each host: the local queue as a stream, Parquet files with Spark's own log of commits."""

    def __init__(self, trigger: str) -> None:
        self.name = f"parquet {trigger}"
        self._trigger = trigger
        # The query's own consumer is made later than the first push.
        self.writer = ("--consumer", "hold")
        self._batches: dict[str, list[Visible]] = {}

    def directory(self) -> str:
        return "/" + self.name.replace(" ", "-")

    def start(self, cluster: Cluster, host: Host) -> Process:
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

    def look(self, cluster: Cluster) -> None:
        pass

    def visible(self, cluster: Cluster, host: Host) -> list[Visible]:
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
