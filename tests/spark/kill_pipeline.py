"""The pipeline that is killed: a queue, two streaming queries with state, each with a queue as sink. See kill_loop.py.

python kill_pipeline.py <directory> <master> <once: 0 or 1>
"""

import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming.query import StreamingQuery

import mmapqueue

#: The probability that a row fails the attempt of its task. Retries are on, so that few of them end the query.
MISHAP = 0.001

#: The probability that a row delays its task on a cluster, and for how long: so the task gets a speculative copy.
DELAY = 0.003
DELAY_MILLIS = 1000

#: The digits that counts are kept for, and the partitions of the copy.
DIGITS = 10
PARTITIONS = 3


def session(master: str, directory: Path) -> SparkSession:
    (directory / "events").mkdir(exist_ok=True)
    builder = SparkSession.builder.master(master).appName("kill")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.speculation": "true",
        "spark.speculation.interval": "10ms",
        "spark.speculation.multiplier": "1.1",
        "spark.speculation.quantile": "0.1",
        "spark.speculation.minTaskRuntime": "10ms",
        # It names speculative attempts.
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": (directory / "events").as_uri(),
        "spark.executor.memory": "512m",
        "spark.task.maxFailures": "4",
    }.items():
        builder.config(key, value)
    return mmapqueue.configure(builder).getOrCreate()


def source(spark: SparkSession, directory: Path, delay: float) -> DataFrame:
    """The rows; each one may fail its task, or delay it."""
    reader = spark.readStream.format("mmapqueue").option("maxOffsetsPerTrigger", 150)
    rows = reader.option("minPartitions", 2).load(str(directory / "source"))
    luck = sf.expr("cast(reflect('java.lang.Math', 'random') as double)")
    value = sf.col("value").cast("string")
    # An empty text, after the delay.
    slowly = sf.expr(f"substring(reflect('java.lang.Thread', 'sleep', {DELAY_MILLIS}L), 1, 0)")
    mishap = sf.when(luck < MISHAP, sf.raise_error(sf.lit("mishap")))
    return rows.select(mishap.when(luck < MISHAP + delay, sf.concat(value, slowly)).otherwise(value).alias("value"))


def start(rows: DataFrame, directory: Path, name: str, mode: str, once: bool, **options: str | int) -> StreamingQuery:
    writer = rows.writeStream.format("mmapqueue").outputMode(mode).queryName(name)
    writer = writer.options(capacity="64m", checkpointLocation=str(directory / f"{name}-checkpoint"), **options)
    trigger = {"availableNow": True} if once else {"processingTime": "0 seconds"}
    return writer.trigger(**trigger).start(str(directory / name))


def copy(rows: DataFrame) -> DataFrame:
    """Each value once, changed."""
    return rows.dropDuplicates(["value"]).select(
        sf.concat(sf.lit("seen "), "value").alias("value"), sf.col("value").alias("key")
    )


def counts(rows: DataFrame) -> DataFrame:
    """The number of values by last digit."""
    digit = sf.substring("value", -1, 1)
    return rows.groupBy(digit.alias("digit")).count().select(sf.concat_ws(":", "digit", "count").alias("value"))


def main(directory: Path, master: str, once: bool) -> None:
    spark = session(master, directory)
    delay = DELAY if master.startswith("spark:") else 0.0
    # Readers of one queue, each with a consumer of its own.
    queries = [
        start(
            copy(source(spark, directory, delay)), directory, "copy", "append", once, partitions=PARTITIONS, key="key"
        ),
        start(counts(source(spark, directory, delay)), directory, "counts", "update", once),
    ]
    print("started", flush=True)
    for query in queries:
        query.awaitTermination()
    print("ended", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "1")
