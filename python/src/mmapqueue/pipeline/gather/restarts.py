"""Keeps a fetcher running: restarts it after a failure, with a back-off."""

import asyncio
from collections.abc import Callable

import mmapqueue
from mmapqueue.pipeline.plugins import Fetcher, Host

#: Seconds before the first restart, and the maximum before any.
_FIRST, _LONGEST = 1.0, 30.0
#: Seconds of running after which a failure is the first one again.
_STABLE = 60.0


class BackOff:
    """The pauses between restarts: one second, doubled up to 30; after a success one second again.

    Example:
        >>> pauses = BackOff()
        >>> [pauses.after(succeeded=False) for _ in range(3)], pauses.after(succeeded=True)
        ([1.0, 2.0, 4.0], 1.0)
    """

    def __init__(self) -> None:
        self._next = _FIRST

    def after(self, *, succeeded: bool) -> float:
        """The seconds to wait after a failed run.

        Args:
            succeeded: Whether the run did its work before it failed.
        """
        pause = _FIRST if succeeded else self._next
        self._next = min(2 * pause, _LONGEST)
        return pause


async def keep_running(fetcher: Fetcher, name: str, host: Host, stored: Callable[[], int]) -> None:
    """Runs a fetcher until it is cancelled, or returns by itself. After an exception it runs again.

    Args:
        fetcher: The fetcher.
        name: Its name in the log.
        host: Its environment.
        stored: Returns the number of events that it has stored.
    """
    back_off, loop = BackOff(), asyncio.get_running_loop()
    while True:
        began, before = loop.time(), stored()
        try:
            await fetcher.run(host)
            return
        except Exception as error:
            pause = back_off.after(succeeded=stored() > before or loop.time() - began >= _STABLE)
            # Errors of the queue and of the system say enough; a traceback helps to find any other.
            known = isinstance(error, mmapqueue.MmapQueueError | OSError)
            host.log.warning(
                "%s has failed and starts again in %g s: %s: %s",
                *(name, pause, type(error).__name__, error),
                exc_info=None if known else error,
            )
            await asyncio.sleep(pause)
