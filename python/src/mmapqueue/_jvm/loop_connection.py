"""A connection to the JVM whose answers an event loop receives: a call neither blocks nor needs a thread."""

import asyncio
from collections.abc import Callable

from mmapqueue._jvm.calls import Call

_MOST_BYTES = 1 << 16


class LoopConnection:
    """Sends calls, one at a time. Belongs to an event loop once `listen` was called."""

    def __init__(self, call: Call) -> None:
        """Connects, and blocks until the JVM has accepted the connection.

        Args:
            call: The method that this connection calls; of numbers, and with a number as its answer.
        """
        self._call = call
        self._connection = call.connect()
        self._socket = self._connection.socket
        self._socket.settimeout(0)
        self._received = b""
        self._answered: Callable[[int | None], None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def listen(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begins to receive answers on a loop."""
        self._loop = loop
        loop.add_reader(self._socket, self._read)

    def send(self, answered: Callable[[int | None], None], *arguments: int) -> None:
        """Calls the method.

        Args:
            answered: Gets the answer, on the loop and after this call has returned; None if the method has failed, or
                the connection is broken.
            arguments: Those of the method.
        """
        assert self._answered is None, "the last call has no answer yet"
        assert self._loop is not None
        self._answered = answered
        command = self._call.command(*arguments)
        try:
            sent = self._socket.send(command)
        except OSError:
            sent = 0
        if sent < len(command):  # Never for want of room, as one short command is on its way at a time.
            self._loop.call_soon(self._fail)

    @property
    def is_broken(self) -> bool:
        """Whether no further call can be sent."""
        return self._loop is None

    def _read(self) -> None:
        try:
            received = self._socket.recv(_MOST_BYTES)
        except BlockingIOError:
            return
        except OSError:
            received = b""
        if not received:
            self._fail()
            return
        self._received += received
        if self._received.endswith(b"\n"):
            answer, self._received = self._received.decode()[1:].strip(), b""
            self._end(self._call.number(answer))

    # The JVM may have the call, or a part of it: no other call can follow.
    def _fail(self) -> None:
        self._break()
        self._end(None)

    def _end(self, number: int | None) -> None:
        answered, self._answered = self._answered, None
        if answered is not None:
            answered(number)

    def _break(self) -> None:
        if self._loop is not None:
            self._loop.remove_reader(self._socket)
            self._loop = None

    def close(self) -> None:
        """Ends the connection; a call without an answer gets none."""
        self._break()
        self._answered = None
        self._connection.close()
