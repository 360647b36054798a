"""The records in a shared buffer, as SharedBufferLayout.java has them: payloads back to back, then columns."""

from __future__ import annotations

import mmap
from array import array
from itertools import pairwise, repeat
from struct import iter_unpack
from typing import NamedTuple

from mmapqueue._jvm import names
from mmapqueue._values.message import AnyMessage, messages
from mmapqueue._values.origin import Origin

#: An object with the bytes of a shared buffer, which slices to bytes.
View = bytes | mmap.mmap


class Columns(NamedTuple):
    """The positions of columns in a shared buffer with several records.

    Attributes:
        records: The number of records.
        size: Bytes of payload of all records.
        has_all_timestamps: Whether each record has a timestamp.
        attempts: The attempts of each record; None when they have a column.
        positions: Start of the column of positions, 32 bits each, one more than there are records.
        timestamps: Start of the column of timestamps, 64 bits each.
        offsets: Start of the column of offsets, 64 bits each.
        end: End of the column of offsets, and start of the column of attempts.
    """

    records: int
    size: int
    has_all_timestamps: bool
    attempts: int | None
    positions: int
    timestamps: int
    offsets: int
    end: int

    @classmethod
    def of(cls, header: View) -> Columns:
        """The columns that a header describes; a single record has none."""
        _, _, count, flags, size, attempts = names.HEADER.unpack_from(header)
        positions = names.aligned(names.PAYLOAD + size)
        timestamps = names.aligned(positions + 4 * (count + 1))
        offsets = timestamps + 8 * count
        return cls(
            count,
            size,
            not flags & names.MISSING_TIMESTAMPS,
            None if flags & names.MIXED_ATTEMPTS else attempts,
            positions,
            timestamps,
            offsets,
            offsets + 8 * count,
        )

    @property
    def last(self) -> int:
        """The end of the last column."""
        return self.end if self.attempts is not None else self.end + 4 * self.records

    def messages(self, view: View, origin: Origin) -> list[AnyMessage]:
        """The records as messages.

        Args:
            view: The bytes of the buffer up to `last`.
            origin: The messages' origin.
        """
        positions = array("i", view[self.positions : self.positions + 4 * (self.records + 1)])
        return list(
            messages(
                self._payloads(view, positions),
                array("q", view[self.offsets : self.end]),
                array("q", view[self.timestamps : self.offsets]),
                array("i", view[self.end : self.last])
                if self.attempts is None
                else repeat(self.attempts, self.records),
                origin,
            )
        )

    def _payloads(self, view: View, positions: array[int]) -> list[bytes]:
        length, rest = divmod(self.size, self.records)
        if length and not rest and positions == array("i", range(names.PAYLOAD, positions[-1] + 1, length)):
            # Columns of one length are zipped in C.
            return [data for (data,) in iter_unpack(f"{length}s", view[names.PAYLOAD : positions[-1]])]
        return [view[a:b] for a, b in pairwise(positions)]
