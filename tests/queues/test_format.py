"""Decodes directories by docs/reference/format.md alone: the document is right, and the library conforms to it."""

import shutil
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from checksums import crc32c
from conftest import SMALL, Open

BATCH, CONTROL, TIMESTAMP, PAD, CLAIMED = (1 << bit for bit in range(27, 32))
LENGTH_MASK = BATCH - 1


class Record(NamedTuple):
    offset: int
    payload: bytes
    timestamp: int
    goes_on: bool


class Directory:
    """A queue directory of version 2, closed or not."""

    def __init__(self, path: Path) -> None:
        self.path = path
        meta = (path / "meta.dat").read_bytes()
        assert (len(meta), meta[0:8], meta[80:88]) == (4096, struct.pack("<Q", 2), b"MMAPQUE2")
        assert struct.unpack_from("<I", meta, 144) == (crc32c(meta[72:144]),)
        (self.capacity,) = struct.unpack_from("<Q", meta, 72)
        self.uuid = struct.unpack_from("<QQ", meta, 88)
        self.size, self.flags, self.max_event_size, _, self.epoch = struct.unpack_from("<QI4xQQQ", meta, 104)
        self.clean = meta[256:264] == b"CLEAN\0\0\0"
        self.writing, self.watermark, self.committed, self.reading = (
            struct.unpack_from("<Q", meta, at)[0] for at in (512, 576, 640, 704)
        )
        self.mirror = struct.unpack_from("<8Q", meta, 8)

    def producer(self, name: str) -> dict[int, int]:
        """The slots that are not empty: sequence → end offset."""
        page = (self.path / "producers" / f"{name}.dat").read_bytes()
        magic, high, low, _, checksum = struct.unpack_from("<8sQQQI", page)
        assert (len(page), magic, (high, low), checksum) == (4096, b"MMAPQPR2", self.uuid, crc32c(page[:32]))
        slots = {}
        for at in (512, 1024, 1536, 2048):
            sequence, end, checksum = struct.unpack_from("<QQI", page, at)
            if checksum:
                assert checksum == (crc32c(page[:32] + page[at : at + 16]) or 0xFFFFFFFF)
                slots[sequence] = end
        return slots

    def consumer(self, name: str) -> tuple[int, int]:
        page = (self.path / "consumers" / f"{name}.dat").read_bytes()
        magic, high, low, _, checksum = struct.unpack_from("<8sQQQI", page)
        assert (len(page), magic, (high, low), checksum) == (4096, b"MMAPQCO2", self.uuid, crc32c(page[:32]))
        committed, reading = struct.unpack_from("<Q56xQ", page, 128)
        return committed, reading

    def segment(self, number: int) -> tuple[bytes, int, int, int]:
        """The bytes of a segment, its epoch, its base index, its first record."""
        data = (self.path / f"{number % self.capacity}_segment.dat").read_bytes()
        magic, version, low, found, epoch, base, _, first, checksum = struct.unpack_from("<8sI4xQQQQQII", data)
        assert (magic, version, low, found) == (b"MMAPQSG2", 2, self.uuid[1], number)
        assert (len(data), checksum) == (self.size, crc32c(data[:60]))
        return data, epoch, base, first

    def records(self) -> Iterator[Record]:
        """All records from the first that starts in the default consumer's segment up to `writing`."""
        number = self.committed // self.size
        if number * self.size >= self.writing:
            return
        data, epoch, index, at = self.segment(number)
        while number * self.size + at < self.writing:
            if at in (0, self.size):
                number += 1
                data, after, base, first = self.segment(number)
                assert (base, first) == (index, 64)
                assert after >= epoch
                epoch, at = after, 64
                continue
            word, checksum = struct.unpack_from("<II", data, at)
            assert not word & (CONTROL | CLAIMED)
            length, start = word & LENGTH_MASK, (number, epoch, at)
            if word & PAD:
                pad_epoch = epoch + ((length - epoch) & LENGTH_MASK)
                assert checksum == self.checksum(b"", number, pad_epoch, at, word, 0)
                at = self.size
                continue
            stamp = 8 if word & TIMESTAMP else 0
            left, at, body = stamp + (length + 7 & ~7), at + 8, b""
            while left:
                if at == self.size:
                    number += 1
                    data, after, base, first = self.segment(number)
                    assert (after, base) == (epoch, index + 1)
                    assert first == (64 + left if left < self.size - 64 else 0)
                    at = 64
                piece = min(left, self.size - at)
                body, at, left = body + data[at : at + piece], at + piece, left - piece
            timestamp = int.from_bytes(body[:stamp], "little")
            payload = body[stamp : stamp + length]
            assert checksum == self.checksum(payload, *start, word, timestamp)
            assert not any(body[stamp + length :])
            yield Record(index, payload, timestamp, bool(word & BATCH))
            index += 1

    def checksum(self, payload: bytes, number: int, epoch: int, at: int, word: int, timestamp: int) -> int:
        return crc32c(payload + struct.pack("<QQQQIIQ", *self.uuid, number, epoch, at, word, timestamp)) or 0xFFFFFFFF


#: Some span three segments, some nothing; with 4-KiB segments they end at every multiple of 8.
PAYLOADS = [bytes([i]) * (i * 997 % 8001) for i in range(40)]


@pytest.mark.parametrize("timestamps", [True, False])
def test_a_closed_queue(open_queue: Open, timestamps: bool) -> None:
    queue = open_queue(**{**SMALL, "queue_capacity_segments": 64}, timestamps=timestamps)
    late = queue.consumer("late")
    for payload in PAYLOADS:
        queue.push(payload)
    queue.push_many([b"a", b"", b"c" * 5000], atomic=True)
    queue.pop()
    late.ack(late.pop_many(10)[-1])
    path = Path(queue.path)
    queue.close()
    found = Directory(path)
    assert (found.clean, found.epoch, found.flags) == (True, 1, timestamps)
    assert (found.size, found.max_event_size) == (4096, 8000)
    assert found.writing == found.watermark
    assert found.mirror[0] * 4096 + found.mirror[1] == found.writing
    assert found.committed == found.reading == 0 < found.consumer("late")[0] < found.writing
    records = list(found.records())
    assert [r.payload for r in records] == [*PAYLOADS, b"a", b"", b"c" * 5000]
    assert [r.offset for r in records] == list(range(43))
    assert [r.offset for r in records if r.goes_on] == [40, 41]
    assert [r.timestamp for r in records] == sorted(r.timestamp for r in records)
    assert all(bool(r.timestamp) == timestamps for r in records)


def test_the_page_of_idempotent_producers(open_queue: Open, tmp_path: Path) -> None:
    queue = open_queue(**SMALL)
    for sequence in range(0, 20, 2):
        queue.push_once("sink", sequence, [b"x" * 100] * 2)
        if sequence == 8:
            queue.flush()
    left = Directory(shutil.copytree(queue.path, tmp_path / "left")).producer("sink")
    assert left[18] == 20
    assert left[8] == 10  # what was flushed is kept until there is a newer one
    assert all(end == sequence + 2 for sequence, end in left.items())
    path = Path(queue.path)
    queue.close()
    found = Directory(path)
    assert max(found.producer("sink").items()) == (18, 20)
    assert len(list(found.records())) == 20


def test_a_ring_that_has_gone_round(open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    for i in range(400):
        queue.push(b"%d" % i * 300)
        if i < 390:
            queue.ack(queue.pop())
    path = Path(queue.path)
    queue.close()
    found = Directory(path)
    assert found.writing > 5 * found.capacity * found.size
    records = list(found.records())
    assert records[-1].offset == 399
    assert [r.payload for r in records[-10:]] == [b"%d" % i * 300 for i in range(390, 400)]


def test_a_killed_queue_before_and_after_recovery(open_queue: Open, tmp_path: Path) -> None:
    queue = open_queue(**SMALL)
    payloads = [b"%d" % i * 300 for i in range(50)]
    for payload in payloads:
        queue.push(payload)
    # A kill at rest leaves this: no append in flight, no close.
    killed = shutil.copytree(queue.path, tmp_path / "killed")
    found = Directory(killed)
    assert (found.clean, [r.payload for r in found.records()]) == (False, payloads)
    recovered = open_queue(killed)
    recovered.push_many(payloads, atomic=True)
    recovered.close()
    after = Directory(killed)
    assert (after.clean, after.epoch) == (True, 2)
    assert [(r.offset, r.payload) for r in after.records()] == list(enumerate(payloads * 2))
    sealed = (found.writing - 1) // 4096
    assert (after.segment(sealed)[1], after.segment(sealed + 1)[1]) == (1, 2)
    assert int.from_bytes(after.segment(sealed)[0][found.writing % 4096 :][:4], "little") == PAD | 2
