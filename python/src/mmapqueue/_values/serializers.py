"""Serializers: convert objects to the bytes of records, and back."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar

from mmapqueue._values.errors import ConfigError
from mmapqueue._values.functions import eager

T = TypeVar("T")

_ALLOWED = '"json", "msgpack", "pickle", or an object with dumps and loads'


class Serializer(Protocol[T]):
    """Converts objects to records and back: an object, or a module such as `json`.

    Called by many threads at once, without any lock. Its exceptions are raised by `push` or `put` and `pop` or `get`.
    """

    def dumps(self, item: T, /) -> bytes | str:
        """Returns the bytes of a record, or a string, which is stored as UTF-8."""

    def loads(self, data: bytes, /) -> T:
        """Returns the object for the bytes of a record."""


class Codec(NamedTuple):
    """A serializer in the form that queues call.

    Attributes:
        name: "json", "msgpack", "pickle", or the name of another serializer's type.
        dumps: Converts an object to bytes.
        loads: Converts these bytes to the object.
    """

    name: str
    dumps: Callable[[Any], bytes]
    loads: Callable[[bytes], Any]


def serializer_of(serializer: str | Serializer[Any]) -> Codec:
    """The serializer for an argument: a name, or an object with dumps and loads.

    - "json" stores what `json.dumps` writes, as UTF-8 and without blanks, so that other programs and Spark can read it.
      Tuples become lists, and keys of dicts become str. NaN and infinity, which JSON lacks, raise ValueError.
    - "msgpack" stores bytes, and int keys, as they are; tuples become lists. It needs the package msgpack.
    - "pickle" stores almost any object. Loading a pickle may run any code: only when no one else can write the files.

    Args:
        serializer: One of these names, or an object with dumps and loads.

    Raises:
        ConfigError: No serializer has this name.
        ImportError: The package msgpack is not installed.
        TypeError: The object has no `dumps`, or no `loads`, or one of them is an async function.
    """
    if isinstance(serializer, str):
        named = _NAMED.get(serializer)
        if named is None:
            raise ConfigError(
                f"serializer = {serializer!r} is invalid; allowed: {_ALLOWED}", "serializer", serializer, _ALLOWED
            )
        return named()
    if not callable(getattr(serializer, "dumps", None)) or not callable(getattr(serializer, "loads", None)):
        raise TypeError(f"serializer = {serializer!r} is invalid; allowed: {_ALLOWED}")
    for name in ("dumps", "loads"):
        eager(f"serializer.{name}", getattr(serializer, name), "a serializer returns its result")
    return Codec(type(serializer).__name__, _to_bytes(serializer.dumps), serializer.loads)


def _json() -> Codec:
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
    # UTF-8 has no lone surrogates; Python's escape of one is also that of JSON.
    return Codec("json", lambda item: encode(item).encode(errors="backslashreplace"), json.loads)


def _msgpack() -> Codec:
    try:
        import msgpack
    except ImportError as error:
        raise ImportError(
            'serializer = "msgpack" needs the package msgpack: pip install "mmapqueue[msgpack]"'
        ) from error
    return Codec("msgpack", msgpack.packb, lambda data: msgpack.unpackb(data, strict_map_key=False))


def _pickle() -> Codec:
    import pickle

    return Codec("pickle", lambda item: pickle.dumps(item, pickle.HIGHEST_PROTOCOL), pickle.loads)


_NAMED: dict[str, Callable[[], Codec]] = {"json": _json, "msgpack": _msgpack, "pickle": _pickle}


def _to_bytes(dumps: Callable[[Any], bytes | str]) -> Callable[[Any], bytes]:
    def encoded(item: Any) -> bytes:
        data = dumps(item)
        if type(data) is bytes:
            return data
        if isinstance(data, str):
            return data.encode()
        if isinstance(data, bytes | bytearray | memoryview):
            return bytes(data)
        raise TypeError(f"the serializer's dumps returned {type(data).__name__}; allowed: bytes or str")

    return encoded
