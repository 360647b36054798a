"""Requests to running processes: to reload, by SIGHUP, `mmapqueue reload` or a changed file; to restart children."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import select
import socket
import struct
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_LOG = logging.getLogger("mmapqueue.pipeline.reload")
#: Seconds between two looks at a watched file.
_LOOK_SECONDS = 1.0
#: Seconds for which a client may keep the thread waiting.
_CLIENT_SECONDS = 10.0
_PEER = struct.Struct("3i")


class Outcome(NamedTuple):
    """What became of a request.

    Attributes:
        pid: The process.
        errors: Why nothing has changed, in lines; empty after a success.
    """

    pid: int
    errors: list[str]


class Answer(NamedTuple):
    """What a process answers to one of its other requests.

    Attributes:
        pid: The process.
        value: The value, of those that JSON has; None after an error.
        error: The error; None after a success.
    """

    pid: int
    value: Any
    error: str | None


def _address(role: str, file: str) -> str:
    """The abstract socket of a process: it needs no file, and is gone with the process."""
    digest = hashlib.sha256(os.path.realpath(file).encode()).hexdigest()[:32]
    return f"\0mmapqueue-{role}-{digest}"


def ask(role: str, file: str) -> Outcome | None:
    """Has the process of a role and a configuration file reload, or restart its children; None when there is none.

    Args:
        role: `gather`, `gather-<partition>` or `process`, which reload; `supervisor`, which restarts.
        file: The configuration file.

    Raises:
        PermissionError: The process belongs to another user.
        OSError: The process has ended meanwhile.
    """
    found = _exchanged(role, file, {})
    return None if found is None else Outcome(**found)


def call(role: str, file: str, request: str, **arguments: Any) -> Answer | None:
    """Makes another request of a process; None when there is no process. As `ask` otherwise.

    Args:
        role: As in `ask`.
        file: The configuration file.
        request: One of the `others` of its control; or `check`, which answers why it would not reload, in lines.
        **arguments: Of values that JSON has.
    """
    found = _exchanged(role, file, {"request": request, "arguments": arguments})
    return None if found is None else Answer(**found)


def _exchanged(role: str, file: str, request: Mapping[str, Any]) -> dict[str, Any] | None:
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(_address(role, file))
        except ConnectionRefusedError:
            return None
        if not _trusted(connection):
            raise PermissionError(f"{role} of {file} belongs to another user")
        line = b""
        with contextlib.suppress(ConnectionResetError, BrokenPipeError), connection.makefile("rwb") as stream:
            stream.write(json.dumps(request).encode() + b"\n")
            stream.flush()
            line = stream.readline()
    if not line:
        raise ConnectionAbortedError(f"{role} of {file} has ended")
    found: dict[str, Any] = json.loads(line)
    return found


def _trusted(connection: socket.socket) -> bool:
    """Whether the other side is of this user, or of root."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    return _PEER.unpack(credentials)[1] in (0, os.geteuid()) or os.geteuid() == 0


class Control:
    """Waits for requests, and serves one after the other in a thread of its own. `request` is thread-safe.

    Example:
        with Control("gather", "shop.yaml", reload) as control:
            signal.signal(signal.SIGHUP, lambda *_: control.request())

    Args:
        role: As in `ask`.
        file: The configuration file.
        reload: Does what is asked for. Raises an exception when it has failed.
        what: The name of that in the log.
        watched: The files whose changes ask for a reload; None for none.
        noted: Called with whether it has succeeded, each time.
        check: Raises what a reload would raise before it changes anything.
        others: Other requests by their names. They return a value that JSON has, or raise.
    """

    def __init__(
        self,
        role: str,
        file: str,
        reload: Callable[[], None],
        *,
        what: str = "reload",
        watched: Callable[[], Iterable[Path]] | None = None,
        noted: Callable[[bool], None] = lambda _: None,
        check: Callable[[], object] = lambda: None,
        others: Mapping[str, Callable[..., Any]] | None = None,
    ) -> None:
        self._role = role
        self._others = {"check": lambda: self._failure(check), **(others or {})}
        self._file = file
        self._reload = reload
        self._what = what
        self._watched = watched
        self._noted = noted
        self._ended = False
        #: What the watched files looked like before they were read last.
        self._seen: dict[Path, Any] = {}
        self._wakes, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        self._listener: socket.socket | None = None
        self._thread = threading.Thread(target=self._serve, name="control", daemon=True)

    def __enter__(self) -> Control:
        """Starts to wait."""
        listener = socket.socket(socket.AF_UNIX)
        try:
            listener.bind(_address(self._role, self._file))
            listener.listen()
            self._listener = listener
        except OSError as error:
            listener.close()
            # Not needed for events: another process of this file runs, which has another queue.
            _LOG.warning("%s of %s: `mmapqueue reload` reaches another process: %s", self._role, self._file, error)
        self._seen = self._state()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stops waiting. A reload that has begun is not waited for."""
        self._ended = True
        self.request()
        if self._listener is not None:
            # At once, also while the thread waits for connections.
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()

    def request(self) -> None:
        """Asks for a reload, and returns before it. Safe in a signal handler."""
        with contextlib.suppress(BlockingIOError):  # Enough are asked for.
            os.write(self._wake, b"r")

    def _serve(self) -> None:
        changed: Any = None
        waited: list[Any] = [self._wakes, *([self._listener] if self._listener is not None else [])]
        while True:
            try:
                ready, _, _ = select.select(waited, (), (), None if self._watched is None else _LOOK_SECONDS)
            except (OSError, ValueError):  # The listener is closed.
                return
            if self._ended:
                return
            if self._wakes in ready:
                os.read(self._wakes, 4096)
                self.run()
            elif ready:
                self._answer()
            else:
                # A file that is being written changes until the next look.
                now = self._state()
                if now not in (self._seen, changed):
                    changed = now
                elif now == changed:
                    changed = None
                    self.run()

    def _answer(self) -> None:
        assert self._listener is not None
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        with connection:
            if not _trusted(connection):
                return
            connection.settimeout(_CLIENT_SECONDS)
            try:
                with connection.makefile("rb") as stream:
                    request = json.loads(stream.readline())
                outcome = self._called(**request) if request else self.run()
                connection.sendall(json.dumps(outcome._asdict()).encode() + b"\n")
            except (OSError, ValueError) as error:
                _LOG.debug("the client of a request has gone: %s", error)

    def _called(self, request: str, arguments: Mapping[str, Any]) -> Answer:
        try:
            return Answer(os.getpid(), self._others[request](**arguments), None)
        except Exception as error:  # Nothing of it may end the process.
            return Answer(os.getpid(), None, f"{type(error).__name__}: {error}")

    def run(self) -> Outcome:
        """Reloads; notes and logs the outcome."""
        started = time.monotonic()
        before = self._state()
        errors = self._failure(self._reload)
        if not errors:
            _LOG.info("%s of %s: done in %.1f s", self._what, self._file, time.monotonic() - started)
            self._noted(True)  # noqa: FBT003
        # A file that has changed meanwhile may have been read before; one that is new was not looked at before.
        self._seen = {file: before.get(file, look) for file, look in self._state().items()}
        return Outcome(os.getpid(), errors)

    def _failure(self, work: Callable[[], object]) -> list[str]:
        """Does a part of a reload; why it has failed, in lines, which are noted and logged."""
        try:
            work()
        except Exception as error:  # Plugins may raise anything; nothing of it may end the process.
            errors = str(error).splitlines() or [type(error).__name__]
            for line in errors:
                _LOG.error("%s: %s", self._what, line)
            _LOG.error("%s of %s has failed", self._what, self._file)
            self._noted(False)  # noqa: FBT003
            return errors
        return []

    def _state(self) -> dict[Path, Any]:
        """What the watched files look like."""
        return {each: _look(each) for each in (self._watched() if self._watched is not None else ())}


def _look(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
