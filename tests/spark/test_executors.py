"""Tasks in other processes than the one that writes the queue."""

import os
from pathlib import Path

from conftest import Script

JOB = """
import sys
from pathlib import Path

import mmapqueue
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local-cluster[2,1,512]")
for key, value in {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.executor.memory": "512m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}.items():
    builder.config(key, value)
spark = mmapqueue.configure(builder).getOrCreate()
path = sys.argv[1]
items = [b"%d" % i for i in range(5000)]
with mmapqueue.Queue(spark, path, segment_size="64k", capacity="64m") as queue:
    queue.push_many(items)
    frame = spark.read.format("mmapqueue").option("minPartitions", 4).load(path)
    print([bytes(row.value) for row in frame.collect()] == items)
    print(frame.where("offset >= 4990").selectExpr("max(offset)", "count(*)").first()[:])
    frame = spark.read.format("mmapqueue").load(path)
    frame._jdf.queryExecution().executedPlan().execute().getNumPartitions()
    # As on a host that has no such directory.
    Path(path).rename(path + ".elsewhere")
    try:
        frame.collect()
    except Exception as e:
        print(f"partition 0 can not be read in {path} on host " in str(e), "on a file system that both see" in str(e))
    Path(path + ".elsewhere").rename(path)
spark.stop()
"""


def test_they_read_beside_the_writer(script: Script, tmp_path: Path) -> None:
    home = {"SPARK_HOME": os.environ["SPARK_HOME"]} if "SPARK_HOME" in os.environ else {}
    out, err = script.start(JOB, tmp_path / "queue", **home).communicate(timeout=240)
    assert out.splitlines() == ["True", "(4999, 10)", "True True"], err
