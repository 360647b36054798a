"""Durations as users give them: one grammar for arguments, configurations, options and command lines."""

import re
from datetime import timedelta
from math import ceil
from typing import Literal, TypeAlias

from mmapqueue._values.errors import ConfigError

Duration: TypeAlias = float | timedelta | str
"""Seconds, a timedelta, or a string with a unit: "500ms", "30s", "5m", "2h", "1d"."""

Period: TypeAlias = timedelta | str | Literal[0]
"""A timedelta, a string with a unit ("500ms", "30s", "5m", "2h", "1d"), or 0."""

#: Longer durations are cut to this one: about thirty years.
_MAX_SECONDS = 1e9
_MAX_MILLIS = 2**63 - 1
#: The delay of redelivery after the first failure, in seconds; each further failure doubles it.
_FIRST_RETRY = 0.1
_LONGEST_RETRY = 60.0
#: This many doublings exceed the maximum delay.
_MAX_DOUBLINGS = 10
#: Java's `Durations` accepts the same strings: jvm/src/test/resources/durations.csv is the test of both.
_PART = re.compile(r"\s*([0-9]{1,15})(?:\.([0-9]{1,9}))?\s*([a-zµ]+)\s*", re.ASCII)
_NUMBER = re.compile(r"[0-9.]+", re.ASCII)
_ZERO = re.compile(r"\s*0+\s*", re.ASCII)
_INTERVAL = "interval "
_MICROS = {
    **dict.fromkeys(("us", "µs", "microsecond", "microseconds"), 1),
    **dict.fromkeys(("ms", "msec", "msecs", "millisecond", "milliseconds"), 1_000),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1_000_000),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60_000_000),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3_600_000_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000_000),
    **dict.fromkeys(("w", "week", "weeks"), 604_800_000_000),
}
_WITH_UNIT = 'a time with its unit, such as "500ms", "30s", "5min", "2h" or "7d"'
_SECONDS = f"seconds from 0 on, a timedelta, or {_WITH_UNIT}"
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
#: Those of a command line.
SECONDS_AS_TEXT = f"seconds from 0 on, or {_WITH_UNIT}"
_PERIOD = f"a timedelta, or {_WITH_UNIT}"
_MICROSECOND = timedelta(microseconds=1)
_MAX_SPAN = timedelta.max // timedelta(milliseconds=1)


def seconds(name: str, duration: Duration, allowed: str = _SECONDS) -> float:
    """A duration in seconds.

    Args:
        name: The name of the argument, for the error.
        duration: As a user gave it.
        allowed: What is allowed, for the error.

    Raises:
        ConfigError: The duration is below 0, not a number, or a string without a known unit.
        TypeError: The duration is of another type, also a bool.
    """
    if isinstance(duration, float | int) and not isinstance(duration, bool):
        if not duration >= 0:
            raise _invalid(name, duration, allowed)
        return min(duration, _MAX_SECONDS)
    if not isinstance(duration, timedelta | str):
        raise TypeError(f"{name} is a number of seconds, a timedelta or a string, not {type(duration).__name__}")
    return min(_micros(name, duration, allowed) / 1e6, _MAX_SECONDS)


def delay_micros(name: str, delay: Duration) -> int:
    """A duration in microseconds, rounded up; raises as `seconds`."""
    return ceil(seconds(name, delay) * 1e6)


def retry_seconds(attempts: int) -> float:
    """The delay of redelivery of a record that was not handled, by its attempts: 0.1 s, then doubled each time.

    Without a delay, a record that always fails would be redelivered at once, and keep the loop busy.
    """
    return min(_FIRST_RETRY * 2.0 ** min(max(0, attempts - 1), _MAX_DOUBLINGS), _LONGEST_RETRY)


def period_millis(name: str, period: object, allowed: str = _PERIOD) -> int:
    """The milliseconds of a key of the configuration, rounded up.

    Raises:
        ConfigError: A number without a unit, other than 0; or anything else that is not a period.
    """
    if isinstance(period, timedelta | str):
        return -(-_micros(name, period, allowed) // 1000)
    if isinstance(period, bool) or period != 0:
        raise _invalid(name, period, allowed)
    return 0


def time_span(name: str, period: object) -> timedelta:
    """The time span of a period in a file or on a command line; raises as `period_millis`."""
    return timedelta(milliseconds=min(period_millis(name, period, _WITH_UNIT), _MAX_SPAN))


def _micros(name: str, duration: timedelta | str, allowed: str) -> int:
    """The microseconds of a timedelta or of a string with units.

    Raises:
        ConfigError: The duration is below 0, or a string without a known unit.
    """
    found = _parsed(duration) if isinstance(duration, str) else duration // _MICROSECOND
    if found is None or found < 0:
        raise _invalid(name, duration, allowed)
    return found


def _parsed(text: str) -> int | None:
    """The microseconds of a string; None if it is not a duration."""
    if _ZERO.fullmatch(text):
        return 0
    words = text.strip().lower().removeprefix(_INTERVAL)
    micros, end = 0, 0
    while not end or end < len(words):
        part = _PART.match(words, end)
        if part is None or part[3] not in _MICROS:
            return None
        whole, fraction, unit = part[1], part[2] or "0", _MICROS[part[3]]
        micros += int(whole) * unit - (-int(fraction) * unit // 10 ** len(fraction))
        end = part.end()
    return micros if micros // 1000 <= _MAX_MILLIS else None


def _invalid(name: str, value: object, allowed: str) -> ConfigError:
    if allowed in (_PERIOD, _WITH_UNIT) and _NUMBER.fullmatch(str(value)):
        allowed = f'"{value}s" or "{value}ms", {allowed}'
    return ConfigError(f"{name} = {value!r} is invalid; allowed: {allowed}", name, str(value), allowed)


def age_text(seconds: float) -> str:
    """A duration in its two largest units, such as 250ms, 3.2s, 5m12s, 2h3m, 1d4h."""
    if seconds < 1:
        return f"{seconds * 1000:.0f}ms"
    if seconds < _MINUTE:
        return f"{seconds:.1f}s"
    whole = int(seconds)
    for unit, name, smaller, smaller_name in (
        (_DAY, "d", _HOUR, "h"),
        (_HOUR, "h", _MINUTE, "m"),
        (_MINUTE, "m", 1, "s"),
    ):
        if whole >= unit:
            return f"{whole // unit}{name}{whole % unit // smaller}{smaller_name}"
    return f"{whole}s"
