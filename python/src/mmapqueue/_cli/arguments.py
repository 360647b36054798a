"""Arguments and options that several commands have, and the texts that they take."""

import re
from datetime import datetime, timedelta
from typing import Annotated

import typer

from mmapqueue._values.durations import SECONDS_AS_TEXT, seconds
from mmapqueue._values.errors import ConfigError
from mmapqueue._values.offsets import SeekTarget

Directory = Annotated[str, typer.Argument(metavar="DIR", help="The queue's directory.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]
ClassPath = Annotated[
    str | None,
    typer.Option(
        metavar="PATHS",
        help="Jars of the archive's file system, between colons; by default those of an installed PySpark.",
    ),
]
_TARGETS = 'earliest, latest, an offset, a time in ISO 8601, or a duration before now such as "-5m"'
_OFFSET = re.compile(r"\d{1,18}")
_NUMBER = re.compile(r"\d{1,9}(\.\d{1,9})?")


def duration(name: str, text: str) -> float:
    """The seconds of a duration such as "500ms", "30s" or "5m"; a number alone is seconds.

    Args:
        name: The name of the argument, for the error.
        text: The duration.

    Raises:
        ConfigError: The text is not a duration.
    """
    return seconds(name, float(text) if _NUMBER.fullmatch(text) else text, SECONDS_AS_TEXT)


def seek_target(name: str, text: str) -> SeekTarget:
    """Parses a seek target: the word earliest or latest, an offset, or a time.

    Args:
        name: The name of the argument, for the error.
        text: "earliest", "latest", "17", "2026-01-31T12:00:00Z", or "-5m" for five minutes ago. A time without a zone
            is in that of this machine.

    Raises:
        ConfigError: The text has another form.
    """
    word = text.strip()
    if word.lower() in ("earliest", "latest"):
        return word.lower()
    if _OFFSET.fullmatch(word):
        return int(word)
    try:
        if word.startswith("-"):
            return datetime.now().astimezone() - timedelta(seconds=seconds(name, word[1:]))
        # Python 3.10 does not parse Z.
        return datetime.fromisoformat(word.replace("Z", "+00:00")).astimezone()
    except (ValueError, OverflowError):
        raise ConfigError(f"{name} = {text!r} is invalid; allowed: {_TARGETS}", name, text, _TARGETS) from None
