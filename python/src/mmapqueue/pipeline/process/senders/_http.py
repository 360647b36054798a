"""HTTP client, and the meaning of its answers."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

import aiohttp

from mmapqueue.pipeline.config import ClientTls, tls_context
from mmapqueue.pipeline.process.senders._delivery import Undelivered

#: Statuses of 400 to 499 that do not speak of the request: a later attempt, or one with other credentials, may succeed.
_OUTAGES = frozenset({401, 403, 407, 408, 425, 429})
#: Statuses that speak of the content of a request.
_OF_CONTENT = frozenset({400, 413, 422})
_REASON_BYTES = 300


class HttpConnection:
    """Connections to one URL's host. Belongs to the event loop on which it is created.

    Args:
        headers: Of each request.
        tls: Certificates for https; the system's authorities when None.
        compression: "gzip" or "none", of request bodies.
    """

    def __init__(self, headers: Mapping[str, str], tls: ClientTls | None, compression: str) -> None:
        self._headers = dict(headers)
        self._gzip = compression == "gzip"
        # No limit here: attempts are timed where they are counted.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=tls_context(tls, "tls") if tls else True, limit=0),
            timeout=aiohttp.ClientTimeout(total=None),
        )

    async def close(self) -> None:
        """Closes the connections."""
        await self._session.close()

    async def send(self, method: str, url: str, body: bytes, content_type: str, key: str) -> tuple[str, bytes]:
        """Sends a request.

        Returns:
            Content type and body of the answer, which has a status of 200 to 299.

        Raises:
            Undelivered: The server answered with another status, or not at all.
        """
        headers = {**self._headers, "Content-Type": content_type, "Idempotency-Key": key}
        if self._gzip:
            body = await asyncio.to_thread(gzip.compress, body, 1)
            headers["Content-Encoding"] = "gzip"
        try:
            # Not followed: a redirected POST becomes a GET without a body, so a redirect counts as a rejection.
            async with self._session.request(method, url, data=body, headers=headers, allow_redirects=False) as answer:
                content = await answer.read()
                if answer.status < 300:
                    return answer.content_type, content
                text = content[:_REASON_BYTES].decode(errors="replace").strip()
                raise Undelivered(
                    f"{method} {url}: {answer.status} {answer.reason}{': ' + text if text else ''}",
                    retryable=not refused(answer.status),
                    retry_after=retry_after(answer.headers.get("Retry-After")),
                    divisible=answer.status in _OF_CONTENT,
                )
        except aiohttp.InvalidURL as error:
            # Never the fault of a record: without another URL, all would be refused.
            raise Undelivered(
                f"{method} {url}: the URL is invalid: {error.__cause__ or error}", retryable=True
            ) from None
        except (aiohttp.ClientError, OSError) as error:
            raise Undelivered(f"{method} {url}: {type(error).__name__}: {error}", retryable=True) from None


def refused(status: int) -> bool:
    """Whether an answer says that the request can never succeed. Others are outages: redirects, 5xx, credentials."""
    return 400 <= status < 500 and status not in _OUTAGES


def retry_after(value: str | None, now: datetime | None = None) -> float:
    """Seconds that a Retry-After header requests: a number, or an HTTP date. 0 if it is missing or unreadable."""
    if value is None:
        return 0.0
    try:
        if value.strip().isdecimal():
            return float(value)
        until = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return 0.0
    if until.tzinfo is None:
        until = until.replace(tzinfo=timezone.utc)
    return max(0.0, (until - (now or datetime.now(timezone.utc))).total_seconds())
