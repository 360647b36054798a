"""Latency of a query in Spark's real-time mode, from queue to queue, and of the same query from Kafka to Kafka.

    python python/benchmarks/real_time_latency.py [--kafka DIR] [--rates 1000,20000] [--seconds 20]

The query filters and projects; it runs with local[2]. A process beside it (real_time/Load.java) sends records of 100
bytes at a steady rate, and receives the rows. A latency is the time from the moment at which a record was due to the
moment at which its row was received. The broker runs while Kafka is measured, after the queue. Each rate has its own
warm-up.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

from pyspark import __version__ as spark_version
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import mmapqueue
from bench_report.real_time import KAFKA, QUEUE
from bench_spark import session
from kafka_peer import CONFIGURATION, Broker, connector_jars

SOURCES = Path(__file__).with_name("real_time")
RESULTS = Path(__file__).resolve().parents[2] / "build" / "bench" / "real-time"

CORES = 2
#: Until the JIT compilers of Spark and of the load are done, in s.
WARM_UP = 15

#: Starts a query; while it runs, the arguments of its ends.
Subject = Callable[[], AbstractContextManager[tuple[str, str, str]]]


def compiled(scratch: Path, jars: list[str]) -> list[str]:
    """The command that runs the load."""
    sources = [str(path) for path in sorted(SOURCES.glob("*.java")) if jars or path.name != "KafkaEnds.java"]
    classpath = ":".join([str(scratch / "load"), *map(str, mmapqueue.jar_path().parent.glob("*.jar")), *jars])
    subprocess.run(["javac", "-d", str(scratch / "load"), "-cp", classpath, *sources], check=True)
    return ["java", "-Xmx256m", "-cp", classpath, "Load"]


def measure(command: list[str], *arguments: object) -> dict[str, Any]:
    """The latencies of a load."""
    done = subprocess.run([*command, *map(str, arguments)], stdout=subprocess.PIPE, check=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@contextmanager
def queues(spark: SparkSession, scratch: Path) -> Iterator[tuple[str, str, str]]:
    """The query from a queue to another one."""
    source, target = scratch / "source", scratch / "target"
    for path in (source, target):
        with mmapqueue.Queue(path, spark=spark, capacity="256m") as queue:
            if path == target:
                queue.create_consumer("load")
    rows = mmapqueue.read_stream(source, spark=spark).where("length(value) > 0").select("value", "partition", "offset")
    with running(mmapqueue.real_time_sink(rows, target, checkpoint=scratch / "queue-checkpoint").start()):
        yield "QueueEnds", str(source), str(target)


@contextmanager
def topics(spark: SparkSession, scratch: Path, jars: Path) -> Iterator[tuple[str, str, str]]:
    """The query from a topic to another one, by Spark's own source and sink."""
    with Broker(jars, scratch / "broker") as broker:
        source, target = broker.make_topic(spark, "in", 1), broker.make_topic(spark, "out", 1)
        rows = spark.readStream.format("kafka").options(**broker.options(source, {})).load()
        writer = rows.where("length(value) > 0").select("value").writeStream.format("kafka").outputMode("update")
        writer = writer.option("kafka.bootstrap.servers", broker.address).option("topic", target)
        writer = writer.option("checkpointLocation", str(scratch / "kafka-checkpoint"))
        with running(mmapqueue.real_time(writer, "5m").start()):
            yield "KafkaEnds", f"{broker.address}/{source}", f"{broker.address}/{target}"


@contextmanager
def running(query: StreamingQuery) -> Iterator[None]:
    """Stops the query at the end, and shows its failure."""
    try:
        yield
    finally:
        failure = query.exception()
        query.stop()
        if failure:
            print(failure, file=sys.stderr)


def run(rates: list[int], seconds: int, kafka: Path | None, memory: str, directory: Path) -> dict[str, Any]:
    """Measures the queue, then Kafka."""
    results = []
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=directory)))
        jars = connector_jars(kafka) if kafka else []
        command = compiled(scratch, jars)
        spark = session(CORES, memory, scratch, jars)
        stack.callback(spark.stop)
        subjects: dict[str, Subject] = {QUEUE: lambda: queues(spark, scratch)}
        if kafka:
            subjects[KAFKA] = lambda: topics(spark, scratch, kafka)
        for name, subject in subjects.items():
            with subject() as ends:
                for rate in rates:
                    found = measure(command, *ends, rate, WARM_UP, seconds)
                    results.append({"subject": name, **found})
                    print(name, f"{rate} records/s", found["ms"], flush=True)
    settings = {"broker": CONFIGURATION} if kafka else {}
    return {"spark": spark_version, "cores": CORES, "seconds": seconds, "results": results, "kafka": settings}


def main() -> None:
    """Measures, and writes the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--kafka", type=Path, help="directory of the class paths: measure Kafka, too")
    parser.add_argument("--rates", default="1000,20000", help="records a second")
    parser.add_argument("--seconds", type=int, default=20, help="measured seconds of each rate")
    parser.add_argument("--memory", default="1g", help="heap of Spark")
    parser.add_argument("--directory", type=Path, default=RESULTS, help="for the results")
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    rates = [int(rate) for rate in arguments.rates.split(",")]
    found = run(rates, arguments.seconds, arguments.kafka, arguments.memory, arguments.directory)
    (arguments.directory / "real-time.json").write_text(json.dumps(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
