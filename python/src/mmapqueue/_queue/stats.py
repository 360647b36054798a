"""The figures of a queue."""

from typing import NamedTuple


class Stats(NamedTuple):
    """The state of a queue at one moment. Immutable.

    Positions are absolute: segment number × segment size + place in the segment, in bytes.

    Attributes:
        first_offset: The offset of the oldest record that is retained.
        end_offset: The offset that the next record gets.
        writing_position: The end of the last record.
        watermark_position: Everything before it has been forced to the disk.
        slowest_committed_position: Everything before it is acked by every consumer; without a consumer, everything from
            it on is kept.
        slowest_consumer: The name of the consumer that stands there, and so holds the ring; None when there is no
            consumer.
        segments_in_use: Segments that hold something that is not acked by every consumer.
        capacity_segments: Segments in the ring.
        segment_size: Bytes of a segment.
        mapped_segments: Segments mapped now that hold, or have held, records.
        mapped_bytes: Bytes of all mappings, those ahead of the writer and the meta page included.
        peak_mapped_segments: The most segments that were mapped at once since the queue was opened.
        epoch: How often the queue was recovered after an unclean end.
    """

    first_offset: int
    end_offset: int
    writing_position: int
    watermark_position: int
    slowest_committed_position: int
    slowest_consumer: str | None
    segments_in_use: int
    capacity_segments: int
    segment_size: int
    mapped_segments: int
    mapped_bytes: int
    peak_mapped_segments: int
    epoch: int


class ConsumerStats(NamedTuple):
    """How far a consumer is, at one moment. Immutable.

    Attributes:
        name: Its name.
        committed_offset: The offset of its first record that is not acked.
        lag_records: Records that it has not acked.
        lag_bytes: Bytes of the log from the first record that is not acked to the end, headers and padding included.
        lag_seconds: How long ago the first record that is not acked was pushed, in seconds; 0.0 when there is none, or
            when the queue stores no timestamps.
        read_offset: The offset of the next record that is popped for the first time, batches underneath `consume`
            included; when another process owns the consumer, or nobody does, that of committed_offset.
        unacked: Records that it has popped and not acked; 0 when another process owns it, or nobody does.
        label: What it is for, as its owner has said: "checkpoint …" for one of Spark's queries; empty when it has not.
    """

    name: str
    committed_offset: int
    lag_records: int
    lag_bytes: int
    lag_seconds: float
    read_offset: int
    unacked: int
    label: str = ""


def parsed(text: str) -> Stats:
    """The figures as the JVM writes them: lines of name=value, the names in Java's spelling."""
    values = dict(line.split("=", 1) for line in text.splitlines())
    slowest = values.pop("slowestConsumer") or None
    numbers = {field: int(values[_java_name(field)]) for field in Stats._fields if field != "slowest_consumer"}
    return Stats(slowest_consumer=slowest, **numbers)


def parsed_consumers(text: str) -> list[ConsumerStats]:
    """The figures of consumers as the JVM writes them: a line for each, of name=value."""
    found = []
    for line in text.splitlines():
        # The label comes last and may have spaces.
        values = dict(word.split("=", 1) for word in line.split(" ", len(ConsumerStats._fields) - 1))
        found.append(
            ConsumerStats(
                name=values["name"],
                committed_offset=int(values["committedOffset"]),
                lag_records=int(values["lagRecords"]),
                lag_bytes=int(values["lagBytes"]),
                lag_seconds=int(values["lagMicros"]) / 1e6,
                read_offset=int(values["readOffset"]),
                unacked=int(values["unacked"]),
                label=values["label"],
            )
        )
    return found


def _java_name(field: str) -> str:
    first, *rest = field.split("_")
    return first + "".join(word.title() for word in rest)
