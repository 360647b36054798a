"""Fetcher of Prometheus metrics."""

import asyncio
from datetime import timedelta
from typing import Annotated, Literal

import aiohttp
from pydantic import Field, model_validator

import mmapqueue
from mmapqueue.pipeline._event import encode
from mmapqueue.pipeline.config import ClientTls, Url, tls_context
from mmapqueue.pipeline.config._headers import check_headers
from mmapqueue.pipeline.event_pb2 import EventType
from mmapqueue.pipeline.gather import bodies
from mmapqueue.pipeline.gather.fetchers._exposition import check
from mmapqueue.pipeline.gather.fetchers._period import every
from mmapqueue.pipeline.plugins import Duration, Fetcher, Host, NonEmptyPath, Size

_OPENMETRICS = "application/openmetrics-text"
_TEXT = "text/plain; version=0.0.4"
_ACCEPT = f"{_OPENMETRICS}; version=1.0.0; q=0.6, {_TEXT}; q=0.4, text/plain; q=0.2, */*; q=0.1"


class ScrapeFailed(Exception):
    """A target returned no metrics. The message has the reason."""


class PrometheusFetcher(Fetcher):
    """Scrapes Prometheus endpoints: one event for each scrape, with the text unchanged.

    An event's data is the body without the transport's compression, its type METRICS, its source the target. Its
    content type is that of the answer; when that names neither of the two formats, it is text/plain; version=0.0.4, and
    `meta` has the answer's as `content_type`. `meta` has `scrape_ms`, the duration.

    Targets are scraped at the same time, and none waits for another. A scrape that fails is logged, counted as
    gatherer_fetch_count{status="fail"}, and not repeated before the next interval.

    Example:
        PrometheusFetcher(targets=["http://localhost:9100/metrics"], interval="15s")

    Attributes:
        targets: URLs.
        interval: Time from one scrape of a target to the next one.
        timeout: Longest duration of a scrape.
        validate_format: Whether answers without samples, or with lines that are not metrics, count as failed.
        max_size: The maximum number of bytes of an answer. A larger one counts as failed.
        headers: Headers of the requests, for instance Authorization.
        ca: PEM file of the authorities of https targets; None for the system's.
    """

    type: Literal["prometheus"] = "prometheus"
    targets: Annotated[tuple[Url, ...], Field(min_length=1)]
    interval: Annotated[Duration, Field(ge=timedelta(milliseconds=10))] = timedelta(seconds=15)
    timeout: Annotated[Duration, Field(ge=timedelta(milliseconds=10))] = timedelta(seconds=10)
    validate_format: bool = True
    max_size: Size = 4 << 20
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    ca: NonEmptyPath | None = None

    @model_validator(mode="after")
    def _check(self) -> "PrometheusFetcher":
        check_headers(self.headers, grpc=False)
        return self

    async def run(self, host: Host) -> None:
        """As `Fetcher.run`.

        Raises:
            ConfigError: The file `ca` cannot be read, or is no certificate.
        """
        timeout = aiohttp.ClientTimeout(total=self.timeout.total_seconds())
        seconds = self.timeout.total_seconds()
        headers = {
            "Accept": _ACCEPT,
            "Accept-Encoding": "gzip",
            "X-Prometheus-Scrape-Timeout-Seconds": f"{seconds:g}",
            **self.headers,
        }
        # Decompressed here, since aiohttp takes compressed data that is cut off for whole.
        async with aiohttp.ClientSession(
            timeout=timeout, headers=headers, connector=self._connector(host), auto_decompress=False
        ) as session:
            scrapes = [asyncio.create_task(self._follow(host, session, each)) for each in self.targets]
            try:
                await asyncio.gather(*scrapes)
            finally:
                for each in scrapes:
                    each.cancel()
                await asyncio.gather(*scrapes, return_exceptions=True)

    def _connector(self, host: Host) -> aiohttp.TCPConnector:
        # Without a limit of connections, so that targets that do not answer delay no others.
        if self.ca is None:
            return aiohttp.TCPConnector(limit=0)
        return aiohttp.TCPConnector(
            limit=0, ssl=tls_context(ClientTls(ca=self.ca), f"pipe {host.pipe}: fetcher prometheus")
        )

    async def _follow(self, host: Host, session: aiohttp.ClientSession, target: str) -> None:
        async for _ in every(self.interval):
            try:
                await host.inbox.put(await self._scrape(session, target, host.inbox.max_event_size))
            except mmapqueue.Closed:
                raise
            except mmapqueue.MmapQueueError as error:
                # The inbox has counted the failure.
                host.log.warning("%s: the scrape was not stored: %s", target, error)
            except (ScrapeFailed, aiohttp.ClientError, asyncio.TimeoutError, OSError) as error:
                host.count("fail", 1)
                host.log.warning("%s cannot be scraped: %s", target, error or type(error).__name__)
            except Exception:
                # Whatever an answer has, the other targets are scraped on.
                host.count("fail", 1)
                host.log.exception("%s cannot be scraped", target)

    async def _scrape(self, session: aiohttp.ClientSession, target: str, max_event_size: int) -> bytes:
        loop = asyncio.get_running_loop()
        start = loop.time()
        async with session.get(target) as response:
            if response.status != 200:
                raise ScrapeFailed(f"status {response.status}")
            body = await _body(response, min(self.max_size, max_event_size))
            # Any bytes may be in a header.
            answered = (
                response.headers.get("Content-Type", "").encode(errors="surrogateescape").decode(errors="replace")
            )
        meta = {"scrape_ms": str(round((loop.time() - start) * 1000))}
        openmetrics = _media_type(answered) == _OPENMETRICS
        if self.validate_format:
            await asyncio.to_thread(_check, body, openmetrics=openmetrics)
        content_type = answered if openmetrics or _is_text(answered) else _TEXT
        if answered and content_type != answered:
            meta["content_type"] = answered
        return encode(type=EventType.METRICS, data=body, content_type=content_type, meta=meta, source=target)


async def _body(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """The body of an answer, decompressed."""
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    encoding = "" if encoding == "identity" else encoding
    if encoding and encoding not in bodies.ENCODINGS:
        raise ScrapeFailed(f"content encoding {encoding!r} is not one of identity, gzip, deflate, zstd")
    try:
        return await bodies.read(response.content, encoding, limit)
    except bodies.TooLong:
        raise ScrapeFailed(f"the answer has more than {limit} bytes") from None
    except bodies.Damaged as error:
        raise ScrapeFailed(str(error)) from error


def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _is_text(content_type: str) -> bool:
    """Whether it is that of the text format: one without a version may be any text."""
    parameters = content_type.split(";")[1:]
    return _media_type(content_type) == "text/plain" and any(
        each.strip().lower().startswith("version=") for each in parameters
    )


def _check(body: bytes, *, openmetrics: bool) -> None:
    try:
        check(body, openmetrics=openmetrics)
    except ValueError as error:
        raise ScrapeFailed(f"the answer is not {_OPENMETRICS if openmetrics else _TEXT}: {error}") from error
