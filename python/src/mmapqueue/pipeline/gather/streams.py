"""Groups the messages of a stream, so that they are pushed together."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

#: The maximum number of bytes of a group, apart from its last message.
GROUP_BYTES = 1 << 20
#: Bytes that a message takes in a group besides its own.
_OVERHEAD = 8


async def groups(
    messages: AsyncIterator[bytes], *, most_bytes: int, within: float | None
) -> AsyncGenerator[list[bytes], None]:
    """Groups the messages of a stream in their order. No message is read while a group is pushed.

    A group ends with the stream, before the message that would exceed `most_bytes`, or `within` seconds after its first
    message. A larger message is a group of its own.

    Args:
        messages: The stream.
        most_bytes: Bytes of a group, at most.
        within: Seconds that the first message of a group waits, at most; None for no limit.

    Raises:
        Exception: The stream's exception, after the groups before it.
    """
    loop = asyncio.get_running_loop()
    messages = aiter(messages)
    reading: asyncio.Future[bytes] | None = None
    group: list[bytes] = []
    size, due = 0, 0.0
    try:
        while True:
            if reading is None:
                reading = asyncio.ensure_future(anext(messages))
            if group and not reading.done():
                done, _ = await asyncio.wait((reading,), timeout=None if within is None else due - loop.time())
                if not done:
                    yield group
                    group, size = [], 0
                    continue
            try:
                message = await reading
            except StopAsyncIteration:
                break
            finally:
                if reading.done():
                    reading = None
            if group and size + len(message) + _OVERHEAD > most_bytes:
                yield group
                group, size = [], 0
            if not group:
                due = loop.time() + (within or 0.0)
            group.append(message)
            size += len(message) + _OVERHEAD
        if group:
            yield group
    finally:
        if reading is not None:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
