"""Arguments that several calls take: numbers, sizes, paths."""

import os
import re
import sys
from operator import index
from pathlib import Path
from typing import TypeAlias

from mmapqueue._values.errors import ConfigError

Size: TypeAlias = int | str
"""Bytes, or a string such as "128k", "16m" or "1g" (powers of 1024)."""

#: Java's `Sizes` accepts the same strings: jvm/src/test/resources/sizes.csv is the test of both.
_SIZE = re.compile(r"\s*([0-9]{1,19})\s*(?:([kmgt])(?:i?b)?|b)?\s*", re.ASCII | re.IGNORECASE)
#: A URI's scheme: two letters or more, since a single letter would be a drive.
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_MAX_SIZE = 2**63 - 1
_PATH = "the path of a directory"


def whole(what: str, number: int) -> int:
    """Checks a whole number; raises TypeError for anything else, also for a bool, which is an int in Python."""
    if isinstance(number, bool) or not hasattr(number, "__index__"):
        raise TypeError(f"{what} is an int, not {type(number).__name__}")
    return index(number)


def flag(name: str, value: object, *, hint: str = "") -> bool:
    """Checks a bool; raises TypeError for anything else, which may be meant for another parameter.

    Args:
        name: The name of the argument, for the error.
        value: As a user gave it.
        hint: What the caller may have meant.
    """
    if isinstance(value, bool):
        return value
    raise TypeError(f"{name} = {value!r} is invalid; allowed: True or False{hint}")


def block_flag(block: object) -> bool:
    """Checks the argument `block`, which precedes `timeout`; raises as `flag`."""
    return flag("block", block, hint="; a time is timeout=…")


def count(name: str, number: int) -> int:
    """Checks a number of at least 1; raises TypeError or ValueError for anything else."""
    found = whole(name, number)
    if found < 1:
        raise ValueError(f"{name} = {number}: it must be at least 1")
    return found


def name_of(what: str, name: str) -> str:
    """A name; raises TypeError for anything else, which the JVM would take as its text: None as the name "None"."""
    if not isinstance(name, str):
        raise TypeError(f"{what} is a name, a str, not {type(name).__name__}")
    return name


def as_bytes(data: object) -> bytes:
    """The bytes of a bytes-like object.

    Raises:
        TypeError: The object is not bytes-like.
    """
    if isinstance(data, bytes | bytearray | memoryview):
        return bytes(data)
    hint = ": encode it first" if isinstance(data, str) else ""
    raise TypeError(f"a record is bytes, bytearray or memoryview, not {type(data).__name__}{hint}")


def byte_limit(max_bytes: Size | None, unlimited: int) -> int:
    """The maximum number of bytes that a call takes.

    Args:
        max_bytes: As a user gave it; None for no limit.
        unlimited: The number that means no limit.

    Raises:
        ValueError: The value is below 1, or not a size.
        TypeError: The value is of another type, also a bool.
    """
    if max_bytes is None:
        return unlimited
    size = size_in_bytes("max_bytes", max_bytes) if isinstance(max_bytes, str) else count("max_bytes", max_bytes)
    return min(size, unlimited)


def size_in_bytes(name: str, value: Size, minimum: int = 1) -> int:
    """Bytes of an int, or of a string such as "128k", "16m", "1g" (powers of 1024).

    Args:
        name: The name of the argument or key, for the error.
        value: As a user gave it.
        minimum: The smallest allowed value.

    Raises:
        ConfigError: The value is neither, or too small.
    """
    size = -1
    if isinstance(value, int) and not isinstance(value, bool):
        size = value
    elif isinstance(value, str) and (match := _SIZE.fullmatch(value)):
        size = int(match[1]) << (0 if match[2] is None else 10 + 10 * "kmgt".index(match[2].lower()))
    if not minimum <= size <= _MAX_SIZE:
        allowed = f"a number of bytes from {minimum} on, or one with k, m, g or t, such as 512m"
        raise ConfigError(f"{name} = {value!r} is invalid; allowed: {allowed}", name, str(value), allowed)
    return size


def location(key: str, target: str | os.PathLike[str]) -> str:
    """A URI such as "hdfs://nodes/archive" unchanged; otherwise the absolute path of a local directory.

    Arguments and errors are those of `absolute`.
    """
    return target if isinstance(target, str) and is_uri(target) else absolute(key, target)


def is_uri(text: str) -> bool:
    """Whether a string is a URI, and not a path."""
    return _URI.match(text) is not None


def absolute(key: str, path: str | os.PathLike[str]) -> str:
    """The absolute path of a directory, "~" expanded.

    Args:
        key: The name of the argument, for the error.
        path: The path, relative to the working directory of this process.

    Raises:
        ConfigError: The path is empty, or has a NUL or bytes that are not UTF-8, which Java cannot open, or characters
            that this process cannot encode.
        TypeError: The value is not a path.
    """
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str):
        raise TypeError(f"{key} is a str or an os.PathLike of one, not {type(path).__name__}")
    if not text or "\0" in text:
        raise ConfigError(f"{key} = {text!r} is invalid; allowed: {_PATH}", key, text, _PATH)
    try:
        text.encode()
    except UnicodeEncodeError:
        allowed = f"{_PATH} that is UTF-8"
        raise ConfigError(f"{key} = {text!r} is invalid; allowed: {allowed}", key, text, allowed) from None
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        allowed = (
            f"{_PATH} in {sys.getfilesystemencoding()}, in which this process encodes the names of files;"
            " set PYTHONUTF8=1 or LC_ALL=C.UTF-8 for any path"
        )
        raise ConfigError(f"{key} = {text!r} is invalid; allowed: {allowed}", key, text, allowed) from None
    # Not Path.expanduser, which raises where no user x exists: "~x" is then an ordinary name.
    return str(Path(os.path.expanduser(text)).absolute())  # noqa: PTH111
