"""The records that a consumer has acked, also out of order, read beside it: it is neither opened nor moved."""

from __future__ import annotations

import struct
from pathlib import Path

import mmapqueue

_MAGIC = b"MMAPQIF3"
#: Magic; UUID; first record; position; time; number of runs; checksum.
_HEADER = struct.Struct("<8sqqqqiI")
_CHECKSUM_AT = 44
#: Number of records; attempts; ms of a delay.
_RUN = struct.Struct("<iiq")
_ACKED = -1


def acked(queue: mmapqueue.Queue[bytes], consumer: str) -> list[range]:
    """The offsets that a consumer of any process has acked, as it has stored them last.

    Args:
        queue: The queue.
        consumer: The consumer's name.

    Returns:
        The ranges in ascending order; none when there is no such consumer.
    """
    # First the file: its first record is not after what is committed then.
    ahead = _ahead(Path(queue.path) / "consumers" / f"{consumer}.inflight")
    found = queue.consumer_stats().get(consumer)
    if found is None:
        return []
    committed = found.committed_offset
    return [
        range(committed),
        *(range(max(each.start, committed), each.stop) for each in ahead if each.stop > committed),
    ]


def _ahead(file: Path) -> list[range]:
    """The acked ones in a file of records in flight; none when it is missing or damaged: its owner ignores it, too."""
    try:
        image = file.read_bytes()
    except FileNotFoundError:
        return []
    if len(image) < _HEADER.size:
        return []
    magic, _, offset, _, _, runs, checksum = _HEADER.unpack_from(image)
    content = image[_HEADER.size :]
    if magic != _MAGIC or len(content) != runs * _RUN.size or checksum != _crc32c(image[:_CHECKSUM_AT] + content):
        return []
    ranges = []
    for records, attempts, _ in _RUN.iter_unpack(content):
        if attempts == _ACKED:
            ranges.append(range(offset, offset + records))
        offset += records
    return ranges


def _crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF
