"""Reads dead letters, and keeps which of them were sent again: the other side of `dead_letters`."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

from google.protobuf import json_format
from google.protobuf.message import DecodeError

import mmapqueue
from mmapqueue.pipeline._skywalking import LOGS, SEGMENT
from mmapqueue.pipeline.event_pb2 import Event, EventType
from mmapqueue.pipeline.process.dead_letters import ABOUT, FORM, RECORD, ROW

#: The consumer that acks the dead letters that were sent again. The others stay.
CONSUMER = "resend"
_MOST_RECORDS = 1000
_MOST_BYTES = 4 << 20
#: Names of types in the column `type`, where they differ from the enumeration's in more than underscores and case.
_TYPES = {EventType.CLR: "CLR", EventType.JVM: "JVM"}
_MILLIS_OF_DAY = 86_400_000
#: Days of 400 years, after which the calendar repeats itself.
_DAYS_OF_CYCLE = 146_097


class Letter(NamedTuple):
    """A dead letter.

    Attributes:
        position: Its offset in the dead-letter queue.
        time: When it was stored; None without a timestamp.
        event: The event, as the dead-letter queue has it.
    """

    position: int
    time: datetime | None
    event: Event

    @property
    def reason(self) -> str:
        """Why it was not sent."""
        return self.event.meta.get("reason", "")

    @property
    def pipe(self) -> str:
        """The name of its pipe."""
        return self.event.meta.get("pipe", "")

    @property
    def sender(self) -> str:
        """The sender that has not sent it; empty for what no sender gets."""
        return self.event.meta.get("sender", "")

    @property
    def partition(self) -> int:
        """The partition of its record in the pipe's queue."""
        return int(self.event.meta.get("partition", 0))

    @property
    def offset(self) -> int:
        """The offset of its record there."""
        return int(self.event.meta.get("offset", 0))

    @property
    def type(self) -> str:
        """The type, as the column `type` has it."""
        number = self.event.type
        if number in _TYPES:
            return _TYPES[number]
        if number in EventType.values():
            return EventType.Name(number).title().replace("_", "")
        return f"Type{number}"

    @property
    def content_type(self) -> str:
        """The media type of `data`."""
        if self.event.segment:
            return SEGMENT
        return LOGS if self.event.HasField("log_list") else self.event.content_type

    @property
    def data(self) -> bytes:
        """The payload: of an event, of a row as JSON, or the whole record that could not be decoded."""
        if self.event.HasField("log_list"):
            return self.event.log_list.SerializeToString()
        return self.event.segment or self.event.data

    @property
    def own_meta(self) -> dict[str, str]:
        """The event's own entries of `meta`."""
        return {key: value for key, value in self.event.meta.items() if key not in ABOUT}

    def record(self, *, id: str = "") -> bytes:  # noqa: A002
        """The record as it was in the pipe's queue.

        Args:
            id: The identity of an event without one.
        """
        if self._form == RECORD:
            return self.data
        event = Event()
        event.CopyFrom(self.event)
        for key in ABOUT:
            event.meta.pop(key, None)
        event.id = event.id or id
        return event.SerializeToString(deterministic=True)

    def row(self, queue: str) -> dict[str, Any]:
        """The row that a network sender got, as its requests need it.

        Args:
            queue: Identity of the dead-letter queue. Partition and offset of the row are those in it.
        """
        position = f"{queue}/0/{self.position}"
        return {
            "partition": 0,
            "offset": self.position,
            "time_ms": self.event.timestamp,
            "name": self.event.name,
            "type": self.type,
            "remote": self.event.remote,
            "meta": self.own_meta,
            "content_type": self.content_type,
            "data": self.data,
            "id": self.event.id,
            "source": self.event.source,
            "json": self.data.decode() if self._form == ROW else self._json(),
            "record": self.record(id=position),
        }

    @property
    def _form(self) -> str:
        return self.event.meta.get(FORM, "")

    def _json(self) -> str:
        """The columns of the event as Spark's to_json writes them: none that is empty, bytes in Base64."""
        event = self.event
        columns = {
            "time": _time_text(event.timestamp) if event.timestamp else None,
            "name": event.name,
            "type": self.type,
            "remote": event.remote,
            "meta": self.own_meta,
            "content_type": self.content_type,
            "data": base64.b64encode(self.data).decode(),
            "fields": _compact(_whole(json_format.MessageToDict(event.fields))) if event.HasField("fields") else None,
            "id": event.id,
            "source": event.source,
            "partition": self.partition,
            "offset": self.offset,
        }
        present = {key: value for key, value in columns.items() if value not in (None, "")}
        return _compact(present)


def _time_text(millis: int) -> str:
    """A time in ms since 1970 as Spark's to_json writes it, also of a year that Python's datetime does not have."""
    days, rest = divmod(millis, _MILLIS_OF_DAY)
    cycles, day = divmod(days, _DAYS_OF_CYCLE)
    time = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(days=day, milliseconds=rest)
    year = time.year + 400 * cycles
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{time:%m-%dT%H:%M:%S}.{rest % 1000:03}Z"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _whole(value: Any) -> Any:
    """The same value; whole numbers, which protobuf has as doubles, without a fraction."""
    if isinstance(value, dict):
        return {key: _whole(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_whole(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def parsed(message: mmapqueue.Message[bytes]) -> Letter:
    """A record of a dead-letter queue."""
    event = Event()
    try:
        event.ParseFromString(message.data)
    except DecodeError as error:
        event = Event(data=message.data, meta={"reason": f"this is not a dead letter: {error}"})
    micros = message.timestamp_micros
    return Letter(message.offset, datetime.fromtimestamp(micros / 1e6, timezone.utc) if micros else None, event)


def unsent(queue: mmapqueue.Queue[bytes]) -> Iterator[Letter]:
    """The dead letters of a queue that were not sent again. Changes nothing, and opens no consumer."""
    offset, end = queue.first_offset(), queue.end_offset()
    for done in (*queue.acked_ranges(CONSUMER), range(end, end)):
        yield from _between(queue, offset, min(done.start, end))
        offset = max(offset, done.stop)


def _between(queue: mmapqueue.Queue[bytes], offset: int, end: int) -> Iterator[Letter]:
    while offset < end:
        try:
            found = queue.read_many(offset, min(end - offset, _MOST_RECORDS))
        except mmapqueue.OutOfRange:
            # The queue keeps the newest ones.
            first = queue.first_offset()
            if first <= offset:
                raise
            offset = first
        else:
            yield from map(parsed, found)
            offset = found[-1].offset + 1


@contextmanager
def opened(queue: mmapqueue.Queue[bytes]) -> Iterator[mmapqueue.Consumer[bytes]]:
    """The consumer that acks dead letters, created at the oldest one. An ack is stored when it returns."""
    with queue.consumer(CONSUMER, prefetch=0, ack_linger=0) as consumer:
        yield consumer


def popped(consumer: mmapqueue.Consumer[bytes], end: int | None = None) -> Iterator[Letter]:
    """Pops the dead letters before an offset, by default all; those that the caller has not acked are released.

    Args:
        consumer: The consumer.
        end: The offset.
    """
    waiting: list[int] = []
    try:
        while batch := _batch(consumer):
            waiting += [each.offset for each in batch]
            for message in batch:
                if end is not None and message.offset >= end:
                    return
                yield parsed(message)
    finally:
        consumer.release(waiting)


def _batch(consumer: mmapqueue.Consumer[bytes]) -> list[mmapqueue.Message[bytes]]:
    try:
        return consumer.pop_many(_MOST_RECORDS, max_bytes=_MOST_BYTES)
    except mmapqueue.Dropped:
        # The queue keeps the newest ones: the next pop continues after those that are gone.
        return consumer.pop_many(_MOST_RECORDS, max_bytes=_MOST_BYTES)
    except mmapqueue.UnackedLimit:
        return []


class Wanted(NamedTuple):
    """Selects dead letters. What is None or empty selects all.

    Attributes:
        sender: Name of the sender.
        reason: A part of the reason.
        positions: Offsets in the dead-letter queue.
    """

    sender: str | None = None
    reason: str | None = None
    positions: frozenset[int] = frozenset()

    def has(self, letter: Letter) -> bool:
        """Whether it selects a dead letter."""
        return (
            self.sender in (None, letter.sender)
            and (self.reason is None or self.reason in letter.reason)
            and (not self.positions or letter.position in self.positions)
        )


class Group(NamedTuple):
    """Dead letters of one sender with one reason.

    Attributes:
        pipe: The pipe.
        sender: The sender; empty for what no sender gets.
        reason: The reason.
        records: Their number.
        bytes: Bytes of their payloads.
        first: When the oldest was stored.
        last: When the newest was stored.
    """

    pipe: str
    sender: str
    reason: str
    records: int
    bytes: int
    first: datetime | None
    last: datetime | None


def grouped(letters: Iterable[Letter]) -> list[Group]:
    """Counts of dead letters by pipe, sender and reason, in this order."""
    found: dict[tuple[str, str, str], Group] = {}
    for each in letters:
        name = each.pipe, each.sender, each.reason
        group = found.get(name) or Group(*name, 0, 0, each.time, each.time)
        found[name] = group._replace(records=group.records + 1, bytes=group.bytes + len(each.data), last=each.time)
    return [group for _, group in sorted(found.items())]
