"""A Spark job of two streaming queries: counts lines per window of time and level, into Parquet and a second queue.

    spark-submit --jars "$(mmapqueue jar)" stream_job.py --queue /var/spool/logs --out /data/logs

It may be killed at any moment and started again: each query goes on from its checkpoint, and repeats the batch that
it was in. The queue gives the same records for it, and both sinks know an epoch that they have already. So each count
is there once.

The time of a line is that of its push. It never falls along the queue, so no line is ever late, and the
watermark closes a window only when all of its lines are in. A window closes when a record is read that was pushed
--delay seconds after its end: of sources that fall silent the last windows stay open until something is pushed.

--delay is also the time in which a line that is pushed again counts only once: it has to be longer than an agent
that was killed is away.

When the marker --done is there the queries read what there is, and the job ends; without --done it runs on.
"""

from __future__ import annotations

import argparse
import ast
import json
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.query import StreamingQuery

import mmapqueue
from shared import append_status

#: Words that name a level, not part of a longer word; a line without one has the level "none".
LEVELS = "TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL"

_LEVEL = rf"(?i)(?<![A-Za-z0-9_])({LEVELS})(?![A-Za-z0-9_])"

#: The names of the queries, and of their consumers and checkpoints.
QUERIES = ("parquet", "results")

_HEADER = "source string, position bigint, line bigint"


def lines_of(records: DataFrame) -> DataFrame:
    """Unpack records of the queue, as `shared.unpack` does: offset, timestamp, source, position, raw, level."""
    header = F.substring_index(F.col("value").cast("string"), "\n", 1)
    return (
        records.withColumn("header", header)
        .withColumn("line", F.from_json("header", _HEADER))
        .withColumn("raw", F.expr("substring(value, octet_length(header) + 2)"))
        .withColumn("level", F.upper(F.regexp_extract(F.col("raw").cast("string"), _LEVEL, 1)))
        .withColumn("level", F.when(F.col("level") == "", "none").otherwise(F.col("level")))
        .select("offset", "timestamp", "line.source", "line.position", "raw", "level")
    )


def counts(lines: DataFrame, window: int, delay: int) -> DataFrame:
    """Count a stream's lines and bytes per window and level; window and delay in seconds.

    Of a line that was pushed twice the first push counts. Dropping duplicates keeps the row that it meets first, so the
    rows have to come in the queue's order: coalesce lets one task bring them, since with several the shuffle
    mixes theirs. Where a batch is cut, and what it is cut into, then makes no difference.
    """
    return (
        lines.select("timestamp", "source", "position", "level", F.length("raw").alias("size"))
        .coalesce(1)
        .withWatermark("timestamp", f"{delay} seconds")
        .dropDuplicatesWithinWatermark(["source", "position"])
        .groupBy(F.window("timestamp", f"{window} seconds").alias("window"), "level")
        .agg(F.count("*").alias("lines"), F.sum("size").alias("bytes"))
        .select(F.col("window.start").alias("start"), "level", "lines", "bytes")
    )


def start_queries(spark: SparkSession, options: argparse.Namespace) -> list[StreamingQuery]:
    """Start both queries, or let them go on. Each reads the queue as a consumer of its own."""
    to_parquet, to_queue = (
        counts(
            lines_of(mmapqueue.read_stream(spark, options.queue, consumer=name, max_offsets_per_trigger=options.batch)),
            options.window,
            options.delay,
        )
        for name in QUERIES
    )
    checkpoints = options.out / "checkpoints"
    # Append: a window is written once, when it is closed, and never again.
    parquet = (
        to_parquet.coalesce(1)
        .writeStream.format("parquet")
        .option("path", str(options.out / "windows"))
        .option("checkpointLocation", str(checkpoints / QUERIES[0]))
    )
    records = to_queue.select(F.to_json(F.struct(F.unix_millis("start").alias("start"), "level", "lines", "bytes")))
    results = mmapqueue.write_stream(
        records.toDF("value"),
        options.out / "results",
        checkpoint=checkpoints / QUERIES[1],
        segment_size="1m",
        capacity="64m",
    )
    return [
        writer.queryName(name).outputMode("append").trigger(processingTime=f"{options.period} seconds").start()
        for name, writer in zip(QUERIES, (parquet, results), strict=True)
    ]


class Reporter:
    """Appends what each batch of the queries has done to the status file, once."""

    def __init__(self, status: Path | None, queries: Sequence[StreamingQuery]) -> None:
        self._status = status
        self._queries = queries
        self._told: set[tuple[str, str]] = set()

    def tell(self) -> None:
        """Tell of the batches since the last time.

        Raises:
            StreamingQueryException: A query has failed.
        """
        for query in self._queries:
            if (failure := query.exception()) is not None:
                raise failure
            for progress in query.recentProgress:
                self._tell(query.name, json.loads(progress.json))

    def _tell(self, name: str, progress: dict[str, Any]) -> None:
        source = progress["sources"][0]
        if (name, progress["timestamp"]) in self._told or not source["endOffset"]:
            return
        # Not there for a batch without records that is done again after a restart: the source has not begun then.
        behind = source.get("metrics", {}).get("maxOffsetsBehindLatest")
        self._told.add((name, progress["timestamp"]))
        seconds = progress["durationMs"].get("triggerExecution", 0) / 1000
        began = datetime.fromisoformat(progress["timestamp"].replace("Z", "+00:00"))
        append_status(
            self._status,
            time=began.timestamp() + seconds,  # of its end, however late it is told of
            event="batch",
            query=name,
            batch=progress["batchId"],
            rows=progress["numInputRows"],
            end=_offset(source["endOffset"]),
            seconds=seconds,
            behind=None if behind is None else int(behind),
            watermark=progress.get("eventTime", {}).get("watermark"),
        )


def _offset(text: str | dict[str, int]) -> int:
    # Spark hands the offset of a source on as JSON, as a dict, or as the text of a dict, from one version to the next.
    offsets: dict[str, int] = ast.literal_eval(text) if isinstance(text, str) else text
    return offsets["0"]


def work(queries: Sequence[StreamingQuery], options: argparse.Namespace) -> None:
    """Report on the queries until the marker is there; then let them read the rest, and stop them."""
    reporter = Reporter(options.status, queries)
    while not (options.done is not None and options.done.exists()):
        reporter.tell()
        time.sleep(0.1)
    for query in queries:
        query.processAllAvailable()  # the batches without data that close windows, too
    reporter.tell()
    for query in queries:
        query.stop()


def whole_seconds(text: str) -> int:
    """Return a number of seconds from a command line.

    None at all are refused: with no delay the watermark is the time of the latest line, and Spark drops further lines
    of that very millisecond as late.
    """
    seconds = int(text) if text.isascii() and text.isdigit() else 0
    if not 1 <= seconds <= 86_400:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of seconds from 1 to 86400")
    return seconds


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Count the log lines of a queue per window of time and level.")
    parser.add_argument("--queue", required=True, help="directory of the queue; the agent writes it")
    parser.add_argument("--out", required=True, type=Path, help="directory for windows/, results/ and checkpoints/")
    parser.add_argument("--window", type=whole_seconds, default=5, help="seconds of a window (5)")
    parser.add_argument("--delay", type=whole_seconds, default=20, help="seconds that a window waits (20)")
    parser.add_argument("--period", type=float, default=0.5, help="seconds between the beginnings of batches (0.5)")
    parser.add_argument("--batch", type=int, default=50_000, help="most records of a batch (50000)")
    parser.add_argument("--done", type=Path, help="a file that says no more lines are to come (default: run on)")
    parser.add_argument("--status", type=Path, help="JSON lines to append the progress to")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    spark = SparkSession.builder.appName("log pipeline, streaming").getOrCreate()
    queries = start_queries(spark, options)
    append_status(options.status, event="ready")
    work(queries, options)
    spark.stop()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
