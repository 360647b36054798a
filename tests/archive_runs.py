"""Reads the files of an archive as docs/reference/format.md describes them, without the jar."""

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from reference_reader import crc32c

_NAME = re.compile(r"(\d{19})-(\d{19})-(\d+)-(\d+)-(\d+)-(\d+)-([0-9a-f]{8})(-\d+)?\.run")
_HEADER = struct.Struct("<8sII16xqq12xI")
_BLOCK = struct.Struct("<qqqIIII4xI")
_TRAILER = struct.Struct("<qqII8s")
_LENGTH, _TIMESTAMPED, _CONTROL = (1 << 27) - 1, 1 << 29, 1 << 28
_OFFSET, _MILLIS = (1 << 26) - 1, (1 << 38) - 1


class Run(NamedTuple):
    """A file of records."""

    first: int
    end: int
    path: Path


class Record(NamedTuple):
    """A record; `data` is None for a lost record."""

    offset: int
    timestamp_micros: int
    data: bytes | None


def runs(archive: Path, partition: int = 0) -> list[Run]:
    """The longest runs of a partition, in order. Asserts that they follow one another without a gap."""
    found = []
    for path in (archive / "data" / f"{partition:05d}").glob("*/*.run"):
        name = _NAME.fullmatch(path.name)
        assert name, path
        found.append(Run(int(name[1]), int(name[2]), path))
    cover: list[Run] = []
    for run in sorted(found, key=lambda each: (each.first, -each.end)):
        if cover and run.end <= cover[-1].end:
            continue
        assert not cover or run.first == cover[-1].end, (cover[-1], run)
        cover.append(run)
    return cover


def records(archive: Path, partition: int = 0) -> list[Record]:
    """All records of a partition."""
    return [record for run in runs(archive, partition) for record in _records(run)]


def payloads(archive: Path, partition: int = 0) -> list[bytes | None]:
    """The payloads of all records of a partition, from offset 0 on."""
    found = records(archive, partition)
    assert [each.offset for each in found] == list(range(len(found)))
    return [each.data for each in found]


def by_local_number(archive: Path) -> dict[int, int]:
    """The partitions of an archive, by their number in the directory of the queue."""
    found = {}
    for path in (archive / "partitions").glob("*.properties"):
        found[int(properties(path)["partition"])] = int(path.stem.split("-")[0])
    return found


def properties(path: Path) -> dict[str, str]:
    """The values of a file of properties. Asserts that its checksum is right."""
    lines, line = path.read_bytes()[:-18], path.read_bytes()[-18:]
    assert line == b"checksum=%08x\n" % crc32c(lines), path
    return dict(each.split("=", 1) for each in lines.decode().splitlines())


def write_properties(path: Path, values: dict[str, str]) -> None:
    """Replaces a file of properties."""
    lines = "".join(f"{key}={values[key]}\n" for key in sorted(values)).encode()
    path.unlink(missing_ok=True)
    path.write_bytes(lines + b"checksum=%08x\n" % crc32c(lines))


def _records(run: Run) -> Iterator[Record]:
    content = run.path.read_bytes()
    magic, version, codec, first, end, _ = _HEADER.unpack_from(content)
    assert (magic, version, codec, first, end) == (b"MMAPQRN2", 2, 0, run.first, run.end)
    index, *_, magic = _TRAILER.unpack_from(content, len(content) - _TRAILER.size)
    assert magic == b"MMAPQRNE"
    at, offset = _HEADER.size, first
    while at < index:
        base_offset, base_time, block_first, count, _, stored, _, _ = _BLOCK.unpack_from(content, at)
        assert block_first == offset
        at += _BLOCK.size
        end_of_block = at + stored
        while offset < block_first + count:
            header, second = struct.unpack_from("<QQ", content, at)
            assert base_offset + (second - base_offset & _OFFSET) == offset
            at += 16
            if header & _CONTROL:
                lost = second >> 26
                yield from (Record(each, 0, None) for each in range(offset, offset + lost))
                offset += lost
            else:
                length = header & _LENGTH
                time = base_time + ((second >> 26) - base_time // 1000 & _MILLIS) * 1000 if header & _TIMESTAMPED else 0
                yield Record(offset, time, content[at : at + length])
                at += -(-length // 8) * 8
                offset += 1
        assert at == end_of_block
    assert offset == end
