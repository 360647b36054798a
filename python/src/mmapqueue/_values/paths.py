"""Paths of directories as users say them."""

import os
from pathlib import Path

from mmapqueue._values.errors import ConfigError

_ALLOWED = "the path of a directory"


def absolute(key: str, path: str | os.PathLike[str]) -> str:
    """The absolute path of a directory, "~" expanded.

    Args:
        key: What to name in the error.
        path: The path, relative to the working directory of this process.

    Raises:
        ConfigError: It is empty, or has bytes that are not UTF-8, which Java can not open.
        TypeError: It is no path.
    """
    text = os.fspath(path)
    if not isinstance(text, str):
        raise TypeError(f"{key} is a str or an os.PathLike of one, not {type(path).__name__}")
    if not text:
        raise ConfigError(f"{key} = '' is refused; allowed: {_ALLOWED}", key, text, _ALLOWED)
    try:
        text.encode()
    except UnicodeEncodeError:
        allowed = f"{_ALLOWED} that is UTF-8"
        raise ConfigError(f"{key} = {text!r} is refused; allowed: {allowed}", key, text, allowed) from None
    # Not Path.expanduser: "~x" is a name where there is no user x.
    return str(Path(os.path.expanduser(text)).absolute())  # noqa: PTH111
