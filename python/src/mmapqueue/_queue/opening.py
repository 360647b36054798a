"""The function that opens a queue."""

from __future__ import annotations

import os
from typing import Any, Literal, overload

from mmapqueue._queue.queue import Queue
from mmapqueue._values.annotations import SparkContext, SparkSession, Unpack, Value
from mmapqueue._values.configuration import Configuration
from mmapqueue._values.durations import Duration
from mmapqueue._values.serializers import Serializer


@overload
def open(  # noqa: A001
    path: str | os.PathLike[str],
    *,
    spark: SparkSession | SparkContext | None = ...,
    consumer: str = ...,
    serializer: None = ...,
    lock_timeout: Duration = ...,
    prefetch: int | None = ...,
    ack_linger: Duration | None = ...,
    **configuration: Unpack[Configuration],
) -> Queue[bytes]: ...


@overload
def open(  # noqa: A001
    path: str | os.PathLike[str],
    *,
    spark: SparkSession | SparkContext | None = ...,
    consumer: str = ...,
    serializer: Literal["json", "msgpack", "pickle"],
    lock_timeout: Duration = ...,
    prefetch: int | None = ...,
    ack_linger: Duration | None = ...,
    **configuration: Unpack[Configuration],
) -> Queue[Any]: ...


@overload
def open(  # noqa: A001
    path: str | os.PathLike[str],
    *,
    spark: SparkSession | SparkContext | None = ...,
    consumer: str = ...,
    serializer: Serializer[Value],
    lock_timeout: Duration = ...,
    prefetch: int | None = ...,
    ack_linger: Duration | None = ...,
    **configuration: Unpack[Configuration],
) -> Queue[Value]: ...


def open(  # noqa: A001
    path: str | os.PathLike[str],
    *,
    spark: SparkSession | SparkContext | None = None,
    consumer: str = "default",
    serializer: Any = None,
    lock_timeout: Duration = 5.0,
    prefetch: int | None = None,
    ack_linger: Duration | None = None,
    **configuration: Unpack[Configuration],
) -> Queue[Any]:
    """Opens the queue in a directory. Arguments and errors are those of `Queue`.

    Example:
        >>> with mmapqueue.open("events") as events:
        ...     events.push(b"one")
        0
    """
    return Queue(
        path,
        spark=spark,
        consumer=consumer,
        serializer=serializer,
        lock_timeout=lock_timeout,
        prefetch=prefetch,
        ack_linger=ack_linger,
        **configuration,
    )
