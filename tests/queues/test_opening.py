"""`open` and `aopen`."""

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

import mmapqueue
from conftest import eventually
from mmapqueue._queue import opening


def test_open_returns_a_queue(tmp_path: Path) -> None:
    with mmapqueue.open(tmp_path / "queue", capacity="1m", segment_size="64k", consumer="reader") as queue:
        assert isinstance(queue, mmapqueue.Queue)
        assert queue.consumers() == ["reader"]
        assert queue.config["queue_capacity_segments"] == 16


def test_aopen_returns_a_queue(tmp_path: Path) -> None:
    async def main() -> tuple[int, Any]:
        path = tmp_path / "queue"
        async with mmapqueue.aopen(path, capacity="1m", serializer=json, consumer="reader") as queue:
            assert await queue.apush({"id": 7}) == 0
            async with queue.apop() as message:
                found = message.value
            assert queue.consumers() == ["reader"]
        assert queue.closed
        with pytest.raises(mmapqueue.NotFound):
            await mmapqueue.aopen(tmp_path / "none", read_only=True)
        return queue.config["capacity"], found

    assert asyncio.run(main()) == (1 << 20, {"id": 7})


def test_aopen_without_await_or_async_is_told_what_to_write(tmp_path: Path) -> None:
    call: Any = mmapqueue.aopen
    with pytest.raises(TypeError, match="is entered with `async with`"), call(tmp_path / "queue"):
        pass
    opened = call(tmp_path / "queue")
    with pytest.raises(AttributeError, match=r"aopen.* without 'push'; its result comes by `await`"):
        opened.push(b"x")
    opened.close()
    assert not any(tmp_path.iterdir())


def test_a_cancelled_open_closes_the_queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, released = threading.Event(), threading.Event()
    opened: list[mmapqueue.Queue] = []
    real = opening.open

    def slow(*arguments: Any, **options: Any) -> mmapqueue.Queue:
        begun.set()
        assert released.wait(60)
        opened.append(real(*arguments, **options))
        return opened[0]

    monkeypatch.setattr(opening, "open", slow)

    async def main() -> None:
        task = asyncio.create_task(mmapqueue.aopen(tmp_path / "queue"))
        await asyncio.to_thread(begun.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        released.set()

    asyncio.run(main())
    assert eventually(lambda: bool(opened) and opened[0].closed)
