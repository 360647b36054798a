"""What a pipeline has written: the rows of its Parquet files and the events of its queue.

Payloads are decoded with the clients' own protobuf classes, Parquet is read with pyarrow: of the pipeline's code only
the `Event` message is used.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from skywalking.protocol.language_agent.Tracing_pb2 import SegmentObject
from skywalking.protocol.logging.Logging_pb2 import LogData

import mmapqueue
from mmapqueue.pipeline import Event
from mmapqueue.pipeline.event_pb2 import LogList
from skywalking_client import log_number, segment_number

LINE = "text/plain"
OTLP = "application/x-protobuf; proto=otlp."
SKYWALKING = "application/x-protobuf; proto=skywalking."


class Row(NamedTuple):
    """One event that came out."""

    content_type: str
    data: bytes
    meta: Mapping[str, str]
    source: str = ""


def rows_of_parquet(directory: Path) -> Iterator[Row]:
    """The rows that a Parquet sender has committed. Files that a killed task has left do not count, as in Spark."""
    for path in committed_files(directory):
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches(
            10_000, columns=["content_type", "data", "meta", "source"]
        ):
            columns = [batch.column(name).to_pylist() for name in ("content_type", "data", "meta", "source")]
            for content_type, data, meta, source in zip(*columns, strict=True):
                yield Row(content_type, data or b"", dict(meta or ()), source)  # no bytes are null


def committed_files(directory: Path) -> list[Path]:
    """The files that the log of Spark's file sink names: `_spark_metadata/<batch>`, the latest compaction first."""
    log = directory / "_spark_metadata"
    batches = {int(path.name.removesuffix(".compact")): path for path in log.glob("[0-9]*")}
    compacted = max((number for number, path in batches.items() if path.name.endswith(".compact")), default=-1)
    files = []
    for number in sorted(number for number in batches if number >= compacted):
        for line in batches[number].read_text().splitlines()[1:]:  # the first one is the version
            entry = json.loads(line)
            assert entry["action"] == "add", f"{batches[number]}: unknown action {entry['action']}"
            files.append(directory / Path(entry["path"]).name)
    return files


def rows_of_queue(directory: Path) -> Iterator[Row]:
    """The events of a queue, all partitions."""
    for part in sorted(directory.glob("p=*")) or [directory]:
        with mmapqueue.Queue(part, lock_timeout=30.0) as queue:
            reader = queue.consumer("comparison", start="earliest")
            while messages := reader.pop_many(20_000):
                for message in messages:
                    yield row_of(Event.FromString(message.data))
                reader.ack_up_to(messages[-1])


def row_of(event: Event) -> Row:
    """The row that an event gives on Spark."""
    if event.segment:
        return Row(f"{SKYWALKING}segment", event.segment, event.meta, event.source)
    if event.HasField("log_list"):
        return Row(f"{SKYWALKING}logs", event.log_list.SerializeToString(), event.meta, event.source)
    return Row(event.content_type, event.data, event.meta, event.source)


def numbers_of(row: Row) -> tuple[str, list[int]]:
    """Kind and numbers of the records in a client's payload.

    Raises:
        ValueError: None of the demo's clients sends such a payload.
    """
    if row.content_type == f"{OTLP}logs":
        request = ExportLogsServiceRequest.FromString(row.data)
        scopes = [scope for resource in request.resource_logs for scope in resource.scope_logs]
        return "logs", [_attribute(each) for scope in scopes for each in scope.log_records]
    if row.content_type == f"{OTLP}traces":
        traces = ExportTraceServiceRequest.FromString(row.data)
        spans = [each for resource in traces.resource_spans for scope in resource.scope_spans for each in scope.spans]
        return "spans", [_attribute(each) for each in spans]
    if row.content_type == f"{SKYWALKING}segment":
        return "segments", [segment_number(SegmentObject.FromString(row.data))]
    if row.content_type == f"{SKYWALKING}logs":
        logs = LogList.FromString(row.data).logs
        return "stream logs", [log_number(LogData.FromString(each)) for each in logs]
    if row.content_type.startswith(SKYWALKING):
        return "agent's state", []  # the agent's facts about itself have no number
    raise ValueError(f"no client sends {row.content_type!r}")


def _attribute(record: Any) -> int:
    return next(int(each.value.int_value) for each in record.attributes if each.key == "number")
