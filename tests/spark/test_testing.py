"""The fixtures of `mmapqueue.testing`: streams."""

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, explode, split

from mmapqueue.testing import StreamFeed

pytest_plugins = ["mmapqueue.testing"]

Feed = Callable[..., StreamFeed]


def count_words(records: DataFrame) -> DataFrame:
    return records.select(explode(split(col("value").cast("string"), " ")).alias("word")).groupBy("word").count()


def test_a_stream_is_fed_while_it_runs(spark: SparkSession, mmapqueue_stream: Feed) -> None:
    words = mmapqueue_stream(spark)
    words.push(b"to be")
    counts = words.start(count_words, output_mode="complete")
    counts.assert_rows([("be", 1), ("to", 1)])
    words.push(b"or not", b"to be")
    counts.assert_rows([("to", 2), ("be", 2), ("or", 1), ("not", 1)])


def test_the_assertion_shows_both_sides(spark: SparkSession, mmapqueue_stream: Feed) -> None:
    feed = mmapqueue_stream(spark)
    feed.push(b"one", b"two")
    output = feed.start(lambda records: records.select(col("value").cast("string")))
    with pytest.raises(AssertionError, match=r"missing rows: \[\('three',\)\]; unexpected rows: \[\('two',\)\]"):
        output.assert_rows([("one",), ("three",)])
    with pytest.raises(AssertionError, match=r"missing rows: \[\('one',\)\]; unexpected rows: \[\]"):
        output.assert_rows([("one",), ("one",), ("two",)])
    with pytest.raises(AssertionError, match=r"expected \[\('two',\), \('one',\)\]"):
        output.assert_rows([("two",), ("one",)], in_order=True)
    output.assert_rows([("two",), ("one",)])
    output.assert_rows([("one",), ("two",)], in_order=True)


def test_two_streams_are_joined(spark: SparkSession, mmapqueue_stream: Feed) -> None:
    left, right = mmapqueue_stream(spark), mmapqueue_stream(spark, segment_size="128k")
    joined = left.start(lambda records: records.select("value").join(right.frame.select("value"), "value"))
    left.push(b"a", b"b")
    right.push(b"b", b"c")
    joined.assert_rows([(b"b",)])


def test_a_failed_query_says_why(spark: SparkSession, mmapqueue_stream: Feed) -> None:
    feed = mmapqueue_stream(spark)
    feed.push(b"one")
    output = feed.start(lambda records: records.selectExpr("raise_error(cast(value as string))"))
    with pytest.raises(Exception, match="one"):
        output.rows()


def test_stopped_queries_leave_no_table(spark: SparkSession, mmapqueue_stream: Feed) -> None:
    feed = mmapqueue_stream(spark)
    output = feed.start()
    table = output._name
    assert spark.catalog.tableExists(table)
    feed.close()
    assert not output.query.isActive
    assert not spark.catalog.tableExists(table)
    feed.queue.push(b"still open")
