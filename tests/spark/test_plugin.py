"""The plugin: gauges for open queues in Spark's own metrics, as its UI gives them out."""

import json
from pathlib import Path

import pytest

import mmapqueue
from conftest import SMALL, Script

pytest.importorskip("pyspark")
pytestmark = pytest.mark.slow

START = """
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
"""

WATCHED = (
    START
    + """
def queue(path):
    return mmapqueue.Queue(sys.argv[1] + path, spark=spark, segment_size="4k", queue_capacity_segments=16,
                           max_in_mem_segments=10, max_event_size=2000, prefetch=0)


gauges()
with queue("/a/events") as first, queue("/b/events") as second, queue("/parts/p=1"), queue("/other/parts"):
    first.push_many([b"x"] * 5)
    first.consumer("slow").pop()
    first.pop_many(2)
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
)

READING = (
    START
    + """
with mmapqueue.Queue(sys.argv[1], spark=spark, read_only=True):
    gauges()
spark.stop()
"""
)

OF_QUEUES = {
    "pushed_records_total", "pushed_bytes_total", "retained_records", "used_bytes", "capacity_bytes", "fill_ratio",
    "unsynced_bytes", "mapped_bytes", "consumers", "recoveries", "recovery_seconds", "recovery_truncated_bytes",
    "fsync_seconds_sum", "fsync_seconds_count", "room_waits_total", "room_wait_seconds_total",
}  # fmt: skip


def figures(script: Script, code: str, directory: Path) -> list[dict[str, float]]:
    process = script.start(code, directory)
    out, err = process.communicate(timeout=180)
    assert process.returncode == 0, err
    return [json.loads(line) for line in out.splitlines()]


def test_gauges_come_and_go_with_queues(script: Script, tmp_path: Path) -> None:
    before, opened, shared, closed, read = figures(script, WATCHED, tmp_path)
    assert before == closed == read == {"open_queues": 0}
    assert opened.pop("open_queues") == shared.pop("open_queues") == 4
    assert set(opened) == set(shared)
    names = {"events", "events-2", "parts.p1", "parts"}
    of_each = {name: {key[len(name) + 1 :] for key in opened if key.rpartition(".")[0] == name} for name in names}
    assert of_each["events"] == of_each["events-2"] == of_each["parts.p1"] == of_each["parts"] > OF_QUEUES
    assert sum(map(len, of_each.values())) == len(opened)
    expected = {
        "pushed_records_total": 5, "capacity_bytes": 65536, "consumers": 2, "popped_records_total": 3,
        "acked_records_total": 1, "lag_records": 5, "in_flight_records": 2,
    }  # fmt: skip
    assert {figure: opened[f"events.{figure}"] for figure in expected} == expected
    assert opened["events.mapped_bytes"] >= 4096
    assert opened["events.oldest_unacked_age_seconds"] > 0
    assert (opened["events-2.consumers"], opened["events-2.lag_records"]) == (1, 0)
    assert opened["parts.p1.retained_records"] == 0


def test_a_queue_that_another_process_writes_has_no_gauges_of_the_writer(script: Script, tmp_path: Path) -> None:
    with mmapqueue.Queue(tmp_path / "events", **SMALL) as queue:
        queue.push(b"one")
        (read,) = figures(script, READING, tmp_path / "events")
    assert read["events.retained_records"] == 1
    assert {name.partition(".")[2] for name in read} & OF_QUEUES == OF_QUEUES - {
        "recovery_seconds", "recovery_truncated_bytes", "fsync_seconds_sum", "fsync_seconds_count",
        "room_waits_total", "room_wait_seconds_total",
    }  # fmt: skip
