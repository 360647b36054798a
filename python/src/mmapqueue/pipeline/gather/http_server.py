"""The HTTP server that receivers share."""

import asyncio
import logging
import math
import re
import socket
import ssl
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

import mmapqueue
from mmapqueue.pipeline._http import Connection, sign
from mmapqueue.pipeline.config import Server
from mmapqueue.pipeline.gather.bodies import ENCODINGS
from mmapqueue.pipeline.gather.cors import allow_origin, preflight
from mmapqueue.pipeline.gather.holding import Hold, Holding, Late, Overloaded
from mmapqueue.pipeline.gather.http_body import encoding_of, read_body, too_large
from mmapqueue.pipeline.gather.refusals import Refusals, Refused, authorized
from mmapqueue.pipeline.gather.sockets import (
    bind_address,
    handshake_words,
    listen,
    peer_name,
    refuse_connections,
    server_context,
)
from mmapqueue.pipeline.gather.wire import Malformed
from mmapqueue.pipeline.plugins import ErrorReply, Handler, HttpError, HttpReply, HttpRequest, text_error

if TYPE_CHECKING:
    _Adapter = logging.LoggerAdapter[logging.Logger]
else:
    # Not generic in Python 3.10.
    _Adapter = logging.LoggerAdapter

_LOG = logging.getLogger("mmapqueue.pipeline.http")
_PATH = re.compile(r"/[A-Za-z0-9_.~:@!$&'()*+,;=%/-]*")
#: Seconds without a request after which a connection is closed.
_KEEPALIVE = 75.0
#: Seconds without a byte after which a stopping server ends a connection that has no request. A client that is in the
#: middle of its work sends its next request before, and is answered with `Connection: close`.
_QUIET = 1.0
_POLL = 0.005
#: Seconds for which the rest of a refused request is read, so that its client gets the answer.
_LINGER = 10.0
#: Seconds that a connection above max_connections has to send a request, which is answered with 503.
_REFUSE_WITHIN = 5.0
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\nContent-Length: 21\r\n\r\ntoo many connections\n"
)


@dataclass(frozen=True)
class _Route:
    handler: Handler
    owner: str
    pipe: str
    error_reply: ErrorReply


class HttpTable:
    """Paths and their handlers, as receivers register them: `HttpRoutes`.

    Args:
        server: Name of the server, for errors.
    """

    def __init__(self, server: str) -> None:
        self._server = server
        self._routes: dict[str, tuple[str, _Route]] = {}

    def post(
        self,
        path: str,
        handler: Handler,
        *,
        owner: str = "a receiver",
        pipe: str = "",
        error_reply: ErrorReply = text_error,
    ) -> None:
        """As `HttpRoutes.post`."""
        if _PATH.fullmatch(path) is None:
            raise ValueError(f"server {self._server}: {owner}: {path!r} is not a path; expected one such as /v1/logs")
        self._add(path, _Route(handler, owner, pipe, error_reply))

    def _add(self, path: str, route: _Route) -> None:
        # As clients write it. Escapes in the path count as written.
        quoted = URL.build(path=path).raw_path.replace("%25", "%")
        if quoted in self._routes:
            raise ValueError(
                f"server {self._server}: {self._routes[quoted][1].owner} already receives {path}; {route.owner} needs "
                "another path or server"
            )
        self._routes[quoted] = path, route

    def add(self, other: "HttpTable") -> None:
        """Adds all paths of another table.

        Raises:
            ValueError: A path is in both.
        """
        for path, route in other._routes.values():
            self._add(path, route)

    def find(self, quoted: str) -> _Route | None:
        """The route of a path as a client writes it; None for none."""
        found = self._routes.get(quoted)
        return None if found is None else found[1]

    @property
    def pipes(self) -> int:
        """The number of pipes that have paths."""
        return len({route.pipe for _, route in self._routes.values()})


class HttpServer:
    """An HTTP/1.1 server of POST handlers. Belongs to the event loop that it is started on.

    Bodies are identity, gzip, deflate, zstd or snappy. One of more than `max_message_size` bytes, compressed or not, is
    answered with 413; at most that many bytes are ever decompressed. With `cors`, browsers' preflight requests
    (OPTIONS) are answered, and answers name the origin that may read them. Connections above `max_connections` are
    answered with 503 and closed, requests without the token with 401, unknown paths with 404. A request that has not
    arrived completely within `request_timeout` is answered with 408.

    A handler is cancelled when its client closes the connection. Requests beyond the limits of what the server holds
    are answered with 503 and Retry-After: `Holding`. A connection has one request at a time, so `max_connections` also
    limits the requests, and no pipe takes the connections of others.

    What a handler raises becomes a status: `mmapqueue.Full` 429 with Retry-After; `mmapqueue.TooLarge` 413; `Malformed`
    400; `mmapqueue.Closed` and other errors of the queue 503 with Retry-After; `HttpError` its own; anything else 500.

    Example:
        server = HttpServer(Server(name="http", type="http", listen="127.0.0.1:4318"))

        async def take(request: HttpRequest) -> HttpReply: ...

        server.post("/v1/logs", take)
        await server.start()

    Attributes:
        table: The paths. Another table takes effect with the next request.
        replaced: Whether another server has been started beside this one.
    """

    protocol: Literal["http"] = "http"

    def __init__(self, settings: Server, *, shared: bool = False, refused: Refused | None = None) -> None:
        """Opens no socket.

        Args:
            settings: Address, limits, certificates and token.
            shared: Whether other processes listen on the same port (SO_REUSEPORT).
            refused: Counts requests and connections that no receiver sees, by reason.
        """
        self._settings = settings
        self._shared = shared
        self._refusals = Refusals(settings.name, refused)
        self.table = HttpTable(settings.name)
        #: Whether another server listens with the same sockets, and accepts what waits in them.
        self.replaced = False
        # A connection has one request at a time.
        limit = min(("max_requests", "max_connections"), key=lambda each: getattr(settings, each))
        self._holding = Holding(getattr(settings, limit), settings.max_held_bytes, limit)
        #: Timers of connections that have not sent a request yet.
        self._unheard: dict[Any, asyncio.TimerHandle] = {}
        self._app = web.Application(middlewares=[self._hear])
        self._app.router.add_route("*", "/{path:.*}", self._answer, expect_handler=self._expect)
        self._app.on_response_prepare.append(sign)
        if settings.cors is not None:
            self._app.on_response_prepare.append(self._allow_origin)
        self._runner: web.AppRunner | None = None
        self._sockets: list[socket.socket] = []
        self._listeners: list[asyncio.Server] = []
        self._refusing: set[_Refusing] = set()
        self._stopping = False
        self._port: int | None = None

    def post(self, path: str, handler: Handler, **options: Any) -> None:
        """As `HttpRoutes.post`, in the present table."""
        self.table.post(path, handler, **options)

    async def _allow_origin(self, request: web.Request, response: web.StreamResponse) -> None:
        assert self._settings.cors is not None
        allow_origin(request.headers, response.headers, self._settings.cors)

    async def _answer(self, request: web.Request) -> web.Response:
        route = self.table.find(request.rel_url.raw_path)
        if route is None:
            raise web.HTTPNotFound
        try:
            if request.method == "OPTIONS" and self._settings.cors is not None:
                return _response(preflight(request.headers, self._settings.cors))
            if request.method != "POST":
                message = f"method {request.method} is not POST"
                raise HttpError(405, message, headers={"Allow": "POST"})
            return _response(await self._take(request, route))
        except Exception as error:
            if isinstance(error, Overloaded):
                self._refusals.note("overloaded", f"{error}; a request of {_peer(request)} is refused")
            return _response(_failure(request, error, route.error_reply))

    async def _expect(self, request: web.Request) -> None:
        """Asks for the body (100-continue), unless the headers alone are an error."""
        if self._header_error(request) is None and request.headers.get("Expect", "").lower() == "100-continue":
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            # The answer begins here.
            request.writer.output_size = 0

    def _header_error(self, request: web.Request) -> HttpError | None:
        """The error of a request that the headers alone show; None for none."""
        token = self._settings.bearer_token
        if token is not None and not authorized(request.headers.get("Authorization", ""), token):
            message = "the request needs the header Authorization: Bearer <token>"
            return HttpError(401, message, headers={"WWW-Authenticate": "Bearer"})
        encoding = encoding_of(request)
        if encoding and encoding not in ENCODINGS:
            return HttpError(
                415,
                f"content encoding {encoding!r} is not one of identity, gzip, deflate, zstd, snappy",
                headers={"Accept-Encoding": "gzip, zstd"},
            )
        if request.content_length is None and "Transfer-Encoding" not in request.headers:
            return HttpError(411, "the request needs the header Content-Length, or Transfer-Encoding: chunked")
        if (request.content_length or 0) > self._settings.max_message_size:
            return too_large(self._settings.max_message_size)
        return None

    async def _take(self, request: web.Request, route: _Route) -> HttpReply:
        error = self._header_error(request)
        if error is not None:
            if error.status == 401:
                self._refusals.note(
                    "unauthenticated", f"request of {_peer(request)} to {request.path} without the token"
                )
            raise error
        with self._holding.request(route.pipe, self.table.pipes) as hold:
            body = await self._body(request, hold)
            hold.resize(len(body))
            return await route.handler(HttpRequest(request.path, request.headers, body, _peer(request)))

    async def _body(self, request: web.Request, hold: Hold) -> bytes:
        seconds = self._settings.request_timeout.total_seconds()
        try:
            body = read_body(request, self._settings.max_message_size, hold.resize)
            return await hold.arrive(body, seconds)
        except Late:
            words = f"the body did not arrive within request_timeout = {seconds:g} s"
            self._refusals.note("timeout", f"request of {_peer(request)} to {request.path}: {words}")
            raise HttpError(408, words, headers={"Connection": "close"}) from None

    @web.middleware
    async def _hear(self, request: web.Request, handler: Any) -> web.StreamResponse:
        """Notes that a connection has sent a request. While the server stops, its answer is the last one."""
        connection: Any = request.protocol
        timer = self._unheard.pop(connection, None)
        if timer is not None:
            timer.cancel()
        connection.requests += 1
        try:
            response: web.StreamResponse = await handler(request)
        except web.HTTPException as error:
            self._mark(error)
            raise
        finally:
            connection.requests -= 1
            connection.heard = asyncio.get_running_loop().time()
        self._mark(response)
        return response

    def _mark(self, response: web.StreamResponse) -> None:
        if self._stopping:
            response.force_close()

    def _silent(self, connection: Any) -> None:
        """Closes a connection that has not sent a request in time."""
        del self._unheard[connection]
        transport = connection.transport
        if transport is not None:
            peer = peer_name(transport.get_extra_info("peername"))
            seconds = self._settings.request_timeout.total_seconds()
            words = f"connection of {peer} has sent no request within request_timeout = {seconds:g} s"
            self._refusals.note("timeout", words)
            connection.force_close()

    def new_table(self) -> HttpTable:
        """A table without paths."""
        return HttpTable(self._settings.name)

    def authorize(self, token: str | None) -> None:
        """Changes the token that requests need."""
        self._settings = self._settings.model_copy(update={"bearer_token": token})

    async def start(self, beside: "HttpServer | None" = None) -> None:
        """Listens.

        Args:
            beside: A running server that this one replaces on its address: both accept connections until it is stopped.

        Raises:
            OSError: The address cannot be bound.
            ConfigError: A file of TLS cannot be read, or is no certificate or key.
        """
        settings = self._settings
        seconds = settings.request_timeout.total_seconds()
        runner = web.AppRunner(self._app, handler_cancellation=True)
        await runner.setup()
        self._runner = runner
        requests = runner.server
        assert requests is not None

        loop = asyncio.get_running_loop()
        options: dict[str, Any] = {
            "access_log": None,
            "auto_decompress": False,
            "keepalive_timeout": _KEEPALIVE,
            "lingering_time": min(_LINGER, seconds),
            "logger": _RequestLog(self._refusals),
        }

        def connect() -> asyncio.Protocol:
            if len(requests.connections) >= settings.max_connections:
                words = f"a connection beyond max_connections = {settings.max_connections} is refused"
                self._refusals.note("connections", words)
                return _Refusing(self._refusing)
            connection = Connection(requests, loop=loop, **options)
            self._unheard[connection] = loop.call_later(seconds, self._silent, connection)
            return connection

        host, port = bind_address(settings.listen)
        context = None
        if settings.tls is not None:
            context = server_context(settings.tls, f"server {settings.name}: tls", self._handshake_failed)
        try:
            if beside is None:
                self._sockets = listen(host, port, shared=self._shared)
            else:
                self._sockets = [each.dup() for each in beside._sockets]
            self._port = int(self._sockets[0].getsockname()[1])
            for each in self._sockets:
                # The event loop closes its own.
                listener = await loop.create_server(
                    connect, sock=each.dup(), ssl=context, ssl_handshake_timeout=None if context is None else seconds
                )
                self._listeners.append(listener)
        except OSError as error:
            raise OSError(
                error.errno, f"server {settings.name}: cannot listen on {settings.listen}: {error}"
            ) from error

    def _handshake_failed(self, error: ssl.SSLError) -> None:
        self._refusals.note("tls", handshake_words(error))

    async def stop(self, seconds: float) -> None:
        """Takes no further connections, and ends those it has: after their next answer, or once they are idle.

        Args:
            seconds: The maximum time for requests in flight. Those that take longer are not answered.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + max(seconds, _POLL)
        self._stopping = True
        # Nothing waits in sockets with which another server listens, too.
        await refuse_connections([] if self.replaced else self._sockets)
        for listener in self._listeners:
            listener.close()
        for each in self._sockets:
            each.close()
        self._listeners, self._sockets = [], []
        for refusing in list(self._refusing):
            refusing.close()
        if self._runner is not None and self._runner.server is not None:
            while loop.time() < deadline and self._leave(loop.time() - _QUIET):
                await asyncio.sleep(_POLL)
            await self._runner.server.shutdown(_POLL)
        for timer in self._unheard.values():
            timer.cancel()
        self._unheard.clear()
        if self._runner is not None:
            await self._runner.cleanup()

    def _leave(self, quiet: float) -> bool:
        """Ends connections without a request that have been quiet since then. Returns whether there are connections."""
        left = self._open()
        for connection in left:
            if not connection.requests and connection.heard < quiet:
                connection.end()
        return bool(left) or any(not each.made and each.heard >= quiet for each in self._unheard)

    def _open(self) -> list[Any]:
        server = None if self._runner is None else self._runner.server
        return [] if server is None else server.connections

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
        """Number of open connections."""
        return len(self._open())


class _RequestLog(_Adapter):
    """The logger of aiohttp: requests that cannot be parsed are refusals, in one line without a traceback."""

    def __init__(self, refusals: Refusals) -> None:
        super().__init__(_LOG, {})
        self._refusals = refusals

    def exception(self, msg: object, *args: object, exc_info: Any = True, **options: Any) -> None:
        if not self._noted(args, exc_info):
            super().exception(msg, *args, exc_info=exc_info, **options)

    def debug(self, msg: object, *args: object, exc_info: Any = None, **options: Any) -> None:
        if not self._noted(args, exc_info):
            super().debug(msg, *args, exc_info=exc_info, **options)

    def _noted(self, args: tuple[object, ...], error: Any) -> bool:
        if not isinstance(error, HttpProcessingError):
            return False
        peer = args[0] if args else "a client"
        self._refusals.note("malformed", f"malformed request of {peer}: {error.message}")
        return True


class _Refusing(asyncio.Protocol):
    """A connection above the limit: its first request is answered with 503."""

    def __init__(self, others: "set[_Refusing]") -> None:
        self._others = others

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._others.add(self)
        self._timeout = asyncio.get_running_loop().call_later(_REFUSE_WITHIN, self.close)

    def data_received(self, _: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(_REFUSAL)
            self._transport.close()

    def connection_lost(self, _: Exception | None) -> None:
        self._timeout.cancel()
        self._others.discard(self)

    def close(self) -> None:
        self._transport.close()


def _peer(request: web.Request) -> str:
    return peer_name(request.transport.get_extra_info("peername")) if request.transport else ""


def _failure(request: web.Request, error: Exception, error_reply: ErrorReply) -> HttpReply:
    """The answer for an error."""
    headers: dict[str, str] = {}
    if isinstance(error, HttpError):
        status, message, headers = error.status, str(error), error.headers
    elif isinstance(error, mmapqueue.Full):
        status, message = 429, f"the queue is full: {error}"
        # Whole seconds, at least one.
        headers = {"Retry-After": str(max(1, math.ceil(getattr(error, "retry_after", 1.0))))}
    elif isinstance(error, Overloaded):
        # The rest of the body is not read.
        status, message = 503, str(error)
        headers = {"Retry-After": str(math.ceil(error.retry_after)), "Connection": "close"}
    elif isinstance(error, mmapqueue.TooLarge):
        status, message = 413, str(error)
    elif isinstance(error, Malformed):
        status, message = 400, str(error)
    elif isinstance(error, HttpProcessingError):
        status, message, headers = 400, f"the body is malformed: {error.message}", {"Connection": "close"}
    elif isinstance(error, UnicodeError):
        status, message = 400, "a header is not UTF-8"
    elif isinstance(error, ConnectionError):
        status, message = 400, "the connection was closed before the end of the body"
    elif isinstance(error, mmapqueue.MmapQueueError):
        status, message, headers = 503, str(error), {"Retry-After": "1"}
    else:
        _LOG.error("%s failed", request.path, exc_info=error)
        status, message = 500, f"{type(error).__name__}: {error}"
    reply = error_reply(status, message, request.headers.get("Content-Type", "").partition(";")[0].strip().lower())
    return HttpReply(reply.status, reply.body, content_type=reply.content_type, headers={**reply.headers, **headers})


def _response(reply: HttpReply) -> web.Response:
    response = web.Response(status=reply.status, reason=HTTPStatus(reply.status).phrase, headers=reply.headers)
    if reply.headers.get("Connection") == "close":
        response.force_close()
    if reply.body or reply.status not in (204, 304):
        response.headers["Content-Type"] = reply.content_type
        response.body = reply.body
    return response
