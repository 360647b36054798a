"""Spark reads from a queue and writes to one, beside the floor of the engine, Parquet and Kafka.

python python/benchmarks/bench_spark.py [--mb 1024] [--sizes 100,1024] [--rounds 7] [--directory DIR] [--json FILE]

Reads go to Spark's noop sink, so that they measure the source; writes come from spark.range. The workloads take turns,
as the speed of a shared machine changes from minute to minute; figures are medians, comparable within one run. At the
end, micro-batches of one record and of none are measured beside those of Spark's rate source. With --kafka, a broker on
this machine is a peer (see kafka_peer.py): it starts after all that, and everything is measured again beside it, with
less data, as Kafka takes longer.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import SparkSession

import mmapqueue
from kafka_peer import SESSION, Broker, connector_jars, kafka_workloads, settings
from spark_batches import medians, micro_batches
from spark_workloads import FLOOR, Workload, workloads

JSON_FILE = Path(__file__).resolve().parents[2] / "build" / "bench" / "spark" / "spark.json"


def session(cores: int, memory: str, scratch: Path, jars: list[str]) -> SparkSession:
    """A quiet session."""
    builder = SparkSession.builder.master(f"local[{cores}]").appName("mmapqueue benchmark")
    for key, value in {
        "spark.driver.memory": memory,
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.local.dir": str(scratch / "local"),
        **({"spark.jars": ",".join(jars)} | SESSION if jars else {}),
    }.items():
        builder.config(key, value)
    spark = mmapqueue.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def measure(named: dict[str, Workload], rounds: int) -> dict[str, list[float]]:
    """Seconds of each workload; they take turns. The first two rounds warm up the JIT compiler and do not count.

    Dirty pages of one workload are synced before the next one begins.
    """
    taken: dict[str, list[float]] = {name: [] for name in named}
    for turn in range(-2, rounds):
        print(f"round {turn + 3} of {rounds + 2}", file=sys.stderr)
        for name, run in named.items():
            os.sync()
            start = time.perf_counter()
            restore = run()
            if turn >= 0:
                taken[name].append(time.perf_counter() - start)
            if restore:
                restore()
    return taken


def figures(taken: dict[str, list[float]], size: int, rows: int) -> list[dict[str, object]]:
    """The figures, a line for each workload."""
    floor = statistics.median(taken[FLOOR])
    lines: list[dict[str, object]] = []
    for name, seconds in taken.items():
        median = statistics.median(seconds)
        lines.append(
            {
                "workload": name,
                "bytes": size,
                "rows": rows,
                "seconds": round(median, 4),
                "seconds_min": round(min(seconds), 4),
                "seconds_max": round(max(seconds), 4),
                "seconds_all": [round(each, 4) for each in seconds],
                "rows_per_second": round(rows / median),
                "mb_per_second": round(rows * size / median / 1e6, 1),
                "of_floor": round(floor / median, 3),
            }
        )
    return lines


def arguments() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", default="100,1024", help="bytes of a record, one or more (%(default)s)")
    parser.add_argument("--mb", type=int, default=1024, help="MB of payload for each size (%(default)s)")
    parser.add_argument("--kafka-mb", type=int, default=256, help="the same beside Kafka (%(default)s)")
    parser.add_argument("--rows", type=int, help="records for each size, in target of --mb and --kafka-mb")
    parser.add_argument("--rounds", type=int, default=7, help="rounds that count (%(default)s)")
    parser.add_argument("--batches", type=int, default=50, help="micro-batches of each kind (%(default)s)")
    parser.add_argument("--cores", type=int, default=2, help="tasks at once (%(default)s)")
    parser.add_argument("--driver-memory", default="2g", help="heap of the JVM (%(default)s)")
    parser.add_argument("--directory", type=Path, help="for the data, which stay there; else a temporary one")
    parser.add_argument("--json", type=Path, default=JSON_FILE, help="file of the results (%(default)s)")
    parser.add_argument("--kafka", type=Path, metavar="DIR", help="lists of Kafka's jars, made by make")
    parser.add_argument("--only", help="workloads with this text in their names, and the floor")
    return parser.parse_args()


def measure_sizes(
    spark: SparkSession, options: argparse.Namespace, directory: Path, mb: int, broker: Broker | None = None
) -> list[dict[str, object]]:
    """Measures all workloads with `mb` of payload of each size, beside a broker if one is given."""
    results: list[dict[str, object]] = []
    for size in map(int, options.sizes.split(",")):
        rows = options.rows or (mb << 20) // size
        target = directory / str(rows)
        named = workloads(spark, target, rows, size, options.cores)
        if broker:
            named |= kafka_workloads(spark, broker, target, rows, size, options.cores)
        if options.only:
            named = {name: run for name, run in named.items() if name == FLOOR or options.only in name}
        results += figures(measure(named, options.rounds), size, rows)
    return results


def main() -> None:
    """Measures and writes the results."""
    options = arguments()
    with tempfile.TemporaryDirectory(prefix="mmapqueue-bench-") as temporary:
        scratch = Path(temporary)
        directory = options.directory or scratch
        directory.mkdir(parents=True, exist_ok=True)
        jars = connector_jars(options.kafka) if options.kafka else []
        spark = session(options.cores, options.driver_memory, scratch, jars)
        results = measure_sizes(spark, options, directory, options.mb)
        batches = micro_batches(spark, scratch, options.batches, rounds=min(5, options.batches))
        if options.kafka:
            with Broker(options.kafka, directory / "kafka") as broker:
                results += measure_sizes(spark, options, directory, options.kafka_mb, broker)
        version = spark.version
        spark.stop()
    milliseconds = medians(batches)
    content = {
        "spark": version,
        "cores": options.cores,
        "rounds": options.rounds,
        "kafka": settings(options.cores) if options.kafka else None,
        "results": results,
        "micro_batch_ms": milliseconds["one record"],
        "empty_micro_batch_ms": milliseconds["empty"],
        "micro_batch_ms_all": batches,
    }
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(f"{options.rounds} rounds: {options.json}", file=sys.stderr)


if __name__ == "__main__":
    main()
