"""The reports of verify and repair."""

from enum import Enum
from typing import NamedTuple

from mmapqueue._values.offsets import offsets_text
from mmapqueue._values.texts import size_text


class FindingKind(str, Enum):
    """The kind of a finding."""

    TORN = "torn"
    CORRUPT = "corrupt"
    ORPHANED = "orphaned"


class Finding(NamedTuple):
    """An irregularity in a queue directory. Immutable.

    Attributes:
        kind: TORN for an unclean shutdown, which the next open recovers; CORRUPT for damage; ORPHANED for a file that
            no queue uses. Only CORRUPT is damage.
        file: The file.
        position: The position in the file, in bytes.
        detail: The value found there, and the expected one.
        first_lost: The offset of the first lost record.
        last_lost: The offset of the last lost record; below first_lost when no record is lost.
        exact: Whether these offsets are exact. If not, at most these records are lost.
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
        """The number of lost records, or their upper bound."""
        return max(0, self.last_lost - self.first_lost + 1)

    def __str__(self) -> str:
        text = f"{self.kind.value}: {self.file}, byte {self.position}: {self.detail}"
        if not self.lost:
            return text
        which = offsets_text(self.first_lost, self.last_lost + 1)
        return f"{text}; {'lost' if self.exact else 'lost, at most'}: {which}"


class ConsumerState(NamedTuple):
    """The position of a consumer. Immutable.

    Attributes:
        name: The consumer's name.
        position: The stored position, in bytes: the consumer needs the log from there on.
        resume_position: The position at which it resumes; differs from `position` when no record ends there.
        offset: The offset of its first record that is not acked, of a consumer behind the ring one in the archive; -1
            when unknown.
    """

    name: str
    position: int
    resume_position: int
    offset: int


class VerifyReport(NamedTuple):
    """The report of a verification. Immutable.

    Attributes:
        path: The directory.
        version: The format version; 0 when it cannot be read.
        clean: Whether the last writer closed the queue.
        records: The number of intact records.
        payload_bytes: Bytes of their payloads.
        first_offset: The log start: the offset of the oldest record.
        end_offset: The log end: the offset of the next record.
        segments: The number of segment files that are part of the log.
        consumers: The consumers, in alphabetical order.
        findings: The irregularities.
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
        """Whether no finding is damage; an unclean shutdown and orphaned files are not damage."""
        return all(finding.kind is not FindingKind.CORRUPT for finding in self.findings)

    @property
    def lost(self) -> int:
        """The number of lost records, or their upper bound."""
        return sum(finding.lost for finding in self.findings)

    def __str__(self) -> str:
        lines = [f"{self.path}: {self._verdict()}"]
        if self.version == 2:
            lines.append(
                f"  records    {self.records} whole, {offsets_text(self.first_offset, self.end_offset)}, "
                f"{self.payload_bytes} bytes, in {self.segments} segments"
            )
        elif self.version == 1:
            lines.append(
                f"  records    {self.records} by their lengths, {self.payload_bytes} bytes; format version 1 has no "
                "checksums: damage of their bytes cannot be detected"
            )
        for consumer in self.consumers:
            offset = f", offset {consumer.offset}" if self.version == 2 else ""
            moves = (
                ""
                if consumer.resume_position == consumer.position
                else f": no record ends there, the next one begins at position {consumer.resume_position}"
            )
            lines.append(f"  consumer   {consumer.name} at position {consumer.position}{offset}{moves}")
        lines += [f"  {finding}" for finding in self.findings]
        return "\n".join(lines)

    def _verdict(self) -> str:
        if not self.whole:
            return "DAMAGED, " + (f"at most {self.lost} records lost" if self.lost else "no record lost")
        return "whole; not closed, the next open recovers it" if self.version == 2 and not self.clean else "whole"


class CopyReport(NamedTuple):
    """The report of a copy or a resize. Immutable.

    Attributes:
        path: The directory of the queue with the new ring.
        records: The number of records in it.
        first_offset: The offset of the oldest record.
        end_offset: The offset of the next record.
        segment_size: Bytes of a segment file.
        capacity_segments: The maximum number of segment files.
        left_out: The number of acked records for which the new ring had no room.
    """

    path: str
    records: int
    first_offset: int
    end_offset: int
    segment_size: int
    capacity_segments: int
    left_out: int

    def __str__(self) -> str:
        lines = [
            f"{self.path}: {self.records} records, {offsets_text(self.first_offset, self.end_offset)}",
            f"  ring       up to {self.capacity_segments} segments of {size_text(self.segment_size)}",
        ]
        if self.left_out:
            lines.append(f"  left out   {self.left_out} acked records, for which it has no room")
        return "\n".join(lines)


class RepairReport(NamedTuple):
    """The report of a repair. Immutable.

    Attributes:
        path: The directory of the repaired queue.
        before: The report before the repair.
        actions: The changes, a line for each.
        lost: The findings with lost records; empty when no record is lost.
    """

    path: str
    before: VerifyReport
    actions: list[str]
    lost: list[Finding]

    def __str__(self) -> str:
        lines = [f"{self.path}: repaired", *(f"  {action}" for action in self.actions)]
        lines += [f"  {finding}" for finding in self.lost] or ["  no record is lost"]
        return "\n".join(lines)
