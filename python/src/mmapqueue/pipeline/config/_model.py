"""The configuration of a pipeline.

Plugin lists hold any plugin here; `_load` narrows them to the types that a file names, so that only these are imported.
"""

from __future__ import annotations

import ipaddress
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from mmapqueue.pipeline.plugins import Duration, Fetcher, Filter, Options, Receiver, Sender, Size

#: Name of the query, consumer and checkpoint that write a pipe's undecodable records to its dead-letter queue.
DEAD_LETTER = "dead_letter"

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$")]


def check_address(value: str) -> str:
    """The value, when it is an address; raises ValueError otherwise."""
    host, colon, port = value.rpartition(":")
    if not colon or "/" in host or not port.isdigit() or int(port) > 65_535:
        raise ValueError("an address is HOST:PORT with a port of 0 to 65535, as 127.0.0.1:4317 or [::]:4317")
    if host.startswith("["):
        ipaddress.IPv6Address(host.strip("[]"))
    return value


#: "HOST:PORT"; port 0 takes a free one.
Address = Annotated[str, AfterValidator(check_address)]


class Tls(Options):
    """Certificates of a server, as PEM files.

    Attributes:
        certificate: The server's chain.
        key: Its private key.
        client_ca: Authority of the clients. When given, clients without a certificate of it are refused.
    """

    certificate: Path
    key: Path
    client_ca: Path | None = None


class Server(Options):
    """A server that receivers share.

    Attributes:
        name: What receivers call it.
        type: Its protocol.
        listen: Address.
        max_connections: Connections at a time; more are refused.
        max_message_size: Bytes of a request, decompressed.
        tls: Certificates; without them the server speaks plain text.
        bearer_token: Clients must send `Authorization: Bearer <token>`.
    """

    name: Name
    type: Literal["grpc", "http"]
    listen: Address
    max_connections: Annotated[int, Field(ge=1, le=1_000_000)] = 4000
    max_message_size: Annotated[Size, Field(le=128 << 20)] = 4 << 20
    tls: Tls | None = None
    bearer_token: str | None = None


class Telemetry(Options):
    """Where metrics are served.

    Attributes:
        listen: Address of /metrics, /health and /ready. Process i of several listens on port + i.
    """

    listen: Address = "127.0.0.1:1234"


class Gather(Options):
    """How events are taken.

    Attributes:
        processes: Processes that share the servers' ports. Each owns a partition of each queue.
        stop_within: How long requests in flight may take when the agent stops.
    """

    processes: Annotated[int, Field(ge=1, le=256)] = 1
    stop_within: Duration = timedelta(seconds=5)


class SparkSettings(Options):
    """The session of `mmapqueue process`.

    Attributes:
        app_name: Name of the application.
        master: Master URL; that of spark-submit counts when there is one.
        conf: Spark's properties.
    """

    app_name: str | None = None
    master: str | None = None
    conf: dict[str, str] = Field(default_factory=dict)


class QueueSettings(Options, extra="allow"):
    """The queue of a pipe. Other keys are those of `mmapqueue.Queue`.

    Attributes:
        dir: Its directory.
        capacity: Bytes that it may hold.
        segment_size: Bytes of each of its files.
        max_event_size: Bytes of an event, at most.
    """

    dir: Path
    capacity: Size = 1 << 30
    segment_size: Size = 16 << 20
    max_event_size: Size = 5 << 20

    def keys(self) -> dict[str, Any]:
        """What `mmapqueue.Queue` is opened with, apart from its directory."""
        return {key: value for key, value in self if key != "dir"}


class DeadLetter(Options, extra="allow"):
    """The queue of records that could not be decoded or sent. Other keys are those of `mmapqueue.Queue`.

    Attributes:
        dir: Its directory.
    """

    dir: Path


class Pipe(Options):
    """From receivers and fetchers through a queue and filters to senders.

    Attributes:
        name: Its name.
        queue: Its queue.
        receivers: What takes events from clients.
        fetchers: What gets events by itself.
        ack: When clients are answered: once the push has returned (survives kill -9), or after an fsync.
        on_full: What becomes of events when the queue is full.
        filters: Applied in this order.
        dead_letter: Where records go that cannot be decoded, or sent.
        checkpoints: Directory of the senders' checkpoints; default: `<queue.dir>.checkpoints`.
        senders: Where rows go. Each has a query, a consumer and a checkpoint of its own.
    """

    name: Name
    queue: QueueSettings
    receivers: tuple[Receiver, ...] = ()
    fetchers: tuple[Fetcher, ...] = ()
    ack: Literal["pushed", "synced"] = "pushed"
    on_full: Literal["reject", "block", "drop"] = "reject"
    filters: tuple[Filter, ...] = ()
    dead_letter: DeadLetter | None = None
    checkpoints: Path | None = None
    senders: tuple[Sender, ...] = ()

    def checkpoint(self, sender: str) -> Path:
        """Directory of a sender's checkpoint."""
        root = self.checkpoints or self.queue.dir.with_name(self.queue.dir.name + ".checkpoints")
        return root / sender

    @model_validator(mode="after")
    def _check(self) -> Pipe:
        _check_unique("sender", [each.name for each in self.senders])
        for sender in self.senders:
            retry = getattr(sender, "retry", None)
            if getattr(retry, "then", None) == "dead_letter" and self.dead_letter is None:
                raise ValueError(f"sender {sender.name}: then: dead_letter needs the pipe's dead_letter.dir")
            if sender.name == DEAD_LETTER and self.dead_letter is not None:
                raise ValueError(f"sender {sender.name}: the pipe's dead-letter query has this name; use another one")
        if not (self.receivers or self.fetchers or self.senders):
            raise ValueError("a pipe needs a receiver, a fetcher or a sender")
        return self


class Pipeline(Options):
    """A configuration file.

    Attributes:
        name: Its name; default: the file's name without suffix.
        telemetry: Where metrics are served; nowhere when None.
        servers: Servers that receivers of all pipes share.
        gather: How events are taken.
        spark: The session of `process`.
        pipes: The pipes.
    """

    name: Name
    telemetry: Telemetry | None = None
    servers: tuple[Server, ...] = ()
    gather: Gather = Gather()
    spark: SparkSettings = SparkSettings()
    pipes: Annotated[tuple[Pipe, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _check(self) -> Pipeline:
        _check_unique("server", [each.name for each in self.servers])
        _check_unique("pipe", [each.name for each in self.pipes])
        _check_unique("queue", [str(each.queue.dir.absolute()) for each in self.pipes])
        protocols = {each.name: each.type for each in self.servers}
        for pipe in self.pipes:
            for receiver in pipe.receivers:
                server = getattr(receiver, "server", None)
                if server is not None and server not in protocols:
                    known = ", ".join(protocols) or "none"
                    raise ValueError(
                        f"pipe {pipe.name}: receiver {receiver.type}: there is no server {server!r}; servers: {known}"
                    )
        return self


def _check_unique(what: str, names: list[str]) -> None:
    twice = sorted({each for each in names if names.count(each) > 1})
    if twice:
        raise ValueError(f"{what} {twice[0]!r} is defined twice")
