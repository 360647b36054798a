"""Syslog (RFC 5424 and RFC 3164) over UDP, TCP and TLS. A message is one event, byte for byte as it was sent."""

import asyncio
import re
import ssl
from collections.abc import Callable
from typing import Annotated, Literal
from zoneinfo import available_timezones

from pydantic import AfterValidator, Field, PrivateAttr, model_validator

from mmapqueue.pipeline._event import encode, repeated
from mmapqueue.pipeline.config import Tls
from mmapqueue.pipeline.event_pb2 import Event, EventType
from mmapqueue.pipeline.gather.receivers._line_sockets import TCP_LIMITS, Push, TcpListener, UdpListener
from mmapqueue.pipeline.gather.receivers._storing import store
from mmapqueue.pipeline.gather.refusals import Refusals
from mmapqueue.pipeline.gather.sockets import handshake_words, server_context
from mmapqueue.pipeline.plugins import Host, Receiver, Size

_LISTEN = re.compile(r"(?:udp|tcp|tls\+tcp)://.*:(\d{1,5})")
_CONTENT_TYPE = "text/x-syslog"
_OFFSET = re.compile(r"[+-](?:0\d|1[0-7]):[0-5]\d|[+-]18:00")
#: Names of Python that Java has not, or not in all of its versions.
_NOT_IN_JAVA = {"EST", "HST", "MST", "ROC", "Factory", "localtime", "posixrules"}
#: The maximum number of bytes of an event besides its message.
_HEADER = 512


def _zone(value: str) -> str:
    """Checks a time zone: what names one here, and in Java, which decodes the messages."""
    if _OFFSET.fullmatch(value) is None and (value in _NOT_IN_JAVA or value not in available_timezones()):
        raise ValueError(
            f"{value!r} is not a time zone of this system; expected a name such as Europe/Berlin, or an offset such as "
            "+02:00"
        )
    return value


def _listen(value: str) -> str:
    found = _LISTEN.fullmatch(value)
    if found is None or int(found[1]) > 65_535:
        raise ValueError("expected udp://HOST:PORT, tcp://HOST:PORT or tls+tcp://HOST:PORT, such as tcp://0.0.0.0:5514")
    return value


class SyslogReceiver(Receiver):
    """Takes syslog messages on a socket of its own.

    Syslog has no answers. TCP: while the queue is full, messages wait and connections are not read, so that clients
    wait; with `on_full: drop` they are counted and dropped. UDP: datagrams that meet a full queue are counted and lost;
    with `on_full: block` the socket is not read, and the system drops what its receive buffer cannot hold.

    Attributes:
        listen: udp://HOST:PORT, tcp://HOST:PORT or tls+tcp://HOST:PORT.
        max_message_size: Bytes of a message. Larger ones are dropped, and logged once a connection.
        max_connections: TCP connections at a time, 4000 by default; more are closed.
        max_held_bytes: Bytes of all TCP connections that wait for their push, 256 MiB by default. Beyond it no
            connection is read until half of it is free.
        tls: Certificates, for tls+tcp.
        time_zone: Zone of times that name none, as those of RFC 3164: a name as Europe/Berlin, or an offset as +02:00.
    """

    type: Literal["syslog"] = "syslog"
    listen: Annotated[str, AfterValidator(_listen)]
    max_message_size: Annotated[Size, Field(le=16 << 20)] = 64 << 10
    max_connections: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    max_held_bytes: Size | None = None
    tls: Tls | None = None
    time_zone: Annotated[str, AfterValidator(_zone)] | None = None

    _listener: UdpListener | TcpListener | None = PrivateAttr(None)
    #: Kept: a start after a stop, when a reload has failed, must not need the files, which may have changed.
    _context: ssl.SSLContext | None = PrivateAttr(None)
    _stopping: asyncio.Event = PrivateAttr(default_factory=asyncio.Event)

    @model_validator(mode="after")
    def _check(self) -> "SyslogReceiver":
        if self.tls is None and self.protocol == "tls+tcp":
            raise ValueError("listen: tls+tcp://… needs tls: with certificate and key")
        if self.tls is not None and self.protocol != "tls+tcp":
            raise ValueError(f"tls has no effect with listen: {self.listen}; use tls+tcp://…")
        for key in TCP_LIMITS:
            if self.protocol == "udp" and getattr(self, key) is not None:
                raise ValueError(f"{key} has no effect with listen: {self.listen}")
        return self

    @property
    def protocol(self) -> str:
        """The protocol in `listen`: udp, tcp or tls+tcp."""
        return self.listen.partition("://")[0]

    @property
    def port(self) -> int:
        """The port on which it listens; 0 before the start."""
        return 0 if self._listener is None else self._listener.port

    @property
    def listens(self) -> tuple[tuple[Literal["tcp", "udp"], str], ...]:
        """As `Receiver.listens`."""
        return (("udp" if self.protocol == "udp" else "tcp", self.listen.partition("://")[2]),)

    @property
    def makes(self) -> tuple[str, ...] | None:
        """As `Source.makes`."""
        return (_CONTENT_TYPE,)

    async def start(self, host: Host) -> None:
        """Listens.

        Raises:
            ValueError: An event of max_message_size would not fit into the queue, or a file of TLS is wrong.
            OSError: The address cannot be bound.
        """
        if self.max_message_size + _HEADER > host.inbox.max_event_size:
            raise ValueError(
                f"pipe {host.pipe}: receiver syslog: max_message_size = {self.max_message_size} and {_HEADER} bytes of "
                f"header exceed the queue's max_event_size = {host.inbox.max_event_size}"
            )
        self._stopping.clear()  # It may have been stopped before.
        address = self.listen.partition("://")[2]
        push = self._push(host)
        try:
            if self.tls is not None and self._context is None:
                where = f"pipe {host.pipe}: receiver syslog: tls"
                self._context = server_context(self.tls, where, self._handshake_failed(host))
            if self.protocol == "udp":
                self._listener = UdpListener(
                    address, shared=host.shared, limit=self.max_message_size, push=push, log=host.log, name="syslog"
                )
            else:
                self._listener = TcpListener(
                    address,
                    shared=host.shared,
                    limit=self.max_message_size,
                    push=push,
                    log=host.log,
                    name="syslog",
                    max_connections=self.max_connections,
                    max_held_bytes=self.max_held_bytes,
                    context=self._context,
                )
            await self._listener.start()
        except OSError as error:
            message = f"pipe {host.pipe}: receiver syslog: cannot listen on {self.listen}: {error}"
            raise OSError(error.errno, message) from error

    async def stop(self) -> None:
        """Closes the socket and the connections. Messages that were read are pushed first, if the queue has room."""
        self._stopping.set()
        if self._listener is not None:
            await self._listener.stop()

    def _handshake_failed(self, host: Host) -> Callable[[ssl.SSLError], None]:
        refusals = Refusals(f"{self.listen} (syslog of pipe {host.pipe})", lambda reason: host.count(reason, 1))
        return lambda error: refusals.note("tls", handshake_words(error))

    def _push(self, host: Host) -> Push:
        waits = self.protocol != "udp"
        # The decoder gets the zone with the message, and so also long after this configuration.
        content_type = _CONTENT_TYPE if self.time_zone is None else f"{_CONTENT_TYPE}; zone={self.time_zone}"

        async def push(messages: list[tuple[bytes, str]]) -> None:
            header, client, size = b"", None, 0
            part: list[bytes] = []
            for data, peer in messages:
                if peer != client:
                    # Fields that the events of a client share are encoded once.
                    client = peer
                    header = encode(
                        type=EventType.LOGGING,
                        content_type=content_type,
                        name="syslog",
                        source=f"syslog+{self.protocol}://{peer}",
                    )
                event = header + repeated(Event.DATA_FIELD_NUMBER, (data,))
                # Smaller than the queue in any case, because a part is stored as a whole or not at all.
                if part and size + len(event) > host.inbox.max_event_size:
                    await self._store(host, part, waits=waits)
                    part, size = [], 0
                part.append(event)
                size += len(event)
            await self._store(host, part, waits=waits)

        return push

    async def _store(self, host: Host, events: list[bytes], *, waits: bool) -> None:
        what = f"syslog: {len(events)} messages"
        await store(host, events, what=what, waits=lambda: waits, stopping=self._stopping)
