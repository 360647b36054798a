"""Prometheus' remote write: requests as its senders make them, and what they are answered."""

import http.client
from typing import Any

import pyarrow
import pytest

import mmapqueue
from mmapqueue.pipeline import EventType
from mmapqueue.pipeline.gather.inbox import Full
from mmapqueue.pipeline.gather.receivers.remote_write import RemoteWriteReceiver
from mmapqueue.pipeline.gather.receivers.remote_write_pb2 import Request, WriteRequest

from .serving import Serving

PATH = "/api/v1/write"
PROTOBUF = "application/x-protobuf"
FIRST = f"{PROTOBUF};proto=prometheus.WriteRequest"
SECOND = f"{PROTOBUF};proto=io.prometheus.write.v2.Request"


def packed(body: bytes) -> bytes:
    return bytes(pyarrow.Codec("snappy").compress(body, asbytes=True))


def post(
    serving: Serving, body: bytes, content_type: str = FIRST, encoding: str = "snappy", **headers: str
) -> tuple[int, bytes, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", serving.http.port, timeout=60)
    try:
        given = {"Content-Type": content_type, "Content-Encoding": encoding, "User-Agent": "Prometheus/3"}
        if not encoding:
            del given["Content-Encoding"]
        given |= {"X-Prometheus-Remote-Write-Version": "0.1.0"}
        connection.request("POST", PATH, body, given | {key.replace("_", "-"): value for key, value in headers.items()})
        reply = connection.getresponse()
        return reply.status, reply.read(), {name.lower(): value for name, value in reply.getheaders()}
    finally:
        connection.close()


def first(series: int = 1) -> bytes:
    request = WriteRequest()
    for number in range(series):
        made = request.timeseries.add()
        made.labels.add(name="__name__", value="up")
        made.labels.add(name="instance", value=str(number))
        made.samples.add(value=1, timestamp=1_760_000_000_000)
    return bytes(request.SerializeToString())


def second() -> bytes:
    request = Request(symbols=["", "__name__", "up", "trace_id", "x"])
    made = request.timeseries.add(labels_refs=[1, 2])
    made.samples.add(value=1, timestamp=1_760_000_000_000)
    made.samples.add(value=2, timestamp=1_760_000_001_000)
    made.histograms.add(count_int=3, sum=4, timestamp=1_760_000_000_000)
    made.exemplars.add(labels_refs=[3, 4], value=1)
    return bytes(request.SerializeToString())


@pytest.mark.parametrize(
    ("content_type", "proto", "body", "written"),
    [
        (PROTOBUF, "prometheus.WriteRequest", first(3), (3, 0, 0)),
        (FIRST, "prometheus.WriteRequest", first(), (1, 0, 0)),
        (SECOND, "io.prometheus.write.v2.Request", second(), (2, 1, 1)),
        (FIRST, "prometheus.WriteRequest", b"", (0, 0, 0)),
    ],
)
def test_a_request_is_stored_without_its_compression(
    content_type: str, proto: str, body: bytes, written: tuple[int, int, int]
) -> None:
    with Serving(RemoteWriteReceiver(server="http")) as serving:
        status, answer, headers = post(serving, packed(body), content_type)
        assert (status, answer) == (204, b"")
        kinds = ("samples", "histograms", "exemplars")
        assert tuple(int(headers[f"x-prometheus-remote-write-{each}-written"]) for each in kinds) == written
        (event,) = serving.events
        assert (event.data, event.type) == (body, EventType.METRICS)
        assert event.content_type == f"{PROTOBUF}; proto={proto}"
        assert event.source.startswith("remote-write://127.0.0.1:")


def without_labels() -> bytes:
    request = WriteRequest()
    request.timeseries.add().samples.add(value=1)
    return bytes(request.SerializeToString())


def numbered(*references: int) -> bytes:
    return bytes(Request(symbols=["", "a"], timeseries=[{"labels_refs": references}]).SerializeToString())


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        (FIRST, b"\x0a\xff"),
        (FIRST, without_labels()),
        (FIRST, second()),
        (FIRST, b"\x0a\x0a\x0a\x08\x0a\x01\xff\x12\x03abc"),
        (SECOND, first()),
        (SECOND, numbered()),
        (SECOND, numbered(1)),
        (SECOND, numbered(0, 2)),
    ],
)
def test_what_can_never_be_stored_is_400(content_type: str, body: bytes) -> None:
    with Serving(RemoteWriteReceiver(server="http")) as serving:
        status, answer, headers = post(serving, packed(body), content_type)
        assert (status, answer[:22]) == (400, b"the request is not " + (b"pro" if content_type == FIRST else b"io."))
        assert "retry-after" not in headers
        assert not serving.inbox.records
        assert serving.host.counted == {"malformed": 1}


def test_bodies_and_types_that_are_refused() -> None:
    with Serving(RemoteWriteReceiver(server="http"), http={"max_message_size": 10_000}) as serving:
        body = packed(first())
        assert post(serving, b"\xff" * 9)[0] == 400
        assert post(serving, b"")[0] == 400
        assert post(serving, body[:-3])[0] == 400
        assert post(serving, b"\x7f" + body[1:])[0] == 400
        assert post(serving, body, "application/json")[0] == 415
        assert post(serving, body, f"{PROTOBUF};proto=prometheus.Other")[0] == 415
        assert post(serving, body, encoding="br")[0] == 415
        # Not decompressed beyond the limit, whatever the block says of its size.
        assert post(serving, packed(bytes(10_001)))[0] == 413
        assert post(serving, b"\xff\xff\xff\xff\x0f" + body[1:])[0] == 413
        assert not serving.inbox.records
        # Some clients of version 1 send snappy without saying so.
        assert post(serving, body, PROTOBUF, encoding="")[0] == 204
        assert post(serving, first(), encoding="")[0] == 400
        assert serving.inbox.max_event_size < 2_000_000
        assert post(serving, packed(bytes(2_000_000)), encoding="")[0] == 413
        # Other compressions of the server are taken, too.
        assert post(serving, first(), encoding="identity")[0] == 204


@pytest.mark.parametrize("error", [Full("no consumer"), mmapqueue.Closed("stopping"), mmapqueue.MmapQueueError("disk")])
def test_senders_are_asked_to_repeat(error: Exception) -> None:
    """By 503: senders drop a request after 429, unless they are configured otherwise."""
    with Serving(RemoteWriteReceiver(server="http")) as serving:
        serving.inbox.failures.append(error)
        status, _, headers = post(serving, packed(first()))
        assert (status, headers["retry-after"]) == (503, "1")
        assert not serving.inbox.records
        assert post(serving, packed(first()))[0] == 204


def test_a_request_with_an_idempotency_key_has_an_identity() -> None:
    keys: list[Any] = []
    with Serving(RemoteWriteReceiver(server="http", path="/write")) as serving:
        put = serving.inbox.put

        async def noting(*records: bytes, key: bytes | None = None) -> None:
            keys.append(key)
            await put(*records, key=key)

        serving.inbox.put = noting  # type: ignore[method-assign]
        connection = http.client.HTTPConnection("127.0.0.1", serving.http.port, timeout=60)
        for key in ("a", "a", "b"):
            headers = {"Content-Type": FIRST, "Content-Encoding": "snappy", "Idempotency-Key": key}
            connection.request("POST", "/write", packed(first()), headers)
            assert connection.getresponse().read() == b""
        connection.close()
    assert keys[0] == keys[1] != keys[2]
