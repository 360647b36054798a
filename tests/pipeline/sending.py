"""Rows for tests of network senders, and one attempt to send them."""

import asyncio
from typing import Any

import pytest

from mmapqueue.pipeline.process.senders._delivery import Undelivered
from mmapqueue.pipeline.process.senders._requests import Row

QUICK = {"backoff": {"first": "1ms", "most": "2ms"}}
GIVE_UP = {**QUICK, "then": "drop", "max_attempts": 3}
AGAIN = Undelivered("503", retryable=True)


def row(offset: int, data: bytes = b"one", content_type: str = "text/plain", **more: Any) -> Row:
    return {"partition": 0, "offset": offset, "data": data, "content_type": content_type, **more}


def sent(sender: Any, *rows: Row, key: str = "queue/0/0-1") -> None:
    """One attempt; raises Undelivered."""

    async def send() -> None:
        client = sender.client()
        try:
            await client.send(sender.route(rows[0]), rows, key)
        finally:
            await client.close()

    asyncio.run(send())


def failed(sender: Any, *rows: Row) -> Undelivered:
    with pytest.raises(Undelivered) as caught:
        sent(sender, *rows)
    return caught.value
