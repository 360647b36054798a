"""Rows of logs become OTLP again: each filter in front of each sender, compared with what Parquet gets."""

import hashlib
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from mmapqueue.pipeline import Event, EventType, encode
from mmapqueue.pipeline._event import OTLP_LOGS
from mmapqueue.pipeline.event_pb2 import Batch
from mmapqueue.pipeline.plugins import Filter, Sender
from mmapqueue.pipeline.process import filters
from mmapqueue.pipeline.process.filters import (
    Attributes,
    Dedupe,
    Drop,
    Explode,
    ParseJson,
    PythonFilter,
    Redact,
    Regex,
    Sample,
    Select,
    Where,
)
from mmapqueue.pipeline.process.runner import Processor, StartError
from mmapqueue.pipeline.process.senders.events import EventsSender
from mmapqueue.pipeline.process.senders.http import HttpSender
from mmapqueue.pipeline.process.senders.otlp import OtlpSender
from mmapqueue.pipeline.process.senders.spark import SparkSender
from pipeline.processing import (
    FAST,
    QUICK,
    Counts,
    dead_letters,
    forget_finished_requests,
    forget_last_commit,
    lines,
    parquet,
    pipeline,
    process,
    push,
)
from pipeline.receiving import Request, grpc_receiver, http_receiver

TIME = 1_700_000_000_000
EXPLODE = Explode(rows="logs")
#: Columns of a row that a sender of events needs.
COLUMNS = (
    "time observed_time severity_number body attributes resource scope service instance endpoint trace_id span_id "
    "index type remote meta id source partition offset"
)
S = TypeVar("S", bound=Sender)


def sender(kind: type[S], name: str, **options: Any) -> S:
    """A sender of encoded rows."""
    retry = {} if kind is SparkSender else {"retry": QUICK}
    return kind.model_validate({"name": name, "encode": "otlp", "batch": FAST, **retry, **options})


def files(path: Path) -> dict[str, Any]:
    return {"format": "parquet", "options": {"path": str(path)}}


def otlp_request() -> bytes:
    request = ExportLogsServiceRequest()
    resource = request.resource_logs.add()
    resource.resource.attributes.append(KeyValue(key="service.name", value=AnyValue(string_value="shop")))
    scope = resource.scope_logs.add()
    scope.scope.name = "web"
    for i, body in enumerate(["GET /a card 4000111122223333", '{"status": 500}', ""]):
        record = scope.log_records.add(
            time_unix_nano=(TIME + i) * 1_000_000,
            observed_time_unix_nano=(TIME + 9) * 1_000_000,
            severity_number=9 + 4 * i,
            severity_text=["INFO", "WARN", "ERROR"][i],
            body=AnyValue(string_value=body),
            trace_id=bytes(range(16)),
            span_id=bytes(range(8)),
        )
        record.attributes.append(KeyValue(key="usr", value=AnyValue(int_value=7)))
        record.attributes.append(KeyValue(key="password", value=AnyValue(string_value="secret")))
    bare = request.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=TIME * 1_000_000)
    bare.body.string_value = "bare"
    return bytes(request.SerializeToString())


def field(number: int, value: bytes) -> bytes:
    """A field of protobuf that is a text or a message of less than 128 bytes."""
    return bytes([number << 3 | 2, len(value)]) + value


def skywalking_log() -> bytes:
    body = field(2, field(1, b"from an agent"))
    trace = field(1, b"abc.1.2") + field(2, b"segment") + b"\x18\x03"
    tags = field(1, field(1, b"level") + field(2, b"ERROR"))
    named = field(2, b"agent") + field(3, b"i-1") + field(4, b"/pay")
    time = b"\x08" + AnyValue(int_value=TIME).SerializeToString()[1:]
    return time + named + field(5, body) + field(6, trace) + field(7, tags) + field(8, b"GENERAL")


def records() -> list[bytes]:
    syslog = b"<34>1 2023-11-14T22:13:20Z host su 99 ID47 - failed"
    logging: dict[str, Any] = {"type": EventType.LOGGING, "time_ms": TIME}
    return [
        encode(**logging, data=otlp_request(), content_type=OTLP_LOGS, id="one"),
        encode(**logging, logs=[skywalking_log()]),
        encode(**logging, data=b"GET /b\nPOST /c", content_type="text/plain", source="/var/a.log", meta={"inode": "1"}),
        encode(**logging, data=syslog, content_type="text/x-syslog", source="syslog+udp://192.0.2.1:514"),
    ]


class Log(NamedTuple):
    """What a log record says."""

    time: int
    observed: int
    severity: tuple[int, str]
    body: str | None
    attributes: str
    resource: str
    scope: str
    ids: tuple[str, str]


def plain(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    assert kind in (None, "string_value", "int_value", "double_value", "bool_value"), kind
    return None if kind is None else getattr(value, kind)


def attributes(given: Any) -> str:
    return json.dumps({each.key: plain(each.value) for each in given}, sort_keys=True)


def logs(data: bytes) -> Iterator[Log]:
    """The log records of a request."""
    for resource in ExportLogsServiceRequest.FromString(data).resource_logs:
        for scope in resource.scope_logs:
            for each in scope.log_records:
                yield Log(
                    each.time_unix_nano // 1000,
                    each.observed_time_unix_nano // 1000,
                    (each.severity_number, each.severity_text),
                    each.body.string_value if each.HasField("body") else None,
                    attributes(each.attributes),
                    attributes(resource.resource.attributes),
                    scope.scope.name,
                    (each.trace_id.hex(), each.span_id.hex()),
                )


def identity(text: str, digits: int) -> str:
    """An identity of OTLP: the text, or its hash."""
    is_hexadecimal = len(text) in (0, digits) and set(text) <= set("0123456789abcdef")
    return text if is_hexadecimal else hashlib.sha256(text.encode()).hexdigest()[:digits]


def expected(spark: Any, path: Path) -> list[Log]:
    """The rows of a Parquet sender, as the table of docs/reference/pipeline/events.md maps them."""
    found = []
    frame = spark.read.parquet(str(path)).selectExpr(
        "*", *(f"unix_micros({name}) AS {name}_us" for name in ("time", "observed_time"))
    )
    for row in (each.asDict() for each in frame.collect()):
        made = json.loads(row.get("attributes") or "{}")
        if row.get("endpoint"):
            made.setdefault("endpoint", row["endpoint"])
        if "inode" in (row.get("meta") or {}):
            made["log.file.path"] = row["source"]
        ids = []
        for name, digits in (("trace_id", 32), ("span_id", 16)):
            given = row.get(name) or ""
            ids.append(identity(given, digits))
            if given and len(given) != digits:
                made[name] = given
        resource = json.loads(row.get("resource") or "{}")
        for key, column in (("service.name", "service"), ("service.instance.id", "instance")):
            if row.get(column):
                resource.setdefault(key, row[column])
        found.append(
            Log(
                row["time_us"],
                row["observed_time_us"] or 0,
                (row.get("severity_number") or 0, row.get("severity") or ""),
                row["body"],
                json.dumps(made, sort_keys=True),
                json.dumps(resource, sort_keys=True),
                row.get("scope") or "",
                (ids[0], ids[1]),
            )
        )
    return sorted(found, key=str)


def upper(frame: Any, column: str) -> Any:
    return frame.selectExpr("*").withColumn(column, frame[column].substr(1, 3))


#: Filters, and the number of rows that remain.
FILTERS: dict[str, tuple[Filter, int | None]] = {
    "none": (Where(condition="true"), 8),
    "where": (Where(condition="severity_number >= 13 OR body LIKE 'GET%'"), 6),
    "select": (Select(columns=[*COLUMNS.split(), "lower(severity) AS severity"]), 8),
    "select few": (Select(columns=["time", "observed_time", "body", "partition", "offset"]), 8),
    "drop": (Drop(columns=["attributes", "trace_id", "index"]), 8),
    "sample": (Sample(fraction=0.5), None),
    "regex": (Regex(pattern="(?<body>GET .[a-z])", keep_others=False), 2),
    "parse_json": (ParseJson(fields={"status": "int"}), 8),
    "dedupe": (Dedupe(keys=["body"]), 8),
    "python": (PythonFilter(function="pipeline.test_encoding:upper", arguments={"column": "body"}), 8),
    "attributes": (
        Attributes(add={"region": "'eu'", "n": "severity_number"}, rename={"usr": "user.id"}, remove=["password"]),
        8,
    ),
    "attributes of the resource": (Attributes(column="resource", add={"cluster": "upper(service)"}), 8),
    "redact": (Redact(columns=["body", "attributes"], pattern="[0-9]{12}([0-9]{4})|secret", replacement="…$1"), 8),
}


@pytest.mark.parametrize("name", FILTERS)
def test_each_filter_in_front_of_each_sender(spark: Any, tmp_path: Path, name: str) -> None:
    push(tmp_path / "queue", records())
    each, count = FILTERS[name]
    with grpc_receiver() as (endpoint, grpc), http_receiver() as http, grpc_receiver() as (events, other):
        senders: list[Sender] = [
            sender(SparkSender, "rows", **files(tmp_path / "rows"), encode=None),
            sender(SparkSender, "encoded", **files(tmp_path / "encoded")),
            sender(OtlpSender, "grpc", endpoint=endpoint),
            sender(OtlpSender, "http", endpoint=http.url, protocol="http", compression="none"),
            sender(HttpSender, "data", url=f"{http.url}/data"),
            sender(HttpSender, "cloudevents", url=f"{http.url}/ce", body="cloudevents"),
            sender(EventsSender, "events", endpoint=events),
        ]
        if name == "select few":
            # A row has no position in its event then, which is the identity of a CloudEvent.
            senders = [one for one in senders if one.name not in ("cloudevents", "events")]
        if name == "drop":
            senders = [one for one in senders if one.name != "cloudevents"]
        process(spark, pipeline(tmp_path, *senders, filters=(EXPLODE, each)))
    wanted = expected(spark, tmp_path / "rows")
    assert count is None or len(wanted) == count
    bodies: dict[str, list[bytes]] = {
        "encoded": parquet(spark, tmp_path / "encoded"),
        "grpc": [message for call in grpc.calls for message in call.messages],
        "http": [request.body for request in http.taken if request.path == "/v1/logs"],
        "data": [request.body for request in http.taken if request.path == "/data"],
    }
    assert {request.headers["content-type"] for request in http.taken if request.path == "/data"} <= {OTLP_LOGS}
    sent = [Event.FromString(each) for call in other.calls for each in Batch.FromString(call.messages[0]).events]
    if any(one.name == "events" for one in senders):
        bodies["events"] = [event.data for event in sent]
        if name != "drop":
            assert len({event.id for event in sent}) == len(sent)
    for target, data in bodies.items():
        assert sorted((log for one in data for log in logs(one)), key=str) == wanted, target
    if any(one.name == "cloudevents" for one in senders):
        found = [one for request in http.taken if request.path == "/ce" for one in json.loads(request.body)]
        assert len({one["id"] for one in found}) == len(found) == len(wanted)
    # Rows of one resource and scope are together.
    for one in bodies["grpc"]:
        resources = [
            each.resource.SerializeToString() for each in ExportLogsServiceRequest.FromString(one).resource_logs
        ]
        assert len(set(resources)) == len(resources)


def test_a_repeated_batch_has_the_same_requests_and_what_is_refused_is_otlp(spark: Any, tmp_path: Path) -> None:
    broken = encode(type=EventType.LOGGING, data=b"\xff\xff", content_type=OTLP_LOGS, time_ms=1)
    push(tmp_path / "queue", [*lines(50), broken])
    lock = threading.Lock()
    bodies: dict[str, bytes] = {}

    def answer(_position: int, request: Request) -> int:
        with lock:
            assert bodies.setdefault(request.key, request.body) == request.body
        return 400 if any(log.body == "line 13" for log in logs(request.body)) else 200

    counts = Counts()
    with http_receiver(answer) as receiver:
        otlp = sender(
            OtlpSender,
            "otlp",
            endpoint=receiver.url,
            protocol="http",
            compression="none",
            request={"max_records": 20},
        )
        configured = pipeline(tmp_path, otlp, filters=(EXPLODE, Where(condition="body != 'line 7'")))
        process(spark, configured, counts)
        first = [(each.key, each.body) for each in receiver.taken]
        forget_last_commit(configured, "otlp")
        forget_finished_requests(configured, "otlp")
        process(spark, configured)
        assert [(each.key, each.body) for each in receiver.taken[len(first) :]] == first
    taken = [log.body for _, body in first for log in logs(body)]
    assert taken == [f"line {i}" for i in range(50) if i not in (7, 13)]
    assert counts.counted == {("p", "otlp", "success"): 48, ("p", "otlp", "dead_letter"): 1}
    letters = dead_letters(tmp_path)
    assert {each.content_type for each in letters} == {OTLP_LOGS}
    refused = [each for each in letters if each.meta["sender"] == "otlp"]
    assert [log.body for each in refused for log in logs(each.data)] == ["line 13"] * len(refused)
    assert len(refused) == 2
    assert [each.data for each in letters if each.meta["sender"] == ""] == [b"\xff\xff"]


@pytest.mark.parametrize(
    ("each", "encoding", "words"),
    [
        (Select(columns=["partition", "offset"]), "otlp", "needs rows of logs, which have a column body"),
        (EXPLODE, None, "with `encode: otlp` rows of logs, spans and points have them"),
    ],
)
def test_rows_that_cannot_be_sent_are_an_error_of_the_start(
    spark: Any, tmp_path: Path, each: Filter, encoding: str | None, words: str
) -> None:
    push(tmp_path / "queue", lines(1))
    otlp = sender(OtlpSender, "o", endpoint="127.0.0.1:1", encode=encoding)
    with pytest.raises(StartError, match=words):
        Processor(pipeline(tmp_path, otlp, filters=(each,)), spark, once=True).start()


def test_errors_of_the_filters(spark: Any) -> None:
    frame = spark.createDataFrame([("a", 1)], "body string, n int")
    with pytest.raises(ValueError, match="redact: no column n, x of type string; columns of this type: body"):
        filters.redact(frame, "a", ["n", "x"])
    with pytest.raises(ValueError, match="at least one of add, rename, remove"):
        filters.attributes(frame)
    with pytest.raises(ValueError, match="at least one of add, rename, remove"):
        Attributes()
