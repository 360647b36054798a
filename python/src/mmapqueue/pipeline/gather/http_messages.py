"""Requests and answers of the HTTP server."""

from collections.abc import Mapping
from dataclasses import dataclass, field


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
    content_type: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)


class HttpError(Exception):
    """Answers a request with an error.

    Attributes:
        status: Status of the answer.
        headers: Further headers of the answer.
    """

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})
