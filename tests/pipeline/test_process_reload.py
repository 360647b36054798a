"""Reloads of process: queries of equal senders go on, others end after their micro-batch and start again."""

import json
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mmapqueue.pipeline import Event
from mmapqueue.pipeline.event_pb2 import Batch
from mmapqueue.pipeline.process import runner
from mmapqueue.pipeline.process.runner import Processor, StartError
from mmapqueue.pipeline.process.senders.events import EventsSender
from mmapqueue.pipeline.process.senders.http import HttpSender
from mmapqueue.pipeline.process.senders.spark import SparkSender
from mmapqueue.pipeline.telemetry import ProcessTelemetry

from .processing import FAST, line, lines, parquet, pipeline, processing, push
from .receiving import GrpcReceiver, HttpReceiver, grpc_receiver, http_receiver, until

RECORDS = 200


def sender(directory: Path, name: str, path: str = "", **options: Any) -> SparkSender:
    target = {"path": str(directory / (path or name))}
    return SparkSender.model_validate({"name": name, "format": "parquet", "options": target, "batch": FAST, **options})


def test_a_change_touches_only_what_is_different(spark: Any, tmp_path: Path) -> None:
    push(tmp_path / "queue", lines(RECORDS))
    before = pipeline(tmp_path, sender(tmp_path, "kept"), sender(tmp_path, "gone"), sender(tmp_path, "other"))
    where = "length(data) < 7"
    after = pipeline(
        tmp_path, sender(tmp_path, "new"), sender(tmp_path, "kept"), sender(tmp_path, "other", "other2", where=where)
    )
    telemetry = ProcessTelemetry(before)
    with processing(spark, before, telemetry) as processor:
        names = ("kept", "gone", "other")
        until(lambda: all(len(parquet(spark, tmp_path / each)) == RECORDS for each in names), "the first half")
        queries = {query.name: query for query in processor.queries}
        runs = {query.name: query._query.runId for query in processor.queries if query._query is not None}
        waiting = threading.Thread(target=processor.wait)
        waiting.start()
        try:
            broken = pipeline(
                tmp_path, sender(tmp_path, "kept"), sender(tmp_path, "bad", where="no_such_column = 1"), name="p"
            )
            for refused in (processor.check, processor.change):
                with pytest.raises(StartError, match=r"pipe p, sender bad: .*no_such_column"):
                    refused(broken)
            # Its queue comes with the change of gather, which is after the check.
            processor.check(pipeline(tmp_path / "elsewhere", sender(tmp_path, "kept"), name="p"))
            processor.check(after)
            assert processor.pipeline is before
            assert {query.name: query._query.runId for query in processor.queries if query._query} == runs

            processor.change(after)
            now = {query.name: query for query in processor.queries}
            assert now.keys() == {"p.kept", "p.new", "p.other", "p.dead_letter"}
            for name in ("p.kept", "p.dead_letter"):
                assert now[name] is queries[name]
                query = now[name]._query
                assert query is not None
                assert query.runId == runs[name]
            assert not queries["p.gone"].active
            assert not queries["p.other"].active
            push(tmp_path / "queue", lines(RECORDS, RECORDS))
            until(lambda: len(parquet(spark, tmp_path / "kept")) == 2 * RECORDS, "kept")
            # A new consumer begins at the oldest record that is retained; a changed sender goes on in its checkpoint.
            until(
                lambda: set(parquet(spark, tmp_path / "new")) >= {line(i) for i in range(RECORDS, 2 * RECORDS)}, "new"
            )
            until(lambda: telemetry._ready() is None, "ready")
        finally:
            processor.request_stop()
            waiting.join()
    assert parquet(spark, tmp_path / "kept") == sorted(line(i) for i in range(2 * RECORDS))
    assert parquet(spark, tmp_path / "gone") == sorted(line(i) for i in range(RECORDS))
    # Its condition is new, and no line of the second half is so short.
    assert parquet(spark, tmp_path / "other") == sorted(line(i) for i in range(RECORDS))
    with pytest.raises(StartError, match="process is stopping"):
        processor.change(before)


class Signed(SparkSender):
    """Names a file, by whose content it is compared."""

    file: Path
    #: What its start writes to the file.
    started: str = ""

    def start(self, events: Any, context: Any) -> Any:
        query = super().start(events, context)
        if self.started:
            self.file.write_text(self.started)
        return query


def signed(directory: Path, **options: Any) -> Signed:
    file = directory / "certificate"
    file.write_text("old")
    target = {"path": str(directory / "signed")}
    given = {"name": "signed", "format": "parquet", "options": target, "batch": FAST, "file": file}
    return Signed.model_validate({**given, **options})


def runs(processor: Processor) -> dict[str, Any]:
    """The runs of the queries, by name."""
    return {each.name: each._query.runId for each in processor.queries if each._query is not None}


def test_a_file_that_changes_during_a_reload_ends_no_sender(spark: Any, tmp_path: Path) -> None:
    """As those of a certificate, which are renewed one after the other."""
    push(tmp_path / "queue", lines(RECORDS))
    sent = signed(tmp_path)
    configured = pipeline(tmp_path, sent)
    with processing(spark, configured) as processor:
        waiting = threading.Thread(target=processor.wait)
        waiting.start()
        try:
            before = runs(processor)
            change = processor.prepare(configured)
            sent.file.write_text("new")
            change()
            assert runs(processor) == before
            # The next reload, which the change of the file asks for.
            processor.change(configured)
            after = runs(processor)
            assert after.keys() == before.keys()
            assert after["p.signed"] != before["p.signed"]
            assert after["p.dead_letter"] == before["p.dead_letter"]
            until(lambda: len(parquet(spark, tmp_path / "signed")) == RECORDS, "sent")
        finally:
            processor.request_stop()
            waiting.join()


def test_a_file_that_changes_during_the_start_is_read_by_a_reload(spark: Any, tmp_path: Path) -> None:
    push(tmp_path / "queue", lines(1))
    configured = pipeline(tmp_path, signed(tmp_path, started="new"))
    with processing(spark, configured) as processor:
        waiting = threading.Thread(target=processor.wait)
        waiting.start()
        try:
            before = runs(processor)
            processor.change(configured)
            after = runs(processor)
            assert after.keys() == before.keys()
            assert after["p.signed"] != before["p.signed"]
            processor.change(configured)
            assert runs(processor) == after
        finally:
            processor.request_stop()
            waiting.join()


def test_a_check_does_not_wait_for_a_start_that_waits_for_its_queue(spark: Any, tmp_path: Path) -> None:
    wanted = pipeline(tmp_path, sender(tmp_path, "kept"))
    processor = Processor(wanted, spark)
    starting = threading.Thread(target=processor.start)
    starting.start()
    try:
        processor.check(wanted)
    finally:
        processor.request_stop()
        starting.join()


def test_a_sender_whose_receiver_is_away_is_changed_at_once(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_FINISH_WITHIN", 3600.0)
    push(tmp_path / "queue", lines(RECORDS))
    retry = {"backoff": {"first": "1h", "most": "1h"}}

    def sent(receiver: HttpReceiver) -> list[int]:
        return sorted(json.loads(each)["offset"] for request in receiver.taken for each in request.body.splitlines())

    def backend(url: str) -> HttpSender:
        return HttpSender.model_validate({"name": "backend", "url": url, "body": "ndjson", "retry": retry})

    with http_receiver(503) as away, http_receiver() as back:
        before, after = (pipeline(tmp_path, backend(each.url)) for each in (away, back))
        with processing(spark, before) as processor:
            waiting = threading.Thread(target=processor.wait)
            waiting.start()
            try:
                until(lambda: len(away.requests) > 0, "no request")
                processor.change(after)
                until(lambda: sent(back) == list(range(RECORDS)), "sent")
            finally:
                processor.request_stop()
                waiting.join()


def lines_in(receiver: GrpcReceiver) -> "Counter[bytes]":
    """The lines that a receiver of events has got, and how often."""
    batches = [Batch.FromString(message) for call in receiver.calls for message in call.messages]
    return Counter(Event.FromString(each).data for batch in batches for each in batch.events)


def test_a_sender_whose_first_server_is_away_goes_on_with_the_others(spark: Any, tmp_path: Path) -> None:
    def backend(*addresses: str) -> EventsSender:
        return EventsSender.model_validate({"name": "s", "endpoint": ",".join(addresses), "batch": FAST})

    def run_of(processor: Processor) -> Any:
        (query,) = [each._query for each in processor.queries if each.name == "p.s"]
        assert query is not None
        return query.runId

    with grpc_receiver() as (gone, _):
        pass
    push(tmp_path / "queue", lines(RECORDS))
    with grpc_receiver() as (second, at_second), grpc_receiver() as (third, at_third):
        before = pipeline(tmp_path, backend(gone, second), sender(tmp_path, "other"))
        with processing(spark, before) as processor:
            waiting = threading.Thread(target=processor.wait)
            waiting.start()
            try:
                until(lambda: len(lines_in(at_second)) == RECORDS, "sent to the second server")
                run = run_of(processor)
                # Nothing changes; another sender changes.
                processor.change(pipeline(tmp_path, backend(gone, second), sender(tmp_path, "other")))
                processor.change(pipeline(tmp_path, backend(gone, second), sender(tmp_path, "other", "elsewhere")))
                push(tmp_path / "queue", lines(RECORDS, RECORDS))
                until(lambda: len(lines_in(at_second)) == 2 * RECORDS, "the sender has gone on")
                assert run_of(processor) == run
                # Its addresses change, while it sends.
                push(tmp_path / "queue", lines(RECORDS, 2 * RECORDS))
                processor.change(pipeline(tmp_path, backend(gone, third), sender(tmp_path, "other", "elsewhere")))
                push(tmp_path / "queue", lines(RECORDS, 3 * RECORDS))
                until(lambda: len(lines_in(at_second) + lines_in(at_third)) == 4 * RECORDS, "all are sent")
                assert len(lines_in(at_third)) >= RECORDS
                assert run_of(processor) != run
            finally:
                processor.request_stop()
                waiting.join()
    assert lines_in(at_second) + lines_in(at_third) == Counter(line(i) for i in range(4 * RECORDS))
