"""What can never succeed becomes a dead letter at the defaults, and no record stops a sender."""

from pathlib import Path
from typing import Any

import grpc
import pytest

import mmapqueue
from conftest import flip
from mmapqueue.pipeline import EventType, encode
from mmapqueue.pipeline._event import OTLP_LOGS
from mmapqueue.pipeline.config import Pipe, Pipeline, QueueSettings, Telemetry
from mmapqueue.pipeline.event_pb2 import Batch
from mmapqueue.pipeline.plugins import Sender
from mmapqueue.pipeline.process.senders.events import EventsSender
from mmapqueue.pipeline.process.senders.otlp import OtlpSender
from mmapqueue.pipeline.process.senders.skywalking import SkyWalkingSender
from mmapqueue.pipeline.process.senders.spark import SparkSender
from mmapqueue.pipeline.telemetry import ProcessTelemetry
from pipeline.processing import (
    FAST,
    KEYS,
    Counts,
    dead_letters,
    forget_last_commit,
    line,
    lines,
    look_until,
    parquet,
    process,
    processing,
    push,
)
from pipeline.receiving import Answer, Request, grpc_receiver, http_receiver, until
from pipeline.test_runner import archive, backend, offsets, output
from pipeline.test_telemetry import get, labels, samples

QUICK = {"backoff": {"first": "10ms", "most": "50ms"}, "timeout": "60s"}
NO_OTLP = b"\xff\xff no OTLP"


def defaults(directory: Path, *senders: Sender) -> Pipeline:
    """A pipe that says nothing about what cannot be sent."""
    queue = QueueSettings(dir=directory / "queue", **KEYS)
    return Pipeline(name="test", pipes=(Pipe(name="p", queue=queue, senders=senders),))


def otlp(data: bytes) -> bytes:
    return encode(type=EventType.LOGGING, data=data, content_type=OTLP_LOGS, time_ms=1)


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_a_what_the_next_collector_refuses_is_a_dead_letter(spark: Any, tmp_path: Path, protocol: str) -> None:
    push(tmp_path / "queue", [otlp(b""), otlp(NO_OTLP), otlp(b"")])
    counts = Counts()
    if protocol == "grpc":

        def refuse(position: int, context: grpc.ServicerContext) -> None:
            if position == 1:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, "not OTLP")

        with grpc_receiver(refuse) as (endpoint, receiver):
            sender = OtlpSender.model_validate({"name": "next", "endpoint": endpoint, "retry": QUICK, "batch": FAST})
            process(spark, defaults(tmp_path, sender), counts)
            assert [call.messages for call in receiver.calls] == [[b""], [NO_OTLP], [b""]]
    else:

        def answer(_position: int, request: Request) -> Answer:
            return (400, {}, b"not OTLP") if request.body == NO_OTLP else 200

        with http_receiver(answer) as http:
            sender = OtlpSender.model_validate(
                {
                    "name": "next",
                    "endpoint": http.url,
                    "protocol": "http",
                    "compression": "none",
                    "retry": QUICK,
                    "batch": FAST,
                }
            )
            process(spark, defaults(tmp_path, sender), counts)
            assert [each.body for each in http.requests] == [b"", NO_OTLP, b""]
    assert counts.counted == {("p", "next", "success"): 2, ("p", "next", "dead_letter"): 1}
    (letter,) = dead_letters(tmp_path, "queue.dead")
    assert (letter.data, letter.content_type, letter.meta["offset"]) == (NO_OTLP, OTLP_LOGS, "1")
    assert letter.meta["reason"].endswith("not OTLP")


def test_b_everything_of_a_skywalking_agent_is_sent_and_the_rest_is_a_dead_letter(spark: Any, tmp_path: Path) -> None:
    def management(proto: str) -> bytes:
        return encode(
            type=EventType.MANAGEMENT,
            data=proto.encode(),
            content_type=f"application/x-protobuf; proto=skywalking.{proto}",
            time_ms=1,
        )

    events = [
        management("instance_properties"),
        encode(type=EventType.TRACING, segment=b"segment", time_ms=1),
        management("instance_ping"),
        management("sniffdata.99"),
        encode(type=EventType.LOGGING, logs=[b"log"], time_ms=1),
    ]
    push(tmp_path / "queue", events)
    with grpc_receiver() as (endpoint, receiver):
        sender = SkyWalkingSender.model_validate(
            {
                "name": "oap",
                "endpoint": endpoint,
                "where": "content_type LIKE '%proto=skywalking.%'",
                "retry": QUICK,
                "batch": FAST,
            }
        )
        process(spark, defaults(tmp_path, sender))
        sent = sorted((call.path.rpartition(".")[2], *call.messages) for call in receiver.calls)
    assert sent == [
        ("LogReportService/collect", b"log"),
        ("ManagementService/keepAlive", b"instance_ping"),
        ("ManagementService/reportInstanceProperties", b"instance_properties"),
        ("TraceSegmentReportService/collect", b"segment"),
    ]
    (letter,) = dead_letters(tmp_path, "queue.dead")
    assert letter.data == b"sniffdata.99"


def test_only_the_records_at_fault_of_a_request_are_dead_letters(spark: Any, tmp_path: Path) -> None:
    push(tmp_path / "queue", lines(40))
    odd = {7, 8, 31}
    counts = Counts()

    def answer(_position: int, request: Request) -> Answer:
        return 422 if odd & set(offsets([request])) else 200

    with http_receiver(answer) as receiver:
        process(spark, defaults(tmp_path, backend(receiver.url, request={"max_records": 20})), counts)
        assert offsets(receiver.taken) == [each for each in range(40) if each not in odd]
    assert counts.counted == {("p", "backend", "success"): 37, ("p", "backend", "dead_letter"): 3}
    assert [each.data for each in dead_letters(tmp_path, "queue.dead")] == [line(each) for each in sorted(odd)]


def test_events_beyond_the_receivers_limit_are_dead_letters(spark: Any, tmp_path: Path) -> None:
    large = encode(type=EventType.LOGGING, data=bytes(100_000), content_type="text/plain", time_ms=1)
    push(tmp_path / "queue", [*lines(2), large, *lines(1, 2)])

    def refuse(_position: int, context: grpc.ServicerContext) -> None:
        # As gRPC's own limit says it.
        if any(len(each) > 50_000 for each in receiver.calls[-1].messages):
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "Received message larger than max (100062 vs. 50000)")

    with grpc_receiver(refuse) as (endpoint, receiver):
        sender = EventsSender.model_validate({"name": "next", "endpoint": endpoint, "retry": QUICK, "batch": FAST})
        process(spark, defaults(tmp_path, sender))
        taken = [
            len(Batch.FromString(call.messages[0]).events) for call in receiver.calls if len(call.messages[0]) < 50_000
        ]
    assert sum(taken) == 3
    (letter,) = dead_letters(tmp_path, "queue.dead")
    assert letter.data == bytes(100_000)


def test_a_dead_letter_is_not_lost_beside_a_restart(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    push(tmp_path / "queue", lines(20))
    full = [True]
    written = []

    def answer(_position: int, request: Request) -> Answer:
        return 400 if 7 in offsets([request]) else 200

    with http_receiver(answer) as receiver:
        configured = defaults(tmp_path, backend(receiver.url, request={"max_records": 1}))
        from mmapqueue.pipeline.process.dead_letters import DeadLetters

        write = DeadLetters.write

        def write_or_fail(self: DeadLetters, events: Any) -> None:
            if full[0]:
                raise OSError("the dead-letter queue has no room")
            write(self, events)
            written.append(1)

        monkeypatch.setattr(DeadLetters, "write", write_or_fail)
        with pytest.raises(RuntimeError, match="has no room"):
            process(spark, configured)
        full[0] = False
        # The records of the micro-batch that failed are sent again, and the dead letter is stored.
        process(spark, configured)
        assert [each.meta["offset"] for each in dead_letters(tmp_path, "queue.dead")] == ["7"]
        # A driver that dies after the dead letter and before Spark's commit stores it again.
        forget_last_commit(configured, "backend")
        process(spark, configured)
    assert [each.meta["offset"] for each in dead_letters(tmp_path, "queue.dead")] == ["7", "7"]
    assert len(written) == 2
    assert set(offsets(receiver.taken)) == set(range(20)) - {7}


def test_credentials_that_are_refused_are_an_outage(spark: Any, tmp_path: Path) -> None:
    push(tmp_path / "queue", lines(3))
    answers = iter([401, 403, 500, 408, 425, 429])
    counts = Counts()

    with http_receiver(lambda _position, _request: next(answers, 200)) as receiver:
        process(spark, defaults(tmp_path, backend(receiver.url)), counts)
        assert offsets(receiver.taken) == [0, 1, 2]
        assert len(receiver.requests) == 7
    assert counts.counted == {("p", "backend", "success"): 3}


def test_a_sender_that_is_blocked_is_not_ready_and_its_lag_goes_on(spark: Any, tmp_path: Path) -> None:
    push(tmp_path / "queue", lines(3))
    configured = defaults(tmp_path, backend("http://127.0.0.1:1")).model_copy(
        update={"telemetry": Telemetry(listen="127.0.0.1:0")}
    )
    away = [True]
    with (
        http_receiver(lambda _position, _request: (503, {"Retry-After": "6"}, b"") if away[0] else 200) as receiver,
        ProcessTelemetry(configured) as telemetry,
    ):
        pipe = configured.pipes[0].model_copy(update={"senders": (backend(receiver.url),)})
        configured = configured.model_copy(update={"pipes": (pipe,)})

        def lag() -> float:
            return samples(get(telemetry.port, "/metrics")[2])["sender_lag_records", labels(pipe="p", sender="backend")]

        with processing(spark, configured, telemetry) as processor:
            look_until(processor, lambda: get(telemetry.port, "/ready")[0] == 503, "ready")
            look_until(processor, lambda: "503 Service Unavailable" in get(telemetry.port, "/ready")[2], "no reason")
            assert lag() == 3
            push(tmp_path / "queue", lines(4, 3))
            assert lag() == 7
            away[0] = False
            look_until(processor, lambda: get(telemetry.port, "/ready")[0] == 200 and lag() == 0, "not ready again")
        telemetry.detach()


@pytest.mark.parametrize("partitions", [1, 2])
def test_a_damaged_record_is_skipped_and_counted(spark: Any, tmp_path: Path, partitions: int) -> None:
    configured = defaults(tmp_path, archive(tmp_path))
    directories = (
        [tmp_path / "queue"] if partitions == 1 else [tmp_path / "queue" / f"p={n}" for n in range(partitions)]
    )
    for number, directory in enumerate(directories):
        push(directory, lines(300, 300 * number))
    flip(directories[-1] / "0_segment.dat", 1000)
    (finding,) = mmapqueue.verify(directories[-1], spark=spark).findings
    telemetry = ProcessTelemetry(configured)
    process(spark, configured, telemetry)
    lost = 300 * (partitions - 1) + finding.first_lost
    expected = sorted(line(i) for i in range(300 * partitions) if i != lost)
    assert parquet(spark, tmp_path / "out") == expected
    until(lambda: output(telemetry, "damaged") == {"archive": 1}, "not counted")
    push(directories[0], lines(5, 900))
    process(spark, configured, telemetry)
    until(lambda: sum(output(telemetry, "success").values()) == 300 * partitions + 4, "not sent")
    assert output(telemetry, "damaged") == {"archive": 1}
    telemetry.detach()


def test_a_damaged_record_ends_the_query_when_the_pipe_says_so(spark: Any, tmp_path: Path) -> None:
    push(tmp_path / "queue", lines(300))
    flip(tmp_path / "queue" / "0_segment.dat", 1000)
    pipe = defaults(tmp_path, archive(tmp_path)).pipes[0].model_copy(update={"on_damage": "error"})
    with pytest.raises(RuntimeError, match=r"0_segment\.dat"):
        process(spark, Pipeline(name="test", pipes=(pipe,)))


def second(directory: Path, **options: str) -> SparkSender:
    path = {"path": str(directory / "second")}
    return SparkSender.model_validate({"name": "second", "format": "mmapqueue", "options": {**path, **options}})


def test_c_an_event_beyond_the_targets_limit_is_a_dead_letter(spark: Any, tmp_path: Path) -> None:
    large = encode(type=EventType.LOGGING, data=b"x" * 2000, content_type="text/plain", name="n", time_ms=5)
    push(tmp_path / "queue", [*lines(3), large, *lines(3, 3)])
    sender = second(tmp_path, capacity="1m", segment_size="64k", max_event_size="1000")
    other = sender.model_copy(update={"name": "other", "select": ("upper(CAST(data AS STRING)) AS value",)})
    other = other.model_copy(update={"options": {**sender.options, "path": str(tmp_path / "other")}})
    configured = defaults(tmp_path, sender, other)
    telemetry = ProcessTelemetry(configured)
    process(spark, configured, telemetry)
    assert [each.data for each in dead_letters(tmp_path, "second")] == [line(i) for i in range(6)]
    with mmapqueue.Queue(tmp_path / "other", read_only=True) as queue:
        assert [each.data for each in queue.read_many(0, 10)] == [line(i).upper() for i in range(6)]
    found = dead_letters(tmp_path, "queue.dead")
    assert sorted(each.meta["sender"] for each in found) == ["other", "second"]
    assert {(each.data, each.meta["offset"], each.name, each.timestamp) for each in found} == {
        (b"x" * 2000, "3", "n", 5)
    }
    assert found[0].meta["reason"].endswith("max_event_size of the target is 1000")
    until(lambda: output(telemetry, "dead_letter") == {"second": 1, "other": 1}, "not counted")
    telemetry.detach()


def test_c_a_backlog_larger_than_the_targets_ring_is_sent_in_parts(spark: Any, tmp_path: Path) -> None:
    records = [encode(type=EventType.LOGGING, data=b"%05d" % i * 200, content_type="text/plain") for i in range(3000)]
    push(tmp_path / "queue", records)
    # The oldest records make room, as a reader would.
    process(spark, defaults(tmp_path, second(tmp_path, capacity="1m", segment_size="64k", max_consumer_lag="256k")))
    with mmapqueue.Queue(tmp_path / "second", read_only=True) as queue:
        assert queue.end_offset() == 3000
        assert queue.read_at(2999).data == records[2999]
