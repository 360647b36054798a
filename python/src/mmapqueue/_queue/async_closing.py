"""Closing objects with a connection to the JVM, under asyncio, too."""

from __future__ import annotations

from types import TracebackType

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
        import asyncio

        await asyncio.to_thread(self.close)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
