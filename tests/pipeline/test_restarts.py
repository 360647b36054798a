"""Fetchers that fail are restarted."""

import asyncio
from pathlib import Path

import pytest

import mmapqueue
from mmapqueue.pipeline.config import load
from mmapqueue.pipeline.gather import restarts
from mmapqueue.pipeline.gather.agent import Agent
from mmapqueue.pipeline.gather.fetchers.command import CommandFetcher
from mmapqueue.pipeline.gather.restarts import BackOff, keep_running
from mmapqueue.pipeline.plugins import Host
from pipeline.tailing import FakeHost, MemoryInbox

SECONDS = 60


def test_pauses_grow_to_half_a_minute_and_begin_again_after_a_success() -> None:
    pauses = BackOff()
    assert [pauses.after(succeeded=False) for _ in range(7)] == [1, 2, 4, 8, 16, 30, 30]
    assert pauses.after(succeeded=True) == 1
    assert pauses.after(succeeded=False) == 2


def test_the_log_names_the_fetcher_and_the_pause_begins_again(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restarts, "_FIRST", 0.25)
    # An error, and the number of events that are stored before it.
    runs = [(ValueError("odd"), 0), (OSError("disk"), 0), (mmapqueue.Poisoned("fsync"), 1)]
    stored = 0

    async def run() -> None:
        lasts = asyncio.Event()

        class Odd(CommandFetcher):
            async def run(self, host: Host) -> None:  # noqa: ARG002
                nonlocal stored
                if runs:
                    error, events = runs.pop(0)
                    stored += events
                    raise error
                lasts.set()
                await asyncio.Event().wait()

        running = keep_running(
            Odd(command=("x",)), "fetcher odd (fetchers[1])", FakeHost(MemoryInbox()), lambda: stored
        )
        task = asyncio.create_task(running)
        await asyncio.wait_for(lasts.wait(), SECONDS)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())
    assert [record.getMessage() for record in caplog.records] == [
        "fetcher odd (fetchers[1]) has failed and starts again in 0.25 s: ValueError: odd",
        "fetcher odd (fetchers[1]) has failed and starts again in 0.5 s: OSError: disk",
        "fetcher odd (fetchers[1]) has failed and starts again in 0.25 s: Poisoned: fsync",
    ]
    # A traceback only of what neither the queue nor the system says.
    assert [record.exc_info is not None for record in caplog.records] == [True, False, False]


def test_the_fetchers_of_a_pipe_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text(
        "name: shop\npipes:\n- name: metrics\n  queue: {dir: queue, capacity: 32m, segment_size: 64k}\n  fetchers:\n"
        "  - {type: command, command: ['true']}\n"
        "  - {type: command, command: ['true']}\n"
    )

    async def fail(fetcher: CommandFetcher, host: Host) -> None:  # noqa: ARG001
        if fails.pop(0):
            raise OSError("odd")
        await asyncio.Event().wait()

    async def run() -> None:
        async with Agent(load(file)):
            while "has failed" not in caplog.text:
                await asyncio.sleep(0.01)

    fails = [False, True, False]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CommandFetcher, "run", fail)
        asyncio.run(asyncio.wait_for(run(), SECONDS))
    assert "fetcher command (fetchers[1]) has failed" in caplog.text
    assert "<unknown>" not in caplog.text
