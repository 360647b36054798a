"""Reads archives in batches, each three times, from a driver in the hub.

python read_job.py PROPERTIES ARCHIVE…

PROPERTIES is a JSON object with the properties of the session. It prints a line of JSON for each archive: records,
bytes of their values, seconds of each round.
"""

from __future__ import annotations

import json
import sys
import time

from pyspark.sql import SparkSession, functions

import mmapqueue

_ROUNDS = 3


def main() -> None:
    """Reads and prints."""
    properties, *archives = sys.argv[1:]
    builder = SparkSession.builder.appName("read")
    for key, value in json.loads(properties).items():
        builder.config(key, value)
    spark = mmapqueue.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("WARN")
    for archive in archives:
        seconds = []
        for _ in range(_ROUNDS):
            start = time.perf_counter()
            frame = spark.read.format("mmapqueue").load(archive)
            (row,) = frame.agg(functions.count("*"), functions.sum(functions.length("value"))).collect()
            seconds.append(round(time.perf_counter() - start, 3))
        print(json.dumps({"records": row[0], "bytes": row[1], "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
