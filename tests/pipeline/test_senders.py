"""Senders without Spark: cutting of requests, attempts, and what receivers get and answer."""

import asyncio
import gzip
import json
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import grpc
import pytest
from google.protobuf.any_pb2 import Any as ProtobufAny
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsPartialSuccess,
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from pydantic import ValidationError

from mmapqueue.pipeline import Event, EventType, encode
from mmapqueue.pipeline._event import OTLP_LOGS, OTLP_TRACES, SKYWALKING_METERS
from mmapqueue.pipeline.event_pb2 import Batch, LogList
from mmapqueue.pipeline.plugins import Batch as Limits
from mmapqueue.pipeline.process.records import LOGS, SEGMENT, event_of
from mmapqueue.pipeline.process.senders._delivery import (
    Delivered,
    GivenUp,
    Outcome,
    Retry,
    Undelivered,
    Waiting,
    deliver,
)
from mmapqueue.pipeline.process.senders._http import retry_after
from mmapqueue.pipeline.process.senders._requests import Request, RequestLimits, Row, requests
from mmapqueue.pipeline.process.senders._worker import Report, Task
from mmapqueue.pipeline.process.senders.events import EventsSender
from mmapqueue.pipeline.process.senders.http import HttpSender, cloud_event
from mmapqueue.pipeline.process.senders.otlp import OtlpSender, protobuf_of
from mmapqueue.pipeline.process.senders.skywalking import SkyWalkingSender
from mmapqueue.pipeline.process.senders.spark import SparkSender
from pipeline.receiving import grpc_receiver, http_receiver

QUICK = {"backoff": {"first": "1ms", "most": "2ms"}}
GIVE_UP = {**QUICK, "then": "drop", "max_attempts": 3}


def row(offset: int, data: bytes = b"one", content_type: str = "text/plain", **more: Any) -> Row:
    return {"partition": 0, "offset": offset, "data": data, "content_type": content_type, **more}


def sent(sender: Any, *rows: Row, key: str = "queue/0/0-1") -> None:
    """One attempt; raises Undelivered."""

    async def send() -> None:
        client = sender.client()
        try:
            await client.send(sender.route(rows[0]), rows, key)
        finally:
            await client.close()

    asyncio.run(send())


def failed(sender: Any, *rows: Row) -> Undelivered:
    with pytest.raises(Undelivered) as caught:
        sent(sender, *rows)
    return caught.value


# ---- cutting

ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 40), st.sampled_from("ab")), max_size=60)


def _rows(drawn: list[tuple[int, int, int, str]]) -> list[Row]:
    """Sorted rows: a step of 0 from one row to the next is a further row of one record."""
    rows: list[Row] = []
    for partition in range(3):
        offset = 0
        route = "a"
        for _, step, size, name in [each for each in drawn if each[0] == partition]:
            offset += step
            if step or not rows or rows[-1]["partition"] != partition:
                route = name
            rows.append({"partition": partition, "offset": offset, "size": size, "route": route})
    return rows


def _cut(rows: list[Row], limits: RequestLimits) -> list[Request]:
    return list(
        requests(
            iter(rows),
            queues={0: "q0", 1: "q1", 2: "q2"},
            route=lambda each: str(each["route"]),
            size=lambda each: int(each["size"]),
            limits=lambda _route: limits,
        )
    )


@given(drawn=ROWS, records=st.integers(1, 5), size=st.integers(1, 60))
def test_requests_hold_each_row_once_within_limits_and_have_keys_of_their_own(
    drawn: list[tuple[int, int, int, str]], records: int, size: int
) -> None:
    rows = _rows(drawn)
    cut = _cut(rows, RequestLimits(max_records=records, max_bytes=size))
    held = [each for request in cut for each in request.rows]
    assert sorted(map(id, held)) == sorted(map(id, rows))
    assert len({request.key for request in cut}) == len(cut)
    for request in cut:
        assert {(each["partition"], each["route"]) for each in request.rows} == {(request.partition, request.route)}
        offsets = [each["offset"] for each in request.rows]
        assert offsets == sorted(offsets)
        if len(set(offsets)) > 1:
            before_last = [each for each in request.rows if each["offset"] != offsets[-1]]
            assert len(before_last) < records
            assert sum(each["size"] for each in before_last) <= size
    for partition in range(3):
        for route in "ab":
            own = [each["offset"] for r in cut if (r.partition, r.route) == (partition, route) for each in r.rows]
            assert own == sorted(own)


def test_a_record_is_never_divided() -> None:
    rows = [{"partition": 0, "offset": 7, "size": 9, "route": "a"} for _ in range(10)]
    (request,) = _cut(rows, RequestLimits(max_records=2, max_bytes=10))
    assert (request.key, len(request.rows)) == ("q0/0/7-8", 10)


# ---- attempts


def attempts(
    outcomes: list[Undelivered | None], hold: float = 60.0, earlier: int = 0, **retry: Any
) -> tuple[Outcome, int]:
    made = 0

    async def send() -> None:
        nonlocal made
        made += 1
        outcome = outcomes[min(made, len(outcomes)) - 1]
        if outcome is not None:
            raise outcome

    settings = Retry.model_validate({**QUICK, **retry})
    return asyncio.run(deliver(send, settings, "key", hold=hold, earlier=earlier)), made


AGAIN = Undelivered("503", retryable=True)
NEVER = Undelivered("400", retryable=False)


def test_attempts_end_with_success() -> None:
    assert attempts([AGAIN, AGAIN, None], then="drop") == (Delivered(), 3)


@pytest.mark.parametrize("then", ["drop", "dead_letter"])
def test_the_last_attempt_gives_up(then: str) -> None:
    assert attempts([AGAIN], then=then, max_attempts=4) == (GivenUp(AGAIN), 4)


def test_attempts_of_an_earlier_run_count() -> None:
    assert attempts([AGAIN], then="drop", max_attempts=4, earlier=3) == (GivenUp(AGAIN), 1)


def test_an_error_that_no_attempt_mends_gives_up_at_once() -> None:
    assert attempts([NEVER], then="drop", max_attempts=4) == (GivenUp(NEVER), 1)


def test_block_gives_up_on_neither() -> None:
    assert attempts([AGAIN, NEVER] * 20 + [None]) == (Delivered(), 41)


def test_partial_success_is_never_sent_again() -> None:
    partial = Undelivered("3 rejected", retryable=False, partial=True)
    assert attempts([partial]) == (GivenUp(partial), 1)


def test_a_long_pause_is_left_to_the_driver() -> None:
    asked = Undelivered("429", retryable=True, retry_after=3600.0)
    outcome, made = attempts([asked])
    assert (outcome, made) == (Waiting(asked, 1, 3600.0), 1)


def test_pauses_grow_over_runs() -> None:
    backoff = {"first": "1s", "most": "1h"}
    outcome, _ = attempts([AGAIN], hold=0.0, earlier=6, backoff=backoff)
    assert isinstance(outcome, Waiting)
    assert outcome.attempts == 7
    assert 64 <= outcome.pause <= 65


def test_no_answer_is_a_failed_attempt() -> None:
    async def hang() -> None:
        await asyncio.Event().wait()

    retry = Retry.model_validate({**GIVE_UP, "timeout": "1ms"})
    outcome = asyncio.run(deliver(hang, retry, "key"))
    assert isinstance(outcome, GivenUp)
    assert "no answer within 0.001 s" in outcome.error.reason


def test_what_a_client_cannot_make_into_a_request_is_given_up() -> None:
    async def fail() -> None:
        raise ValueError("not a message")

    outcome = asyncio.run(deliver(fail, Retry.model_validate(GIVE_UP), "key"))
    assert isinstance(outcome, GivenUp)
    assert outcome.error.reason == "ValueError: not a message"


# ---- a task: what is finished, and where a later run continues


class Recorded(HttpSender):
    """Fails as told."""

    def client(self) -> Any:
        return _FAILING


class _Failing:
    def __init__(self) -> None:
        self.keys: list[str] = []
        self.fail: Callable[[str], Undelivered | None] = lambda _key: None

    async def close(self) -> None:
        pass

    async def send(self, route: str, rows: list[Row], key: str) -> None:  # noqa: ARG002
        self.keys.append(key)
        error = self.fail(key)
        if error is not None:
            raise error


_FAILING = _Failing()


class SparkRow:
    """As much of Spark's Row as tasks need."""

    def __init__(self, values: Row) -> None:
        self.values = values

    def asDict(self) -> Row:  # noqa: N802
        return self.values


def run(done: dict[int, int], attempts_: dict[int, int], rows: list[Row], **options: Any) -> list[Report]:
    sender = Recorded.model_validate({"name": "s", "url": "http://h/", **options})
    task = Task(sender, "pipe", {0: "q0", 1: "q1"}, done, attempts_)
    return list(task.run(SparkRow(each) for each in rows))  # type: ignore[misc]


@pytest.mark.parametrize("parallel", [1, 3])
def test_a_task_that_waits_goes_on_where_it_was(parallel: int) -> None:
    rows = [row(i) for i in range(5)] + [{**row(i), "partition": 1} for i in range(3)]
    _FAILING.keys.clear()
    _FAILING.fail = lambda key: Undelivered("429", retryable=True, retry_after=99.0) if key == "q0/0/2-3" else None
    reports = run({}, {}, rows, parallel=parallel)
    assert [(each.kind, each.status, each.partition, each.number) for each in reports] == [
        ("count", "success", -1, 2),
        ("done", "", 0, 2),
        ("waiting", "request q0/0/2-3: 429", 0, 1),
    ]
    assert reports[-1].pause == 99.0
    _FAILING.keys.clear()
    _FAILING.fail = lambda _key: None
    reports = run({0: 2}, {0: 1}, rows, parallel=parallel)
    # With several requests at a time some may be sent again.
    assert set(_FAILING.keys) == {"q0/0/2-3", "q0/0/3-4", "q0/0/4-5", "q1/1/0-1", "q1/1/1-2", "q1/1/2-3"}
    assert len(_FAILING.keys) == 6 or parallel > 1
    assert [(each.kind, each.status, each.partition, each.number) for each in reports] == [
        ("count", "success", -1, 6),
        ("done", "", 0, 5),
        ("done", "", 1, 3),
    ]


def test_attempts_go_on_counting_and_end_in_a_dead_letter() -> None:
    _FAILING.keys.clear()
    _FAILING.fail = lambda _key: AGAIN
    reports = run(
        {}, {0: 2}, [row(4, b"abc", meta={"peer": "p"}, type="Logging")], retry={**GIVE_UP, "then": "dead_letter"}
    )
    assert len(_FAILING.keys) == 1
    letter = Event.FromString(next(each.value for each in reports if each.kind == "letter"))
    assert (letter.data, letter.content_type, letter.type) == (b"abc", "text/plain", EventType.LOGGING)
    assert dict(letter.meta) == {
        "peer": "p",
        "reason": "503",
        "pipe": "pipe",
        "sender": "s",
        "partition": "0",
        "offset": "4",
    }


# ---- HTTP


@pytest.mark.parametrize(
    ("status", "retryable"),
    [
        (429, True),
        (502, True),
        (503, True),
        (504, True),
        (400, False),
        (404, False),
        (413, False),
        (500, False),
        (302, False),
    ],
)
def test_http_answers(status: int, retryable: bool) -> None:
    with http_receiver((status, {"Retry-After": "7"}, b"because")) as receiver:
        error = failed(HttpSender(name="s", url=receiver.url), row(0))
    assert (error.retryable, error.retry_after) == (retryable, 7.0)
    assert f"{status} " in error.reason
    assert "because" in error.reason


@pytest.mark.parametrize("answer", ["reset", "refused"])
def test_http_without_an_answer_is_retryable(answer: str) -> None:
    with http_receiver("reset") as receiver:
        url = receiver.url
        if answer == "reset":
            assert failed(HttpSender(name="s", url=url), row(0)).retryable
    if answer == "refused":
        assert failed(HttpSender(name="s", url=url), row(0)).retryable


def test_http_data_is_sent_as_it_came() -> None:
    data = bytes(range(256))
    with http_receiver() as receiver:
        sender = HttpSender(name="s", url=receiver.url + "/in?a=1", headers={"X-Token": "t"}, compression="gzip")
        sent(sender, row(3, data, "application/x-thing"), key="q/0/3-4")
    (request,) = receiver.taken
    assert request.path == "/in?a=1"
    assert gzip.decompress(request.body) == data
    wanted = {
        "content-type": "application/x-thing",
        "idempotency-key": "q/0/3-4",
        "x-token": "t",
        "content-encoding": "gzip",
    }
    assert wanted.items() <= request.headers.items()


def test_http_rows_are_lines_of_json() -> None:
    with http_receiver() as receiver:
        sent(HttpSender(name="s", url=receiver.url, body="ndjson"), {"json": '{"a":1}'}, {"json": '{"a":"ü"}'})
    (request,) = receiver.taken
    assert (request.headers["content-type"], request.body.decode()) == ("application/x-ndjson", '{"a":1}\n{"a":"ü"}\n')


def test_http_events_are_cloud_events() -> None:
    time_ms = 1_700_000_000_123
    common = {"id": None, "source": None, "type": "Logging", "time_ms": time_ms}
    assert cloud_event(row(5, b'{"a": 1}', "application/json", **common), "queue") == {
        "specversion": "1.0",
        "id": "queue/0/5",
        "source": "queue",
        "type": "Logging",
        "time": "2023-11-14T22:13:20.123+00:00",
        "datacontenttype": "application/json",
        "data": {"a": 1},
    }
    named = {**common, "id": "i", "source": "otlp 1.2.3.4:5"}
    text = cloud_event(row(5, "ü".encode(), "text/plain", **named), "queue")
    assert (text["id"], text["source"], text["data"]) == ("i", "otlp%201.2.3.4:5", "ü")
    assert cloud_event(row(5, b"\xff", "text/plain", **common), "queue")["data_base64"] == "/w=="
    assert cloud_event(row(5, b"\x00", "image/png", **common), "queue")["data_base64"] == "AA=="
    given_ = {"specversion": "1.0", "id": "x", "source": "s", "type": "t", "data": [1]}
    structured = row(5, json.dumps(given_).encode(), "application/cloudevents+json; charset=utf-8", **common)
    assert cloud_event(structured, "queue") == given_


def test_retry_after_is_a_number_or_a_date() -> None:
    now = datetime(2026, 1, 31, 12, 0, tzinfo=timezone.utc)
    assert retry_after("12", now) == 12
    assert retry_after("Sat, 31 Jan 2026 12:00:30 GMT", now) == 30
    assert retry_after("Sat, 31 Jan 2026 11:00:00 GMT", now) == 0
    assert retry_after("soon", now) == 0
    assert retry_after(None, now) == 0


# ---- gRPC


def retry_info(seconds: int, nanos: int) -> bytes:
    info = RetryInfo()
    info.retry_delay.seconds, info.retry_delay.nanos = seconds, nanos
    packed = ProtobufAny()
    packed.Pack(info)
    return bytes(Status(code=8, message="full", details=[packed]).SerializeToString())


@pytest.mark.parametrize(
    ("code", "retryable"),
    [
        (grpc.StatusCode.UNAVAILABLE, True),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, True),
        (grpc.StatusCode.DEADLINE_EXCEEDED, True),
        (grpc.StatusCode.INVALID_ARGUMENT, False),
        (grpc.StatusCode.UNAUTHENTICATED, False),
        (grpc.StatusCode.UNIMPLEMENTED, False),
    ],
)
def test_grpc_answers(code: grpc.StatusCode, retryable: bool) -> None:
    def fail(_position: int, context: grpc.ServicerContext) -> None:
        context.set_trailing_metadata([("grpc-status-details-bin", retry_info(2, 500_000_000))])
        context.abort(code, "because")

    with grpc_receiver(fail) as (endpoint, _):
        error = failed(EventsSender(name="s", endpoint=endpoint), row(0))
    assert (error.retryable, error.retry_after, error.reason) == (retryable, 2.5, f"{code.name}: because")


def test_grpc_without_a_receiver_is_retryable() -> None:
    with grpc_receiver() as (endpoint, _):
        pass
    assert failed(EventsSender(name="s", endpoint=endpoint), row(0)).retryable


def test_events_go_to_another_pipeline() -> None:
    rows = [
        row(
            0,
            b"abc",
            type="Logging",
            meta={"a": "b"},
            time_ms=5,
            name="n",
            source="src",
            id="mine",
            fields='{"x": 1.0}',
        ),
        row(1, b"seg", SEGMENT, type="Tracing", remote=True),
        row(2, LogList(logs=[b"l1", b"l2"]).SerializeToString(), LOGS, type="Logging"),
    ]
    with grpc_receiver() as (endpoint, receiver):
        sent(EventsSender(name="s", endpoint=endpoint, headers={"Authorization": "Bearer x"}), *rows, key="q/0/0-3")
    (call,) = receiver.calls
    assert call.path == "/mmapqueue.pipeline.v1.Events/Push"
    assert (call.metadata["idempotency-key"], call.metadata["authorization"]) == ("q/0/0-3", "Bearer x")
    batch = Batch.FromString(call.messages[0])
    assert batch.key == "q/0/0-3"
    events = [Event.FromString(each) for each in batch.events]
    assert events[0] == Event.FromString(
        encode(
            type=EventType.LOGGING,
            data=b"abc",
            content_type="text/plain",
            name="n",
            time_ms=5,
            meta={"a": "b"},
            fields={"x": 1},
            id="mine",
            source="src",
        )
    )
    assert (events[1].segment, events[1].id, events[1].data) == (b"seg", "q/0/1", b"")
    assert (list(events[2].log_list.logs), events[2].content_type) == ([b"l1", b"l2"], "")


def test_skywalking_gets_streams_of_its_own_messages() -> None:
    logs = [row(i, LogList(logs=[b"a%d" % i, b"b%d" % i]).SerializeToString(), LOGS) for i in range(2)]
    segments = [row(5, b"segment", SEGMENT), row(6, b"other", SEGMENT)]
    with grpc_receiver() as (endpoint, receiver):
        sender = SkyWalkingSender(name="s", endpoint=endpoint)
        sent(sender, *logs)
        sent(sender, *segments)
        sent(sender, row(7, b"meters", SKYWALKING_METERS))
        error = failed(sender, row(8, b"x", "text/plain"))
    assert [(call.path, call.messages) for call in receiver.calls] == [
        ("/skywalking.v3.LogReportService/collect", [b"a0", b"b0", b"a1", b"b1"]),
        ("/skywalking.v3.TraceSegmentReportService/collect", [b"segment", b"other"]),
        ("/skywalking.v3.MeterReportService/collectBatch", [b"meters"]),
    ]
    assert not error.retryable
    assert "'text/plain'" in error.reason


# ---- OTLP


def export(body: str) -> bytes:
    request = ExportLogsServiceRequest()
    record = request.resource_logs.add().scope_logs.add().log_records.add()
    record.body.string_value = body
    record.trace_id = bytes(range(16))
    return bytes(request.SerializeToString())


EXPORT_JSON = (
    b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"traceId":"000102030405060708090a0b0c0d0e0f",'
    b'"body":{"stringValue":"one"}}]}]}]}'
)


def test_otlp_is_sent_as_it_came_and_merged_by_its_bytes() -> None:
    with grpc_receiver() as (endpoint, receiver):
        sender = OtlpSender(name="s", endpoint=endpoint, merge=True)
        sent(sender, row(0, export("one"), OTLP_LOGS))
        sent(sender, row(1, export("two"), OTLP_LOGS), row(2, export("three"), OTLP_LOGS))
        sent(sender, row(3, EXPORT_JSON, "application/json; proto=otlp.logs"))
        sent(sender, row(4, b"", OTLP_TRACES))
    one, merged, converted, traces = receiver.calls
    assert one.path == "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
    assert traces.path == "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
    assert one.messages == [export("one")]
    bodies = [
        record.body.string_value
        for resource in ExportLogsServiceRequest.FromString(merged.messages[0]).resource_logs
        for scope in resource.scope_logs
        for record in scope.log_records
    ]
    assert bodies == ["two", "three"]
    assert converted.messages == [export("one")]


def test_otlp_limits_count_only_with_merge() -> None:
    merging = OtlpSender(name="s", endpoint="h:1", merge=True, request=RequestLimits(max_records=7))
    assert merging.limits("logs").max_records == 7
    assert merging.limits("logs+json").max_records == 1
    assert OtlpSender(name="s", endpoint="h:1").limits("logs").max_records == 1


def test_otlp_over_http() -> None:
    with http_receiver() as receiver:
        sender = OtlpSender(name="s", endpoint=receiver.url, protocol="http", compression="none")
        sent(sender, row(0, export("one"), OTLP_LOGS))
        sent(sender, row(1, EXPORT_JSON, "application/json; proto=otlp.logs"))
    assert [(each.path, each.headers["content-type"], each.body) for each in receiver.taken] == [
        ("/v1/logs", "application/x-protobuf", export("one")),
        ("/v1/logs", "application/json", EXPORT_JSON),
    ]


def test_otlp_partial_success_is_told() -> None:
    partial = ExportLogsServiceResponse(
        partial_success=ExportLogsPartialSuccess(rejected_log_records=3, error_message="too old")
    ).SerializeToString()
    with grpc_receiver(answer=partial) as (endpoint, _):
        error = failed(OtlpSender(name="s", endpoint=endpoint), row(0, export("one"), OTLP_LOGS))
    assert (error.partial, error.retryable, error.reason) == (True, False, "partial success: 3 rejected: too old")
    answer = (200, {"Content-Type": "application/json"}, b'{"partialSuccess":{"rejectedLogRecords":"2"}}')
    with http_receiver(answer) as receiver:
        sender = OtlpSender(name="s", endpoint=receiver.url, protocol="http")
        assert failed(sender, row(0, EXPORT_JSON, "application/json; proto=otlp.logs")).partial


def test_otlp_refuses_other_payloads() -> None:
    sender = OtlpSender(name="s", endpoint="127.0.0.1:1")
    error = failed(sender, row(0, b"line", "text/plain"))
    assert not error.retryable
    assert "`where`" in error.reason
    with pytest.raises(ValueError, match="no OTLP request of logs"):
        protobuf_of("logs", b'{"resourceLogs": 7}')


# ---- rows as events, and options


@given(data=st.binary(max_size=50), meta=st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=8))
def test_equal_rows_give_equal_bytes(data: bytes, meta: dict[str, str]) -> None:
    one = event_of(row(0, data, meta=list(meta.items()), type="Type42"), {"reason": "r"})
    other = event_of(row(0, data, meta=list(meta.items())[::-1], type="Type42"), {"reason": "r"})
    assert one == other
    event = Event.FromString(one)
    assert (event.data, event.type, dict(event.meta)) == (data, 42, {**meta, "reason": "r"})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Retry(max_attempts=3), "no effect with then: block"),
        (lambda: Retry.model_validate({"backoff": {"first": "9s", "most": "1s"}}), "exceeds most"),
        (lambda: Limits(min_records=5, max_records=4), "min_records = 5 exceeds max_records = 4"),
        (lambda: Limits.model_validate({"longest_wait": "1s"}), "longest_wait has no effect"),
        (lambda: HttpSender(name="s", url="http://h", request=RequestLimits()), "request has no effect"),
        (lambda: HttpSender.model_validate({"name": "s", "url": "http://h", "tls": {}}), "tls has no effect"),
        (lambda: HttpSender(name="s", url="ftp://h"), "pattern"),
        (lambda: OtlpSender(name="s", endpoint="h:1", request=RequestLimits()), "request has no effect"),
        (lambda: OtlpSender(name="s", endpoint="http://h:1"), "an address is HOST:PORT"),
        (lambda: OtlpSender(name="s", endpoint="h:1", protocol="http"), "URL is needed"),
        (lambda: SparkSender(name="s", format="parquet", select=()), "select is empty"),
        (lambda: SparkSender(name="s", format="x", options={"checkpointLocation": "/c"}), "pipeline's own"),
    ],
)
def test_options_without_sense_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises((ValidationError, ValueError), match=message):
        make()
