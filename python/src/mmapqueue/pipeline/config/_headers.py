"""Headers of HTTP and metadata of gRPC that a client adds to its requests."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from mmapqueue.pipeline.config._problems import shown
from mmapqueue.pipeline.config._refused import Refused

#: Headers that network senders set.
OF_SENDERS = frozenset({"content-encoding", "content-type", "idempotency-key"})
#: Headers that describe the connection, or how long a body is: a wrong one cuts bodies off.
_OF_CONNECTIONS = frozenset(
    {
        *("connection", "content-length", "expect", "keep-alive", "proxy-connection"),
        *("te", "trailer", "transfer-encoding", "upgrade"),
    }
)
_OF_GRPC = frozenset({"content-type", "host", "user-agent"})
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_TOKENS = "names of letters, digits and !#$%&'*+.^_`|~-"
_KEY = re.compile(r"(?!grpc-)[a-z0-9_.-]+(?<!-bin)")
_KEYS = "names of letters, digits, _ . and -, without grpc- in front and without -bin at the end"
_VALUE = re.compile(r"[ -~]*")


def check_headers(headers: Mapping[str, str], *, grpc: bool, own: Collection[str] = ()) -> None:
    """Checks the `headers` of a model, for its validators.

    Args:
        headers: Values by names, in any case.
        grpc: Whether they are metadata of gRPC.
        own: Names that the client sets itself, in lower case.

    Raises:
        Refused: A header cannot be sent, would change what is sent, or has no effect.
    """
    taken = _OF_CONNECTIONS | (_OF_GRPC if grpc else frozenset()) | set(own)
    for name, value in headers.items():
        if not (_KEY.fullmatch(name.lower()) if grpc else _TOKEN.fullmatch(name)):
            raise Refused(f"{name!r} is invalid; allowed: {_KEYS if grpc else _TOKENS}", "headers", name)
        if name.lower() in taken:
            words = f"{name!r} is invalid; allowed: headers other than {', '.join(sorted(taken))}"
            raise Refused(words, "headers", name)
        if _VALUE.fullmatch(value) is None:
            at = ("headers", name)
            raise Refused(f"{shown(at, value)} is invalid; allowed: printable characters of ASCII", *at)
