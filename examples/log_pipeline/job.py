"""A Spark job: pops lines from a queue, parses them, writes Parquet, and acks only what is written.

    spark-submit --jars "$(mmapqueue jar)" job.py --queue /var/spool/logs --out /data/logs

It may be killed at any moment and started again. Nothing is lost: records that were popped but not acked are
popped again. Nothing is double: the rows of one batch go to a directory named by the first offset of the
batch, and a batch that is done again has the same first offset (acks are cumulative, so that is where the
consumer goes on), so that it takes the place of its first attempt; what could still be there twice, readers
drop by offset (see `parsing.without_duplicates`).

Rows go to OUT/rows, one directory per batch. When the marker --done is there and the queue is empty the job
writes lines per source and minute to OUT/minutes, and ends; without --done it runs on.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

import mmapqueue
from parsing import RECORD_SCHEMA, parse, per_minute, without_duplicates
from shared import append_status, open_patiently, unpack


def gather(queue: mmapqueue.Queue, most: int, seconds: float) -> list[mmapqueue.Message]:
    """Pop up to `most` records, for `seconds` at the longest: larger batches make fewer, larger files."""
    deadline = time.monotonic() + seconds
    messages: list[mmapqueue.Message] = []
    while len(messages) < most and (left := deadline - time.monotonic()) > 0:
        messages += queue.pop_many(most - len(messages), timeout=left)
    return messages


def write_batch(spark: SparkSession, messages: Sequence[mmapqueue.Message], rows: Path) -> None:
    """Write the rows of one batch to a directory of their own, in place of what an earlier attempt left there."""
    records = []
    for message in messages:
        line = unpack(message.data)
        records.append((message.offset, message.timestamp, line.source, line.position, line.line, line.raw))
    parsed = parse(spark.createDataFrame(records, RECORD_SCHEMA))
    target = rows / f"batch={messages[0].offset:020d}"
    parsed.coalesce(1).write.mode("overwrite").parquet(str(target))


def work(spark: SparkSession, queue: mmapqueue.Queue, options: argparse.Namespace) -> None:
    """Pop, write, ack, until the marker is there and the queue is empty."""
    rows = options.out / "rows"
    while True:
        # Looked at before the pop: what was pushed before the marker was set is then found by the pop.
        done = options.done is not None and options.done.exists()
        messages = gather(queue, options.batch, options.period)
        if not messages:
            if done:
                return
            continue
        first, last = messages[0].offset, messages[-1].offset
        append_status(options.status, event="popped", first=first, last=last)
        started = time.monotonic()
        write_batch(spark, messages, rows)
        queue.ack(messages[-1])  # and all before it
        seconds = time.monotonic() - started
        append_status(options.status, event="acked", first=first, last=last, seconds=seconds)


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Write the log lines of a queue to Parquet.")
    parser.add_argument("--queue", required=True, help="directory of the queue; the agent writes it")
    parser.add_argument("--out", required=True, type=Path, help="directory for the Parquet files")
    parser.add_argument("--done", type=Path, help="a file that says no more lines are to come (default: run on)")
    parser.add_argument("--batch", type=int, default=20_000, help="most lines written at once (20000)")
    parser.add_argument("--period", type=float, default=0.5, help="seconds to gather a batch for (0.5)")
    parser.add_argument("--status", type=Path, help="JSON lines to append the progress to")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    spark = SparkSession.builder.appName("log pipeline").getOrCreate()

    # The agent's process is the queue's one writer. This one opens it to pop and ack only.
    def open_queue() -> mmapqueue.Queue:
        return mmapqueue.Queue(spark, options.queue, read_only=True)

    with open_patiently(open_queue) as queue:
        append_status(options.status, event="ready")
        work(spark, queue, options)

    rows = without_duplicates(spark.read.parquet(str(options.out / "rows")))
    per_minute(rows).coalesce(1).write.mode("overwrite").parquet(str(options.out / "minutes"))
    spark.stop()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
