"""Copy and resize, for a queue that no process has open. Both run in a JVM."""

import os

from mmapqueue._tools.jobs import Progress, run
from mmapqueue._tools.reports import CopyReport
from mmapqueue._values.arguments import Size, absolute, size_in_bytes


def copy(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    capacity: Size | None = None,
    segment_size: Size | None = None,
    spark: object = None,
    progress: Progress | None = None,
) -> CopyReport:
    """Copies a queue into another directory, with a ring of another size. The queue itself is not changed. Thread-safe.

    Records keep their offsets and timestamps; consumers their committed positions, records in flight and labels;
    idempotent producers their sequences; the copy has the identity of the queue. Records that every consumer has acked
    are copied if the queue has retention and the new ring has room for them. Ctrl-C, or an exception of `progress`,
    ends it, and leaves an incomplete copy: delete that.

    Args:
        source: The queue's directory.
        target: The directory of the copy, which must be empty or not exist. It becomes a queue when the copy is
            complete.
        capacity: Bytes of all segment files, or a string such as "512m", rounded up to whole segments; None for the
            queue's own.
        segment_size: Bytes of a segment file, or a string such as "16m", rounded down to whole pages; None for the
            queue's own.
        spark: A SparkSession or SparkContext, to use its JVM; None to use a JVM that this process starts.
        progress: Called with the bytes of segments that were read and the bytes to read, about ten times a second.

    Returns:
        The report.

    Raises:
        ConfigError: A path is empty, or a size is out of range or too small for the records that are not acked; the
            error states the minimum size.
        Locked: A process writes the queue, or owns one of its consumers.
        NotFound: The directory has no queue.
        MmapQueueError: The queue is damaged (repair it first) or of format version 1, or the target is not empty.

    Example:
        >>> mmapqueue.copy("closed", "larger", capacity="512m").capacity_segments
        4096
    """
    return _run(source, absolute("target", target), capacity, segment_size, spark, progress)


def resize(
    path: str | os.PathLike[str],
    capacity: Size | None = None,
    *,
    segment_size: Size | None = None,
    spark: object = None,
    progress: Progress | None = None,
) -> CopyReport:
    """Replaces a queue's ring by one of another size, in place. Keeps everything that `copy` keeps. Thread-safe.

    The disk needs room for both rings. After a kill or a loss of power at any moment, the queue has the old ring or the
    new one: the next open to write, or the next resize, deletes an incomplete copy, or completes the switch to a
    complete one. Close processes that read with read_only before: one without a consumer holds no lock, and would keep
    the old ring. Ctrl-C, or an exception of `progress`, ends it, and deletes the incomplete copy. Once it switches, it
    completes: the exception is raised then, after 10 s at the latest.

    Args:
        path: The queue's directory.
        capacity: As for `copy`.
        segment_size: As for `copy`.
        spark: As for `copy`.
        progress: As for `copy`.

    Returns:
        The report.

    Raises:
        ConfigError: As for `copy`. Nothing was changed.
        Locked: A process writes the queue, or owns one of its consumers.
        NotFound: The directory has no queue.
        MmapQueueError: The queue is damaged (repair it first) or of format version 1, or a file cannot be written, on a
            full disk for instance.

    Example:
        >>> mmapqueue.resize("closed", "64m").capacity_segments
        512
    """
    return _run(path, "", capacity, segment_size, spark, progress)


def _run(
    source: str | os.PathLike[str],
    target: str,
    capacity: Size | None,
    segment_size: Size | None,
    spark: object,
    progress: Progress | None,
) -> CopyReport:
    sizes = [
        "0" if size is None else str(size_in_bytes(key, size))
        for key, size in (("capacity", capacity), ("segment_size", segment_size))
    ]
    return CopyReport(*run(spark, "copy", (absolute("path", source), target, *sizes), progress).values())
