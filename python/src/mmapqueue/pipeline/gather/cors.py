"""Cross-origin requests of browsers (CORS): who may send, and what a browser asks before it does."""

from collections.abc import Mapping, MutableMapping

from mmapqueue.pipeline.config import Cors
from mmapqueue.pipeline.plugins import HttpError, HttpReply

#: Headers of answers that scripts may read, besides those that every script may.
_EXPOSED = "Retry-After"


def preflight(headers: Mapping[str, str], cors: Cors) -> HttpReply:
    """The answer to OPTIONS. `allow_origin` adds the header without which a browser sends no request.

    Args:
        headers: Those of the request.
        cors: Who may send.

    Raises:
        HttpError: It is not a preflight request (405), or of an origin or for a method that is not allowed (403).
    """
    method = headers.get("Access-Control-Request-Method")
    if method is None or "Origin" not in headers:
        raise HttpError(405, "method OPTIONS is not POST", headers={"Allow": "POST"})
    if not cors.allows(headers["Origin"]):
        raise HttpError(403, "the origin is not one of cors.origins", headers={"Vary": "Origin"})
    if method != "POST":
        raise HttpError(403, "the method is not POST")
    allowed = {
        "Access-Control-Allow-Methods": "POST",
        "Access-Control-Allow-Headers": ", ".join(cors.headers),
        "Access-Control-Max-Age": str(round(cors.max_age.total_seconds())),
    }
    return HttpReply(204, headers=allowed)


def allow_origin(headers: Mapping[str, str], answer: MutableMapping[str, str], cors: Cors) -> None:
    """Adds to an answer that scripts of the request's origin may read it, if they may."""
    answer["Vary"] = "Origin"
    origin = headers.get("Origin")
    if origin is not None and cors.allows(origin):
        answer["Access-Control-Allow-Origin"] = origin
        answer["Access-Control-Expose-Headers"] = _EXPOSED
