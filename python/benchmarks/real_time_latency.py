"""Latency of a query in Spark's real-time mode, from queue to queue.

    python python/benchmarks/real_time_latency.py [--rates 1000,20000] [--seconds 30] [--keep]
    python python/benchmarks/real_time_latency.py --plot      # needs matplotlib

The query filters and projects; it runs with local[2]. A process beside it (real_time/Load.java) sends records of 100
bytes at a steady rate, and receives the rows. A latency is the time from the moment at which a record was due to the
moment at which its row was received. Each rate has its own warm-up.

Prints the percentiles in ms. --keep writes `real-time.json` in the directory of raw results, and --plot draws it.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from pyspark import __version__ as spark_version
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import mmapqueue
from bench_report import machine
from bench_spark import session

SOURCES = Path(__file__).with_name("real_time")
_ROOT = Path(__file__).resolve().parents[2]
KEPT = _ROOT / "docs" / "benchmarks" / "raw" / "real-time.json"
PLOT = _ROOT / "docs" / "benchmarks" / "real-time.svg"

#: Until the JIT compilers of Spark and of the load are done, in s.
WARM_UP = 15


def compiled(scratch: Path) -> list[str]:
    """The command that runs the load."""
    jars = mmapqueue.jar_path().parent.glob("*.jar")
    classpath = ":".join([str(scratch / "load"), *map(str, jars)])
    sources = map(str, sorted(SOURCES.glob("*.java")))
    subprocess.run(["javac", "-d", str(scratch / "load"), "-cp", classpath, *sources], check=True)
    return ["java", "-Xmx256m", "-cp", classpath, "Load", "QueueEnds"]


def measure(command: list[str], *arguments: object) -> dict[str, Any]:
    """The latencies of a load."""
    done = subprocess.run([*command, *map(str, arguments)], stdout=subprocess.PIPE, check=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@contextmanager
def queues(spark: SparkSession, scratch: Path) -> Iterator[tuple[str, str]]:
    """The query from a queue to another one."""
    source, target = scratch / "source", scratch / "target"
    for path in (source, target):
        with mmapqueue.Queue(path, spark=spark, capacity="256m") as queue:
            if path == target:
                queue.create_consumer("load")
    rows = mmapqueue.read_stream(source, spark=spark).where("length(value) > 0").select("value", "partition", "offset")
    with running(mmapqueue.real_time_sink(rows, target, checkpoint=scratch / "queue-checkpoint").start()):
        yield str(source), str(target)


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


def run(rates: list[int], seconds: int, memory: str) -> dict[str, Any]:
    """Measures each rate."""
    results = []
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="real-time-", dir=_ROOT / "build")))
        command = compiled(scratch)
        spark = session(2, memory, scratch, [])
        stack.callback(spark.stop)
        source, target = stack.enter_context(queues(spark, scratch))
        for rate in rates:
            found = measure(command, source, target, rate, WARM_UP, seconds)
            results.append({"spark": spark_version, **found})
            print(f"{rate} records/s", found["ms"], flush=True)
    return {"machine": machine.facts(_ROOT), "results": results}


def plot(kept: dict[str, Any], path: Path) -> None:
    """The distributions."""
    from matplotlib import pyplot as plt

    from bench_report.charts import BLUE, ORANGE, PURPLE, WIDTH, legend, save, tidy

    canvas, axes = plt.subplots(figsize=(WIDTH, 2.8), layout="constrained")
    for each, color in zip(kept["results"], (BLUE, ORANGE, PURPLE), strict=False):
        shares = [1 / (1 - share) for share, _ in each["curve"]]
        axes.plot(shares, [ms for _, ms in each["curve"]], color=color, label=f"{each['rate']:,} records/s")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks([2, 10, 100, 1000, 10000], ["50 %", "90 %", "99 %", "99.9 %", "99.99 %"])
    axes.set_xlabel("share of records")
    axes.set_ylabel("latency at most, ms")
    tidy(axes)
    legend(canvas, [axes], 2)
    save(canvas, path)


def main() -> None:
    """Measures, or draws what was measured."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rates", default="1000,20000", help="records a second")
    parser.add_argument("--seconds", type=int, default=30, help="measured seconds of each rate")
    parser.add_argument("--memory", default="1g", help="heap of Spark")
    parser.add_argument("--keep", action="store_true", help="write the kept results")
    parser.add_argument("--plot", action="store_true", help="draw the kept results, and measure nothing")
    arguments = parser.parse_args()
    if arguments.plot:
        plot(json.loads(KEPT.read_text(encoding="utf-8")), PLOT)
        return
    rates = [int(rate) for rate in arguments.rates.split(",")]
    found = run(rates, arguments.seconds, arguments.memory)
    if arguments.keep:
        KEPT.write_text(json.dumps(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
