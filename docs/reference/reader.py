"""A reader of queues of format 2: docs/reference/format.md as code, for programs in other languages.

    python3 reader.py DIRECTORY [--json] [--skip]

It needs Python 3.10 and its standard library, changes nothing and takes no lock. So it reads queues that no process
changes: a closed one, a copy, or what a kill has left. Comments in capitals name sections of format.md.
"""

from __future__ import annotations

import argparse
import json
import mmap
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FIRST_BYTE = 64  # of a segment's records, after its header
LENGTH = (1 << 27) - 1
OFFSET_BITS = 26  # of the second word of a record; the rest is a time, or the size of a gap
MULTIPLIER = 0x9E3779B97F4A7C15  # of the checksum's hash
BATCH, GAP, TIMESTAMP, PAD = 1 << 27, 1 << 28, 1 << 29, 1 << 30


class Damage(Exception):
    """Bytes that cannot be verified: the file, the byte in it, and what is wrong there.

    `end` is the position at which a damaged record ends, if its length is right.
    """

    def __init__(self, file: Path, byte: int, what: str, end: int | None = None) -> None:
        super().__init__(f"{file}, byte {byte}: {what}")
        self.file, self.byte, self.what, self.end = file, byte, what, end


class Meta(NamedTuple):
    """What meta.dat says about the log."""

    capacity: int
    uuid: bytes  # as stored
    segment_size: int
    max_event_size: int
    epoch: int
    clean: bool
    closed_at: int | None
    writing: int
    watermark: int
    reclaimed: int
    intact: int
    held_from: int
    retain_ms: int
    retain_bytes: int


class Consumer(NamedTuple):
    """A consumer has acked everything before committed, and lost everything before dropped."""

    committed: int
    dropped: int


class Segment(NamedTuple):
    """A segment whose header is verified."""

    id: int
    file: Path
    data: mmap.mmap
    epoch: int
    base_offset: int
    base_time: int
    first_record: int


class Record(NamedTuple):
    """A record, gap or pad. The next one begins at position `end`, with the offset `next`."""

    offset: int
    timestamp: int | None
    payload: bytes
    flags: int
    end: int
    next: int


def _crc_table() -> list[int]:
    table = list(range(256))
    for _ in range(8):
        table = [value >> 1 ^ (0x82F63B78 if value & 1 else 0) for value in table]
    return table


_CRC_TABLE = _crc_table()


def crc32c(data: bytes, crc: int = 0) -> int:
    """The CRC32C of bytes with the CRC32C `crc`, followed by `data`."""
    table, crc = _CRC_TABLE, crc ^ 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _word(page: bytes, byte: int) -> int:
    return int(struct.unpack_from("<q", page, byte)[0])


def _page(file: Path, magic: bytes, magic_at: int, covered: slice) -> bytes:
    """A page of 4096 bytes: the checksum follows the bytes that it covers."""
    page = file.read_bytes()
    if len(page) != 4096:
        raise Damage(file, 0, f"{len(page)} bytes, not 4096")
    if page[magic_at : magic_at + 8] != magic:
        raise Damage(file, magic_at, f"no magic {magic!r}")
    if page[covered.stop : covered.stop + 4] != struct.pack("<I", crc32c(page[covered])):
        raise Damage(file, covered.stop, "wrong checksum")
    return page


def read_meta(directory: Path) -> Meta:
    """META.DAT. Refuses what OPENING refuses."""
    for name in ("resize.ready", "copy.incomplete"):
        if (directory / name).exists():
            raise Damage(directory / name, 0, "a resize or a copy is incomplete")
    file = directory / "meta.dat"
    page = _page(file, b"MMAPQME2", 80, slice(72, 144))
    closed_at_is_valid = page[280:284] == struct.pack("<I", crc32c(page[512:520] + page[264:280]))
    meta = Meta(
        capacity=_word(page, 72),
        uuid=page[88:104],
        segment_size=_word(page, 104),
        max_event_size=_word(page, 120),
        epoch=_word(page, 136),
        clean=page[256:264] == b"CLEAN\0\0\0",
        closed_at=_word(page, 264) if closed_at_is_valid else None,
        writing=_word(page, 512),
        watermark=_word(page, 576),
        reclaimed=_word(page, 832),
        intact=_word(page, 848),
        held_from=_word(page, 912),
        retain_ms=_word(page, 960),
        retain_bytes=_word(page, 968),
    )
    size, ring = meta.segment_size, meta.capacity * meta.segment_size
    mirrors = ((8, "writing", meta.writing), (24, "watermark", meta.watermark)) if meta.clean else ()
    for byte, valid, what in (
        (0, _word(page, 0) == 2, "version"),
        (72, 2 <= meta.capacity <= 1 << 30, "capacity"),
        (104, 4096 <= size <= 1 << 30 and size % 4096 == 0, "segment size"),
        (112, _word(page, 112) in (0, 1), "flags"),
        (120, 1 <= meta.max_event_size <= LENGTH, "max event size"),
        (136, 1 <= meta.epoch < 1 << 31, "epoch"),
        *((byte, (_word(page, byte), _word(page, byte + 8)) == divmod(at, size), name) for byte, name, at in mirrors),
        (512, meta.reclaimed - size <= meta.writing <= meta.reclaimed + ring, "writing"),
        (576, 0 <= meta.watermark <= meta.writing, "watermark"),
        (832, meta.reclaimed >= 0 and meta.reclaimed % size == 0, "reclaimed"),
    ):
        if not valid:
            raise Damage(file, byte, f"invalid {what}")
    return meta


def read_consumers(directory: Path) -> dict[str, Consumer]:
    """CONSUMERS/NAME.DAT."""
    queue = (directory / "meta.dat").read_bytes()[88:104]
    found = {}
    for file in sorted((directory / "consumers").glob("*.dat")):
        page = _page(file, b"MMAPQCO2", 0, slice(0, 32))
        if page[8:24] != queue:
            raise Damage(file, 8, "the page of another queue")
        consumer = Consumer(_word(page, 128), _word(page, 256))
        if consumer.committed != -1:  # deleted
            if min(consumer) < 0:
                raise Damage(file, 128, "a negative cursor")
            found[file.name.removesuffix(".dat")] = consumer
    return found


def read_segment(directory: Path, meta: Meta, segment_id: int) -> Segment:
    """SEGMENTS: the segment with this id."""
    file = directory / f"{segment_id % meta.capacity}_segment.dat"
    if not file.exists() or file.stat().st_size != meta.segment_size:
        raise Damage(file, 0, f"no file of {meta.segment_size} bytes for segment {segment_id}")
    with file.open("rb") as stream:
        data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    header = struct.unpack_from("<4sI16sQQQIIII", data)
    magic, epoch, uuid, found_id, base_offset, base_time, size, capacity, first_record, checksum = header
    for byte, valid, what in (
        (0, magic == b"MQS2", "no magic"),
        (60, checksum == crc32c(data[:60]), "wrong checksum"),
        (8, uuid == meta.uuid, "a segment of another queue"),
        (24, found_id == segment_id, f"segment {found_id}, not {segment_id}"),
        (48, (size, capacity) == (meta.segment_size, meta.capacity), f"a ring of {capacity} segments of {size} bytes"),
    ):
        if not valid:
            raise Damage(file, byte, what)
    return Segment(segment_id, file, data, epoch, base_offset, base_time, first_record)


class Log:
    """The log of a queue. `records` moves `position` and `offset` from the log start to the log end.

    `skipped` has the damage that `records` has skipped.
    """

    def __init__(self, directory: Path) -> None:
        self.directory, self.meta, self.consumers = directory, read_meta(directory), read_consumers(directory)
        self.skipped: list[Damage] = []
        self._segment: Segment | None = None
        self._needed = min(map(max, self.consumers.values()), default=self.meta.held_from)
        if not self.meta.clean and self._needed > self.meta.watermark and self._offset_or_none(self._needed) is None:
            # RECOVERY, 1: after a loss of power acks may be on the disk and their records not.
            self._needed = self.meta.watermark
        self.position, self.offset = self._start()

    def records(self, skip: bool = False) -> Iterator[Record]:
        """Reads up to the log end. Raises Damage, or skips it: up to the next intact record."""
        clean = self.meta.clean
        # RECOVERY: without a clean mark the log ends at the first byte after this that cannot be verified.
        end = self.meta.writing if clean else max(self._needed, self.meta.watermark)
        position, offset = self.position, self.offset
        batch: list[Record] = []
        while not clean or position != end:
            try:
                record = self._read(position, offset)
                if clean and record.end > end:
                    raise self._damage(position, f"record {offset} leads beyond the log end, {end}")
            except Damage as damage:
                if not clean and position >= end:
                    return
                if not skip:
                    raise
                self.skipped.append(damage)
                later = self._next_intact(position, offset, end)
                if later is None and clean:
                    return
                position, offset = later or (end, self.offset_at(end))
                continue
            batch.append(record)
            position, offset = record.end, record.next
            if record.flags & BATCH and record.end > end:
                continue  # it counts if the last record of the batch does
            self.position, self.offset = position, offset
            yield from (each for each in batch if each.flags not in (PAD, GAP))
            batch = []
        if clean and not skip and self.meta.closed_at not in (None, offset):
            raise Damage(self.directory / "meta.dat", 264, f"closed at {self.meta.closed_at}, but ends at {offset}")

    def needed_from(self, consumer: Consumer) -> int | None:
        """The offset of the first record that a consumer needs; None if recovery will move it to the log end."""
        return self.offset_at(max(consumer)) if self.meta.clean else self._offset_or_none(max(consumer))

    def _offset_or_none(self, position: int) -> int | None:
        try:
            return self.offset_at(position)
        except Damage:
            return None

    def offset_at(self, position: int) -> int:
        """OFFSETS: the offset of the record that begins at this position."""
        size = self.meta.segment_size
        if position == 0:
            return 0
        found = self._offset_here(position) if self.meta.clean and position < self.meta.writing else None
        if found is not None:
            return found
        if position % size == 0 and self.meta.writing > position:
            try:
                return self._roll(position // size).base_offset
            except Damage:
                pass  # OPENING: then the segment before has the answer
        segment = self._roll((position - 1) // size)
        walked, offset = segment.id * size + (segment.first_record or size), segment.base_offset
        while walked < position:
            try:
                record = self._read(walked, offset)
                walked, offset = record.end, record.next
            except Damage as damage:
                if damage.end is None or not self._counts(walked, offset, damage.end, position):
                    raise
                walked, offset = damage.end, offset + 1
        if walked != position:
            raise self._damage(position, "a cursor, and no record ends here")
        return offset

    def _counts(self, position: int, offset: int, end: int, known_end: int) -> bool:
        """REQUIREMENTS ON READERS, 11: whether a damaged record counts, since its length can be trusted."""
        size = self.meta.segment_size
        until = min(end, (position // size + 1) * size)
        try:
            self._read(end, offset + 1)
            return True
        except Damage:
            pass
        inside = (self._offset_here(each) for each in range(position + 8, until, 8))
        return end == known_end and not any(found is not None and found > offset for found in inside)

    def _offset_here(self, position: int) -> int | None:
        try:
            return self._read(position, None).offset
        except Damage:
            return None

    def _next_intact(self, position: int, offset: int, end: int) -> tuple[int, int] | None:
        """Position and offset of the first intact record after a damaged one with this offset, and before `end`."""
        size = self.meta.segment_size
        segment_id = position // size
        later = self._first_record(segment_id + 1, end)
        for each in range(max(position, segment_id * size + FIRST_BYTE) + 8, min(end, (segment_id + 1) * size), 8):
            found = self._offset_here(each)
            # A lower offset is part of a payload, a higher one was cut off by a recovery.
            if found is not None and offset <= found and (later is None or found < later[1]):
                return each, found
        return later

    def _start(self) -> tuple[int, int]:
        """REUSE OF THE RING: the log start, that is the first record that is retained."""
        meta, size = self.meta, self.meta.segment_size
        if meta.retain_ms or meta.retain_bytes:
            segment_id = max(meta.reclaimed, meta.intact) // size
            if meta.retain_bytes:
                segment_id = max(segment_id, (meta.writing - meta.retain_bytes) // size)
            if meta.retain_ms:
                oldest = (time.time_ns() // 1_000_000 - meta.retain_ms) * 1000
                # No record of a segment is newer than the base timestamp of the next one.
                while segment_id < (meta.writing - 1) // size and self._is_older(segment_id + 1, oldest):
                    segment_id += 1
            if max(meta.intact, segment_id * size) < self._needed:
                if meta.intact > segment_id * size:
                    return meta.intact, self.offset_at(meta.intact)
                first = self._first_record(segment_id, self._needed)
                if first:
                    return first
        return self._needed, self.offset_at(self._needed)

    def _is_older(self, segment_id: int, timestamp: int) -> bool:
        try:
            return self._roll(segment_id).base_time < timestamp
        except Damage:
            return False

    def _first_record(self, segment_id: int, end: int) -> tuple[int, int] | None:
        """Position and offset of the first record that starts in this segment or a later one, and before `end`."""
        for later in range(segment_id, (end - 1) // self.meta.segment_size + 1):
            try:
                segment = self._roll(later)
            except Damage:
                continue
            position = later * self.meta.segment_size + segment.first_record
            if segment.first_record and position < end:
                return position, segment.base_offset
        return None

    def _roll(self, segment_id: int) -> Segment:
        last = self._segment
        if last is None or last.id != segment_id:
            segment = read_segment(self.directory, self.meta, segment_id)
            if last is not None and last.id < segment_id and last.epoch > segment.epoch:
                raise Damage(segment.file, 32, f"epoch {segment.epoch} after {last.epoch}")
            last = self._segment = segment
        return last

    def _read(self, position: int, offset: int | None) -> Record:
        """RECORDS: the record, gap or pad at this position, with this offset; None for any."""
        segment_id, at = divmod(position, self.meta.segment_size)
        segment, at = self._roll(segment_id), at or FIRST_BYTE
        file = segment.file
        if at < segment.first_record or (at == segment.first_record and offset not in (None, segment.base_offset)):
            first = f"record {segment.base_offset} at byte {segment.first_record}"
            raise Damage(file, 40, f"the first record is {first}, not {offset} at byte {at}")
        word, checksum = struct.unpack_from("<II", segment.data, at)
        length, flags = word & LENGTH, word & ~LENGTH
        if word == checksum == 0:
            raise Damage(file, at, f"no record {offset}")
        if flags == PAD:
            return self._pad(segment, at, word, checksum, offset)
        if flags != GAP and flags & ~(BATCH | TIMESTAMP):
            raise Damage(file, at, f"record {offset} has unknown flags")
        if flags != GAP and length > self.meta.max_event_size:
            raise Damage(file, at, f"record {offset} has {length} bytes, more than {self.meta.max_event_size}")
        end = self._after(segment_id, at, 16 + length)
        body = self._bytes(segment, at + 8, 8 if flags == GAP else 8 + length, any_epoch=flags == GAP)
        second, payload = _word(body, 0) & (1 << 64) - 1, body[8:]
        found = segment.base_offset + (second - segment.base_offset & (1 << OFFSET_BITS) - 1)
        time = second >> OFFSET_BITS
        if flags & TIMESTAMP:
            time = segment.base_time + (time - segment.base_time // 1000 & (1 << 64 - OFFSET_BITS) - 1) * 1000
        if checksum != self._checksum(payload, found, time, word):
            raise Damage(file, at, f"record {offset} has a wrong checksum", end)
        if offset not in (None, found):
            raise Damage(file, at, f"record {found}, not {offset}", end)
        next_offset = found + (time if flags == GAP else 1)
        return Record(found, time if flags & TIMESTAMP else None, payload, flags, end, next_offset)

    def _pad(self, segment: Segment, at: int, word: int, checksum: int, offset: int | None) -> Record:
        epoch = segment.epoch + ((word & LENGTH) - segment.epoch & LENGTH)
        if epoch > self.meta.epoch:
            raise Damage(segment.file, at, f"a pad of epoch {epoch} in a queue of epoch {self.meta.epoch}")
        if checksum != self._checksum(b"", segment.id, epoch, at << 32 | word):
            raise Damage(segment.file, at, "a pad with a wrong checksum")
        if offset is None:
            offset = self._roll(segment.id + 1).base_offset
        return Record(offset, None, b"", PAD, (segment.id + 1) * self.meta.segment_size, offset)

    def _checksum(self, payload: bytes, first: int, second: int, third: int) -> int:
        """RECORDS: what is stored for these three words of a record's or pad's identity."""
        high, low = struct.unpack("<QQ", self.meta.uuid)
        mask = (1 << 64) - 1
        x = (first + low) * MULTIPLIER & mask
        x = (x ^ x >> 32 ^ second) * MULTIPLIER + high & mask
        x = (x ^ x >> 32 ^ third) * MULTIPLIER & mask
        return x >> 32 ^ crc32c(payload) or 0xFFFFFFFF

    def _after(self, segment_id: int, at: int, count: int) -> int:
        """SPANNING: the position after this many bytes, and the zeros that follow, from byte `at` of a segment on."""
        size, end = self.meta.segment_size, at + count + -count % 8
        while end > size:
            segment_id, end = segment_id + 1, end - size + FIRST_BYTE
        return segment_id * size + end

    def _bytes(self, segment: Segment, at: int, count: int, any_epoch: bool = False) -> bytes:
        """SPANNING: this many bytes from byte `at` of a segment on."""
        epoch, left, parts = segment.epoch, count, []
        while True:
            part = segment.data[at : at + left]
            parts.append(part)
            left -= len(part)
            if not left:
                return b"".join(parts)
            segment, at = self._roll(segment.id + 1), FIRST_BYTE
            if segment.epoch != epoch and not any_epoch:
                raise Damage(segment.file, 32, f"epoch {segment.epoch} within a record of epoch {epoch}")

    def _damage(self, position: int, what: str) -> Damage:
        segment_id, byte = divmod(position, self.meta.segment_size)
        return Damage(self.directory / f"{segment_id % self.meta.capacity}_segment.dat", byte, what)


def records(directory: str | Path, skip: bool = False) -> Iterator[tuple[int, int | None, bytes]]:
    """Offset, timestamp (µs since 1970, or None) and payload of each intact record."""
    return ((record.offset, record.timestamp, record.payload) for record in Log(Path(directory)).records(skip))


def main() -> None:
    """Prints a line for each record and for each consumer."""
    parser = argparse.ArgumentParser(description="Prints the records and the consumers of a queue of format 2.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--json", action="store_true", help="print JSON objects")
    parser.add_argument("--skip", action="store_true", help="skip damage to the next record with a known offset")
    arguments = parser.parse_args()

    def show(**line: object) -> None:
        print(json.dumps(line) if arguments.json else " ".join(f"{name}={value}" for name, value in line.items()))

    log = Log(arguments.directory)
    for record in log.records(arguments.skip):
        crc = f"{crc32c(record.payload):08x}"
        show(offset=record.offset, time=record.timestamp, length=len(record.payload), crc=crc)
    for name, consumer in log.consumers.items():
        offset = log.needed_from(consumer)
        show(consumer=name, committed=consumer.committed, dropped=consumer.dropped, offset=offset)
    if log.skipped:
        sys.exit("\n".join(map(str, log.skipped)))


if __name__ == "__main__":
    try:
        main()
    except (Damage, OSError) as error:
        sys.exit(f"{error}")
