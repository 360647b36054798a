"""Receivers for tests of senders: HTTP and gRPC servers that keep the requests and answer as configured."""

import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import grpc

#: What an answer is: a status with headers and a body; "reset" and "hang" are not answers.
Answer = int | tuple[int, dict[str, str], bytes] | str


class Request(NamedTuple):
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def key(self) -> str:
        return self.headers["idempotency-key"]


class HttpReceiver:
    """Keeps requests. `answer` is asked for each one: its position, and the request."""

    def __init__(self, answer: Callable[[int, Request], Answer], tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Request] = []
        self.taken: list[Request] = []
        self.release = threading.Event()
        self._lock = threading.Lock()
        self._answer = answer
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver._handle(self, Request(self.path, headers, body))

            do_PUT = do_POST  # noqa: N815

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, *_: Any) -> None:
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def _handle(self, handler: BaseHTTPRequestHandler, request: Request) -> None:
        with self._lock:
            position = len(self.requests)
            self.requests.append(request)
        answer = self._answer(position, request)
        if answer == "hang":
            self.release.wait(60)
            handler.close_connection = True
            return
        if answer == "reset":
            # A linger of 0 makes the close a reset.
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            handler.close_connection = True
            handler.connection.close()
            return
        assert not isinstance(answer, str)
        status, headers, body = answer if isinstance(answer, tuple) else (answer, {}, b"")
        if status < 300:
            with self._lock:
                self.taken.append(request)
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def close(self) -> None:
        self.release.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def http_receiver(
    answer: Callable[[int, Request], Answer] | Answer = 200, tls: ssl.SSLContext | None = None
) -> Iterator[HttpReceiver]:
    receiver = HttpReceiver(answer if callable(answer) else lambda _position, _request: answer, tls)
    try:
        yield receiver
    finally:
        receiver.close()


class Call(NamedTuple):
    path: str
    metadata: dict[str, Any]
    messages: list[bytes]


class GrpcReceiver(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Keeps calls of any method. `fail` may abort: it gets the call's position and context."""

    def __init__(self, fail: Callable[[int, grpc.ServicerContext], None], answer: bytes) -> None:
        self.calls: list[Call] = []
        self._fail = fail
        self._answer = answer

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        def take(messages: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
            call = Call(details.method, dict(context.invocation_metadata()), list(messages))
            self.calls.append(call)
            self._fail(len(self.calls) - 1, context)
            return self._answer

        return grpc.stream_unary_rpc_method_handler(take)


@contextmanager
def grpc_receiver(
    fail: Callable[[int, grpc.ServicerContext], None] = lambda _position, _context: None,
    answer: bytes = b"",
    tls: grpc.ServerCredentials | None = None,
    port: int = 0,
) -> Iterator[tuple[str, GrpcReceiver]]:
    """A server; its address and what it has got."""
    receiver = GrpcReceiver(fail, answer)
    with ThreadPoolExecutor(4) as pool:
        server = grpc.server(pool, handlers=[receiver])
        address = f"127.0.0.1:{port}"
        port = server.add_secure_port(address, tls) if tls else server.add_insecure_port(address)
        server.start()
        try:
            yield f"127.0.0.1:{port}", receiver
        finally:
            server.stop(None).wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(condition: Callable[[], bool], what: str, seconds: float = 120.0) -> None:
    """Waits for a condition; fails with `what` when it does not come true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)
