"""The function that opens a queue."""

from __future__ import annotations

import os

from mmapqueue._queue.queue import Queue
from mmapqueue._values.annotations import SparkContext, SparkSession, Unpack
from mmapqueue._values.configuration import Configuration


def open(  # noqa: A001
    path: str | os.PathLike[str],
    *,
    spark: SparkSession | SparkContext | None = None,
    consumer: str = "default",
    lock_timeout: float = 5.0,
    prefetch: int | None = None,
    ack_linger: float | None = None,
    **configuration: Unpack[Configuration],
) -> Queue:
    """Opens the queue in a directory. Arguments and errors are those of `Queue`.

    with mmapqueue.open("events") as queue:
        queue.push(b"one")
    """
    return Queue(
        path,
        spark=spark,
        consumer=consumer,
        lock_timeout=lock_timeout,
        prefetch=prefetch,
        ack_linger=ack_linger,
        **configuration,
    )
