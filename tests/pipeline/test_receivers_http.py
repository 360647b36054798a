"""The HTTP receiver: NDJSON, CloudEvents, anything else."""

import contextlib
import http.client
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from mmapqueue.pipeline import EventType
from mmapqueue.pipeline.gather.inbox import Full
from mmapqueue.pipeline.gather.receivers.http import HttpReceiver

from .serving import Serving

STRUCTURED = "application/cloudevents+json"
CLOUD_EVENT = {"specversion": "1.0", "id": "A-1", "source": "/shop", "type": "sold", "data": {"price": 3}}


def post(serving: Serving, path: str, data: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", serving.http.port, timeout=30)
    with contextlib.closing(connection):
        connection.request("POST", path, data, headers)
        reply = connection.getresponse()
        return reply.status, reply.read()


def test_a_request_is_an_event() -> None:
    data = b'{"a": 1}\n{"a": 2}\n'
    receiver = HttpReceiver(server="http", path="/logs", id_header="Idempotency-Key", headers=("X-Tenant", "X-None"))
    with Serving(receiver) as serving:
        headers = {"Content-Type": "application/x-ndjson", "Idempotency-Key": "k1", "X-Tenant": "a"}
        assert post(serving, "/logs", data, headers) == (204, b"")
        (event,) = serving.events
    assert (event.data, event.content_type, event.id) == (data, "application/x-ndjson", "k1")
    assert (event.type, event.name, dict(event.meta)) == (EventType.LOGGING, "/logs", {"x-tenant": "a"})
    assert event.source.startswith("http://127.0.0.1:")


def test_media_types_and_event_types() -> None:
    receiver = HttpReceiver(server="http", path="/", event="metrics", content_types=("Text/Plain",))
    with Serving(receiver) as serving:
        assert post(serving, "/", b"a 1", {"Content-Type": "text/plain; version=0.0.4"})[0] == 204
        assert post(serving, "/", b"a 1", {"Content-Type": "text/html"})[0] == 415
        assert post(serving, "/", b"a 1", {})[0] == 415
        (event,) = serving.events
    assert (event.type, event.content_type) == (EventType.METRICS, "text/plain; version=0.0.4")


def test_structured_cloud_events() -> None:
    sent = json.dumps(CLOUD_EVENT).encode()
    with Serving(HttpReceiver(server="http", event="event")) as serving:
        assert post(serving, "/", sent, {"Content-Type": f"{STRUCTURED}; charset=utf-8"})[0] == 204
        (event,) = serving.events
        assert (event.data, event.id, event.type) == (sent, "A-1", EventType.EVENT)
        for garbled in (b"{", b"[]", b"{}", json.dumps(CLOUD_EVENT | {"id": ""}).encode(), b"\xff"):
            status, body = post(serving, "/", garbled, {"Content-Type": STRUCTURED})
            assert (status, b"CloudEvent" in body) == (400, True)
        assert len(serving.inbox.records) == 1


def test_batches_of_cloud_events_are_kept() -> None:
    sent = json.dumps([CLOUD_EVENT, CLOUD_EVENT]).encode()
    with Serving(HttpReceiver(server="http")) as serving:
        assert post(serving, "/", sent, {"Content-Type": "application/cloudevents-batch+json"})[0] == 204
        (event,) = serving.events
    assert (event.data, event.id, event.content_type) == (sent, "", "application/cloudevents-batch+json")


def test_binary_cloud_events() -> None:
    headers = {
        "Content-Type": "image/png",
        "CE-specversion": "1.0",
        "ce-id": "B-2",
        "ce-source": "/shop",
        "ce-type": "t",
    }
    with Serving(HttpReceiver(server="http")) as serving:
        assert post(serving, "/", b"\x89PNG", headers | {"ce-subject": "Euro%20%E2%82%AC"})[0] == 204
        (event,) = serving.events
        attributes = {"ce-specversion": "1.0", "ce-id": "B-2", "ce-source": "/shop", "ce-type": "t"}
        assert dict(event.meta) == attributes | {"ce-subject": "Euro €"}
        assert (event.data, event.id, event.content_type) == (b"\x89PNG", "B-2", "image/png")
        del headers["ce-source"]
        status, body = post(serving, "/", b"", headers)
        assert (status, body) == (400, b"a CloudEvent needs the header ce-source\n")


def test_headers_that_are_no_text_are_refused() -> None:
    with Serving(HttpReceiver(server="http")) as serving:
        status, body = post(serving, "/", b"x", {"Content-Type": "text/\xff"})
        assert (status, body) == (400, b"a header is not UTF-8\n")
        assert not serving.inbox.records


def test_a_full_queue_is_429() -> None:
    with Serving(HttpReceiver(server="http")) as serving:
        serving.inbox.failures.append(Full("consumer 'slow' has not acked"))
        status, body = post(serving, "/", b"x", {})
        assert (status, b"'slow'" in body) == (429, True)
        assert post(serving, "/", b"x", {})[0] == 204
        assert len(serving.inbox.records) == 1


@pytest.mark.parametrize("size", [100, 3_000_000])
def test_curl(tmp_path: Path, size: int) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    (tmp_path / "body").write_bytes(b"x" * size)
    with Serving(HttpReceiver(server="http")) as serving:
        serving.inbox.max_event_size = 4 << 20
        command = ["curl", "--silent", "--show-error", "--fail", "--write-out", "%{http_code}"]
        options = ["--header", "Content-Type: text/plain", "--data-binary", f"@{tmp_path / 'body'}", serving.url + "/"]
        done = subprocess.run([*command, *options], check=True, capture_output=True, timeout=60)
        assert done.stdout == b"204"
        assert [each.data for each in serving.events] == [b"x" * size]
