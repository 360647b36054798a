"""Durations as users give them: numbers, timedeltas, and texts with a unit."""

import re
from datetime import timedelta
from math import ceil
from typing import TypeAlias

from mmapqueue._values.errors import ConfigError

Duration: TypeAlias = float | timedelta | str
"""Seconds, a timedelta, or a text with a unit: "500ms", "30s", "5m", "2h", "1d"."""

Milliseconds: TypeAlias = int | timedelta | str
"""Milliseconds, a timedelta, or a text with a unit: "500ms", "30s", "5m", "2h", "1d"."""

#: Longer durations are cut to this one: about thirty years.
_MAX_SECONDS = 1e9
_MAX_MILLIS = 2**63 - 1
#: The delay of redelivery after the first failure, in seconds; each further failure doubles it.
_FIRST_RETRY = 0.1
_LONGEST_RETRY = 60.0
#: This many doublings exceed the longest delay.
_MAX_DOUBLINGS = 10
_TEXT = re.compile(r"\s*(\d{1,15}(?:\.\d{1,9})?)\s*([a-zµ]+)\s*")
_DIGITS = re.compile(r"\s*\d+\s*")
_MICROS = {
    **dict.fromkeys(("us", "µs", "microsecond", "microseconds"), 1),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 1_000),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1_000_000),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60_000_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000_000),
}
_TEXTS = 'a text such as "500ms", "30s", "5m", "2h" or "1d"'
_SECONDS = f"seconds from 0 on, a timedelta, or {_TEXTS}"
_MICROSECOND = timedelta(microseconds=1)


def seconds(name: str, duration: Duration) -> float:
    """A duration in seconds.

    Args:
        name: The name of the argument, for the error.
        duration: As a user gave it.

    Raises:
        ConfigError: The duration is below 0, not a number, or a text without a known unit.
        TypeError: The duration is of another type, also a bool.
    """
    if isinstance(duration, float | int) and not isinstance(duration, bool):
        if not duration >= 0:
            raise _invalid(name, duration, _SECONDS)
        return min(duration, _MAX_SECONDS)
    return min(_micros(name, duration, _SECONDS) / 1e6, _MAX_SECONDS)


def delay_micros(name: str, delay: Duration) -> int:
    """A duration in microseconds, rounded up; raises as `seconds`."""
    return ceil(seconds(name, delay) * 1e6)


def retry_seconds(attempts: int) -> float:
    """The delay of redelivery of a record that was not handled, by its attempts: 0.1 s, then doubled each time.

    Without a delay, a record that always fails would be redelivered at once, and keep the loop busy.
    """
    return min(_FIRST_RETRY * 2.0 ** min(max(0, attempts - 1), _MAX_DOUBLINGS), _LONGEST_RETRY)


def millis(name: str, duration: object) -> int | None:
    """The milliseconds of a timedelta, or of a text with a unit, rounded up.

    Returns:
        The milliseconds; None for anything else, such as a number, which has the unit of the key.

    Raises:
        ConfigError: A timedelta below 0, or a text that is no number and has no known unit.
    """
    if isinstance(duration, timedelta) or (isinstance(duration, str) and not _DIGITS.fullmatch(duration)):
        return min(-(-_micros(name, duration, f"milliseconds, a timedelta, or {_TEXTS}") // 1000), _MAX_MILLIS)
    return None


def _micros(name: str, duration: object, allowed: str) -> int:
    """The microseconds of a timedelta or of a text with a unit.

    Raises:
        ConfigError: The duration is below 0, or a text without a known unit.
        TypeError: The duration is of another type.
    """
    if isinstance(duration, timedelta):
        if duration < timedelta(0):
            raise _invalid(name, duration, allowed)
        return duration // _MICROSECOND
    if not isinstance(duration, str):
        raise TypeError(f"{name} is a number of seconds, a timedelta or a text, not {type(duration).__name__}")
    match = _TEXT.fullmatch(duration)
    unit = _MICROS.get(match[2]) if match else None
    if match is None or unit is None:
        raise _invalid(name, duration, allowed)
    whole, _, fraction = match[1].partition(".")
    return int(whole) * unit + (ceil(int(fraction) * unit / 10 ** len(fraction)) if fraction else 0)


def _invalid(name: str, value: object, allowed: str) -> ConfigError:
    return ConfigError(f"{name} = {value!r} is invalid; allowed: {allowed}", name, str(value), allowed)
