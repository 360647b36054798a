"""Damaged ranges that consumers have skipped."""

import json
from typing import NamedTuple

from mmapqueue._jvm.answers import named


class DamagedRange(NamedTuple):
    """A damaged part of the log that a consumer with `on_damage="skip"` has skipped. Immutable.

    Attributes:
        first_offset: The offset of the first record that was skipped.
        last_offset: The offset of the last one; below first_offset if no record is lost.
        file: The segment file.
        position: The byte in the file at which the damage was found.
        detail: The value found there, and the expected one.

    Example:
        >>> DamagedRange(5, 7, "events/0_segment.dat", 1024, "no record").records
        3
    """

    first_offset: int
    last_offset: int
    file: str
    position: int
    detail: str

    @property
    def records(self) -> int:
        """The number of records that were skipped."""
        return self.last_offset - self.first_offset + 1


def parsed_ranges(text: str) -> dict[str, list[DamagedRange]]:
    """The damaged ranges of each consumer, from the answer of the JVM."""
    return {name: [DamagedRange(**named(each)) for each in ranges] for name, ranges in json.loads(text).items()}
