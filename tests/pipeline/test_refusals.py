"""What servers refuse before a receiver sees it: counted, in one line each, at a limited rate."""

import asyncio
import contextlib
import gzip
import http.client
import shutil
import socket
import ssl
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from mmapqueue.pipeline.gather import throttled
from mmapqueue.pipeline.gather.http_server import HttpTable
from mmapqueue.pipeline.gather.receivers.http import HttpReceiver
from mmapqueue.pipeline.gather.receivers.otlp import OtlpReceiver
from mmapqueue.pipeline.gather.receivers.syslog import SyslogReceiver
from mmapqueue.pipeline.gather.refusals import Refusals, authorized
from mmapqueue.pipeline.plugins import HttpReply, HttpRequest

from .echoing import ECHO, Echoing, refused
from .serving import Serving, certificates, wait_for

QUICK = {"request_timeout": "1s"}


class Counting(Echoing):
    """Servers whose refusals are counted."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.counted: Counter[str] = Counter()
        for server in (self.grpc, self.http):
            server._refusals._count = lambda reason: self.counted.update([reason])


def logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.name.startswith("mmapqueue.pipeline")]


def test_one_line_for_each_reason_in_a_time(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    counted: Counter[str] = Counter()
    noted = Refusals("web", lambda reason: counted.update([reason]), clock=lambda: now[0])
    for _ in range(1000):
        noted.note("malformed", "a\nb")
    noted.note("tls", "c")
    now[0] = throttled.PERIOD
    noted.note("malformed", "x" * 10_000)
    assert counted == {"malformed": 1001, "tls": 1}
    assert logged(caplog) == [
        "server web: a b",
        "server web: c",
        f"server web: {'x' * 1000} (999 more since the last line)",
    ]


@pytest.mark.parametrize(
    "head", [b"POST / HTTP/9\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/1.1\r\nno\r\n\r\n"]
)
def test_a_malformed_request_is_one_line_without_a_traceback(head: bytes, caplog: pytest.LogCaptureFixture) -> None:
    with Counting() as serving:
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", serving.http.port), 30) as connection:
                connection.sendall(head)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(1000):
                    pass
        wait_for(lambda: serving.counted["malformed"] == 20)
        assert serving.post()[0] == 200
    (line,) = logged(caplog)
    assert line.startswith("server http: malformed request of 127.0.0.1: ")
    assert not [each for each in caplog.records if each.exc_info]


def test_an_answer_to_a_malformed_request_does_not_say_what_the_server_is_made_with() -> None:
    with Counting() as serving, socket.create_connection(("127.0.0.1", serving.http.port), 30) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nno\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(1000), b""))
    assert b" 400 Bad Request\r\n" in answer
    assert b"\r\nServer: mmapqueue\r\n" in answer


def test_a_body_that_is_malformed_later_ends_its_connection(caplog: pytest.LogCaptureFixture) -> None:
    with Counting(http=QUICK) as serving, socket.create_connection(("127.0.0.1", serving.http.port), 30) as connection:
        connection.sendall(
            b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
        )
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"no size\r\n")
        # aiohttp does not tell the reader of the body.
        assert connection.recv(1000).startswith(b"HTTP/1.1 408 ")
        while connection.recv(1000):
            pass
        wait_for(lambda: serving.http.connections == 0)
    assert len(logged(caplog)) == sum(serving.counted.values())
    assert not [each for each in caplog.records if each.exc_info]


# ---- times


def test_a_slow_body_is_timed_out() -> None:
    with Counting(http=QUICK) as serving:
        slow = [socket.create_connection(("127.0.0.1", serving.http.port), 60) for _ in range(3)]
        with contextlib.ExitStack() as stack:
            for each in slow:
                stack.enter_context(each)
                each.sendall(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
            for each in slow:
                assert each.recv(1000).startswith(b"HTTP/1.1 408 Request Timeout\r\n")
            wait_for(lambda: serving.http.connections == 0)
        assert serving.counted == {"timeout": 3}
        assert serving.post(gzip.compress(b"x"), Content_Encoding="gzip")[0] == 200
    assert len(serving.requests) == 1


@pytest.mark.parametrize("head", [b"", b"POST /echo HT", b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Le"])
def test_a_connection_without_a_request_is_closed(head: bytes) -> None:
    with Counting(http=QUICK) as serving, socket.create_connection(("127.0.0.1", serving.http.port), 60) as silent:
        silent.sendall(head)
        wait_for(lambda: serving.http.connections == 1)
        serving.pass_time(1.5)
        assert silent.recv(1000) == b""
        wait_for(lambda: serving.http.connections == 0)
        assert serving.counted == {"timeout": 1}


def test_a_request_in_progress_and_a_connection_between_requests_are_not_timed_out() -> None:
    with Counting(http=QUICK) as serving:
        connection = http.client.HTTPConnection("127.0.0.1", serving.http.port, timeout=60)
        with contextlib.closing(connection):
            connection.request("POST", "/echo", b"x")
            assert connection.getresponse().read() == b"x"
            # Longer than request_timeout: the timer of a connection without a request would have closed it.
            serving.pass_time(1.5)
            connection.request("POST", "/echo", b"y")
            assert connection.getresponse().read() == b"y"
        assert not serving.counted


# ---- tokens


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "bEaReR"])
def test_the_scheme_of_a_token_is_case_insensitive(scheme: str) -> None:
    secret = {"bearer_token": "s3cret"}
    with Counting(http=secret, grpc=secret) as serving:
        assert serving.post(Authorization=f"{scheme} s3cret")[0] == 200
        assert serving.call(metadata=(("authorization", f"{scheme}  s3cret"),)) == b"x"


def test_tokens() -> None:
    for header in ("", "s3cret", "Basic s3cret", "Bearer", "Bearer S3CRET", "Bearer s3cret x", "Bearers3cret"):
        assert not authorized(header, "s3cret")
    # Bytes of a header that are not UTF-8.
    assert not authorized("Bearer \udcff", "s3cret")


def test_requests_without_a_token_are_counted_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    secret = {"bearer_token": "s3cret"}
    with Counting(http=secret, grpc=secret) as serving:
        for _ in range(5):
            assert serving.post(Authorization="Bearer other")[0] == 401
            assert refused(serving).code() == grpc.StatusCode.UNAUTHENTICATED
    assert serving.counted == {"unauthenticated": 10}
    by_http, by_grpc = logged(caplog)
    assert by_http.startswith("server http: request of 127.0.0.1:")
    assert by_http.endswith(" to /echo without the token")
    assert by_grpc.startswith("server grpc: request of 127.0.0.1:")
    assert by_grpc.endswith(f" to {ECHO} without the token")
    assert "other" not in caplog.text


# ---- TLS


@pytest.fixture
def tls(tmp_path: Path) -> dict[str, Path]:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    return certificates(tmp_path)


def shake(port: int, context: ssl.SSLContext) -> None:
    with (
        contextlib.suppress(OSError),
        socket.create_connection(("127.0.0.1", port), 30) as connection,
        context.wrap_socket(connection, server_hostname="localhost") as secure,
    ):
        # With TLS 1.3 the client has finished its part before the server refuses it.
        secure.recv(1)


def test_failed_handshakes_are_counted_and_logged(tls: dict[str, Path], caplog: pytest.LogCaptureFixture) -> None:
    keys = {"certificate": tls["server.pem"], "key": tls["server.key"], "client_ca": tls["ca.pem"]}
    known = ssl.create_default_context(cafile=str(tls["ca.pem"]))
    with Counting(http={"tls": keys}) as serving:
        shake(serving.http.port, ssl.create_default_context())
        shake(serving.http.port, known)
        wait_for(lambda: serving.counted["tls"] == 2)
    (line,) = logged(caplog)
    assert line.startswith("server http: TLS handshake failed: [SSL: ")
    receiver = SyslogReceiver.model_validate({"listen": "tls+tcp://127.0.0.1:0", "tls": keys})
    caplog.clear()
    with Serving(receiver) as plain:
        shake(receiver.port, known)
        wait_for(lambda: plain.host.counted["tls"] == 1)
    (line,) = logged(caplog)
    assert line.startswith("server tls+tcp://127.0.0.1:0 (syslog of pipe pipe): TLS handshake failed: [SSL: ")


# ---- pipes that share a server


@contextlib.contextmanager
def two_pipes(connections: int) -> Iterator[Any]:
    """A server of the pipes full, whose requests are held, and other."""

    class Two(Counting):
        def __init__(self) -> None:
            super().__init__(http={"max_connections": connections})
            self.http.table = HttpTable("http")
            self.ended: Counter[str] = Counter()
            self.http.post("/full", self._hold, pipe="full")
            self.http.post("/other", self._post, pipe="other")

        async def _hold(self, _: HttpRequest) -> HttpReply:
            self.ended["began"] += 1
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.ended["gone"] += 1
                raise
            return HttpReply()

    with Two() as serving:
        yield serving


def test_a_full_pipe_leaves_connections_to_other_pipes() -> None:
    with two_pipes(10) as serving, contextlib.ExitStack() as stack:
        address = ("127.0.0.1", serving.http.port)
        waiting = []
        for _ in range(5):
            waiting.append(stack.enter_context(socket.create_connection(address, 60)))
            waiting[-1].sendall(b"POST /full HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx")
        wait_for(lambda: serving.ended["began"] == 5)
        for _ in range(20):
            # Each is refused, and does not keep its connection.
            status, body, headers = serving.post(path="/full")
            assert (status, headers["retry-after"], headers["connection"]) == (503, "1", "close")
            assert body == b"pipe full has 5 requests in progress, its share of max_connections\n"
            assert serving.post(path="/other")[0] == 200
        assert serving.counted == {"overloaded": 20}


def test_bodies_that_arrive_count_to_the_connections_of_their_pipe() -> None:
    with two_pipes(4) as serving, contextlib.ExitStack() as stack:
        for number in range(2):
            slow = stack.enter_context(socket.create_connection(("127.0.0.1", serving.http.port), 60))
            slow.sendall(b"POST /full HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nx")
            wait_for(lambda: serving.http._holding.bytes == number + 1)  # noqa: B023
        assert serving.post(path="/full")[0] == 503
        assert serving.post(path="/other")[0] == 200
        assert serving.counted == {"overloaded": 1}


def test_clients_that_have_gone_keep_no_connection_and_no_request() -> None:
    with two_pipes(10) as serving:
        address = ("127.0.0.1", serving.http.port)
        for number in range(30):
            with socket.create_connection(address, 60) as connection:
                connection.sendall(b"POST /full HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx")
                wait_for(lambda: serving.ended["began"] == number + 1)  # noqa: B023
            wait_for(lambda: serving.ended["gone"] == number + 1)  # noqa: B023
        wait_for(lambda: serving.http.connections == 0)
        assert serving.post(path="/other")[0] == 200
    assert not serving.counted


def test_pipes_are_those_of_the_receivers() -> None:
    with Serving(HttpReceiver(server="http"), OtlpReceiver(server="http")) as serving:
        assert serving.http.table.pipes == 1
