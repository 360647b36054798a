"""A Spark job of one host: its local queue, as a stream, to a directory of Parquet files on the shared file system.

python parquet_job.py QUEUE TARGET CHECKPOINT TRIGGER [KEY=VALUE…]
"""

from __future__ import annotations

import signal
import sys

from pyspark.sql import SparkSession

import mmapqueue


def main() -> None:
    """Runs until SIGTERM."""
    queue, target, checkpoint, trigger, *settings = sys.argv[1:]
    builder = SparkSession.builder.master("local[1]").appName("queue to Parquet")
    for setting in settings:
        builder.config(*setting.split("=", 1))
    spark = mmapqueue.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("WARN")
    frame = spark.readStream.format("mmapqueue").load(queue).select("partition", "offset", "timestamp", "value")
    writer = frame.writeStream.format("parquet").option("path", target).option("checkpointLocation", checkpoint)
    query = writer.trigger(processingTime=trigger).start()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print("started", flush=True)
    query.awaitTermination()


if __name__ == "__main__":
    main()
