"""What tests know of the files of an archive."""

import shutil
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from archive_runs import properties


def run_files(archive: Path, partition: int = 0) -> list[Path]:
    """The runs of a partition, by offset."""
    return sorted((archive / "data" / f"{partition:05d}").glob("*/*.run"))


def first_offset(run: Path) -> int:
    """The offset of a run's first record."""
    return int(run.name.split("-")[0])


def spoil(run: Path) -> None:
    """Makes the content of a run worthless, so that only its name can be used."""
    run.chmod(0o644)
    run.write_bytes(b"\0" * run.stat().st_size)


def drop_partition(archive: Path, partition: int) -> None:
    """Removes a partition, as no product does: its number stays free."""
    for file in run_files(archive, partition):
        file.unlink()
    (entry,) = (archive / "partitions").glob(f"{partition:05d}-*.properties")
    entry.unlink()
    shutil.rmtree(archive / "owners" / f"{partition:05d}")


def consumers(archive: Path) -> dict[str, dict[str, str]]:
    """The consumers' files, by name."""
    return {file.stem: properties(file) for file in sorted((archive / "consumers").glob("*.properties"))}


def opened(spark: SparkSession, archive: Path) -> Any:
    """The archive in the driver's JVM; the caller closes it."""
    jvm: Any = spark._jvm
    files = jvm.org.mmapqueue.archive.files.Archives.files(jvm.java.net.URI.create(archive.as_uri()))
    return jvm.org.mmapqueue.archive.Archive.open(files)


def compact(spark: SparkSession, archive: Path, partition: int = 0) -> None:
    """Replaces the runs of a partition by longer ones, and deletes them at once."""
    jvm: Any = spark._jvm
    one = opened(spark, archive)
    try:
        entry = next(each for each in one.partitions() if each.id() == partition)
        codec = jvm.org.mmapqueue.archive.run.ArchiveCodec.NONE
        compaction = jvm.org.mmapqueue.archive.Compaction(one, entry, codec, jvm.java.time.Duration.ZERO)
        while compaction.step():
            pass
    finally:
        one.close()
