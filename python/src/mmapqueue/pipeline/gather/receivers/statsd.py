"""Statsd and DogStatsD over UDP and TCP: lines become data points of OTLP."""

import asyncio
import re
import time
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PrivateAttr, model_validator

from mmapqueue.pipeline._event import OTLP_METRICS, encode
from mmapqueue.pipeline.event_pb2 import EventType
from mmapqueue.pipeline.gather.receivers._line_sockets import TCP_LIMITS, Push, TcpListener, UdpListener
from mmapqueue.pipeline.gather.receivers._points import Points
from mmapqueue.pipeline.gather.receivers._storing import store
from mmapqueue.pipeline.gather.refusals import Refusals
from mmapqueue.pipeline.gather.wire import Malformed
from mmapqueue.pipeline.plugins import Host, Receiver, Size

_LISTEN = re.compile(r"(?:udp|tcp)://.*:(\d{1,5})")
#: The maximum number of bytes of an event besides its points.
_HEADER = 1024
#: Bytes of points after which an event ends: thousands of points, which take some hundredths of a second.
_PART = 1 << 18


def _listen(value: str) -> str:
    found = _LISTEN.fullmatch(value)
    if found is None or int(found[1]) > 65_535:
        raise ValueError("expected udp://HOST:PORT or tcp://HOST:PORT, such as udp://0.0.0.0:8125")
    return value


class StatsdReceiver(Receiver):
    """Takes lines of statsd and DogStatsD on a socket of its own. Points that arrive together are one event.

    Statsd has no answers; a full queue is as for the receiver `syslog`. A line that is none is counted and left out.

    Attributes:
        listen: udp://HOST:PORT or tcp://HOST:PORT.
        max_message_size: Bytes of a datagram, or of a line over TCP. Larger ones are dropped.
        max_connections: TCP connections at a time, 4000 by default; more are closed.
        max_held_bytes: As of the receiver `syslog`.
    """

    type: Literal["statsd"] = "statsd"
    listen: Annotated[str, AfterValidator(_listen)]
    max_message_size: Annotated[Size, Field(le=1 << 20)] = 64 << 10
    max_connections: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    max_held_bytes: Size | None = None

    _listener: UdpListener | TcpListener | None = PrivateAttr(None)
    _stopping: asyncio.Event = PrivateAttr(default_factory=asyncio.Event)

    @model_validator(mode="after")
    def _check(self) -> "StatsdReceiver":
        for key in TCP_LIMITS:
            if self.protocol == "udp" and getattr(self, key) is not None:
                raise ValueError(f"{key} has no effect with listen: {self.listen}")
        return self

    @property
    def protocol(self) -> Literal["tcp", "udp"]:
        """The protocol in `listen`."""
        return "udp" if self.listen.startswith("udp:") else "tcp"

    @property
    def port(self) -> int:
        """The port on which it listens; 0 before the start."""
        return 0 if self._listener is None else self._listener.port

    @property
    def listens(self) -> tuple[tuple[Literal["tcp", "udp"], str], ...]:
        """As `Receiver.listens`."""
        return ((self.protocol, self.listen.partition("://")[2]),)

    @property
    def makes(self) -> tuple[str, ...] | None:
        """As `Source.makes`."""
        return (OTLP_METRICS,)

    async def start(self, host: Host) -> None:
        """Listens.

        Raises:
            OSError: The address cannot be bound.
        """
        self._stopping.clear()  # It may have been stopped before.
        address = self.listen.partition("://")[2]
        options: dict[str, Any] = {
            "shared": host.shared,
            "limit": self.max_message_size,
            "push": self._push(host),
            "log": host.log,
            "name": "statsd",
        }
        try:
            if self.protocol == "udp":
                self._listener = UdpListener(address, **options)
            else:
                self._listener = TcpListener(
                    address,
                    **options,
                    max_connections=self.max_connections,
                    max_held_bytes=self.max_held_bytes,
                    context=None,
                )
            await self._listener.start()
        except OSError as error:
            message = f"pipe {host.pipe}: receiver statsd: cannot listen on {self.listen}: {error}"
            raise OSError(error.errno, message) from error

    async def stop(self) -> None:
        """Closes the socket and the connections. Lines that were read are pushed first, if the queue has room."""
        self._stopping.set()
        if self._listener is not None:
            await self._listener.stop()

    def _push(self, host: Host) -> Push:
        refusals = Refusals(f"{self.listen} (statsd of pipe {host.pipe})", lambda reason: host.count(reason, 1))
        most = min(_PART, (host.inbox.max_event_size - _HEADER) // 2)

        async def push(messages: list[tuple[bytes, str]]) -> None:
            points, client = Points(time.time_ns()), messages[0][1]
            for data, peer in messages:
                for line in data.decode(errors="replace").split("\n"):
                    if points.number and (peer != client or points.size > most):
                        await self._store(host, points, client)
                        points = Points(time.time_ns())
                    client = peer
                    if not line.strip():
                        continue
                    try:
                        points.add(line.strip())
                    except Malformed as error:
                        refusals.note("malformed", f"{peer}: {error}")
            if points.number:
                await self._store(host, points, client)

        return push

    async def _store(self, host: Host, points: Points, client: str) -> None:
        event = encode(
            type=EventType.METRICS,
            data=points.request(),
            content_type=OTLP_METRICS,
            name="statsd",
            source=f"statsd+{self.protocol}://{client}",
        )
        what = f"statsd: {points.number} points"
        await store(host, [event], what=what, waits=lambda: self.protocol == "tcp", stopping=self._stopping)
