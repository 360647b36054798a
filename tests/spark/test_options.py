"""Options: unknown names and their errors, spelling, durations."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import mmapqueue

from .conftest import Fill, Load, QueryFailed
from .sinks import append, records
from .streams import Streams


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    return spark.range(0, 3, 1, 1).select(sf.col("id").cast("string").alias("value"))


@pytest.fixture
def streams(spark: SparkSession, queue_dir: Path, tmp_path: Path) -> Streams:
    return Streams(spark, queue_dir, tmp_path / "checkpoint")


def batch_read(load: Load, options: dict[str, Any]) -> str:
    with pytest.raises(QueryFailed) as caught:
        load(**options).collect()
    return str(caught.value)


def batch_write(rows: DataFrame, path: Path, options: dict[str, Any]) -> str:
    with pytest.raises(QueryFailed) as caught:
        append(rows, path, **options)
    return str(caught.value)


def stream_read(streams: Streams, options: dict[str, Any]) -> str:
    with pytest.raises(QueryFailed) as caught:
        streams.run(**options)
    return str(caught.value)


def stream_write(spark: SparkSession, source: Path, path: Path, options: dict[str, Any]) -> str:
    frame = spark.readStream.format("mmapqueue").load(str(source))
    writer = frame.writeStream.format("mmapqueue").trigger(availableNow=True).options(**options)
    with pytest.raises(QueryFailed) as caught:
        writer.option("checkpointLocation", str(path.with_name("checkpoint"))).start(str(path)).awaitTermination()
    return str(caught.value)


# ---- names that have no effect


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "startingOfsets",
            "option startingOfsets has no effect: there is no such option; did you mean startingOffsets?",
        ),
        ("fail_on_dataloss", None),
        ("segmntSize", "did you mean segment_size?"),
        ("rowsPerSecond", "option rowsPerSecond has no effect: there is no such option"),
        ("kafka.bootstrap.servers", "option kafka.bootstrap.servers is Kafka's; use path, the queue's directory"),
        ("kafka.group.id", "option kafka.group.id is Kafka's; use consumer"),
        ("kafka.sasl.jaas.config", "option kafka.sasl.jaas.config is Kafka's; none is needed"),
        ("subscribe", "option subscribe is Kafka's; use path"),
        ("subscribePattern", "option subscribePattern is Kafka's; use path, and filter on the column partition"),
        ("assign", "option assign is Kafka's; use path, and filter on the column partition"),
        ("startingOffsetsByTimestamp", "option startingOffsetsByTimestamp is Kafka's; use startingTimestamp"),
        ("endingOffsetsByTimestamp", "option endingOffsetsByTimestamp is Kafka's; use endingTimestamp"),
        ("groupIdPrefix", "option groupIdPrefix is Kafka's; use consumer"),
        ("includeHeaders", "option includeHeaders is Kafka's; put headers into the column value"),
        ("maxRecordsPerPartition", "option maxRecordsPerPartition is Kafka's; use maxPartitionBytes or minPartitions"),
        ("fetchOffset.numRetries", "option fetchOffset.numRetries is Kafka's; none is needed"),
        ("maxFilesPerTrigger", "option maxFilesPerTrigger is a file source's; use maxOffsetsPerTrigger"),
        ("queue_dir", "option queue_dir has no effect here; use path"),
        ("readOnly", "option readOnly has no effect here; "),
    ],
)
def test_names_that_are_refused(name: str, said: str | None, fill: Fill, load: Load) -> None:
    fill(1)
    if said is None:
        assert load(**{name: "true"}).count() == 1
    else:
        text = batch_read(load, {name: "secret"})
        assert said in text
        assert "secret" not in text


def test_every_refused_name_is_named(fill: Fill, load: Load) -> None:
    fill(1)
    text = batch_read(load, {"subscribe": "x", "kafka.acks": "all", "colour": "red"})
    assert all(f"option {name} " in text for name in ("subscribe", "kafka.acks", "colour"))
    text = batch_read(load, {"sync": "true", "maxOffsetsPerTrigger": "5"})
    assert all(f"option {name} has no effect on a batch read" in text for name in ("sync", "maxOffsetsPerTrigger"))


@pytest.mark.parametrize(
    "name", ["maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay", "maxBytesPerTrigger"]
)
def test_options_of_streams_are_refused_in_batches(name: str, fill: Fill, load: Load) -> None:
    fill(1)
    said = f"option {name} has no effect on a batch read; it applies to a streaming read"
    value = "5s" if name == "maxTriggerDelay" else "5"
    assert said in batch_read(load, {name: value})
    with pytest.raises(QueryFailed) as caught:
        load(**{name: value}).count()
    assert said in str(caught.value)


@pytest.mark.parametrize("name", ["endingOffsets", "endingTimestamp"])
def test_options_of_batches_are_refused_in_streams(name: str, fill: Fill, streams: Streams) -> None:
    fill(1)
    said = f"option {name} has no effect on a streaming read; it applies to a batch read"
    assert said in stream_read(streams, {name: "1"})


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("capacity", "a batch write, a streaming write"),
        ("segmentSize", "a batch write, a streaming write"),
        ("pushTimeout", "a batch write, a streaming write"),
        ("checkpointLocation", "a streaming write"),
        ("queryName", "a streaming write"),
    ],
)
def test_options_of_writes_are_refused_in_reads(
    name: str, where: str, fill: Fill, load: Load, streams: Streams
) -> None:
    fill(1)
    assert f"option {name} has no effect on a batch read; it applies to {where}" in batch_read(load, {name: "1"})
    assert f"option {name} has no effect on a streaming read; it applies to {where}" in stream_read(
        streams, {name: "1"}
    )


def test_options_of_reads_are_refused_in_writes(
    spark: SparkSession, rows: DataFrame, fill: Fill, queue_dir: Path, tmp_path: Path
) -> None:
    said = "has no effect on a batch write; it applies to a batch read, a streaming read"
    assert f"option startingOffsets {said}" in batch_write(rows, tmp_path / "out", {"startingOffsets": "0"})
    assert "option checkpointLocation has no effect on a batch write; it applies to a streaming write" in batch_write(
        rows, tmp_path / "out", {"checkpointLocation": str(tmp_path)}
    )
    fill(1)
    said = "has no effect on a streaming write; it applies to a batch read, a streaming read"
    assert f"option consumer {said}" in stream_write(spark, queue_dir, tmp_path / "out", {"consumer": "c"})
    assert "option topic is Kafka's; use path" in stream_write(spark, queue_dir, tmp_path / "out", {"topic": "c"})
    assert not (tmp_path / "out").exists()


def test_options_that_need_another_one(fill: Fill, load: Load, streams: Streams) -> None:
    fill(1)
    said = "option consumer has no effect on a batch read without startingOffsets or endingOffsets = committed"
    assert said in batch_read(load, {"consumer": "default"})
    said = "option maxTriggerDelay has no effect on a streaming read without minOffsetsPerTrigger"
    assert said in stream_read(streams, {"maxTriggerDelay": "1m"})


def test_what_spark_itself_passes_on(spark: SparkSession, fill: Fill, tmp_path: Path) -> None:
    fill(5)
    frame = spark.readStream.format("mmapqueue").load(str(tmp_path / "queue"))
    writer = frame.select("value").writeStream.format("mmapqueue").queryName("named").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(tmp_path / "cp")).option("path", str(tmp_path / "out"))
    assert writer.option("asyncProgressTrackingEnabled", "false").start().awaitTermination(180)
    assert len(records(spark, tmp_path / "out")) == 5
    view = f"CREATE TEMPORARY VIEW passed USING mmapqueue OPTIONS (path '{tmp_path / 'out'}', startingOffsets '4')"
    session = spark.newSession()
    session.sql(view)
    assert session.table("passed").count() == 1
    with pytest.raises(QueryFailed, match=r"option paths has no effect here; .*union"):
        spark.read.format("mmapqueue").load([str(tmp_path / "out"), str(tmp_path / "queue")])


# ---- spelling


def test_camel_case_and_snake_case_are_one(spark: SparkSession, rows: DataFrame, tmp_path: Path, load: Load) -> None:
    path = tmp_path / "camel"
    camel: dict[str, str | int] = {
        "segmentSize": "8k",
        "queueCapacitySegments": 16,
        "MAXEVENTSIZE": 100,
        "push_timeout": "5s",
    }
    rows.write.format("mmapqueue").mode("append").options(**camel).save(str(path))
    with mmapqueue.Queue(path, spark=spark) as queue:
        assert queue.stats().segment_size == 8192
        assert queue.stats().capacity_segments == 16
        assert queue.config["max_event_size"] == 100
    assert load(path, starting_offsets=2).count() == 1
    # Both spellings with the same value are allowed.
    append(rows, tmp_path / "both", segmentSize="4k")
    text = batch_write(rows, tmp_path / "other", {"segmentSize": "8k"})
    assert "options segmentSize = 8k and segment_size = 4k are the same option; allowed: one of them" in text
    assert not (tmp_path / "other").exists()


# ---- times


@pytest.mark.parametrize("time", ["0 s 250ms", "250ms", "250 milliseconds", "0.25 seconds", "0 minutes 250 ms"])
def test_times(time: str, rows: DataFrame, queue_dir: Path) -> None:
    thick = rows.select(sf.rpad("value", 7000, ".").alias("value"))
    append(thick, queue_dir, queue_capacity_segments=8)
    text = batch_write(thick, queue_dir, {"queue_capacity_segments": 8, "pushTimeout": time})
    assert "there was no room within pushTimeout = 250ms" in text


def test_times_of_the_queue(spark: SparkSession, rows: DataFrame, tmp_path: Path) -> None:
    append(
        rows, tmp_path / "kept", retain_ms="7 days", flushPeriod="2 seconds", visibility_timeout="1500ms", max_age="1h"
    )
    with mmapqueue.Queue(tmp_path / "kept", spark=spark) as queue:
        assert queue.config["retain_ms"] == 7 * 86_400_000
    bare = batch_write(rows, tmp_path / "bare", {"flush_period": 250})
    assert "option flush_period = 250; allowed: 250s or 250ms, a time such as" in bare
    assert "option retain_ms = soon; allowed: a time" in batch_write(rows, tmp_path / "bad", {"retain_ms": "soon"})


def test_a_delay_as_spark_takes_it(fill: Fill, streams: Streams) -> None:
    fill(3)
    streams.run(minOffsetsPerTrigger=1, maxTriggerDelay="15 minutes")
    assert len(streams.batches.values()) == 3
