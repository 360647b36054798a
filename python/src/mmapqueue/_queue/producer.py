"""Pushing one record, and many."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import islice
from os import getpid
from typing import NamedTuple, Protocol

from mmapqueue._jvm import names
from mmapqueue._jvm.shared_buffer import LARGE_BYTES, SMALL_BYTES
from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.deadline import Deadline
from mmapqueue._queue.handle import QueueHandle
from mmapqueue._queue.push_buffer import PushBuffer
from mmapqueue._values.arguments import as_bytes, flag
from mmapqueue._values.durations import Duration
from mmapqueue._values.errors import Closed, Full, TooLarge

Record = bytes | bytearray | memoryview
#: Records as bytes, back to back.
Payload = bytes | memoryview

#: Number of records of the first chunk, since their sizes are unknown; and the growth of each next chunk.
_FIRST_CHUNK = 256
_CHUNK_GROWTH = 8
_MAX_CHUNK = 8192


class ByteColumn(Protocol):
    """Records back to back in memory.

    Attributes:
        size: Bytes of all records.
    """

    size: int

    def __len__(self) -> int:
        """The number of records."""

    def fitting(self, start: int, max_bytes: int, max_records: int) -> int:
        """The index after the last record that fits, of those from `start` on."""

    def part(self, start: int, stop: int) -> tuple[memoryview, Sequence[int]]:
        """The bytes of some records, and the length of each."""


class ProducerSequence(NamedTuple):
    """Identifies a batch of an idempotent producer.

    Attributes:
        producer: The producer's name.
        sequence: The batch's sequence number.
    """

    producer: str
    sequence: int


class _Pushed:
    """Counts the records of one call that are in the queue.

    Attributes:
        count: The number of records.
    """

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class Producer:
    """The pushing half of a queue. Safe for any number of threads."""

    def __init__(self, handle: QueueHandle) -> None:
        self._handle = handle
        self._local = threading.local()

    def push(self, data: Record, *, block: bool, timeout: Duration | None, sync: bool) -> int:
        """As `Queue.push`."""
        record = data if type(data) is bytes else as_bytes(data)
        # A keyword argument of a class costs 0.1 µs.
        deadline = Deadline(timeout) if block is True else Deadline(timeout, block=block)
        if sync is not False:
            flag("sync", sync)
        try:
            return self._push(record, deadline, sync=sync)
        except Closed:
            self._set_idle()
            raise

    def _push(self, record: bytes, deadline: Deadline, *, sync: bool) -> int:
        own = self._begin()
        buffer = own.buffer
        if len(record) > buffer.payload_limit:
            return self._push_as_one(own, record, [len(record)], deadline, _Pushed(), sync=sync)
        buffer.memory.store(names.PAYLOAD, record)
        while True:
            with Shield():
                offset: int = buffer.push(buffer.next_call(), len(record), deadline.call_millis(), sync)
                own.busy = offset < 0
            if offset >= 0:
                return offset
            self._check_deadline(own, deadline)

    def push_many(
        self, items: Iterable[Record], *, block: bool, timeout: Duration | None, atomic: bool, sync: bool
    ) -> int:
        """As `Queue.push_many`."""
        deadline = Deadline(timeout, block=block)
        flag("atomic", atomic)
        flag("sync", sync)
        return self._counted(lambda pushed: self._push_many(items, deadline, pushed, atomic=atomic), sync=sync)

    def push_columns(
        self, columns: Iterable[ByteColumn], *, block: bool, timeout: Duration | None, atomic: bool, sync: bool
    ) -> int:
        """As `Queue.push_many`, of columns of records."""
        deadline = Deadline(timeout, block=block)
        flag("atomic", atomic)
        flag("sync", sync)
        return self._counted(lambda pushed: self._push_columns(columns, deadline, pushed, atomic=atomic), sync=sync)

    def _counted(self, push: Callable[[_Pushed], None], *, sync: bool) -> int:
        """Pushes; returns the number of records, which is also an attribute of any exception."""
        pushed = _Pushed()
        try:
            push(pushed)
            if sync and pushed.count:
                self._handle.call("flush")  # One fsync for all.
        except BaseException as error:
            # Any exception: of the caller's iterator, or Ctrl-C. Some take no attributes.
            with suppress(AttributeError, TypeError):
                error.pushed = pushed.count  # type: ignore[attr-defined]
            if isinstance(error, Closed):
                self._set_idle()
            raise
        return pushed.count

    def _push_many(self, items: Iterable[Record], deadline: Deadline, pushed: _Pushed, *, atomic: bool) -> None:
        if atomic:
            records = _all_bytes(items)
            if records:
                self._push_as_one(self._begin(), *_packed(records), deadline, pushed)
            return
        self._handle.check()
        source = iter(items)
        # Bounds the memory when records are of the largest allowed size.
        want = max(1, min(_FIRST_CHUNK, LARGE_BYTES // self._handle.max_event_size))
        while records := _all_bytes(islice(source, want)):
            # Not before: the caller's iterator may push and close itself, and takes any time.
            own = self._begin()
            lengths = list(map(len, records))
            size = sum(lengths)
            if size > own.buffer.payload_limit:
                self._grow(own)
            start = 0
            while start < len(records):
                stop = own.buffer.fitting(lengths, start)
                if stop == start:
                    stop += 1
                    self._push_as_one(own, records[start], lengths[start:stop], deadline, pushed)
                    own = self._begin()
                else:
                    self._push_some(own, b"".join(records[start:stop]), lengths[start:stop], deadline, pushed)
                start = stop
            own.busy = False
            # As many records as fill a large buffer, if the next ones have the sizes of these.
            want = max(1, min(_MAX_CHUNK, LARGE_BYTES * len(records) // (size + 1), want * _CHUNK_GROWTH))

    def _push_columns(
        self, columns: Iterable[ByteColumn], deadline: Deadline, pushed: _Pushed, *, atomic: bool
    ) -> None:
        if atomic:
            parts = [column.part(0, len(column)) for column in columns if len(column)]
            if parts:
                payload = b"".join(payload for payload, _ in parts)
                lengths = [length for _, each in parts for length in each]
                self._push_as_one(self._begin(), payload, lengths, deadline, pushed)
            return
        for column in columns:
            own = self._begin()
            if column.size > own.buffer.payload_limit:
                self._grow(own)
            start = 0
            while start < len(column):
                stop = column.fitting(start, own.buffer.payload_limit, own.buffer.record_limit)
                if stop == start:
                    stop += 1
                    self._push_as_one(own, *column.part(start, stop), deadline, pushed)
                    own = self._begin()
                else:
                    self._push_some(own, *column.part(start, stop), deadline, pushed)
                start = stop
            own.busy = False

    def push_once(
        self, sequenced: ProducerSequence, items: Iterable[Record], timeout: Duration | None, *, sync: bool
    ) -> int | None:
        """As `Queue.push_once`."""
        deadline = Deadline(timeout)
        flag("sync", sync)
        records = _all_bytes(items)
        try:
            offset = self._push_as_one(
                self._begin(), *_packed(records), deadline, _Pushed(), sync=sync, sequenced=sequenced
            )
        except Closed:
            self._set_idle()
            raise
        return None if offset == names.DONE else offset

    # ---- called by the thread of a batching producer

    def begin_large(self) -> PushBuffer:
        """Returns this thread's buffer, marked busy; a large one if the pool has one."""
        own = self._begin()
        self._grow(own)
        return own

    def fill(self, own: PushBuffer, records: list[bytes], lengths: list[int]) -> int:
        """Writes records that fit into the buffer together; returns the bytes of payload."""
        payload = b"".join(records)
        own.buffer.write(payload, lengths)
        return len(payload)

    def push_batch(
        self, own: PushBuffer, size: int, count: int, done: int, millis: int, *, sync: bool
    ) -> tuple[int, int] | None:
        """Pushes records of a filled buffer, in order, as many as the queue has room for.

        Args:
            own: The buffer.
            size: Bytes of payload in it.
            count: Records in it.
            done: Number of those records that are pushed already.
            millis: The maximum wait for room for one record, in ms.
            sync: Whether to return only when the records are durable.

        Returns:
            The first record's offset, and the number of pushed records; None when there was no room in time.
        """
        buffer = own.buffer
        first: int = buffer.push_batch(buffer.next_call(), size, count, done, millis, sync)
        return None if first == names.FULL else (first, buffer.count())

    def push_large(self, own: PushBuffer, record: bytes, deadline: Deadline, *, sync: bool) -> int:
        """Pushes a record of any size; raises Full when there was no room in time."""
        return self._push_as_one(own, record, [len(record)], deadline, _Pushed(), sync=sync)

    # ---- one call

    def _begin(self) -> PushBuffer:
        """Returns this thread's buffer, marked busy; a new one if the last call was interrupted."""
        handle = self._handle
        if handle.closed or handle.pid != getpid():
            handle.check()
        own: PushBuffer
        try:
            own = self._local.own
        except AttributeError:
            with Shield():
                own = self._local.own = PushBuffer(handle, handle.pool.get_small())
        interrupted, own.busy = own.busy, True
        if handle.closed:
            own.busy = False
            handle.check()
        if interrupted:
            with Shield():
                handle.pool.discard(own.buffer)
                own.buffer = handle.pool.get_small()
        return own

    def _set_idle(self) -> None:
        """Marks this thread's buffer idle: after Closed the JVM does not use it any more."""
        own: PushBuffer | None = getattr(self._local, "own", None)
        if own is not None:
            own.busy = False

    def _push_some(
        self, own: PushBuffer, payload: Payload, lengths: Sequence[int], deadline: Deadline, pushed: _Pushed
    ) -> None:
        """Pushes records, back to back, that fit into the shared buffer together."""
        buffer = own.buffer
        buffer.write(payload, lengths)
        done = 0
        while done < len(lengths):
            with Shield():
                answer: int = buffer.push_many(
                    buffer.next_call(), len(payload), len(lengths), done, deadline.call_millis()
                )
                # Set before a signal handler can raise.
                pushed.count += max(0, answer)
            if answer > 0:
                done += answer
            else:
                self._check_deadline(own, deadline)

    def _push_as_one(
        self,
        own: PushBuffer,
        payload: Payload,
        lengths: Sequence[int],
        deadline: Deadline,
        pushed: _Pushed,
        *,
        sync: bool = False,
        sequenced: ProducerSequence | None = None,
    ) -> int:
        """Pushes records, back to back, as one batch; or one record that is larger than the buffer.

        Returns:
            The first record's offset, or DONE.
        """
        self._check_sizes(own, len(payload), max(lengths, default=0))
        if len(payload) > own.buffer.payload_limit:
            self._grow(own)
        buffer = own.buffer
        sent = counted = 0
        begin = True  # also for an empty batch, so that the JVM drops records loaded before
        while begin or counted < len(lengths) or sent < len(payload):
            piece = payload[sent : sent + buffer.payload_limit]
            part = lengths[counted : counted + buffer.record_limit]
            with Shield():
                buffer.write(piece, part)
                buffer.load(buffer.next_call(), begin, len(piece), len(part))
            begin = False
            sent += len(piece)
            counted += len(part)
        while True:
            with Shield():
                call, millis = buffer.next_call(), deadline.call_millis()
                offset: int = (
                    buffer.push_loaded(call, millis, sync)
                    if sequenced is None
                    else buffer.push_loaded_once(call, millis, sync, *sequenced)
                )
                own.busy = offset < 0 and offset != names.DONE
                pushed.count += len(lengths) if offset >= 0 else 0
            if not own.busy:
                return offset
            self._check_deadline(own, deadline)

    def _check_sizes(self, own: PushBuffer, size: int, largest: int) -> None:
        """Raises TooLarge before any byte is copied."""
        reason = None
        if largest > self._handle.max_event_size:
            reason = f"a record of {largest} bytes is larger than max_event_size = {self._handle.max_event_size}"
        elif size > self._handle.capacity:
            reason = f"a batch of {size} bytes is larger than the queue, which holds {self._handle.capacity}"
        if reason is not None:
            own.busy = False
            raise TooLarge(reason)

    def _check_deadline(self, own: PushBuffer, deadline: Deadline) -> None:
        """Raises Full once the deadline has passed; otherwise returns, and the caller tries again."""
        if deadline.waits:
            self._handle.room.is_missing()
        if deadline.has_passed():
            # Acks may have made room: those of this thread that were pending during the last try. If none is pending
            # now, their own thread has sent them since.
            if self._handle.send_acks() or (own.extended is not deadline and self._handle.releasables):
                own.extended = deadline
                return
            own.busy = False
            held = self._handle.call("heldBy")
            raise Full(f"the queue in {self._handle.path} is full: it holds records that are not acked; {held}")

    def _grow(self, own: PushBuffer) -> None:
        """Exchanges the small shared buffer for a large one, if the pool has one."""
        if own.buffer.size == SMALL_BYTES:
            large = self._handle.pool.get_large()
            if large is not None:
                self._handle.pool.put(own.buffer)
                own.buffer = large


def _packed(records: list[bytes]) -> tuple[bytes, list[int]]:
    """Records back to back, and the length of each."""
    return records[0] if len(records) == 1 else b"".join(records), list(map(len, records))


def _all_bytes(items: Iterable[Record]) -> list[bytes]:
    # Copies each record as it is taken: an iterator may reuse one bytearray for all of them.
    return [item if type(item) is bytes else as_bytes(item) for item in items]
