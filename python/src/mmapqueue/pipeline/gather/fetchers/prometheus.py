"""Fetcher of Prometheus metrics."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

import aiohttp
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text
from pydantic import AfterValidator, Field

import mmapqueue
from mmapqueue.pipeline._event import encode
from mmapqueue.pipeline.event_pb2 import EventType
from mmapqueue.pipeline.gather.fetchers._period import every
from mmapqueue.pipeline.plugins import Duration, Fetcher, Host, Size

_OPENMETRICS = "application/openmetrics-text"
_TEXT = "text/plain; version=0.0.4"
_ACCEPT = f"{_OPENMETRICS}; version=1.0.0; q=0.6, {_TEXT}; q=0.4, text/plain; q=0.2, */*; q=0.1"


class ScrapeFailed(Exception):
    """A target returned no metrics. The message has the reason."""


def _url(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{value!r} is no target; it is a URL as http://host:9100/metrics")
    return value


class PrometheusFetcher(Fetcher):
    """Scrapes Prometheus endpoints: one event for each scrape, with the text unchanged.

    An event's data is the body without the transport's compression, its type METRICS, its content type that of the
    answer (text/plain; version=0.0.4 when there is none), its source the target. `meta` has `scrape_ms`, the duration.

    Targets are scraped at the same time, and none waits for another one. A scrape that fails is logged, counted as
    gatherer_fetch_count{status="fail"}, and not repeated before the next interval.

    Example:
        PrometheusFetcher(targets=["http://localhost:9100/metrics"], interval="15s")

    Attributes:
        targets: URLs.
        interval: Time from one scrape of a target to the next one.
        timeout: Longest duration of a scrape.
        validate_format: Whether answers that are not metrics count as failed. Parsing takes some 10 µs a sample.
        max_size: The most bytes of an answer. A larger one counts as failed.
        headers: Headers of the requests, for instance Authorization.
        ca: PEM file of the authorities of https targets; None for the system's.
    """

    type: Literal["prometheus"] = "prometheus"
    targets: Annotated[tuple[Annotated[str, AfterValidator(_url)], ...], Field(min_length=1)]
    interval: Annotated[Duration, Field(ge=timedelta(milliseconds=10))] = timedelta(seconds=15)
    timeout: Annotated[Duration, Field(ge=timedelta(milliseconds=10))] = timedelta(seconds=10)
    validate_format: bool = True
    max_size: Size = 4 << 20
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    ca: Path | None = None

    async def run(self, host: Host) -> None:
        """As `Fetcher.run`."""
        timeout = aiohttp.ClientTimeout(total=self.timeout.total_seconds())
        seconds = self.timeout.total_seconds()
        headers = {"Accept": _ACCEPT, "X-Prometheus-Scrape-Timeout-Seconds": f"{seconds:g}", **self.headers}
        async with aiohttp.ClientSession(timeout=timeout, headers=headers, connector=self._connector()) as session:
            scrapes = [asyncio.create_task(self._follow(host, session, each)) for each in self.targets]
            try:
                await asyncio.gather(*scrapes)
            finally:
                for each in scrapes:
                    each.cancel()
                await asyncio.gather(*scrapes, return_exceptions=True)

    def _connector(self) -> aiohttp.TCPConnector:
        if self.ca is None:
            return aiohttp.TCPConnector()
        import ssl

        return aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=self.ca))

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

    async def _scrape(self, session: aiohttp.ClientSession, target: str, max_event_size: int) -> bytes:
        loop = asyncio.get_running_loop()
        start = loop.time()
        async with session.get(target) as response:
            if response.status != 200:
                raise ScrapeFailed(f"status {response.status}")
            most = min(self.max_size, max_event_size)
            try:
                body = await response.content.readexactly(most + 1)
            except asyncio.IncompleteReadError as error:
                body = error.partial
            if len(body) > most:
                raise ScrapeFailed(f"the answer has more than {most} bytes")
            content_type = response.headers.get("Content-Type", _TEXT)
        elapsed = loop.time() - start
        if self.validate_format:
            await asyncio.to_thread(_check, body, content_type)
        return encode(
            type=EventType.METRICS,
            data=body,
            content_type=content_type,
            meta=_meta(elapsed),
            source=target,
        )


def _meta(seconds: float) -> Mapping[str, str]:
    return {"scrape_ms": str(round(seconds * 1000))}


def _check(body: bytes, content_type: str) -> None:
    parse = parse_openmetrics if content_type.startswith(_OPENMETRICS) else parse_text
    try:
        for _ in parse(body.decode()):
            pass
    except (ValueError, IndexError, KeyError) as error:
        raise ScrapeFailed(f"the answer is no {content_type}: {error}") from error
