"""Closing objects with a connection to the JVM, under asyncio, too."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from types import TracebackType

from mmapqueue._queue.deadline import SLICE_MILLIS
from mmapqueue._values.annotations import Self
from mmapqueue._values.closing import Closing


class AsyncClosing(Closing):
    """An object that closes itself at the end of a `with` or `async with` block."""

    async def aclose(self) -> None:
        """As `close`, under asyncio.

        Example:
            >>> asyncio.run(queue.aclose())
            >>> queue.closed
            True
        """
        # Imported on first use: asyncio is slow to import.
        from mmapqueue._queue.threads import in_own_thread

        again = False
        # In slices: a thread that waits on after a cancellation would keep the program from ending.
        while not await in_own_thread(partial(self._close_for, SLICE_MILLIS / 1000, again=again), "mmapqueue-aclose"):
            again = True

    @abstractmethod
    def _close_for(self, seconds: float, *, again: bool) -> bool:
        """As `close`, for some time.

        Args:
            seconds: The maximum time to wait.
            again: Whether this continues a call that was not done.

        Returns:
            Whether it is done.
        """

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
