"""The gRPC and HTTP servers: limits, errors, TLS and tokens."""

import asyncio
import contextlib
import gzip
import http.client
import shutil
import socket
import ssl
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

import mmapqueue
from mmapqueue.pipeline.config import Server
from mmapqueue.pipeline.gather.grpc_server import Call, GrpcServer
from mmapqueue.pipeline.gather.http_server import HttpError, HttpReply, HttpRequest, HttpServer
from mmapqueue.pipeline.gather.inbox import Full
from mmapqueue.pipeline.gather.wire import Malformed

from .serving import Serving, certificates

ECHO = "/test.Service/Echo"
COUNT = "/test.Service/Count"


def full(seconds: float) -> Full:
    error = Full("consumer 'slow' has not acked")
    error.retry_after = seconds
    return error


class Echoing(Serving):
    """Servers that answer with what they get, after they raised what `raised` holds."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.raised: list[Exception] = []
        self.calls: list[Call] = []
        self.requests: list[HttpRequest] = []
        self.held: asyncio.Event | None = None
        self.received = asyncio.Event()
        self.grpc.unary(ECHO, self._echo)
        self.grpc.stream(COUNT, self._count)
        self.http.post("/echo", self._post)

    async def _answer(self) -> None:
        self.received.set()
        if self.held is not None:
            await self.held.wait()
        if self.raised:
            raise self.raised.pop(0)

    async def _echo(self, request: bytes, call: Call) -> bytes:
        self.calls.append(call)
        await self._answer()
        return request

    async def _count(self, messages: AsyncIterator[bytes], _: Call) -> bytes:
        total = [each async for each in messages]
        await self._answer()
        return b"%d" % len(total)

    async def _post(self, request: HttpRequest) -> HttpReply:
        self.requests.append(request)
        await self._answer()
        return HttpReply(body=request.body, content_type=request.content_type or "text/plain")

    def call(self, data: bytes = b"x", path: str = ECHO, **options: Any) -> bytes:
        with grpc.insecure_channel(self.grpc_address, options=[("grpc.max_send_message_length", -1)]) as channel:
            reply: bytes = channel.unary_unary(path)(data, timeout=30, **options)
            return reply

    def post(self, data: bytes = b"x", path: str = "/echo", **headers: str) -> tuple[int, bytes, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.http.port, timeout=30)
        with contextlib.closing(connection):
            connection.request("POST", path, data, {key.replace("_", "-"): value for key, value in headers.items()})
            with connection.getresponse() as reply:
                return reply.status, reply.read(), {key.lower(): value for key, value in reply.getheaders()}


def refused(serving: Echoing, data: bytes = b"x", **options: Any) -> Any:
    with pytest.raises(grpc.RpcError) as caught:
        serving.call(data, **options)
    return caught.value


# ---- gRPC


def test_grpc_takes_and_returns_bytes() -> None:
    with Echoing() as serving:
        assert serving.call(b"\xff\0 no message", metadata=(("tenant", "a"),)) == b"\xff\0 no message"
        with grpc.insecure_channel(serving.grpc_address) as channel:
            assert channel.stream_unary(COUNT)(iter([b"a", b"", b"c"]), timeout=30) == b"3"
            assert serving.grpc.connections == 1
    assert serving.calls[0].path == ECHO


@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_grpc_decompresses(compression: grpc.Compression) -> None:
    with Echoing() as serving:
        assert serving.call(b"a" * 100_000, compression=compression) == b"a" * 100_000


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_grpc_limits_messages_also_when_they_are_compressed(compression: grpc.Compression) -> None:
    with Echoing(grpc={"max_message_size": 100_000}) as serving:
        assert len(serving.call(b"a" * 100_000, compression=compression)) == 100_000
        error = refused(serving, b"a" * 100_001, compression=compression)
    assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert not [key for key, _ in error.trailing_metadata() if "retry" in key or "details" in key]
    assert len(serving.calls) == 1


def test_grpc_full_queue_is_resource_exhausted_with_retry_info() -> None:
    with Echoing() as serving:
        serving.raised = [full(1.25)]
        error = refused(serving)
    assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "'slow'" in error.details()
    trailing = dict(error.trailing_metadata())
    status = Status.FromString(trailing["grpc-status-details-bin"])
    info = RetryInfo()
    assert status.code == 8
    assert status.details[0].Unpack(info)
    assert info.retry_delay.ToNanoseconds() == 1_250_000_000
    assert RetryInfo.FromString(trailing["google.rpc.retryinfo-bin"]) == info


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (mmapqueue.TooLarge("5 bytes"), grpc.StatusCode.INVALID_ARGUMENT),
        (Malformed("no message"), grpc.StatusCode.INVALID_ARGUMENT),
        (mmapqueue.Closed("stopping"), grpc.StatusCode.UNAVAILABLE),
        (mmapqueue.MmapQueueError("no space left"), grpc.StatusCode.UNAVAILABLE),
        (KeyError("a bug"), grpc.StatusCode.INTERNAL),
    ],
)
@pytest.mark.parametrize("path", [ECHO, COUNT])
def test_grpc_errors(error: Exception, code: grpc.StatusCode, path: str) -> None:
    with Echoing() as serving:
        serving.raised = [error]
        caught = refused(serving, path=path)
        assert caught.code() == code
        assert str(error) in caught.details()
        assert serving.call() == b"x"


def test_grpc_unknown_methods_and_answers() -> None:
    with Echoing() as serving:
        assert refused(serving, path="/test.Service/Nothing").code() == grpc.StatusCode.UNIMPLEMENTED
        serving.grpc.answer("/test.Service/Known", b"!")
        serving.grpc.answer(ECHO, b"not this")
        assert serving.call(path="/test.Service/Known") == b"!"
        assert serving.call() == b"x"


def test_grpc_methods_are_registered_once() -> None:
    server = GrpcServer(Server(name="main", type="grpc", listen="127.0.0.1:0"))

    async def handle(request: bytes, _: Call) -> bytes:
        return request

    server.unary(ECHO, handle, owner="pipe a: receiver x")
    with pytest.raises(ValueError, match=r"server main: pipe b: receiver y takes /test.Service/Echo, which pipe a"):
        server.unary(ECHO, handle, owner="pipe b: receiver y")


def test_grpc_token() -> None:
    with Echoing(grpc={"bearer_token": "s3cret"}) as serving:
        assert serving.call(metadata=(("authorization", "Bearer s3cret"),)) == b"x"
        for metadata in ((), (("authorization", "Bearer s3cre"),), (("authorization", "s3cret"),)):
            for path in (ECHO, COUNT, "/test.Service/Nothing"):
                error = refused(serving, path=path, metadata=metadata)
                assert error.code() == grpc.StatusCode.UNAUTHENTICATED
    assert len(serving.calls) == 1


def test_grpc_connections_above_the_limit_are_refused() -> None:
    with Echoing(grpc={"max_connections": 2}) as serving, contextlib.ExitStack() as stack:
        for number in range(2):
            # Channels of equal options share a connection.
            options = [("grpc.primary_user_agent", str(number))]
            channel = stack.enter_context(grpc.insecure_channel(serving.grpc_address, options=options))
            assert channel.unary_unary(ECHO)(b"x", timeout=30) == b"x"
        assert serving.grpc.connections == 2
        assert refused(serving).code() == grpc.StatusCode.UNAVAILABLE


def test_grpc_tls_and_client_certificates(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    files = certificates(tmp_path)
    tls = {"certificate": files["server.pem"], "key": files["server.key"], "client_ca": files["ca.pem"]}
    with Echoing(grpc={"tls": tls}) as serving:
        ca = files["ca.pem"].read_bytes()
        known = grpc.ssl_channel_credentials(ca, files["client.key"].read_bytes(), files["client.pem"].read_bytes())
        with grpc.secure_channel(serving.grpc_address, known) as channel:
            assert channel.unary_unary(ECHO)(b"x", timeout=30) == b"x"
        with (
            grpc.secure_channel(serving.grpc_address, grpc.ssl_channel_credentials(ca)) as channel,
            pytest.raises(grpc.RpcError) as caught,
        ):
            channel.unary_unary(ECHO)(b"x", timeout=30)
        assert caught.value.code() == grpc.StatusCode.UNAVAILABLE


def test_an_address_in_use_is_an_error_that_names_the_server() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        for options in ({"grpc": {"listen": listen}}, {"http": {"listen": listen}}):
            name = next(iter(options))
            with pytest.raises(OSError, match=f"server {name}: cannot listen on {listen}"), Serving(**options):
                pass


def test_processes_share_ports() -> None:
    with Echoing(shared=True) as first:
        grpc_port, http_port = {"listen": first.grpc_address}, {"listen": f"127.0.0.1:{first.http.port}"}
        with Echoing(shared=True, grpc=grpc_port, http=http_port) as second:
            for number in range(40):
                options = [("grpc.primary_user_agent", str(number))]
                with grpc.insecure_channel(first.grpc_address, options=options) as channel:
                    assert channel.unary_unary(ECHO)(b"x", timeout=30) == b"x"
                assert first.post()[0] == 200
            assert len(first.calls) + len(second.calls) == len(first.requests) + len(second.requests) == 40
            # The system chooses by a hash of the client's port.
            assert first.calls
            assert second.calls
            assert first.requests
            assert second.requests
            first.stop()
            assert second.call() == b"x"
            assert second.post()[0] == 200


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_requests_in_flight_are_answered_at_the_stop(protocol: str) -> None:
    with Echoing() as serving:

        async def hold() -> None:
            serving.held = asyncio.Event()

        async def received() -> None:
            await serving.received.wait()

        async def release() -> None:
            assert serving.held is not None
            serving.held.set()

        serving.run(hold())
        ask = serving.call if protocol == "grpc" else lambda: serving.post()[1]

        async def ask_in_thread() -> bytes:
            return await asyncio.to_thread(ask)

        reply = serving.submit(ask_in_thread())
        serving.run(received())
        server = serving.grpc if protocol == "grpc" else serving.http
        stopping = serving.submit(server.stop(30))
        serving.run(release())
        assert reply.result(30) == b"x"
        stopping.result(30)
        with pytest.raises((grpc.RpcError, ConnectionError)):
            ask()


# ---- HTTP


def test_http_takes_and_returns_bytes() -> None:
    with Echoing() as serving:
        status, body, headers = serving.post(b"\xff\0", Content_Type="application/x; a=b")
        assert (status, body, headers["content-type"]) == (200, b"\xff\0", "application/x; a=b")
        assert serving.requests[0].media_type == "application/x"
        assert serving.requests[0].peer.startswith("127.0.0.1:")


@pytest.mark.parametrize(
    ("encoding", "encode"),
    [
        ("identity", bytes),
        ("gzip", gzip.compress),
        ("GZIP", lambda data: gzip.compress(data[:10]) + gzip.compress(data[10:])),
        ("deflate", zlib.compress),
        ("deflate", lambda data: zlib.compress(data, wbits=-zlib.MAX_WBITS)),
    ],
    ids=["identity", "gzip", "gzip in two members", "deflate", "deflate without header"],
)
def test_http_decompresses(encoding: str, encode: Any) -> None:
    data = bytes(range(256)) * 1000
    with Echoing() as serving:
        assert serving.post(encode(data), Content_Encoding=encoding)[:2] == (200, data)


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
        assert (status, body[:18]) == (400, b"the body is cut of")
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
        (HttpError(418, "tea", {"Pot": "yes"}), 418, {"pot": "yes"}),
        (KeyError("a bug"), 500, {}),
    ],
)
def test_http_errors(error: Exception, status: int, headers: dict[str, str]) -> None:
    with Echoing() as serving:
        serving.raised = [error]
        found, body, sent = serving.post()
        assert (found, {key: sent.get(key) for key in headers}) == (status, headers)
        assert str(error) in body.decode()
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
    with pytest.raises(ValueError, match=r"server main: pipe b: receiver y takes /a, which pipe a: receiver x takes"):
        server.post("/a", handle, owner="pipe b: receiver y")
    for path in ("a", "/{b}", "/a?b"):
        with pytest.raises(ValueError, match="is no path"):
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
    with pytest.raises(ValueError, match=r"no\.pem"), Serving(http={"tls": tls}):
        pass
    with pytest.raises((ValueError, OSError), match="server grpc"), Serving(grpc={"tls": tls}):
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
