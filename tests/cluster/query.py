"""A streaming query of a driver in the hub: an archive to a directory of Parquet files, which Spark's log of commits
makes exactly-once.

    python query.py ARCHIVE TARGET CHECKPOINT PROPERTIES [KEY=VALUE of the source]…

PROPERTIES is a JSON object with the properties of the session. It runs until SIGTERM.
"""

from __future__ import annotations

import json
import signal
import sys

from pyspark.sql import SparkSession

import mmapqueue


def main() -> None:
    archive, target, checkpoint, properties, *options = sys.argv[1:]
    builder = SparkSession.builder.appName("query")
    for key, value in json.loads(properties).items():
        builder.config(key, value)
    spark = mmapqueue.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("WARN")
    reader = spark.readStream.format("mmapqueue")
    for option in options:
        reader = reader.option(*option.split("=", 1))
    frame = reader.load(archive).select("partition", "offset", "value")
    writer = frame.writeStream.format("parquet").option("path", target).option("checkpointLocation", checkpoint)
    query = writer.trigger(processingTime="500 milliseconds").start()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print("started", flush=True)
    query.awaitTermination()


if __name__ == "__main__":
    main()
