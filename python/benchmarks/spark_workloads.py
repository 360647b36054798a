"""The workloads of bench_spark.py: queues, Parquet and Spark's own rows, read and written."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import mmapqueue

FLOOR = "spark.range"
CHUNK_BYTES = 16 << 20
#: The most framing of a record: header, timestamp and padding.
FRAMING = 24

#: Does its work, and returns an untimed function that restores the state.
Workload = Callable[[], "Callable[[], object] | None"]


def records(rows: int, size: int) -> Iterator[list[bytes]]:
    """Records in chunks; no two records of a chunk are equal, so that no format can compress them."""
    chunk = max(1, CHUNK_BYTES // size)
    items = [number.to_bytes(8, "big").rjust(size, b"\xa5")[-size:] for number in range(min(chunk, rows))]
    for start in range(0, rows, chunk):
        yield items[: min(chunk, rows - start)]


def room(rows: int, size: int) -> int:
    """Bytes of a queue for `rows` records, with a margin."""
    return rows * (size + FRAMING) + (256 << 20)


def fill(spark: SparkSession, path: Path, rows: int, size: int) -> None:
    """Makes a queue of `rows` records, with a margin, in which streams reclaim nothing."""
    capacity = room(rows, size)
    with mmapqueue.Queue(
        path,
        spark=spark,
        segment_size="64m",
        capacity=capacity,
        max_event_size=max(size, 20480),
        flush_ceiling_num=1 << 30,
    ) as queue:
        queue.create_consumer("all", start="earliest")
        for chunk in records(rows, size):
            queue.push_many(chunk)


def constants(spark: SparkSession, rows: int, size: int, cores: int) -> DataFrame:
    """The cheapest rows."""
    return spark.range(0, rows, 1, cores).select(f.lit(b"x" * size).alias("value"))


def to_noop(frame: DataFrame) -> Workload:
    """Reads all rows and drops them."""
    return lambda: frame.write.format("noop").mode("overwrite").save()


def available_now(stream: DataFrame, scratch: Path) -> Workload:
    """Reads all rows as a stream that ends, from the beginning each time."""

    def run() -> Callable[[], object]:
        checkpoint = Path(tempfile.mkdtemp(dir=scratch))
        query = stream.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
        query.trigger(availableNow=True).start().awaitTermination()
        return lambda: shutil.rmtree(checkpoint)

    return run


def to_queue(spark: SparkSession, frame: DataFrame, queue: Path, partitions: int, capacity: int) -> Workload:
    """Writes all rows into a ring that has wrapped; all records are acked after each run, untimed."""

    def ack_all() -> None:
        for partition in [queue] if partitions == 1 else [queue / f"p={number}" for number in range(partitions)]:
            with mmapqueue.Queue(partition, spark=spark) as opened:
                opened.seek("latest")

    def run() -> Callable[[], object]:
        mmapqueue.write(
            frame, queue, partitions=partitions, segment_size="64m", capacity=capacity, flush_ceiling_num=1 << 30
        )
        return ack_all

    return run


def to_parquet(frame: DataFrame, path: Path) -> Workload:
    """Writes all rows into new files."""

    def run() -> Callable[[], object]:
        frame.write.option("compression", "none").parquet(str(path))
        return lambda: shutil.rmtree(path)

    return run


def workloads(spark: SparkSession, directory: Path, rows: int, size: int, cores: int) -> dict[str, Workload]:
    """The workloads by name; each reads or writes all rows once. The floor of the engine is first."""
    queue = directory / f"queue-{size}"
    parquet = directory / f"parquet-{size}"
    if not queue.exists():
        fill(spark, queue, rows, size)
    read = spark.read.format("mmapqueue").load(str(queue))
    if not parquet.exists():
        # The same rows, so that Parquet cannot pack them better than here.
        read.select("value").write.option("compression", "none").parquet(str(parquet))
    constant = constants(spark, rows, size, cores)
    stream = mmapqueue.read_stream(queue, spark=spark, consumer="bench").select("value")
    return {
        FLOOR: to_noop(constant),
        "queue, value": to_noop(read.select("value")),
        "queue, all columns": to_noop(read),
        "queue, offset": to_noop(read.select("offset")),
        "queue, count": lambda: _check(read.where("length(value) > 0").count(), rows),
        "queue, AvailableNow": available_now(stream, directory),
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
