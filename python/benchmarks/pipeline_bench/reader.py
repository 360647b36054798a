"""The Spark job of the article's measurement: reader.py QUEUE OUT.

A streaming query reads the queue while it is written, and writes Parquet: partition, offset, bytes and the request's id
of each record. When OUT/stop exists, it reads what is left, and prints what it has read as a line of JSON.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

#: Where the id of the first log lies in an event, in bytes from its start: at most.
_HEAD = 2000


def main() -> None:
    """Reads until OUT/stop exists."""
    parser = argparse.ArgumentParser(prog="reader.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("queue", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()

    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    import mmapqueue

    builder = SparkSession.builder.master("local[2]").appName("pipeline_bench")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
    }.items():
        builder.config(key, value)
    spark = mmapqueue.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    head = f.decode(f.substring("value", 1, _HEAD), "ISO-8859-1")
    rows = mmapqueue.read_stream(options.queue, spark=spark, consumer="reader").select(
        "partition",
        "offset",
        f.length("value").alias("bytes"),
        f.regexp_extract(head, "id=([0-9a-f]{12})-", 1).alias("id"),
    )
    parquet = str(options.out / "rows")
    query = (
        rows.writeStream.format("parquet")
        .option("path", parquet)
        .option("checkpointLocation", str(options.out / "checkpoint"))
        .trigger(processingTime="1 second")
        .start()
    )
    (options.out / "started").touch()
    while query.isActive and not (options.out / "stop").exists():
        time.sleep(0.1)
    query.processAllAvailable()
    query.stop()
    read = spark.read.parquet(parquet)
    ids = [row.id for row in read.select("id").distinct().collect()]
    (options.out / "ids").write_text("\n".join(ids), encoding="ascii")
    sums = read.agg(f.count("*").alias("records"), f.sum("bytes").alias("bytes")).first()
    print(json.dumps({**(sums.asDict() if sums else {}), "distinct": len(ids)}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
