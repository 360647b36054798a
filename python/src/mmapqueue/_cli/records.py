"""Records as commands print them."""

import os
import sys
from base64 import b64encode
from collections.abc import Callable
from typing import Any

from mmapqueue._cli.output import escaped, micros_text, print_object
from mmapqueue._values.errors import ConfigError
from mmapqueue._values.message import AnyMessage

_LETTERS = "%o offset, %t timestamp, %s payload, %l length, %d delivery attempt, %% a percent sign"
#: The formats that `--format` takes, for the help.
FORMAT_HELP = r"%o offset, %t time, %s payload, %l its length, %d delivery attempt, %%; escapes \n, \t, \r, \0, \\."
_ESCAPES = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}
#: The default format: the payload and a line end.
LINES = r"%s\n"

_Part = Callable[[AnyMessage], bytes]


class RecordPrinter:
    r"""Prints records to stdout: in a format, or as JSON. Flushes after each call.

    To a terminal, payloads are escaped, so that it gets no control characters. Elsewhere they are written unchanged.

    Args:
        template: The format: letters as %o, escapes as \n.
        as_json: Whether to print a JSON object for each record instead.

    Raises:
        ConfigError: The format has an unknown letter or escape, or has no effect because of `as_json`.
    """

    def __init__(self, template: str = LINES, *, as_json: bool = False) -> None:
        if as_json and template != LINES:
            raise ConfigError("--json prints objects, which have all fields: use it without --format")
        self._as_json = as_json
        self._is_terminal = sys.stdout.isatty()
        self._parts = self._parsed(template)

    def print(self, *messages: AnyMessage) -> None:
        """Prints records; returns when the reader of stdout has them.

        Raises:
            BrokenPipeError: The reader of stdout has ended.
        """
        if self._as_json:
            for message in messages:
                print_object(record_object(message))
        else:
            sys.stdout.flush()
            sys.stdout.buffer.write(b"".join(part(message) for message in messages for part in self._parts))
        sys.stdout.flush()

    def _parsed(self, template: str) -> list[_Part]:
        parts: list[_Part] = []
        letters = iter(template)
        for letter in letters:
            if letter == "%":
                parts.append(self._field(next(letters, ""), template))
            elif letter == "\\":
                parts.append(_constant(_escape(next(letters, ""), template)))
            else:
                parts.append(_constant(os.fsencode(letter)))
        return parts

    def _field(self, letter: str, template: str) -> _Part:
        fields: dict[str, _Part] = {
            "o": lambda message: b"%d" % message.offset,
            "t": lambda message: (micros_text(message.timestamp_micros) or "-").encode(),
            "l": lambda message: b"%d" % len(message.data),
            "d": lambda message: b"%d" % message.attempts,
            "s": self._payload,
            "%": _constant(b"%"),
        }
        if letter not in fields:
            raise _invalid(template, f"%{letter}", _LETTERS)
        return fields[letter]

    def _payload(self, message: AnyMessage) -> bytes:
        return escaped(message.data).encode() if self._is_terminal else message.data


def record_object(message: AnyMessage) -> dict[str, Any]:
    """A record as a JSON object: `value` is text, `value_base64` anything else; `attempts` if it was delivered."""
    values: dict[str, Any] = {"offset": message.offset, "timestamp": micros_text(message.timestamp_micros)}
    if message.attempts:
        values["attempts"] = message.attempts
    try:
        values["value"] = message.data.decode()
    except UnicodeDecodeError:
        values["value_base64"] = b64encode(message.data).decode()
    return values


def _constant(data: bytes) -> _Part:
    return lambda message: data  # noqa: ARG005


def _escape(letter: str, template: str) -> bytes:
    if letter not in _ESCAPES:
        raise _invalid(template, f"\\{letter}", r"\n, \t, \r, \0, \\")
    return _ESCAPES[letter]


def _invalid(template: str, found: str, allowed: str) -> ConfigError:
    return ConfigError(f"--format {template!r} has {found}; allowed: {allowed}", "--format", template, allowed)
