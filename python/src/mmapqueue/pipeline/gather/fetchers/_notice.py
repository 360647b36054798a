"""Notices of changes in directories."""

import asyncio
import logging
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from watchfiles import Change, awatch

from mmapqueue.pipeline._timeout import timeout

#: Milliseconds for which changes are collected.
_DEBOUNCE = 200
_STEP = 20
#: Seconds until watching begins again after an error.
_PAUSE = 1.0


class Notice:
    """Reports that something may have changed. Belongs to one event loop.

    Changes that the system does not report, as on network file systems, are noticed by the caller's poll interval.
    """

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._changed = asyncio.Event()
        self._rescan = False
        self._scanned = time.monotonic()
        self._directories: frozenset[Path] = frozenset()
        self._task: asyncio.Task[None] | None = None
        #: The types of the errors that are logged.
        self._logged: set[type[BaseException]] = set()

    async def watch(self, directories: Collection[Path]) -> None:
        """Watches these directories, and no others."""
        self._scanned = time.monotonic()
        wanted = frozenset(directories)
        if wanted == self._directories and self._task is not None:
            return
        await self.stop()
        self._directories = wanted
        if wanted:
            self._task = asyncio.create_task(self._watch(wanted))

    async def wait(self, seconds: float) -> None:
        """Waits for a change, for this time at most."""
        with suppress(asyncio.TimeoutError):
            async with timeout(seconds):
                await self._changed.wait()
        self._changed.clear()

    def take_rescan(self, seconds: float) -> bool:
        """Whether files were made, renamed or removed since it last said so, or `watch` was called that long ago."""
        rescan = self._rescan or time.monotonic() - self._scanned >= seconds
        # Reset before the caller looks, so that changes during its look are not missed.
        self._rescan = False
        return rescan

    async def stop(self) -> None:
        """Stops watching."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _watch(self, directories: Collection[Path]) -> None:
        """Watches until it is cancelled. An error, such as a file whose name is not UTF-8, ends the library's watch."""
        while True:
            try:
                async for changes in awatch(
                    *directories,
                    watch_filter=None,
                    debounce=_DEBOUNCE,
                    step=_STEP,
                    recursive=False,
                    ignore_permission_denied=True,
                ):
                    self._rescan |= any(change is not Change.modified for change, _ in changes)
                    self._changed.set()
            except Exception as error:
                self._log_once(_cause(error))
            await asyncio.sleep(_PAUSE)
            # What has changed since. The caller looks when the library watches again: until then, nothing here waits.
            self._rescan = True
            self._changed.set()

    def _log_once(self, error: BaseException) -> None:
        if type(error) not in self._logged:
            self._logged.add(type(error))
            self._log.info(
                "changes of files are found late, as watching them has failed and begins again in %g s: %s",
                _PAUSE,
                error,
            )


def _cause(error: BaseException) -> BaseException:
    """What a group of exceptions is about: groups say only how many there are."""
    inner = getattr(error, "exceptions", None)
    return _cause(inner[0]) if inner else error
