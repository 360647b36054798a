"""Arguments that more than one method takes."""

from math import ceil
from operator import index

#: What stands for a delay without end.
_MOST_SECONDS = 1e9


def whole(what: str, number: int) -> int:
    """A whole number; raises TypeError for anything else, and for a bool, which counts as one for Python."""
    if isinstance(number, bool) or not hasattr(number, "__index__"):
        raise TypeError(f"{what} is an int, not {type(number).__name__}")
    return index(number)


def count(name: str, number: int) -> int:
    """A number of at least 1; raises TypeError or ValueError for anything else."""
    found = whole(name, number)
    if found < 1:
        raise ValueError(f"{name} = {number}: it must be at least 1")
    return found


def check_limits(max_records: int, max_bytes: int | None) -> None:
    """Raises TypeError or ValueError for limits that would give nothing."""
    count("max_records", max_records)
    if max_bytes is not None:
        count("max_bytes", max_bytes)


def check_seconds(name: str, seconds: float) -> None:
    """Raises ValueError for a duration below zero, TypeError for a bool."""
    if isinstance(seconds, bool):
        raise TypeError(f"{name} is a number of seconds, not bool")
    if not seconds >= 0:
        raise ValueError(f"{name} = {seconds}: it must be a number of seconds, not below 0")


def delay_micros(name: str, seconds: float) -> int:
    """A delay in microseconds; raises as `check_seconds`."""
    check_seconds(name, seconds)
    return ceil(min(seconds, _MOST_SECONDS) * 1e6)
