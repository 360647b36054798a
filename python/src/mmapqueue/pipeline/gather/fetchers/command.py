"""Fetcher of commands' output."""

import asyncio
import os
import signal
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

import mmapqueue
from mmapqueue.pipeline._event import encode
from mmapqueue.pipeline.event_pb2 import EventType
from mmapqueue.pipeline.gather.fetchers._schedule import every
from mmapqueue.pipeline.plugins import Duration, Fetcher, Host, Size

#: Bytes of standard error that are logged.
_MAX_LOGGED = 2000
_READ = 1 << 16


class CommandFailed(Exception):
    """A command did not end as it should. The message says why."""


class CommandFetcher(Fetcher):
    """Runs a command on a schedule: its standard output is one event, or one event a line.

    An event's data is the output, its type LOGGING, its content type text/plain, its source the command. `meta` has
    `exit_status`. Output of a command that fails is an event, too, and the run is counted as
    gatherer_fetch_count{status="fail"}. Standard error is logged.

    A run begins an interval after the one before began. When a run takes longer, the next one begins at the next
    multiple of the interval: two never overlap. A run that takes longer than `timeout`, or gives more output than
    `max_size`, is killed with all processes of its group, and what it wrote is discarded.

    Example:
        CommandFetcher(command=["df", "-P"], interval="1m", lines=True)

    Attributes:
        command: The program and its arguments. No shell is involved.
        interval: Time from one run to the next one.
        timeout: Longest duration of a run.
        lines: Whether each line is an event. All lines of a run are stored together, or none.
        max_size: Bytes of output, at most; no more than max_event_size unless `lines`.
        directory: Working directory; that of the agent when None.
        environment: Variables that are set beside the agent's.
    """

    type: Literal["command"] = "command"
    command: Annotated[tuple[str, ...], Field(min_length=1)]
    interval: Annotated[Duration, Field(ge=timedelta(milliseconds=10))] = timedelta(minutes=1)
    timeout: Annotated[Duration, Field(ge=timedelta(milliseconds=10))] = timedelta(seconds=30)
    lines: bool = False
    max_size: Size = 4 << 20
    directory: Path | None = None
    environment: dict[str, str] = Field(default_factory=dict, repr=False)

    async def run(self, host: Host) -> None:
        """As `Fetcher.run`."""
        async for _ in every(self.interval):
            try:
                status, output, error = await self._execute()
            except (CommandFailed, OSError) as failure:
                host.count("fail", 1)
                host.log.warning("%s: %s", self.command[0], failure)
                continue
            if error:
                host.log.warning("%s: %s", self.command[0], error[:_MAX_LOGGED].decode("utf-8", "replace").rstrip())
            if status:
                host.count("fail", 1)
                host.log.warning("%s: exit status %d", self.command[0], status)
            try:
                await host.inbox.put(*self._events(status, output))
            except mmapqueue.Closed:
                raise
            except mmapqueue.MmapQueueError as failure:
                # Counted by the inbox.
                host.log.warning("%s: the output was not stored: %s", self.command[0], failure)

    def _events(self, status: int, output: bytes) -> list[bytes]:
        parts = output.splitlines() if self.lines else [output]
        return [
            encode(
                type=EventType.LOGGING,
                data=part,
                content_type="text/plain",
                name=Path(self.command[0]).name,
                meta={"exit_status": str(status)},
                source=" ".join(self.command),
            )
            for part in parts
        ]

    async def _execute(self) -> tuple[int, bytes, bytes]:
        process = await asyncio.create_subprocess_exec(
            *self.command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self.directory,
            env={**os.environ, **self.environment},
            start_new_session=True,
        )
        try:
            return await asyncio.wait_for(self._collect(process), self.timeout.total_seconds())
        except asyncio.TimeoutError:
            raise CommandFailed(f"killed after {self.timeout.total_seconds():g} s, its timeout") from None
        finally:
            # The group outlives its leader while one of its processes runs.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()

    async def _collect(self, process: asyncio.subprocess.Process) -> tuple[int, bytes, bytes]:
        assert process.stdout is not None
        assert process.stderr is not None
        output, error = await asyncio.gather(self._read(process.stdout), _read_first(process.stderr, _MAX_LOGGED))
        return await process.wait(), output, error

    async def _read(self, stream: asyncio.StreamReader) -> bytes:
        parts = bytearray()
        while part := await stream.read(_READ):
            parts += part
            if len(parts) > self.max_size:
                raise CommandFailed(f"killed: its output has more than {self.max_size} bytes, max_size")
        return bytes(parts)


async def _read_first(stream: asyncio.StreamReader, most: int) -> bytes:
    """The first bytes of a stream. All are read, so that the process goes on."""
    first = b""
    while part := await stream.read(_READ):
        first += part[: most - len(first)]
    return first
