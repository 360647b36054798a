"""The base of network senders: Spark's Python workers send the rows of a micro-batch."""

from __future__ import annotations

import hashlib
import logging
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field, model_validator

import mmapqueue
from mmapqueue.pipeline.config import value_of
from mmapqueue.pipeline.config._headers import OF_SENDERS, check_headers
from mmapqueue.pipeline.plugins import Sender, SenderContext
from mmapqueue.pipeline.process.columns import TYPES
from mmapqueue.pipeline.process.dead_letters import as_events, serialized
from mmapqueue.pipeline.process.events import record
from mmapqueue.pipeline.process.senders._client import Client
from mmapqueue.pipeline.process.senders._delivery import Retry
from mmapqueue.pipeline.process.senders._requests import END, RequestLimits, Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

_LOG = logging.getLogger("mmapqueue.pipeline.senders")
_POSITION = ("partition", "offset")
#: Column with the number of an exploded row in its event.
_INDEX = "index"
#: Columns that are computed for a sender: the row as JSON text, and as a serialized Event.
_JSON, _RECORD = "json", "record"
#: Directory in the checkpoint, which Spark does not look at.
_NOTES = "finished"
#: Column with the event's time in milliseconds since 1970: workers get no timestamps.
_TIME = "time_ms"


class NetworkSender(Sender):
    """A sender with requests from Spark's Python workers. At least once.

    Requests of one partition are sent in the order of offsets, one after the other; with `parallel` above 1 some at a
    time. A micro-batch is done when each of its requests was delivered, stored in the dead-letter queue or dropped, as
    `retry` says.

    A subclass defines the columns that it needs and `client()`, and where necessary `route`, `size` and `limits`.
    Instances are pickled to the workers.

    Attributes:
        retry: The treatment of a request that fails.
        request: The limits of a request.
        parallel: The maximum number of requests in flight for each partition of the queue.
        headers: Sent with each request, as HTTP headers or gRPC metadata.
    """

    #: Columns that the sender needs. `json` is the whole row as JSON text, `record` the row as a serialized Event; an
    #: event without an identity gets `<queue id>/<partition>/<offset>` as its `id` there; of encoded rows, with
    #: `/<index>`.
    needs: ClassVar[tuple[str, ...]] = ("data", "content_type")
    #: So that a backlog is acked in parts.
    bounds: ClassVar[tuple[int | None, int | None]] = (10_000, 64 << 20)

    retry: Retry = Retry()
    request: RequestLimits = RequestLimits()
    parallel: Annotated[int, Field(ge=1, le=256)] = 1
    headers: dict[str, str] = Field(default_factory=dict, repr=False)

    @model_validator(mode="after")
    def _check_headers(self) -> NetworkSender:
        check_headers(self.headers, grpc=self.over_grpc, own=OF_SENDERS)
        return self

    @property
    def dead_letters(self) -> bool:
        """As `Sender.dead_letters`."""
        return self.retry.dead_letters

    @property
    def over_grpc(self) -> bool:
        """Whether `headers` are metadata of gRPC, and not headers of HTTP."""
        return False

    @abstractmethod
    def client(self) -> Client:
        """A client; called once in each worker process, on its event loop."""

    def route(self, row: Row) -> str:  # noqa: ARG002
        """The route of a row. Rows of different routes are never in one request."""
        return ""

    def size(self, row: Row) -> int:
        """Bytes of a row's payload."""
        return len(row["data"] or b"")

    def limits(self, route: str) -> RequestLimits:  # noqa: ARG002
        """Limits of a route's requests."""
        return self.request

    def columns(self) -> tuple[str, ...]:
        """The columns that the sender needs, by its options."""
        return self.needs

    def check(self, events: DataFrame, context: SenderContext) -> None:
        """As `Sender.check`."""
        wanted = (*_POSITION, *(name for name in self.columns() if name not in (_JSON, _RECORD)))
        missing = [name for name in wanted if name not in events.columns]
        if missing:
            can_encode = "data" in missing and not {"body", "span_id", "kind"}.isdisjoint(events.columns)
            hint = "; with `encode: otlp` rows of logs, spans and points have them" if can_encode else ""
            raise mmapqueue.ConfigError(
                f"it needs the columns {', '.join(missing)}, which the filters have dropped{hint}; "
                f"columns: {', '.join(events.columns)}"
            )
        if self.retry.dead_letters and context.dead_letter is None:
            raise mmapqueue.ConfigError("retry: dead letters need the pipe's dead_letter.dir")
        self._with_columns(events)
        if self.retry.dead_letters:
            as_events(events)

    def start(self, events: DataFrame, context: SenderContext) -> StreamingQuery:
        """As `Sender.start`."""
        self.check(events, context)
        # A reload begins here, and reads certificates anew.
        version = self._version()

        def send(batch: DataFrame, batch_id: int) -> None:
            self._send(batch, batch_id, context, version)

        return context.writer(events).foreachBatch(send).start()

    def _version(self) -> str:
        """Differs after a change of the options, or of the content of files that they name, such as certificates."""
        return hashlib.sha256(repr(value_of(self)).encode()).hexdigest()

    def _with_columns(self, events: DataFrame) -> DataFrame:
        """The columns that workers get, and no others."""
        from pyspark.sql import functions as sf

        present = events.columns
        wanted = set(self.columns()) | {*_POSITION, _INDEX}
        if _RECORD in wanted:
            wanted |= set(TYPES)
        kept = [name for name in present if name in wanted and name not in (_JSON, _RECORD, "time")]
        selected = [sf.col(name).cast(TYPES[name]).alias(name) if name in TYPES else sf.col(name) for name in kept]
        if "time" in present and dict(events.dtypes)["time"] == "timestamp":
            selected.append(sf.unix_millis("time").alias(_TIME))
        if _JSON in self.columns():
            selected.append(sf.to_json(sf.struct(*present)).alias(_JSON))
        return events.select(*selected)

    def _with_record(self, rows: DataFrame, queues: Mapping[int, str]) -> DataFrame:
        """The rows with `record`, without the columns in it."""
        from pyspark.sql import functions as sf

        identities = sf.create_map(*(sf.lit(each) for entry in queues.items() for each in entry))
        position = sf.concat_ws("/", identities[sf.col("partition")], *_order(rows))
        given = sf.col("id") if "id" in rows.columns else sf.lit(None)
        events = rows.withColumn("time", sf.timestamp_millis(_TIME)) if _TIME in rows.columns else rows
        serialized_row = record(events, id=sf.when(given != "", given).otherwise(position))
        kept = (name for name in rows.columns if name not in (*TYPES, _TIME))
        return events.select(*kept, serialized_row.alias(_RECORD))

    def _send(self, batch: DataFrame, batch_id: int, context: SenderContext, version: str) -> None:
        """Sends the rows of a micro-batch; returns when each request is finished.

        Long pauses between attempts are waited for here, so that a receiver that is down occupies no core.
        """
        from mmapqueue.pipeline.process.senders._worker import Task

        queues = dict(context.queue_ids())
        # One task has all rows of a partition, so that requests are cut alike in every run.
        tasks = min(len(queues), batch.sparkSession.sparkContext.defaultParallelism)
        order = _order(batch)
        rows = self._with_columns(batch)
        rows = self._with_record(rows, queues) if _RECORD in self.columns() else rows
        rows = rows.unionByName(_ends(rows, queues)).repartition(tasks, "partition").sortWithinPartitions(*order)
        notes = context.checkpoint / _NOTES
        notes.mkdir(parents=True, exist_ok=True)
        done: dict[int, int] = {}
        attempts: dict[int, int] = {}
        settled: frozenset[str] = frozenset()
        while True:
            task = Task(self, queues, done, attempts, notes, batch_id, settled, version)
            found = rows.rdd.mapPartitions(task.run).collect()
            refused = [
                (row.partition, offset, row.status) for row in found if row.kind == "refused" for offset in row.offsets
            ]
            if refused:
                # Before the requests count as done: a failure repeats the micro-batch.
                context.write_dead_letters(serialized(self._letters(batch, refused), context.pipe))
            for row in found:
                if row.kind == "count":
                    context.count(row.status, row.number)
            done |= {row.partition: row.number for row in found if row.kind == "done"}
            settled |= {row.status for row in found if row.kind == "settled"}
            waiting = [row for row in found if row.kind == "waiting"]
            context.waiting(f"{waiting[0].status}; attempt {waiting[0].number}" if waiting else None)
            if not waiting:
                return
            attempts = {row.partition: row.number for row in waiting}
            pause = min(row.pause for row in waiting)
            for row in waiting:
                _LOG.warning("%s: %s; attempt %d in %.1f s", context.query, row.status, row.number + 1, pause)
            context.sleep(pause)

    def _letters(self, batch: DataFrame, refused: Sequence[tuple[int, int, str]]) -> DataFrame:
        """Rows of a micro-batch, by partition, offset and reason, as `serialized` takes them."""
        from pyspark.sql import functions as sf

        reasons = batch.sparkSession.createDataFrame(refused, "partition int, offset bigint, reason string")
        letters = as_events(batch).join(sf.broadcast(reasons), list(_POSITION))
        return letters.withColumn("sender", sf.lit(self.name))


def _ends(rows: DataFrame, partitions: Iterable[int]) -> DataFrame:
    """A row after those of each partition, by which a task knows that it has all of them."""
    from pyspark.sql import functions as sf

    each = sf.explode(sf.array(*map(sf.lit, partitions))).alias("partition")
    of_end = {"partition": sf.col("partition"), "offset": sf.lit(END)}
    columns = (of_end.get(field.name, sf.lit(None)).cast(field.dataType).alias(field.name) for field in rows.schema)
    return rows.sparkSession.range(0, 1, 1, 1).select(each).select(*columns)


def _order(rows: DataFrame) -> list[str]:
    """The columns that identify a row of a queue, and order it."""
    return [name for name in (*_POSITION, _INDEX) if name in rows.columns]
