"""The keys of a queue in a configuration: those of `mmapqueue.Queue` that have an effect in a pipeline."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from mmapqueue._values.arguments import is_uri
from mmapqueue.pipeline.config._refused import Refused
from mmapqueue.pipeline.plugins import Bytes, Duration, NonEmptyPath, Options, Size

_INT = 2**31 - 1
_LONG = 2**63 - 1
_MS = timedelta(milliseconds=1)
_SEGMENT_HEADER = 64
_RECORD_HEADER = 23

_MODES = Literal["600", "640", "644", "660", "664", "666"]


def _not_here(key: str, why: str) -> str:
    return f"{key} has no effect in a pipeline: {why}"


def _path_or_uri(value: object) -> object:
    """A string without a scheme as a path, which is relative to the file."""
    return Path(value) if isinstance(value, str) and value and not is_uri(value) else value


#: Keys of `mmapqueue.Queue` that a pipeline does not pass on.
_WITHOUT_EFFECT = {
    "queue_dir": "use dir",
    "read_only": "gather opens the queue to write",
    "format_version": "new queues have version 2; existing queues keep their version",
    "v1_recover": "it applies only to version 1",
    "max_unacked": "Spark reads the records and does not pop them",
    "visibility_timeout": "Spark reads the records and does not pop them",
    "max_attempts": "Spark reads the records; `retry` of a sender limits the attempts",
    "on_damage": "Spark reads the records; damage is handled as by its data source",
    "dead_letter_dir": "use `dead_letter: {dir: …}` of the pipe",
}


_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


def _check_host(name: str) -> str:
    if _HOST.fullmatch(name) is None:
        raise ValueError("a name of a host has 1 to 100 letters, digits, '_', '-' or '.', no '.' or '-' first")
    return name


class QueueKeys(Options):
    """Keys of `mmapqueue.Queue`, with its names and ranges; one that is not set has its default, or what is on disk.

    Attributes:
        dir: Directory of the queue.
        capacity: Bytes of the ring; or
        queue_capacity_segments: segments of the ring.
        segment_size: Bytes of each of its files.
        max_event_size: The maximum number of bytes of an event.
        max_in_mem_segments: The maximum number of segments that are mapped at once.
        flush_period: The maximum time between two flushes.
        flush_ceiling_num: The maximum number of records between two flushes.
        timestamps: Whether each record stores the time of its push.
        max_consumer_lag: The maximum number of bytes of a consumer's lag before records are dropped for it; 0 for no
            limit.
        max_age: Age from which records are dropped for consumers that have not acked them; 0 for never.
        retain_ms: The time for which acked records stay readable.
        retain_bytes: Bytes of acked records that stay readable.
        gc_on_idle: The time without a push after which free files are deleted; 0 for never.
        wait_strategy: How threads wait for room.
        file_mode: Permissions of new files, in octal digits.
        archive_uri: The archive to which the queue is shipped: a URI, or the path of a directory.
        archive_host: The name of this host in the archive.
        archive_codec: The compression of records in the archive.
        archive_retain: The age from which records that every query has committed are deleted from the archive; 0 for
            never.
        ship_period: The time between two files while records are pending.
        ship_bytes: Bytes of records that are shipped before the period is over.
        overflow: Whether a full ring waits for its senders, or gives up what the archive has: they read it there.
    """

    dir: NonEmptyPath
    capacity: Size | None = None
    queue_capacity_segments: Annotated[int, Field(ge=2, le=1 << 30)] | None = None
    segment_size: Annotated[Size, Field(ge=4096, le=1 << 30)] | None = None
    max_event_size: Annotated[Size, Field(ge=1, le=(1 << 27) - 1)] | None = None
    max_in_mem_segments: Annotated[int, Field(ge=1, le=1 << 20)] | None = None
    flush_period: Annotated[Duration, Field(ge=_MS, le=_INT * _MS)] | None = None
    flush_ceiling_num: Annotated[int, Field(ge=1, le=_INT)] | None = None
    timestamps: bool | None = None
    max_consumer_lag: Bytes | None = None
    max_age: Annotated[Duration, Field(le=_LONG // 1_000_000 * _MS)] | None = None
    retain_ms: Duration | None = None
    retain_bytes: Bytes | None = None
    gc_on_idle: Annotated[Duration, Field(le=_INT * _MS)] | None = None
    wait_strategy: Literal["backoff", "park", "spin"] | None = None
    file_mode: _MODES | None = None
    archive_uri: Annotated[Annotated[str, Field(min_length=1)] | NonEmptyPath, BeforeValidator(_path_or_uri)] | None = (
        None
    )
    archive_host: Annotated[str, AfterValidator(_check_host)] | None = None
    archive_codec: Literal["none", "zstd"] | None = None
    archive_retain: Annotated[Duration, Field(le=_LONG // 1_000_000 * _MS)] | None = None
    ship_period: Annotated[Duration, Field(ge=_MS, le=_INT * _MS)] | None = None
    ship_bytes: Annotated[Size, Field(ge=4096, le=1 << 28)] | None = None
    overflow: Literal["wait", "archive"] | None = None

    def keys(self) -> dict[str, Any]:
        """The arguments of `mmapqueue.Queue`, apart from the directory."""
        return {key: value for key, value in self if key != "dir" and value is not None}

    @model_validator(mode="before")
    @classmethod
    def _say_why(cls, data: Any) -> Any:
        if isinstance(data, dict):
            for key, why in _WITHOUT_EFFECT.items():
                if key in data:
                    raise Refused(_not_here(key, why), key)
        return data

    @model_validator(mode="after")
    def _check_archive(self) -> QueueKeys:
        of_archives = ("archive_host", "archive_codec", "archive_retain", "ship_period", "ship_bytes", "overflow")
        keys = of_archives if self.archive_uri is None else ("max_consumer_lag", "max_age")
        for key in keys:
            if getattr(self, key):
                why = "without archive_uri" if self.archive_uri is None else "with archive_uri"
                raise Refused(f"{key} is not allowed {why}", key)
        return self

    @model_validator(mode="after")
    def _check_sizes(self) -> QueueKeys:
        if self.capacity is not None and self.queue_capacity_segments is not None:
            raise Refused("set either capacity or queue_capacity_segments", "capacity")
        if self.segment_size is None or self.max_event_size is None:
            return self
        segment = self.segment_size // 4096 * 4096
        segments = self.queue_capacity_segments or -(-(self.capacity or 0) // segment)
        if not segments:
            return self
        if segments < 2:
            least = f"at least 2 segments of segment_size = {segment} bytes"
            raise Refused(f"{self.capacity} is invalid; allowed: {least}", "capacity")
        most = (segments - 1) * (segment - _SEGMENT_HEADER) - _RECORD_HEADER
        if self.max_event_size > most:
            raise Refused(
                f"{self.max_event_size} is invalid; allowed: 1 to {most}, which is what {segments} segments of "
                f"{segment} bytes hold",
                "max_event_size",
            )
        return self


class QueueSettings(QueueKeys):
    """The queue of a pipe.

    Attributes:
        segment_size: Bytes of each of its files.
        max_event_size: Bytes of an event, at most.
        max_in_mem_segments: The maximum number of segments that are mapped at once.
    """

    @property
    def total(self) -> int:
        """Bytes that the ring may hold."""
        if self.capacity is not None:
            return self.capacity
        return (self.queue_capacity_segments or 0) * self.segment_size

    segment_size: Annotated[Size, Field(ge=4096, le=1 << 30)] = 16 << 20
    max_event_size: Annotated[Size, Field(ge=1, le=(1 << 27) - 1)] = 5 << 20
    max_in_mem_segments: Annotated[int, Field(ge=1, le=1 << 20)] = 10

    @model_validator(mode="before")
    @classmethod
    def _default_capacity(cls, data: Any) -> Any:
        if isinstance(data, dict) and "capacity" not in data and "queue_capacity_segments" not in data:
            return {**data, "capacity": 1 << 30}
        return data


class DeadLetter(QueueKeys):
    """The queue of records that could not be decoded or sent: events, with the reason in their meta."""
