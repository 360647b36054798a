"""What the tests of the sink share: rows to write, and what a queue has got of them."""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import mmapqueue

#: A segment is a page here.
SMALL = {"segment_size": "4k", "queue_capacity_segments": 256, "max_event_size": 8000}

#: How a write that fails arrives, which depends on the Java class of its cause.
REFUSED = (PySparkException, Py4JJavaError)


def append(rows: DataFrame, path: Path, **options: Any) -> None:
    """Writes a batch."""
    rows.write.format("mmapqueue").mode("append").options(**(SMALL | options)).save(str(path))


def records(spark: SparkSession, path: Path) -> list[bytes]:
    """All records of a partition, in their order; they stay there."""
    with mmapqueue.Queue(spark, path) as queue:
        return [message.data for message in queue.pop_many(1_000_000)]


def partitions(spark: SparkSession, path: Path) -> list[list[bytes]]:
    """All records of each partition."""
    found = []
    while (path / f"p={len(found)}").exists():
        found.append(records(spark, path / f"p={len(found)}"))
    return found


def flat(parts: Iterable[list[bytes]]) -> list[bytes]:
    """The records of all partitions."""
    return list(chain.from_iterable(parts))


def numbers(first: int, end: int) -> list[bytes]:
    """The records that the numbers of a range make."""
    return [b"%d" % i for i in range(first, end)]


def staged(path: Path) -> list[str]:
    """The files that writes have left behind."""
    return sorted(str(file.relative_to(path)) for file in (path / ".staging").rglob("*") if file.is_file())
