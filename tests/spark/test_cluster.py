"""Executors in processes of their own: what they read and write, their gauges, and what they say of another disk."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import Script

pytest.importorskip("pyspark")
pytestmark = pytest.mark.slow

CLUSTER = """
import json, os, sys, time
from pathlib import Path

import mmapqueue
from pyspark.sql import SparkSession

root = sys.argv[1]
metrics = Path(root, "metrics")
metrics.mkdir()
builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.log.level", "OFF")
for key, value in {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
                   "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
                   "spark.executor.memory": "512m", "spark.sql.shuffle.partitions": "2",
                   "spark.task.maxFailures": "1", "spark.sql.warehouse.dir": root + "/warehouse",
                   "spark.executor.extraJavaOptions": os.environ["SPARK_SUBMIT_OPTS"],
                   "spark.plugins": "org.mmapqueue.spark.MmapQueuePlugin",
                   "spark.metrics.conf.executor.sink.csv.class": "org.apache.spark.metrics.sink.CsvSink",
                   "spark.metrics.conf.executor.sink.csv.directory": str(metrics),
                   "spark.metrics.conf.executor.sink.csv.period": "1"}.items():
    builder.config(key, value)
spark = mmapqueue.configure(builder).getOrCreate()
SMALL = dict(segment_size="4k", queue_capacity_segments=256, max_in_mem_segments=10, max_event_size=2000)


def say(**found):
    print(json.dumps(found), flush=True)


def values(path):
    rows = mmapqueue.read(path, spark=spark).select("partition", "offset", "value").collect()
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
with mmapqueue.Queue(source, spark=spark, **SMALL) as queue:
    queue.push_many([b"%d" % i for i in range(300)])
    # The driver has it open to write, and the executors read beside it.
    frame = mmapqueue.read(source, spark=spark, min_partitions=4)
    driver = spark._jvm.java.lang.ProcessHandle.current().pid()
    say(read=values(source), tasks=frame.rdd.getNumPartitions(),
        counted=frame.selectExpr("sum(offset)", "count(distinct value)").collect()[0])
    queue.push_many([b"%d" % i for i in range(300, 400)])

    # Through a shuffle into another queue, with two partitions.
    rows = mmapqueue.read(source, spark=spark).repartition(4).select("value")
    mmapqueue.write(rows, root + "/batch", partitions=2, **SMALL)
    say(written=sorted(values(root + "/batch"), key=int))

    def stream():
        frame = mmapqueue.read_stream(source, spark=spark, max_offsets_per_trigger=150).select("value")
        writer = mmapqueue.write_stream(frame, root + "/stream", checkpoint=root + "/checkpoint", **SMALL)
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(240)
        if query.exception():
            raise query.exception()
        return [progress["numInputRows"] for progress in query.recentProgress if progress["numInputRows"]]

    batches = stream()
    queue.push_many([b"%d" % i for i in range(400, 450)])
    say(batches=batches + stream(), streamed=values(root + "/stream"))

# Several segments' worth of records for each task.
with mmapqueue.Queue(root + "/many", spark=spark, segment_size="64k", capacity="64m") as queue:
    items = [b"%d" % i for i in range(5000)]
    queue.push_many(items)
    frame = mmapqueue.read(root + "/many", spark=spark, min_partitions=4)
    say(many=[bytes(row.value) for row in frame.collect()] == items,
        last=frame.where("offset >= 4990").selectExpr("max(offset)", "count(*)").first())


def watch(rows):
    next(rows)
    # Other than those of the driver: an executor's file begins with its number.
    gauge = "*.[01].plugin.org.mmapqueue.spark.MmapQueuePlugin.large.retained_records.csv"
    deadline = time.monotonic() + 120
    while not list(metrics.glob(gauge)):
        if time.monotonic() > deadline:
            yield "no gauge: " + " ".join(sorted(file.name for file in metrics.glob("*MmapQueue*")))
            return
        time.sleep(0.05)
    yield list(metrics.glob(gauge))[0].name
    for _ in rows:
        pass


with mmapqueue.Queue(root + "/large", spark=spark, segment_size="64k", capacity="64m") as queue:
    # More than goes into the pipe to Python at once: the task has the queue open as long as its rows are not taken.
    queue.push_many([b"x" * 1000] * 20000)
    frame = mmapqueue.read(root + "/large", spark=spark, min_partitions=1)
    (name,) = frame.rdd.mapPartitions(watch).collect()
    say(gauge=name, records=(metrics / name).read_text().splitlines()[1].split(",")[1])

# What the driver has found, and the executors do not.
frame = plan(mmapqueue.read(source, spark=spark))
os.rename(source, root + "/elsewhere")
say(gone=failure(frame.collect))
with mmapqueue.Queue(source, spark=spark, **SMALL) as queue:
    queue.push(b"another")
say(other=failure(frame.collect))
spark.stop()
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def found(root: Path) -> dict[str, Any]:
    """What one application has found; three JVMs start for it, so all tests look at the same one."""
    scripts = Script(root)
    try:
        process = scripts.start(CLUSTER, root)
        out, err = process.communicate(timeout=500)
    finally:
        scripts.end()
    assert process.returncode == 0, out + err
    said: dict[str, Any] = {}
    for line in out.splitlines():
        said |= json.loads(line)
    return said


NUMBERS = [str(i) for i in range(450)]


def test_they_read_beside_the_writer(found: dict[str, Any]) -> None:
    assert found["read"] == NUMBERS[:300]
    assert found["tasks"] == 4
    assert found["counted"] == [sum(range(300)), 300]
    assert found["many"] is True
    assert found["last"] == [4999, 10]


def test_they_write(found: dict[str, Any]) -> None:
    assert found["written"] == NUMBERS[:400]
    assert found["batches"] == [150, 150, 100, 50]
    assert found["streamed"] == NUMBERS


def test_gauges_of_what_an_executor_has_open(found: dict[str, Any]) -> None:
    assert found["gauge"].split(".")[1] in ("0", "1"), found["gauge"]
    assert found["records"] == "20000"


def test_errors_when_they_see_another_disk(found: dict[str, Any], root: Path) -> None:
    for text in (found["gone"], found["other"]):
        assert f"partition 0 cannot be read in {root / 'source'} on host " in text
        assert "executors must run on that host, and see the directory under the same path" in text
    assert "there is no such directory" in found["gone"]
    assert "the queue in the directory has the id " in found["other"]
