"""The cases of OpenTelemetry's specification of OTLP: what a server must, should and may answer."""

import base64
import gzip
import http.client
import json
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import grpc
import pyarrow
import pytest
from google.protobuf import json_format
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics
from opentelemetry.proto.collector.profiles.v1development import profiles_service_pb2 as profiles
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces

import mmapqueue
from mmapqueue.pipeline import EventType
from mmapqueue.pipeline.gather.inbox import Full
from mmapqueue.pipeline.gather.receivers.otlp import OtlpReceiver, SignalName

from .serving import FakeInbox, Serving

PROTOBUF, JSON = "application/x-protobuf", "application/json"
LIMIT = 20_000


class Signal(NamedTuple):
    path: str
    method: str
    request: Any
    response: Any
    #: The field of PartialSuccess, and its name in JSON.
    rejected: str
    rejected_json: str
    type: "EventType"
    #: Adds a record with a text of that many bytes.
    add: Callable[[Any, int], Any]


def _add_log(request: Any, size: int) -> None:
    request.resource_logs.add().scope_logs.add().log_records.add().body.string_value = "x" * size


def _add_span(request: Any, size: int) -> None:
    request.resource_spans.add().scope_spans.add().spans.add().name = "x" * size


def _add_point(request: Any, size: int) -> None:
    metric = request.resource_metrics.add().scope_metrics.add().metrics.add(name="m")
    attribute = metric.gauge.data_points.add(as_int=-5, time_unix_nano=1 << 60).attributes.add(key="a")
    attribute.value.string_value = "x" * size


def _add_profile(request: Any, size: int) -> None:
    request.resource_profiles.add().scope_profiles.add().profiles.add().original_payload = b"x" * size


_METHOD = "/opentelemetry.proto.collector.{}/Export"
SIGNALS = {
    "logs": Signal(
        "/v1/logs",
        _METHOD.format("logs.v1.LogsService"),
        logs.ExportLogsServiceRequest,
        logs.ExportLogsServiceResponse,
        "rejected_log_records",
        "rejectedLogRecords",
        EventType.LOGGING,
        _add_log,
    ),
    "traces": Signal(
        "/v1/traces",
        _METHOD.format("trace.v1.TraceService"),
        traces.ExportTraceServiceRequest,
        traces.ExportTraceServiceResponse,
        "rejected_spans",
        "rejectedSpans",
        EventType.TRACING,
        _add_span,
    ),
    "metrics": Signal(
        "/v1/metrics",
        _METHOD.format("metrics.v1.MetricsService"),
        metrics.ExportMetricsServiceRequest,
        metrics.ExportMetricsServiceResponse,
        "rejected_data_points",
        "rejectedDataPoints",
        EventType.METRICS,
        _add_point,
    ),
    "profiles": Signal(
        "/v1development/profiles",
        _METHOD.format("profiles.v1development.ProfilesService"),
        profiles.ExportProfilesServiceRequest,
        profiles.ExportProfilesServiceResponse,
        "rejected_profiles",
        "rejectedProfiles",
        EventType.PROFILE,
        _add_profile,
    ),
}
ALL: tuple[SignalName, ...] = ("logs", "traces", "metrics", "profiles")


def made(signal: Signal, *sizes: int) -> Any:
    request = signal.request()
    for size in sizes:
        signal.add(request, size)
    return request


def encoded(request: Any, media_type: str) -> bytes:
    if media_type == JSON:
        return json_format.MessageToJson(request, indent=None).encode()
    serialized: bytes = request.SerializeToString()
    return serialized


def send(
    serving: Serving, method: str, path: str, body: bytes | None, headers: dict[str, str]
) -> tuple[int, bytes, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", serving.http.port, timeout=60)
    try:
        connection.request(method, path, body, headers)
        reply = connection.getresponse()
        return reply.status, reply.read(), {name.lower(): value for name, value in reply.getheaders()}
    finally:
        connection.close()


def response_of(signal: Signal, answer: bytes, media_type: str) -> Any:
    """An Export…ServiceResponse, in an encoding."""
    return json_format.Parse(answer, signal.response()) if media_type == JSON else signal.response.FromString(answer)


def status_of(answer: bytes, media_type: str) -> tuple[int, str]:
    """Code and message of a google.rpc.Status, in an encoding."""
    if media_type == JSON:
        document = json.loads(answer)
        return document["code"], document["message"]
    status = Status.FromString(answer)
    return status.code, status.message


def serving_all(**options: Any) -> Serving:
    return Serving(
        OtlpReceiver(server="grpc", signals=ALL),
        OtlpReceiver(server="http", signals=ALL),
        http={"max_message_size": LIMIT, **options.pop("http", {})},
        **options,
    )


# ---- success


@pytest.mark.parametrize("name", ALL)
def test_grpc_success_is_a_response_without_partial_success(name: str) -> None:
    signal = SIGNALS[name]
    request = encoded(made(signal, 5), PROTOBUF)
    with serving_all() as serving:
        with grpc.insecure_channel(serving.grpc_address) as channel:
            for compression in (grpc.Compression.NoCompression, grpc.Compression.Gzip, grpc.Compression.Deflate):
                reply = channel.unary_unary(signal.method)(request, timeout=60, compression=compression)
                assert not signal.response.FromString(reply).HasField("partial_success")
        assert [each.data for each in serving.events] == [request] * 3
        assert {each.type for each in serving.events} == {signal.type}
        assert {each.content_type for each in serving.events} == {f"{PROTOBUF}; proto=otlp.{name}"}


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "identity": bytes,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": lambda body: bytes(pyarrow.Codec("zstd").compress(body, asbytes=True)),
}


@pytest.mark.parametrize("name", ALL)
def test_http_success_is_200_with_a_response_in_the_encoding_of_the_request(name: str) -> None:
    signal = SIGNALS[name]
    with serving_all() as serving:
        for media_type in (PROTOBUF, JSON):
            body = encoded(made(signal, 5), media_type)
            for packing, pack in PACKED.items():
                headers = {"Content-Type": media_type} | ({"Content-Encoding": packing} if packing else {})
                status, answer, got = send(serving, "POST", signal.path, pack(body), headers)
                assert (status, got["content-type"]) == (200, media_type)
                assert not response_of(signal, answer, media_type).HasField("partial_success")
                event = serving.events[-1]
                assert (event.data, event.content_type) == (body, f"{media_type}; proto=otlp.{name}")
            body = encoded(signal.request(), media_type)
            empty = b"{}" if media_type == JSON else b""
            assert send(serving, "POST", signal.path, body, {"Content-Type": media_type})[:2] == (200, empty)
        assert len(serving.events) == 2 * (len(PACKED) + 1)


# ---- failures: always a google.rpc.Status in the encoding of the request

FULL = Full("consumer 'slow' has not acked")
#: A failure: how the request differs, the status, the code of google.rpc.Code, and a header.
FAILURES: dict[str, tuple[dict[str, Any], int, int, tuple[str, str] | None]] = {
    "malformed": ({"body": b"\x0a\xff"}, 400, 3, None),
    "malformed compression": ({"headers": {"Content-Encoding": "gzip"}}, 400, 3, None),
    "malformed zstd": ({"headers": {"Content-Encoding": "zstd"}}, 400, 3, None),
    "truncated zstd": (
        {"body": PACKED["zstd"](b"a" * 500)[:-4], "headers": {"Content-Encoding": "zstd"}},
        400,
        3,
        None,
    ),
    "empty zstd": ({"body": b"", "headers": {"Content-Encoding": "zstd"}}, 400, 3, None),
    "unknown compression": ({"headers": {"Content-Encoding": "br"}}, 415, 3, ("accept-encoding", "gzip, zstd")),
    "too large": ({"body": b"a" * (LIMIT + 1)}, 413, 3, None),
    "zstd bomb": (
        {"body": PACKED["zstd"](bytes(80_000_000)), "headers": {"Content-Encoding": "zstd"}},
        413,
        3,
        None,
    ),
    "method GET": ({"method": "GET", "body": None}, 405, 12, ("allow", "POST")),
    "method PUT": ({"method": "PUT"}, 405, 12, ("allow", "POST")),
    "no token": ({"token": "secret"}, 401, 16, ("www-authenticate", "Bearer")),
    "wrong token": (
        {"token": "secret", "headers": {"Authorization": "Bearer x"}},
        401,
        16,
        ("www-authenticate", "Bearer"),
    ),
    "full": ({"failure": FULL}, 429, 8, ("retry-after", "1")),
    "stopping": ({"failure": mmapqueue.Closed("stopping")}, 503, 14, ("retry-after", "1")),
    "no space": ({"failure": mmapqueue.MmapQueueError("no space left")}, 503, 14, ("retry-after", "1")),
    "a bug": ({"failure": KeyError("x")}, 500, 13, None),
}


@pytest.mark.parametrize("case", FAILURES)
def test_http_failures(case: str) -> None:
    differs, expected, code, header = FAILURES[case]
    signal = SIGNALS["logs"]
    options = {"http": {"bearer_token": differs["token"]}} if "token" in differs else {}
    with serving_all(**options) as serving:
        for media_type in (PROTOBUF, JSON):
            body = differs.get("body", encoded(made(signal, 5), media_type))
            headers = {"Content-Type": media_type, **differs.get("headers", {})}
            if "failure" in differs:
                serving.inbox.failures.append(differs["failure"])
            status, answer, got = send(serving, differs.get("method", "POST"), signal.path, body, headers)
            assert (status, got["content-type"]) == (expected, media_type)
            found, message = status_of(answer, media_type)
            assert found == code
            assert message
            if header is not None:
                assert got[header[0]] == header[1]
            # Only these say that a client may send the request again.
            assert ("retry-after" in got) == (status in (429, 503))
        assert not serving.inbox.records


def test_http_other_media_types_are_refused() -> None:
    with serving_all() as serving:
        for media_type in ("text/plain", "application/xml", ""):
            status, answer, _ = send(serving, "POST", "/v1/logs", b"", {"Content-Type": media_type})
            assert (status, Status.FromString(answer).code) == (415, 3)


GRPC_FAILURES: dict[str, tuple[Any, grpc.StatusCode, bool]] = {
    "full": (FULL, grpc.StatusCode.RESOURCE_EXHAUSTED, True),
    "stopping": (mmapqueue.Closed("stopping"), grpc.StatusCode.UNAVAILABLE, False),
    "no space": (mmapqueue.MmapQueueError("no space left"), grpc.StatusCode.UNAVAILABLE, False),
    "too large": (mmapqueue.TooLarge("5 bytes"), grpc.StatusCode.INVALID_ARGUMENT, False),
    "a bug": (KeyError("x"), grpc.StatusCode.INTERNAL, False),
}


@pytest.mark.parametrize("case", GRPC_FAILURES)
def test_grpc_failures(case: str) -> None:
    failure, code, retries = GRPC_FAILURES[case]
    signal = SIGNALS["logs"]
    with serving_all() as serving:
        serving.inbox.failures.append(failure)
        with grpc.insecure_channel(serving.grpc_address) as channel, pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary(signal.method)(encoded(made(signal, 5), PROTOBUF), timeout=60)
        assert caught.value.code() == code
        # RESOURCE_EXHAUSTED may be sent again only if its details have a RetryInfo.
        details = dict(caught.value.trailing_metadata()).get("grpc-status-details-bin", b"")
        assert (b"google.rpc.RetryInfo" in details) == retries


# ---- partial success


@pytest.mark.parametrize("protocol", ["grpc", PROTOBUF, JSON])
@pytest.mark.parametrize("name", ALL)
def test_records_that_are_too_large_are_left_out_and_the_client_is_told(name: str, protocol: str) -> None:
    signal = SIGNALS[name]
    server = "grpc" if protocol == "grpc" else "http"
    media_type = JSON if protocol == JSON else PROTOBUF
    request, left = made(signal, 10, 5000, 900, 6000, 20), made(signal, 10, 900, 20)
    with Serving(OtlpReceiver(server=server, signals=ALL, max_record_size=2000)) as serving:

        def export(given: Any) -> Any:
            body = encoded(given, media_type)
            if protocol == "grpc":
                with grpc.insecure_channel(serving.grpc_address) as channel:
                    return signal.response.FromString(channel.unary_unary(signal.method)(body, timeout=60))
            status, answer, _ = send(serving, "POST", signal.path, body, {"Content-Type": media_type})
            assert status == 200, answer
            return response_of(signal, answer, media_type)

        partial = export(request).partial_success
        assert getattr(partial, signal.rejected) == 2
        assert partial.error_message == "2 records have more than max_record_size = 2000 bytes"
        assert serving.host.counted == {"record_too_large": 2}
        assert not export(left).HasField("partial_success")
        first, second = serving.events
        assert second.data == encoded(left, media_type)
        if media_type == JSON:
            kept = json_format.Parse(first.data, signal.request())
        else:
            kept = signal.request.FromString(first.data)
        assert _sizes(kept) == _sizes(left)


def _sizes(message: Any) -> list[int]:
    """The lengths of the texts in a message of which each record has one."""
    found = []
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for each in value if field.is_repeated else (value,):
                found += _sizes(each)
        elif field.type in (field.TYPE_STRING, field.TYPE_BYTES) and len(value) > 1:
            found.append(len(value))
    return found


def test_a_request_whose_records_are_all_too_large_is_refused() -> None:
    signal = SIGNALS["logs"]
    with Serving(
        OtlpReceiver(server="http", max_record_size=100), OtlpReceiver(server="grpc", max_record_size=100)
    ) as serving:
        for media_type in (PROTOBUF, JSON):
            body = encoded(made(signal, 200, 300), media_type)
            status, answer, _ = send(serving, "POST", signal.path, body, {"Content-Type": media_type})
            assert (status, status_of(answer, media_type)) == (
                413,
                (3, "all 2 records have more than max_record_size = 100 bytes"),
            )
        with grpc.insecure_channel(serving.grpc_address) as channel, pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary(signal.method)(encoded(made(signal, 200), PROTOBUF), timeout=60)
        assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        assert not serving.inbox.records
        assert serving.host.counted == {"record_too_large": 5}


def test_json_without_its_large_records_keeps_numbers_and_texts() -> None:
    kept = (
        '{"timeUnixNano":18446744073709551615,"body":{"stringValue":"\\ud800 ä"},'
        '"attributes":[{"key":"d","value":{"doubleValue":0.1}}],"unknown":[1e3]}'
    )
    large = json.dumps({"body": {"stringValue": "y" * 300}})
    document = f'{{"resourceLogs":[{{"scopeLogs":[{{"logRecords":[{large},{kept}]}}]}}],"other":1}}'
    with Serving(OtlpReceiver(server="http", max_record_size=250)) as serving:
        status, answer, _ = send(serving, "POST", "/v1/logs", document.encode(), {"Content-Type": JSON})
        assert (status, json.loads(answer)["partialSuccess"]["rejectedLogRecords"]) == (200, "1")
        (event,) = serving.events
        found = json.loads(event.data.decode(errors="surrogatepass"))
        assert found["other"] == 1
        assert found["resourceLogs"][0]["scopeLogs"][0]["logRecords"] == [json.loads(kept)]
        # An object with a member twice, or a number beyond any double, cannot be written again.
        for member in ('"a":1,"a":2', '"a":1e999'):
            again = document.replace('"other":1', member).encode()
            assert send(serving, "POST", "/v1/logs", again, {"Content-Type": JSON})[0] == 400
        assert len(serving.events) == 1


@pytest.mark.parametrize("media_type", [PROTOBUF, JSON])
def test_a_warning_is_a_partial_success_that_rejects_nothing(media_type: str) -> None:
    body = b'{"resource_logs":[]}' if media_type == JSON else b"\x7a\x01a"
    with serving_all() as serving:
        if media_type == JSON:
            body = body.replace(b"[]", b"[{}]")
        status, answer, _ = send(serving, "POST", "/v1/logs", body, {"Content-Type": media_type})
        assert status == 200
        response = response_of(SIGNALS["logs"], answer, media_type)
        assert response.partial_success.rejected_log_records == 0
        assert response.partial_success.error_message.startswith("the request contains no OTLP logs")
        assert len(serving.events) == 1


def test_profiles_are_taken_only_if_they_are_named() -> None:
    signal = SIGNALS["profiles"]
    with Serving(OtlpReceiver(server="grpc"), OtlpReceiver(server="http")) as serving:
        assert send(serving, "POST", signal.path, b"", {"Content-Type": PROTOBUF})[0] == 404
        with grpc.insecure_channel(serving.grpc_address) as channel, pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary(signal.method)(b"", timeout=60)
        assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED


def test_identities_in_json_are_hexadecimal_in_any_case() -> None:
    ids = {"traceId": "5B8EFFF798038103D269B633813FC60C", "spanId": "eee19b7ec3c1b174"}
    document = {"resourceSpans": [{"scopeSpans": [{"spans": [{**ids, "name": "one"}]}]}]}
    with serving_all() as serving:
        body = json.dumps(document).encode()
        assert send(serving, "POST", "/v1/traces", body, {"Content-Type": JSON})[0] == 200
        wrong = body.replace(ids["spanId"].encode(), base64.b64encode(b"eightbyt"))
        assert send(serving, "POST", "/v1/traces", wrong, {"Content-Type": JSON})[0] == 400


# ---- browsers

PAGE = "https://shop.example"
ASKS = {"Origin": PAGE, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}


@pytest.mark.parametrize(
    ("origins", "origin", "allowed"),
    [
        (["https://shop.example"], PAGE, True),
        (["https://other.example", "https://SHOP.example"], PAGE, True),
        (["https://*.example"], PAGE, True),
        (["*"], PAGE, True),
        (["*"], "null", True),
        (["https://*.shop.example"], PAGE, False),
        (["http://shop.example"], PAGE, False),
        (["https://shop.example"], "https://shop.example.evil", False),
        (["https://*.example"], "https://evil/.example", False),
    ],
)
def test_a_browser_asks_before_it_sends(origins: list[str], origin: str, *, allowed: bool) -> None:
    cors = {"origins": origins, "max_age": "10m"}
    with serving_all(http={"cors": cors, "bearer_token": "secret"}) as serving:
        # The question has no token.
        status, _, got = send(serving, "OPTIONS", "/v1/logs", None, {**ASKS, "Origin": origin})
        assert status == (204 if allowed else 403)
        assert got.get("access-control-allow-origin") == (origin if allowed else None)
        assert got["vary"] == "Origin"
        if allowed:
            assert got["access-control-allow-methods"] == "POST"
            assert got["access-control-allow-headers"] == "Authorization, Content-Encoding, Content-Type"
            assert got["access-control-max-age"] == "600"
        headers = {"Content-Type": JSON, "Origin": origin, "Authorization": "Bearer secret"}
        status, _, got = send(serving, "POST", "/v1/logs", b"{}", headers)
        # The browser keeps the answer from the page; another client than a browser may send any origin.
        assert (status, got.get("access-control-allow-origin")) == (200, origin if allowed else None)
        # A page can read errors, too.
        status, _, got = send(serving, "POST", "/v1/logs", b"{}", {**headers, "Authorization": "no"})
        assert (status, got.get("access-control-allow-origin")) == (401, origin if allowed else None)


def test_what_a_browser_may_not_ask() -> None:
    with serving_all(http={"cors": {"origins": [PAGE], "headers": ["Idempotency-Key"]}}) as serving:
        assert send(serving, "OPTIONS", "/v1/logs", None, {**ASKS, "Access-Control-Request-Method": "PUT"})[0] == 403
        assert send(serving, "OPTIONS", "/v1/logs", None, {"Origin": PAGE})[0] == 405
        assert send(serving, "OPTIONS", "/none", None, ASKS)[0] == 404
        got = send(serving, "OPTIONS", "/v1/logs", None, ASKS)[2]
        assert got["access-control-allow-headers"] == "Idempotency-Key"
    with serving_all() as serving:
        status, _, got = send(serving, "OPTIONS", "/v1/logs", None, ASKS)
        assert status == 405
        assert not [each for each in got if each.startswith("access-control")]


@pytest.mark.parametrize(
    "cors",
    [
        {"origins": []},
        {"origins": ["shop.example"]},
        {"origins": ["https://a/b"]},
        {"origins": ["*"], "headers": ["a b"]},
    ],
)
def test_origins_that_are_none_are_refused(cors: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="cors"):
        serving_all(http={"cors": cors})
    with pytest.raises(ValueError, match="no effect with type: grpc"):
        serving_all(grpc={"cors": {"origins": ["*"]}})


def test_a_request_larger_than_the_queue_takes_is_refused() -> None:
    signal = SIGNALS["logs"]
    with serving_all(inbox=FakeInbox(max_event_size=1000)) as serving:
        body = encoded(made(signal, 1000), PROTOBUF)
        status, answer, _ = send(serving, "POST", signal.path, body, {"Content-Type": PROTOBUF})
        assert (status, Status.FromString(answer).code) == (413, 3)
