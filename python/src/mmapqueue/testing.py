"""Fixtures for tests of code that uses queues, and of Spark streams that read one. Needs pytest.

In conftest.py:

    pytest_plugins = ["mmapqueue.testing"]

A test then asks for a queue, or for a stream that it feeds:

    def test_orders_are_acked(mmapqueue_queue):
        mmapqueue_queue.push(b"order 1")
        handle_orders(mmapqueue_queue)                  # the code under test
        assert mmapqueue_queue.lag() == 0

    def test_words_are_counted(spark, mmapqueue_stream):
        words = mmapqueue_stream(spark)
        counts = words.start(count_words, output_mode="complete")   # the code under test: DataFrame -> DataFrame
        words.push(b"to be", b"or not to be")
        counts.assert_rows([("to", 2), ("be", 2), ("or", 1), ("not", 1)])

The fixture `spark` is the caller's own: a session with the jar, by `mmapqueue.configure`, classic or Connect.

For pytest: PYTEST_DONT_REWRITE, since a test may import this module before pytest does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import mmapqueue
from mmapqueue._values.annotations import DataFrame, SparkSession, StreamingQuery

__all__ = ["StreamFeed", "StreamOutput", "mmapqueue_open", "mmapqueue_queue", "mmapqueue_stream"]

_numbers = itertools.count(1)


class StreamOutput:
    """A running query on a `StreamFeed`, and the rows that it has written. Safe for any number of threads.

    Attributes:
        query: Spark's query.
    """

    def __init__(self, spark: SparkSession, query: StreamingQuery, name: str) -> None:
        self.query = query
        self._spark = spark
        self._name = name

    def rows(self) -> list[Any]:
        """The rows of all that was pushed before this call: waits until the query has processed it.

        Returns:
            With output mode append and update the rows of all batches, with complete those of the last one.

        Raises:
            pyspark.errors.StreamingQueryException: The query has failed.
        """
        self.query.processAllAvailable()
        return list(self._spark.table(self._name).collect())

    def assert_rows(self, expected: Iterable[tuple[Any, ...]], *, in_order: bool = False) -> None:
        """Asserts which rows came out of all that was pushed before this call.

        Args:
            expected: The rows, as tuples in the order of the columns.
            in_order: Whether the rows must come in this order.

        Raises:
            AssertionError: Other rows came out; the message has the missing and the unexpected ones.
        """
        unexpected = [tuple(row) for row in self.rows()]
        wanted = [tuple(row) for row in expected]
        if in_order:
            if unexpected != wanted:
                raise AssertionError(f"rows {unexpected}, expected {wanted}")
            return
        missing = []
        for row in wanted:
            try:
                unexpected.remove(row)
            except ValueError:
                missing.append(row)
        if missing or unexpected:
            raise AssertionError(f"missing rows: {missing}; unexpected rows: {unexpected}")

    def stop(self) -> None:
        """Stops the query. The end of the test does it as well."""
        self.query.stop()


class StreamFeed:
    """A temporary queue that a test pushes to, and a streaming query reads. Safe for any number of threads.

    The fixture `mmapqueue_stream` makes it.

    Attributes:
        queue: The queue, open in this process.
        frame: The streaming DataFrame of its records: value, partition, offset, timestamp.
    """

    def __init__(self, spark: SparkSession, queue: mmapqueue.Queue, checkpoints: Path) -> None:
        self.queue = queue
        self.frame: DataFrame = mmapqueue.read_stream(queue.path, spark=spark)
        self._spark = spark
        self._checkpoints = checkpoints
        self._outputs: list[StreamOutput] = []

    def push(self, *values: bytes) -> None:
        """Pushes records, in order.

        Args:
            values: The records' bytes.
        """
        self.queue.push_many(values)

    def start(
        self, transform: Callable[[DataFrame], DataFrame] | None = None, *, output_mode: str = "append"
    ) -> StreamOutput:
        """Starts a query on the records.

        Args:
            transform: The code under test: what it returns for `frame` is written. By default the records themselves.
            output_mode: Spark's: append, complete or update.

        Returns:
            The query's output.
        """
        name = f"mmapqueue_testing_{next(_numbers)}"
        frame = self.frame if transform is None else transform(self.frame)
        writer = frame.writeStream.format("memory").queryName(name).outputMode(output_mode)
        query = writer.option("checkpointLocation", str(self._checkpoints / name)).start()
        output = StreamOutput(self._spark, query, name)
        self._outputs.append(output)
        return output

    def close(self) -> None:
        """Stops the queries. The queue stays open."""
        with ExitStack() as stack:
            for output in self._outputs:
                stack.callback(self._spark.catalog.dropTempView, output._name)
                stack.callback(output.stop)


@pytest.fixture
def mmapqueue_open(tmp_path: Path) -> Iterator[Callable[..., mmapqueue.Queue]]:
    """Opens queues in the test's directory: `mmapqueue_open(name="queue", **options)` with the options of `Queue`.

    They are closed at the end of the test.
    """
    with ExitStack() as stack:

        def open_queue(name: str = "queue", **options: Any) -> mmapqueue.Queue:
            return stack.enter_context(mmapqueue.Queue(tmp_path / name, **options))

        yield open_queue


@pytest.fixture
def mmapqueue_queue(mmapqueue_open: Callable[..., mmapqueue.Queue]) -> mmapqueue.Queue:
    """An empty queue in the test's directory, in a JVM that all tests share; closed at the end of the test."""
    return mmapqueue_open()


@pytest.fixture
def mmapqueue_stream(
    mmapqueue_open: Callable[..., mmapqueue.Queue], tmp_path: Path
) -> Iterator[Callable[[SparkSession], StreamFeed]]:
    """Makes a `StreamFeed`: `mmapqueue_stream(spark, **configuration)`, as often as the test has streams.

    At the end of the test its queries are stopped, then its queue is closed.
    """
    with ExitStack() as stack:

        def feed(spark: SparkSession, **configuration: Any) -> StreamFeed:
            name = f"stream-{next(_numbers)}"
            made = StreamFeed(spark, mmapqueue_open(name, **configuration), tmp_path / f"{name}-checkpoints")
            stack.callback(made.close)
            return made

        yield feed
