"""Statistics of a queue and of its consumers."""

import json
from collections import deque
from datetime import datetime
from typing import Any, NamedTuple

from mmapqueue._jvm.answers import named, time_of

#: A rate is measured over at least this time in seconds, if earlier calls allow; and the most samples kept for that.
_RATE_SECONDS = 1.0
_SAMPLE_SECONDS = 0.1


class Stats(NamedTuple):
    """The state of a queue at one moment. Immutable.

    Rates are averages since an earlier `stats` call of the same object: the newest one that is at least a second old,
    otherwise the oldest one. They are 0.0 at the first call. Nothing is measured between the calls.

    Positions are absolute: segment number × segment size + position in the segment, in bytes. Offsets count records.

    Attributes:
        records: Records that some consumer has not acked; without a consumer, all retained records. Offsets of records
            that a repair has lost count, too.
        bytes_used: Bytes of the ring that no push may use: from the beginning of the first segment with such a record
            to the log end, headers included. 0 without such a record.
        capacity: Bytes of the ring, headers included.
        fill: bytes_used / capacity, from 0.0 to 1.0.
        pushed_per_second: Rate of pushed records.
        pushed_bytes_per_second: Rate of pushed bytes, headers included.
        popped_per_second: Rate of records that were popped for the first time, the sum of all consumers.
        popped_bytes_per_second: Rate of the bytes of these records, headers included.
        slowest_consumer: The name of the consumer that retains the ring, the one at the low watermark; None without a
            consumer.
        first_offset: The log start: the offset of the oldest retained record.
        end_offset: The log end: the offset of the next record.
        end_position: The log end: the end of the last record.
        durable_position: The recovery point: everything before it is durable.
        low_watermark: The position before which every consumer has acked everything. Without a consumer, the queue
            retains everything from it on.
        segments_in_use: Segments with records that some consumer has not acked.
        capacity_segments: Segments in the ring.
        segment_size: Bytes of a segment.
        mapped_segments: Segments mapped now, preallocated ones not included.
        mapped_bytes: Bytes of all mappings, preallocated segments and the meta page included.
        peak_mapped_segments: The maximum number of segments that were mapped at once since the queue was opened.
        epoch: The number of recoveries after an unclean shutdown.

    Example:
        >>> queue.create_consumer("audit")
        >>> queue.push_many([b"one", b"two"])
        2
        >>> stats = queue.stats()
        >>> stats.records, stats.slowest_consumer, 0 < stats.fill < 1
        (2, 'audit', True)
    """

    records: int
    bytes_used: int
    capacity: int
    fill: float
    pushed_per_second: float
    pushed_bytes_per_second: float
    popped_per_second: float
    popped_bytes_per_second: float
    slowest_consumer: str | None
    first_offset: int
    end_offset: int
    end_position: int
    durable_position: int
    low_watermark: int
    segments_in_use: int
    capacity_segments: int
    segment_size: int
    mapped_segments: int
    mapped_bytes: int
    peak_mapped_segments: int
    epoch: int


class ConsumerStats(NamedTuple):
    """The position and lag of a consumer at one moment. Immutable.

    Attributes:
        name: The consumer's name.
        committed_offset: The offset of the first record that is not acked.
        committed_position: The position of that record in the log, in bytes.
        lag_records: Number of records that are not acked. Unless this process owns the consumer, it is all records from
            committed_offset to the log end, including those acked out of order.
        lag_bytes: Bytes of the log from the first record that is not acked to the log end, headers and padding
            included.
        lag_seconds: The age of the first record that is not acked, in seconds; 0.0 without such a record, or when the
            queue stores no timestamps.
        read_offset: The offset of the next record that is popped for the first time, also by an owner in another
            process. It is after prefetched records and the batches of `consume`.
        read_position: The position in the log, in bytes, after the last record that was popped.
        unacked: Records popped, and neither acked nor requeued, prefetched ones included. Unless this process owns the
            consumer, it is all records from committed_offset to read_offset, including those acked out of order, and
            those that a killed process had popped.
        dropped_records: Records that this process, as the writer, has dropped for the consumer since it opened the
            queue, by max_consumer_lag or max_age; 0 if another process writes.
        damaged_records: Damaged records that the consumer has skipped (`on_damage="skip"`); 0 unless this process owns
            the consumer.
        label: The owner's description: "checkpoint …" for one of Spark's queries; empty by default.
        archived_records: Those of lag_records that the ring has given up (`overflow="archive"`): the consumer reads
            them in the archive. lag_bytes and lag_seconds are then those of the ring.

    Example:
        >>> queue.push_many([b"one", b"two"])
        2
        >>> message = queue.pop()
        >>> found = queue.consumer_stats()["default"]
        >>> found.lag_records, found.read_offset, found.unacked
        (2, 1, 1)
    """

    name: str
    committed_offset: int
    committed_position: int
    lag_records: int
    lag_bytes: int
    lag_seconds: float
    read_offset: int
    read_position: int
    unacked: int
    dropped_records: int
    damaged_records: int
    label: str = ""
    archived_records: int = 0


class ProducerStats(NamedTuple):
    """The last batch of an idempotent producer at one moment. Immutable.

    Attributes:
        name: The producer's name.
        last_sequence: The sequence number of the producer's last batch; None if none is in the log.
        end_offset: The offset after the last record of that batch; 0 for none.
        created: Time of the producer's first push, in UTC.

    Example:
        >>> queue.push_once("importer", 1, [b"one", b"two"])
        0
        >>> queue.producer_stats()["importer"].last_sequence
        1
    """

    name: str
    last_sequence: int | None
    end_offset: int
    created: datetime


class _Sample(NamedTuple):
    """The input of rates: the log end, and the read offset and position of each consumer."""

    time: float
    end: tuple[int, int]
    read: dict[str, tuple[int, int]]


class Rates:
    """Rates between the `stats` calls of one object. Any thread: races may miss a sample, which is harmless."""

    def __init__(self) -> None:
        self._samples: deque[_Sample] = deque(maxlen=2 + int(_RATE_SECONDS / _SAMPLE_SECONDS))

    def since(self, sample: _Sample) -> list[float]:
        """The rates of pushed records and bytes, and of popped records and bytes; keeps the sample for later calls."""
        samples = list(self._samples)
        if not samples or sample.time - samples[-1].time >= _SAMPLE_SECONDS:
            self._samples.append(sample)
        old = [each for each in samples if sample.time - each.time >= _RATE_SECONDS]
        base = old[-1] if old else samples[0] if samples else sample
        seconds = sample.time - base.time
        if seconds <= 0:
            return [0.0] * 4
        pushed = [now - then for now, then in zip(sample.end, base.end, strict=True)]
        popped = [0, 0]
        for name, read in sample.read.items():
            # A consumer that was created since counts from its start; one that was moved back has popped nothing.
            for column, then in enumerate(base.read.get(name, read)):
                popped[column] += max(0, read[column] - then)
        return [count / seconds for count in (*pushed, *popped)]


def parsed(text: str, consumers: dict[str, ConsumerStats], rates: Rates, time: float) -> Stats:
    """Computes statistics.

    Args:
        text: The JVM's answer.
        consumers: The statistics of all consumers.
        rates: The samples of earlier calls.
        time: The time of this call, by `time.monotonic`.
    """
    number: dict[str, Any] = json.loads(text)
    end, low, segment = number["writingPosition"], number["lowWatermark"], number["segmentSize"]
    committed = min((each.committed_offset for each in consumers.values()), default=number["firstOffset"])
    records = max(0, number["endOffset"] - committed)
    used = end - low // segment * segment if records else 0
    capacity = number["capacitySegments"] * segment
    read = {name: (each.read_offset, each.read_position) for name, each in consumers.items()}
    pushed, pushed_bytes, popped, popped_bytes = rates.since(_Sample(time, (number["endOffset"], end), read))
    return Stats(
        records=records,
        bytes_used=used,
        capacity=capacity,
        fill=min(1.0, used / capacity),
        pushed_per_second=pushed,
        pushed_bytes_per_second=pushed_bytes,
        popped_per_second=popped,
        popped_bytes_per_second=popped_bytes,
        slowest_consumer=number["slowestConsumer"],
        first_offset=number["firstOffset"],
        end_offset=number["endOffset"],
        end_position=end,
        durable_position=number["watermarkPosition"],
        low_watermark=low,
        segments_in_use=number["segmentsInUse"],
        capacity_segments=number["capacitySegments"],
        segment_size=segment,
        mapped_segments=number["mappedSegments"],
        mapped_bytes=number["mappedBytes"],
        peak_mapped_segments=number["peakMappedSegments"],
        epoch=number["epoch"],
    )


def parsed_consumers(text: str) -> dict[str, ConsumerStats]:
    """Parses the JVM's answer. The key is the consumer's name."""
    found = {}
    for each in map(named, json.loads(text)):
        lag, label = each.pop("lag_time"), each.pop("label")
        found[each["name"]] = ConsumerStats(lag_seconds=(lag or 0) / 1e6, label=label or "", **each)
    return found


def parsed_producers(text: str) -> dict[str, ProducerStats]:
    """Parses the JVM's answer. The key is the producer's name."""
    found = {}
    for each in json.loads(text):
        sequence = each["lastSequence"]
        found[each["name"]] = ProducerStats(
            name=each["name"],
            last_sequence=None if sequence < 0 else sequence,
            end_offset=each["endOffset"],
            created=time_of(each["createdAt"]),
        )
    return found
