"""Executors in processes of their own: what they read and write, and what they say when they see another disk."""

import json
from pathlib import Path

import pytest

from conftest import Script

pytest.importorskip("pyspark")

CLUSTER = """
import json, os, shutil, sys, traceback
import mmapqueue
from pyspark.sql import SparkSession

root = sys.argv[1]
builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.log.level", "OFF")
for key, value in {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
                   "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
                   "spark.executor.memory": "512m", "spark.sql.shuffle.partitions": "2",
                   "spark.task.maxFailures": "1", "spark.sql.warehouse.dir": root + "/warehouse",
                   "spark.plugins": "org.mmapqueue.spark.MmapQueuePlugin"}.items():
    builder.config(key, value)
spark = mmapqueue.configure(builder).getOrCreate()
SMALL = dict(segment_size="4k", queue_capacity_segments=256, max_in_mem_segments=10, max_event_size=2000)


def say(**found):
    print(json.dumps(found), flush=True)


def values(path):
    rows = mmapqueue.read(spark, path).select("partition", "offset", "value").collect()
    return [bytes(row.value).decode() for row in sorted(rows)]


def plan(frame):
    frame._jdf.queryExecution().executedPlan().execute().getNumPartitions()
    return frame


def failure(act):
    try:
        act()
    except Exception as error:
        text = str(error)
        return text[: text.find("Driver stacktrace")] if "Driver stacktrace" in text else text
    return "it did not fail"


source = root + "/source"
with mmapqueue.Queue(spark, source, **SMALL) as queue:
    queue.push_many([b"%d" % i for i in range(300)])
    # The driver has it open to write, and the executors read beside it.
    frame = mmapqueue.read(spark, source, min_partitions=4)
    driver = spark._jvm.java.lang.ProcessHandle.current().pid()
    say(read=values(source), tasks=frame.rdd.getNumPartitions(),
        counted=frame.selectExpr("sum(offset)", "count(distinct value)").collect()[0])
    queue.push_many([b"%d" % i for i in range(300, 400)])

    # Through a shuffle into another queue, with two partitions.
    rows = mmapqueue.read(spark, source).repartition(4).select("value")
    mmapqueue.write(rows, root + "/batch", partitions=2, **SMALL)
    say(written=sorted(values(root + "/batch"), key=int))

    def stream():
        frame = mmapqueue.read_stream(spark, source, max_offsets_per_trigger=150).select("value")
        writer = mmapqueue.write_stream(frame, root + "/stream", checkpoint=root + "/checkpoint", **SMALL)
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(240)
        if query.exception():
            raise query.exception()
        return [progress["numInputRows"] for progress in query.recentProgress if progress["numInputRows"]]

    batches = stream()
    queue.push_many([b"%d" % i for i in range(400, 450)])
    say(batches=batches + stream(), streamed=values(root + "/stream"))

# What the driver has found, and the executors do not.
frame = plan(mmapqueue.read(spark, source))
os.rename(source, root + "/elsewhere")
say(gone=failure(frame.collect))
with mmapqueue.Queue(spark, source, **SMALL) as queue:
    queue.push(b"another")
say(other=failure(frame.collect))
spark.stop()
"""


def test_executors_in_processes_of_their_own(script: Script, tmp_path: Path) -> None:
    process = script.start(CLUSTER, tmp_path)
    out, err = process.communicate(timeout=500)
    assert process.returncode == 0, out + err
    found: dict[str, object] = {}
    for line in out.splitlines():
        found |= json.loads(line)
    numbers = [str(i) for i in range(450)]
    assert found["read"] == numbers[:300]
    assert found["tasks"] == 4
    assert found["counted"] == [sum(range(300)), 300]
    assert found["written"] == numbers[:400]
    assert found["batches"] == [150, 150, 100, 50]
    assert found["streamed"] == numbers
    for text in (found["gone"], found["other"]):
        assert isinstance(text, str)
        assert f"partition 0 can not be read in {tmp_path / 'source'} on host " in text
        assert "must be on a file system that both see, under the same path" in text
    assert "there is no such directory" in str(found["gone"])
    assert "the queue that is there has the id " in str(found["other"])
