"""The plugin: gauges for open queues in Spark's own metrics, as its UI gives them out."""

import json
from pathlib import Path

import pytest

from conftest import Script

pytest.importorskip("pyspark")

WATCHED = """
import json, sys, urllib.request
import mmapqueue
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[1]").config("spark.log.level", "OFF")
for key, value in {"spark.plugins": "org.mmapqueue.spark.MmapQueuePlugin", "spark.ui.port": "0",
                   "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}.items():
    builder.config(key, value)
spark = mmapqueue.configure(builder).getOrCreate()


def gauges():
    with urllib.request.urlopen(spark.sparkContext.uiWebUrl + "/metrics/json/") as answer:
        all = json.load(answer)["gauges"]
    mark = ".plugin.org.mmapqueue.spark.MmapQueuePlugin."
    print(json.dumps({name.split(mark)[1]: gauge["value"] for name, gauge in all.items() if mark in name}))


def queue(path):
    return mmapqueue.Queue(sys.argv[1] + path, spark=spark, segment_size="4k", queue_capacity_segments=16,
                           max_in_mem_segments=10, max_event_size=2000)


gauges()
with queue("/a/events") as first, queue("/b/events") as second, queue("/parts/p=1"):
    first.push_many([b"x"] * 5)
    first.pop()
    first.ack(0)
    second.create_consumer("c", start="latest")
    gauges()
    # A queue that is open twice has gauges once, until both are closed.
    with queue("/a/events"):
        pass
    gauges()
gauges()
rows = spark.read.format("mmapqueue").load(sys.argv[1] + "/a/events")
assert rows.count() == 4 or rows.count() == 5
gauges()
spark.stop()
with queue("/a/events") as again:
    assert again.push(b"y") == 5
"""

FIGURES = {
    "firstOffset", "endOffset", "records", "segmentsInUse", "capacitySegments", "mappedBytes", "unflushedBytes",
    "consumers", "lag",
}  # fmt: skip


def test_gauges_come_and_go_with_queues(script: Script, tmp_path: Path) -> None:
    process = script.start(WATCHED, tmp_path)
    out, err = process.communicate(timeout=180)
    assert process.returncode == 0, err
    before, opened, shared, closed, read = (json.loads(line) for line in out.splitlines())
    assert before == closed == read == {"openQueues": 0}
    assert opened.pop("openQueues") == shared.pop("openQueues") == 3
    names = {"events", "events-2", "parts.p1"}
    assert set(opened) == set(shared) == {f"{name}.{figure}" for name in names for figure in FIGURES}
    expected = {"endOffset": 5, "capacitySegments": 16, "consumers": 1, "lag": 4}
    assert {figure: opened[f"events.{figure}"] for figure in expected} == expected
    assert opened["events.records"] == 5 - opened["events.firstOffset"]
    assert opened["events.mappedBytes"] >= 4096
    assert (opened["events-2.consumers"], opened["events-2.lag"]) == (1, 0)
    assert opened["parts.p1.records"] == 0
