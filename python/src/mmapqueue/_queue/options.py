"""The configuration of a queue as the JVM takes it."""

import os
from collections.abc import Mapping

from mmapqueue._jvm import names
from mmapqueue._values.arguments import absolute, size_in_bytes
from mmapqueue._values.configuration import check_keys
from mmapqueue._values.errors import ConfigError

_CAPACITY = "capacity"
_DIRECTORY = "queue_dir"
_DEAD_LETTERS = "dead_letter_dir"
#: Arguments beside the keys that may be meant by a key that there is not.
_ARGUMENTS = ("spark", "consumer", "lock_timeout", "prefetch", "ack_linger")


def options(directory: str, configuration: Mapping[str, object]) -> str:
    """The configuration of the queue in a directory as the JVM takes it."""
    check_keys(configuration, _ARGUMENTS)
    words: list[str] = []
    for key, value in {_DIRECTORY: directory, **configuration}.items():
        if value is None:
            continue
        if key == _CAPACITY:
            value = size_in_bytes(key, value)  # type: ignore[arg-type]
        if key == _DEAD_LETTERS and isinstance(value, str | os.PathLike):
            # The JVM may have another working directory.
            value = absolute(key, value)
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if names.SEPARATOR in key + text:
            raise ConfigError(f"{key} = {text!r} is invalid; allowed: no NUL", key, text, "no NUL")
        words += [key, text]
    return names.SEPARATOR.join(words)
