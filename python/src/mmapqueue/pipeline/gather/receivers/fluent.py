"""Fluent's Forward protocol over TCP and TLS, as Fluent Bit, Fluentd and their loggers send it: entries become OTLP."""

import asyncio
import contextlib
import re
import socket
import ssl
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgpack
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from pydantic import AfterValidator, Field, PrivateAttr, model_validator

from mmapqueue.pipeline._event import OTLP_LOGS, encode
from mmapqueue.pipeline._timeout import timeout
from mmapqueue.pipeline.config import Tls
from mmapqueue.pipeline.event_pb2 import EventType
from mmapqueue.pipeline.gather.holding import Hold, Holding, Late, Overloaded
from mmapqueue.pipeline.gather.identity import identity
from mmapqueue.pipeline.gather.receivers._forward import (
    Handshake,
    acknowledgement,
    message_of,
    request_of,
    unpacked,
    unpacker,
)
from mmapqueue.pipeline.gather.receivers._storing import store
from mmapqueue.pipeline.gather.refusals import Refusals
from mmapqueue.pipeline.gather.sockets import (
    HANDSHAKE_WITHIN,
    bind_address,
    handshake_words,
    listen,
    peer_name,
    server_context,
)
from mmapqueue.pipeline.gather.wire import Malformed
from mmapqueue.pipeline.plugins import Host, Receiver, Size

_LISTEN = re.compile(r"(?:tcp|tls\+tcp)://.*:(\d{1,5})")
#: Bytes that are read at once.
_READ = 1 << 16
#: The maximum number of bytes of an event besides its records.
_HEADER = 1024
#: Records that are made at once, in some milliseconds.
_AT_ONCE = 500
#: Seconds in which a message must arrive, from its first byte.
_MESSAGE_WITHIN = 60.0
#: Seconds for the last push of a connection when the receiver stops.
_STOP_WITHIN = 5.0


def _listen(value: str) -> str:
    found = _LISTEN.fullmatch(value)
    if found is None or int(found[1]) > 65_535:
        raise ValueError("expected tcp://HOST:PORT or tls+tcp://HOST:PORT, such as tcp://0.0.0.0:24224")
    return value


class FluentReceiver(Receiver):
    """Takes entries of Fluent's Forward protocol on a socket of its own; each becomes a log record of OTLP.

    A message with the option `chunk` is acknowledged after its entries are stored, and stored once if the client
    repeats it. While the queue is full, messages wait and the connection is not read; with `on_full: drop` they are
    counted, dropped and acknowledged.

    Attributes:
        listen: tcp://HOST:PORT or tls+tcp://HOST:PORT.
        max_message_size: Bytes of a message, and of its entries after decompression. A larger one ends the connection.
        max_connections: Connections at a time; more are closed.
        max_held_bytes: Bytes of messages that arrive or are being stored, of all connections. Beyond it connections
            are ended.
        tls: Certificates, for tls+tcp.
        shared_key: Clients must know this key.
    """

    type: Literal["fluent"] = "fluent"
    listen: Annotated[str, AfterValidator(_listen)]
    max_message_size: Annotated[Size, Field(le=128 << 20)] = 8 << 20
    max_connections: Annotated[int, Field(ge=1, le=1_000_000)] = 4000
    max_held_bytes: Size = 256 << 20
    tls: Tls | None = None
    shared_key: Annotated[str, Field(min_length=1)] | None = Field(default=None, repr=False)

    _servers: "list[asyncio.Server]" = PrivateAttr(default_factory=list)
    _port: int = PrivateAttr(0)
    #: Kept: a start after a stop, when a reload has failed, must not need the files, which may have changed.
    _context: ssl.SSLContext | None = PrivateAttr(None)
    _connections: "dict[asyncio.Task[None], _Connection]" = PrivateAttr(default_factory=dict)
    _stopping: asyncio.Event = PrivateAttr(default_factory=asyncio.Event)

    @model_validator(mode="after")
    def _check(self) -> "FluentReceiver":
        secure = self.listen.startswith("tls+")
        if secure and self.tls is None:
            raise ValueError("listen: tls+tcp://… needs tls: with certificate and key")
        if self.tls is not None and not secure:
            raise ValueError(f"tls has no effect with listen: {self.listen}; use tls+tcp://…")
        return self

    @property
    def port(self) -> int:
        """The port on which it listens; 0 before the start."""
        return self._port

    @property
    def listens(self) -> tuple[tuple[Literal["tcp", "udp"], str], ...]:
        """As `Receiver.listens`."""
        return (("tcp", self.listen.partition("://")[2]),)

    @property
    def makes(self) -> tuple[str, ...] | None:
        """As `Source.makes`."""
        return (OTLP_LOGS,)

    async def start(self, host: Host) -> None:
        """Listens.

        Raises:
            ConfigError: A file of TLS cannot be read, or is no certificate or key.
            OSError: The address cannot be bound.
        """
        self._stopping.clear()  # It may have been stopped before.
        name = f"{self.listen} (fluent of pipe {host.pipe})"
        refusals = Refusals(name, lambda reason: host.count(reason, 1))
        if self.tls is not None and self._context is None:
            where = f"pipe {host.pipe}: receiver fluent: tls"
            self._context = server_context(self.tls, where, lambda error: refusals.note("tls", handshake_words(error)))
        holding = Holding(self.max_connections, self.max_held_bytes)

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            if self._stopping.is_set() or len(self._connections) >= self.max_connections:
                if not self._stopping.is_set():
                    words = f"a connection beyond max_connections = {self.max_connections} is refused"
                    refusals.note("connections", words)
                writer.transport.abort()
                return
            try:
                with holding.request(host.pipe, 1) as hold:
                    self._connections[task] = connection = _Connection(self, host, refusals, hold, reader, writer)
                    await connection.serve()
            except asyncio.CancelledError:
                # By the stop. Python's streams log tasks that end as cancelled.
                if not self._stopping.is_set():
                    raise
            finally:
                del self._connections[task]
                writer.transport.abort() if self._stopping.is_set() else writer.close()

        address, port = bind_address(self.listen.partition("://")[2])
        try:
            sockets = listen(address, port, shared=host.shared)
            self._port = int(sockets[0].getsockname()[1])
            self._servers = [
                await asyncio.start_server(
                    serve,
                    sock=each,
                    limit=_READ,
                    ssl=self._context,
                    ssl_handshake_timeout=None if self._context is None else HANDSHAKE_WITHIN,
                )
                for each in sockets
            ]
        except OSError as error:
            message = f"pipe {host.pipe}: receiver fluent: cannot listen on {self.listen}: {error}"
            raise OSError(error.errno, message) from error

    async def stop(self) -> None:
        """Closes the socket and the connections. A message that is being stored is stored first, and acknowledged."""
        self._stopping.set()
        for each in self._servers:
            each.close()
        self._servers = []
        for task, connection in self._connections.items():
            if not connection.storing:
                task.cancel()
        tasks = list(self._connections)
        if tasks:
            _, left = await asyncio.wait(tasks, timeout=_STOP_WITHIN)
            for task in left:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def stopping(self) -> asyncio.Event:
        """Set while the receiver stops."""
        return self._stopping


async def _all(records: "Iterator[LogRecord]") -> "list[LogRecord]":
    """Makes records, and lets others use the event loop now and then: a message may have many thousands."""
    made: list[LogRecord] = []
    for each in records:
        made.append(each)
        if len(made) % _AT_ONCE == 0:
            await asyncio.sleep(0)
    return made


class _Connection:
    """One client. Its messages are stored one after the other, and it is not read meanwhile.

    Attributes:
        storing: Whether a message is being stored.
    """

    def __init__(
        self,
        receiver: FluentReceiver,
        host: Host,
        refusals: Refusals,
        hold: Hold,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.storing = False
        self._receiver = receiver
        self._host = host
        self._refusals = refusals
        self._hold = hold
        self._reader = reader
        self._writer = writer
        self._peer = peer_name(writer.get_extra_info("peername"))
        self._messages = unpacker(receiver.max_message_size + _READ)
        #: The end of the last message, and of what was read, in bytes of the connection.
        self._ended = self._fed = 0
        #: When the message that has begun to arrive must be complete, by the clock of the loop.
        self._due = 0.0

    async def serve(self) -> None:
        """Takes messages until the client ends the connection."""
        try:
            if self._receiver.shared_key is not None and not await self._shake_hands(self._receiver.shared_key):
                return
            while await self._read():
                await self._take()
        except (Malformed, msgpack.UnpackException, ValueError, RecursionError) as error:
            words = str(error) or type(error).__name__
            self._refusals.note("malformed", f"connection of {self._peer} is ended: {words}")
        except Overloaded as error:
            self._refusals.note("overloaded", f"{error}; connection of {self._peer} is ended")
        except Late:
            words = f"connection of {self._peer} is ended: a message has not arrived within {_MESSAGE_WITHIN:g} s"
            self._refusals.note("timeout", words)
        except OSError as error:  # The client has gone; what it sent before is stored.
            self._host.log.debug("fluent: %s: %s", self._peer, error)

    async def _read(self) -> bool:
        clock = asyncio.get_running_loop().time
        if self._fed == self._ended:
            data = await self._reader.read(_READ)
            self._due = clock() + _MESSAGE_WITHIN
        else:
            try:
                async with timeout(max(0, self._due - clock())):
                    data = await self._reader.read(_READ)
            except (TimeoutError, asyncio.TimeoutError):
                raise Late from None
        self._fed += len(data)
        self._hold.resize(self._fed - self._ended)
        if self._fed - self._ended > self._receiver.max_message_size + _READ:
            raise Malformed(f"a message has more than max_message_size = {self._receiver.max_message_size} bytes")
        self._messages.feed(data)
        return bool(data)

    async def _take(self) -> None:
        """Stores the messages that have arrived. Those that want no answer are stored together."""
        silent: list[LogRecord] = []
        self.storing = True
        try:
            for value in unpacked(self._messages, "it is"):
                self._ended = self._messages.tell()
                self._due = asyncio.get_running_loop().time() + _MESSAGE_WITHIN
                message = message_of(value, self._receiver.max_message_size)
                records = await _all(message.records)
                if message.chunk is None:
                    silent += records
                    continue
                await self._store(silent, None)
                silent = []
                if not await self._store(records, message.chunk):
                    # Without an answer, the client sends it again, on another connection.
                    raise ConnectionAbortedError("a message is not stored")
                self._writer.write(acknowledgement(message.chunk))
                await self._writer.drain()
        finally:
            await self._store(silent, None)
            self._hold.resize(self._fed - self._ended)
            self.storing = False
        if self._receiver.stopping.is_set():
            raise ConnectionAbortedError("the receiver stops")

    async def _store(self, records: "list[LogRecord]", chunk: str | None) -> bool:
        events = self._events(records)
        if not events:
            return True
        self._hold.resize(self._fed - self._ended + sum(map(len, events)))
        key = None
        if chunk is not None:
            with contextlib.suppress(Malformed):  # Not what an idempotency key may be.
                key = identity({}, "fluent", *events, key=chunk)
        return await store(
            self._host,
            [self._encoded(each) for each in events],
            what=f"fluent: {len(records)} records of {self._peer}",
            # One that has gone sends a chunk again, on another connection.
            waits=(lambda: True) if chunk is None else self._waits,
            stopping=self._receiver.stopping,
            key=key,
        )

    def _waits(self) -> bool:
        """Whether the client waits for its answer, as far as the system knows."""
        return not (self._reader.at_eof() or self._writer.transport.is_closing())

    def _events(self, records: "list[LogRecord]") -> "list[bytes]":
        """Requests of OTLP with the records, as few as fit into events."""
        most = self._host.inbox.max_event_size - _HEADER
        requests: list[bytes] = []
        part: list[LogRecord] = []
        size = 0
        for each in records:
            # With its tag and length, and those of the messages around it.
            length = each.ByteSize() + 32
            if length > most:
                words = f"a record of {length} bytes from {self._peer} is larger than the queue's max_event_size"
                self._refusals.note("too_large", words)
                continue
            if part and size + length > most:
                requests.append(request_of(part))
                part, size = [], 0
            part.append(each)
            size += length
        return [*requests, request_of(part)] if part else requests

    def _encoded(self, request: bytes) -> bytes:
        source = f"fluent://{self._peer}"
        return encode(type=EventType.LOGGING, data=request, content_type=OTLP_LOGS, name="fluent", source=source)

    async def _shake_hands(self, key: str) -> bool:
        handshake = Handshake(key, socket.gethostname())
        self._writer.write(handshake.hello())
        try:
            async with timeout(HANDSHAKE_WITHIN):
                while True:
                    if not await self._read():
                        return False
                    ping: Any = next(unpacked(self._messages, "it is"), None)
                    if ping is not None:
                        break
        except (TimeoutError, asyncio.TimeoutError):
            self._refusals.note("timeout", f"connection of {self._peer} has sent no PING within {HANDSHAKE_WITHIN:g} s")
            return False
        self._ended = self._messages.tell()
        answer, refusal = handshake.answer(ping)
        self._writer.write(answer)
        await self._writer.drain()
        if refusal:
            self._refusals.note("unauthenticated", f"connection of {self._peer} is refused: {refusal}")
            return False
        # What came with the PING.
        await self._take()
        return True
