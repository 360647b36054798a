"""The pages of idempotent producers, decoded by docs/reference/format.md; `test_reference_reader.py` has the rest."""

import shutil
import struct
from pathlib import Path

from conftest import SMALL, Open
from reference_reader import crc32c, read_meta


def slots(directory: Path, producer: str) -> dict[int, int]:
    """The slots that are not empty: sequence → end offset."""
    page = (directory / "producers" / f"{producer}.dat").read_bytes()
    magic, uuid, _, checksum = struct.unpack_from("<8s16sQI", page)
    assert (len(page), magic, uuid, checksum) == (4096, b"MMAPQPR2", read_meta(directory).uuid, crc32c(page[:32]))
    found = {}
    for at in (512, 1024, 1536, 2048):
        sequence, end, checksum = struct.unpack_from("<QQI", page, at)
        if checksum:
            assert checksum == (crc32c(page[:32] + page[at : at + 16]) or 0xFFFFFFFF)
            found[sequence] = end
    return found


def test_the_page_of_idempotent_producers(open_queue: Open, tmp_path: Path) -> None:
    queue = open_queue(**SMALL)
    for sequence in range(0, 20, 2):
        queue.push_once("sink", sequence, [b"x" * 100] * 2)
        if sequence == 8:
            queue.flush()
    left = slots(shutil.copytree(queue.path, tmp_path / "left"), "sink")
    assert left[18] == 20
    assert left[8] == 10  # what was flushed is kept until there is a newer one
    assert all(end == sequence + 2 for sequence, end in left.items())
    queue.close()
    assert max(slots(tmp_path / "queue", "sink").items()) == (18, 20)
