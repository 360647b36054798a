"""Files: a fetcher that runs by itself and is killed."""

import asyncio
import logging
import os
import random
import threading
from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

import mmapqueue
from conftest import LONG, Open, Script, data, kill_with_children
from mmapqueue.pipeline.gather.fetchers import _follow, _notice, _tail
from mmapqueue.pipeline.gather.fetchers.files import FileFetcher
from mmapqueue.pipeline.gather.inbox import QueueInbox
from pipeline.tailing import FakeHost, MemoryInbox, append, texts


def followed(queue: mmapqueue.Queue, files: Path, steps: Iterable[Callable[[], object]]) -> None:
    """Follows files, and takes a step when something is stored: by notices alone, the next poll is an hour away."""

    async def follow() -> None:
        stored: asyncio.Queue[int] = asyncio.Queue()
        inbox = QueueInbox(queue, pipe="logs", count=lambda _status, records: stored.put_nowait(records))
        fetcher = FileFetcher(paths=(str(files),), poll=timedelta(hours=1), idle=timedelta(hours=1))
        task = asyncio.create_task(fetcher.run(FakeHost(inbox)))
        for step in (*steps, None):
            while not await asyncio.wait_for(stored.get(), 60):
                pass
            if step is not None:
                step()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await inbox.close()

    asyncio.run(follow())


def test_it_follows_by_itself(log: Path, open_queue: Open) -> None:
    log.write_bytes(b"1\n")
    queue = open_queue()

    def rename_and_append() -> None:
        append(log.rename(log.with_name("old")), b"3\n")

    followed(queue, log, (lambda: append(log, b"2\n"), rename_and_append, lambda: log.write_bytes(b"4\n")))
    assert texts(data(queue.pop_many(10))) == [b"1", b"2", b"3", b"4"]


def test_its_stop_waits_for_a_read_beside_the_event_loop(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reading, go = threading.Event(), threading.Event()

    def read(*_: object) -> None:
        reading.set()
        go.wait(60)

    async def stop() -> None:
        follower = _follow.Follower(FileFetcher(paths=(str(log),)), FakeHost(MemoryInbox()))
        task = asyncio.create_task(follower.run())
        await asyncio.to_thread(reading.wait, 60)
        task.cancel()
        while not follower._reader._shutdown:
            await asyncio.sleep(0.01)
        assert not task.done()
        go.set()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()

    monkeypatch.setattr(_tail.Tail, "read", read)
    log.write_bytes(b"1\n")
    asyncio.run(stop())


def test_it_goes_on_beside_a_name_that_is_not_utf8(
    log: Path, open_queue: Open, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(_notice, "_PAUSE", 0.01)
    log.write_bytes(b"1\n")
    odd = log.with_name(os.fsdecode(b"\xff.log"))
    queue = open_queue()
    # Each other notice is about the odd name.
    steps = [partial(append, log if number % 2 else odd, b"%d\n" % number) for number in range(2, 6)]
    followed(queue, log.with_name("*.log"), steps)
    assert texts(data(queue.pop_many(10))) == [b"1", b"2", b"3", b"4", b"5"]
    (logged,) = (each.getMessage() for each in caplog.records if "watching" in each.getMessage())
    assert "Unable to decode path" in logged


_FOLLOW = """
    import asyncio, logging, sys
    import mmapqueue
    from mmapqueue.pipeline.gather.fetchers import _follow
    from mmapqueue.pipeline.gather.fetchers.files import FileFetcher
    from mmapqueue.pipeline.gather.inbox import QueueInbox
    from pipeline.tailing import FakeHost
    _follow.BATCH_BYTES = 3000
    async def main():
        queue = mmapqueue.Queue(sys.argv[1], lock_timeout=60)
        print("open", flush=True)
        inbox = QueueInbox(queue, pipe="logs", count=lambda status, records: print(records, flush=True))
        await FileFetcher(paths=[sys.argv[2]], poll="20ms").run(FakeHost(inbox))
    asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.long_form
def test_kills_at_random_lose_and_repeat_nothing(script: Script, log: Path, open_queue: Open) -> None:
    path = script.directory / "queue"
    chance = random.Random(7)
    written: list[bytes] = []
    stop = threading.Event()

    def write() -> None:
        number = 0
        rotations = 0
        while not stop.wait(0.002):
            lines = [b"%06d %s" % (i, b"x" * (i % 90)) for i in range(number, number + 1 + number % 25)]
            number += len(lines)
            append(log, b"".join(each + b"\n" for each in lines))
            written.extend(lines)
            if number // 4000 > rotations:
                rotations += 1
                log.rename(log.with_name(f"app.log.{rotations}"))

    append(log, b"")
    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(20 if LONG else 6):
            process = script.start(_FOLLOW, path, f"{log}*", PYTHONPATH=os.pathsep.join((*_PATHS, "")))
            assert process.stdout is not None
            assert process.stdout.readline() == "open\n"
            for _ in range(chance.randrange(30)):
                assert process.stdout.readline()
            kill_with_children(process)
    finally:
        stop.set()
        writer.join()
    queue = open_queue(path)

    async def finish() -> None:
        inbox = QueueInbox(queue, pipe="logs")
        follower = _follow.Follower(FileFetcher(paths=(f"{log}*",)), FakeHost(inbox))
        await follower.start()
        while await follower.turn():
            pass
        await follower.close()
        await inbox.close()

    asyncio.run(finish())
    found = texts(data(queue.pop_many(queue.end_offset() + 1)))
    assert len(found) == len(written)
    assert sorted(found) == written


_PATHS = [str(Path(mmapqueue.__file__).parents[1]), str(Path(__file__).parents[1])]
