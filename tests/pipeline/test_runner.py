"""The processor: one query for each sender, replays, dead letters, failures and stops."""

import json
import os
import random
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest

import mmapqueue
from mmapqueue.pipeline import EventType, encode
from mmapqueue.pipeline._event import OTLP_LOGS
from mmapqueue.pipeline.config import Gather, Pipeline, QueueSettings
from mmapqueue.pipeline.plugins import Filter, Sender, SenderContext
from mmapqueue.pipeline.process.filters import Explode, Where
from mmapqueue.pipeline.process.queues import queue_ids
from mmapqueue.pipeline.process.runner import Processor, StartError, _process
from mmapqueue.pipeline.process.senders.http import HttpSender
from mmapqueue.pipeline.process.senders.spark import SparkSender
from mmapqueue.pipeline.telemetry import ProcessTelemetry
from pipeline.processing import (
    FAST,
    QUICK,
    Counts,
    dead_letters,
    forget_last_commit,
    line,
    lines,
    look_until,
    parquet,
    pipeline,
    process,
    processing,
    push,
)
from pipeline.receiving import Answer, HttpReceiver, Request, http_receiver, until

RECORDS = 300
#: For a driver to start and work, on a machine that is busy.
DRIVER_SECONDS = 300.0


def archive(directory: Path, **options: Any) -> SparkSender:
    return SparkSender.model_validate(
        {"name": "archive", "format": "parquet", "options": {"path": str(directory / "out")}, "batch": FAST, **options}
    )


def backend(url: str, **options: Any) -> HttpSender:
    return HttpSender.model_validate(
        {
            "name": "backend",
            "url": url,
            "body": "ndjson",
            "request": {"max_records": 7},
            "retry": QUICK,
            "batch": FAST,
            **options,
        }
    )


def offsets(requests: list[Request]) -> list[int]:
    return [json.loads(each)["offset"] for request in requests for each in request.body.splitlines()]


def check_equal_keys(requests: list[Request]) -> None:
    bodies: dict[str, bytes] = {}
    for request in requests:
        assert bodies.setdefault(request.key, request.body) == request.body


def test_a_retried_batch_has_the_same_keys_and_no_duplicates(spark: Any, tmp_path: Path) -> None:
    garbage = [b"\xff\xff garbage", b"\x0a\xff"]
    push(tmp_path / "queue", [*lines(RECORDS - 2), *garbage, encode(type=EventType.OTHER, data=b"", remote=False)])
    counts = Counts()
    with http_receiver() as receiver:
        configured = pipeline(tmp_path, archive(tmp_path), backend(receiver.url))
        process(spark, configured, counts)
        first = list(receiver.requests)
        for sender in ("archive", "backend", "dead_letter"):
            forget_last_commit(configured, sender)
        process(spark, configured)
        assert len(receiver.requests) == len(first)
        # As after a loss of power: of some requests it is not known that they were finished.
        finished = configured.pipes[0].checkpoint("backend") / "finished" / "0"
        noted = finished.read_text().splitlines(keepends=True)
        assert len(noted) == 1 + len(first)
        finished.write_text("".join(noted[:11]))
        forget_last_commit(configured, "backend")
        process(spark, configured)
        again = receiver.requests[len(first) :]
    assert parquet(spark, tmp_path / "out") == sorted(line(i) for i in range(RECORDS - 2))
    queue = queue_ids(tmp_path / "queue")[0]
    assert [each.key for each in first] == [
        f"{queue}/0/{start}-{min(start + 7, RECORDS - 2)}" for start in range(0, RECORDS - 2, 7)
    ]
    assert [(each.key, each.body) for each in again] == [(each.key, each.body) for each in first[10:]]
    assert offsets(first) == list(range(RECORDS - 2))
    assert counts.counted == {("p", "backend", "success"): RECORDS - 2}
    letters = dead_letters(tmp_path)
    assert [each.data for each in letters] == garbage
    assert [each.meta["offset"] for each in letters] == [str(RECORDS - 2), str(RECORDS - 1)]
    assert all(each.meta["reason"] and each.meta["pipe"] == "p" and each.type == EventType.OTHER for each in letters)


@pytest.mark.parametrize("before", [(), (Where(condition="offset != 1"),)], ids=["first", "after another filter"])
def test_payloads_that_cannot_be_exploded_are_dead_letters(
    spark: Any, tmp_path: Path, before: tuple[Filter, ...]
) -> None:
    broken = encode(type=EventType.LOGGING, data=b"\xff\xff", content_type=OTLP_LOGS, time_ms=1)
    several = encode(type=EventType.LOGGING, data=b"a\nb\nc\n", content_type="text/plain", time_ms=1)
    push(tmp_path / "queue", [several, *lines(1), broken, b"\xff"])
    with http_receiver() as receiver:
        filters = (*before, Explode(rows="logs"), Where(condition="body != 'b'"))
        process(spark, pipeline(tmp_path, backend(receiver.url), filters=filters))
        sent = [json.loads(each) for request in receiver.taken for each in request.body.splitlines()]
    expected = [(0, 0, "a"), (0, 2, "c")] + ([] if before else [(1, 0, "line 0")])
    assert [(each["offset"], each["index"], each["body"]) for each in sent] == expected
    letters = sorted(dead_letters(tmp_path), key=lambda each: each.meta["offset"])
    assert [(each.meta["offset"], each.data, each.content_type) for each in letters] == [
        ("2", b"\xff\xff", OTLP_LOGS),
        ("3", b"\xff", "application/octet-stream"),
    ]


@pytest.mark.parametrize("filters", [(), (Explode(rows="logs"),)], ids=["records", "payloads"])
def test_undecodable_records_are_dropped_and_counted_when_the_pipe_says_so(
    spark: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture, filters: tuple[Filter, ...]
) -> None:
    broken = encode(type=EventType.LOGGING, data=b"\xff\xff", content_type=OTLP_LOGS, time_ms=1)
    push(tmp_path / "queue", [*lines(2), b"\xff\xff", broken, *lines(1, 2), b"\x0a\xff"])
    configured = pipeline(
        tmp_path, archive(tmp_path, batch={**FAST, "max_records": 4}), filters=filters, dead_letter=False
    )
    telemetry = ProcessTelemetry(configured)
    process(spark, configured, telemetry)
    dropped = 3 if filters else 2
    warnings = [each.getMessage() for each in caplog.records if "undecodable" in each.getMessage()]
    assert len(warnings) == 2
    assert warnings[0].startswith(f"p.archive: {dropped - 1} undecodable records in micro-batch 0, dropped; ")
    assert "the first one: partition 0, offset 2: " in warnings[0]
    assert (
        "p.archive: 1 undecodable records in micro-batch 1, dropped; the first one: partition 0, offset 5: "
        in warnings[1]
    )
    until(lambda: output(telemetry, "undecodable") == {"archive": dropped}, "not counted")
    telemetry.detach()
    assert not list(tmp_path.glob("*dead*"))


def test_undecodable_records_have_a_queue_when_the_pipe_says_nothing(
    spark: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    push(tmp_path / "queue", [*lines(2), b"\xff\xff", *lines(1, 2)])
    given = pipeline(tmp_path, archive(tmp_path), dead_letter=False).pipes[0]
    configured = Pipeline(name="test", pipes=(given.model_copy(update={"on_undecodable": "dead_letter"}),))
    telemetry = ProcessTelemetry(configured)
    process(spark, configured, telemetry)
    assert parquet(spark, tmp_path / "out") == [line(i) for i in range(3)]
    (letter,) = dead_letters(tmp_path, "queue.dead")
    assert (letter.data, letter.meta["partition"], letter.meta["offset"]) == (b"\xff\xff", "0", "2")
    assert (
        f"p.dead_letter: 1 undecodable records in micro-batch 0, stored in {tmp_path / 'queue.dead'}; " in caplog.text
    )
    until(lambda: output(telemetry, "undecodable") == {"dead_letter": 1}, "not counted")
    telemetry.detach()


@pytest.mark.parametrize("on_damage", ["skip", "error"])
def test_a_sender_goes_on_behind_what_the_queue_has_dropped_for_it(
    spark: Any, tmp_path: Path, on_damage: Literal["skip", "error"]
) -> None:
    keys: dict[str, Any] = {"capacity": 1 << 20, "segment_size": 64 << 10, "max_event_size": 32 << 10}
    keys["max_consumer_lag"] = 256 << 10
    given = pipeline(tmp_path, archive(tmp_path), dead_letter=False).pipes[0]
    changes = {"queue": QueueSettings(dir=tmp_path / "queue", **keys), "on_damage": on_damage}
    configured = Pipeline(name="test", pipes=(given.model_copy(update=changes),))
    telemetry = ProcessTelemetry(configured)
    for first, end in ((0, 10), (10, 20_000), (20_000, 20_010)):
        with mmapqueue.Queue(tmp_path / "queue", lock_timeout=30, **keys) as queue:
            queue.push_many(lines(end - first, first))
        process(spark, configured, telemetry)
    sent = sorted(int(each.split()[1]) for each in parquet(spark, tmp_path / "out"))
    lost = sent[10] - 10
    assert lost > 0
    assert sent == [*range(10), *range(10 + lost, 20_010)]
    until(lambda: output(telemetry, "success") == {"archive": len(sent)}, "not sent")
    assert output(telemetry, "dropped") == {"archive": lost}
    assert output(telemetry, "damaged") == {}
    telemetry.detach()


def output(telemetry: ProcessTelemetry, status: str) -> dict[str, int]:
    """Rows that senders have counted, by sender."""
    counts = telemetry._sent.collect()
    return {
        sample.labels["type"]: int(sample.value)
        for family in counts
        for sample in family.samples
        if sample.labels["status"] == status
    }


def test_each_partition_of_a_pipe_is_written_once(spark: Any, tmp_path: Path) -> None:
    given = pipeline(tmp_path, archive(tmp_path, batch={**FAST, "max_records": 40}))
    configured = Pipeline(name="test", gather=Gather(processes=3), pipes=given.pipes)
    for partition in range(3):
        push(tmp_path / "queue" / f"p={partition}", lines(100, 100 * partition))
    process(spark, configured)
    for partition in range(3):
        push(tmp_path / "queue" / f"p={partition}", [*lines(10, 300 + 10 * partition), b"\xff"])
    for sender in ("archive", "dead_letter"):
        forget_last_commit(configured, sender)
    process(spark, configured)
    assert parquet(spark, tmp_path / "out") == sorted(line(i) for i in range(330))
    written = spark.read.parquet(str(tmp_path / "out")).groupBy("partition").count().collect()
    assert {row.partition: row["count"] for row in written} == {0: 110, 1: 110, 2: 110}
    positions = [(each.meta["partition"], each.meta["offset"]) for each in dead_letters(tmp_path)]
    assert sorted(positions) == [("0", "110"), ("1", "110"), ("2", "110")]


def test_a_sender_that_blocks_does_not_hold_up_the_other_one(spark: Any, tmp_path: Path) -> None:
    push(tmp_path / "queue", lines(RECORDS))
    away = [True]
    with http_receiver(lambda _position, _request: 503 if away[0] else 200) as receiver:
        configured = pipeline(tmp_path, backend(receiver.url), archive(tmp_path))
        with processing(spark, configured) as processor:
            until(lambda: len(receiver.requests) > 2, "no attempts")
            written = sorted(line(i) for i in range(RECORDS))
            look_until(processor, lambda: parquet(spark, tmp_path / "out") == written, "the archive is held up")
            assert receiver.taken == []
            away[0] = False
            look_until(processor, lambda: len(receiver.taken) >= -(-RECORDS // 7), "the backend gets nothing")
            assert offsets(receiver.taken) == list(range(RECORDS))


def test_a_faulty_receiver_gets_everything(spark: Any, tmp_path: Path) -> None:
    push(tmp_path / "queue", lines(RECORDS))
    chance = random.Random(1)
    faults: list[Answer] = [429, 503, (503, {"Retry-After": "0"}, b""), "reset", "hang"]

    def answer(_position: int, _request: Request) -> Answer:
        return chance.choice(faults) if chance.random() < 0.3 else 200

    with http_receiver(answer) as receiver:
        retry = {**QUICK, "timeout": "300ms"}
        process(spark, pipeline(tmp_path, backend(receiver.url, retry=retry)))
        check_equal_keys(receiver.requests)
        # With one request at a time, rows are sent in order. A request that was answered too late is repeated, and the
        # receiver may handle it after its repetition.
        assert list(dict.fromkeys(offsets(receiver.taken))) == list(range(RECORDS))


def test_what_cannot_be_sent_becomes_a_dead_letter_or_is_counted(spark: Any, tmp_path: Path) -> None:
    push(tmp_path / "queue", lines(20))
    retry = {**QUICK, "max_attempts": 2}
    counts = Counts()

    def answer(_position: int, request: Request) -> Answer:
        return (400, {}, b"odd") if b'"offset":7,' in request.body or b'"offset":7}' in request.body else 200

    with http_receiver(answer) as receiver:
        one = {"request": {"max_records": 1}}
        letters = backend(receiver.url, name="letters", retry={**retry, "then": "dead_letter"}, **one)
        drops = backend(
            receiver.url, name="drops", retry={**retry, "then": "drop", "refused": "drop"}, where="offset < 10", **one
        )
        process(spark, pipeline(tmp_path, letters, drops), counts)
    assert counts.counted == {
        ("p", "letters", "success"): 19,
        ("p", "letters", "dead_letter"): 1,
        ("p", "drops", "success"): 9,
        ("p", "drops", "dropped"): 1,
    }
    (letter,) = dead_letters(tmp_path)
    assert (letter.data, letter.content_type, letter.timestamp) == (line(7), "text/plain", 1_700_000_000_007)
    assert (letter.meta["sender"], letter.meta["offset"]) == ("letters", "7")
    assert letter.meta["reason"].endswith("400 Bad Request: odd")


class Broken(Sender):
    """Fails in its first micro-batches."""

    type: Literal["broken"] = "broken"
    failures: int
    seen: ClassVar[list[int]] = []
    starts: ClassVar[list[int]] = []

    def start(self, events: Any, context: SenderContext) -> Any:
        self.starts.append(1)

        def take(batch: Any, _number: int) -> None:
            if len(self.starts) <= self.failures:
                raise RuntimeError("broken")
            self.seen.extend(row.offset for row in batch.select("offset").collect())

        return context.writer(events).foreachBatch(take).start()


def test_a_query_that_fails_is_started_again(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("mmapqueue.pipeline.process.supervision.FIRST_PAUSE", 0.01)
    push(tmp_path / "queue", lines(20))
    broken = Broken.model_validate({"name": "broken", "failures": 2, "batch": FAST})
    with processing(spark, pipeline(tmp_path, broken, archive(tmp_path))) as processor:
        look_until(processor, lambda: len(Broken.seen) == 20, "it does not recover")
        look_until(processor, lambda: len(parquet(spark, tmp_path / "out")) == 20, "the other one has stopped")
    assert (sorted(Broken.seen), len(Broken.starts)) == (list(range(20)), 3)
    assert "p.broken failed (2 in a row)" in caplog.text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"where": "no_such_column > 1"}, "pipe p, sender archive: .*no_such_column"),
        ({"format": "no_such_format"}, "pipe p, sender archive: .*no_such_format"),
        ({"format": "no_such_format", "batch_writes": True}, "pipe p, sender archive: .*no_such_format"),
        ({"partition_by": ("nowhere",)}, "pipe p, sender archive: partition_by: no column nowhere"),
    ],
)
def test_a_sender_that_cannot_work_keeps_all_from_starting(
    spark: Any, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    push(tmp_path / "queue", lines(1))
    Broken.starts.clear()
    other = Broken.model_validate({"name": "other", "failures": 0})
    processor = Processor(pipeline(tmp_path, other, archive(tmp_path, **change)), spark)
    with pytest.raises(StartError, match=message):
        processor.start()
    assert spark.streams.active == []
    assert Broken.starts == []


def test_a_sender_of_another_name_does_not_take_the_files_of_the_former_one(spark: Any, tmp_path: Path) -> None:
    push(tmp_path / "queue", lines(RECORDS))
    for _ in range(2):
        process(spark, pipeline(tmp_path, archive(tmp_path)))
    renamed = archive(tmp_path, name="renamed")
    words = r"pipe p, sender renamed: .*options\.path: '.*/out' has the files of another query, .* up to 0 for written"
    with pytest.raises(StartError, match=words):
        process(spark, pipeline(tmp_path, renamed))
    assert parquet(spark, tmp_path / "out") == sorted(map(line, range(RECORDS)))
    process(spark, pipeline(tmp_path, archive(tmp_path, name="renamed", options={"path": str(tmp_path / "other")})))


def test_an_error_that_only_a_start_shows_stops_the_queries_that_run(
    spark: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    push(tmp_path / "queue", lines(1))
    Broken.starts.clear()
    other = Broken.model_validate({"name": "other", "failures": 0})
    # Files take no changed rows, which Spark says when the query starts.
    configured = pipeline(tmp_path, other, archive(tmp_path, output_mode="update"))
    assert _process(Processor(configured, spark)) == 1
    assert spark.streams.active == []
    assert len(Broken.starts) == 1
    (line_,) = [each.getMessage() for each in caplog.records if each.name == "mmapqueue.pipeline.process"]
    assert line_.startswith("p.archive: ")
    assert "update" in line_.lower()
    assert "\n" not in line_


def test_once_needs_a_queue(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(StartError, match="pipe p: no queue in"):
        Processor(pipeline(tmp_path, archive(tmp_path)), spark, once=True).start()


CHILD = """
    import logging, sys
    from pathlib import Path

    from mmapqueue.pipeline.config import SparkSettings
    from mmapqueue.pipeline.process.runner import main
    from pipeline.processing import pipeline
    from pipeline.test_runner import archive, backend

    directory, url = Path(sys.argv[1]), sys.argv[2]
    configured = pipeline(directory, backend(url), archive(directory))
    conf = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.sql.shuffle.partitions": "2"}
    sys.exit(main(configured.model_copy(update={"spark": SparkSettings(master="local[2]", conf=conf)})))
"""


def start_driver(directory: Path, receiver: HttpReceiver) -> "subprocess.Popen[bytes]":
    script = directory / "driver.py"
    script.write_text(textwrap.dedent(CHILD))
    tests = str(Path(__file__).parents[1])
    path = os.pathsep.join([tests, *filter(None, [os.environ.get("PYTHONPATH")])])
    with (directory / "driver.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, str(script), str(directory), receiver.url],
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=log,
        )


@pytest.mark.slow
def test_a_driver_that_is_killed_goes_on_with_the_same_keys(spark: Any, tmp_path: Path) -> None:
    push(tmp_path / "queue", lines(RECORDS))
    killed = [False]

    def answer(position: int, _request: Request) -> Answer:
        return "hang" if position >= 20 and not killed[0] else 200

    with http_receiver(answer) as receiver:
        driver = start_driver(tmp_path, receiver)
        try:
            until(lambda: len(receiver.requests) > 20, "no requests", DRIVER_SECONDS)
        finally:
            os.killpg(driver.pid, signal.SIGKILL)
            driver.wait()
        killed[0] = True
        before = len(receiver.requests)
        receiver.release.set()
        driver = start_driver(tmp_path, receiver)
        try:
            open_key = receiver.requests[20].key
            until(lambda: open_key in {each.key for each in receiver.requests[before:]}, "other keys", DRIVER_SECONDS)
            until(lambda: set(offsets(receiver.taken)) == set(range(RECORDS)), "not everything is sent", DRIVER_SECONDS)
            until(lambda: len(parquet(spark, tmp_path / "out")) >= RECORDS, "not everything is written", DRIVER_SECONDS)
            # A Python worker may outlive its driver, and send the rest alone: only the new driver commits.
            commits = tmp_path / "queue.checkpoints" / "backend" / "commits"
            until(lambda: (commits / "0").exists(), "the micro-batch is not committed", DRIVER_SECONDS)
            driver.send_signal(signal.SIGTERM)
            assert driver.wait(90) == 0
        finally:
            if driver.poll() is None:
                os.killpg(driver.pid, signal.SIGKILL)
                driver.wait()
        check_equal_keys(receiver.requests)
        # Those with an answer are not sent again.
        answered = {each.key for each in receiver.requests[:20]}
        assert answered.isdisjoint(each.key for each in receiver.requests[before:])
    assert parquet(spark, tmp_path / "out") == sorted(line(i) for i in range(RECORDS))
    log = (tmp_path / "driver.log").read_text()
    assert not [each for each in log.splitlines() if " pool" in each.lower() or "fair scheduler" in each.lower()]
