"""Writes archives whose runs have names alone, which is all that planning reads."""

import uuid
from pathlib import Path

from archive_runs import write_properties

#: Offsets of a bucket.
BUCKET = 10_000_000
#: The time of the record with offset 0; records are a millisecond apart.
MICROS = 1_700_000_000_000_000
#: The bytes of a run, uncompressed.
RUN_BYTES = 1_000_000
_CREATED = "2026-01-01T00:00:00Z"


def store(archive: Path, partition: int, first: int, end: int) -> None:
    """Stores a run without content."""
    directory = archive / "data" / f"{partition:05d}" / f"{first // BUCKET:012d}"
    directory.mkdir(parents=True, exist_ok=True)
    times = f"{MICROS + first * 1000}-{MICROS + (end - 1) * 1000}"
    (directory / f"{first:019d}-{end:019d}-1-{times}-{RUN_BYTES}-00000000.run").touch()


def write(archive: Path, partitions: int, runs: int, records: int) -> None:
    """Writes an archive.

    Args:
        archive: The directory, which must not exist.
        partitions: Their number.
        runs: The number of runs of each.
        records: The number of records of a run.
    """
    for name in ("partitions", "data", "owners", "consumers"):
        (archive / name).mkdir(parents=True)
    write_properties(archive / "archive.properties", {"format": "1", "id": str(uuid.uuid4()), "created": _CREATED})
    for partition in range(partitions):
        queue = str(uuid.uuid4())
        registration = {"queue": queue, "partition": "0", "host": f"host-{partition}", "created": _CREATED}
        write_properties(archive / "partitions" / f"{partition:05d}-{queue}.properties", registration)
        claim = {"queue": queue, "token": str(uuid.uuid4()), "host": f"host-{partition}", "claimed": _CREATED}
        owners = archive / "owners" / f"{partition:05d}"
        owners.mkdir()
        write_properties(owners / "0000000001.properties", {**claim, "starts": "1:0"})
        for run in range(runs):
            store(archive, partition, run * records, (run + 1) * records)
