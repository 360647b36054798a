"""Spark's standalone cluster: a master in one host, a worker in each of the others."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from cluster.hdfs import JVM, jars
from cluster.hosts import Host, Process

PORT = 7077


class Standalone:
    """The master and the workers; executors are the workers' children."""

    def __init__(self, root: Path, hub: Host, hosts: Sequence[Host]) -> None:
        """Starts them and waits until all workers are registered.

        Args:
            root: For the logs.
            hub: Host of the master and of drivers.
            hosts: Those of the workers.
        """
        self.master_uri = f"spark://{hub.name}:{PORT}"
        home = str(jars().parent)
        (root / "logs").mkdir(exist_ok=True)
        environment = {
            "SPARK_HOME": home,
            "PYSPARK_PYTHON": sys.executable,
            # Else a worker looks for a build of Spark's sources.
            "SPARK_SCALA_VERSION": "2.13",
        }
        java = ["java", *JVM, "-cp", f"{home}/jars/*"]
        self.master = hub.start(
            # Executors that are killed must not end their application.
            [
                *(*java, "-Xmx192m", "-Dspark.deploy.maxExecutorRetries=-1", "-Dspark.worker.timeout=15"),
                *("org.apache.spark.deploy.master.Master", "--host", hub.name, "--port", str(PORT)),
            ],
            root / "logs" / "master.log",
            environment,
        )
        self.master.await_word("I have been elected leader")
        self.workers: dict[str, Process] = {}
        for host in hosts:
            directory = host.directory / "spark"
            command = [*java, "-Xmx192m", "org.apache.spark.deploy.worker.Worker", "--host", host.name]
            self.workers[host.name] = host.start(
                [*command, "--cores", "1", "--memory", "1g", "--work-dir", str(directory), self.master_uri],
                root / "logs" / f"worker-{host.name}.log",
                {**environment, "SPARK_LOCAL_DIRS": str(directory / "local")},
            )
        for worker in self.workers.values():
            worker.await_word("Successfully registered with master")

    def executors(self, host: Host) -> list[int]:
        """The processes that run tasks in a host."""
        found = []
        for pid in host.processes():
            try:
                if b"CoarseGrainedExecutorBackend" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(pid)
            except OSError:
                continue  # ended in between
        return found

    def properties(self, hub: Host) -> dict[str, str]:
        """What a driver in the hub is to be configured with."""
        return {
            "spark.master": self.master_uri,
            "spark.driver.host": hub.name,
            "spark.driver.bindAddress": hub.name,
            "spark.driver.memory": "512m",
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            "spark.driver.extraJavaOptions": " ".join(JVM),
            "spark.executor.extraJavaOptions": " ".join(JVM),
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.shuffle.partitions": "3",
            "spark.sql.session.timeZone": "UTC",
            "spark.task.maxFailures": "8",
            "spark.network.timeout": "30s",
            "spark.network.timeoutInterval": "10s",
            "spark.executor.heartbeatInterval": "5s",
            "spark.locality.wait": "300ms",
        }
