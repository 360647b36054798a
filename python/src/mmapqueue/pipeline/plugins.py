"""The interface of plugins: each is one class, with its options as fields and its behaviour as methods.

    class Webhook(Receiver):
        type: Literal["webhook"] = "webhook"
        server: str
        path: str = "/hook"

        async def start(self, host: Host) -> None:
            async def take(request: HttpRequest) -> HttpReply: ...
            host.http(self.server).post(self.path, take)

Its distribution names it as an entry point: `[project.entry-points."mmapqueue.receivers"] webhook = "package:Webhook"`.
The name is the value of `type:` in a configuration.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from mmapqueue._values.arguments import size_in_bytes
from mmapqueue._values.durations import time_span
from mmapqueue._values.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter


def _duration(value: Any) -> timedelta:
    try:
        return time_span("", value)
    except ConfigError as error:
        raise ValueError(f"allowed: {error.allowed}") from None


def _size(value: Any) -> int:
    try:
        return size_in_bytes("", value, minimum=0)
    except ConfigError as error:
        raise ValueError(f"allowed: {error.allowed}") from None


def _path(value: Any) -> Any:
    # pathlib takes an empty string for the current directory.
    if value == "":
        raise ValueError("allowed: at least 1 character")
    return value


#: A path of a file or directory; not empty.
NonEmptyPath = Annotated[Path, BeforeValidator(_path)]
#: A time span: "500ms", "2s", "1m", "1h", "1d", or 0.
Duration = Annotated[
    timedelta, BeforeValidator(_duration, json_schema_input_type=str | Literal[0]), Field(ge=timedelta(0))
]
#: A number of bytes from 0 on: 4096, "64k", "4m", "2g".
Bytes = Annotated[int, BeforeValidator(_size, json_schema_input_type=int | str)]
#: A number of bytes from 1 on.
Size = Annotated[Bytes, Field(ge=1)]


class Options(BaseModel):
    """A part of the configuration. Immutable. Unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)


class Plugin(Options):
    """One part of a pipe.

    Attributes:
        type: The plugin's name in a configuration.
    """

    #: The group of entry points for plugins of this kind.
    group: ClassVar[str]
    type: str

    def resolved(self, base: Path) -> Plugin:  # noqa: ARG002
        """A copy in which relative paths are those of the configuration file's directory.

        Fields of the type Path are resolved without this method.
        """
        return self


class Inbox(Protocol):
    """The entry to a pipe's queue. Its methods are awaited on the agent's event loop.

    Attributes:
        max_event_size: Bytes that a serialized event may have.
    """

    max_event_size: int

    async def put(self, *records: bytes, key: bytes | None = None) -> None:
        """Stores serialized events, all of them or none.

        Returns after the push: the events survive kill -9, and a loss of power with `ack: synced`. When the queue is
        full: waits with `on_full: block`; counts the events as abandoned and returns with `drop`.

        Args:
            records: The events.
            key: Identity of the request, of any length. Of requests with equal keys only the first one is stored, also
                when the agent was killed meanwhile; the others return. The pipe remembers `idempotency_keys` of them.

        Raises:
            mmapqueue.Full: The queue is full, with `on_full: reject`. Try again after `retry_after` seconds.
            mmapqueue.TooLarge: An event has more than `max_event_size` bytes, or all together more than the queue.
            mmapqueue.Closed: The agent is stopping.
        """

    async def put_once(self, producer: str, sequence: int, records: Sequence[bytes]) -> bool:
        """Stores events together with a producer's sequence, once: `mmapqueue.Queue.push_once`. Waits while full.

        A call that was cancelled pushes nothing after it has ended.

        Returns:
            False when the producer had pushed this sequence, or a higher one, before.
        """

    async def last_sequence(self, producer: str) -> int | None:
        """The last sequence that a producer has pushed; None for an unknown producer."""

    async def producers(self) -> list[str]:
        """Names of the producers of `put_once`, in alphabetical order."""

    async def forget(self, producer: str) -> None:
        """Deletes a producer's sequences, which may start again; its records stay. Ignores an unknown producer."""


@dataclass(frozen=True)
class HttpRequest:
    """One request.

    Attributes:
        path: The path, without query.
        headers: The headers; keys are case-insensitive.
        body: The body, decompressed.
        peer: Address of the client, as `192.0.2.1:50312` or `[2001:db8::1]:50312`.
    """

    path: str
    headers: Mapping[str, str]
    body: bytes
    peer: str

    @property
    def content_type(self) -> str:
        """The Content-Type, empty when there is none."""
        return self.headers.get("Content-Type", "")

    @property
    def media_type(self) -> str:
        """The Content-Type without parameters, in lower case."""
        return self.content_type.partition(";")[0].strip().lower()


@dataclass(frozen=True)
class HttpReply:
    """An answer.

    Attributes:
        status: The status.
        body: The body.
        content_type: Media type of the body.
        headers: Further headers.
    """

    status: int = 200
    body: bytes = b""
    content_type: str = field(default="text/plain; charset=utf-8", kw_only=True)
    headers: Mapping[str, str] = field(default_factory=dict, kw_only=True)


class HttpError(Exception):
    """Answers a request with an error.

    Attributes:
        status: Status of the answer.
        headers: Further headers of the answer.
    """

    def __init__(self, status: int, message: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})


class GrpcError(Exception):
    """Ends a call with a status.

    Args:
        status: Name of the status, such as "UNAVAILABLE".
        message: Details for the client.

    Attributes:
        status: Name of the status.
    """

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status


class GrpcCall(Protocol):
    """Properties of one request of gRPC.

    Attributes:
        path: The method, as `/package.Service/Method`.
    """

    path: str

    @property
    def peer(self) -> str:
        """Address of the client, as `192.0.2.1:50312` or `[2001:db8::1]:50312`."""

    @property
    def metadata(self) -> dict[str, str]:
        """Text metadata of the request. The last of equal keys counts; binary entries are left out."""


#: Takes the bytes of a request, and returns those of the reply.
Unary: TypeAlias = "Callable[[bytes, GrpcCall], Awaitable[bytes]]"
#: Takes the messages of a stream and returns the bytes of the reply.
Stream: TypeAlias = "Callable[[AsyncIterator[bytes], GrpcCall], Awaitable[bytes]]"
#: Takes the messages of a stream and generates those of the answer.
Exchange: TypeAlias = "Callable[[AsyncIterator[bytes], GrpcCall], AsyncGenerator[bytes, None]]"


class GrpcMethods(Protocol):
    """The methods of a gRPC server, which receivers share."""

    def unary(self, path: str, handler: Unary, *, owner: str = "a receiver", pipe: str = "") -> None:
        """Registers a method with one request message.

        Args:
            path: The method, as `/package.Service/Method`.
            handler: Called for each request. Its client is answered when it returns.
            owner: The pipe and the receiver, for errors.
            pipe: The pipe: pipes that share a server have equal parts of its limits.

        Raises:
            ValueError: The method is registered already.
        """

    def stream(self, path: str, handler: Stream, *, owner: str = "a receiver", pipe: str = "") -> None:
        """Registers a method with a stream of request messages and one reply. Otherwise as `unary`."""

    def exchange(self, path: str, handler: Exchange, *, owner: str = "a receiver", pipe: str = "") -> None:
        """Registers a method that answers with any number of messages: also one of both. Otherwise as `unary`.

        The client gets each reply at once.
        """

    def answer(self, path: str, *, reply: bytes = b"") -> None:
        """Answers requests to a method with these bytes, unless a handler is registered for it.

        Several receivers may do that for one method. The messages of such requests are discarded.
        """


#: Takes a request and returns its answer.
Handler: TypeAlias = "Callable[[HttpRequest], Awaitable[HttpReply]]"
#: Makes the answer for an error, from its status, its message and the request's media type.
ErrorReply: TypeAlias = "Callable[[int, str, str], HttpReply]"


def text_error(status: int, message: str, _media_type: str) -> HttpReply:
    """An error as one line of text."""
    return HttpReply(status, f"{message}\n".encode())


class HttpRoutes(Protocol):
    """The paths of an HTTP server, which receivers share."""

    def post(
        self,
        path: str,
        handler: Handler,
        *,
        owner: str = "a receiver",
        pipe: str = "",
        error_reply: ErrorReply = text_error,
    ) -> None:
        """Registers a path.

        Args:
            path: The path, as `/v1/logs`.
            handler: Called for each POST request. Its client is answered when it returns.
            owner: The pipe and the receiver, for errors.
            pipe: The pipe, whose requests share a part of the connections.
            error_reply: Makes the answers to errors, and may choose another status.

        Raises:
            ValueError: The path is already registered, or not a path.
        """


class Host(Protocol):
    """The environment in which a receiver or fetcher runs.

    Attributes:
        pipe: Name of the pipe.
        inbox: The entry to the pipe's queue.
        log: Logger of this pipe.
        shared: Whether other processes of the pipeline listen on the same ports (SO_REUSEPORT).
    """

    pipe: str
    log: logging.Logger
    shared: bool

    @property
    def inbox(self) -> Inbox:
        """The entry to the pipe's queue."""

    def count(self, status: str, number: int) -> None:
        """Counts events that did not reach the inbox, for instance ("fail", 1) after a request that failed.

        They appear in gatherer_receive_count, or in gatherer_fetch_count for a fetcher. The inbox counts its own.
        """

    def protocol(self, server: str) -> Literal["grpc", "http"]:
        """The protocol of a server."""

    def grpc(self, name: str) -> GrpcMethods:
        """The gRPC server of that name; pipes share it."""

    def http(self, name: str) -> HttpRoutes:
        """The HTTP server of that name; pipes share it."""


class Source(Plugin):
    """Makes events: a receiver or a fetcher."""

    @property
    def makes(self) -> tuple[str, ...] | None:
        """How the content types of its events begin; None when that is unknown before they come."""
        return None


class Receiver(Source):
    """Takes events from clients, and answers when they are stored."""

    group = "mmapqueue.receivers"

    @property
    def listens(self) -> tuple[tuple[Literal["tcp", "udp"], str], ...]:
        """Addresses of sockets of its own: HOST:PORT each."""
        return ()

    @abstractmethod
    async def start(self, host: Host) -> None:
        """Registers with a server, or opens sockets. Returns when the receiver is ready to take events."""

    async def stop(self) -> None:
        """Stops taking events. Requests in flight are answered first. Servers are stopped by the agent."""


class Fetcher(Source):
    """Fetches events by itself."""

    group = "mmapqueue.fetchers"

    @abstractmethod
    async def run(self, host: Host) -> None:
        """Fetches until it is cancelled. An exception is logged, and `run` is called again after a back-off."""


class Filter(Plugin):
    """Transforms a streaming DataFrame into another DataFrame."""

    group = "mmapqueue.filters"
    #: Whether rows that pass keep their content types.
    keeps_types: ClassVar[bool] = False

    @abstractmethod
    def apply(self, events: DataFrame) -> DataFrame:
        """The filtered rows. Must be deterministic: a batch that is repeated must give the same rows."""


class Stopping(Exception):
    """The query must stop; its micro-batch will be repeated."""


class SenderContext(Protocol):
    """The environment in which a sender is started."""

    @property
    def spark(self) -> SparkSession:
        """The session."""

    @property
    def pipe(self) -> str:
        """Name of its pipe."""

    @property
    def query(self) -> str:
        """Name of its query, `<pipe>.<sender>`."""

    @property
    def queue_id(self) -> str:
        """Identity of the pipe's queue; of several partitions, of the first one."""

    @property
    def checkpoint(self) -> Path:
        """Directory of the query's checkpoint."""

    @property
    def dead_letter(self) -> Path | None:
        """Directory of the pipe's dead-letter queue, None when it has none."""

    def writer(self, rows: DataFrame) -> DataStreamWriter:
        """A writer with the query's name, checkpoint and trigger. The sender adds the sink and starts it."""

    def queue_ids(self) -> Mapping[int, str]:
        """The present identity of each partition of the pipe's queue, for idempotency keys."""

    def write_dead_letters(self, events: DataFrame) -> None:
        """Pushes serialized events, a column `value`, to the dead-letter queue: all of them, or none. At least once."""

    def sleep(self, seconds: float) -> None:
        """Waits inside a `foreachBatch` function. Raises `Stopping` as soon as the query must stop."""

    def waiting(self, reason: str | None) -> None:
        """Reports why the sender cannot continue, which /ready shows; None when it can continue."""

    def count(self, status: str, records: int) -> None:
        """Counts rows by their outcome: success, dead_letter, dropped or rejected."""


class Batch(Options):
    """Limits of a sender's micro-batches.

    Attributes:
        interval: Time between the starts of two micro-batches (Satellite's flush_time).
        max_records: The maximum number of records of the queue in a micro-batch (Satellite's max_buffer_size).
        max_bytes: The maximum number of bytes of the queue in a micro-batch.
        min_records: A micro-batch waits for this number of records (Satellite's min_flush_events),
        longest_wait: but at most for this time.
    """

    interval: Duration = timedelta(seconds=1)
    max_records: Annotated[int, Field(ge=1)] | None = None
    max_bytes: Size | None = None
    min_records: Annotated[int, Field(ge=1)] = 1
    longest_wait: Duration = timedelta(minutes=1)

    @model_validator(mode="after")
    def _check(self) -> Batch:
        if self.max_records is not None and self.min_records > self.max_records:
            raise ValueError(f"min_records = {self.min_records} exceeds max_records = {self.max_records}")
        if "longest_wait" in self.model_fields_set and self.min_records == 1:
            raise ValueError("longest_wait has no effect without min_records of 2 or more")
        return self


class Sender(Plugin):
    """Writes a pipe's rows to a target, as a streaming query of its own.

    Attributes:
        name: The sender's name, also that of its query, consumer and checkpoint. Unique in its pipe.
        where: SQL condition for the filtered rows that the sender gets; None for all.
        encode: `otlp`: rows of logs, spans or points become events of OTLP before they are sent.
        batch: The size and the interval of micro-batches.
    """

    group = "mmapqueue.senders"
    #: The maximum number of records and bytes in a micro-batch, when `batch` sets neither.
    bounds: ClassVar[tuple[int | None, int | None]] = (None, None)
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$")]
    where: str | None = None
    encode: Literal["otlp"] | None = None
    batch: Batch = Batch()

    @property
    def target(self) -> Path | None:
        """The local directory to which it writes; None for another target."""
        return None

    @property
    def sole_writer(self) -> bool:
        """Whether no other sender may write to `target`."""
        return False

    @property
    def writes_queue(self) -> bool:
        """Whether the target is a queue."""
        return False

    @property
    def takes(self) -> tuple[str, ...] | None:
        """How the content types that it can send begin; None for all."""
        return None

    def most_bytes(self, context: SenderContext) -> int | None:  # noqa: ARG002
        """The maximum number of bytes of the queue that the target can take in a micro-batch; None for any number.

        Called before each start, and may create the target.
        """
        return None

    def refused(self, events: DataFrame, context: SenderContext) -> DataFrame | None:  # noqa: ARG002
        """Rows that `start` does not write since the target can never take them, with a column `reason`."""
        return None

    @property
    def dead_letters(self) -> bool:
        """Whether rows of this sender may become dead letters."""
        return False

    @property
    def bounded(self) -> Batch:
        """The limits of micro-batches: `batch`, and the sender's own bounds where `batch` sets none."""
        records, size = self.bounds
        batch, given = self.batch, {}
        if batch.max_records is None and records is not None:
            given["max_records"] = max(records, batch.min_records)
        if batch.max_bytes is None and size is not None:
            given["max_bytes"] = size
        return batch.model_copy(update=given) if given else batch

    def check(self, events: DataFrame, context: SenderContext) -> None:
        """Raises when `start` could not work. Called for all senders before the first one is started.

        Raises:
            mmapqueue.ConfigError: An option does not fit the rows or the pipe.
        """

    @abstractmethod
    def start(self, events: DataFrame, context: SenderContext) -> StreamingQuery:
        """Starts the query: `context.writer(events).format(…).start()`. Called again after the query has failed."""


_P = TypeVar("_P", bound=Plugin)


@cache
def entries(group: str) -> dict[str, EntryPoint]:
    """The installed plugins of a group, by their names in a configuration."""
    return {each.name: each for each in sorted(entry_points(group=group), key=lambda each: each.name)}


def find(kind: type[_P], name: str) -> type[_P]:
    """The plugin class of that name.

    Raises:
        KeyError: No plugin of that kind has the name; the message lists those that are installed.
        TypeError: The entry point is not a class of that kind.
    """
    found = entries(kind.group).get(name)
    if found is None:
        raise KeyError(f"there is no plugin {name!r} in {kind.group}; installed: {', '.join(entries(kind.group))}")
    plugin = found.load()
    if not (isinstance(plugin, type) and issubclass(plugin, kind)):
        raise TypeError(f"{found.value}, which is installed as {name!r} in {kind.group}, is not a {kind.__name__}")
    return plugin
