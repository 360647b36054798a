"""The keys that a queue may be opened with."""

import os
from collections.abc import Mapping
from difflib import get_close_matches
from typing import TypedDict

from mmapqueue._values.annotations import SparkContext, SparkSession
from mmapqueue._values.arguments import Size
from mmapqueue._values.durations import Duration, Period
from mmapqueue._values.errors import ConfigError

#: The keys that are periods.
PERIODS = frozenset(
    {"flush_period", "visibility_timeout", "max_age", "retain_ms", "gc_on_idle", "archive_retain", "ship_period"}
)
_REFERENCE = "docs/reference/configuration.md"


class Configuration(TypedDict, total=False):
    """The keys that a queue may be opened with; docs/reference/configuration.md has their defaults and ranges.

    A key that is not given has the directory's value, if the directory holds a queue, otherwise the default. Sizes are
    bytes, or strings such as "128k" or "16m". Times are timedeltas, or strings with a unit, such as "500ms", "30s" or
    "7d"; of numbers only 0 is allowed.

    Example:
        >>> options = mmapqueue.Configuration(segment_size="64k", flush_period="250ms")
        >>> with mmapqueue.Queue("configured", **options) as configured:
        ...     configured.config["segment_size"], configured.config["flush_period"]
        (65536, 250)

    Attributes:
        capacity: Bytes of the ring, rounded up to whole segments: 512 MiB by default. The next three keys are derived
            from it unless they are given, and so is max_event_size in a ring below 8 MiB.
        segment_size: Bytes of a segment file.
        max_in_mem_segments: The maximum number of segments that are mapped at once.
        queue_capacity_segments: Segments in the ring.
        flush_period: The maximum time between two flushes.
        flush_ceiling_num: The number of pushed records that starts a flush.
        max_event_size: The largest record, in bytes: 1 MiB by default.
        timestamps: Whether each record has the time of its push.
        format_version: The format of a new directory: 2, or 1 for that of Apache SkyWalking Satellite.
        v1_recover: The cursor up to which recovery keeps records of version 1: "watermark" or "writing".
        read_only: Whether to open for reading alone; another process may write.
        max_unacked: The maximum number of records from the first unacked one to the last popped one.
        visibility_timeout: The time after which a record that is not acked is redelivered; 0 for never.
        max_attempts: Attempts before a record is dead-lettered; 0 for no limit.
        dead_letter_dir: Directory of the dead-letter queue; only together with max_attempts.
        max_consumer_lag: The maximum number of bytes of a consumer's lag before records are dropped for it; 0 for no
            limit.
        max_age: The age from which records are dropped for a consumer that has not acked them; 0 for no limit.
        on_damage: What a consumer does at a damaged record: "error" raises Corrupt; "skip" continues after the damage,
            logs it, and lists it in `Queue.damaged_ranges`.
        retain_ms: The time for which acked records are retained; 0 for no retention by time.
        retain_bytes: Bytes of the log that are retained; 0 for no retention by size.
        gc_on_idle: The time without pushes and acks after which ring files without retained records are deleted; 0 for
            never.
        wait_strategy: How threads wait: "backoff", "park" or "spin".
        file_mode: Permissions of the files: "600" (the owner alone), "640", "644", "660", "664" or "666".
        archive_uri: The archive to which this process ships durable records: a directory that many hosts share, as a
            path or a URI such as "hdfs://nodes/archive".
        archive_host: The name under which this host is registered in the archive: by default the machine's host name.
        archive_codec: The compression of records in the archive: "none" or "zstd".
        archive_retain: The age from which records of this queue are deleted from the archive, once every query has
            committed them; 0 for never.
        ship_period: The time between two shipments while records are pending.
        ship_bytes: Bytes of records that are shipped before the period is over.
        overflow: What a full ring does: "wait" keeps what a consumer needs; "archive" gives up records that the archive
            has, and the consumer reads them there.
    """

    capacity: Size
    segment_size: Size
    max_in_mem_segments: int
    queue_capacity_segments: int
    flush_period: Period
    flush_ceiling_num: int
    max_event_size: Size
    timestamps: bool
    format_version: int
    v1_recover: str
    read_only: bool
    max_unacked: int
    visibility_timeout: Period
    max_attempts: int
    dead_letter_dir: str | os.PathLike[str]
    max_consumer_lag: Size
    max_age: Period
    on_damage: str
    retain_ms: Period
    retain_bytes: Size
    gc_on_idle: Period
    wait_strategy: str
    file_mode: str
    archive_uri: str | os.PathLike[str]
    archive_host: str
    archive_codec: str
    archive_retain: Period
    ship_period: Period
    ship_bytes: Size
    overflow: str


class OpenOptions(Configuration, total=False):
    """The options of `Queue` beside its path and serializer: see there."""

    spark: SparkSession | SparkContext | None
    consumer: str
    lock_timeout: Duration
    prefetch: int | None
    ack_linger: Duration | None


class EffectiveConfiguration(TypedDict):
    """The configuration of an open queue: `Queue.config`. Sizes are bytes, durations milliseconds.

    Attributes:
        queue_dir: The directory, absolute.
        dead_letter_dir: Directory of the dead-letter queue; None for none.
        archive_uri: The URI of the archive to which this process ships records; None for none.
        archive_host: The name of this host in the archive; None for the machine's host name.

    The other keys are those of `Configuration`.
    """

    queue_dir: str
    capacity: int
    segment_size: int
    max_in_mem_segments: int
    queue_capacity_segments: int
    flush_period: int
    flush_ceiling_num: int
    max_event_size: int
    timestamps: bool
    format_version: int
    v1_recover: str
    read_only: bool
    max_unacked: int
    visibility_timeout: int
    max_attempts: int
    dead_letter_dir: str | None
    max_consumer_lag: int
    max_age: int
    on_damage: str
    retain_ms: int
    retain_bytes: int
    gc_on_idle: int
    wait_strategy: str
    file_mode: str
    archive_uri: str | None
    archive_host: str | None
    archive_codec: str
    archive_retain: int
    ship_period: int
    ship_bytes: int
    overflow: str


def check_keywords(call: str, configuration: Mapping[str, object], arguments: tuple[str, ...]) -> None:
    """Raises TypeError for a keyword argument that is not a key, as Python does for a call without `**configuration`.

    Args:
        call: The name of the call, for the error.
        configuration: The values by key.
        arguments: The names of other arguments of the call, which may have been meant.
    """
    known = Configuration.__annotations__
    for key in configuration:
        if key not in known:
            close = get_close_matches(key, [*known, *arguments], 1)
            hint = f"did you mean {close[0]}?" if close else f"{_REFERENCE} lists the keys"
            raise TypeError(f"{call}() got an unexpected keyword argument {key!r}; {hint}")


def check_keys(configuration: Mapping[str, object]) -> None:
    """Raises ConfigError for an unknown key of a mapping, such as a file or options of a command."""
    known = Configuration.__annotations__
    for key, value in configuration.items():
        if key not in known:
            close = get_close_matches(key, known, 1)
            hint = f" (did you mean {close[0]}?)" if close else ""
            text = f"{key}: unknown key{hint}; {_REFERENCE} lists the keys"
            raise ConfigError(text, key, str(value), f"a key of {_REFERENCE}")
