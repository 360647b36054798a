"""The stop of an agent, and of its parts."""

import asyncio
from pathlib import Path

import pytest

from mmapqueue.pipeline.config import Pipeline
from mmapqueue.pipeline.gather.agent import Agent, PipeHost
from mmapqueue.pipeline.gather.fetchers.files import FileFetcher
from mmapqueue.pipeline.gather.http_server import HttpServer
from mmapqueue.pipeline.gather.receivers.statsd import StatsdReceiver

from .configuring import load_text
from .receiving import free_port

SECONDS = 60
NUMBER = 3
RECEIVERS = ", ".join(["{type: statsd, listen: 'udp://127.0.0.1:0'}"] * NUMBER)
FILE = f"pipes:\n- name: logs\n  queue: {{dir: q, capacity: 8m, segment_size: 64k}}\n  receivers: [{RECEIVERS}]\n"


def test_receivers_stop_at_once_and_one_that_fails_ends_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, begun, ended = StatsdReceiver.stop, asyncio.Event(), []
    stopping = 0

    async def run() -> None:
        pipes: list[PipeHost] = []

        async def together(receiver: StatsdReceiver) -> None:
            """The first one fails; the others end when all have begun."""
            nonlocal stopping
            stopping += 1
            first = stopping == 1
            if stopping == NUMBER:
                begun.set()
            await stop(receiver)
            if first:
                raise OSError("odd")
            await begun.wait()
            ended.append(pipes[0].queue.closed)

        monkeypatch.setattr(StatsdReceiver, "stop", together)
        with pytest.raises(OSError, match="odd"):
            async with Agent(load_text(tmp_path, FILE)) as agent:
                pipes += agent.pipes.values()
        assert pipes[0].queue.closed

    asyncio.run(asyncio.wait_for(run(), SECONDS))
    # The queue was open for each of the others.
    assert ended == [False] * (NUMBER - 1)


def test_receivers_that_are_replaced_stop_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ports = [free_port() for _ in range(NUMBER)]

    def configured(connections: int) -> Pipeline:
        receivers = [f"{{type: statsd, listen: 'tcp://127.0.0.1:{p}', max_connections: {connections}}}" for p in ports]
        loaded: Pipeline = load_text(tmp_path, FILE.replace(RECEIVERS, ", ".join(receivers)))
        return loaded

    stop = StatsdReceiver.stop

    async def run() -> None:
        begun, stopping = asyncio.Event(), 0

        async def together(receiver: StatsdReceiver) -> None:
            """Ends when all have begun."""
            nonlocal stopping
            stopping += 1
            if stopping == NUMBER:
                begun.set()
            await begun.wait()
            await stop(receiver)

        async with Agent(configured(1)) as agent:
            monkeypatch.setattr(StatsdReceiver, "stop", together)
            await agent.change(configured(2))
            assert stopping == NUMBER
            for port in ports:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()

    asyncio.run(asyncio.wait_for(run(), SECONDS))


FETCHING = """\
servers: [{name: web, type: http, listen: "127.0.0.1:0"}]
pipes:
- name: logs
  queue: {dir: q, capacity: 8m, segment_size: 64k}
  receivers: [{type: otlp, server: web}]
  fetchers: [{type: files, paths: [none]}]
"""


def test_servers_stop_beside_a_fetcher_that_takes_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop = HttpServer.stop

    async def run() -> None:
        running, stopped = asyncio.Event(), asyncio.Event()

        async def fetch(*_: object) -> None:
            running.set()
            try:
                await asyncio.Event().wait()
            finally:
                await stopped.wait()

        async def stop_server(server: HttpServer, seconds: float) -> None:
            await stop(server, seconds)
            stopped.set()

        monkeypatch.setattr(FileFetcher, "run", fetch)
        monkeypatch.setattr(HttpServer, "stop", stop_server)
        async with Agent(load_text(tmp_path, FETCHING)):
            await running.wait()

    asyncio.run(asyncio.wait_for(run(), SECONDS))
