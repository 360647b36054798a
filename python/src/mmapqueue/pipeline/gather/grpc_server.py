"""The gRPC server that receivers share: raw bytes in, raw bytes out, without decoding."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from typing import Any, Literal, NoReturn, TypeAlias
from urllib.parse import unquote

from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

import mmapqueue
from mmapqueue.pipeline._grpc import grpc
from mmapqueue.pipeline._timeout import timeout
from mmapqueue.pipeline.config import Server, Tls, require_tls
from mmapqueue.pipeline.gather.holding import Hold, Holding, Late, Overloaded
from mmapqueue.pipeline.gather.refusals import Refusals, Refused, authorized
from mmapqueue.pipeline.gather.sockets import (
    bind_address,
    duplicates,
    established,
    listen,
    listening,
    refuse_connections,
)
from mmapqueue.pipeline.gather.wire import Malformed
from mmapqueue.pipeline.plugins import Exchange, GrpcError, Stream, Unary

_LOG = logging.getLogger("mmapqueue.pipeline.grpc")
#: The maximum number of streams of one connection at a time. Further streams wait in the client.
_MAX_STREAMS = 128
#: Connections without traffic are pinged after this time, in ms, and closed without an answer in the next 20 s.
_KEEPALIVE_MS = 60_000
_KEEPALIVE_TIMEOUT_MS = 20_000
#: The maximum time for the handshakes of TLS and HTTP/2.
_HANDSHAKE_TIMEOUT_MS = 20_000
#: Clients may ping every 10 s. gRPC's default of 5 minutes disconnects agents that ping more often.
_PING_INTERVAL_MS = 10_000
#: Seconds between two looks, and the number of looks without a further request after which the clients of a stopping
#: server are taken to wait for their answers; the maximum time in seconds for which these are held.
_LOOK, _LOOKS, _SETTLE_WITHIN = 0.025, 6, 1.0
#: One request and one reply; a stream and one reply; any numbers of both.
_Kind: TypeAlias = Literal["unary", "stream", "exchange"]


class Call:
    """Properties of one request.

    Attributes:
        path: The method, as `/package.Service/Method`.
    """

    __slots__ = ("_context", "path")

    def __init__(self, path: str, context: Any) -> None:
        self.path = path
        self._context = context

    @property
    def peer(self) -> str:
        """Address of the client, as `192.0.2.1:50312` or `[2001:db8::1]:50312`."""
        kind, _, address = self._context.peer().partition(":")
        return unquote(address) if kind == "ipv6" else str(address)

    @property
    def metadata(self) -> dict[str, str]:
        """Text metadata of the request. The last of equal keys counts; binary entries are left out."""
        return {key: value for key, value in self._context.invocation_metadata() if isinstance(value, str)}


class GrpcTable:
    """Methods and their handlers, as receivers register them: `GrpcMethods`.

    Args:
        server: Name of the server, for errors.
    """

    def __init__(self, server: str) -> None:
        self._server = server
        #: Handler, its kind, owner and pipe, by path.
        self._methods: dict[str, tuple[Unary | Stream | Exchange, _Kind, str, str]] = {}
        self._answers: dict[str, bytes] = {}

    def unary(self, path: str, handler: Unary, *, owner: str = "a receiver", pipe: str = "") -> None:
        """As `GrpcMethods.unary`."""
        self._add(path, handler, owner, pipe, "unary")

    def stream(self, path: str, handler: Stream, *, owner: str = "a receiver", pipe: str = "") -> None:
        """As `GrpcMethods.stream`."""
        self._add(path, handler, owner, pipe, "stream")

    def exchange(self, path: str, handler: Exchange, *, owner: str = "a receiver", pipe: str = "") -> None:
        """As `GrpcMethods.exchange`."""
        self._add(path, handler, owner, pipe, "exchange")

    def answer(self, path: str, *, reply: bytes = b"") -> None:
        """As `GrpcMethods.answer`."""
        self._answers[path] = reply

    def _add(self, path: str, handler: Any, owner: str, pipe: str, kind: _Kind) -> None:
        if path in self._methods:
            raise ValueError(
                f"server {self._server}: {self._methods[path][2]} already receives {path}; {owner} needs another server"
            )
        self._methods[path] = handler, kind, owner, pipe

    def add(self, other: "GrpcTable") -> None:
        """Adds all methods of another table.

        Raises:
            ValueError: A method is in both.
        """
        for path, (handler, kind, owner, pipe) in other._methods.items():
            self._add(path, handler, owner, pipe, kind)
        self._answers.update(other._answers)

    @property
    def pipes(self) -> int:
        """The number of pipes that have methods."""
        return len({pipe for _, _, _, pipe in self._methods.values()})

    def find(self, path: str) -> tuple[Any, _Kind, str] | None:
        """The handler of a method, its kind, and its pipe; None for none."""
        found = self._methods.get(path)
        if found is not None:
            return found[0], found[1], found[3]
        reply = self._answers.get(path)
        if reply is None:
            return None

        async def discard(messages: AsyncIterator[bytes], _: Any) -> bytes:
            async for _message in messages:
                pass
            return reply

        return discard, "stream", ""


class GrpcServer:
    """A gRPC server of handlers that take and return bytes. Belongs to the event loop that it is started on.

    gRPC decompresses gzip and deflate, and answers RESOURCE_EXHAUSTED to messages above `max_message_size`, compressed
    or not. Connections above `max_connections` are closed as soon as they are accepted: their clients see UNAVAILABLE.
    Unknown methods are answered with UNIMPLEMENTED, requests without the token with UNAUTHENTICATED.

    The status of a request is that of the handler's exception: `mmapqueue.Full` RESOURCE_EXHAUSTED with a RetryInfo;
    `mmapqueue.TooLarge` and `Malformed` INVALID_ARGUMENT; `mmapqueue.Closed` and other errors of the queue UNAVAILABLE;
    `GrpcError` its own; anything else INTERNAL.

    Example:
        server = GrpcServer(Server(name="grpc", type="grpc", listen="127.0.0.1:4317"))

        async def export(request: bytes, call: GrpcCall) -> bytes: ...

        server.unary("/opentelemetry.proto.collector.logs.v1.LogsService/Export", export)
        await server.start()
    """

    protocol: Literal["grpc"] = "grpc"
    replaced: bool = False

    def __init__(self, settings: Server, *, shared: bool = False, refused: Refused | None = None) -> None:
        """Opens no socket.

        Args:
            settings: Address, limits, certificates and token.
            shared: Whether other processes listen on the same port (SO_REUSEPORT).
            refused: Counts requests that no receiver sees, by reason.
        """
        self._settings = settings
        self._refusals = Refusals(settings.name, refused)
        self._shared = shared
        self.table = GrpcTable(settings.name)
        self._port: int | None = None
        #: Inodes of the sockets that listen. Another server of this process may listen on the same port.
        self._listening: set[str] = set()
        self._holding = Holding(settings.max_requests, settings.max_held_bytes)
        self._server: Any = None
        self._came = 0
        self._answering = asyncio.Event()
        self._answering.set()

    def unary(self, path: str, handler: Unary, **options: Any) -> None:
        """As `GrpcMethods.unary`, in the present table."""
        self.table.unary(path, handler, **options)

    def stream(self, path: str, handler: Stream, **options: Any) -> None:
        """As `GrpcMethods.stream`, in the present table."""
        self.table.stream(path, handler, **options)

    def exchange(self, path: str, handler: Exchange, **options: Any) -> None:
        """As `GrpcMethods.exchange`, in the present table."""
        self.table.exchange(path, handler, **options)

    def answer(self, path: str, *, reply: bytes = b"") -> None:
        """As `GrpcMethods.answer`, in the present table."""
        self.table.answer(path, reply=reply)

    def service(self, details: Any) -> Any:
        """The handler of a request, after checking the token: `grpc.GenericRpcHandler.service`."""
        self._came += 1
        path, token = details.method, self._settings.bearer_token
        if token is not None:
            sent = next((value for key, value in details.invocation_metadata if key == "authorization"), "")
            if not authorized(sent, token):
                return grpc.stream_unary_rpc_method_handler(self._unauthenticated(path))
        found = self.table.find(path)
        if found is None:
            return None
        handler, kind, pipe = found

        async def exchange(messages: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
            try:
                with self._holding.request(pipe, self.table.pipes) as hold:
                    replies = handler(_measured(messages, hold), Call(path, context))
                    async with aclosing(replies):
                        async for reply in replies:
                            await self._released(context)
                            yield reply
            except Exception as error:
                await self._released(context)
                await self._fail(context, path, error)

        async def take(messages: AsyncIterator[bytes], context: Any) -> Any:
            failure: Exception | None = None
            try:
                with self._holding.request(pipe, self.table.pipes) as hold:
                    request = (
                        _measured(messages, hold) if kind == "stream" else await self._message(path, context, hold)
                    )
                    reply = await handler(request, Call(path, context))
            except Exception as error:
                failure = error
            await self._released(context)
            if failure is not None:
                await self._fail(context, path, failure)
            return reply

        if kind == "exchange":
            return grpc.stream_stream_rpc_method_handler(exchange)
        # A method of one message, too: its handler begins with the headers, so that its message has a time limit.
        return grpc.stream_unary_rpc_method_handler(take)

    async def _released(self, context: Any) -> None:
        """Waits while answers are held, for half of the time at most that the client still waits for its own.

        A client whose deadline has passed would send again what is stored.
        """
        if self._answering.is_set():
            return
        left = context.time_remaining()
        with suppress(asyncio.TimeoutError):
            async with timeout(None if left is None else left / 2):
                await self._answering.wait()

    async def _fail(self, context: Any, path: str, error: Exception) -> NoReturn:
        """Ends a request with the status for an error."""
        if isinstance(error, Overloaded):
            peer = Call(path, context).peer
            self._refusals.note("overloaded", f"{error}; a request of {peer} to {path} is refused")
        await _abort(context, path, error)

    async def _message(self, path: str, context: Any, hold: Hold) -> bytes:
        """Reads the one message of a request."""
        seconds = self._settings.request_timeout.total_seconds()
        try:
            message = await hold.arrive(context.read(), seconds)
        except Late:
            words = f"the message did not arrive within request_timeout = {seconds:g} s"
            self._refusals.note("timeout", f"request of {Call(path, context).peer} to {path}: {words}")
            raise Late(words) from None
        if message is grpc.aio.EOF:
            raise Malformed("the request has no message")
        hold.resize(len(message))
        found: bytes = message
        return found

    def _unauthenticated(self, method: str) -> Any:
        async def refuse(_: Any, context: Any) -> None:
            peer = Call(method, context).peer
            self._refusals.note("unauthenticated", f"request of {peer} to {method} without the token")
            message = "the request needs the metadata authorization: Bearer <token>"
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, message)

        return refuse

    def new_table(self) -> GrpcTable:
        """A table without methods."""
        return GrpcTable(self._settings.name)

    def authorize(self, token: str | None) -> None:
        """Changes the token that requests need."""
        self._settings = self._settings.model_copy(update={"bearer_token": token})

    async def start(self, beside: "GrpcServer | None" = None) -> None:
        """Listens.

        Args:
            beside: A running server that this one replaces on its address: both accept connections until it is stopped.

        Raises:
            OSError: The address cannot be bound.
            ConfigError: A file of TLS cannot be read, or is no certificate or key.
        """
        settings = self._settings
        credentials = None if settings.tls is None else _credentials(settings.tls, f"server {settings.name}: tls")
        self._server = grpc.aio.server(
            options=[
                # Always: a server that replaces this one listens beside it.
                ("grpc.so_reuseport", 1),
                ("grpc.max_receive_message_length", settings.max_message_size),
                ("grpc.max_allowed_incoming_connections", settings.max_connections),
                ("grpc.max_concurrent_streams", _MAX_STREAMS),
                # Requests that wait for a handler. The library would cancel some of them beyond 1 000.
                ("grpc.server.max_pending_requests", settings.max_requests),
                ("grpc.server.max_pending_requests_hard_limit", settings.max_requests),
                ("grpc.server_handshake_timeout_ms", _HANDSHAKE_TIMEOUT_MS),
                ("grpc.keepalive_time_ms", _KEEPALIVE_MS),
                ("grpc.keepalive_timeout_ms", _KEEPALIVE_TIMEOUT_MS),
                ("grpc.keepalive_permit_without_calls", 1),
                ("grpc.http2.min_ping_interval_without_data_ms", _PING_INTERVAL_MS),
            ]
        )
        self._server.add_generic_rpc_handlers((_Router(self),))
        host, port = bind_address(settings.listen)
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        if beside is not None:
            port = beside.port
            address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        before = listening(port)
        try:
            if beside is None and not self._shared:
                # Fails when another program listens there.
                for each in listen(host, port, shared=False):
                    each.close()
            if credentials is None:
                self._port = self._server.add_insecure_port(address)
            else:
                self._port = self._server.add_secure_port(address, credentials)
        except (RuntimeError, OSError) as error:
            raise OSError(f"server {settings.name}: cannot listen on {settings.listen}: {error}") from error
        await self._server.start()
        self._listening = listening(self._port) - before

    async def stop(self, seconds: float) -> None:
        """Takes no further connections, and ends those it has (GOAWAY).

        Args:
            seconds: The maximum time for requests in flight. Those that take longer are cancelled.
        """
        if self._server is None:
            return
        with duplicates(self._listening) as sockets:
            await refuse_connections(sockets)
        stopping = asyncio.create_task(self._server.stop(seconds)) if seconds == 0 else await self._settled(seconds)
        await stopping

    async def _settled(self, seconds: float) -> "asyncio.Task[None]":
        """Begins the stop at a moment without a request that has arrived and is not in a handler.

        gRPC cancels such requests. So answers are held until the clients wait for them; each client then gets the
        GOAWAY before its answer, and sends its next request elsewhere.
        """
        loop = asyncio.get_running_loop()
        self._answering.clear()
        try:
            deadline = loop.time() + min(_SETTLE_WITHIN, seconds)
            came, looks = -1, 0
            # Several looks: between two of them this process, or its clients, may not have run at all.
            while looks < _LOOKS and loop.time() < deadline:
                looks = looks + 1 if self._came == came else 0
                came = self._came
                await asyncio.sleep(_LOOK)
            stopping = asyncio.create_task(self._server.stop(seconds))
            await asyncio.sleep(_LOOK)
        finally:
            self._answering.set()
        return stopping

    @property
    def port(self) -> int:
        """The port that the server listens on.

        Raises:
            RuntimeError: It was not started.
        """
        if self._port is None:
            raise RuntimeError(f"server {self._settings.name} was not started")
        return self._port

    @property
    def connections(self) -> int:
        """Number of open connections of this process. Reads /proc, which takes milliseconds with thousands of them."""
        return 0 if self._port is None else established(self._port, own=self._shared)


async def _measured(messages: AsyncIterator[bytes], hold: Hold) -> AsyncIterator[bytes]:
    """The messages of a stream. The last one counts as held: how many more are, only their receiver knows."""
    async for message in messages:
        hold.resize(len(message))
        yield message


class _Router(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Finds the handler of a request."""

    def __init__(self, server: GrpcServer) -> None:
        self._server = server

    def service(self, details: Any) -> Any:
        return self._server.service(details)


def _credentials(tls: Tls, where: str) -> Any:
    # The library finds out when it listens, and does not say what is wrong.
    require_tls(tls, where)
    return grpc.ssl_server_credentials(
        [(tls.key.read_bytes(), tls.certificate.read_bytes())],
        root_certificates=None if tls.client_ca is None else tls.client_ca.read_bytes(),
        require_client_auth=tls.client_ca is not None,
    )


async def _abort(context: Any, path: str, error: Exception) -> NoReturn:
    """Answers with the status for an error. Raises the exception with which grpc ends the request."""
    if isinstance(error, grpc.aio.AbortError):
        raise error
    if isinstance(error, mmapqueue.Full):
        code, message = grpc.StatusCode.RESOURCE_EXHAUSTED, f"the queue is full: {error}"
        await context.abort(code, message, _retry_after(message, getattr(error, "retry_after", 1.0)))
    if isinstance(error, Overloaded):
        code = grpc.StatusCode.RESOURCE_EXHAUSTED
        await context.abort(code, str(error), _retry_after(str(error), error.retry_after))
    if isinstance(error, Late):
        await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, str(error))
    if isinstance(error, GrpcError):
        await context.abort(grpc.StatusCode[error.status], str(error))
    if isinstance(error, mmapqueue.TooLarge | Malformed):
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
    if isinstance(error, mmapqueue.MmapQueueError):
        await context.abort(grpc.StatusCode.UNAVAILABLE, str(error))
    _LOG.error("%s failed", path, exc_info=error)
    await context.abort(grpc.StatusCode.INTERNAL, f"{type(error).__name__}: {error}")
    raise error


def _retry_after(message: str, seconds: float) -> tuple[tuple[str, bytes], ...]:
    """Trailing metadata that asks for a retry. Some clients read the status, others the RetryInfo itself."""
    delay = Duration()
    delay.FromNanoseconds(round(seconds * 1e9))
    info = RetryInfo(retry_delay=delay)
    detail = AnyMessage()
    detail.Pack(info)
    status = Status(code=grpc.StatusCode.RESOURCE_EXHAUSTED.value[0], message=message, details=[detail])
    return (
        ("grpc-status-details-bin", status.SerializeToString()),
        ("google.rpc.retryinfo-bin", info.SerializeToString()),
    )
