"""Verify and repair: tools for a queue that nobody has open. They run in a JVM, as the queue does."""

import os
from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

from mmapqueue._jvm import bridge, names
from mmapqueue._jvm.calls import Call
from mmapqueue._values.paths import absolute

#: How long one call waits in the JVM: so often is progress told.
_SLICE_MILLIS = 100

Progress = Callable[[int, int], object]


class FindingKind(str, Enum):
    """What a finding is."""

    TORN = "torn"
    CORRUPT = "corrupt"
    ORPHANED = "orphaned"


class Finding(NamedTuple):
    """One thing that was found in a queue directory. Immutable.

    Attributes:
        kind: TORN for an unclean end, which the next open cuts; CORRUPT for damage; ORPHANED for a file that belongs to
            nothing. Only CORRUPT is damage.
        file: The file.
        position: The place in it, in bytes.
        detail: What was found there, and what was expected.
        first_lost: The offset of the first record that is lost by it.
        last_lost: That of the last one; below first_lost when none is lost.
        exact: Whether these two are known. If not, no more than these are lost.
    """

    kind: FindingKind
    file: str
    position: int
    detail: str
    first_lost: int
    last_lost: int
    exact: bool

    @property
    def lost(self) -> int:
        """How many records are lost by it, or at most are."""
        return max(0, self.last_lost - self.first_lost + 1)

    def __str__(self) -> str:
        text = f"{self.kind.value}: {self.file}, byte {self.position}: {self.detail}"
        if not self.lost:
            return text
        which = f"offset {self.first_lost}" if self.lost == 1 else f"offsets {self.first_lost} to {self.last_lost}"
        return f"{text}; {'lost' if self.exact else 'lost, at most'}: {which}"


class ConsumerState(NamedTuple):
    """How a consumer stands. Immutable.

    Attributes:
        name: Its name.
        position: From where it needs the log, as stored, in bytes.
        place: Where it goes on: another position when no record ends at the stored one.
        offset: The offset of the next record that it has not acked; -1 when that is not known.
    """

    name: str
    position: int
    place: int
    offset: int


class VerifyReport(NamedTuple):
    """What a directory holds. Immutable.

    Attributes:
        path: The directory.
        version: The format version; 0 when even that can not be read.
        clean: Whether the last writer closed the queue.
        records: Whole records.
        payload_bytes: Bytes of their payloads.
        first_offset: The offset of the first record that is there.
        end_offset: The offset that the next record gets.
        segments: Segment files that are part of the log.
        consumers: The consumers.
        findings: All that is not as it should be.
    """

    path: str
    version: int
    clean: bool
    records: int
    payload_bytes: int
    first_offset: int
    end_offset: int
    segments: int
    consumers: list[ConsumerState]
    findings: list[Finding]

    @property
    def whole(self) -> bool:
        """Whether there is no damage; an unclean end and files that belong to nothing are none."""
        return all(finding.kind is not FindingKind.CORRUPT for finding in self.findings)

    @property
    def lost(self) -> int:
        """How many records are lost, or at most are."""
        return sum(finding.lost for finding in self.findings)

    def __str__(self) -> str:
        lines = [f"{self.path}: {self._verdict()}"]
        if self.version == 2:
            lines.append(
                f"  records    {self.records} whole, offsets {self.first_offset} to {self.end_offset - 1}, "
                f"{self.payload_bytes} bytes, in {self.segments} segments"
            )
        elif self.version == 1:
            lines.append(
                f"  records    {self.records} by their lengths, {self.payload_bytes} bytes; format version 1 has no "
                "checksums: what the bytes are worth can not be known"
            )
        for consumer in self.consumers:
            offset = f", offset {consumer.offset}" if self.version == 2 else ""
            moves = (
                ""
                if consumer.place == consumer.position
                else f": no record ends there, the next begins behind position {consumer.place}"
            )
            lines.append(f"  consumer   {consumer.name} at position {consumer.position}{offset}{moves}")
        lines += [f"  {finding}" for finding in self.findings]
        return "\n".join(lines)

    def _verdict(self) -> str:
        if not self.whole:
            return "DAMAGED, " + (f"at most {self.lost} records lost" if self.lost else "no record lost")
        return "whole; not closed, the next open recovers it" if self.version == 2 and not self.clean else "whole"


class RepairReport(NamedTuple):
    """What a repair has done. Immutable.

    Attributes:
        path: The directory that is a whole queue now.
        before: What was found.
        actions: What was done, a sentence for each.
        lost: The findings that cost records, each with their offsets; empty when no record is lost.
    """

    path: str
    before: VerifyReport
    actions: list[str]
    lost: list[Finding]

    def __str__(self) -> str:
        lines = [f"{self.path}: repaired", *(f"  {action}" for action in self.actions)]
        lines += [f"  {finding}" for finding in self.lost] or ["  no record is lost"]
        return "\n".join(lines)


def verify(path: str | os.PathLike[str], spark: object = None, *, progress: Progress | None = None) -> VerifyReport:
    """Says what is whole in a queue directory that nobody writes, and what is not; changes nothing.

    Reads the meta page, the consumers' pages, and every record with its checksum, from the oldest one that is there to
    the end. Any thread.

    Args:
        path: The queue's directory.
        spark: A SparkSession or SparkContext whose JVM reads it, or None for a JVM of our own.
        progress: Is called with the bytes of segments that are done, and that there are, about ten times a second.

    Returns:
        What was found.

    Raises:
        ConfigError: The path is empty, or not UTF-8.
        Locked: A process writes it; `pid` says which.
        NotFound: There is no queue.
        MmapQueueError: It can not be read.
    """
    return _Answer(_run(spark, "verify", (absolute("path", path),), progress)).verified()


def repair(
    path: str | os.PathLike[str],
    target: str | os.PathLike[str] | None = None,
    spark: object = None,
    *,
    in_place: bool = False,
    reset_clock: bool = False,
    progress: Progress | None = None,
) -> RepairReport:
    """Makes a damaged queue one that can be opened, read and written, in a copy of it or in place.

    Records that are whole keep their offsets; consumers keep their places, and go on with the next whole record where
    theirs is lost. Any thread.

    Args:
        path: The queue's directory.
        target: The directory to be made, for a copy; the queue itself is not changed then.
        spark: A SparkSession or SparkContext whose JVM does it, or None for a JVM of our own.
        in_place: Change the queue itself; what is overwritten is gone.
        reset_clock: Set timestamps that are ahead of this machine's clock to now.
        progress: As of `verify`.

    Returns:
        What was done, and what is lost.

    Raises:
        ValueError: Neither target nor in_place, or both.
        ConfigError: A path is empty, or not UTF-8.
        Locked: A process has the queue open.
        NotFound: There is no queue.
        MmapQueueError: It is of format version 1, the target is not empty, or nothing can be made of the queue.
    """
    if (target is None) != in_place:
        raise ValueError("either a target or in_place=True is needed, not both")
    to = "" if target is None else absolute("target", target)
    arguments = (absolute("path", path), to, "true" if reset_clock else "false")
    return _Answer(_run(spark, "repair", arguments, progress)).repaired()


def _run(spark: object, tool: str, arguments: tuple[str, ...], progress: Progress | None) -> str:
    job: Any = Call(bridge.class_of(spark, names.JOB), tool, "s" * len(arguments))(*arguments)
    is_over, done, total = Call(job, "isOver", "i"), Call(job, "done", ""), Call(job, "total", "")
    while not is_over(_SLICE_MILLIS):
        if progress is not None:
            progress(int(done()), int(total()))
    answer = str(Call(job, "result", "")())
    if progress is not None:
        progress(int(total()), int(total()))
    return answer


class _Answer:
    """The lines of Job.java."""

    def __init__(self, text: str) -> None:
        self._lines = [line.split(names.SEPARATOR) for line in text.split("\n") if line]

    def _of(self, what: str) -> list[list[str]]:
        return [line[1:] for line in self._lines if line[0] == what]

    def verified(self) -> VerifyReport:
        path, version, clean, records, payload_bytes, first_offset, end_offset, segments = self._of("report")[0]
        consumers = [
            ConsumerState(name, int(position), int(place), int(offset))
            for name, position, place, offset in self._of("consumer")
        ]
        return VerifyReport(
            path,
            int(version),
            clean == "true",
            int(records),
            int(payload_bytes),
            int(first_offset),
            int(end_offset),
            int(segments),
            consumers,
            self._found("finding"),
        )

    def repaired(self) -> RepairReport:
        return RepairReport(
            self._of("repaired")[0][0],
            self.verified(),
            [action for (action,) in self._of("action")],
            self._found("lost"),
        )

    def _found(self, what: str) -> list[Finding]:
        return [
            Finding(FindingKind(kind.lower()), file, int(at), detail, int(first), int(last), exact == "true")
            for kind, file, at, detail, first, last, exact in self._of(what)
        ]
