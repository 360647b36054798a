"""Undecodable records in the progress of micro-batches, and what is logged of them. Without Spark."""

import json
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from conftest import eventually
from mmapqueue.pipeline.process.undecodable import Undecodable, UndecodableLog, undecodable

PROGRESS: dict[str, Any] = {
    "name": "p.archive",
    "runId": "run",
    "batchId": 7,
    "observedMetrics": {
        "undecodable.0": {"records": 2, "first": {"partition": 1, "offset": 5, "error": "late"}},
        "undecodable.2": {"records": 1, "first": {"partition": 0, "offset": 9, "error": "broken"}},
        "undecodable.3": {"records": 0, "first": None},
        "other": {"records": 100},
    },
}


def test_metrics_are_summed_and_the_first_record_is_named() -> None:
    assert undecodable(PROGRESS) == Undecodable(3, 0, 9, "broken")
    assert undecodable({"observedMetrics": {"undecodable.0": {"records": 0, "first": None}}}) is None
    assert undecodable({}) is None


def test_each_micro_batch_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    log = UndecodableLog({"p.archive": "dropped"})
    for progress in (
        PROGRESS,
        PROGRESS,
        {**PROGRESS, "batchId": 8},
        PROGRESS,
        {**PROGRESS, "runId": "the next run"},
        PROGRESS,
        {**PROGRESS, "name": "a query of another job", "batchId": 9},
        {**PROGRESS, "observedMetrics": {}, "batchId": 10},
    ):
        log.note(progress)
    text = "p.archive: 3 undecodable records in micro-batch {}, dropped; the first one: partition 0, offset 9: broken"
    assert [each.getMessage() for each in caplog.records] == [text.format(number) for number in (7, 8, 7)]
    assert {each.levelno for each in caplog.records} == {logging.WARNING}


def test_only_queries_that_start_later_are_listened_to(caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("pyspark")
    listener = UndecodableLog({"p.archive": "dropped"}).listener()

    def progress(run: str) -> SimpleNamespace:
        return SimpleNamespace(progress=SimpleNamespace(runId=run, json=json.dumps({**PROGRESS, "runId": run})))

    listener.onQueryProgress(progress("ended before"))
    listener.onQueryStarted(SimpleNamespace(runId="new"))
    listener.onQueryProgress(progress("ended before"))
    assert caplog.messages == []
    listener.onQueryProgress(progress("new"))
    listener.onQueryTerminated(SimpleNamespace(runId="new"))
    assert len(caplog.messages) == 1


class WatchedLock:
    """A lock that says when a thread waits for it."""

    def __init__(self) -> None:
        self.contended = threading.Event()
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            self.contended.set()
            self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def test_a_micro_batch_is_logged_when_a_second_thread_has_noted_it(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, in_thread: Callable[..., "Future[None]"]
) -> None:
    log = UndecodableLog({"p.archive": "dropped"})
    lock = WatchedLock()
    monkeypatch.setattr(log, "_lock", lock)
    logging_, may_log = threading.Event(), threading.Event()

    def hold(_: logging.LogRecord) -> bool:
        logging_.set()
        return may_log.wait(60)

    logger = logging.getLogger("mmapqueue.pipeline.process")
    logger.addFilter(hold)
    try:
        first = in_thread(lambda: log.note(PROGRESS))
        assert logging_.wait(60)

        def note() -> None:
            log.note(PROGRESS)
            assert caplog.records

        second = in_thread(note)
        assert eventually(lambda: second.done() or lock.contended.is_set())
        assert not second.done()
    finally:
        may_log.set()
        logger.removeFilter(hold)
    first.result(60)
    second.result(60)
    assert len(caplog.records) == 1
