"""The configuration of a pipeline.

Plugin lists accept any plugin here; `_load` creates plugins of the types that a file names, so that only these are
imported.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from mmapqueue.pipeline.config._queue import DeadLetter, QueueSettings
from mmapqueue.pipeline.config._refused import Refused
from mmapqueue.pipeline.plugins import Duration, Fetcher, Filter, NonEmptyPath, Options, Receiver, Sender, Size

#: Name of the query, consumer and checkpoint that write a pipe's undecodable records to its dead-letter queue.
DEAD_LETTER = "dead_letter"
#: Name of the consumer by which a queue is shipped into its archive.
SHIPPER = "ship"

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$")]


#: The maximum number of bytes of an event besides the client's data: meta, source.
ENVELOPE = 64 << 10


_ADDRESS = (
    "an address is HOST:PORT with a port of 0 to 65535, such as 127.0.0.1:4317 or [::1]:4317; :4317 means all addresses"
)


def _text(value: Any) -> Any:
    # Properties of Spark are texts, while YAML has numbers and booleans, too.
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


def check_address(value: str) -> str:
    """Returns the value if it is an address; raises ValueError otherwise."""
    host, colon, port = value.rpartition(":")
    if not (colon and port.isascii() and port.isdigit() and int(port) <= 65_535):
        raise ValueError(_ADDRESS)
    if host.startswith("["):
        try:
            ipaddress.IPv6Address(host.strip("[]"))
        except ValueError:
            raise ValueError(_ADDRESS) from None
    elif ":" in host:
        raise ValueError(_ADDRESS)
    return value


_URL = (
    "a URL begins with http:// or https://, and has a host and, if any, a port of 1 to 65535, such as "
    "https://shop.example:8443/logs"
)
#: What no URL contains: whitespace and control characters.
_BLANK = re.compile(r"[\s\x00-\x1f\x7f]")
_ORIGIN = re.compile(r"\*|[A-Za-z][A-Za-z0-9+.-]*://[^\s/,@]+")


_SERVER = "the address of a server is HOST:PORT with a port of 1 to 65535, such as oap:11800 or [2001:db8::1]:4317"


def _check_server(value: str) -> str:
    host, _, port = check_address(value).rpartition(":")
    if not host or int(port) == 0:
        raise ValueError(_SERVER)
    return value


def check_addresses(value: str) -> str:
    """Returns addresses of servers, separated by commas, without blanks.

    Raises:
        ValueError: One is invalid or repeated.
    """
    try:
        addresses = [_check_server(each.strip()) for each in value.split(",")]
    except ValueError:
        raise ValueError(_SERVER) from None
    if len(set(addresses)) < len(addresses):
        raise ValueError(f"an address is repeated in {value}")
    return ",".join(addresses)


def check_url(value: str) -> str:
    """Returns the value if it is a URL to which a client of HTTP can connect; raises ValueError otherwise."""
    try:
        parts = urlsplit(value)
        # Encoded as for the resolver, which does not take empty and overlong labels.
        usable = bool((parts.hostname or "").encode("idna")) and parts.port != 0 and "\\" not in parts.netloc
    except ValueError:
        usable = False
    if not (usable and value.startswith(("http://", "https://")) and _BLANK.search(value) is None):
        raise ValueError(_URL)
    return value


#: "HOST:PORT"; port 0 means any free one.
Address = Annotated[str, AfterValidator(check_address)]
#: One or several "HOST:PORT" of servers to connect to, separated by commas.
Addresses = Annotated[str, AfterValidator(check_addresses)]
#: "http://HOST…" or "https://HOST…".
Url = Annotated[str, AfterValidator(check_url), Field(json_schema_extra={"pattern": "^https?://"})]


class Tls(Options):
    """Certificates of a server, as PEM files.

    Attributes:
        certificate: The server's chain.
        key: Its private key.
        client_ca: Authority of the clients. If set, clients must have a certificate of it.
    """

    certificate: NonEmptyPath
    key: NonEmptyPath
    client_ca: NonEmptyPath | None = None


def _origin(value: str) -> str:
    if _ORIGIN.fullmatch(value) is None:
        raise ValueError(
            f"{value!r} is not an origin; allowed: *, or one such as https://shop.example or https://*.shop.example"
        )
    return value


class Cors(Options):
    """Web pages whose scripts may send requests to an HTTP server.

    Attributes:
        origins: Origins of the pages, as SCHEME://HOST[:PORT]. `*` is any number of characters; alone, all origins.
        headers: Headers that requests may have, besides those that every page may send.
        max_age: The time for which browsers keep the permission.
    """

    origins: Annotated[tuple[Annotated[str, AfterValidator(_origin)], ...], Field(min_length=1)]
    headers: tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")], ...] = (
        "Authorization",
        "Content-Encoding",
        "Content-Type",
    )
    max_age: Duration = timedelta(hours=1)

    def allows(self, origin: str) -> bool:
        """Whether pages of an origin may send."""
        return any(
            each == "*" or re.fullmatch(re.escape(each.lower()).replace(r"\*", "[^/]*"), origin.lower())
            for each in self.origins
        )


class ClientTls(Options):
    """TLS of a client.

    Attributes:
        ca: PEM file of the authorities to trust; the system's, when None.
        certificate: PEM file of the client's own chain, with `key`.
        key: PEM file of its private key.
    """

    ca: NonEmptyPath | None = None
    certificate: NonEmptyPath | None = None
    key: NonEmptyPath | None = None

    @model_validator(mode="after")
    def _check(self) -> ClientTls:
        if self.key is not None and self.certificate is None:
            raise Refused("key has no effect without certificate", "key")
        return self


class Server(Options):
    """A server that receivers share.

    Attributes:
        name: The name by which receivers refer to it.
        type: Its protocol.
        listen: Address.
        max_connections: The maximum number of connections at a time; further ones are closed.
        max_message_size: Bytes of a request, decompressed.
        max_requests: The maximum number of requests in progress; further ones are refused, and may be sent again. Of
            http at most max_connections, since a connection has one request at a time.
        max_held_bytes: The maximum number of bytes of these requests, those that still arrive included.
        request_timeout: The time in which a request must arrive.
        tls: Certificates; without them the server speaks plain text.
        bearer_token: Clients must send `Authorization: Bearer <token>`.
        cors: Of http: web pages whose scripts may send requests; None for none.
    """

    name: Name
    type: Literal["grpc", "http"]
    listen: Address
    max_connections: Annotated[int, Field(ge=1, le=1_000_000)] = 4000
    max_message_size: Annotated[Size, Field(le=128 << 20)] = 4 << 20
    max_requests: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000
    max_held_bytes: Size = 256 << 20
    request_timeout: Annotated[Duration, Field(gt=timedelta(0))] = timedelta(minutes=1)
    tls: Tls | None = None
    bearer_token: Annotated[str, Field(min_length=1)] | None = Field(default=None, repr=False)
    cors: Cors | None = None

    @model_validator(mode="after")
    def _check(self) -> Server:
        if self.type == "grpc" and "cors" in self.model_fields_set:
            raise Refused("cors has no effect with type: grpc", "cors")
        if self.type == "http" and "max_requests" in self.model_fields_set and self.max_requests > self.max_connections:
            words = f"max_requests above max_connections = {self.max_connections} has no effect with type: http"
            raise Refused(words, "max_requests")
        return self


class Telemetry(Options):
    """Where metrics are served.

    Attributes:
        listen: Address of /metrics, /health and /ready. Process i of several listens on port + i.
        stalled_after: The time without progress after which a sender that lags is not ready.
    """

    listen: Address = "127.0.0.1:1234"
    stalled_after: Annotated[Duration, Field(gt=timedelta(0))] = timedelta(minutes=5)


class Gather(Options):
    """The gathering half of a pipeline.

    Attributes:
        processes: Processes that share the servers' ports. Each owns a partition of each queue.
        stop_within: The time that requests in flight may take when the agent stops.
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
    conf: dict[str, Annotated[str, BeforeValidator(_text)]] = Field(default_factory=dict, repr=False)


def sends_any(sender: Sender, made: Iterable[str]) -> bool:
    """Whether a sender sends some of these content types, each of which may be the beginning of several."""
    takes = sender.takes
    return takes is None or any(a.startswith(b) or b.startswith(a) for a in made for b in takes)


class Pipe(Options):
    """A path from receivers and fetchers through a queue and filters to senders.

    Attributes:
        name: The pipe's name.
        queue: The pipe's queue.
        receivers: Plugins that take events from clients.
        fetchers: Plugins that fetch events by themselves.
        ack: Whether clients are answered after the push (survives kill -9), or after an fsync.
        on_full: The treatment of events when the queue is full; "overflow" gives up for the archive what it has, and
            rejects events while the archive is away.
        idempotency_keys: The number of requests with an idempotency key that are remembered, so that they are stored
            once; 0 ignores the keys.
        filters: Applied in this order.
        on_undecodable: The treatment of records that cannot be decoded: stored in the dead-letter queue, or dropped and
            counted.
        on_damage: The treatment of damaged records: skipped, logged and counted, or an error that ends the query.
        dead_letter: The queue for records that cannot be decoded or sent; default: `dead_letters`.
        checkpoints: Directory of the senders' checkpoints; default: `<queue.dir>.checkpoints`.
        senders: The targets of rows. Each has a query, a consumer and a checkpoint of its own.
    """

    name: Name
    queue: QueueSettings
    receivers: tuple[Receiver, ...] = ()
    fetchers: tuple[Fetcher, ...] = ()
    ack: Literal["pushed", "synced"] = "pushed"
    on_full: Literal["reject", "block", "drop", "overflow"] = "reject"
    idempotency_keys: Annotated[int, Field(ge=0, le=10_000_000)] = 100_000
    filters: tuple[Filter, ...] = ()
    on_undecodable: Literal["dead_letter", "drop"] = "dead_letter"
    on_damage: Literal["skip", "error"] = "skip"
    dead_letter: DeadLetter | None = None
    checkpoints: NonEmptyPath | None = None
    senders: tuple[Sender, ...] = ()

    def checkpoint(self, sender: str) -> Path:
        """Directory of a sender's checkpoint."""
        root = self.checkpoints or self.queue.dir.with_name(self.queue.dir.name + ".checkpoints")
        return root / sender

    def queue_keys(self) -> dict[str, Any]:
        """The arguments of `mmapqueue.Queue`, apart from the directory, for the process that gathers."""
        return self.queue.keys() | ({"overflow": "archive"} if self.on_full == "overflow" else {})

    @property
    def keys_directory(self) -> Path:
        """Directory of the idempotency keys that the pipe remembers."""
        return self.queue.dir.with_name(self.queue.dir.name + ".keys")

    @property
    def dead_letters(self) -> DeadLetter | None:
        """The dead-letter queue; None when no record can go there.

        Without `dead_letter` it is in `<queue.dir>.dead`, and keeps the newest dead letters: half the capacity of the
        pipe's queue. So undecodable records never stop a query.
        """
        if self.dead_letter is not None:
            return self.dead_letter
        if not self.senders or not self._has_dead_letters():
            return None
        directory = self.queue.dir.with_name(self.queue.dir.name + ".dead")
        return DeadLetter(dir=directory, max_consumer_lag=self.queue.total // 2)

    def _has_dead_letters(self) -> bool:
        return self.on_undecodable == "dead_letter" or any(each.dead_letters for each in self.senders)

    @property
    def exploded(self) -> str | None:
        """What the last filter `explode` makes: logs, spans or points; None without one."""
        found = [str(getattr(each, "rows", "")) for each in self.filters if each.type == "explode"]
        return found[-1] if found else None

    def consumers(self) -> list[str]:
        """Names of the queue's consumers that `process` has: one for each sender, and that of undecodable records."""
        names = [each.name for each in self.senders]
        if names and self.on_undecodable == "dead_letter":
            names.append(DEAD_LETTER)
        return names

    def queries(self) -> list[str]:
        """Names of the streaming queries that `process` runs, in the order of their consumers."""
        return [f"{self.name}.{name}" for name in self.consumers()]

    @model_validator(mode="after")
    def _check(self) -> Pipe:
        _check_unique("sender", [each.name for each in self.senders], "senders", "name")
        # Only named ones: they store positions under their name.
        names = [str(getattr(each, "name", f"#{index}")) for index, each in enumerate(self.fetchers)]
        _check_unique("fetcher", names, "fetchers", "name")
        for index, sender in enumerate(self.senders):
            retry = getattr(sender, "retry", None)
            if getattr(retry, "then", None) == "dead_letter" and self.dead_letter is None:
                raise Refused("needs `dead_letter: {dir: …}` of the pipe", "senders", index, "retry", "then")
            if sender.encode is not None:
                self._check_encoding(sender, index)
            if sender.name == DEAD_LETTER and self.on_undecodable == "dead_letter":
                raise Refused(
                    f"{sender.name!r} is invalid; allowed: any other name; the query for dead letters has this one",
                    *("senders", index, "name"),
                )
            if sender.name == SHIPPER and self.queue.archive_uri is not None:
                raise Refused(
                    f"{sender.name!r} is invalid; allowed: any other name; the consumer that ships has this one",
                    *("senders", index, "name"),
                )
        if self.dead_letter is not None and not self._has_dead_letters():
            raise Refused("has no effect with on_undecodable: drop and senders without dead letters", "dead_letter")
        if self.on_full == "overflow" and (self.queue.archive_uri is None or self.queue.overflow == "wait"):
            raise Refused("overflow needs archive_uri in the pipe's queue, and no overflow: wait there", "on_full")
        if not (self.receivers or self.fetchers or self.senders):
            raise Refused("a pipe needs a receiver, a fetcher or a sender")
        needed = self.queue.max_event_size + ENVELOPE
        given = self.dead_letter.max_event_size if self.dead_letter is not None else None
        if given is not None and given < needed:
            raise Refused(
                f"{given} is invalid; allowed: at least {needed}, which is queue.max_event_size + {ENVELOPE}",
                *("dead_letter", "max_event_size"),
            )
        return self

    def _check_encoding(self, sender: Sender, index: int) -> None:
        at = ("senders", index, "encode")
        if sender.takes is not None and not any("proto=otlp" in each for each in sender.takes):
            raise Refused(f"a sender of type {sender.type} does not send OTLP; allowed: without encode", *at)
        if all(each.keeps_types for each in self.filters):
            raise Refused("needs rows of logs, spans or points; add the filter {type: explode, rows: logs}", *at)


class Pipeline(Options):
    """A configuration file.

    Attributes:
        name: The pipeline's name; default: the file's name without suffix.
        telemetry: The server of metrics; None for none.
        servers: Servers that receivers of all pipes share.
        gather: The gathering half.
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
        _check_unique("server", [each.name for each in self.servers], "servers", "name")
        _check_unique("pipe", [each.name for each in self.pipes], "pipes", "name")
        self._check_servers()
        return self

    def _check_servers(self) -> None:
        servers = {each.name: each for each in self.servers}
        for number, pipe in enumerate(self.pipes):
            for index, receiver in enumerate(pipe.receivers):
                name = getattr(receiver, "server", None)
                if name is None:
                    continue
                if name not in servers:
                    known = ", ".join(servers) or "none"
                    raise Refused(
                        f"there is no server {name!r}; servers: {known}",
                        *("pipes", number, "receivers", index, "server"),
                    )
                needed = servers[name].max_message_size + ENVELOPE
                if pipe.queue.max_event_size < needed:
                    raise Refused(
                        f"{pipe.queue.max_event_size} is invalid; allowed: at least {needed}, which is "
                        f"max_message_size of the server {name!r} + {ENVELOPE}",
                        *("pipes", number, "queue", "max_event_size"),
                    )


def _check_unique(what: str, names: list[str], *at: str) -> None:
    for index, name in enumerate(names):
        if name in names[:index]:
            raise Refused(f"{what} {name!r} is defined twice", at[0], index, *at[1:])
