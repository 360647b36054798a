"""Executors in processes of their own read an archive through Hadoop, with the configuration of the session."""

import json
from pathlib import Path

import pytest

from conftest import Script

pytest.importorskip("pyspark")

EXECUTORS = """
import json, os, sys
from pathlib import Path

import mmapqueue
from pyspark.sql import SparkSession

root = sys.argv[1]
builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.log.level", "OFF")
for key, value in {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
                   "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
                   "spark.executor.memory": "512m", "spark.sql.shuffle.partitions": "2",
                   "spark.task.maxFailures": "1", "spark.sql.warehouse.dir": root + "/warehouse",
                   "spark.executor.extraJavaOptions": os.environ["SPARK_SUBMIT_OPTS"]}.items():
    builder.config(key, value)
spark = mmapqueue.configure(builder).getOrCreate()
records = {}
for number, host in enumerate(("w1", "w2", "w3")):
    with mmapqueue.Queue(root + "/" + host, spark=spark, archive_uri=root + "/archive", archive_host=host) as queue:
        records[number] = [f"{host} {i}" for i in range(100)]
        queue.push_many([text.encode() for text in records[number]])

# The mount table is in the session alone: executors get it from the driver.
spark.conf.set("fs.viewfs.mounttable.shared.link./data", Path(root).as_uri())
uri = "viewfs://shared/data/archive"


def texts(rows):
    found = {}
    for row in sorted(rows, key=lambda row: (row.partition, row.offset)):
        found.setdefault(row.partition, []).append(bytes(row.value).decode())
    return found


read = texts(mmapqueue.read(uri, spark=spark, min_partitions=4).collect())
rows = mmapqueue.read_stream(uri, spark=spark, max_offsets_per_trigger=70)
writer = rows.writeStream.format("parquet").option("path", root + "/out").option("checkpointLocation", root + "/cp")
query = writer.trigger(availableNow=True).start()
ended = query.awaitTermination(240)
streamed = texts(spark.read.parquet(root + "/out").collect())
spark.sql(f"CREATE TEMPORARY VIEW v USING mmapqueue OPTIONS (path '{uri}')")
spark.conf.set("spark.sql.catalog.q", "org.mmapqueue.spark.QueueCatalog")
spark.conf.set("spark.sql.catalog.q.path", "viewfs://shared/data")
tables = [row.tableName for row in spark.sql("SHOW TABLES IN q").collect()]
print(json.dumps([tables, spark.sql("SELECT count(*) FROM q.archive").collect()[0][0],
                  read == records, ended, streamed == records,
                  spark.sql("SELECT count(*) FROM v").collect()[0][0],
                  len(list(Path(root, "archive", "consumers").glob("*.properties")))]))
spark.stop()
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_executors_read_an_archive(script: Script, tmp_path: Path) -> None:
    process = script.start(EXECUTORS, tmp_path)
    out, err = process.communicate(timeout=540)
    assert process.returncode == 0, err
    assert json.loads(out.splitlines()[-1]) == [["archive"], 300, True, True, True, 300, 1]
