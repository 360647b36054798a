"""Functions of the sink's tests: rows to write, and the records of a queue."""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import mmapqueue
from conftest import Ring

#: Small segments.
SMALL = Ring(segment_size="4k", queue_capacity_segments=256, max_event_size=8000)

#: The exceptions of a failed write, which depend on the Java class of the cause.
REFUSED = (PySparkException, Py4JJavaError)


def append(rows: DataFrame, path: Path, **options: Any) -> None:
    """Writes a batch."""
    rows.write.format("mmapqueue").mode("append").options(**SMALL).options(**options).save(str(path))


def records(spark: SparkSession, path: Path) -> list[bytes]:
    """All records of a partition, in order, without acking them."""
    with mmapqueue.Queue(path, spark=spark) as queue:
        return [message.data for message in queue.pop_many(1_000_000)]


def partitions(spark: SparkSession, path: Path) -> list[list[bytes]]:
    """All records of each partition."""
    found: list[list[bytes]] = []
    while (path / f"p={len(found)}").exists():
        found.append(records(spark, path / f"p={len(found)}"))
    return found


def flat(parts: Iterable[list[bytes]]) -> list[bytes]:
    """The records of all partitions."""
    return list(chain.from_iterable(parts))


def numbers(first: int, end: int) -> list[bytes]:
    """The records of a range of numbers."""
    return [b"%d" % i for i in range(first, end)]


def staged(path: Path) -> list[str]:
    """The files that writes have not deleted."""
    return sorted(str(file.relative_to(path)) for file in (path / ".staging").rglob("*") if file.is_file())
