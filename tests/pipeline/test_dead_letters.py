"""Dead letters and events for other pipelines: Spark's JVM encodes both."""

from pathlib import Path
from typing import Any

import pytest

import mmapqueue
from mmapqueue.pipeline import Event, EventType, encode
from mmapqueue.pipeline._event import OTLP_LOGS
from mmapqueue.pipeline.config import Pipeline
from mmapqueue.pipeline.event_pb2 import Batch
from mmapqueue.pipeline.process.filters import Explode, Select
from mmapqueue.pipeline.process.queues import queue_ids
from mmapqueue.pipeline.process.runner import Processor, StartError
from mmapqueue.pipeline.process.senders.events import EventsSender
from pipeline.processing import FAST, QUICK, Counts, dead_letters, pipeline, process, push
from pipeline.receiving import grpc_receiver, http_receiver
from pipeline.test_runner import archive, backend

#: A type without a name, and entries of `meta` that a dead letter has, too.
UNNAMED: Any = -3
EVENT = encode(
    type=UNNAMED,
    data=b"abc",
    content_type="text/plain",
    name="n",
    time_ms=5,
    meta={"a": "b", "reason": "an older one", "offset": "77"},
    fields={"x": 1, "l": [True, None]},
    source="src",
)
NAMED = encode(type=EventType.TRACING, segment=b"seg", id="mine", time_ms=6)
LOG_LIST = encode(type=EventType.LOGGING, logs=[b"l1", b"l2"], time_ms=7)


def refuse(_position: int, _request: object) -> int:
    return 400


def test_events_go_to_another_pipeline_as_they_came(spark: Any, tmp_path: Path) -> None:
    push(tmp_path / "queue", [EVENT, NAMED, LOG_LIST])
    counts = Counts()
    with grpc_receiver() as (endpoint, receiver):
        sender = EventsSender.model_validate(
            {"name": "next", "endpoint": endpoint, "retry": QUICK, "request": {"max_records": 2}, "batch": FAST}
        )
        process(spark, pipeline(tmp_path, sender), counts)
    queue = queue_ids(tmp_path / "queue")[0]
    events = [Event.FromString(each) for call in receiver.calls for each in Batch.FromString(call.messages[0]).events]
    expected = [Event.FromString(each) for each in (EVENT, NAMED, LOG_LIST)]
    for number in (0, 2):
        expected[number].id = f"{queue}/0/{number}"
    assert events == expected
    assert [call.metadata["idempotency-key"] for call in receiver.calls] == [f"{queue}/0/0-2", f"{queue}/0/2-3"]
    assert counts.counted == {("p", "next", "success"): 3}


@pytest.mark.parametrize("sender_type", ["http", "mmapqueue"])
def test_a_row_that_is_given_up_is_its_event_with_a_reason(spark: Any, tmp_path: Path, sender_type: str) -> None:
    push(tmp_path / "queue", [EVENT, NAMED, LOG_LIST])
    retry = {**QUICK, "max_attempts": 1, "then": "dead_letter"}
    with http_receiver(refuse) as receiver:
        if sender_type == "http":
            process(spark, pipeline(tmp_path, backend(receiver.url, retry=retry)))
        else:
            # An HTTP server does not speak gRPC.
            endpoint = receiver.url.removeprefix("http://")
            sender = EventsSender.model_validate(
                {"name": "backend", "endpoint": endpoint, "retry": retry, "batch": FAST}
            )
            process(spark, pipeline(tmp_path, sender))
    letters = dead_letters(tmp_path)
    for number, (letter, record) in enumerate(zip(letters, (EVENT, NAMED, LOG_LIST), strict=True)):
        expected = Event.FromString(record)
        assert letter.meta["reason"] not in ("", "an older one")
        expected.meta.update(
            {
                "reason": letter.meta["reason"],
                "pipe": "p",
                "sender": "backend",
                "partition": "0",
                "offset": str(number),
            }
        )
        assert letter == expected


def test_an_exploded_payload_that_is_given_up_again_has_one_reason(spark: Any, tmp_path: Path) -> None:
    # Undecodable, and of a queue that holds dead letters: `meta` has a reason already.
    broken = encode(
        type=UNNAMED, data=b"\xff\xff", content_type=OTLP_LOGS, meta={"reason": "older", "kept": "yes"}, time_ms=1
    )
    push(tmp_path / "queue", [broken, encode(type=EventType.LOGGING, logs=[b""], time_ms=1)])
    with http_receiver() as receiver:
        process(spark, pipeline(tmp_path, backend(receiver.url), filters=(Explode(rows="logs"),)))
    (letter,) = dead_letters(tmp_path)
    assert letter.type == UNNAMED
    assert letter.meta["kept"] == "yes"
    assert letter.meta["reason"].startswith("log records of")


def test_columns_of_other_types_are_refused_before_the_start(spark: Any, tmp_path: Path) -> None:
    push(tmp_path / "queue", [EVENT])
    filters = (Select(columns=["partition", "offset", "data", "content_type", "name AS meta"]),)
    sender = EventsSender.model_validate({"name": "next", "endpoint": "127.0.0.1:1", "batch": FAST})
    with pytest.raises(StartError, match=r"pipe p, sender next: .*meta"):
        Processor(pipeline(tmp_path, sender, filters=filters), spark).start()


@pytest.mark.slow
def test_the_default_queue_keeps_the_newest_dead_letters_and_never_stops_a_query(spark: Any, tmp_path: Path) -> None:
    given = pipeline(tmp_path, archive(tmp_path, batch={**FAST, "max_bytes": "1m"}), dead_letter=False).pipes[0]
    configured = Pipeline(name="test", pipes=(given.model_copy(update={"on_undecodable": "dead_letter"}),))
    garbage = [b"\xff%03d" % number + bytes(200_000) for number in range(150)]
    assert sum(map(len, garbage)) > given.queue.total
    # In parts, as the pipe's queue holds less than all.
    for first in range(0, len(garbage), 50):
        push(tmp_path / "queue", garbage[first : first + 50])
        process(spark, configured)
    with mmapqueue.Queue(tmp_path / "queue.dead", read_only=True) as queue:
        kept = queue.read_many(queue.first_offset(), 1000)
        assert [Event.FromString(each.data).data for each in kept] == garbage[-len(kept) :]
        assert sum(len(each.data) for each in kept) >= given.queue.total // 4
