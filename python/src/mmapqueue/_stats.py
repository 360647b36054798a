"""The figures of a queue."""

from typing import NamedTuple


class Stats(NamedTuple):
    """The state of a queue at one moment. Immutable.

    Positions are absolute: segment number × segment size + place in the segment, in bytes.

    Attributes:
        end_offset: The offset that the next record gets.
        writing_position: The end of the last record.
        watermark_position: Everything before it has been forced to the disk.
        slowest_committed_position: Everything before it is acked by every consumer.
        segments_in_use: Segments that hold something that is not acked by every consumer.
        capacity_segments: Segments in the ring.
        segment_size: Bytes of a segment.
        mapped_segments: Segments mapped now that hold, or have held, records.
        mapped_bytes: Bytes of all mappings, those ahead of the writer and the meta page included.
        peak_mapped_segments: The most segments that were mapped at once since the queue was opened.
        epoch: How often the queue was recovered after an unclean end.
    """

    end_offset: int
    writing_position: int
    watermark_position: int
    slowest_committed_position: int
    segments_in_use: int
    capacity_segments: int
    segment_size: int
    mapped_segments: int
    mapped_bytes: int
    peak_mapped_segments: int
    epoch: int


def parsed(text: str) -> Stats:
    """The figures as the JVM writes them: lines of name=value, the names in Java's spelling."""
    values = dict(line.split("=", 1) for line in text.splitlines())
    return Stats(*(int(values[_java_name(field)]) for field in Stats._fields))


def _java_name(field: str) -> str:
    first, *rest = field.split("_")
    return first + "".join(word.title() for word in rest)
