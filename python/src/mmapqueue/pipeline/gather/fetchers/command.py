"""Fetcher of commands' output."""

import asyncio
import os
import signal
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

import mmapqueue
from mmapqueue.pipeline._event import encode
from mmapqueue.pipeline._timeout import timeout
from mmapqueue.pipeline.config._refused import Refused
from mmapqueue.pipeline.event_pb2 import EventType
from mmapqueue.pipeline.gather.fetchers._period import every
from mmapqueue.pipeline.plugins import Duration, Fetcher, Host, NonEmptyPath, Size

#: The maximum number of bytes of standard error that are logged.
_MAX_LOGGED = 2000


class CommandFailed(Exception):
    """A command has failed. The message has the reason."""


def _program(command: tuple[str, ...]) -> tuple[str, ...]:
    if not command[0]:
        raise Refused("'' is invalid; allowed: at least 1 character", 0)
    return command


class CommandFetcher(Fetcher):
    """Runs a command on a schedule: its standard output is one event, or one event a line.

    An event's data is the output, its type LOGGING, its content type text/plain, its source the command. `meta` has
    `exit_status`. Output of a command that fails is an event, too, and the run is counted as
    gatherer_fetch_count{status="fail"}. Standard error is logged.

    A run begins one interval after the previous run began. When a run takes longer, the next one begins at the next
    multiple of the interval, so that runs never overlap. A run that takes longer than `timeout`, or writes more than
    `max_size`, is killed with all processes of its group, and its output is discarded.

    Example:
        CommandFetcher(command=["df", "-P"], interval="1m", lines=True)

    Attributes:
        command: The program and its arguments. No shell is involved.
        interval: Time from one run to the next one.
        timeout: Longest duration of a run.
        lines: Whether each line is an event. All lines of a run are stored together, or none.
        max_size: The maximum number of bytes of output; at most max_event_size unless `lines`.
        directory: Working directory; that of the agent when None.
        environment: Variables that are set in addition to the agent's.
    """

    type: Literal["command"] = "command"
    command: Annotated[tuple[str, ...], Field(min_length=1), AfterValidator(_program)]
    interval: Annotated[Duration, Field(ge=timedelta(milliseconds=10))] = timedelta(minutes=1)
    timeout: Annotated[Duration, Field(ge=timedelta(milliseconds=10))] = timedelta(seconds=30)
    lines: bool = False
    max_size: Size = 4 << 20
    directory: NonEmptyPath | None = None
    environment: dict[str, str] = Field(default_factory=dict, repr=False)

    @property
    def makes(self) -> tuple[str, ...] | None:
        """As `Source.makes`."""
        return ("text/plain",)

    async def run(self, host: Host) -> None:
        """As `Fetcher.run`."""
        async for _ in every(self.interval):
            try:
                status, output, error = await self._execute()
            except (CommandFailed, OSError, ValueError) as failure:
                host.count("fail", 1)
                host.log.warning("%s: %s", self.command[0], failure)
                continue
            if error:
                host.log.warning("%s: %s", self.command[0], error.decode("utf-8", "replace").rstrip())
            if status:
                host.count("fail", 1)
                host.log.warning("%s: exit status %d", self.command[0], status)
            try:
                await host.inbox.put(*self._events(status, output))
            except mmapqueue.Closed:
                raise
            except mmapqueue.MmapQueueError as failure:
                # The inbox has counted the failure.
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
        transport, run = await asyncio.get_running_loop().subprocess_exec(
            lambda: _Run(self.max_size),
            *self.command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self.directory,
            env={**os.environ, **self.environment},
            start_new_session=True,
        )
        try:
            async with timeout(self.timeout.total_seconds()):
                await run.ended
        except asyncio.TimeoutError:
            raise CommandFailed(f"killed after timeout = {self.timeout.total_seconds():g} s") from None
        finally:
            # The group outlives its leader while one of its processes runs.
            with suppress(ProcessLookupError):
                os.killpg(transport.get_pid(), signal.SIGKILL)
            await run.exited
            transport.close()
        return transport.get_returncode() or 0, bytes(run.output), bytes(run.error)


class _Run(asyncio.SubprocessProtocol):
    """The output of a process.

    Attributes:
        output: The standard output.
        error: The first bytes of the standard error.
        ended: Done when the process has ended and its output is closed. Raises CommandFailed for too much output.
        exited: Done when the process has ended.
    """

    def __init__(self, max_size: int) -> None:
        self.output = bytearray()
        self.error = bytearray()
        self._max_size = max_size
        loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = loop.create_future()
        self.exited: asyncio.Future[None] = loop.create_future()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd != 1:
            self.error += data[: _MAX_LOGGED - len(self.error)]
        elif len(self.output) + len(data) <= self._max_size:
            self.output += data
        elif not self.ended.done():
            self.ended.set_exception(CommandFailed(f"killed: its output exceeds max_size = {self._max_size} bytes"))

    def process_exited(self) -> None:
        self.exited.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        if not self.ended.done():
            self.ended.set_result(None)
