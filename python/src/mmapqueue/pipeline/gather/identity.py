"""The identity of a request, which a repetition shares: by its client's idempotency key, or the ids of its events."""

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b

from mmapqueue.pipeline.gather.wire import Malformed

_HEADER = "idempotency-key"
_MOST_CHARACTERS = 255


def identity(given: Mapping[str, str], path: str, *messages: bytes, key: str | None = None) -> bytes | None:
    """The identity of a request by its idempotency key. One with the same key and another content is another request.

    Args:
        given: Headers of HTTP, in any case, or metadata of gRPC.
        path: The path or method.
        messages: The content, in its parts.
        key: The key of a request that has none in `given`.

    Returns:
        None without a key.

    Raises:
        Malformed: The key is not allowed.
    """
    key = given.get(_HEADER, key)
    if key is None:
        return None
    if not (1 <= len(key) <= _MOST_CHARACTERS and all(" " <= each <= "~" for each in key)):
        raise Malformed(
            f"{_HEADER} = {_shown(key)}, {len(key)} characters, is not allowed; expected 1 to {_MOST_CHARACTERS} "
            "printable characters of ASCII"
        )
    return _digest(b"key", path.encode(), key.encode(), *messages)


def identity_by_ids(path: str, ids: Sequence[bytes]) -> bytes:
    """The identity of a request by the ids of its events, whatever else it has."""
    return _digest(b"ids", path.encode(), *ids)


def ids_of_json(body: bytes, names: Sequence[str]) -> list[bytes] | None:
    """The ids of events in JSON: an object, an array of them, or lines of them.

    Args:
        body: The events.
        names: Members whose values, texts or integers, are together the id of an event.

    Returns:
        An id for each event. None when an event has none, or the body is not JSON.
    """
    try:
        document = _document(body)
    except (ValueError, RecursionError):
        return None
    events = document if isinstance(document, list) else [document]
    ids = []
    for event in events:
        if not isinstance(event, dict):
            return None
        values = [event.get(name) for name in names]
        if not all(isinstance(each, str | int) and each != "" for each in values):
            return None
        ids.append(json.dumps(values).encode())
    return ids or None


def _document(body: bytes) -> object:
    try:
        return json.loads(body)
    except ValueError:
        return [json.loads(line) for line in body.splitlines() if line.strip()]


def _digest(*parts: bytes) -> bytes:
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()


def _shown(key: str) -> str:
    return ascii(key if len(key) <= 40 else key[:40] + "…")
