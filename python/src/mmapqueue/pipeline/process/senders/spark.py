"""Writes to any sink of Spark: files, Kafka, Delta, JDBC, another queue."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple
from urllib.parse import unquote, urlsplit

from pydantic import Field, model_validator

import mmapqueue
from mmapqueue._values.arguments import is_uri
from mmapqueue.pipeline._partitions import partitions
from mmapqueue.pipeline.plugins import Sender, SenderContext
from mmapqueue.pipeline.process import too_large
from mmapqueue.pipeline.process.events import record
from mmapqueue.pipeline.process.queues import opened

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_BATCH_FORMATS = frozenset({"jdbc"})
#: Sinks of DataStreamWriter that are not data sources.
_BUILT_INTO_WRITERS = frozenset({"memory"})
_QUEUE = "mmapqueue"
_FILES = frozenset({"parquet", "orc", "json", "csv", "text", "xml", "avro"})
#: Formats whose option `path` is a directory.
_OF_PATHS = _FILES | {"delta", _QUEUE}
#: Directory in the target in which Spark's sink of files notes the micro-batches that are written.
_LOG_OF_FILES = "_spark_metadata"
_PATH = "path"
#: The part of a target's ring that a micro-batch takes.
_SHARE_OF_RING = 8
_SEGMENT_HEADER = 64
_OWN_OPTIONS = frozenset({"checkpointlocation", "queryname"})


class _Limits(NamedTuple):
    """Limits of a queue that a sender writes.

    Attributes:
        ring: Bytes of one push.
        max_event_size: Bytes of a record.
    """

    ring: int
    max_event_size: int


class SparkSender(Sender):
    """Writes rows by one of Spark's data sources.

    With a streaming sink the guarantee is that of the sink: exactly once for files, Delta and queues; at least once for
    Kafka. With `batch_writes` each micro-batch is an ordinary write: at least once, since it is repeated when the
    driver dies between the write and Spark's commit.

    `format: mmapqueue` writes events to a queue on this machine, as Events, or as the columns of `select`.

    Attributes:
        format: Name of the data source.
        options: The options of the data source.
        select: SQL expressions of the columns to write; None for all columns.
        partition_by: Columns that directories are partitioned by.
        output_mode: append, update or complete.
        batch_writes: Whether each micro-batch is written as a batch, for sources without a streaming sink; None for
            jdbc only.
    """

    type: Literal["spark"] = "spark"
    format: Annotated[str, Field(min_length=1)]
    options: dict[str, str] = Field(default_factory=dict, repr=False)
    select: tuple[str, ...] | None = None
    partition_by: tuple[str, ...] = ()
    output_mode: Literal["append", "update", "complete"] = "append"
    batch_writes: bool | None = None

    @model_validator(mode="after")
    def _check(self) -> SparkSender:
        for key in self.options:
            if key.lower() in _OWN_OPTIONS:
                raise ValueError(
                    f"options.{key} is set by the pipeline, from `checkpoints` of the pipe and `name` of the sender"
                )
        if self.format.lower() in _OF_PATHS and not self._path():
            raise ValueError(f"format: {self.format} needs options.path, the directory to which it writes")
        if self.select is not None and not self.select:
            raise ValueError(
                "select is empty; allowed: at least one expression; without `select` all columns are written"
            )
        return self

    def resolved(self, base: Path) -> SparkSender:
        """As `Plugin.resolved`: the option `path` of files and queues."""
        path = self._path()
        if self.format.lower() not in _OF_PATHS or is_uri(path):
            return self
        options = {key: each for key, each in self.options.items() if key.lower() != _PATH}
        return self.model_copy(update={"options": {**options, _PATH: str(base / Path(path).expanduser())}})

    @property
    def target(self) -> Path | None:
        """As `Sender.target`."""
        path = self._path()
        if self.format.lower() not in _OF_PATHS or not path:
            return None
        if is_uri(path):
            url = urlsplit(path)
            return Path(unquote(url.path)) if url.scheme == "file" else None
        return Path(path)

    @property
    def sole_writer(self) -> bool:
        """As `Sender.sole_writer`: a directory's log knows the micro-batches of one query, by their numbers."""
        return self.format.lower() in _FILES and not self.batch_writes

    @property
    def writes_queue(self) -> bool:
        """As `Sender.writes_queue`."""
        return self.format.lower() == _QUEUE

    def _path(self) -> str:
        return next((value for key, value in self.options.items() if key.lower() == _PATH), "")

    def check(self, events: DataFrame, context: SenderContext) -> None:
        """As `Sender.check`."""
        self._check_format(context.spark)
        self._check_log(context.checkpoint)
        rows = self._rows(events)
        missing = [name for name in self.partition_by if name not in rows.columns]
        if missing:
            raise mmapqueue.ConfigError(
                f"partition_by: no column {', '.join(missing)}; columns: {', '.join(rows.columns)}"
            )

    def most_bytes(self, context: SenderContext) -> int | None:
        """As `Sender.most_bytes`: a micro-batch is one push into each partition of a queue."""
        if not self.writes_queue:
            return None
        # Columns of one's own may be larger than the records.
        share = _SHARE_OF_RING if self.select is None else 8 * _SHARE_OF_RING
        return max(1, self._target_limits(context.spark).ring // share)

    def refused(self, events: DataFrame, context: SenderContext) -> DataFrame | None:
        """As `Sender.refused`: what is larger than the max_event_size of a queue."""
        from pyspark.sql import functions as sf

        if not self.writes_queue:
            return None
        largest = self._target_limits(context.spark).max_event_size
        expressions = [sf.expr(each) for each in self.select or ()]
        if expressions:
            value = sf.struct(*expressions)["value"]
        else:
            value = sf.col("value") if "value" in events.columns else record(events)
        size = sf.octet_length(value)
        words = sf.concat(sf.lit("the event has "), size, sf.lit(f" bytes; max_event_size of the target is {largest}"))
        return events.where(size > largest).withColumn("reason", words)

    def start(self, events: DataFrame, context: SenderContext) -> StreamingQuery:
        """As `Sender.start`."""
        rows = self._rows(events)
        if self.writes_queue:
            rows = too_large.left_out(rows, self._target_limits(context.spark).max_event_size)
        writer = context.writer(rows).outputMode(self.output_mode)
        as_batches = self.format.lower() in _BATCH_FORMATS if self.batch_writes is None else self.batch_writes
        if as_batches:
            return writer.foreachBatch(self._write).start()
        if self.partition_by:
            writer = writer.partitionBy(*self.partition_by)
        return writer.format(self.format).options(**self.options).start()

    def _target_limits(self, spark: SparkSession) -> _Limits:
        """The limits of the target queue, which is created when it does not exist."""
        directory = self.target
        assert directory is not None
        if not partitions(directory):
            self._write(spark.createDataFrame([], "value binary"), 0)
        found: list[_Limits] = []
        for each in partitions(directory).values():
            with opened(spark, each) as queue:
                size = queue.config["segment_size"]
                ring = (queue.stats().capacity // size - 1) * (size - _SEGMENT_HEADER)
                found.append(_Limits(ring, queue.config["max_event_size"]))
        return _Limits(min(each.ring for each in found), min(each.max_event_size for each in found))

    def _check_format(self, spark: SparkSession) -> None:
        """Raises Spark's own error when no data source of this name is on the class path."""
        if self.format.lower() in _BUILT_INTO_WRITERS:
            return
        # Otherwise the error would come when other queries already run, or in each micro-batch.
        sources = spark._jvm.org.apache.spark.sql.execution.datasources.DataSource  # type: ignore[union-attr]
        sources.lookupDataSource(self.format, spark._jsparkSession.sessionState().conf())

    def _check_log(self, checkpoint: Path) -> None:
        """Raises for the files of another query: Spark takes micro-batches of this one for written."""
        if self.target is None or not self.sole_writer:
            return
        written = _last_batch(self.target / _LOG_OF_FILES)
        if written >= 0 and _last_batch(checkpoint / "offsets") < 0:
            raise mmapqueue.ConfigError(
                f"options.path: {str(self.target)!r} has the files of another query, and Spark would take the "
                f"micro-batches of this one up to {written} for written; set another path"
            )

    def _write(self, batch: DataFrame, _batch_id: int) -> None:
        writer = batch.write.format(self.format).mode("append").options(**self.options)
        if self.partition_by:
            writer = writer.partitionBy(*self.partition_by)
        writer.save()

    def _rows(self, events: DataFrame) -> DataFrame:
        if self.select is not None:
            return events.selectExpr(*self.select)
        if self.format.lower() == _QUEUE and "value" not in events.columns:
            return _serialized(events)
        return events


def _last_batch(log: Path) -> int:
    """The highest number of a micro-batch in a log of Spark, in which compacted files end in .compact; -1 for none."""
    names = (each.name.removesuffix(".compact") for each in log.iterdir()) if log.is_dir() else ()
    return max((int(name) for name in names if name.isdigit()), default=-1)


def _serialized(events: DataFrame) -> DataFrame:
    """Rows of the event schema as a column `value` of Events."""
    missing = [name for name in ("data", "content_type") if name not in events.columns]
    if missing:
        raise mmapqueue.ConfigError(
            f"format: mmapqueue writes events, and the filters have dropped {', '.join(missing)}; set `select` to an "
            "expression for `value`, such as to_json(struct(*)) AS value"
        )
    return events.select(record(events).alias("value"))
