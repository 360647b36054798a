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
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

_LOG = logging.getLogger("mmapqueue.pipeline.reload")
#: Seconds between two looks at a watched file.
_LOOK_SECONDS = 1.0
#: Seconds for which a client may keep the thread waiting.
_CLIENT_SECONDS = 10.0
#: Seconds for which a process that is prepared for a reload waits for the others.
_DECISION_SECONDS = 300.0
_COMMIT = b"commit\n"
_PEER = struct.Struct("3i")
_PREPARE = json.dumps({"request": "prepare", "arguments": {}}).encode() + b"\n"


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


def gather_roles(processes: int) -> list[str]:
    """The roles of so many gathering processes."""
    return ["gather"] if processes == 1 else [f"gather-{partition}" for partition in range(processes)]


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
    return None if found is None else _answer(found, request)


def _answer(found: dict[str, Any], request: str) -> Answer:
    answer = Answer(**found)
    if answer.error == f"KeyError: {request!r}":
        return answer._replace(error="this process runs an older version of mmapqueue; restart it")
    return answer


def _exchanged(role: str, file: str, request: Mapping[str, Any]) -> dict[str, Any] | None:
    with contextlib.ExitStack() as stack:
        peer = _Peer.connected(role, file, stack)
        return None if peer is None else peer.exchange(json.dumps(request).encode() + b"\n")


class _Peer(NamedTuple):
    """A connection to a process."""

    role: str
    file: str
    connection: socket.socket
    stream: Any

    @classmethod
    def connected(cls, role: str, file: str, stack: contextlib.ExitStack) -> _Peer | None:
        """The connection, which the stack closes; None when there is no process."""
        connection = stack.enter_context(socket.socket(socket.AF_UNIX))
        try:
            connection.connect(_address(role, file))
        except ConnectionRefusedError:
            return None
        if not _trusted(connection):
            raise PermissionError(f"{role} of {file} belongs to another user")
        return cls(role, file, connection, stack.enter_context(connection.makefile("rb")))

    def exchange(self, line: bytes) -> dict[str, Any]:
        """Sends a line; the answer. Nothing sent ends the conversation."""
        self.send(line)
        return self.read()

    def send(self, line: bytes) -> None:
        # An end of the process is the missing answer.
        with contextlib.suppress(OSError):
            if line:
                self.connection.sendall(line)
            else:
                self.connection.shutdown(socket.SHUT_WR)

    def read(self) -> dict[str, Any]:
        line = b""
        with contextlib.suppress(ConnectionResetError):
            line = self.stream.readline()
        if not line:
            raise ConnectionAbortedError(f"{self.role} of {self.file} has ended")
        found: dict[str, Any] = json.loads(line)
        return found


class Reloaded(NamedTuple):
    """What became of a reload of several processes.

    Attributes:
        changed: The processes that have changed, by role.
        failed: Those that have not, and why. When one fails before the first has changed, none changes.
        broken: Those that cannot serve all that they served before a reload that failed, and why.
        lost: Those that have ended in the last step. They read the file when they start again.
        running: The roles of all that were asked.
    """

    changed: dict[str, int]
    failed: dict[str, Outcome]
    broken: dict[str, Outcome]
    lost: list[str]
    running: list[str]

    def said(self) -> Iterator[str]:
        """What an operator has to know of what has not succeeded, in lines."""
        for role, (pid, errors) in self.failed.items():
            yield from errors
            yield f"{role} (process {pid}): nothing has changed"
        for role, (pid, errors) in self.broken.items():
            yield from errors
            yield f"{role} (process {pid}): does not serve all that it served before; restart it"
        for role in self.lost:
            yield f"{role}: has ended during the reload, and reads the file when it starts again"
        if self.failed and self.changed:
            yield f"{', '.join(self.changed)}: took the new configuration; reload again when the others can take it"
        elif self.failed and len(self.running) > 1:
            yield f"no process has changed: {', '.join(self.running)}"


def reload_together(roles: Iterable[str], file: str) -> Reloaded:
    """Has the processes of a file reload: all of them, or none.

    All check the file; then each opens what is new, one after the other; then all change, side by side. When one
    fails before the last step, those that have opened something close it again.

    Raises:
        OSError: As `ask`; no process has changed.
    """
    found = {role: call(role, file, "check") for role in roles}
    checked = {role: answer for role, answer in found.items() if answer is not None}
    running = list(checked)
    outcomes = {role: Outcome(answer.pid, _errors(answer)) for role, answer in checked.items() if _errors(answer)}
    if outcomes:
        return Reloaded({}, outcomes, {}, [], running)
    with contextlib.ExitStack() as stack:
        prepared: dict[str, _Peer] = {}
        for role in running:
            peer = _Peer.connected(role, file, stack)
            if peer is None:  # It has ended meanwhile, and reads the file when it starts again.
                continue
            answer = _answer(peer.exchange(_PREPARE), "prepare")
            errors = _errors(answer)
            if errors:
                return Reloaded({}, {role: Outcome(answer.pid, errors)}, _given_up(prepared), [], running)
            prepared[role] = peer
        for peer in prepared.values():
            peer.send(_COMMIT)
        changed, lost = {}, []
        for role, peer in prepared.items():
            try:
                outcome = Outcome(**peer.read())
            except ConnectionAbortedError:
                lost.append(role)
                continue
            if outcome.errors:
                outcomes[role] = outcome
            else:
                changed[role] = outcome.pid
        return Reloaded(changed, outcomes, {}, lost, running)


def _errors(answer: Answer) -> list[str]:
    """What a process says against a file, in lines."""
    errors: list[str] = answer.value if answer.error is None else [answer.error]
    return errors


def _given_up(prepared: Mapping[str, _Peer]) -> dict[str, Outcome]:
    """Has processes close what they have opened, and waits for that; returns those that cannot."""
    for peer in prepared.values():
        peer.send(b"")
    broken = {}
    for role, peer in prepared.items():
        with contextlib.suppress(ConnectionAbortedError):
            outcome = Outcome(**peer.read())
            if outcome.errors:
                broken[role] = outcome
    return broken


def _trusted(connection: socket.socket) -> bool:
    """Whether the other side is of this user, or of root."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    return _PEER.unpack(credentials)[1] in (0, os.geteuid()) or os.geteuid() == 0


class Control:
    """Waits for requests, and serves one after the other in a thread of its own. `request` is thread-safe.

    Example:
        with Control("gather", "shop.yaml", prepared) as control:
            signal.signal(signal.SIGHUP, lambda *_: control.request())

    Args:
        role: As in `ask`.
        file: The configuration file.
        prepared: Prepares a reload, does it by the function that it yields, and goes back at its exit when that was
            not called. Raises an exception when it has failed.
        watched: The files whose changes ask for a reload; None for none.
        noted: Called with whether a reload has succeeded, each time.
        check: Raises what a reload would raise before it changes anything.
        restart: What `ask` asks for, in place of a reload.
        others: Other requests by their names. They return a value that JSON has, or raise.
    """

    def __init__(
        self,
        role: str,
        file: str,
        prepared: Callable[[], contextlib.AbstractContextManager[Callable[[], object]]],
        *,
        watched: Callable[[], Iterable[Path]] | None = None,
        noted: Callable[[bool], None] = lambda _: None,
        check: Callable[[], object] = lambda: None,
        restart: Callable[[], object] | None = None,
        others: Mapping[str, Callable[..., Any]] | None = None,
    ) -> None:
        self._role = role
        self._others = {"check": lambda: self._failure("reload", check), **(others or {})}
        self._file = file
        self._prepared = prepared
        self._restart = restart
        self._watched = watched
        self._noted = noted
        self._ended = False
        self._stopping = False
        #: The client that says whether a reload that is prepared is done.
        self._deciding: socket.socket | None = None
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
        # Not `select`, which takes no descriptor above 1023: there are others for all clients.
        poll = select.poll()
        poll.register(self._wakes, select.POLLIN)
        if self._listener is not None:
            poll.register(self._listener, select.POLLIN)
        while True:
            ready = [file for file, _ in poll.poll(None if self._watched is None else _LOOK_SECONDS * 1000)]
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
                    if request.get("request") == "prepare":
                        self._reload_with_others(connection, stream)
                    elif request:
                        _send(connection, self._called(**request))
                    else:
                        _send(connection, self.run() if self._restart is None else self._done("restart", self._restart))
            except (OSError, ValueError) as error:
                _LOG.debug("the client of a request has gone: %s", error)

    def _called(self, request: str, arguments: Mapping[str, Any]) -> Answer:
        try:
            return Answer(os.getpid(), self._others[request](**arguments), None)
        except Exception as error:  # Nothing of it may end the process.
            return Answer(os.getpid(), None, f"{type(error).__name__}: {error}")

    def _reload_with_others(self, connection: socket.socket, stream: BinaryIO) -> None:
        """Prepares a reload, and does it when the client says so. Goes back when the client ends before."""
        before = self._state()
        with contextlib.ExitStack() as prepared:
            done: list[Callable[[], object]] = []
            errors = self._failure("reload", lambda: done.append(prepared.enter_context(self._prepared())))
            said: bytes | None = None
            with contextlib.suppress(OSError):  # The client has gone, or says nothing for too long.
                _send(connection, Answer(os.getpid(), errors, None))
                said = None if errors else self._decision(connection, stream)
            if said == _COMMIT:
                outcome = self._done("reload", done[0])
            elif not errors:
                outcome = Outcome(os.getpid(), self._failure("reload", prepared.close))
                if not outcome.errors:
                    why = "another process cannot take the file" if said is not None else "its command has ended"
                    why = "this one stops" if self._stopping else why
                    _LOG.error("%s: reload of %s is given up: %s", self._role, self._file, why)
                    self._noted(False)  # noqa: FBT003
        self._note_seen(before)
        if said is not None:
            _send(connection, outcome)

    def _decision(self, connection: socket.socket, stream: BinaryIO) -> bytes | None:
        """What the client says when all are prepared, nothing when it gives up; None when this process stops."""
        connection.settimeout(_DECISION_SECONDS)
        self._deciding = connection
        try:
            said = None if self._stopping else stream.readline()
        finally:
            self._deciding = None
        return said or (None if self._stopping else said)

    def give_up(self) -> None:
        """Has a reload that waits for other processes go back. For a process that stops."""
        self._stopping = True
        waiting = self._deciding
        if waiting is not None:
            with contextlib.suppress(OSError):
                waiting.shutdown(socket.SHUT_RD)

    def run(self) -> Outcome:
        """Reloads; notes and logs the outcome."""

        def reload() -> None:
            with self._prepared() as do:
                do()

        before = self._state()
        outcome = self._done("reload", reload)
        self._note_seen(before)
        return outcome

    def _note_seen(self, before: dict[Path, Any]) -> None:
        # A file that has changed meanwhile may have been read before; one that is new was not looked at before.
        self._seen = {file: before.get(file, look) for file, look in self._state().items()}

    def _done(self, what: str, work: Callable[[], object]) -> Outcome:
        started = time.monotonic()
        errors = self._failure(what, work)
        if not errors:
            seconds = time.monotonic() - started
            _LOG.info("%s: %s of %s: done in %.1f s", self._role, what, self._file, seconds)
            self._noted(True)  # noqa: FBT003
        return Outcome(os.getpid(), errors)

    def _failure(self, what: str, work: Callable[[], object]) -> list[str]:
        """Does a part of a reload or a restart; why it has failed, in lines, which are noted and logged."""
        try:
            work()
        except Exception as error:  # Plugins may raise anything; nothing of it may end the process.
            errors = str(error).splitlines() or [type(error).__name__]
            for line in errors:
                _LOG.error("%s: %s: %s", self._role, what, line)
            _LOG.error("%s: %s of %s has failed", self._role, what, self._file)
            self._noted(False)  # noqa: FBT003
            return errors
        return []

    def _state(self) -> dict[Path, Any]:
        """What the watched files look like."""
        return {each: _look(each) for each in (self._watched() if self._watched is not None else ())}


def _send(connection: socket.socket, said: Outcome | Answer) -> None:
    connection.sendall(json.dumps(said._asdict()).encode() + b"\n")


def _look(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
