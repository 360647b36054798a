"""Streaming queries for tests; a sink stores the rows of each batch."""

import json
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import mmapqueue

#: For one query to end, on a machine that is busy.
SECONDS = 180

Row = tuple[int, int, bytes]


class Batches:
    """A sink that keeps the rows of each batch: partition, offset, value, in the order of the first two."""

    def __init__(self) -> None:
        self.rows: dict[int, list[Row]] = {}

    def __call__(self, frame: DataFrame, batch: int) -> None:
        found = sorted((row.partition, row.offset, bytes(row.value)) for row in frame.collect())
        assert self.rows.setdefault(batch, found) == found, "a batch that is run again has the same rows"

    def sizes(self) -> list[int]:
        """The sizes of the batches that have rows."""
        return [len(rows) for _, rows in sorted(self.rows.items()) if rows]

    def all(self) -> list[Row]:
        return [row for _, rows in sorted(self.rows.items()) for row in rows]

    def values(self) -> list[bytes]:
        return [value for _, _, value in self.all()]


class Streams:
    """Queries on one queue with one checkpoint, one after the other."""

    def __init__(self, spark: SparkSession, queue_dir: Path, checkpoint: Path) -> None:
        self.spark = spark
        self.queue_dir = queue_dir
        self.checkpoint = checkpoint
        self.batches = Batches()

    def start(self, trigger: dict[str, Any] | None = None, **options: Any) -> StreamingQuery:
        """Starts a query, which runs until it is stopped, or as its trigger determines."""
        frame = self.spark.readStream.format("mmapqueue").options(**options).load(str(self.queue_dir))
        writer = frame.writeStream.option("checkpointLocation", str(self.checkpoint)).foreachBatch(self.batches)
        return writer.trigger(**(trigger or {"processingTime": "0 seconds"})).start()

    def run(self, **options: Any) -> StreamingQuery:
        """Runs a query that reads all available records and ends."""
        return self.end(self.start({"availableNow": True}, **options))

    def end(self, query: StreamingQuery) -> StreamingQuery:
        """Waits for the end of a query; raises its failure."""
        try:
            assert query.awaitTermination(SECONDS), query.status
        finally:
            query.stop()
        return query

    def consumer(self) -> str:
        """The default consumer name of queries with this checkpoint."""
        with mmapqueue.Queue(self.queue_dir, spark=self.spark) as queue:
            (name,) = (name for name in queue.consumers() if name.startswith("spark-"))
        return name

    def forget_last_commit(self) -> None:
        """Leaves the checkpoint as a driver does that is killed before it commits its last batch."""
        last = max(int(file.name) for file in (self.checkpoint / "commits").iterdir() if file.name.isdigit())
        (self.checkpoint / "commits" / str(last)).unlink()
        (self.checkpoint / "commits" / f".{last}.crc").unlink(missing_ok=True)


def progresses(query: StreamingQuery) -> list[dict[str, Any]]:
    """The progress reports of a query, oldest first, in one form for all versions of Spark."""
    said: list[Any] = query.recentProgress
    return [each if isinstance(each, dict) else json.loads(each.json) for each in said]
