"""Stores events of clients that get no error: they wait while the queue is full, or lose what they sent."""

import asyncio
import contextlib
import logging
from collections.abc import Callable

import mmapqueue
from mmapqueue.pipeline._timeout import timeout
from mmapqueue.pipeline.plugins import Host

#: Seconds between two attempts to push.
_FIRST_RETRY, _LONGEST_RETRY = 0.05, 1.0


async def store(
    host: Host,
    events: "list[bytes]",
    *,
    what: str,
    waits: Callable[[], bool],
    stopping: asyncio.Event,
    key: bytes | None = None,
) -> bool:
    """Pushes events, all of them or none; if the client can wait, tries again until the receiver stops.

    Args:
        host: The pipe.
        events: Serialized events.
        what: What they are, for the log: "syslog: 5 messages".
        waits: Whether the client waits. Called after each attempt that has failed.
        stopping: Set when the receiver stops.
        key: The identity of the request.

    Returns:
        Whether they are stored, or dropped as `on_full` says. Otherwise they are lost, unless the client sends them
        again, which is logged.
    """
    pause = _FIRST_RETRY
    while True:
        try:
            await (host.inbox.put(*events) if key is None else host.inbox.put(*events, key=key))
            return True
        except mmapqueue.Full as error:
            problem: Exception = error
        except Exception as error:
            problem = error
            if not isinstance(error, mmapqueue.MmapQueueError):  # The inbox logs those.
                host.log.warning("%s: %s", what.partition(":")[0], error, exc_info=error)
        waiting = waits()
        if not waiting or stopping.is_set() or isinstance(problem, mmapqueue.Closed | mmapqueue.TooLarge):
            # The inbox has logged the failures of the queue at a limited rate, which datagrams do not have.
            noted = isinstance(problem, mmapqueue.MmapQueueError) and not isinstance(problem, mmapqueue.Closed)
            host.log.log(
                logging.DEBUG if noted and not waiting else logging.WARNING,
                "%s are %s: %s",
                what,
                "lost" if key is None else "not stored and not acknowledged",
                problem,
            )
            return False
        with contextlib.suppress(asyncio.TimeoutError):
            async with timeout(pause):
                await stopping.wait()
        pause = min(2 * pause, _LONGEST_RETRY)
