"""Runs the processing half of a pipeline: one streaming query, consumer and checkpoint for each sender."""

from __future__ import annotations

import contextlib
import functools
import logging
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import mmapqueue
from mmapqueue.pipeline import _signals
from mmapqueue.pipeline._control import Control
from mmapqueue.pipeline._partitions import partitions
from mmapqueue.pipeline.config import DEAD_LETTER, Pipe, Pipeline, require_tls, tls_in, value_of
from mmapqueue.pipeline.config._problems import dotted
from mmapqueue.pipeline.plugins import Sender, Stopping
from mmapqueue.pipeline.process.context import Context
from mmapqueue.pipeline.process.dead_letters import DeadLetters
from mmapqueue.pipeline.process.queues import create_consumers
from mmapqueue.pipeline.process.rows import dead_rows, sent_rows
from mmapqueue.pipeline.process.session import session
from mmapqueue.pipeline.process.supervision import SupervisedQuery, reason
from mmapqueue.pipeline.process.undecodable import UndecodableLog

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_LOG = logging.getLogger("mmapqueue.pipeline.process")
_POLL = 0.2
#: Seconds for which a stop waits for the running micro-batches.
_FINISH_WITHIN = 30.0
_POOL = "spark.scheduler.pool"
_T = TypeVar("_T")


class ProcessTelemetry(Protocol):
    """What gets to know of sent rows and of outages."""

    def attach(self, spark: SparkSession) -> None:
        """Called before the first query."""

    def sender_output(self, pipe: str, sender: str, status: str, count: int) -> None:
        """Counts rows."""

    def sender_waiting(self, pipe: str, sender: str, reason: str | None) -> None:
        """Notes why a sender cannot go on; None when it can."""

    def change(self, pipeline: Pipeline) -> None:
        """Called when another configuration is processed."""

    def reloaded(self, succeeded: bool) -> None:  # noqa: FBT001
        """Counts a reload of the configuration."""


class StartError(mmapqueue.ConfigError):
    """A pipeline cannot be processed as configured. The message names pipe, sender and reason."""


class _Prepared(NamedTuple):
    """A change that is prepared.

    Attributes:
        pipeline: The configuration.
        values: The value of each query, from one reading of the files that senders name. Such a file may be another one
            when the change is done, and then a query would end that is not among the new ones.
        new: The queries that are new or have changed; they are not started.
    """

    pipeline: Pipeline
    values: dict[str, Any]
    new: list[SupervisedQuery]


class Processor:
    """The queries of a pipeline. `request_stop` may be called from any thread, all else from one.

    A query that fails is logged and started again from its checkpoint: after 1 s, which doubles with each failure in
    a row, up to 60 s. The others continue.

    Example:
        processor = Processor(pipeline, spark)
        processor.start()
        try:
            processor.wait()
        finally:
            processor.stop()

    Args:
        pipeline: The configuration.
        spark: The session.
        once: Processes what the queues hold, and ends. A query that fails is not started again.
        telemetry: Counts rows.
        stopping: Requests a stop when it is set; `request_stop` sets it.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        spark: SparkSession,
        *,
        once: bool = False,
        telemetry: ProcessTelemetry | None = None,
        stopping: threading.Event | None = None,
    ) -> None:
        self._pipeline = pipeline
        self._spark = spark
        self._once = once
        self._telemetry = telemetry
        self._stopping = stopping or threading.Event()
        self._queries: list[SupervisedQuery] = []
        #: The value of each query, by which a change finds out what is different.
        self._values: dict[str, Any] = {}
        self._requests: SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = SimpleQueue()
        self._undecodable = UndecodableLog(_outcomes(pipeline))
        self._listener: Any = None

    @property
    def pipeline(self) -> Pipeline:
        """The configuration that is processed."""
        return self._pipeline

    @property
    def queries(self) -> list[SupervisedQuery]:
        """The queries, in the order of pipes and senders; a pipe's dead-letter query is its last one."""
        return list(self._queries)

    def start(self) -> None:
        """Waits until each queue exists, checks all senders, then starts their queries.

        Raises:
            StartError: A sender cannot work as configured, or with `once`, a queue does not exist. No query runs.
        """
        pipes = _sending(self._pipeline)
        for pipe in pipes:
            if not self._wait_for_queue(pipe):
                return
        if self._stopping.is_set():
            return
        if self._telemetry is not None:
            self._telemetry.attach(self._spark)
        # Before the queries read the files that senders name.
        values = _all_values(pipes)
        queries = [query for pipe in pipes for query in self._checked(pipe)]
        for pipe in pipes:
            # Records are retained only for consumers that exist, so all must exist before one of them acks.
            create_consumers(self._spark, pipe.queue.dir, pipe.consumers())
        self._listener = self._undecodable.listener()
        self._spark.streams.addListener(self._listener)
        for query in queries:
            try:
                query.start()
            except Exception as error:
                self.stop()
                raise StartError(f"{query.name}: {_first_line(error)}") from error
            self._queries.append(query)
        self._values = values

    def change(self, pipeline: Pipeline) -> None:
        """Processes another configuration. For another thread than that of `wait`, which does it.

        Queries whose sender, filters and queue are equal go on untouched. Others end after their micro-batch, for up to
        30 s, or at once while their receiver is away, and start again from their checkpoints.

        Raises:
            StartError: A sender cannot work as configured, or a queue does not exist. Nothing has changed.
        """
        self._ask(lambda: self._change(self._prepare(pipeline)))

    def prepare(self, pipeline: Pipeline) -> Callable[[], None]:
        """Prepares all of a change that can fail; returns what changes. For the caller of `change`.

        Before the first query runs it prepares nothing, as `check`.

        Raises:
            StartError: As `change`.
        """
        if not self._queries:
            return lambda: self.change(pipeline)
        prepared = self._ask(lambda: self._prepare(pipeline))
        return lambda: self._ask(lambda: self._change(prepared))

    def check(self, pipeline: Pipeline) -> None:
        """Checks what `change` would change. A queue that does not exist yet may come with a change of gather.

        Before the first query runs it checks nothing: `start` may wait for a queue, and the caller must not.

        Raises:
            StartError: A sender cannot work as configured.
        """
        if self._queries:
            self._ask(lambda: self._check(pipeline))

    def _ask(self, do: Callable[[], _T]) -> _T:
        """Has the thread of `wait` do something."""
        done: Future[_T] = Future()
        self._requests.put((do, done))
        if self._stopping.is_set():
            self._refuse_requests()
        return done.result()

    def _refuse_requests(self) -> None:
        with contextlib.suppress(Empty):
            while True:
                self._requests.get_nowait()[1].set_exception(StartError("process is stopping"))

    def _do_what_is_asked(self) -> None:
        try:
            do, done = self._requests.get_nowait()
        except Empty:
            return
        try:
            result = do()
        except Exception as error:
            done.set_exception(error)
        else:
            done.set_result(result)

    def _check(self, pipeline: Pipeline) -> None:
        for pipe, _ in self._different(pipeline, _all_values(_sending(pipeline))):
            if partitions(pipe.queue.dir):
                list(self._checked(pipe))

    def _prepare(self, pipeline: Pipeline) -> _Prepared:
        values = _all_values(_sending(pipeline))
        new: list[SupervisedQuery] = []
        for pipe, different in self._different(pipeline, values):
            self._require_queue(pipe, pipeline)
            new += [each for each in self._checked(pipe) if each.name in different]
        return _Prepared(pipeline, values, new)

    def _change(self, prepared: _Prepared) -> None:
        """Runs a configuration. Nothing of it fails: a query that does not start is tried again."""
        pipeline, values, new = prepared
        leaving = [each for each in self._queries if values.get(each.name) != self._values.get(each.name)]
        self._end(leaving)
        self._queries = [each for each in self._queries if each not in leaving] + new
        self._pipeline, self._values = pipeline, values
        self._undecodable.change(_outcomes(pipeline))
        if self._telemetry is not None:
            self._telemetry.change(pipeline)
        for pipe in _sending(pipeline):
            create_consumers(self._spark, pipe.queue.dir, pipe.consumers())
        for query in new:
            query.look()

    def _different(self, pipeline: Pipeline, values: dict[str, Any]) -> Iterator[tuple[Pipe, set[str]]]:
        """The pipes with queries that are new or have changed, and the names of these."""
        for pipe in _sending(pipeline):
            different = {name for name in pipe.queries() if self._values.get(name) != values[name]}
            if different:
                yield pipe, different

    def _require_queue(self, pipe: Pipe, pipeline: Pipeline) -> None:
        if len(partitions(pipe.queue.dir)) < _partitions(pipe, pipeline):
            raise StartError(
                f"pipe {pipe.name}: no queue in {pipe.queue.dir}; reload or start `mmapqueue gather` first"
            )

    def wait(self) -> None:
        """Keeps the queries running until a stop is requested; with `once`, until all have ended.

        Raises:
            RuntimeError: With `once`: queries failed; the message names them.
        """
        while not self._stopping.is_set() and not all(query.ended for query in self._queries):
            self._do_what_is_asked()
            for query in self._queries:
                query.look()
            self._stopping.wait(_POLL)
        failed = [f"{query.name}: {query.failure}" for query in self._queries if query.failure]
        if failed:
            raise RuntimeError("; ".join(failed))

    def request_stop(self) -> None:
        """Makes `start` and `wait` return. Safe in a signal handler."""
        self._stopping.set()

    def stop(self) -> None:
        """Stops all queries, each after its micro-batch. One that takes longer than 30 s is repeated later."""
        self._stopping.set()
        self._refuse_requests()
        self._end(self._queries)
        listener, self._listener = self._listener, None
        if listener is not None:
            self._spark.streams.removeListener(listener)

    def _end(self, queries: list[SupervisedQuery]) -> None:
        """Stops queries, each after its micro-batch."""
        deadline = time.monotonic() + _FINISH_WITHIN
        running = [(query, query.finish_batch()) for query in queries]
        while running:
            late = time.monotonic() > deadline
            for query, finished in [each for each in running if late or each[1]()]:
                # The listener may not have got the last micro-batches yet.
                for progress in query.progress():
                    self._undecodable.note(progress)
                query.stop()
                running.remove((query, finished))
            if running:
                time.sleep(0.05)

    def _wait_for_queue(self, pipe: Pipe) -> bool:
        """Whether the queue and its partitions exist, waiting for them; False when a stop was requested."""
        wanted = _partitions(pipe, self._pipeline)
        waits = False
        while len(partitions(pipe.queue.dir)) < wanted:
            if self._once:
                raise StartError(f"pipe {pipe.name}: no queue in {pipe.queue.dir}; run `mmapqueue gather` first")
            if not waits:
                _LOG.info("pipe %s: waiting for the queue in %s (%d partitions)", pipe.name, pipe.queue.dir, wanted)
                waits = True
            if self._stopping.wait(_POLL):
                return False
        return True

    def _checked(self, pipe: Pipe) -> Iterator[SupervisedQuery]:
        dead = DeadLetters(pipe) if pipe.dead_letters is not None else None
        for sender in pipe.senders:
            stopping = threading.Event()
            context = self._context(pipe, sender, dead, stopping)
            start = functools.partial(self._start, pipe, sender, context, dead)
            try:
                for at, tls in tls_in(sender):
                    require_tls(tls, dotted(at))
                sender.check(self._rows(pipe, sender, dead), context)
            except Exception as error:
                raise StartError(f"pipe {pipe.name}, sender {sender.name}: {_first_line(error)}") from error
            yield self._supervised(context.query, start, stopping)
        if dead is not None and pipe.on_undecodable == "dead_letter":
            stopping = threading.Event()
            start = functools.partial(self._start_dead_letters, pipe, dead, stopping)
            yield self._supervised(f"{pipe.name}.{DEAD_LETTER}", start, stopping)

    def _supervised(self, name: str, start: Callable[[], StreamingQuery], stopping: threading.Event) -> SupervisedQuery:
        def start_in_pool() -> StreamingQuery:
            # The query's thread inherits the pool: with FAIR scheduling each query gets its share of the cores.
            with _local_property(self._spark, _POOL, name):
                return start()

        return SupervisedQuery(name, start_in_pool, stopping, restarts=not self._once)

    def _context(self, pipe: Pipe, sender: Sender, dead: DeadLetters | None, stopping: threading.Event) -> Context:
        return Context(
            spark=self._spark,
            pipe=pipe.name,
            sender=sender.name,
            queue=pipe.queue.dir,
            checkpoint=pipe.checkpoint(sender.name),
            trigger=self._trigger(sender.batch.interval.total_seconds()),
            letters=dead,
            stopping=stopping,
            counted=self._telemetry.sender_output if self._telemetry is not None else _ignore,
            waits=self._telemetry.sender_waiting if self._telemetry is not None else _ignore,
        )

    def _rows(self, pipe: Pipe, sender: Sender, dead: DeadLetters | None, most: int | None = None) -> Any:
        # The dead letters of one micro-batch must fit into the dead-letter queue.
        limit = dead.batch_bytes if dead is not None and sender.dead_letters and not sender.batch.max_bytes else None
        return sent_rows(self._spark, pipe, sender, batch_bytes=min(filter(None, (limit, most)), default=None))

    def _start(self, pipe: Pipe, sender: Sender, context: Context, dead: DeadLetters | None) -> StreamingQuery:
        return sender.start(self._rows(pipe, sender, dead, sender.most_bytes(context)), context)

    def _start_dead_letters(self, pipe: Pipe, dead: DeadLetters, stopping: threading.Event) -> StreamingQuery:
        refused = {
            sender.name: functools.partial(_refused, sender, self._context(pipe, sender, dead, stopping))
            for sender in pipe.senders
            if sender.writes_queue
        }
        rows = dead_rows(self._spark, pipe, DEAD_LETTER, refused, batch_bytes=dead.batch_bytes)
        writer = dead.stream(rows, pipe.checkpoint(DEAD_LETTER))
        return writer.queryName(f"{pipe.name}.{DEAD_LETTER}").trigger(**self._trigger(1.0)).start()

    def _trigger(self, seconds: float) -> dict[str, Any]:
        if self._once:
            return {"availableNow": True}
        return {"processingTime": f"{round(seconds * 1000)} milliseconds"}


def main(
    pipeline: Pipeline,
    *,
    once: bool = False,
    telemetry: ProcessTelemetry | None = None,
    file: str | None = None,
    load: Callable[[Pipeline], Pipeline] | None = None,
    watched: Callable[[Pipeline], Iterable[Path]] | None = None,
    started: Callable[[], None] = lambda: None,
) -> int:
    """Processes a pipeline until SIGTERM or SIGINT; with `once`, what its queues hold.

    Belongs to the main thread.

    Args:
        pipeline: The configuration.
        once: Whether to end when the queues are processed.
        telemetry: Counts rows and reloads.
        file: The configuration file. None for no reloads.
        load: Loads the file again, for a process that runs this configuration.
        watched: The files whose changes ask for a reload; None for none.
        started: Called when Spark has started.

    Returns:
        0 after a stop, 1 when the pipeline cannot be processed as configured, or a query failed with `once`.
    """
    stopping = threading.Event()
    with _stopped_by(stopping.set):
        spark = session(pipeline)
        try:
            started()
            processor = Processor(pipeline, spark, once=once, telemetry=telemetry, stopping=stopping)
            # Replaces the handler that the session has set for SIGINT.
            with _stopped_by(stopping.set), contextlib.ExitStack() as stack:
                if file is not None and load is not None:
                    control = stack.enter_context(_control(processor, file, load, watched, telemetry))
                    stack.enter_context(_reloaded_by(_signals.hangups(control.request, stopping.set)))
                return _process(processor)
        finally:
            spark.stop()


def _process(processor: Processor) -> int:
    try:
        try:
            processor.start()
            processor.wait()
        finally:
            processor.stop()
    except StartError as error:
        _LOG.error("%s", error)
        return 1
    except RuntimeError as error:
        _LOG.error("failed: %s", error)
        return 1
    return 0


def _control(
    processor: Processor,
    file: str,
    load: Callable[[Pipeline], Pipeline],
    watched: Callable[[Pipeline], Iterable[Path]] | None,
    telemetry: ProcessTelemetry | None,
) -> Control:
    return Control(
        "process",
        file,
        lambda: contextlib.nullcontext(processor.prepare(load(processor.pipeline))),
        watched=None if watched is None else lambda: watched(processor.pipeline),
        noted=_ignore if telemetry is None else telemetry.reloaded,
        check=lambda: processor.check(load(processor.pipeline)),
    )


@contextmanager
def _reloaded_by(handle: Callable[[], None]) -> Iterator[None]:
    before = {number: signal.signal(number, lambda _number, _frame: handle()) for number in _signals.reloading()}
    _signals.release_hangups()
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _stopped_by(stop: Callable[[], None]) -> Iterator[None]:
    before = {number: signal.signal(number, lambda _number, _frame: stop()) for number in _signals.stopping()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _local_property(spark: SparkSession, key: str, value: str) -> Iterator[None]:
    context = spark.sparkContext
    before = context.getLocalProperty(key)
    context.setLocalProperty(key, value)
    try:
        yield
    finally:
        context.setLocalProperty(key, before)  # type: ignore[arg-type]


def _refused(sender: Sender, context: Context, events: Any) -> Any:
    return sender.refused(events, context)


def _sending(pipeline: Pipeline) -> list[Pipe]:
    """The pipes with senders."""
    pipes = [pipe for pipe in pipeline.pipes if pipe.senders]
    if not pipes:
        raise StartError(f"pipeline {pipeline.name} has no senders, so there is nothing to process")
    return pipes


def _all_values(pipes: Iterable[Pipe]) -> dict[str, Any]:
    return {name: value for pipe in pipes for name, value in _values(pipe).items()}


def _values(pipe: Pipe) -> dict[str, Any]:
    """What each query of a pipe is compared by."""
    shared = value_of((pipe.queue, pipe.filters, pipe.on_damage, pipe.on_undecodable, pipe.dead_letters))
    values = {f"{pipe.name}.{each.name}": (shared, value_of(each), pipe.checkpoint(each.name)) for each in pipe.senders}
    name = f"{pipe.name}.{DEAD_LETTER}"
    if name in pipe.queries():
        writing = tuple(value_of(each) for each in pipe.senders if each.writes_queue)
        values[name] = shared, writing, pipe.checkpoint(DEAD_LETTER)
    return values


def _partitions(pipe: Pipe, pipeline: Pipeline) -> int:
    return pipeline.gather.processes if pipe.receivers or pipe.fetchers else 1


def _outcomes(pipeline: Pipeline) -> dict[str, str]:
    return {query: _undecodable_outcome(pipe) for pipe in pipeline.pipes for query in pipe.queries()}


def _undecodable_outcome(pipe: Pipe) -> str:
    if pipe.on_undecodable == "drop" or pipe.dead_letters is None:
        return "dropped"
    return f"stored in {pipe.dead_letters.dir}"


def _ignore(*_: object) -> None:
    pass


def _first_line(error: Exception) -> str:
    return reason(error).partition("\n")[0]


__all__ = ["ProcessTelemetry", "Processor", "StartError", "Stopping", "main"]
