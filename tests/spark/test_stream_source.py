"""The source of a stream as Spark calls it, call by call."""

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mmapqueue
import sessions

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from .conftest import Fill, QueryFailed


def source(spark: SparkSession, queue_dir: Path, checkpoint: Path) -> Any:
    """The source of a query, as Spark makes it; its methods are Spark's to call."""
    jvm = sessions.jvm(spark)
    options = jvm.java.util.HashMap()
    options.put("path", str(queue_dir))
    provider = jvm.org.mmapqueue.spark.MmapQueueProvider()
    insensitive = jvm.org.apache.spark.sql.util.CaseInsensitiveStringMap(options)
    schema = provider.inferSchema(insensitive)
    gateway: Any = spark.sparkContext._gateway
    none = gateway.new_array(jvm.org.apache.spark.sql.connector.expressions.Transform, 0)
    table = provider.getTable(schema, none, options)
    return table.newScanBuilder(insensitive).build().toMicroBatchStream(checkpoint.as_uri())


def has_real_time(spark: SparkSession) -> bool:
    return tuple(map(int, spark.version.split(".")[:2])) >= (4, 1)


@pytest.mark.parametrize(
    ("checkpoint", "kept"),
    [
        ("sources/0", 1),
        (f"temporary-{uuid.uuid4()}/sources/0", 0),
        (f"temporary-{uuid.uuid4()}/sources/orders", 0),
    ],
    ids=["lasting", "temporary", "temporary with a name"],
)
def test_a_stopped_source_opens_nothing(
    spark: SparkSession, fill: Fill, queue_dir: Path, tmp_path: Path, checkpoint: str, kept: int
) -> None:
    """Spark commits after the stop where progress is tracked asynchronously."""
    fill(10)
    stopped = source(spark, queue_dir, tmp_path / checkpoint)
    begin = stopped.initialOffset()
    limit = stopped.getDefaultReadLimit()
    end = stopped.latestOffset(begin, limit)
    stopped.stop()
    stopped.commit(end)
    assert stopped.reportLatestOffset() is None
    assert not stopped.metrics(sessions.jvm(spark).java.util.Optional.of(end))
    calls: list[Callable[[], object]] = [
        lambda: stopped.initialOffset(),
        lambda: stopped.latestOffset(begin, limit),
        lambda: stopped.planInputPartitions(begin, end),
        lambda: stopped.prepareForTriggerAvailableNow(),
        *([lambda: stopped.planInputPartitions(begin)] if has_real_time(spark) else []),
    ]
    for call in calls:
        with pytest.raises(QueryFailed, match="has been stopped"):
            call()
    stopped.stop()
    with mmapqueue.Queue(queue_dir, spark=spark) as queue:
        assert len(queue.consumers()) == kept
    # The consumer is free for the next start, which acks what the checkpoint has completed.
    restarted = source(spark, queue_dir, tmp_path / checkpoint)
    restarted.latestOffset(end, limit)
    with mmapqueue.Queue(queue_dir, spark=spark) as queue:
        (one,) = queue.consumer_stats().values()
    assert one.committed_offset == (10 if kept else 0)
    restarted.stop()
