"""Prometheus' remote write, versions 1 and 2. A request is one event, byte for byte as it was, without compression."""

from typing import Annotated, Any, Literal, NamedTuple

from google.protobuf.message import DecodeError
from pydantic import Field

from mmapqueue.pipeline._event import encode
from mmapqueue.pipeline.config._model import ENVELOPE
from mmapqueue.pipeline.event_pb2 import EventType
from mmapqueue.pipeline.gather.bodies import Damaged, TooLong, unsnappy
from mmapqueue.pipeline.gather.http_body import too_large
from mmapqueue.pipeline.gather.identity import identity
from mmapqueue.pipeline.gather.receivers.remote_write_pb2 import Request, WriteRequest
from mmapqueue.pipeline.gather.wire import Malformed
from mmapqueue.pipeline.plugins import Host, HttpError, HttpReply, HttpRequest, Receiver, text_error

_MEDIA_TYPE = "application/x-protobuf"
_FIRST, _SECOND = "prometheus.WriteRequest", "io.prometheus.write.v2.Request"
_WRITTEN = "X-Prometheus-Remote-Write-{}-Written"


class RemoteWriteReceiver(Receiver):
    """Takes requests of Prometheus' remote write.

    Bodies may have any compression of the server; without the header Content-Encoding they are snappy, as senders have.
    A full queue is answered with 503, since senders repeat a request after 429 only if they are configured to. What can
    never be stored is answered with 400, 413 or 415, after which senders drop it.

    Attributes:
        server: Name of an HTTP server.
        path: The path of the requests.
    """

    type: Literal["remote_write"] = "remote_write"
    server: str
    path: Annotated[str, Field(pattern=r"^/[A-Za-z0-9_.~:@!$&'()*+,;=%/-]*$")] = "/api/v1/write"

    @property
    def makes(self) -> tuple[str, ...] | None:
        """As `Source.makes`."""
        return (f"{_MEDIA_TYPE}; proto={_FIRST}", f"{_MEDIA_TYPE}; proto={_SECOND}")

    async def start(self, host: Host) -> None:
        """Registers with the server."""

        async def take(request: HttpRequest) -> HttpReply:
            proto = _proto(request)
            try:
                body = await _body(request, host.inbox.max_event_size - ENVELOPE)
                written = (_check_first if proto == _FIRST else _check_second)(body)
                key = identity(request.headers, request.path, body)
            except Malformed:
                host.count("malformed", 1)
                raise
            await host.inbox.put(
                encode(
                    type=EventType.METRICS,
                    data=body,
                    content_type=f"{_MEDIA_TYPE}; proto={proto}",
                    name=request.path,
                    source=f"remote-write://{request.peer}",
                ),
                key=key,
            )
            return HttpReply(204, headers={_WRITTEN.format(name): str(n) for name, n in written._asdict().items()})

        host.http(self.server).post(
            self.path, take, owner=f"pipe {host.pipe}: receiver remote_write", pipe=host.pipe, error_reply=_error_reply
        )


async def _body(request: HttpRequest, limit: int) -> bytes:
    """The body. Clients of version 1 leave out the header Content-Encoding, and always send snappy."""
    if "Content-Encoding" in request.headers:
        return request.body
    try:
        return await unsnappy(request.body, limit)
    except TooLong:
        raise too_large(limit) from None
    except Damaged as error:
        raise Malformed(str(error)) from error


class _Written(NamedTuple):
    """What an answer says of a request."""

    Samples: int
    Histograms: int
    Exemplars: int


def _proto(request: HttpRequest) -> str:
    """The message that the content type names, as version 2 asks; without a name that of version 1."""
    media_type, *parameters = request.content_type.split(";")
    names = [each.partition("=")[2].strip() for each in parameters if each.strip().lower().startswith("proto=")]
    proto = names[0] if names else _FIRST
    if media_type.strip().lower() != _MEDIA_TYPE or proto not in (_FIRST, _SECOND):
        allowed = f"{_MEDIA_TYPE} with proto={_FIRST} or proto={_SECOND}"
        raise HttpError(415, f"content type {request.content_type!r} is not {allowed}")
    return proto


def _check_first(body: bytes) -> _Written:
    request = _parsed(WriteRequest, body, _FIRST)
    for position, series in enumerate(request.timeseries):
        if not series.labels:
            raise Malformed(f"the request is not {_FIRST}: timeseries[{position}] has no labels")
    if body and not request.timeseries and not request.metadata:
        raise Malformed(f"the request is not {_FIRST}: it has neither timeseries nor metadata")
    return _counted(request)


def _check_second(body: bytes) -> _Written:
    request = _parsed(Request, body, _SECOND)
    symbols = len(request.symbols)
    for position, series in enumerate(request.timeseries):
        labels = series.labels_refs
        if not labels or len(labels) % 2 or max(labels) >= symbols:
            raise Malformed(
                f"the request is not {_SECOND}: timeseries[{position}] has no labels, or not a name and a value for "
                f"each of them among {symbols} symbols"
            )
    if body and not request.timeseries:
        raise Malformed(f"the request is not {_SECOND}: it has no timeseries")
    return _counted(request)


def _parsed(message: Any, body: bytes, name: str) -> Any:
    try:
        return message.FromString(body)
    except DecodeError as error:
        raise Malformed(f"the request is not {name}: {error}") from None


def _counted(request: Any) -> _Written:
    samples = histograms = exemplars = 0
    for series in request.timeseries:
        samples += len(series.samples)
        histograms += len(series.histograms)
        exemplars += len(series.exemplars)
    return _Written(samples, histograms, exemplars)


def _error_reply(status: int, message: str, media_type: str) -> HttpReply:
    """An error as one line of text; 503 in place of 429."""
    return text_error(503 if status == 429 else status, message, media_type)
