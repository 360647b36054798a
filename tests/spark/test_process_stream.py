"""`process_stream`: each record of a micro-batch gets an outcome, and comes again without one."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming.query import StreamingQuery

import mmapqueue

from .conftest import SMALL, Fill, QueryFailed
from .streams import SECONDS, progresses

Handler = Callable[[DataFrame], Any]


class Work:
    """Queries on one queue, one after the other. It notes what handlers get: (partition, offset) → attempts."""

    def __init__(self, spark: SparkSession, path: Path) -> None:
        self.spark = spark
        self.path = path
        self.deliveries: dict[tuple[int, int], list[int]] = defaultdict(list)
        self.sizes: list[int] = []
        self.queries: list[StreamingQuery] = []

    def start(self, handler: Handler, trigger: dict[str, Any] | None = None, queue: Any = None, **options: Any) -> Any:
        def noting(batch: DataFrame) -> Any:
            rows = batch.select("partition", "offset", "attempt").collect()
            self.sizes.append(len(rows))
            for row in rows:
                self.deliveries[row.partition, row.offset].append(row.attempt)
            return handler(batch)

        writer = mmapqueue.process_stream(self.spark, queue or self.path, noting, **options)
        query = writer.trigger(**(trigger or {"processingTime": "0 seconds"})).start()
        self.queries.append(query)
        return query

    def run(self, handler: Handler, **options: Any) -> StreamingQuery:
        """Runs a query that handles what exists, and ends; raises its failure."""
        query: StreamingQuery = self.start(handler, {"availableNow": True}, **options)
        assert query.awaitTermination(SECONDS), query.status
        return query

    def attempts(self) -> dict[int, list[int]]:
        """The attempts of each record of partition 0."""
        return {offset: attempts for (partition, offset), attempts in sorted(self.deliveries.items()) if not partition}

    def lag(self, consumer: str = "default", path: Path | None = None) -> int:
        with mmapqueue.Queue(path or self.path, spark=self.spark, consumer=consumer, read_only=True) as queue:
            return queue.lag()


@pytest.fixture
def work(spark: SparkSession, queue_dir: Path) -> Iterator[Work]:
    work = Work(spark, queue_dir)
    yield work
    for query in work.queries:
        query.stop()


def outcomes(batch: DataFrame, expression: str, *more: str) -> DataFrame:
    return batch.selectExpr("offset", f"{expression} AS outcome", *more)


def acked(batch: DataFrame) -> DataFrame:
    return outcomes(batch, "'ack'")


def wait(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def figures(query: StreamingQuery) -> dict[str, str]:
    """The source's metrics in the last progress of a query."""
    reports = progresses(query)
    return reports[-1]["sources"][0].get("metrics") or {} if reports else {}


def test_the_handler_gets_the_records_with_their_attempts(work: Work, fill: Fill) -> None:
    records = fill(300)
    rows: list[Any] = []

    def handle(batch: DataFrame) -> str:
        assert batch.dtypes == [
            ("value", "binary"),
            ("partition", "int"),
            ("offset", "bigint"),
            ("timestamp", "timestamp"),
            ("attempt", "int"),
        ]
        rows.extend(batch.collect())
        return "ack"

    work.run(handle)
    assert [(bytes(row.value), row.partition, row.offset, row.attempt) for row in rows] == [
        (record, 0, offset, 1) for offset, record in enumerate(records)
    ]
    assert all(row.timestamp for row in rows)
    assert work.lag() == 0


def test_each_record_has_its_own_outcome(work: Work, fill: Fill) -> None:
    fill(100)
    work.run(lambda batch: outcomes(batch, "CASE WHEN offset % 10 = 3 THEN 'nack' ELSE 'ack' END", "0 AS delay"))
    assert work.lag() == 10
    work.run(acked)
    assert work.lag() == 0
    assert work.attempts() == {offset: [1, 2] if offset % 10 == 3 else [1] for offset in range(100)}


def test_outcomes_may_come_from_functions_in_the_executors(work: Work, fill: Fill) -> None:
    fill(40)
    judge = sf.udf(lambda value: "nack" if bytes(value).endswith(b"7") else "ack", useArrow=False)
    work.run(lambda batch: batch.select("offset", judge("value").alias("outcome")))
    assert work.lag() == 4


def test_a_nacked_record_comes_when_its_delay_is_over_without_a_push(work: Work, fill: Fill) -> None:
    fill(3)
    times: dict[int, list[float]] = defaultdict(list)

    def handle(batch: DataFrame) -> DataFrame:
        for row in batch.collect():
            times[row.offset].append(time.monotonic())
        return outcomes(batch, "CASE WHEN offset = 1 AND attempt < 3 THEN 'nack' ELSE 'ack' END", "0.5D AS delay")

    work.start(handle)
    wait(lambda: len(times[1]) == 3)
    first, second, third = times[1]
    assert min(second - first, third - second) >= 0.4
    wait(lambda: work.lag() == 0)
    assert work.attempts() == {0: [1], 1: [1, 2, 3], 2: [1]}


def test_the_retry_delay_grows_with_the_attempts(work: Work, fill: Fill) -> None:
    fill(1)
    times: list[float] = []

    def handle(_batch: DataFrame) -> str:
        times.append(time.monotonic())
        return "nack" if len(times) < 4 else "ack"

    work.start(handle)
    wait(lambda: work.lag() == 0)
    assert [
        later - earlier >= least for earlier, later, least in zip(times, times[1:], (0.09, 0.19, 0.39), strict=False)
    ] == [True] * 3


def test_a_record_without_an_outcome_is_redelivered(work: Work, fill: Fill) -> None:
    fill(10)
    query = work.start(
        lambda batch: outcomes(batch, "IF(attempt > 1, 'ack', NULL)").where("offset <> 4 OR outcome IS NOT NULL"),
        retry_delay="10ms",
    )
    wait(lambda: work.lag() == 0)
    query.stop()
    assert work.attempts() == {offset: [1, 2] for offset in range(10)}
    assert figures(query)["without_outcome"] == "10"


def test_an_exception_ends_the_query_and_redelivers_all_records_of_the_batch(work: Work, fill: Fill) -> None:
    fill(5)

    def fail(_batch: DataFrame) -> str:
        raise RuntimeError("no such mailbox")

    with pytest.raises(QueryFailed, match="no such mailbox"):
        work.run(fail)
    assert work.lag() == 5
    work.run(acked)
    assert work.attempts() == {offset: [1, 2] for offset in range(5)}
    assert work.lag() == 0


@pytest.mark.parametrize(
    ("handler", "message"),
    [
        (lambda _: None, "returned None, and not a DataFrame of offset and outcome"),
        (lambda _: "acked", "outcome 'acked' of the micro-batch; allowed: ack, nack, dead-letter"),
        (lambda batch: outcomes(batch, "'ok'"), "outcome 'ok' of record 0 of partition 0; allowed: ack, nack"),
        (lambda batch: batch.selectExpr("offset"), "required: offset, outcome; allowed: partition, offset, outcome"),
        (lambda batch: outcomes(batch, "'nack'", "1 AS dealy"), "have the columns offset, outcome, dealy"),
        (
            lambda batch: batch.selectExpr("offset + 3 AS offset", "'ack' AS outcome"),
            "record 5 of partition 0, which is not in the micro-batch: that has 5 records of partition 0, offsets 0..4",
        ),
        (
            lambda batch: outcomes(batch, "'ack'", "NULL AS delay").union(
                outcomes(batch.where("offset = 2"), "'nack'", "1.5 AS delay")
            ),
            "two different outcomes for record 2 of partition 0: ack, and nack with a delay of 1.5 s",
        ),
        (lambda batch: outcomes(batch, "'nack'", "-1 AS delay"), "delay = -1.0 of record 0 of partition 0; allowed"),
        (lambda batch: outcomes(batch, "'dead-letter'"), "outcome 'dead-letter', but dead_letter_dir"),
        (
            lambda batch: outcomes(batch, "'ack'").selectExpr("CAST(NULL AS BIGINT) AS offset", "outcome"),
            "has no offset",
        ),
        (lambda batch: outcomes(batch, "raise_error('broken row')"), "broken row"),
    ],
    ids=["none", "word", "row", "missing", "unknown", "other", "two", "delay", "dead", "null", "task"],
)
def test_no_outcome_is_applied_if_one_is_wrong(work: Work, fill: Fill, handler: Handler, message: str) -> None:
    fill(5)
    with pytest.raises(QueryFailed) as failure:
        work.run(handler)
    assert message in str(failure.value)
    assert work.lag() == 5
    work.run(acked)
    assert work.attempts() == {offset: [1, 2] for offset in range(5)}


def test_equal_outcomes_of_a_record_are_one(work: Work, fill: Fill) -> None:
    fill(5)
    work.run(lambda batch: acked(batch).union(acked(batch)).union(outcomes(batch, "CAST(NULL AS STRING)")))
    assert work.lag() == 0


def test_dead_letters_move_to_their_queue(work: Work, fill: Fill, spark: SparkSession, tmp_path: Path) -> None:
    dead = tmp_path / "dead"
    fill(20)
    with mmapqueue.Queue(work.path, spark=spark, dead_letter_dir=dead, max_attempts=5, **SMALL) as queue:
        work.run(
            lambda batch: outcomes(batch, "IF(offset % 5 = 2, 'dead-letter', 'ack')", "'no such mailbox' AS reason"),
            queue=queue,
        )
        assert queue.lag() == 0
    with mmapqueue.Queue(dead, spark=spark) as letters:
        assert [message.data for message in letters] == [b"record 2", b"record 7", b"record 12", b"record 17"]


def test_dead_letters_count_when_their_queue_has_taken_them(
    work: Work, fill: Fill, spark: SparkSession, tmp_path: Path
) -> None:
    fill([b"x" * 2000] * 10)
    dead = tmp_path / "dead"
    with (
        mmapqueue.Queue(dead, spark=spark, capacity=8192, max_event_size=4000) as letters,
        mmapqueue.Queue(work.path, spark=spark, dead_letter_dir=dead, max_attempts=5, **SMALL) as queue,
    ):
        query = work.run(lambda batch: outcomes(batch, "'dead-letter'"), queue=queue)
        assert 0 < letters.qsize() < 10
        assert figures(query)["dead_lettered"] == str(letters.qsize())
        assert queue.lag() == 10 - letters.qsize()


def test_used_up_attempts_are_dead_letters(work: Work, fill: Fill, spark: SparkSession, tmp_path: Path) -> None:
    dead = tmp_path / "dead"
    fill(4)
    options: dict[str, Any] = {**SMALL, "dead_letter_dir": dead, "max_attempts": 3}
    # The query alone keeps the queue open.
    query = work.start(
        lambda batch: outcomes(batch, "IF(offset = 2, 'nack', 'ack')", "0 AS delay"),
        queue=mmapqueue.Queue(work.path, spark=spark, **options),
    )
    wait(lambda: figures(query).get("lag_records") == "0")
    query.stop()
    assert work.attempts() == {0: [1], 1: [1], 2: [1, 2, 3], 3: [1]}
    with mmapqueue.Queue(dead, spark=spark) as letters:
        assert [message.data for message in letters] == [b"record 2"]


def test_partitions_share_a_micro_batch(work: Work, fill: Fill, queue_dir: Path) -> None:
    for partition in range(3):
        fill(50, partition=partition)
    work.run(
        lambda batch: batch.selectExpr(
            "partition", "offset", "IF(partition = 1 AND offset < 5, 'nack', 'ack') AS outcome"
        )
    )
    assert [work.lag(path=queue_dir / f"p={partition}") for partition in range(3)] == [0, 5, 0]
    assert work.sizes == [150]
    with pytest.raises(QueryFailed, match="has no partition, and the queue has 3"):
        work.run(acked)


def test_limits_of_a_micro_batch(work: Work, fill: Fill) -> None:
    fill(25)
    work.run(acked, max_records=10)
    assert work.sizes == [10, 10, 5]
    fill([bytes(1000)] * 6)
    work.sizes.clear()
    work.run(acked, max_bytes=2500)
    assert work.sizes[0] in (2, 3)
    assert sum(work.sizes) == 6


def test_redelivered_records_far_apart_are_read_alone(work: Work, fill: Fill) -> None:
    fill(4000)
    work.run(lambda batch: outcomes(batch, "IF(offset IN (0, 1, 5, 1999, 3999), 'nack', 'ack')", "0 AS delay"))
    work.sizes.clear()
    work.run(acked)
    assert work.sizes == [5]
    assert [offset for offset, attempts in work.attempts().items() if attempts == [1, 2]] == [0, 1, 5, 1999, 3999]


def test_a_run_delivers_each_record_once_and_ends(work: Work, fill: Fill) -> None:
    fill(10)

    def push_more(batch: DataFrame) -> DataFrame:
        fill(5)
        return outcomes(batch, "'nack'", "0 AS delay")

    work.run(push_more, max_records=4)
    assert work.attempts() == {offset: [1] for offset in range(10)}
    assert work.sizes == [4, 4, 2]
    work.run(acked)
    # What the first run had popped for none counts no attempt.
    assert work.attempts() == {offset: [1, 2] if offset < 10 else [1] for offset in range(25)}
    assert work.lag() == 0


def test_a_repeated_micro_batch_is_empty_and_its_records_come_next(work: Work, fill: Fill, tmp_path: Path) -> None:
    fill(10)
    checkpoint = str(tmp_path / "checkpoint")

    def start(handler: Handler) -> StreamingQuery:
        writer = mmapqueue.process_stream(work.spark, work.path, handler).option("checkpointLocation", checkpoint)
        query: StreamingQuery = writer.trigger(availableNow=True).start()
        work.queries.append(query)
        return query

    def half(_batch: DataFrame) -> Any:
        raise RuntimeError("killed")

    with pytest.raises(QueryFailed, match="killed"):
        start(half).awaitTermination(SECONDS)
    found: list[tuple[int, int]] = []

    def handle(batch: DataFrame) -> str:
        found.extend((row.offset, row.attempt) for row in batch.collect())
        return "ack"

    # The checkpoint has offsets/0, and no commits/0.
    query = start(handle)
    assert query.awaitTermination(SECONDS)
    assert found == [(offset, 2) for offset in range(10)]
    assert [progress["numInputRows"] > 0 for progress in progresses(query)] == [False, True]


def test_the_attempts_of_a_running_micro_batch_are_on_the_disk(work: Work, fill: Fill) -> None:
    fill(10)
    found: list[bool] = []

    def handle(_batch: DataFrame) -> str:
        found.append((work.path / "consumers" / "default.inflight").exists())
        return "ack"

    work.run(handle)
    assert found == [True]


def test_a_stop_redelivers_the_running_micro_batch(work: Work, fill: Fill) -> None:
    fill(10)
    running, ended = Event(), Event()

    def handle(batch: DataFrame) -> DataFrame:
        running.set()
        ended.wait(SECONDS)
        return acked(batch)

    query = work.start(handle)
    assert running.wait(SECONDS)
    # stop() waits for the handler.
    stopping = Thread(target=query.stop)
    stopping.start()
    ended.set()
    stopping.join(SECONDS)
    assert not query.isActive
    left = work.lag()
    assert left in (0, 10), "the outcomes of a micro-batch are applied together"
    work.run(acked)
    assert work.lag() == 0
    assert work.attempts() == {offset: [1] if left == 0 else [1, 2] for offset in range(10)}


def test_a_consumer_belongs_to_one_query(work: Work, fill: Fill) -> None:
    fill(5)
    running, ended = Event(), Event()

    def handle(_batch: DataFrame) -> str:
        running.set()
        ended.wait(SECONDS)
        return "ack"

    work.start(handle, consumer="workers")
    assert running.wait(SECONDS)
    try:
        with pytest.raises(QueryFailed, match=r"consumer workers of the queue in .* is in use by"):
            work.run(acked, consumer="workers")
        work.run(acked, consumer="others")
        assert work.lag("others") == 0
    finally:
        ended.set()


def test_a_run_that_fails_in_one_partition_leaves_the_others_free(
    work: Work, fill: Fill, spark: SparkSession, queue_dir: Path
) -> None:
    for partition in range(2):
        fill(3, partition=partition)
    other = Work(spark, queue_dir / "p=1")
    query = other.start(lambda batch: outcomes(batch, "'nack'", "3600 AS delay"))
    wait(lambda: sum(other.sizes) == 3)
    with pytest.raises(QueryFailed, match=r"of the queue in .*/p=1 is in use by the query process_stream"):
        work.run(acked)
    query.stop()
    work.run(lambda batch: batch.selectExpr("partition", "offset", "'ack' AS outcome"))
    assert work.lag(path=queue_dir / "p=0") == 0


def test_a_queue_that_is_open_beside_queries_sees_what_they_ack(
    work: Work, spark: SparkSession, tmp_path: Path
) -> None:
    options: dict[str, Any] = {**SMALL, "dead_letter_dir": tmp_path / "dead", "max_attempts": 4}
    with mmapqueue.Queue(work.path, spark=spark, **options) as queue:
        queue.push_many([b"to: ann", b"to: bob"])
        for left in (1, 1, 0):
            work.run(
                lambda batch: outcomes(batch, "IF(offset = 1 AND attempt < 3, 'nack', 'ack')", "0 AS delay"),
                queue=queue,
            )
            assert (queue.lag(), queue.qsize(), queue.consumer_stats()["default"].lag_records) == (left, left, left)
        assert queue.pop_many() == []
        queue.push(b"to: eve")
        queue.pop().ack()
        assert queue.lag() == 0
    assert work.attempts() == {0: [1], 1: [1, 2, 3]}


def test_a_query_leaves_the_consumer_open_that_a_program_has_opened(work: Work, spark: SparkSession) -> None:
    with mmapqueue.Queue(work.path, spark=spark, prefetch=0, **SMALL) as queue:
        workers = queue.consumer("workers")
        queue.push_many([b"x"] * 10)
        loop = workers.consume(timeout=SECONDS, max_records=1)
        message = next(loop)
        work.run(lambda batch: outcomes(batch, "IF(offset = 1, 'nack', 'ack')", "0 AS delay"), consumer="workers")
        # The record that the program has popped is its own.
        assert work.attempts() == {offset: [1] for offset in range(1, 10)}
        assert (workers.lag(), workers.unacked(), queue.consumer("workers")) == (2, 1, workers)
        message.ack()
        again = next(loop)
        assert (again.offset, again.attempts) == (1, 2)
        again.ack()
        loop.close()
        assert workers.lag() == 0


def test_a_program_may_open_the_consumer_of_a_running_query(work: Work, spark: SparkSession) -> None:
    with mmapqueue.Queue(work.path, spark=spark, **SMALL) as queue:
        query = work.start(acked, queue=queue)
        queue.push_many([b"x"] * 10)
        wait(lambda: len(work.deliveries) == 10 and queue.lag() == 0)
        query.stop()
        queue.push(b"y")
        assert (queue.lag(), queue.pop(timeout=SECONDS).data) == (1, b"y")


def test_a_failed_micro_batch_is_redelivered_while_a_program_has_the_consumer_open(
    work: Work, spark: SparkSession, tmp_path: Path
) -> None:
    def fail(_batch: DataFrame) -> str:
        raise RuntimeError("no such mailbox")

    dead = tmp_path / "dead"
    with mmapqueue.Queue(work.path, spark=spark, dead_letter_dir=dead, max_attempts=3, **SMALL) as queue:
        queue.push_many([b"x"] * 4)
        assert queue.peek() is not None
        queue.pop().ack()
        for attempt in (1, 2):
            with pytest.raises(QueryFailed, match="no such mailbox"):
                work.run(fail, queue=queue)
            assert (queue.lag(), queue.unacked()) == (3, 0), attempt
        work.run(lambda batch: outcomes(batch.where("offset > 1"), "'ack'"), queue=queue)
        assert work.attempts() == {offset: [1, 2, 3] for offset in (1, 2, 3)}
        assert queue.lag() == 0
    with mmapqueue.Queue(dead, spark=spark) as letters:
        assert letters.lag() == 1


def test_a_query_appears_among_those_of_the_session_with_its_counts(
    work: Work, fill: Fill, spark: SparkSession
) -> None:
    fill(10)
    query = work.start(lambda batch: outcomes(batch, "IF(offset = 0 AND attempt = 1, 'nack', 'ack')", "0 AS delay"))
    assert query.id in {each.id for each in spark.streams.active}
    wait(lambda: work.lag() == 0)
    wait(lambda: sum(each["numInputRows"] > 0 for each in progresses(query)) == 2)
    source = progresses(query)[-1]["sources"][0]
    assert "work of consumer default" in source["description"]
    assert source["metrics"] == {
        "lag_records": "0",
        "acked": "10",
        "nacked": "1",
        "dead_lettered": "0",
        "without_outcome": "0",
    }


def test_wrong_arguments_are_errors(spark: SparkSession, work: Work, fill: Fill, tmp_path: Path) -> None:
    async def coroutine(_batch: DataFrame) -> str:
        return "ack"

    fill(1)
    with pytest.raises(TypeError, match="only makes a coroutine; a handler returns a DataFrame"):
        mmapqueue.process_stream(spark, work.path, coroutine)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_records = 0"):
        mmapqueue.process_stream(spark, work.path, acked, max_records=0)
    with (
        mmapqueue.Queue(tmp_path / "elsewhere", **SMALL) as queue,
        pytest.raises(ValueError, match="is not open in the JVM"),
    ):
        mmapqueue.process_stream(spark, queue, acked)
    with pytest.raises(Exception, match=r"it holds no queue|does not exist"):
        work.run(acked, queue=tmp_path / "none")
