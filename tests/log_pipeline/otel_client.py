"""An application with the OpenTelemetry SDK. It notes the answer to each request of its exporter.

    python otel_client.py --endpoint http://127.0.0.1:11800 --journal otel.jsonl --logs 200000 --spans 20000

Logs and spans carry a number as attribute. A request that fails is exported again until it is accepted, so that each
number must come out; it may come out twice when a request was stored and its answer was lost. SIGTERM ends it: what
has been logged is still exported.
"""

from __future__ import annotations

import argparse
import itertools
import threading
import time
from collections.abc import Sequence
from typing import Any

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider, ReadableLogRecord
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, LogRecordExporter, LogRecordExportResult
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

import client
from journal import Journal

#: Records that wait for the exporter, at most; the application waits then. The SDK would drop them.
MOST_WAITING = 20_000
#: Seconds that one export may take, its retries included: longer than a killed server stays away.
TIMEOUT = 60.0
#: A number of this many digits for each record, so that all have the same size.
TEXT = "order %09d was accepted by the warehouse and will be packed today"


class Pace:
    """How many records were emitted and accepted, and when the next ones are due."""

    def __init__(self, most: int, rate: float, first: int) -> None:
        self.emitted = 0
        self.accepted = 0
        self._first = first
        self._most = most
        self._rate = rate
        self._started = time.monotonic()

    def next(self) -> int:
        """The number of the next record, which counts as emitted."""
        self.emitted += 1
        return self._first + self.emitted - 1

    def done(self) -> bool:
        """Whether all records were emitted; never when there is no limit."""
        return bool(self._most) and self.emitted >= self._most

    def ready(self) -> bool:
        """Whether the next records are due and have room."""
        due = (time.monotonic() - self._started) * self._rate if self._rate else self.emitted + 1
        return not self.done() and self.emitted < due and self.emitted - self.accepted < MOST_WAITING


class NotedLogs(LogRecordExporter):
    """The SDK's exporter, with a journal."""

    def __init__(self, exporter: OTLPLogExporter, journal: Journal, pace: Pace) -> None:
        self._exporter, self._journal, self._pace = exporter, journal, pace

    def export(self, batch: Sequence[ReadableLogRecord]) -> LogRecordExportResult:
        request = self._journal.sent("logs", [_number(each.log_record.attributes) for each in batch])
        while self._exporter.export(batch) is not LogRecordExportResult.SUCCESS:
            time.sleep(0.1)
        self._journal.answered(request)
        self._pace.accepted += len(batch)
        return LogRecordExportResult.SUCCESS

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)


class NotedSpans(SpanExporter):
    """The same for spans."""

    def __init__(self, exporter: OTLPSpanExporter, journal: Journal, pace: Pace) -> None:
        self._exporter, self._journal, self._pace = exporter, journal, pace

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        request = self._journal.sent("spans", [_number(each.attributes) for each in spans])
        while self._exporter.export(spans) is not SpanExportResult.SUCCESS:
            time.sleep(0.1)
        self._journal.answered(request)
        self._pace.accepted += len(spans)
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        self._exporter.shutdown()


def _number(attributes: object) -> int:
    assert hasattr(attributes, "__getitem__")
    return int(attributes["number"])


def run(options: argparse.Namespace, stopped: threading.Event) -> None:
    """Logs and traces until all is emitted, or until it is stopped; then waits for the last answers."""
    journal = Journal(options.journal)
    resource = Resource.create({"service.name": options.service})
    logs = Pace(options.logs, options.log_rate, options.first)
    spans = Pace(options.spans, options.span_rate, options.first)
    batching: dict[str, Any] = {"schedule_delay_millis": 200, "max_queue_size": 4 * MOST_WAITING}
    connection: dict[str, Any] = {"endpoint": options.endpoint, "insecure": True, "timeout": TIMEOUT}

    log_provider = LoggerProvider(resource=resource, shutdown_on_exit=False)
    log_exporter = NotedLogs(OTLPLogExporter(**connection), journal, logs)
    log_provider.add_log_record_processor(
        BatchLogRecordProcessor(log_exporter, max_export_batch_size=options.batch, **batching)
    )
    tracer_provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    span_exporter = NotedSpans(OTLPSpanExporter(**connection), journal, spans)
    tracer_provider.add_span_processor(
        BatchSpanProcessor(span_exporter, max_export_batch_size=min(options.batch, 500), **batching)
    )
    logger, tracer = log_provider.get_logger("shop"), tracer_provider.get_tracer("shop")

    while not stopped.is_set() and not (logs.done() and spans.done()):
        busy = False
        for _ in itertools.takewhile(lambda _: logs.ready(), range(1000)):
            number = logs.next()
            logger.emit(
                LogRecord(
                    timestamp=time.time_ns(),
                    severity_number=SeverityNumber.INFO,
                    severity_text="INFO",
                    body=TEXT % number,
                    attributes={"number": number},
                )
            )
            busy = True
        for _ in itertools.takewhile(lambda _: spans.ready(), range(100)):
            tracer.start_span("accept order", attributes={"number": spans.next()}).end()
            busy = True
        if not busy:
            time.sleep(0.005)
    log_provider.force_flush(int(TIMEOUT * 1000))
    tracer_provider.force_flush(int(TIMEOUT * 1000))
    while logs.accepted < logs.emitted or spans.accepted < spans.emitted:
        time.sleep(0.02)
    log_provider.shutdown()
    tracer_provider.shutdown()
    journal.close()


def options() -> argparse.ArgumentParser:
    options = client.parser(
        "Log and trace with OpenTelemetry, and note the answers.", "URL of the OTLP server, as http://127.0.0.1:11800"
    )
    options.add_argument("--logs", type=int, default=0, help="logs to emit; 0: until SIGTERM")
    options.add_argument("--spans", type=int, default=0, help="spans to emit; 0: until SIGTERM")
    options.add_argument("--log-rate", type=float, default=0.0, help="logs a second, at most; 0: as many as it can")
    options.add_argument("--span-rate", type=float, default=0.0, help="spans a second, at most; 0: as many as it can")
    options.add_argument("--first", type=int, default=0, help="number of the first log and of the first span (0)")
    options.add_argument("--batch", type=int, default=1000, help="logs a request, at most (1000)")
    return options


if __name__ == "__main__":
    raise SystemExit(client.main(options(), run))
