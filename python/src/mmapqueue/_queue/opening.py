"""The functions that open a queue."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, Literal, overload

from mmapqueue._queue.queue import Queue
from mmapqueue._values.annotations import Unpack, Value
from mmapqueue._values.configuration import OpenOptions
from mmapqueue._values.entering import Entering
from mmapqueue._values.serializers import Serializer


@overload
def open(  # noqa: A001
    path: str | os.PathLike[str], *, serializer: None = ..., **options: Unpack[OpenOptions]
) -> Queue[bytes]: ...


@overload
def open(  # noqa: A001
    path: str | os.PathLike[str], *, serializer: Literal["json", "msgpack", "pickle"], **options: Unpack[OpenOptions]
) -> Queue[Any]: ...


@overload
def open(  # noqa: A001
    path: str | os.PathLike[str], *, serializer: Serializer[Value], **options: Unpack[OpenOptions]
) -> Queue[Value]: ...


def open(  # noqa: A001
    path: str | os.PathLike[str], *, serializer: Any = None, **options: Unpack[OpenOptions]
) -> Queue[Any]:
    """Opens the queue in a directory. Arguments and errors are those of `Queue`.

    Example:
        >>> with mmapqueue.open("events") as events:
        ...     events.push(b"one")
        0
    """
    return Queue(path, serializer=serializer, **options)


@overload
def aopen(
    path: str | os.PathLike[str], *, serializer: None = ..., **options: Unpack[OpenOptions]
) -> Entering[Queue[bytes]]: ...


@overload
def aopen(
    path: str | os.PathLike[str], *, serializer: Literal["json", "msgpack", "pickle"], **options: Unpack[OpenOptions]
) -> Entering[Queue[Any]]: ...


@overload
def aopen(
    path: str | os.PathLike[str], *, serializer: Serializer[Value], **options: Unpack[OpenOptions]
) -> Entering[Queue[Value]]: ...


def aopen(
    path: str | os.PathLike[str], *, serializer: Any = None, **options: Unpack[OpenOptions]
) -> Entering[Queue[Any]]:
    """Opens the queue in a directory, in a thread, under asyncio. Arguments and errors are those of `Queue`.

    `await` returns the queue; `async with` also closes it. A cancellation takes effect at once; the thread closes the
    queue after opening it.

    Example:
        >>> async def main():
        ...     async with mmapqueue.aopen("events") as events:
        ...         return await events.apush(b"one")
        >>> asyncio.run(main())
        0
    """
    return Entering("aopen", _aopen(partial(open, path, serializer=serializer, **options)))


async def _aopen(opens: Callable[[], Queue[Any]]) -> Queue[Any]:
    # Imported on first use: they are slow to import.
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    executor = ThreadPoolExecutor(1, thread_name_prefix="mmapqueue-aopen")
    opening = executor.submit(opens)
    executor.shutdown(wait=False)
    try:
        return await asyncio.wrap_future(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(_close)
        raise


def _close(opening: Future[Queue[Any]]) -> None:
    """Closes a queue that no task has received."""
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()
