"""Records that stay in shared memory: a buffer is lent while objects of Python refer to its memory.

A lent buffer is in no pool, so no call writes into it. The last object that refers to it puts it back, in whichever
thread that happens; finalizers take no lock.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Sequence
from typing import overload

from mmapqueue._jvm import names
from mmapqueue._jvm.columns import Columns
from mmapqueue._jvm.shared_buffer import BufferPool, SharedBuffer
from mmapqueue._jvm.shared_memory import MappedMemory
from mmapqueue._values.message import AnyMessage
from mmapqueue._values.origin import Origin

#: Records of fewer bytes are copied: a lent buffer would keep much more memory than they need.
LEAST_LENT_BYTES = 256 << 10

#: Number of forks of this process. A child shares the memory, so a buffer that was lent before a fork is not reused.
_forks = 0


def _before_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(before=_before_fork)


class Loan:
    """Referred to by objects that use the memory of a buffer, for as long as they use it.

    Attributes:
        buffer: The lent buffer.
        address: The address of the buffer's memory in this process.
        begun: Whether the buffer belongs to this loan. Until then it is the caller's.
    """

    __slots__ = ("_forks", "_pool", "address", "begun", "buffer")

    def __init__(self, pool: BufferPool, buffer: SharedBuffer) -> None:
        self.begun = False
        self.buffer = buffer
        assert isinstance(buffer.memory, MappedMemory)
        self.address = buffer.memory.address()
        self._pool = pool
        self._forks = _forks

    def __del__(self) -> None:
        if self.begun:
            self._pool.put_lent(self.buffer, reusable=self._forks == _forks)


class _Records(Sequence[AnyMessage]):
    """Several records, which become messages only when a pop was interrupted."""

    __slots__ = ("columns", "origin")

    def __init__(self, columns: Columns, origin: Origin) -> None:
        self.columns = columns
        self.origin = origin

    def __len__(self) -> int:
        return self.columns.records

    @overload
    def __getitem__(self, index: int) -> AnyMessage: ...

    @overload
    def __getitem__(self, index: slice) -> list[AnyMessage]: ...

    def __getitem__(self, index: int | slice) -> AnyMessage | list[AnyMessage]:
        return self._messages()[index]

    def __iter__(self) -> Iterator[AnyMessage]:
        return iter(self._messages())

    def _messages(self) -> list[AnyMessage]:
        raise NotImplementedError


class UnreadRecords(_Records):
    """Records in a buffer that the next call overwrites."""

    __slots__ = ("buffer",)

    def __init__(self, buffer: SharedBuffer, columns: Columns, origin: Origin) -> None:
        super().__init__(columns, origin)
        self.buffer = buffer

    def last_offset(self) -> int:
        """The offset of the last record."""
        end = self.columns.end
        return array("q", self.buffer.memory.load(end)[end - 8 : end])[0]

    def _messages(self) -> list[AnyMessage]:
        return self.buffer.read(self.origin)


class HeldRecords(_Records):
    """Records that no call overwrites: in a lent buffer, or copied.

    Attributes:
        loan: Keeps the memory alive; None for a copy.
        copied: The copy: the buffer's bytes up to the end of the last column; None for a lent buffer.
    """

    __slots__ = ("_buffer", "_pool", "copied", "loan")

    def __init__(self, pool: BufferPool, records: UnreadRecords) -> None:
        super().__init__(records.columns, records.origin)
        buffer, end = records.buffer, records.columns.last
        self._pool = pool
        self._buffer: SharedBuffer | None = buffer
        self.loan = Loan(pool, buffer) if end >= LEAST_LENT_BYTES and pool.may_lend(buffer) else None
        self.copied = None if self.loan else buffer.memory.load(end)[:end]

    def begin(self) -> None:
        """Hands the buffer to the loan, or back to the pool. The caller must not use it any more."""
        buffer, self._buffer = self._buffer, None
        if buffer is None:
            return
        if self.loan is not None:
            self._pool.lent(buffer)
            self.loan.begun = True
        else:
            self._pool.put(buffer)

    def _messages(self) -> list[AnyMessage]:
        if self.loan is None:
            assert self.copied is not None
            return self.columns.messages(self.copied, self.origin)
        return self.loan.buffer.read(self.origin)


def unread(buffer: SharedBuffer, origin: Origin) -> Sequence[AnyMessage]:
    """The records that the JVM has written, not read yet; a single record as a message."""
    columns = Columns.of(buffer.memory.load(names.HEADER.size))
    return tuple(buffer.read(origin)) if columns.records == 1 else UnreadRecords(buffer, columns, origin)
