"""The plugin in executors that are processes of their own: gauges for the queues that their tasks have open."""

import os
from pathlib import Path

from conftest import Script

JOB = """
import sys
import time
from pathlib import Path

import mmapqueue
from pyspark.sql import SparkSession

path, out = sys.argv[1], Path(sys.argv[2])
out.mkdir()
builder = SparkSession.builder.master("local-cluster[2,1,512]")
for key, value in {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.executor.memory": "512m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.plugins": "org.mmapqueue.spark.MmapQueuePlugin",
    "spark.metrics.conf.executor.sink.csv.class": "org.apache.spark.metrics.sink.CsvSink",
    "spark.metrics.conf.executor.sink.csv.directory": str(out),
    "spark.metrics.conf.executor.sink.csv.period": "1",
}.items():
    builder.config(key, value)
spark = mmapqueue.configure(builder).getOrCreate()
with mmapqueue.Queue(spark, path, segment_size="64k", capacity="64m") as queue:
    # More than goes into the pipe to Python at once: the task has the queue open as long as its rows are not taken.
    queue.push_many([b"x" * 1000] * 20000)


def watch(rows):
    next(rows)
    gauge = "*.plugin.org.mmapqueue.spark.MmapQueuePlugin.queue.records.csv"
    deadline = time.monotonic() + 120
    while not list(out.glob(gauge)):
        if time.monotonic() > deadline:
            yield "none but " + " ".join(sorted(file.name for file in out.glob("*MmapQueue*")))
            return
        time.sleep(0.05)
    yield list(out.glob(gauge))[0].name
    for _ in rows:
        pass


frame = spark.read.format("mmapqueue").option("minPartitions", 1).load(path)
for name in frame.rdd.mapPartitions(watch).collect():
    print(name.split(".")[1] in ("0", "1"), (out / name).read_text().splitlines()[1].split(",")[1])
spark.stop()
"""


def test_gauges_of_what_an_executor_has_open(script: Script, tmp_path: Path) -> None:
    home = {"SPARK_HOME": os.environ["SPARK_HOME"]} if "SPARK_HOME" in os.environ else {}
    out, err = script.start(JOB, tmp_path / "queue", tmp_path / "metrics", **home).communicate(timeout=480)
    assert out.splitlines() == ["True 20000"], err
