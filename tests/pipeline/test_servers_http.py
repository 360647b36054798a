"""The HTTP server: limits, errors, TLS and tokens."""

import contextlib
import gzip
import http.client
import shutil
import socket
import ssl
import zlib
from pathlib import Path
from typing import Any

import pytest
from aiohttp.http_exceptions import TransferEncodingError

import mmapqueue
from mmapqueue.pipeline.config import Server
from mmapqueue.pipeline.gather.http_server import HttpServer
from mmapqueue.pipeline.gather.wire import Malformed
from mmapqueue.pipeline.plugins import HttpError, HttpReply, HttpRequest

from .echoing import Echoing, full
from .serving import Serving, certificates, inflated


def test_http_takes_and_returns_bytes() -> None:
    with Echoing() as serving:
        status, body, headers = serving.post(b"\xff\0", Content_Type="application/x; a=b")
        assert (status, body, headers["content-type"]) == (200, b"\xff\0", "application/x; a=b")
        assert serving.requests[0].media_type == "application/x"
        assert serving.requests[0].peer.startswith("127.0.0.1:")


def test_http_answers_do_not_say_what_the_server_is_made_with() -> None:
    with Echoing() as serving:
        serving.raised = [HttpError(418, "teapot"), ValueError("bug")]
        answers = [serving.post(path=path) for path in ("/echo", "/echo", "/echo", "/none")]
    assert [(status, headers["server"]) for status, _, headers in answers] == [
        (status, "mmapqueue") for status in (418, 500, 200, 404)
    ]


@pytest.mark.parametrize(
    ("encoding", "encode"),
    [
        ("identity", bytes),
        ("gzip", gzip.compress),
        ("GZIP", lambda data: gzip.compress(data[:10]) + gzip.compress(data[10:])),
        ("deflate", zlib.compress),
        ("deflate", lambda data: zlib.compress(data)[2:-4]),
    ],
    ids=["identity", "gzip", "gzip in two members", "deflate", "deflate without header"],
)
def test_http_decompresses(encoding: str, encode: Any) -> None:
    data = bytes(range(256)) * 1000
    with Echoing() as serving:
        assert serving.post(encode(data), Content_Encoding=encoding)[:2] == (200, data)


def test_http_small_members_of_gzip_are_not_copied_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    given = inflated(monkeypatch)
    members = 5000
    with Echoing() as serving:
        assert serving.post(gzip.compress(b"x") * members, Content_Encoding="gzip")[:2] == (200, b"x" * members)
    # Of all that had arrived, these were tens of KB at each member.
    assert sum(given) < members * 4097


def test_http_chunked_bodies_and_expect_continue() -> None:
    with Echoing() as serving, socket.create_connection(("127.0.0.1", serving.http.port), 30) as connection:
        connection.sendall(
            b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
        )
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"3\r\none\r\n2\r\ntw\r\n0\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 200 OK\r\n")
        assert serving.requests[0].body == b"onetw"


def test_http_limits_bodies_also_when_they_are_compressed() -> None:
    with Echoing(http={"max_message_size": 100_000}) as serving:
        limit = b"a" * 100_000
        assert serving.post(limit)[:2] == (200, limit)
        assert serving.post(gzip.compress(limit), Content_Encoding="gzip")[:2] == (200, limit)
        assert serving.post(limit + b"a")[0] == 413
        assert serving.post(gzip.compress(limit + b"a"), Content_Encoding="gzip")[0] == 413
        bomb = gzip.compress(bytes(80_000_000))
        assert len(bomb) < 100_000
        assert serving.post(bomb, Content_Encoding="gzip")[0] == 413
        with socket.create_connection(("127.0.0.1", serving.http.port), 30) as connection:
            connection.sendall(b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            with contextlib.suppress(ConnectionError):
                for _ in range(20):
                    connection.sendall(b"2710\r\n" + b"a" * 10_000 + b"\r\n")
            assert connection.recv(1000).startswith(b"HTTP/1.1 413")
    assert len(serving.requests) == 2


def test_http_refuses_encodings_it_does_not_know_and_bodies_that_are_garbled() -> None:
    with Echoing() as serving:
        assert serving.post(b"x", Content_Encoding="br")[0] == 415
        status, body, _ = serving.post(b"no gzip at all", Content_Encoding="gzip")
        assert (status, body[:20]) == (400, b"the body is not gzip")
        status, body, _ = serving.post(gzip.compress(bytes(1000))[:-9], Content_Encoding="gzip")
        assert (status, body[:18]) == (400, b"the body is trunca")
    assert not serving.requests


def test_http_needs_a_length() -> None:
    with Echoing() as serving, socket.create_connection(("127.0.0.1", serving.http.port), 30) as connection:
        connection.sendall(b"POST /echo HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 411 Length Required\r\n")


@pytest.mark.parametrize(
    ("error", "status", "headers"),
    [
        (full(0.25), 429, {"retry-after": "1"}),
        (full(3.1), 429, {"retry-after": "4"}),
        (mmapqueue.TooLarge("5 bytes"), 413, {}),
        (Malformed("no message"), 400, {}),
        (mmapqueue.Closed("stopping"), 503, {"retry-after": "1"}),
        (mmapqueue.MmapQueueError("no space left"), 503, {"retry-after": "1"}),
        (TransferEncodingError("no size"), 400, {"connection": "close"}),
        (HttpError(418, "tea", headers={"Pot": "yes"}), 418, {"pot": "yes"}),
        (KeyError("a bug"), 500, {}),
    ],
)
def test_http_errors(error: Exception, status: int, headers: dict[str, str]) -> None:
    with Echoing() as serving:
        serving.raised = [error]
        found, body, sent = serving.post()
        assert (found, {key: sent.get(key) for key in headers}) == (status, headers)
        assert getattr(error, "message", str(error)) in body.decode()
        assert serving.post()[0] == 200


def test_http_unknown_paths_and_methods() -> None:
    with Echoing() as serving:
        assert serving.post(path="/nothing")[0] == 404
        connection = http.client.HTTPConnection("127.0.0.1", serving.http.port, timeout=30)
        with contextlib.closing(connection):
            connection.request("GET", "/echo")
            assert connection.getresponse().status == 405


def test_http_paths_are_registered_once_and_are_paths() -> None:
    server = HttpServer(Server(name="main", type="http", listen="127.0.0.1:0"))

    async def handle(_: HttpRequest) -> HttpReply:
        return HttpReply()

    server.post("/a", handle, owner="pipe a: receiver x")
    with pytest.raises(ValueError, match="pipe a: receiver x already receives /a; pipe b: receiver y needs"):
        server.post("/a", handle, owner="pipe b: receiver y")
    for path in ("a", "/{b}", "/a?b"):
        with pytest.raises(ValueError, match="is not a path"):
            server.post(path, handle)


def test_http_token() -> None:
    with Echoing(http={"bearer_token": "s3cret"}) as serving:
        assert serving.post(Authorization="Bearer s3cret")[0] == 200
        status, _, headers = serving.post(Authorization="Bearer nothing")
        assert (status, headers["www-authenticate"]) == (401, "Bearer")
        assert serving.post()[0] == 401
    assert len(serving.requests) == 1


def test_http_connections_above_the_limit_get_503() -> None:
    with Echoing(http={"max_connections": 1}) as serving:
        first = http.client.HTTPConnection("127.0.0.1", serving.http.port, timeout=30)
        with contextlib.closing(first):
            first.request("POST", "/echo", b"x")
            assert first.getresponse().read() == b"x"
            assert serving.http.connections == 1
            status, body, headers = serving.post()
            assert (status, body, headers["retry-after"]) == (503, b"too many connections\n", "1")
            first.request("POST", "/echo", b"y")
            assert first.getresponse().read() == b"y"


def test_http_tls_and_client_certificates(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    files = certificates(tmp_path)
    tls = {"certificate": files["server.pem"], "key": files["server.key"], "client_ca": files["ca.pem"]}
    with Echoing(http={"tls": tls}) as serving:

        def post(context: ssl.SSLContext) -> int:
            connection = http.client.HTTPSConnection("127.0.0.1", serving.http.port, timeout=30, context=context)
            with contextlib.closing(connection):
                connection.request("POST", "/echo", b"x")
                return connection.getresponse().status

        context = ssl.create_default_context(cafile=str(files["ca.pem"]))
        with pytest.raises((ssl.SSLError, ConnectionError)):
            post(context)
        context.load_cert_chain(files["client.pem"], files["client.key"])
        assert post(context) == 200


def test_certificates_that_are_none_are_errors(tmp_path: Path) -> None:
    (tmp_path / "no.pem").write_text("nothing")
    tls = {"certificate": tmp_path / "no.pem", "key": tmp_path / "no.pem"}
    words = r"tls\.certificate: '.*no\.pem' is not a PEM file with a certificate"
    with pytest.raises(mmapqueue.ConfigError, match=f"server http: {words}"), Serving(http={"tls": tls}):
        pass
    with pytest.raises(mmapqueue.ConfigError, match=f"server grpc: {words}"), Serving(grpc={"tls": tls}):
        pass


def test_a_client_that_goes_away_harms_nobody() -> None:
    with Echoing() as serving:
        for head in (
            b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf",
            b"POST /ec",
            b"PRI * HTTP/2",
        ):
            with socket.create_connection(("127.0.0.1", serving.http.port), 30) as connection:
                connection.sendall(head)
        for data in (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"garbage" * 100):
            with socket.create_connection(("127.0.0.1", serving.grpc.port), 30) as connection:
                connection.sendall(data)
        assert serving.post()[0] == 200
        assert serving.call() == b"x"
    assert len(serving.requests) == 1
