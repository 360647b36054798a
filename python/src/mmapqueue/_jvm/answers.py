"""Answers of the JVM: JSON, in which a Java record is an object of its components, and a time is in µs."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_CAPITAL = re.compile("[A-Z]")


def named(record: Mapping[str, Any]) -> dict[str, Any]:
    """The components of a record, with their names as Python spells them."""
    return {_CAPITAL.sub(lambda found: f"_{found[0].lower()}", name): value for name, value in record.items()}


def time_of(micros: int) -> datetime:
    """The time of a number of µs since 1970, in UTC."""
    return _EPOCH + timedelta(microseconds=micros)


def time_or_none(micros: int | None) -> datetime | None:
    """As `time_of`; None for None."""
    return None if micros is None else time_of(micros)
