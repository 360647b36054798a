"""The sockets of receivers whose clients get no answers: syslog, statsd."""

import asyncio
import logging
import socket
import ssl
import struct
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from mmapqueue.pipeline.gather.receivers._frames import SyslogFrames
from mmapqueue.pipeline.gather.sockets import HANDSHAKE_WITHIN, bind_address, peer_name

#: The keys of receivers that limit a `TcpListener`, and their defaults.
TCP_LIMITS = ("max_connections", "max_held_bytes")
_MAX_CONNECTIONS = 4000
_MAX_HELD_BYTES = 256 << 20
#: The maximum number of bytes of a connection that wait for their push; beyond it the connection is not read.
_MAX_WAITING = 1 << 18
#: The maximum number of datagrams that are pushed together.
_DATAGRAMS = 512
_LARGEST_DATAGRAM = 65_535
#: Requested receive buffer in bytes, for datagrams that arrive during a push. The system may give less.
_RECEIVE_BUFFER = 8 << 20

#: Seconds for the last push when a socket is closed.
_STOP_WITHIN = 5.0

#: Values of SO_LINGER: the close resets the connection (also the kernel's close after a kill), or ends it normally.
_RESETS = struct.pack("ii", 1, 0)
_ENDS = struct.pack("ii", 0, 0)

#: Pushes messages with the addresses of their clients. Returns when they are stored or lost. Raises nothing.
Push = Callable[[list[tuple[bytes, str]]], Awaitable[None]]


class UdpListener:
    """A UDP socket: a datagram is a message. It is not read during a push. Belongs to one event loop.

    Attributes:
        port: The port to which it is bound.
    """

    def __init__(self, listen: str, *, shared: bool, limit: int, push: Push, log: logging.Logger, name: str) -> None:
        """Binds the socket.

        Raises:
            OSError: The address cannot be bound.
        """
        host, port = bind_address(listen)
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM, flags=socket.AI_PASSIVE)[0]
        self._socket = socket.socket(family, socket.SOCK_DGRAM)
        try:
            self._socket.setblocking(False)  # noqa: FBT003
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
            if shared:
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            if host == "::":
                self._socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            self._socket.bind(address)
        except OSError:
            self._socket.close()
            raise
        self.port: int = self._socket.getsockname()[1]
        self._limit = limit
        self._push = push
        self._log = log
        self._name = name
        self._warned = False
        self._stopping = False
        self._pushing: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Starts to read."""
        asyncio.get_running_loop().add_reader(self._socket, self._readable)

    def _readable(self) -> None:
        asyncio.get_running_loop().remove_reader(self._socket)
        self._pushing = asyncio.create_task(self._push_all())

    async def _push_all(self) -> None:
        while messages := self._read():
            await self._push(messages)
        if not self._stopping:
            asyncio.get_running_loop().add_reader(self._socket, self._readable)

    def _read(self) -> list[tuple[bytes, str]]:
        messages: list[tuple[bytes, str]] = []
        while len(messages) < _DATAGRAMS:
            try:
                data, address = self._socket.recvfrom(_LARGEST_DATAGRAM)
            except BlockingIOError:
                break
            except OSError as error:  # An ICMP message of an earlier datagram.
                self._log.debug("%s: %s", self._name, error)
                break
            if len(data) <= self._limit:
                messages.append((data, peer_name(address)))
            elif not self._warned:
                self._warned = True
                self._log.warning(
                    "%s: a datagram of %d bytes from %s exceeds max_message_size = %d and is dropped; "
                    "further ones are dropped without a log line",
                    self._name,
                    len(data),
                    peer_name(address),
                    self._limit,
                )
        return messages

    async def stop(self) -> None:
        """Pushes the datagrams that the socket holds, and closes it."""
        self._stopping = True
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._socket)
        if self._pushing is None or self._pushing.done():
            self._pushing = asyncio.create_task(self._push_all())
        await _end(self._pushing)
        self._socket.close()


class TcpListener:
    """A TCP socket and its connections. Belongs to one event loop.

    A connection is not read while much of it waits for its push, and none is read while too much of all of them does:
    nothing is refused, clients wait. Incomplete messages do not count, since they would keep others waiting for
    clients that do not complete theirs.
    """

    def __init__(
        self,
        listen: str,
        *,
        shared: bool,
        limit: int,
        push: Push,
        log: logging.Logger,
        name: str,
        max_connections: int | None,
        max_held_bytes: int | None,
        context: ssl.SSLContext | None,
    ) -> None:
        self.limit = limit
        self.push = push
        self.log = log
        self.name = name
        self.max_connections = max_connections or _MAX_CONNECTIONS
        self.connections: set[_Connection] = set()
        self.stopping = False
        #: Whether no connection is read, because of all of them.
        self.is_full = False
        self._max_held_bytes = max_held_bytes or _MAX_HELD_BYTES
        self._held = 0
        self._listen = listen
        self._shared = shared
        self._context = context
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listens.

        Raises:
            OSError: The address cannot be bound.
        """
        host, port = bind_address(self._listen)
        self._server = await asyncio.get_running_loop().create_server(
            lambda: _Connection(self),
            None if host == "::" else host,
            port,
            backlog=1024,
            reuse_port=self._shared or None,
            ssl=self._context,
            ssl_handshake_timeout=None if self._context is None else HANDSHAKE_WITHIN,
            start_serving=False,
        )
        if self._context is None:
            # Connections inherit this option, also those that are not accepted yet.
            for each in self._server.sockets:
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESETS)
        await self._server.start_serving()

    @property
    def port(self) -> int:
        """The port on which it listens; 0 before the start and after the stop."""
        return int(self._server.sockets[0].getsockname()[1]) if self._server and self._server.sockets else 0

    def hold(self, more: int) -> None:
        """Notes by how many bytes, perhaps fewer than 0, those that wait for their push grow.

        Connections that were full are read again when half of the limit is free, and not at each push.
        """
        self._held += more
        most = self._max_held_bytes
        is_full = self._held > most // 2 if self.is_full else self._held >= most
        if is_full != self.is_full:
            self.is_full = is_full
            for each in self.connections:
                each.regulate()

    async def stop(self) -> None:
        """Pushes messages that were read, and closes the connections."""
        self.stopping = True
        if self._server is not None:
            self._server.close()
        await asyncio.gather(*[each.stop() for each in self.connections])


class _Connection(asyncio.Protocol):
    """One connection. Messages that were read are pushed, also after the client has reset the connection.

    Without TLS, a client that closes its sending side and waits for the end of the connection can rely on a regular
    end: everything is stored. Any other end, such as a killed process, resets the connection.
    """

    def __init__(self, listener: TcpListener) -> None:
        self._listener = listener
        self._frames = SyslogFrames(listener.limit)
        self._chunks: deque[bytes] = deque()
        self._waiting = 0
        self._not_empty = asyncio.Event()
        self._ended = False
        self._lost = False
        self._warned = False
        self._pushing: asyncio.Task[None] | None = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._peer = peer_name(transport.get_extra_info("peername"))
        if self._listener.stopping:  # Its handshake has ended just now.
            transport.abort()
            return
        if len(self._listener.connections) >= self._listener.max_connections:
            self._listener.log.warning(
                "%s: connection of %s is closed: max_connections = %d",
                *(self._listener.name, self._peer, self._listener.max_connections),
            )
            transport.abort()
            return
        self._listener.connections.add(self)
        self._pushing = asyncio.create_task(self._push())

    def data_received(self, data: bytes) -> None:
        if self not in self._listener.connections:
            return
        self._chunks.append(data)
        self._hold(len(data))
        self._not_empty.set()

    def _hold(self, more: int) -> None:
        self._waiting += more
        self._listener.hold(more)
        self.regulate()

    def regulate(self) -> None:
        """Reads the connection, or does not."""
        if self._ended or self._lost or self._transport.is_closing():
            return
        if self._listener.is_full or self._waiting >= _MAX_WAITING:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def eof_received(self) -> bool:
        self._ended = True
        self._not_empty.set()
        # True keeps the connection open until everything is stored. TLS has no such half-closed state.
        return self._transport.get_extra_info("ssl_object") is None

    def connection_lost(self, _: Exception | None) -> None:
        self._lost = True
        self._not_empty.set()

    async def _push(self) -> None:
        # A pause in connection_made has no effect on transports that start to read afterwards, as uvloop's do.
        self.regulate()
        try:
            while self._chunks or not (self._lost or self._ended):
                await self._not_empty.wait()
                self._not_empty.clear()
                size = sum(map(len, self._chunks))
                await self._store(self._messages())
                self._hold(-size)
                self._warn()
            if self._ended:
                await self._store(self._frames.end())
                if not self._transport.is_closing():
                    self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ENDS)
        finally:
            self._listener.connections.discard(self)
            self._transport.close()
            self._hold(-self._waiting)

    def _messages(self) -> list[bytes]:
        data = b"".join(self._chunks)
        self._chunks.clear()
        return self._frames.feed(data)

    async def _store(self, messages: list[bytes]) -> None:
        if messages:
            await self._listener.push([(each, self._peer) for each in messages])

    def _warn(self) -> None:
        if self._frames.discarded and not self._warned:
            self._warned = True
            self._listener.log.warning(
                "%s: a message from %s exceeds max_message_size = %d and is dropped; "
                "further ones of this connection are dropped without a log line",
                self._listener.name,
                self._peer,
                self._listener.limit,
            )

    async def stop(self) -> None:
        """Stops reading, and pushes messages that were read."""
        self._transport.abort()
        if self._pushing is not None:
            await _end(self._pushing)


async def _end(pushing: "asyncio.Task[None]") -> None:
    """Waits for a push, for a limited time, since the queue may be full."""
    done, _ = await asyncio.wait((pushing,), timeout=_STOP_WITHIN)
    if not done:
        pushing.cancel()
    await asyncio.gather(pushing, return_exceptions=True)
