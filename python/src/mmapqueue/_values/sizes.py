"""Sizes in bytes as people write them."""

import re

from mmapqueue._values.errors import ConfigError

_SIZE = re.compile(r"\s*(\d{1,18})\s*(?:([kmg])(?:i?b)?|b)?\s*", re.IGNORECASE)
_MOST = 2**63 - 1


def size_in_bytes(key: str, value: int | str) -> int:
    """Bytes of an int, or of a text such as "128k", "16m", "1g" (powers of 1024).

    Raises:
        ConfigError: It is neither, or not positive.
    """
    size = 0
    if isinstance(value, int) and not isinstance(value, bool):
        size = value
    elif isinstance(value, str) and (match := _SIZE.fullmatch(value)):
        size = int(match[1]) << (0 if match[2] is None else 10 * "_kmg".index(match[2].lower()))
    if not 0 < size <= _MOST:
        allowed = "a positive number of bytes, or one with k, m or g, such as 512m"
        raise ConfigError(f"{key} = {value!r} is refused; allowed: {allowed}", key, str(value), allowed)
    return size
