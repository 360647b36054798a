"""Periodic work."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta


async def every(interval: timedelta) -> AsyncIterator[int]:
    """Yields 0, 1, 2, … now and after each interval, counted from the first moment.

    When the caller takes longer than an interval, missed moments are skipped.

    Example:
        async for _ in every(timedelta(seconds=15)):
            await scrape()
    """
    loop = asyncio.get_running_loop()
    seconds = interval.total_seconds()
    first = loop.time()
    number = 0
    while True:
        yield number
        number = max(number + 1, int((loop.time() - first) / seconds) + 1)
        await asyncio.sleep(first + number * seconds - loop.time())
