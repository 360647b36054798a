"""mmapqueue, on a JVM of its own or in that of a Spark session."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import islice, repeat
from pathlib import Path
from typing import Any

import pyarrow

import mmapqueue
from mmapqueue._jvm import standalone
from queue_bench.workload import Popped, Run, Session, Step, Subject, Workload, nothing, times

STANDALONE = "mmapqueue"
IN_SPARK = "mmapqueue in Spark"
#: The cost of these hardly depends on the batch.
_ONE_BATCH = 1000


class _Queue(Session):
    def __init__(self, spark: Any, ring: int, segment_size: str, directory: Path, payload: int) -> None:
        super().__init__(payload)
        self.room = ring // 8
        # A method that returns a number, called as py4j calls it.
        self._jvm = standalone.jvm() if spark is None else spark._jvm
        self.null = self._jvm.java.lang.Object().hashCode
        self._queue = mmapqueue.Queue(directory / "queue", spark=spark, capacity=ring, segment_size=segment_size)
        self._producer = self._queue.producer()
        self._sync_producer = self._queue.producer(sync=True)

    def warm(self) -> None:
        records = [self.record] * (self.room // len(self.record))
        # Files are new until the ring has wrapped once.
        for _ in range(9):
            self._queue.push_many(records)
            self._drain()
        # The first calls of a producer make its shared buffer.
        for producer in (self._producer, self._sync_producer):
            for record in records[:10_000]:
                producer.push(record)
            producer.flush()
            self._drain()

    def _drain(self) -> None:
        while batch := self._queue.pop_many(10_000):
            self._queue.ack_up_to(batch[-1])

    def workloads(self, batches: Sequence[int]) -> Iterable[Workload]:
        for batch in batches:
            if batch == 1:
                yield self._singles()
                yield self._handles("push_handle", self._producer)
                yield self._handles("push_handle_sync", self._sync_producer)
                yield self._pop_and_ack()
            yield self._many(batch)
            yield self._arrow(batch)
            yield self._iteration(batch, "consume", self._consume)
            if batch == _ONE_BATCH:
                yield self._iteration(batch, "aconsume", self._aconsume)
                yield self._workers(batch)
                yield self._by_offset(batch)

    def _singles(self) -> Workload:
        queue = self._queue
        popped = Popped(self.record)
        steps = (
            Step("push", times(partial(queue.push, self.record)), 1),
            Step("pop", popped.keep(queue.pop), 1),
            Step("ack_single", popped.each(queue.ack), 1),
        )
        return Workload(steps, popped.check(1, lambda message: (message.data,)))

    def _handles(self, operation: str, producer: mmapqueue.BatchingProducer[bytes]) -> Workload:
        """Pushes one by one through handles, until all of them are done."""

        def go(calls: int) -> None:
            for _ in repeat(None, calls):
                handle = producer.push(self.record)
            producer.flush()
            if handle.result() != self._queue.end_offset() - 1:
                raise RuntimeError(f"{operation} ended with record {handle}")

        def drain(_calls: int) -> None:
            self._drain()

        return Workload((Step(operation, go, 1), Step("", drain, 1)), nothing)

    def _pop_and_ack(self) -> Workload:
        """Pops and acks one by one, until the queue has all acks."""
        queue = self._queue

        def push(calls: int) -> None:
            queue.push_many([self.record] * calls)

        def go(calls: int) -> None:
            for _ in repeat(None, calls):
                message = queue.pop()
                queue.ack(message)
            self._empty(calls)
            if message.data != self.record:
                raise RuntimeError("pop_ack changed a record")

        return Workload((Step("", push, 1), Step("pop_ack", go, 1)), self._empty)

    def _many(self, batch: int) -> Workload:
        queue = self._queue
        popped = Popped(self.record)
        steps = (
            Step("push_many", self._push(batch), batch),
            Step("pop_many", popped.keep(partial(queue.pop_many, batch)), batch),
            Step("ack_many", popped.each(queue.ack_many), batch),
        )
        return Workload(steps, popped.check(batch, lambda messages: [message.data for message in messages]))

    def _arrow(self, batch: int) -> Workload:
        """Batches of Arrow. Each is dropped before the next one is popped: its memory is used again."""
        queue = self._queue
        pushed = pyarrow.record_batch({"value": [self.record] * batch})
        popped: list[Any] = []

        def pop(calls: int) -> None:
            for _ in range(calls):
                left = batch
                while left:
                    popped[:] = [queue.pop_arrow(left)]
                    left -= popped[0].num_rows
                    queue.ack(popped[0])

        def check(calls: int) -> None:
            self._empty(calls)
            if set(popped[0]["value"].to_pylist()) != {self.record}:
                raise RuntimeError("pop_arrow has changed a record")
            popped.clear()

        steps = (Step("push_arrow", times(partial(queue.push_arrow, pushed)), batch), Step("pop_arrow", pop, batch))
        return Workload(steps, check)

    def _push(self, batch: int) -> Run:
        return times(partial(self._queue.push_many, [self.record] * batch))

    def _iteration(self, batch: int, operation: str, iterate: Any) -> Workload:
        """Iterates over records popped in batches, then acks each batch cumulatively."""
        first = 0

        def go(calls: int) -> None:
            nonlocal first
            first = self._queue.end_offset() - calls * batch
            last = iterate(calls * batch, batch)
            if last.offset != self._queue.end_offset() - 1 or last.data != self.record:
                raise RuntimeError(f"{operation} ended with record {last.offset}, or changed it")

        def ack(calls: int) -> None:
            for call in range(calls):
                self._queue.ack_up_to(first + (call + 1) * batch - 1)

        acks = "ack" if operation == "consume" else ""
        return Workload(
            (Step("", self._push(batch), batch), Step(operation, go, batch), Step(acks, ack, batch)), self._empty
        )

    def _consume(self, records: int, batch: int) -> mmapqueue.Message:
        for message in islice(self._queue.consume(timeout=0.0, max_records=batch), records):
            last = message
        return last

    def _aconsume(self, _records: int, batch: int) -> mmapqueue.Message:
        async def consume() -> mmapqueue.Message:
            async for message in self._queue.aconsume(timeout=0.0, max_records=batch):
                last = message
            return last

        return asyncio.run(consume())

    def _workers(self, batch: int) -> Workload:
        def go(calls: int) -> None:
            handled = self._queue.process(lambda _message: None, timeout=0.0, workers=2, max_records=batch)
            if handled != calls * batch:
                raise RuntimeError(f"{handled} records were handled of {calls * batch}")

        return Workload((Step("", self._push(batch), batch), Step("consume_2_workers", go, batch)), self._empty)

    def _by_offset(self, batch: int) -> Workload:
        def go(calls: int) -> None:
            end = self._queue.end_offset()
            for first in range(end - calls * batch, end, batch):
                self._queue.read_many(first, batch)

        def drain(_calls: int) -> None:
            self._drain()

        steps = (Step("", self._push(batch), batch), Step("read_many", go, batch), Step("", drain, batch))
        return Workload(steps, nothing)

    def _empty(self, _calls: int) -> None:
        if self._queue.lag():
            raise RuntimeError(f"{self._queue.lag()} records are left")

    def close(self) -> None:
        self._queue.close()


class _Session:
    """The Spark session, created at its first use."""

    def __init__(self) -> None:
        self._spark: Any = None

    def get(self) -> Any:
        """The session, with one core."""
        if self._spark is None:
            from pyspark.sql import SparkSession

            builder = SparkSession.builder.master("local[1]").appName("mmapqueue benchmark")
            for key, value in {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1"}.items():
                builder.config(key, value)
            self._spark = mmapqueue.configure(builder).getOrCreate()
            self._spark.sparkContext.setLogLevel("ERROR")
        return self._spark


def subjects(ring: int, segment_size: str, in_spark: bool) -> list[Subject]:
    """The queue without Spark, and with Spark if `spark`."""
    calls = "push_many, pop_many, ack_many; pop_arrow with its acks"
    fast = f"{calls}; ring of {ring >> 20} MiB, segments of {segment_size}, flusher on"
    survives = "everything that was pushed; a loss of power takes at most a second, nothing after flush()"
    found = [
        Subject(STANDALONE, fast, survives, lambda: mmapqueue.__version__, partial(_Queue, None, ring, segment_size))
    ]
    if in_spark:
        session = _Session()

        def version() -> str:
            import pyspark

            return f"{mmapqueue.__version__}, pyspark {pyspark.__version__}"

        def open_in_spark(directory: Path, payload: int) -> Session:
            return _Queue(session.get(), ring, segment_size, directory, payload)

        found.append(Subject(IN_SPARK, fast + "; in the driver of a Spark session", survives, version, open_in_spark))
    return found
