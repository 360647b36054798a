"""Writing: push, and push of many."""

import threading
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from os import getpid
from typing import NamedTuple

from mmapqueue._jvm import names
from mmapqueue._jvm.shared_buffer import LARGE, SMALL
from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.handle import Opened, Waiting
from mmapqueue._values.errors import Full, TooLarge

Record = bytes | bytearray | memoryview

_BYTES = {bytes}
#: Records that are taken at first, before it is known how large they are; and how many times as many the next time.
_FIRST_CHUNK = 256
_CHUNK_GROWTH = 8
_MOST_IN_CHUNK = 8192


class _Hand:
    """What one thread pushes with.

    Attributes:
        stage: The stage.
        busy: Whether a call is under way. Found set when the next one begins, that one was interrupted, and the JVM
            may be reading the stage still.
    """

    __slots__ = ("__weakref__", "_opened", "busy", "stage")

    def __init__(self, opened: Opened) -> None:
        self.stage = opened.pool.small()
        self.busy = False
        self._opened = opened
        opened.hands[id(self)] = self

    def release(self) -> None:
        self.stage.memory.close()

    def __del__(self) -> None:
        """The thread has ended, maybe in the middle of a call. No lock may be taken here."""
        if not self.busy:
            self._opened.pool.give(self.stage)


class Once(NamedTuple):
    """What makes a batch one that is pushed once.

    Attributes:
        producer: Who pushes it.
        sequence: Its number.
    """

    producer: str
    sequence: int


class _Pushed:
    """What has gone in of one call's records.

    Attributes:
        count: How many.
    """

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class Producer:
    """The pushing half of a queue. Safe for any number of threads."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._local = threading.local()

    def push(self, data: Record, block: bool, timeout: float | None, sync: bool) -> int:
        """As `Queue.push`."""
        record = data if type(data) is bytes else as_bytes(data)
        waiting = Waiting(block, timeout)
        hand = self._begin()
        stage = hand.stage
        if len(record) > stage.payload_limit:
            return self._push_as_one(hand, [record], waiting, sync, _Pushed())
        stage.memory.store(names.PAYLOAD, record)
        while True:
            with Shield():
                offset: int = stage.push(stage.next_call(), len(record), waiting.millis(), sync)
                hand.busy = offset < 0
            if offset >= 0:
                return offset
            self._check_refused(hand, offset, waiting)

    def push_many(self, items: Iterable[Record], block: bool, timeout: float | None, atomic: bool) -> int:
        """As `Queue.push_many`."""
        pushed = _Pushed()
        try:
            self._push_many(items, Waiting(block, timeout), atomic, pushed)
        except BaseException as error:
            # Of any kind: one out of `items`, or Ctrl-C. Those that take no attributes are left alone.
            with suppress(AttributeError, TypeError):
                error.pushed = pushed.count  # type: ignore[attr-defined]
            raise
        return pushed.count

    def _push_many(self, items: Iterable[Record], waiting: Waiting, atomic: bool, pushed: _Pushed) -> None:
        if atomic:
            records = _normal(list(items))
            if records:
                self._push_as_one(self._begin(), records, waiting, False, pushed)
            return
        source = iter(items)
        # Records of the largest size that is allowed must not pile up here.
        want = max(1, min(_FIRST_CHUNK, LARGE // self._opened.max_event_size))
        hand = self._begin()
        while records := _normal(list(islice(source, want))):
            lengths = list(map(len, records))
            size = sum(lengths)
            if size > hand.stage.payload_limit:
                self._grow(hand)
            start = 0
            while start < len(records):
                stop = hand.stage.fitting(lengths, start)
                if stop == start:
                    stop += 1
                    self._push_as_one(hand, records[start:stop], waiting, False, pushed)
                    hand.busy = True
                else:
                    self._push_some(hand, records[start:stop], lengths[start:stop], waiting, pushed)
                start = stop
            # As many as will fill a large stage, if they go on like these.
            want = max(1, min(_MOST_IN_CHUNK, LARGE * len(records) // (size + 1), want * _CHUNK_GROWTH))
        hand.busy = False

    def push_once(self, once: Once, items: Iterable[Record], timeout: float | None, sync: bool) -> int | None:
        """As `Queue.push_once`."""
        waiting = Waiting(True, timeout)
        records = _normal(list(items))
        offset = self._push_as_one(self._begin(), records, waiting, sync, _Pushed(), once)
        return None if offset == names.DONE else offset

    def _begin(self) -> _Hand:
        """What this thread pushes with, in nobody's use."""
        opened = self._opened
        if opened.closed or opened.pid != getpid():
            opened.check()
        hand: _Hand
        try:
            hand = self._local.hand
        except AttributeError:
            with Shield():
                hand = self._local.hand = _Hand(opened)
        interrupted, hand.busy = hand.busy, True
        if opened.closed:
            hand.busy = False
            opened.check()
        if interrupted:
            with Shield():
                opened.pool.discard(hand.stage)
                hand.stage = opened.pool.small()
        return hand

    def _push_some(
        self, hand: _Hand, records: list[bytes], lengths: list[int], waiting: Waiting, pushed: _Pushed
    ) -> None:
        """Pushes what fits into the stage."""
        stage = hand.stage
        payload = b"".join(records)
        stage.write(payload, lengths)
        done = 0
        while done < len(records):
            with Shield():
                answer: int = stage.push_many(stage.next_call(), len(payload), len(records), done, waiting.millis())
                # Before a signal handler can raise.
                pushed.count += max(0, answer)
            if answer > 0:
                done += answer
            else:
                self._check_refused(hand, answer, waiting)

    def _push_as_one(
        self,
        hand: _Hand,
        records: list[bytes],
        waiting: Waiting,
        sync: bool,
        pushed: _Pushed,
        once: Once | None = None,
    ) -> int:
        """Pushes records together, or one that is larger than the stage; the first one's offset, or DONE."""
        payload = records[0] if len(records) == 1 else b"".join(records)
        lengths = list(map(len, records))
        self._check_sizes(hand, len(payload), max(lengths, default=0))
        if len(payload) > hand.stage.payload_limit:
            self._grow(hand)
        stage = hand.stage
        sent = counted = 0
        begin = True  # once, also for a batch of nothing: what was loaded before is forgotten
        while begin or counted < len(lengths) or sent < len(payload):
            piece = payload[sent : sent + stage.payload_limit]
            part = lengths[counted : counted + stage.record_limit]
            with Shield():
                stage.write(piece, part)
                stage.load(stage.next_call(), begin, len(piece), len(part))
            begin = False
            sent += len(piece)
            counted += len(part)
        while True:
            with Shield():
                offset: int = (
                    stage.push_loaded(stage.next_call(), waiting.millis(), sync)
                    if once is None
                    else stage.push_loaded_once(stage.next_call(), waiting.millis(), sync, once.producer, once.sequence)
                )
                hand.busy = offset < 0 and offset != names.DONE
                pushed.count += len(records) if offset >= 0 else 0
            if not hand.busy:
                return offset
            self._check_refused(hand, offset, waiting)

    def _check_sizes(self, hand: _Hand, size: int, largest: int) -> None:
        """Before all of it is moved: what could not be pushed in the end."""
        reason = None
        if largest > self._opened.max_event_size:
            reason = f"a record of {largest} bytes is larger than max_event_size = {self._opened.max_event_size}"
        elif size > self._opened.capacity:
            reason = f"a batch of {size} bytes is larger than the queue, which holds {self._opened.capacity}"
        if reason is not None:
            hand.busy = False
            raise TooLarge(reason)

    def _check_refused(self, hand: _Hand, answer: int, waiting: Waiting) -> None:
        """Raises what an answer below zero, or nothing pushed, means when there is no time left."""
        if answer == names.CLOSED:
            hand.busy = False
            raise self._opened.closed_error()
        if waiting.is_over():
            hand.busy = False
            held = self._opened.ask("heldBy")
            raise Full(f"the queue in {self._opened.path} is full: it holds records that are not acked; {held}")

    def _grow(self, hand: _Hand) -> None:
        """Gives the hand a large stage, if there is one to be had."""
        if hand.stage.size == SMALL:
            large = self._opened.pool.large()
            if large is not None:
                self._opened.pool.give(hand.stage)
                hand.stage = large


def as_bytes(data: object) -> bytes:
    """The bytes of what is bytes-like.

    Raises:
        TypeError: It is something else.
    """
    if isinstance(data, bytes | bytearray | memoryview):
        return bytes(data)
    hint = ": encode it first" if isinstance(data, str) else ""
    raise TypeError(f"a record is bytes, bytearray or memoryview, not {type(data).__name__}{hint}")


def _normal(items: list[Record]) -> list[bytes]:
    return items if set(map(type, items)) <= _BYTES else [as_bytes(item) for item in items]  # type: ignore[return-value]
