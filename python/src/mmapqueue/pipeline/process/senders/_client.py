"""What a worker needs of a network sender."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mmapqueue.pipeline.process.senders._delivery import Retry
from mmapqueue.pipeline.process.senders._requests import RequestLimits, Row


class Client(Protocol):
    """A connection, kept by a worker process. Its methods are awaited on one event loop."""

    async def send(self, route: str, rows: Sequence[Row], key: str) -> None:
        """Sends a request once.

        Args:
            route: The route, from `NetworkSender.route`.
            rows: The rows, at least one.
            key: Idempotency key; equal when the request is sent again.

        Raises:
            Undelivered: The request was not delivered, or that is unknown.
        """

    async def close(self) -> None:
        """Closes the connection."""


class RequestSender(Protocol):
    """The requests of a network sender; `NetworkSender` describes its parts. Pickled to the workers."""

    @property
    def retry(self) -> Retry: ...
    @property
    def parallel(self) -> int: ...

    def client(self) -> Client:
        """A client; called once in each worker process, on its event loop."""

    def route(self, row: Row) -> str:
        """The route of a row."""

    def size(self, row: Row) -> int:
        """Bytes of a row's payload."""

    def limits(self, route: str) -> RequestLimits:
        """Limits of a route's requests."""

    def model_dump_json(self) -> str:
        """The options, which tell one sender from another."""
