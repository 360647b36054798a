"""`docs/reference/reader.py`, for tests. As a program it answers the tests in Java:

    python3 tests/reference_reader.py

Each line of the input is a directory of a queue, or `--skip` and one that may be damaged. Each line of the output
is a JSON object with what the reader found there.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "docs" / "reference"))

from reader import BATCH, PAD, Damage, Log, crc32c, read_meta, read_segment, records

__all__ = ["BATCH", "PAD", "Damage", "Log", "crc32c", "found", "read_meta", "read_segment", "records"]


def found(directory: Path, skip: bool = False) -> dict[str, object]:
    """Each record as offset, time (0: none), length, CRC; the log end; the offset of each consumer; or the error."""
    try:
        log = Log(directory)
        consumers = {} if skip else {name: log.needed_from(consumer) for name, consumer in log.consumers.items()}
        lines = [
            f"{record.offset} {record.timestamp or 0} {len(record.payload)} {crc32c(record.payload)}"
            for record in log.records(skip)
        ]
        return {"records": lines, "end": log.offset, "consumers": consumers}
    except (Damage, OSError) as error:
        return {"error": str(error)}


if __name__ == "__main__":
    for line in sys.stdin:
        name = line.rstrip("\n")
        directory = name.removeprefix("--skip ")
        print(json.dumps(found(Path(directory), skip=directory != name)), flush=True)
