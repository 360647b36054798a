"""The duration of a micro-batch of at most one record, beside Spark's rate source."""

import statistics
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import mmapqueue

#: The first batches of a query: warm-up.
WARM = 5

Feed = Callable[[], object]


def _nothing() -> None:
    pass


def _ticking(spark: SparkSession) -> DataFrame:
    """Has one row for each micro-batch."""
    return _bytes(spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load())


def _bytes(numbers: DataFrame) -> DataFrame:
    return numbers.selectExpr("cast(cast(value as string) as binary) as value")


def _triggers(frame: DataFrame, feed: Feed, checkpoint: Path, count: int) -> list[int]:
    """Spark's own ms of the next triggers with a batch."""
    query = frame.writeStream.format("noop").option("checkpointLocation", str(checkpoint)).start()
    spent: dict[int, int] = {}
    try:
        while len(spent) < count + WARM:
            feed()
            time.sleep(0.01)
            for progress in query.recentProgress:
                if progress["numInputRows"]:
                    spent[progress["batchId"]] = progress["durationMs"]["triggerExecution"]
            failure = query.exception()
            if failure:
                raise failure
    finally:
        query.stop()
    return [spent[batch] for batch in sorted(spent)][WARM:]


def micro_batches(spark: SparkSession, scratch: Path, count: int, rounds: int) -> dict[str, dict[str, list[int]]]:
    """Ms of micro-batches, by kind and source; the sources take turns.

    `one record`: the batch is of one record. `empty`: the source has nothing, and another one, of Spark's, has one row.
    """
    with mmapqueue.Queue(scratch / "tiny", spark=spark, segment_size="64k") as queue:
        with mmapqueue.Queue(scratch / "idle", spark=spark, segment_size="64k"):
            pass
        rate = spark.readStream.format("rate").option("rowsPerSecond", 1).option("numPartitions", 1).load()
        idle = mmapqueue.read_stream(scratch / "idle", spark=spark).select("value")
        sources: dict[str, dict[str, tuple[DataFrame, Feed]]] = {
            "one record": {
                "queue": (
                    mmapqueue.read_stream(scratch / "tiny", spark=spark).select("value"),
                    lambda: queue.push(b"x"),
                ),
                "rate": (_ticking(spark), _nothing),
            },
            "empty": {
                "queue": (_ticking(spark).union(idle), _nothing),
                "rate": (_ticking(spark).union(_bytes(rate)), _nothing),
            },
        }
        taken: dict[str, dict[str, list[int]]] = {kind: {name: [] for name in named} for kind, named in sources.items()}
        for turn in range(rounds):
            for kind, named in sources.items():
                for name in named if turn % 2 == 0 else reversed(named):
                    frame, feed = named[name]
                    checkpoint = scratch / f"{kind}-{name}-{turn}"
                    taken[kind][name] += _triggers(frame, feed, checkpoint, max(1, count // rounds))
    return taken


def medians(taken: dict[str, dict[str, list[int]]]) -> dict[str, dict[str, float]]:
    """Of each source, in ms."""
    return {kind: {name: statistics.median(ms) for name, ms in named.items()} for kind, named in taken.items()}
