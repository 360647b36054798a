"""Arguments that more than one method takes."""

from math import ceil

#: What stands for a delay without end.
_MOST_SECONDS = 1e9


def check_limits(max_records: int, max_bytes: int | None) -> None:
    """Raises ValueError for limits that would give nothing."""
    if max_records < 1 or (max_bytes is not None and max_bytes < 1):
        raise ValueError(f"max_records = {max_records}, max_bytes = {max_bytes}: both must be at least 1")


def delay_micros(name: str, seconds: float) -> int:
    """A delay in microseconds; raises ValueError for one below zero."""
    if not seconds >= 0:
        raise ValueError(f"{name} = {seconds}: it must be a number of seconds, not below 0")
    return ceil(min(seconds, _MOST_SECONDS) * 1e6)
