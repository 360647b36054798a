"""A process that takes over from a running one: it is prepared first, so that hardly any time passes in between."""

import asyncio
import contextlib
import socket
from collections.abc import Sequence

from mmapqueue.pipeline._signals import hangups_held

_PREPARED, _GO = b"p", b"g"


async def spawn(
    command: Sequence[str], *, stdout: int | None, pass_fds: Sequence[int] = ()
) -> asyncio.subprocess.Process:
    """Starts a child in a session of its own: a Ctrl-C of the terminal reaches this process alone.

    This process passes signals on, in order. SIGHUP waits until the child has a handler.

    Raises:
        OSError: It cannot be started.
    """
    with hangups_held():
        return await asyncio.create_subprocess_exec(*command, stdout=stdout, pass_fds=pass_fds, start_new_session=True)


def await_turn(descriptor: int) -> None:
    """Says that this process is prepared, and waits until its predecessor has ended. For a process with `--successor`.

    Args:
        descriptor: The socket that the supervisor has passed.

    Raises:
        SystemExit: The supervisor needs no successor any more.
    """
    with socket.socket(fileno=descriptor) as supervisor:
        supervisor.sendall(_PREPARED)
        if supervisor.recv(1) != _GO:
            raise SystemExit(0)


class Successor:
    """The supervisor's end. Belongs to an event loop.

    Example:
        successor = await Successor.prepared(command)
        predecessor.terminate()
        await predecessor.wait()
        process = successor.go()
    """

    def __init__(self, process: asyncio.subprocess.Process, writer: asyncio.StreamWriter) -> None:
        """See `prepared`."""
        self._process = process
        self._writer = writer

    @classmethod
    async def prepared(cls, command: Sequence[str]) -> "Successor":
        """Starts a process, and waits until it is prepared.

        Args:
            command: Program and arguments. `--successor DESCRIPTOR` is added, and stdout is a pipe.

        Raises:
            OSError: It cannot be started.
            RuntimeError: It has ended before it was prepared; its log says why.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            reader, writer = await asyncio.open_connection(sock=ours)
            try:
                process = await spawn(
                    (*command, "--successor", str(theirs.fileno())),
                    stdout=asyncio.subprocess.PIPE,
                    pass_fds=[theirs.fileno()],
                )
            except OSError:
                writer.close()
                raise
        successor = cls(process, writer)
        try:
            said = await reader.read(1)
        except BaseException:
            await successor.give_up()
            raise
        if said != _PREPARED:
            writer.close()
            raise RuntimeError(f"a successor has ended with status {await process.wait()} before it was prepared")
        return successor

    def go(self) -> asyncio.subprocess.Process:
        """Lets the process go on, and returns it. It may have ended."""
        self._writer.write(_GO)
        self._writer.close()
        return self._process

    async def give_up(self) -> None:
        """Ends the process. Does nothing when it has ended."""
        self._writer.close()
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
