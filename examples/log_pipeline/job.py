"""A job of its own on the pipeline's queue: counts lines and log records a window and source.

    spark-submit --jars "$(mmapqueue jar)" job.py --queue /tmp/shop/queue --out /tmp/shop/counts

It reads as a consumer of its own, beside the pipeline's senders, and may be killed and started again: each window is
written once. A window is one of push times: these never fall along a queue, so no record is late.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import mmapqueue
from mmapqueue import pipeline


def counts(events: DataFrame, window: str, delay: str) -> DataFrame:
    """Records and bytes a window of push times, event type and source."""
    return (
        events.where("error IS NULL")
        .withWatermark("pushed", delay)
        .groupBy(F.window("pushed", window).alias("window"), "type", "source")
        .agg(F.count("*").alias("records"), F.sum(F.length("data")).alias("bytes"))
        .select("window.start", "type", "source", "records", "bytes")
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Count the events of a queue a window and source.")
    parser.add_argument("--queue", required=True, help="directory of the pipeline's queue")
    parser.add_argument("--out", required=True, type=Path, help="directory for the Parquet files and the checkpoint")
    parser.add_argument("--window", default="10 seconds", help="length of a window (10 seconds)")
    parser.add_argument("--delay", default="0 seconds", help="how long a window stays open after its end (0 seconds)")
    parser.add_argument("--once", action="store_true", help="end when what is there now has been counted")
    options = parser.parse_args(arguments)

    spark = mmapqueue.configure(SparkSession.builder.appName("counts")).getOrCreate()
    events = pipeline.events(spark, options.queue, consumer="counts")
    query = (
        counts(events, options.window, options.delay)
        .writeStream.format("parquet")
        .option("path", str(options.out / "windows"))
        .option("checkpointLocation", str(options.out / "checkpoint"))
        .trigger(**({"availableNow": True} if options.once else {"processingTime": "5 seconds"}))
        .start()
    )
    query.awaitTermination()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
