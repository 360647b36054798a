"""The queries that are killed: real-time mode from a queue to a queue. See real_time_kills.py.

python real_time_pipeline.py <directory> <master> <0>
"""

import sys
from pathlib import Path

import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming.query import StreamingQuery

import mmapqueue

#: The partitions of the source; only the first one has counts, as several have no order.
PARTITIONS = 2

#: A core for each task of all queries.
MASTER = f"local[{PARTITIONS + 2}]"

#: Whether Spark has state in real-time mode.
STATE = tuple(map(int, pyspark.__version__.split(".")[:2])) >= (4, 3)

#: Spark's shortest batch, so that kills meet the end of batches, too.
BATCH = "5 seconds"


def session(directory: Path, master: str) -> SparkSession:
    builder = SparkSession.builder.master(master).appName("kill")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "1",
        # A kill while Spark logs the first batch leaves a temporary file, for which it would refuse the checkpoint.
        "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart": "false",
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
    }.items():
        builder.config(key, value)
    return mmapqueue.configure(builder).getOrCreate()


def words(records: DataFrame) -> DataFrame:
    """Several rows of a record, of each third record none."""
    texts = sf.split(records.value.cast("string"), " ")
    return records.where("offset % 3 > 0").select(sf.posexplode(texts).alias("ordinal", "value"), "partition", "offset")


def counts(records: DataFrame) -> DataFrame:
    """The number of records by the last digit of their offset, as often as it changes."""
    digits = records.select((sf.col("offset") % 10).alias("digit"), "partition", "offset").groupBy("digit")
    found = digits.agg(
        sf.count("*").alias("count"), sf.max("partition").alias("partition"), sf.max("offset").alias("offset")
    )
    return found.select(sf.concat_ws(":", "digit", "count").alias("value"), "partition", "offset")


def start(directory: Path, name: str, rows: DataFrame) -> StreamingQuery:
    checkpoint = directory / f"{name}-checkpoint"
    writer = mmapqueue.real_time_sink(rows, directory / name, checkpoint=checkpoint, batch=BATCH, capacity="64m")
    return writer.queryName(name).start()


def main(directory: Path, master: str) -> None:
    spark = session(directory, master)
    # Spark refuses a query in real-time mode while its executors are not there yet.
    spark.sparkContext.parallelize(range(PARTITIONS + 2), PARTITIONS + 2).count()
    source = directory / "source"
    queries = [start(directory, "words", words(mmapqueue.read_stream(source, spark=spark)))]
    if STATE:
        first = mmapqueue.read_stream(source / "p=0", spark=spark)
        queries.append(start(directory, "counts", counts(first)))
    print("started", flush=True)
    for query in queries:
        query.awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
