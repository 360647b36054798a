"""The configuration of a queue in the form that the JVM takes."""

import json
from collections.abc import Callable, Mapping
from typing import cast, get_type_hints

from mmapqueue._jvm import names
from mmapqueue._values.arguments import absolute, location, size_in_bytes
from mmapqueue._values.configuration import PERIODS, EffectiveConfiguration, check_keywords
from mmapqueue._values.durations import period_millis
from mmapqueue._values.errors import ConfigError

_CAPACITY = "capacity"
_DIRECTORY = "queue_dir"
_DEAD_LETTERS = "dead_letter_dir"
_ARCHIVE = "archive_uri"
#: Arguments of `Queue` that an unknown key may have been meant for.
_ARGUMENTS = ("spark", "consumer", "lock_timeout", "serializer", "prefetch", "ack_linger")

_VALUES: dict[object, Callable[[str], object]] = {
    int: int,
    str: str,
    bool: lambda text: text == "true",
    str | None: lambda text: text or None,
}
_TYPES = get_type_hints(EffectiveConfiguration)


def options(directory: str, configuration: Mapping[str, object], call: str = "Queue") -> str:
    """The configuration of the queue in a directory, in the form that the JVM takes. `call` is for errors."""
    check_keywords(call, configuration, _ARGUMENTS if call == "Queue" else ())
    words: list[str] = []
    for key, value in {_DIRECTORY: directory, **configuration}.items():
        if value is None:
            continue
        if key == _CAPACITY:
            value = size_in_bytes(key, value)  # type: ignore[arg-type]
        if key == _DEAD_LETTERS:
            # Absolute, since the JVM may have another working directory.
            value = absolute(key, value)  # type: ignore[arg-type]
        if key == _ARCHIVE:
            value = location(key, value)  # type: ignore[arg-type]
        if key in PERIODS:
            value = period_millis(key, value)
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if names.SEPARATOR in key + text:
            raise ConfigError(f"{key} = {text!r} is invalid; allowed: no NUL", key, text, "no NUL")
        words += [key, text]
    return names.SEPARATOR.join(words)


def effective(text: str) -> EffectiveConfiguration:
    """Parses the configuration that the JVM reports."""
    values = json.loads(text)
    return cast(EffectiveConfiguration, {key: _VALUES[kind](values[key]) for key, kind in _TYPES.items()})
