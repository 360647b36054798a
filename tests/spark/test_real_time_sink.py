"""The sink of real-time mode: each row once, whatever is repeated; an error where that is not possible."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mmapqueue
from conftest import Script, eventually

pytest.importorskip("pyspark")

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming.query import StreamingQuery

from .conftest import Fill, QueryFailed
from .streams import SECONDS
from .test_stream_real_time import HAS_REAL_TIME, HAS_STATE, SHORTEST, needs_real_time

#: Longer than a test: the batch does not end.
LONG = "10 minutes"

HOLDER = """
import sys
import mmapqueue
with mmapqueue.Queue(sys.argv[1], segment_size="4k", capacity="1m"):
    print("open", flush=True)
    sys.stdin.readline()
"""


class Pipeline:
    """Queries from a queue to another one with one checkpoint, one after the other."""

    def __init__(self, spark: SparkSession, source: Path, directory: Path) -> None:
        self.spark = spark
        self.source = source
        self.target = directory / "target"
        self.checkpoint = directory / "checkpoint"

    def rows(self) -> DataFrame:
        return mmapqueue.read_stream(self.source, spark=self.spark)

    def start(self, rows: DataFrame, batch: str = LONG, target: Path | None = None, **options: Any) -> StreamingQuery:
        options = {"segment_size": "4k", "capacity": "1m", **options}
        sink = mmapqueue.real_time_sink(rows, target or self.target, checkpoint=self.checkpoint, batch=batch, **options)
        return sink.start()

    def fails(self, query: StreamingQuery) -> str:
        """The error of a query."""
        try:
            with pytest.raises(QueryFailed) as caught:
                assert query.awaitTermination(SECONDS), query.status
        finally:
            query.stop()
        return str(caught.value)

    def count(self) -> int:
        """The number of records that were pushed to the target."""
        if not (self.target / "meta.dat").exists():
            return 0
        with mmapqueue.Queue(self.target, spark=self.spark) as queue:
            return queue.stats().end_offset

    def await_count(self, query: StreamingQuery, wanted: int) -> None:
        assert eventually(lambda: self.count() >= wanted or not query.isActive, SECONDS), query.status
        assert query.exception() is None

    def records(self) -> list[str]:
        # Popped records would stay in flight while the sink has the queue open.
        with mmapqueue.Queue(self.target, spark=self.spark) as queue:
            return [queue.read_at(offset).data.decode() for offset in range(queue.stats().end_offset)]

    def await_batches(self, query: StreamingQuery, wanted: int) -> None:
        assert eventually(lambda: self.batches() >= wanted or not query.isActive, SECONDS), query.status
        assert query.exception() is None

    def batches(self) -> int:
        """The number of batches that Spark has committed."""
        return sum(1 for _ in (self.checkpoint / "commits").glob("[0-9]*"))


@pytest.fixture
def pipeline(spark: SparkSession, queue_dir: Path, tmp_path: Path) -> Pipeline:
    return Pipeline(spark, queue_dir, tmp_path)


@pytest.fixture
def one_shuffle_partition(spark: SparkSession) -> Iterator[None]:
    """All tasks of all stages run at the same time."""
    before = spark.conf.get("spark.sql.shuffle.partitions")
    assert before is not None
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    yield
    spark.conf.set("spark.sql.shuffle.partitions", before)


def upper(rows: DataFrame) -> DataFrame:
    """As in docs/reference/spark.md."""
    return rows.selectExpr("upper(CAST(value AS STRING)) AS value", "partition", "offset")


def words(rows: DataFrame) -> DataFrame:
    """Several rows of a record, of some records none."""
    texts = sf.split(rows.value.cast("string"), " ")
    return rows.where("offset % 3 > 0").select(sf.posexplode(texts).alias("ordinal", "value"), "partition", "offset")


def expected_words(values: list[bytes]) -> list[str]:
    return [word for offset, value in enumerate(values) if offset % 3 for word in value.decode().split(" ")]


@pytest.mark.skipif(HAS_REAL_TIME, reason="for older versions of Spark")
def test_before_real_time_mode_began(pipeline: Pipeline, fill: Fill) -> None:
    fill(1)
    with pytest.raises(NotImplementedError, match=r"real-time mode begins with Spark 4\.1"):
        pipeline.start(pipeline.rows())


@needs_real_time
@pytest.mark.parametrize("sync", [False, True])
def test_a_repeated_batch_adds_only_what_is_missing(pipeline: Pipeline, fill: Fill, sync: bool) -> None:
    values = fill(20)
    for _ in range(3):
        query = pipeline.start(words(pipeline.rows()), sync=sync)
        try:
            pipeline.await_count(query, len(expected_words(values)))
        finally:
            query.stop()
        # No batch has ended: the next query repeats it from its start on.
        assert pipeline.batches() == 0
        assert pipeline.records() == expected_words(values)
        values += fill([b"further %d" % i for i in range(10)])


@needs_real_time
def test_batches_that_end(pipeline: Pipeline, fill: Fill) -> None:
    values = fill(10)
    for start in (1, 2):
        query = pipeline.start(upper(pipeline.rows()), batch=SHORTEST)
        try:
            done = pipeline.batches()
            pipeline.await_count(query, len(values))
            values += fill([b"round %d" % start])
            pipeline.await_count(query, len(values))
            pipeline.await_batches(query, done + 2)
        finally:
            query.stop()
        assert pipeline.records() == [value.decode().upper() for value in values]


@needs_real_time
def test_partitions_have_offsets_of_their_own(pipeline: Pipeline, fill: Fill) -> None:
    for partition in (0, 1):
        fill([b"%d %d" % (partition, i) for i in range(5)], partition=partition)
    for _ in range(2):
        query = pipeline.start(pipeline.rows())
        try:
            pipeline.await_count(query, 10)
        finally:
            query.stop()
        assert sorted(pipeline.records()) == [f"{partition} {i}" for partition in (0, 1) for i in range(5)]


def union(pipeline: Pipeline, fill: Fill, column: str | None) -> DataFrame:
    """The rows of two queues."""
    columns = ["value", "partition", "offset", *([f"{column} AS source"] if column else [])]
    other = pipeline.source.with_name("other")
    fill(5)
    fill([b"other %d" % i for i in range(5)], path=other)
    frames = [mmapqueue.read_stream(path, spark=pipeline.spark) for path in (pipeline.source, other)]
    return frames[0].selectExpr(*columns).union(frames[1].selectExpr(*columns))


@needs_real_time
def test_a_union_with_the_ids_of_the_queues(pipeline: Pipeline, fill: Fill) -> None:
    rows = union(pipeline, fill, "_queue_id")
    for _ in range(2):
        query = pipeline.start(rows)
        try:
            pipeline.await_count(query, 10)
        finally:
            query.stop()
        expected = [f"{name} {i}" for name in ("other", "record") for i in range(5)]
        assert sorted(pipeline.records()) == expected


@needs_real_time
def test_a_union_without_a_source_is_refused(pipeline: Pipeline, fill: Fill) -> None:
    said = pipeline.fails(pipeline.start(union(pipeline, fill, None)))
    assert "in task 0 and in task 1, so they have no order" in said or "in task 1 and in task 0, so they have" in said


@needs_real_time
def test_rows_of_one_record_need_an_ordinal(pipeline: Pipeline, fill: Fill) -> None:
    fill([b"one", b"two words"])
    rows = pipeline.rows().selectExpr("explode(split(CAST(value AS STRING), ' ')) AS value", "partition", "offset")
    said = pipeline.fails(pipeline.start(rows))
    assert "a row of task 0 has partition 0, offset 1 and ordinal 0, after a row of offset 1 and ordinal 0" in said
    assert pipeline.records() == ["one", "two"]


@needs_real_time
@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["value", "partition"], "the column offset is missing; found struct<value:binary,partition:int>"),
        (["value", "offset"], "the column partition is missing"),
        (["partition", "offset"], "the column value is missing"),
        (
            ["value", "partition", "offset", "1 AS key"],
            "the column key (int) cannot be stored by the sink of real",
        ),
        (["offset AS value", "partition", "offset"], "the column value (bigint) cannot be stored"),
        (["value", "CAST(partition AS STRING) AS partition", "offset"], "the column partition (string) cannot be"),
        (["value", "partition", "offset", "1.5 AS ordinal"], "the column ordinal (decimal(2,1)) cannot be stored"),
        (["value", "partition", "offset", "1 AS source"], "the column source (int) cannot be stored"),
        (["value", "partition", "offset", "offset"], "the column offset (bigint) cannot be stored"),
    ],
)
def test_columns_that_are_refused(pipeline: Pipeline, fill: Fill, columns: list[str], expected: str) -> None:
    fill(1)
    with pytest.raises(QueryFailed) as caught:
        pipeline.start(pipeline.rows().selectExpr(*columns))
    assert expected in str(caught.value)
    assert not pipeline.target.exists()


@needs_real_time
@pytest.mark.parametrize("column", ["value", "partition", "offset", "ordinal", "source"])
def test_null(pipeline: Pipeline, fill: Fill, column: str) -> None:
    fill(1)
    columns = {"value": "value", "partition": "partition", "offset": "offset", "ordinal": "1", "source": "'a'"}
    columns[column] = f"IF(offset < 0, {columns[column]}, NULL)"
    rows = pipeline.rows().selectExpr(*(f"{text} AS {name}" for name, text in columns.items()))
    assert f"the column {column} is null in a row" in pipeline.fails(pipeline.start(rows))


@needs_real_time
@pytest.mark.parametrize(
    ("option", "error", "expected"),
    [
        ({"segmentsize": "4k"}, TypeError, "segmentsize"),
        ({"push_timeout": "soon"}, ValueError, "push_timeout"),
        ({"format_version": 1}, QueryFailed, "format_version"),
    ],
)
def test_options_that_are_refused(
    pipeline: Pipeline, fill: Fill, option: dict[str, Any], error: type[Exception], expected: str
) -> None:
    fill(1)
    with pytest.raises(error, match=expected):
        pipeline.start(pipeline.rows(), **option)


@needs_real_time
def test_a_queue_of_several_partitions_is_refused(pipeline: Pipeline, fill: Fill) -> None:
    fill(3)
    for partition in (0, 1):
        fill(0, path=pipeline.target, partition=partition)
    assert "allowed: a queue of one partition" in pipeline.fails(pipeline.start(pipeline.rows()))
    with mmapqueue.Queue(pipeline.target / "p=0", spark=pipeline.spark) as queue:
        assert eventually(lambda: is_destroyed(queue), SECONDS), "the failed query has closed the queue"
    fill(0, path=pipeline.target, partition=0)
    shutil.rmtree(pipeline.checkpoint)
    pipeline.target /= "p=1"
    query = pipeline.start(pipeline.rows(), capacity=None)
    try:
        pipeline.await_count(query, 3)
    finally:
        query.stop()


@needs_real_time
def test_a_queue_that_another_process_writes(pipeline: Pipeline, fill: Fill, script: Script) -> None:
    fill(1)
    holder = script.start(HOLDER, pipeline.target)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "open\n"
    said = pipeline.fails(pipeline.start(pipeline.rows()))
    out, err = holder.communicate("\n", timeout=60)
    assert holder.returncode == 0, (out, err)
    assert f"pushes to {pipeline.target}, so no other process may have it open for writing" in said


def is_destroyed(queue: mmapqueue.Queue) -> bool:
    try:
        queue.destroy()
    except mmapqueue.Locked:
        return False
    return True


@needs_real_time
def test_a_queue_that_was_deleted_is_an_error(pipeline: Pipeline, fill: Fill) -> None:
    values = fill(3)
    query = pipeline.start(pipeline.rows(), batch=SHORTEST)
    try:
        pipeline.await_count(query, 3)
        pipeline.await_batches(query, 1)
    finally:
        query.stop()
    with mmapqueue.Queue(pipeline.target, spark=pipeline.spark) as queue:
        # The sink closes it some seconds after the query.
        assert eventually(lambda: is_destroyed(queue), SECONDS)
    values += fill([b"further"])
    said = pipeline.fails(pipeline.start(pipeline.rows()))
    assert f"cannot follow in {pipeline.target}: the queue has stored no epoch of this query" in said
    query = pipeline.start(pipeline.rows(), fail_on_data_loss=False)
    try:
        pipeline.await_count(query, 1)
    finally:
        query.stop()
    assert pipeline.records()[-1] == "further"


@pytest.mark.skipif(not HAS_STATE, reason="real-time mode has state from Spark 4.3 on")
@pytest.mark.usefixtures("one_shuffle_partition")
def test_rows_without_duplicates(pipeline: Pipeline, fill: Fill) -> None:
    values = fill([b"%d" % (i % 7) for i in range(20)])
    for start in range(2):
        query = pipeline.start(pipeline.rows().dropDuplicates(["value"]))
        try:
            pipeline.await_count(query, 7 + start)
        finally:
            query.stop()
        assert pipeline.records() == [str(i) for i in range(7 + start)]
        values += fill([b"%d" % i for i in (3, 7)])


@pytest.mark.skipif(not HAS_STATE, reason="real-time mode has state from Spark 4.3 on")
@pytest.mark.usefixtures("one_shuffle_partition")
def test_counts(pipeline: Pipeline, fill: Fill) -> None:
    """As in docs/reference/spark.md: a row has the place of the record that changed it."""
    fill([b"a", b"b", b"a"])
    counts = (
        pipeline.rows()
        .groupBy("value")
        .agg(sf.count("*").alias("count"), sf.max("partition").alias("partition"), sf.max("offset").alias("offset"))
    )
    rows = counts.selectExpr(
        "concat(CAST(value AS STRING), ' ', count) AS value",
        "partition",
        "offset",
        "CAST(spark_partition_id() AS STRING) AS source",
    )
    expected = ["a 1", "b 1", "a 2"]
    for further in (["b 2", "a 3"], []):
        query = pipeline.start(rows)
        try:
            pipeline.await_count(query, len(expected))
        finally:
            query.stop()
        assert pipeline.records() == expected
        fill([b"b", b"a"])
        expected += further
