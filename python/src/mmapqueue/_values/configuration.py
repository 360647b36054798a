"""The keys that a queue may be opened with."""

import os
from collections.abc import Mapping
from difflib import get_close_matches
from typing import TypedDict

from mmapqueue._values.errors import ConfigError


class Configuration(TypedDict, total=False):
    """The keys that a queue may be opened with; docs/reference/configuration.md has their defaults and ranges.

    A key that is not given is as the directory has it, if there is a queue in it, else the default.

    Attributes:
        segment_size: Bytes of a segment file.
        max_in_mem_segments: The most segments that are mapped at once.
        queue_capacity_segments: Segments in the ring.
        flush_period: A flush begins at the latest so many ms after the last one.
        flush_ceiling_num: A flush begins when so many records have been pushed since the last one.
        max_event_size: The largest record, in bytes.
        timestamps: Whether each record stores when it was pushed.
        format_version: Of a new directory: 2, or 1 for that of Apache SkyWalking Satellite.
        v1_recover: Up to where a version 1 directory is taken for whole: "watermark" or "writing".
        read_only: Whether another process writes.
        max_unacked: The most records from the first one that is not acked to the last one that was popped.
        visibility_timeout: ms after which a record that is not acked is popped again; 0 for never.
        max_attempts: Times that a record is handed out before it goes to dead_letter_dir; 0 for without end.
        dead_letter_dir: Directory of the queue that those go to; set with max_attempts or not at all.
        max_consumer_lag: Bytes of the log that a consumer may be behind before records are dropped for it; 0 for
            without end.
        retain_ms: ms for which records stay to be read again, after every consumer has acked them; 0 when time does
            not count.
        retain_bytes: Bytes of the log that stay to be read again; 0 when size does not count.
        gc_on_idle: ms without a push after which ring files that hold nothing are deleted; 0 for never.
        wait_strategy: How threads wait: "backoff", "park" or "spin".
        file_mode: Who may read and write the files that are made: "600" (the owner alone), "640", "644", "660", "664"
            or "666".
        capacity: Bytes; stands for queue_capacity_segments, rounded up to whole segments.
    """

    segment_size: int | str
    max_in_mem_segments: int
    queue_capacity_segments: int
    flush_period: int
    flush_ceiling_num: int
    max_event_size: int | str
    timestamps: bool
    format_version: int
    v1_recover: str
    read_only: bool
    max_unacked: int
    visibility_timeout: int
    max_attempts: int
    dead_letter_dir: str | os.PathLike[str]
    max_consumer_lag: int | str
    retain_ms: int
    retain_bytes: int | str
    gc_on_idle: int
    wait_strategy: str
    file_mode: str
    capacity: int | str


def check_keys(configuration: Mapping[str, object], arguments: tuple[str, ...]) -> None:
    """Raises ConfigError for a key that there is not.

    Args:
        configuration: By key.
        arguments: The names of other arguments of the call, which may have been meant.
    """
    known = Configuration.__annotations__
    for key, value in configuration.items():
        if key not in known:
            close = get_close_matches(key, [*known, *arguments], 1)
            hint = f": did you mean {close[0]}?" if close else ""
            allowed = f"there is no such key{hint}; there are {', '.join(known)}"
            raise ConfigError(f"{key} = {value} is refused; allowed: {allowed}", key, str(value), allowed)
