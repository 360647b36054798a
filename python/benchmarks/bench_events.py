"""Events decoded in Spark, beside Spark's own from_protobuf if its jar is given.

python python/benchmarks/bench_events.py [--events 2000000] [--logs 500000] [--protobuf JARS --descriptor FILE]

The records lie in a queue; what is decoded goes to Spark's noop sink. The workloads take turns, as the speed of a
shared machine changes from minute to minute; the figures are medians, and those of one run compare. CPU seconds are
those of the whole JVM: on a machine that others use, too, they say more. `read` is the floor: the same records, not
decoded. `from_protobuf` decodes the same bytes to the same columns; it needs the jars of spark-protobuf and
protobuf-java, and a descriptor file that grpcio-tools' protoc makes of event.proto.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

import mmapqueue
from mmapqueue.pipeline import EventType, encode, events_batch, explode

JSON_FILE = Path(__file__).resolve().parents[2] / "build" / "bench" / "events" / "events.json"
ENVELOPE_BYTES = 200
LOGS_OF_A_REQUEST = 100
BODIES = {"small": 40, "1 KB": 1000}
OTLP = "application/x-protobuf; proto=otlp.logs"
COLUMNS = ("time", "name", "type", "remote", "meta", "content_type", "data", "id", "source")


def envelope(number: int) -> bytes:
    """An event of about ENVELOPE_BYTES, most of it the payload."""
    header = {
        "type": EventType.LOGGING,
        "content_type": "application/x-ndjson",
        "name": "orders",
        "time_ms": 1_760_000_000_000 + number,
        "meta": {"peer": "10.1.2.3:50412"},
        "id": f"{number:012x}",
        "source": "http 10.1.2.3",
    }
    rest = ENVELOPE_BYTES - len(encode(data=b"", **header)) - 4
    return encode(data=b"x" * rest, **header)


def request(number: int, body: int) -> bytes:
    """An event with one export request of OTLP, as an SDK sends it."""
    export = ExportLogsServiceRequest()
    resource = export.resource_logs.add()
    for key, value in {"service.name": "shop", "service.instance.id": "shop-1", "host.name": "node-7"}.items():
        resource.resource.attributes.add(key=key).value.string_value = value
    scope = resource.scope_logs.add()
    scope.scope.name = "org.shop.Orders"
    for i in range(LOGS_OF_A_REQUEST):
        log = scope.log_records.add()
        log.time_unix_nano = 1_760_000_000_000_000_000 + number * 1_000_000 + i
        log.observed_time_unix_nano = log.time_unix_nano
        log.severity_number = 9
        log.severity_text = "INFO"
        log.body.string_value = f"order {i} ".ljust(body, "x")
        log.attributes.add(key="http.route").value.string_value = "/orders/{id}"
        log.attributes.add(key="http.status_code").value.int_value = 200
        log.trace_id = number.to_bytes(16, "big")
        log.span_id = i.to_bytes(8, "big")
    return encode(type=EventType.LOGGING, content_type=OTLP, data=export.SerializeToString(), source="otlp 10.1.2.3")


def session(cores: int, memory: str, scratch: Path, jars: str) -> SparkSession:
    """A quiet session."""
    builder = SparkSession.builder.master(f"local[{cores}]").appName("mmapqueue events benchmark")
    for key, value in {
        "spark.driver.memory": memory,
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(scratch / "local"),
    }.items():
        builder.config(key, value)
    if jars:
        builder.config("spark.jars", jars)
    spark = mmapqueue.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def fill(path: Path, records: list[bytes], times: int) -> None:
    """Pushes the records `times` times."""
    with mmapqueue.Queue(path, queue_capacity_segments=4096, segment_size="16m", max_event_size="4m") as queue:
        for _ in range(times):
            queue.push_many(records)


def from_protobuf(records: DataFrame, descriptor: str) -> DataFrame:
    """The columns of an event by Spark's own function."""
    from pyspark.sql.protobuf.functions import from_protobuf as decode

    event = decode("value", "mmapqueue.pipeline.v1.Event", descFilePath=descriptor).alias("event")
    rows = records.select(event).select("event.*")
    return rows.withColumn("time", sql.timestamp_millis("timestamp")).select(*COLUMNS)


def noop(frame: DataFrame) -> Callable[[], None]:
    """Reads all rows and drops them."""
    return lambda: frame.write.format("noop").mode("overwrite").save()


def cpu_seconds(stat: Path) -> float:
    """CPU seconds of a process, in user mode and in the kernel."""
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(named: dict[str, Callable[[], None]], rounds: int, jvm: Any) -> dict[str, tuple[float, float]]:
    """Median seconds and CPU seconds of each; they take turns. Two rounds of warm-up do not count."""
    stat = Path("/proc", jvm.java.io.File("/proc/self").getCanonicalFile().getName(), "stat")
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in named}
    for turn in range(-2, rounds):
        for name, run in named.items():
            start, cpu_start = time.perf_counter(), cpu_seconds(stat)
            run()
            if turn >= 0:
                taken[name].append((time.perf_counter() - start, cpu_seconds(stat) - cpu_start))
        print(f"round {turn + 3} of {rounds + 2}", file=sys.stderr)
    return {
        name: (statistics.median(wall for wall, _ in both), statistics.median(used for _, used in both))
        for name, both in taken.items()
    }


def main() -> int:
    """Measures, prints and writes the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=2_000_000, help="envelopes to decode (2000000)")
    parser.add_argument("--logs", type=int, default=500_000, help="log records to explode, of each size (500000)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds that count (5)")
    parser.add_argument("--cores", type=int, default=2, help="threads of Spark (2)")
    parser.add_argument("--memory", default="4g", help="heap of the JVM (4g)")
    parser.add_argument("--protobuf", default="", help="jars of spark-protobuf and protobuf-java, with commas")
    parser.add_argument("--descriptor", default="", help="descriptor file of event.proto, for --protobuf")
    parser.add_argument("--json", type=Path, default=JSON_FILE, help="where the figures are written")
    arguments = parser.parse_args()
    if bool(arguments.protobuf) != bool(arguments.descriptor):
        parser.error("--protobuf and --descriptor go together")
    with tempfile.TemporaryDirectory(prefix="mmapqueue-bench-") as directory:
        scratch = Path(directory)
        block = [envelope(i) for i in range(10_000)]
        times = max(1, arguments.events // len(block))
        fill(scratch / "events", block, times)
        per_request = max(1, arguments.logs // LOGS_OF_A_REQUEST)
        for name, body in BODIES.items():
            requests = [request(i, body) for i in range(min(100, per_request))]
            fill(scratch / name, requests, per_request // len(requests))
        spark = session(arguments.cores, arguments.memory, scratch, arguments.protobuf)
        envelopes = times * len(block)
        logs = per_request // min(100, per_request) * min(100, per_request) * LOGS_OF_A_REQUEST
        records = mmapqueue.read(scratch / "events", spark=spark)
        named = {
            "read": noop(records.select("value")),
            "events": noop(events_batch(spark, scratch / "events").select(*COLUMNS)),
        }
        rows = dict.fromkeys(named, envelopes)
        if arguments.protobuf:
            named["from_protobuf"] = noop(from_protobuf(records, arguments.descriptor))
            rows["from_protobuf"] = envelopes
        for name in BODIES:
            exploded = explode(events_batch(spark, scratch / name), "logs")
            named[f"logs, {name}, all columns"] = noop(exploded)
            named[f"logs, {name}"] = noop(
                exploded.where("error IS NULL").select(*exploded.columns[:13])  # the log record's own
            )
            rows[f"logs, {name}"] = rows[f"logs, {name}, all columns"] = logs
        medians = measure(named, arguments.rounds, spark._jvm)
        spark.stop()
    lines = [
        {
            "workload": name,
            "rows": rows[name],
            "seconds": round(seconds, 4),
            "rows/s": round(rows[name] / seconds),
            "rows/CPU second": round(rows[name] / used),
        }
        for name, (seconds, used) in medians.items()
    ]
    for line in lines:
        print(f"{line['workload']:>28} {line['rows/s']:>12,} rows/s {line['rows/CPU second']:>12,} rows/CPU second")
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps({"cores": arguments.cores, "figures": lines}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
