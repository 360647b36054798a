"""What Spark reads from a queue and writes to one, beside what it can do at all and what it does with Parquet.

python python/benchmarks/bench_spark.py [--mb 1024] [--sizes 100,1024] [--rounds 7] [--directory DIR] [--json FILE]

What is read goes to Spark's noop sink, so that what is measured is the source; what is written comes from spark.range.
The workloads take turns, as the speed of a shared machine changes from minute to minute; the figures are medians, and
those of one run compare. At the end, what a micro-batch of one record costs, beside one of Spark's own rate source.
"""

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import mmapqueue

FLOOR = "spark.range"
CHUNK_BYTES = 16 << 20
#: What framing adds to a record at most: a header, a timestamp and the padding.
FRAMING = 24

#: Does its work, and says how to put things back, which does not count.
Workload = Callable[[], "Callable[[], object] | None"]


def session(cores: int, memory: str, scratch: Path) -> SparkSession:
    """A session of its own, with nothing on the screen."""
    builder = SparkSession.builder.master(f"local[{cores}]").appName("mmapqueue benchmark")
    for key, value in {
        "spark.driver.memory": memory,
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.local.dir": str(scratch / "local"),
    }.items():
        builder.config(key, value)
    spark = mmapqueue.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("WARN")
    return spark


def records(rows: int, size: int) -> Iterator[list[bytes]]:
    """Records in chunks; no two of a chunk are equal, so that no format can save their bytes."""
    chunk = max(1, CHUNK_BYTES // size)
    items = [number.to_bytes(8, "big").rjust(size, b"\xa5")[-size:] for number in range(min(chunk, rows))]
    for start in range(0, rows, chunk):
        yield items[: min(chunk, rows - start)]


def room(rows: int, size: int) -> int:
    """Bytes of a queue for so many records, and a few more."""
    return rows * (size + FRAMING) + (256 << 20)


def fill(spark: SparkSession, path: Path, rows: int, size: int) -> None:
    """Makes a queue of so many records, with room for a few more."""
    capacity = room(rows, size)
    with mmapqueue.Queue(
        spark, path, segment_size="64m", capacity=capacity, max_event_size=max(size, 20480), flush_ceiling_num=1 << 30
    ) as queue:
        for chunk in records(rows, size):
            queue.push_many(chunk)


def to_noop(frame: DataFrame) -> Workload:
    """Reads everything, and throws it away."""
    return lambda: frame.write.format("noop").mode("overwrite").save()


def available_now(spark: SparkSession, queue: Path, scratch: Path) -> Workload:
    """Reads everything as a stream that ends, from the beginning each time."""

    def run() -> Callable[[], object]:
        checkpoint = Path(tempfile.mkdtemp(dir=scratch))
        stream = mmapqueue.read_stream(spark, queue, consumer="bench").select("value")
        query = stream.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
        query.trigger(availableNow=True).start().awaitTermination()
        return lambda: shutil.rmtree(checkpoint)

    return run


def to_queue(spark: SparkSession, frame: DataFrame, queue: Path, partitions: int, capacity: int) -> Workload:
    """Writes everything into a ring that has gone round before; what is in it is acked after each time."""

    def forget() -> None:
        for partition in [queue] if partitions == 1 else [queue / f"p={number}" for number in range(partitions)]:
            with mmapqueue.Queue(spark, partition) as opened:
                opened.seek("latest")

    def run() -> Callable[[], object]:
        mmapqueue.write(
            frame, queue, partitions=partitions, segment_size="64m", capacity=capacity, flush_ceiling_num=1 << 30
        )
        return forget

    return run


def to_parquet(frame: DataFrame, path: Path) -> Workload:
    """Writes everything into new files."""

    def run() -> Callable[[], object]:
        frame.write.option("compression", "none").parquet(str(path))
        return lambda: shutil.rmtree(path)

    return run


def workloads(spark: SparkSession, directory: Path, rows: int, size: int, cores: int) -> dict[str, Workload]:
    """What is measured, by name; each deals with all rows once. The floor of the engine comes first."""
    queue = directory / f"queue-{size}"
    parquet = directory / f"parquet-{size}"
    if not queue.exists():
        fill(spark, queue, rows, size)
    if not parquet.exists():
        # The same rows, so that their bytes can not be packed better than here.
        source = spark.read.format("mmapqueue").load(str(queue)).select("value")
        source.write.option("compression", "none").parquet(str(parquet))
    read = spark.read.format("mmapqueue").load(str(queue))
    constant = spark.range(0, rows, 1, cores).select(f.lit(b"x" * size).alias("value"))
    return {
        FLOOR: to_noop(constant),
        "queue, value": to_noop(read.select("value")),
        "queue, all columns": to_noop(read),
        "queue, offset": to_noop(read.select("offset")),
        "queue, count": lambda: _check(read.where("length(value) > 0").count(), rows),
        "queue, AvailableNow": available_now(spark, queue, directory),
        "Parquet, value": to_noop(spark.read.parquet(str(parquet))),
        "write, queue": to_queue(spark, constant, directory / f"sink-{size}", 1, room(rows, size)),
        f"write, {cores} partitions": to_queue(
            spark, constant, directory / f"sinks-{size}", cores, room(rows // cores + 1, size)
        ),
        "write, Parquet": to_parquet(constant, directory / f"written-{size}"),
    }


def _check(found: int, expected: int) -> None:
    if found != expected:
        raise SystemExit(f"{found} rows were read, but {expected} had been written")


def measure(named: dict[str, Workload], rounds: int) -> dict[str, float]:
    """Median seconds of each workload; they take turns, and the first rounds, which compile, do not count."""
    taken: dict[str, list[float]] = {name: [] for name in named}
    for turn in range(-2, rounds):
        for name, run in named.items():
            start = time.perf_counter()
            put_back = run()
            if turn >= 0:
                taken[name].append(time.perf_counter() - start)
            if put_back:
                put_back()
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def micro_batches(spark: SparkSession, scratch: Path, count: int) -> dict[str, float]:
    """Median ms of Spark's trigger for a batch of one record, from a queue and from the rate source."""
    medians = {}
    with mmapqueue.Queue(spark, scratch / "tiny", segment_size="64k") as queue:
        sources: dict[str, tuple[DataFrame, Callable[[], object]]] = {
            "queue": (mmapqueue.read_stream(spark, scratch / "tiny"), lambda: queue.push(b"x")),
            "rate": (spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load(), lambda: None),
        }
        for name, (frame, feed) in sources.items():
            query = frame.writeStream.format("noop").option("checkpointLocation", str(scratch / f"tiny-{name}")).start()
            spent: dict[int, int] = {}
            while len(spent) < count + 5:
                feed()
                time.sleep(0.01)
                for progress in query.recentProgress:
                    if progress["numInputRows"]:
                        spent[progress["batchId"]] = progress["durationMs"]["triggerExecution"]
            query.stop()
            medians[name] = statistics.median([spent[batch] for batch in sorted(spent)][5:])
    return medians


def report(results: list[dict[str, object]]) -> None:
    """Prints one table."""
    print(f"{'bytes':>6}  {'workload':20} {'rows/s':>14} {'MB/s':>9} {'of floor':>9}")
    for each in results:
        print(
            f"{each['bytes']:>6}  {each['workload']:20} {each['rows_per_second']:>14,.0f} "
            f"{each['mb_per_second']:>9,.0f} {each['of_floor']:>9.2f}"
        )


def main() -> None:
    """Measures what the arguments say."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", default="100,1024", help="bytes of a record, one or more (%(default)s)")
    parser.add_argument("--mb", type=int, default=1024, help="MB of payload for each size (%(default)s)")
    parser.add_argument("--rows", type=int, help="records for each size, in place of --mb")
    parser.add_argument("--rounds", type=int, default=7, help="rounds that count (%(default)s)")
    parser.add_argument("--batches", type=int, default=50, help="micro-batches of one record (%(default)s)")
    parser.add_argument("--cores", type=int, default=2, help="tasks at once (%(default)s)")
    parser.add_argument("--driver-memory", default="2g", help="heap of the JVM (%(default)s)")
    parser.add_argument("--directory", type=Path, help="where to work, and to leave the data; else a temporary one")
    parser.add_argument("--json", type=Path, help="a file for the figures; else they are printed below the table")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mmapqueue-bench-") as temporary:
        scratch = Path(temporary)
        directory = options.directory or scratch
        directory.mkdir(parents=True, exist_ok=True)
        spark = session(options.cores, options.driver_memory, scratch)
        results: list[dict[str, object]] = []
        for size in map(int, options.sizes.split(",")):
            rows = options.rows or (options.mb << 20) // size
            place = directory / str(rows)
            seconds = measure(workloads(spark, place, rows, size, options.cores), options.rounds)
            for name, median in seconds.items():
                results.append(
                    {
                        "workload": name,
                        "bytes": size,
                        "rows": rows,
                        "seconds": round(median, 4),
                        "rows_per_second": round(rows / median),
                        "mb_per_second": round(rows * size / median / 1e6, 1),
                        "of_floor": round(seconds[FLOOR] / median, 3),
                    }
                )
        tiny = micro_batches(spark, scratch, options.batches)
        figures = {
            "spark": spark.version,
            "cores": options.cores,
            "rounds": options.rounds,
            "results": results,
            "micro_batch_ms": tiny,
        }
        spark.stop()
    report(results)
    print(f"a micro-batch of one record: {tiny['queue']:.0f} ms, of the rate source {tiny['rate']:.0f} ms")
    text = json.dumps(figures, indent=1)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")
    else:
        sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
