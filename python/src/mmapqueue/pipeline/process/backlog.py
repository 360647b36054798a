"""The lag of senders: from the log end of the queue, and the last micro-batch that a query has completed.

Both are on the disk, so the lag of a query that is blocked, or does not run, is current.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import mmapqueue
from mmapqueue.pipeline._partitions import partitions
from mmapqueue.pipeline.config import Pipe

_LOG = logging.getLogger("mmapqueue.pipeline.process")
#: Lines of a file of offsets before those of the sources: its version, and metadata.
_HEADER = 2

#: Opens a queue's directory, read-only.
Open = Callable[[Path], mmapqueue.Queue]


class Lag(NamedTuple):
    """The lag of a query, of its slowest partition.

    Attributes:
        records: Number of records that no completed micro-batch has read.
        bytes: Bytes of the log that these records take, about.
        seconds: Age of the oldest of them; 0.0 without one.
    """

    records: int
    bytes: int
    seconds: float


def lags(pipe: Pipe, open_queue: Open) -> dict[str, Lag]:
    """The lags of a pipe's queries, by the names of their consumers; without those that have no consumer yet."""
    names = pipe.consumers()
    completed = {name: completed_offsets(pipe.checkpoint(name)) for name in names}
    found: dict[str, Lag] = {}
    for number, directory in partitions(pipe.queue.dir).items():
        try:
            with open_queue(directory) as queue:
                consumers = queue.consumer_stats()
                for name in names:
                    if name in consumers:
                        lag = _lag(queue, consumers[name], completed[name].get(number, 0))
                        found[name] = _slower(lag, found.get(name, lag))
        except mmapqueue.MmapQueueError as error:
            _LOG.debug("pipe %s: the lag of partition %d is unknown: %s", pipe.name, number, error)
    return found


def _slower(one: Lag, other: Lag) -> Lag:
    return Lag(max(one.records, other.records), max(one.bytes, other.bytes), max(one.seconds, other.seconds))


def _lag(queue: mmapqueue.Queue, consumer: mmapqueue.ConsumerStats, completed: int) -> Lag:
    # Spark acks a micro-batch when the next one is logged.
    records = min(consumer.lag_records, max(0, queue.end_offset() - completed))
    if not records:
        return Lag(0, 0, 0.0)
    if records == consumer.lag_records:
        return Lag(records, consumer.lag_bytes, consumer.lag_seconds)
    size = round(consumer.lag_bytes * records / consumer.lag_records)
    try:
        micros = queue.read_at(completed).timestamp_micros
    except mmapqueue.MmapQueueError:
        # The record is damaged, or not retained any more.
        return Lag(records, size, consumer.lag_seconds)
    return Lag(records, size, max(0.0, time.time() - micros / 1e6) if micros else 0.0)


def completed_offsets(checkpoint: Path) -> dict[int, int]:
    """The offsets after the last completed micro-batch of a checkpoint, by partition; empty when there is none."""
    try:
        batches = [int(each.name) for each in (checkpoint / "commits").iterdir() if each.name.isdigit()]
        lines = (checkpoint / "offsets" / str(max(batches))).read_text().splitlines() if batches else []
    except OSError:
        return {}
    found: dict[int, int] = {}
    for line in lines[_HEADER:]:
        try:
            offsets = json.loads(line)
        except ValueError:
            # "-" stands for a source without offsets.
            continue
        for partition, offset in offsets.items():
            # Two sources of a query read the same queue.
            found[int(partition)] = min(int(offset), found.get(int(partition), int(offset)))
    return found
