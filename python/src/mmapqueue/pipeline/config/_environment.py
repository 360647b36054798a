"""References to environment variables in texts of a configuration.

| written | value |
|---|---|
| `${NAME:default}` | the variable, or the default when it is unset or empty (Apache SkyWalking Satellite's syntax) |
| `${env:NAME:-default}` | the same (OpenTelemetry's syntax) |
| `${NAME}`, `${env:NAME}` | the variable; an error when it is unset or empty |
| `$$` | one $ |
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

Scalar = str | int | float | bool | None

_REFERENCE = re.compile(r"\$\$|\$\{([^{}]*)\}|\$\{")
_NAME = r"([A-Za-z_][A-Za-z0-9_]*)"
_PLAIN = re.compile(_NAME + r"(?::(.*))?", re.DOTALL)
_PREFIXED = re.compile(r"env:" + _NAME + r"(?::-(.*))?", re.DOTALL)
#: Satellite allows any name, and a default that may contain braces.
_SATELLITE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_.-]*):(.*)\}", re.DOTALL)
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.[0-9]*|\.?[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_FORMS = "${NAME:default}, ${NAME}, ${env:NAME:-default} or ${env:NAME}; $$ for one $"


class Substituted(NamedTuple):
    """A string after substitution.

    Attributes:
        value: The value after conversion: "5" is a number, "true" a boolean, "" is None.
        text: The same as text.
    """

    value: Scalar
    text: str


def substitute(text: str, environment: Mapping[str, str]) -> Substituted | None:
    """Replaces references to variables. A variable's value is not searched for references.

    Returns:
        None when the text has no reference and no `$$`.

    Raises:
        ValueError: A reference is malformed, or names a variable that is unset or empty and has no default.

    Example:
        substitute("${PORT:4317}", {})                  # Substituted(4317, "4317")
        substitute("http://${env:HOST:-a}/", {"HOST": "b"})   # Substituted("http://b/", "http://b/")
    """
    if "$$" not in text and "${" not in text:
        return None
    quoted = False
    referred = False

    def replace(found: re.Match[str]) -> str:
        nonlocal quoted, referred
        if found[0] == "$$":
            return "$"
        referred = True
        value, default = _look_up(found, environment)
        if value is not None:
            return value
        if len(default) > 1 and default[0] == default[-1] == '"':
            quoted = True
            return default[1:-1]
        return default

    replaced = _REFERENCE.sub(replace, text)
    return Substituted(retyped(replaced) if referred and not quoted else replaced, replaced)


def substitute_satellite(text: str, environment: Mapping[str, str]) -> Substituted | None:
    """Substitutes as Satellite does: only a string that is one reference as a whole is replaced."""
    found = _SATELLITE.fullmatch(text)
    if found is None:
        return None
    value = environment.get(found[1]) or found[2]
    if len(value) > 1 and value[0] == value[-1] == '"':
        return Substituted(value[1:-1], value[1:-1])
    return Substituted(retyped(value), value)


def retyped(text: str) -> Scalar:
    """Converts a string to a whole or decimal number or a boolean; None if it is empty, else the text itself."""
    if not text:
        return None
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return {"true": True, "false": False}.get(text.lower(), text)


def _look_up(found: re.Match[str], environment: Mapping[str, str]) -> tuple[str | None, str]:
    inside = found[1]
    reference = None
    if inside is not None:
        reference = _PREFIXED.fullmatch(inside) if inside.startswith("env:") else _PLAIN.fullmatch(inside)
    if reference is None:
        raise ValueError(f"{found[0]!r} is not a reference to a variable; allowed: {_FORMS}")
    name, default = reference[1], reference[2]
    if default is not None and default.startswith("-") and not inside.startswith("env:"):
        raise ValueError(
            f"{found[0]!r} is ambiguous: the default would begin with -; write ${{env:{name}:{default}}}, or "
            f'${{{name}:"{default}"}} for a string that begins with -'
        )
    value = environment.get(name)
    if not value and default is None:
        raise ValueError(f"the environment variable {name} is unset or empty, and {found[0]} has no default")
    return value or None, default or ""
