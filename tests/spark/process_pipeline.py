"""The query that is killed: `process_stream` with all outcomes. See process_kills.py.

python process_pipeline.py <directory> <master> <until nothing is left: 0 or 1>
"""

import os
import sys
import time
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

sys.path.insert(0, str(Path(__file__).parents[1]))

import mmapqueue
from spark.kill_pipeline import session

#: The probability that a row fails the attempt of its task. Retries are on, so that few of them end the query.
MISHAP = 0.001

#: Enough that no record uses them up.
ATTEMPTS = 10_000


def outcome(offset: int, attempt: int) -> str | None:
    """What the handler returns for a record."""
    if offset % 13 == 6 and attempt == 1:
        return None
    if offset % 7 == 3 and attempt <= 2:
        return "nack"
    return "dead-letter" if offset % 11 == 5 else "ack"


#: The same.
OUTCOME = """CASE WHEN offset % 13 = 6 AND attempt = 1 THEN NULL
                  WHEN offset % 7 = 3 AND attempt <= 2 THEN 'nack'
                  WHEN offset % 11 = 5 THEN 'dead-letter'
                  ELSE 'ack' END"""


def main(directory: Path, master: str, until_done: bool) -> None:
    spark = session(master, directory)
    journal = os.open(directory / "journal", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    queue = mmapqueue.Queue(
        directory / "work",
        spark=spark,
        read_only=True,
        max_attempts=ATTEMPTS,
        dead_letter_dir=directory / "dead",
    )

    def handle(batch: DataFrame) -> DataFrame:
        rows = batch.select("offset", "attempt", sf.col("value").cast("string").alias("text")).collect()
        assert all(row.text == str(row.offset) for row in rows)
        # A kill may cut the line: the next one begins with a line of its own.
        line = " ".join(f"{row.offset}:{row.attempt}" for row in rows)
        os.write(journal, f"\n{os.getpid()} {line} .\n".encode())
        luck = sf.expr("cast(reflect('java.lang.Math', 'random') as double)")
        mishap = sf.when(luck < MISHAP, sf.raise_error(sf.lit("mishap")))
        # A handler takes time, and so may be killed.
        slowly = sf.expr("substring(reflect('java.lang.Thread', 'sleep', 10L), 1, 0)")
        return batch.select(
            "offset",
            mishap.otherwise(sf.expr(OUTCOME)).alias("outcome"),
            (sf.length(slowly) + 0.02).alias("delay"),
        )

    writer = mmapqueue.process_stream(spark, queue, handle, consumer="workers", max_records=40, retry_delay="20ms")
    query = writer.trigger(processingTime="0 seconds").start()
    print("started", flush=True)
    while not (until_done and done(queue)):
        if query.awaitTermination(1 if until_done else None):
            raise RuntimeError("the query has ended")
    query.stop()
    print("ended", flush=True)
    spark.stop()


def done(queue: mmapqueue.Queue) -> bool:
    """Whether nothing is left to do: the query's consumer has committed all records."""
    time.sleep(0.1)
    return queue.consumer_stats()["workers"].committed_offset == queue.end_offset()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "1")
