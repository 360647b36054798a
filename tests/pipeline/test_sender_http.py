"""The HTTP sender: what receivers get, and what their answers mean."""

import gzip
import json
import threading
from datetime import datetime, timezone

import pytest

from mmapqueue.pipeline.process.senders._delivery import Undelivered
from mmapqueue.pipeline.process.senders._http import retry_after
from mmapqueue.pipeline.process.senders.http import HttpSender, cloud_event
from pipeline.receiving import http_receiver
from pipeline.sending import failed, row, sent


@pytest.mark.parametrize(
    ("status", "retryable"),
    [
        (429, True),
        (502, True),
        (503, True),
        (504, True),
        (500, True),
        (302, True),
        (401, True),
        (403, True),
        (407, True),
        (408, True),
        (425, True),
        (400, False),
        (404, False),
        (413, False),
        (422, False),
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


def test_what_a_receiver_answers_is_one_line_without_control_characters() -> None:
    with http_receiver((400, {}, b"no\n2026-01-01 INFO all is well\r\x1b[2J \xe2\x80\xa8 \xc3\xbc")) as receiver:
        url = receiver.url.replace("://", "://user:s3cret@")
        error = failed(HttpSender(name="s", url=url), row(0))
    assert str(error) == error.reason
    assert error.reason.endswith(r": no\n2026-01-01 INFO all is well\r\x1b[2J \u2028 ü")
    assert error.reason.isprintable()
    assert "s3cret" not in error.reason


def test_a_url_that_is_none_refuses_no_record() -> None:
    sender = HttpSender(name="s", url="http://h").model_copy(update={"url": "http://h:99999/x"})
    error = failed(sender, row(0))
    assert error.retryable
    assert error.reason == "POST http://h:99999/x: the URL is invalid: Port out of range 0-65535"


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
    for unreadable in ("soon", "²", "Sat, 31 Jan 99999999999 12:00:30 GMT"):
        assert retry_after(unreadable, now) == 0
    # No longer than a wait may be.
    assert Undelivered("503", retryable=True, retry_after=retry_after("9" * 400)).retry_after <= threading.TIMEOUT_MAX
    assert retry_after(None, now) == 0
