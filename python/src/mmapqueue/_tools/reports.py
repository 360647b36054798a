"""What verify and repair report."""

from enum import Enum
from typing import NamedTuple


class FindingKind(str, Enum):
    """The kind of a finding."""

    TORN = "torn"
    CORRUPT = "corrupt"
    ORPHANED = "orphaned"


class Finding(NamedTuple):
    """One thing that was found in a queue directory. Immutable.

    Attributes:
        kind: TORN for an unclean end, which the next open cuts; CORRUPT for damage; ORPHANED for a file that belongs to
            nothing. Only CORRUPT is damage.
        file: The file.
        position: The position in it, in bytes.
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
    """The position of a consumer. Immutable.

    Attributes:
        name: Its name.
        position: The stored position, in bytes: it needs the log from there on.
        resume_position: Where it resumes: differs from `position` when no record ends there.
        offset: The offset of its first record that is not acked; -1 when unknown.
    """

    name: str
    position: int
    resume_position: int
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
                if consumer.resume_position == consumer.position
                else f": no record ends there, the next begins behind position {consumer.resume_position}"
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
