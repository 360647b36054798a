"""The gRPC server: limits, errors, TLS and tokens; and what it has in common with the HTTP server."""

import asyncio
import contextlib
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

import mmapqueue
from mmapqueue.pipeline.config import Server
from mmapqueue.pipeline.gather import grpc_server
from mmapqueue.pipeline.gather.grpc_server import GrpcServer
from mmapqueue.pipeline.gather.wire import Malformed
from mmapqueue.pipeline.plugins import GrpcCall

from .echoing import COUNT, ECHO, Echoing, full, refused
from .serving import Serving, certificates, wait_for


def test_grpc_takes_and_returns_bytes() -> None:
    with Echoing() as serving:
        assert serving.call(b"\xff\0 no message", metadata=(("tenant", "a"),)) == b"\xff\0 no message"
        with grpc.insecure_channel(serving.grpc_address) as channel:
            assert channel.stream_unary(COUNT)(iter([b"a", b"", b"c"]), timeout=30) == b"3"
            wait_for(lambda: serving.grpc.connections == 1)
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
        serving.grpc.answer("/test.Service/Known", reply=b"!")
        serving.grpc.answer(ECHO, reply=b"not this")
        assert serving.call(path="/test.Service/Known") == b"!"
        assert serving.call() == b"x"


def test_grpc_methods_are_registered_once() -> None:
    server = GrpcServer(Server(name="main", type="grpc", listen="127.0.0.1:0"))

    async def handle(request: bytes, _: GrpcCall) -> bytes:
        return request

    server.unary(ECHO, handle, owner="pipe a: receiver x")
    with pytest.raises(ValueError, match=r"pipe a: receiver x already receives /test.Service/Echo; pipe b"):
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


@pytest.mark.parametrize("tls", [False, True])
def test_grpc_handshakes_end_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tls: bool) -> None:
    if tls and shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    monkeypatch.setattr(grpc_server, "_HANDSHAKE_TIMEOUT_MS", 200)
    settings: dict[str, Any] = {}
    if tls:
        files = certificates(tmp_path)
        settings["tls"] = {"certificate": files["server.pem"], "key": files["server.key"]}
    with Echoing(grpc=settings) as serving:
        host, _, port = serving.grpc_address.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=60) as silent:
            while silent.recv(1000):
                pass


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
        for name, serving in (
            ("grpc", Serving(grpc={"listen": listen})),
            ("http", Serving(http={"listen": listen})),
        ):
            with pytest.raises(OSError, match=f"server {name}: cannot listen on {listen}"), serving:
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
        ask: Callable[[], bytes] = serving.call if protocol == "grpc" else lambda: serving.post()[1]

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


STARTS_PROGRAMS = """
import asyncio, os, uvloop
from mmapqueue.pipeline.config import Server
from mmapqueue.pipeline.gather.grpc_server import GrpcServer

async def main():
    server = GrpcServer(Server(name="grpc", type="grpc", listen="127.0.0.1:0"), shared=False)
    await server.start()
    for _ in range(3):
        program = await asyncio.create_subprocess_exec("printenv", "GRPC_ENABLE_FORK_SUPPORT")
        print(await program.wait())
    await server.stop(0)

uvloop.run(main())
"""


def test_grpc_says_nothing_when_a_program_is_started(tmp_path: Path) -> None:
    file = tmp_path / "starts.py"
    file.write_text(STARTS_PROGRAMS)
    variables = {name: value for name, value in os.environ.items() if not name.startswith("GRPC_")}
    ended = subprocess.run([sys.executable, file], env=variables, capture_output=True, text=True, check=False)
    # The program does not have the variable by which that is done.
    assert (ended.stdout, ended.stderr) == ("1\n" * 3, "")
