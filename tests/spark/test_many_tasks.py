"""More tasks than a queue may have segments in memory."""

from pathlib import Path

import pytest

from conftest import Script

JOB = """
import sys
import mmapqueue
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[24]").config("spark.ui.enabled", "false")
builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.log.level", "OFF")
builder = builder.config("spark.ui.showConsoleProgress", "false")
spark = mmapqueue.configure(builder).getOrCreate()
items = [bytes([i % 251]) * 7000 for i in range(2000)]
with mmapqueue.Queue(sys.argv[1], spark=spark, segment_size="4k", capacity="64m", max_event_size=8000) as queue:
    queue.push_many(items)
    frame = spark.read.format("mmapqueue").option("minPartitions", 24).load(sys.argv[1])
    assert frame.rdd.getNumPartitions() == 24
    # Each record lies in three segments.
    print([bytes(row.value) for row in frame.collect()] == items)
spark.stop()
"""


@pytest.mark.slow
def test_they_do_not_wait_for_each_other_for_ever(script: Script, tmp_path: Path) -> None:
    assert script.start(JOB, tmp_path / "queue").communicate(timeout=180)[0] == "True\n"
