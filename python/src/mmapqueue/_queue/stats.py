"""Statistics of a queue and of its consumers."""

from typing import NamedTuple


class Stats(NamedTuple):
    """The state of a queue at one moment. Immutable.

    Positions are absolute: segment number × segment size + position in the segment, in bytes.

    Attributes:
        first_offset: The log start: the offset of the oldest retained record.
        end_offset: The log end: the offset of the next record.
        writing_position: The end of the last record.
        watermark_position: The recovery point: everything before it is durable.
        low_watermark: The low watermark: every consumer has acked everything before it. Without a
            consumer, the queue retains everything from it on.
        slowest_consumer: The name of the consumer at the low watermark; None without a consumer.
        segments_in_use: Segments with records that some consumer has not acked.
        capacity_segments: Segments in the ring.
        segment_size: Bytes of a segment.
        mapped_segments: Segments mapped now, preallocated ones not included.
        mapped_bytes: Bytes of all mappings, preallocated segments and the meta page included.
        peak_mapped_segments: The most segments that were mapped at once since the queue was opened.
        epoch: How often the queue was recovered after an unclean end.
    """

    first_offset: int
    end_offset: int
    writing_position: int
    watermark_position: int
    low_watermark: int
    slowest_consumer: str | None
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
        committed_offset: The offset of its first record that is not acked.
        lag_records: Records that it has not acked.
        lag_bytes: Bytes of the log from the first record that is not acked to the log end, headers and padding
            included.
        lag_seconds: The age of the first record that is not acked, in seconds; 0.0 without such a record, or when the
            queue stores no timestamps.
        read_offset: The offset of the next record that is popped for the first time, after the batches of `consume`;
            committed_offset unless this process owns the consumer.
        unacked: Records in flight; 0 unless this process owns the consumer.
        dropped_records: Records that this process, which writes, has dropped for it since it opened the queue, by
            max_consumer_lag or max_age; 0 if another process writes.
        damaged_records: Damaged records that it has skipped (`on_damage="skip"`); 0 unless this process owns the consumer.
        label: Its owner's description: "checkpoint …" for one of Spark's queries; empty by default.
    """

    name: str
    committed_offset: int
    lag_records: int
    lag_bytes: int
    lag_seconds: float
    read_offset: int
    unacked: int
    dropped_records: int
    damaged_records: int
    label: str = ""


def parsed(text: str) -> Stats:
    """Parses the JVM's text: lines of name=value, the names in Java's spelling."""
    values = dict(line.split("=", 1) for line in text.splitlines())
    slowest_consumer = values.pop("slowestConsumer") or None
    numbers = {field: int(values[_java_name(field)]) for field in Stats._fields if field != "slowest_consumer"}
    return Stats(slowest_consumer=slowest_consumer, **numbers)


def parsed_consumers(text: str) -> dict[str, ConsumerStats]:
    """Parses the JVM's text: a line of name=value for each consumer. The key is the consumer's name."""
    found = {}
    for line in text.splitlines():
        # The label comes last and may have spaces.
        values = dict(word.split("=", 1) for word in line.split(" ", len(ConsumerStats._fields) - 1))
        found[values["name"]] = ConsumerStats(
            name=values["name"],
            committed_offset=int(values["committedOffset"]),
            lag_records=int(values["lagRecords"]),
            lag_bytes=int(values["lagBytes"]),
            lag_seconds=int(values["lagTime"] or 0) / 1e6,
            read_offset=int(values["readOffset"]),
            unacked=int(values["unacked"]),
            dropped_records=int(values["droppedRecords"]),
            damaged_records=int(values["damagedRecords"]),
            label=values["label"],
        )
    return found


def _java_name(field: str) -> str:
    first, *rest = field.split("_")
    return first + "".join(word.title() for word in rest)
