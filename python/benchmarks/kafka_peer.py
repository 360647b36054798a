"""Kafka as a peer of bench_spark.py: one broker (KRaft) on this machine, its topics, and Spark's own connector.

The broker has Kafka's own defaults, heap and flags of its start script included, but for: one replica of everything,
and topics that are deleted are gone after a second. It runs on the same cores and the same disk as Spark.
"""

import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from spark_workloads import Workload, available_now, constants, to_noop

PARTITIONS = (1, 2)

#: As in Kafka's bin/kafka-server-start.sh.
JVM_FLAGS = [
    "-Xms1g",
    "-Xmx1g",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
]

CONFIGURATION = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "log.segment.delete.delay.ms": "1000",
}

#: Fetches of 16 MiB where the default is 1 MiB, polls of any number of records where it is 500, and a large buffer of
#: the socket; with minPartitions, all cores have a task.
TUNED_READ = {
    "kafka.max.partition.fetch.bytes": str(16 << 20),
    "kafka.fetch.max.bytes": str(64 << 20),
    "kafka.max.poll.records": "100000",
    "kafka.receive.buffer.bytes": str(1 << 20),
}

#: Batches of 512 KiB where the default is 16 KiB, and time for them to fill.
TUNED_WRITE = {
    "kafka.batch.size": str(512 << 10),
    "kafka.linger.ms": "20",
    "kafka.buffer.memory": str(128 << 20),
    "kafka.max.request.size": str(8 << 20),
    "kafka.send.buffer.bytes": str(1 << 20),
}

#: Spark keeps idle consumers for five minutes, each with what it has fetched ahead: 64 of them filled a heap of 2 GiB.
#: A read has a consumer group of its own, so none is used again by a later one.
SESSION = {"spark.kafka.consumer.cache.capacity": "8"}

START_SECONDS = 120
#: The broker deletes the files of a topic one second after the topic, which would slow down the next measurement.
DELETE_SECONDS = 2


def settings(cores: int) -> dict[str, object]:
    """The settings that differ from Kafka's defaults."""
    return {
        "broker": CONFIGURATION,
        "session": SESSION,
        "tuned read": TUNED_READ | {"minPartitions": str(cores)},
        "tuned write": TUNED_WRITE,
    }


def connector_jars(jars: Path) -> list[str]:
    """The jars of Spark's connector."""
    return (jars / "connector.classpath").read_text(encoding="utf-8").strip().split(":")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Broker:
    """A broker that runs during the `with` block; then its data are removed."""

    def __init__(self, jars: Path, directory: Path) -> None:
        self._java = ["java", *JVM_FLAGS, "-cp", (jars / "broker.classpath").read_text(encoding="utf-8").strip()]
        self._directory = directory
        self._log = directory / "broker.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = count()
        self.address = ""

    def __enter__(self) -> "Broker":
        shutil.rmtree(self._directory, ignore_errors=True)
        self._directory.mkdir(parents=True)
        ports = _free_port(), _free_port()
        self.address = f"127.0.0.1:{ports[0]}"
        listeners = f"PLAINTEXT://{self.address},CONTROLLER://127.0.0.1:{ports[1]}"
        properties = CONFIGURATION | {
            "controller.quorum.voters": f"1@127.0.0.1:{ports[1]}",
            "listeners": listeners,
            "advertised.listeners": f"PLAINTEXT://{self.address}",
            "log.dirs": str(self._directory / "data"),
        }
        file = self._directory / "server.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()), encoding="utf-8")
        with self._log.open("wb") as log:
            tool = ["kafka.tools.StorageTool", "format", "-t", "mmapqueueBenchmarkAAAA", "-c", str(file)]
            subprocess.run([*self._java, *tool], stdout=log, stderr=log, check=True)
            self._process = subprocess.Popen([*self._java, "kafka.Kafka", str(file)], stdout=log, stderr=log)
        try:
            self._await(ports[0])
        except BaseException:
            self.__exit__()
            raise
        return self

    def _await(self, port: int) -> None:
        deadline = time.monotonic() + START_SECONDS
        while self._process and self._process.poll() is None and time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.2)
        tail = "\n".join(self._log.read_text(errors="replace").splitlines()[-20:])
        raise SystemExit(f"the broker has not begun to listen on {self.address} within {START_SECONDS} s:\n{tail}")

    def __exit__(self, *_: object) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._directory, ignore_errors=True)

    def options(self, topic: str, tuned: dict[str, str]) -> dict[str, str]:
        """The options of a read."""
        return {"kafka.bootstrap.servers": self.address, "subscribe": topic, "startingOffsets": "earliest"} | tuned

    def _administer(self, spark: SparkSession, act: Callable[[Any, Any], Any]) -> None:
        jvm: Any = spark._jvm
        properties = jvm.java.util.Properties()
        properties.setProperty("bootstrap.servers", self.address)
        client = jvm.org.apache.kafka.clients.admin.AdminClient.create(properties)
        try:
            act(client, jvm).all().get()
        finally:
            client.close()

    def make_topic(self, spark: SparkSession, name: str, partitions: int) -> str:
        """A new topic; its name ends with a number."""
        topic = f"{name}-{next(self._numbers)}"

        def make(client: Any, jvm: Any) -> Any:
            topics = jvm.java.util.ArrayList()
            topics.add(jvm.org.apache.kafka.clients.admin.NewTopic(topic, partitions, 1))
            return client.createTopics(topics)

        self._administer(spark, make)
        return topic

    def delete_topic(self, spark: SparkSession, topic: str) -> None:
        """Deletes a topic; the broker frees its space one second later."""

        def delete(client: Any, jvm: Any) -> Any:
            topics = jvm.java.util.ArrayList()
            topics.add(topic)
            return client.deleteTopics(topics)

        self._administer(spark, delete)


def _write(frame: DataFrame, broker: Broker, topic: str, tuned: dict[str, str]) -> None:
    writer = frame.write.format("kafka").options(**tuned).option("kafka.bootstrap.servers", broker.address)
    writer.option("topic", topic).save()


def _to_kafka(frame: DataFrame, broker: Broker, partitions: int, tuned: dict[str, str]) -> Workload:
    """Writes all rows into a new topic; topics are made untimed."""
    spark = frame.sparkSession
    topic = broker.make_topic(spark, "written", partitions)

    def renew() -> None:
        nonlocal topic
        broker.delete_topic(spark, topic)
        topic = broker.make_topic(spark, "written", partitions)
        time.sleep(DELETE_SECONDS)

    def run() -> Callable[[], object]:
        _write(frame, broker, topic, tuned)
        return renew

    return run


def kafka_workloads(
    spark: SparkSession, broker: Broker, directory: Path, rows: int, size: int, cores: int
) -> dict[str, Workload]:
    """The workloads of a queue with topics of one and of two partitions, with defaults and tuned."""
    records = spark.read.format("mmapqueue").load(str(directory / f"queue-{size}")).select("value")
    constant = constants(spark, rows, size, cores)
    named: dict[str, Workload] = {}
    for partitions in PARTITIONS:
        topic = broker.make_topic(spark, f"records-{size}", partitions)
        _write(records, broker, topic, TUNED_WRITE)
        for tuning, read, written in (
            ("", {}, {}),
            (" tuned", TUNED_READ | {"minPartitions": str(cores)}, TUNED_WRITE),
        ):
            name = f"Kafka {partitions}p{tuning}"
            options = broker.options(topic, read)
            batch = spark.read.format("kafka").options(**options).load().select("value")
            stream = spark.readStream.format("kafka").options(**options).load().select("value")
            if batch.count() != rows:
                raise SystemExit(f"topic {topic} has {batch.count()} rows, but {rows} were written")
            named[f"{name}, value"] = to_noop(batch)
            named[f"{name}, AvailableNow"] = available_now(stream, directory)
            named[f"write, {name}"] = _to_kafka(constant, broker, partitions, written)
    return named
