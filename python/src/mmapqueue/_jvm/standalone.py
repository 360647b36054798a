"""The JVM of this process, started by the first queue that is opened without Spark.

It ends with this process, even after a kill: it reads a pipe, and only this process holds the other end. The class
PythonServer of the jar is its main program.

Ctrl-C, and any other signal handler that raises, ends the start. A handler that opens a queue during the start waits
for the same JVM.
"""

import atexit
import logging
import os
import re
import secrets
import shutil
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from py4j.java_gateway import GatewayParameters, find_jar_path

from mmapqueue._jvm import finalizers, jars, lock_holders
from mmapqueue._jvm.class_archive import ClassArchive
from mmapqueue._jvm.gateway import Gateway
from mmapqueue._jvm.signals import Shield
from mmapqueue._values.errors import JarNotFound, MmapQueueError
from mmapqueue._values.logs import printing_errors

_LOG = logging.getLogger("mmapqueue.jvm")
# Silent unless the program asks for it.
_LOG.addHandler(logging.NullHandler())

_OPTIONS = [
    "-XX:-UsePerfData",
    "-Djava.awt.headless=true",
    f"-Djava.util.logging.config.file={Path(__file__).parent / 'logging.properties'}",
]
#: Options for programs that end soon: code that runs once is not worth a better compiler.
_QUICK_OPTIONS = ["-XX:TieredStopAtLevel=1", "-Dmmapqueue.jmx=false"]
#: Options for programs whose JVM only moves what Python has ready: without the second compiler and a large young
#: generation it takes a third less memory.
_SMALL_OPTIONS = ["-XX:TieredStopAtLevel=1", "-Xmn6m"]
#: The garbage collector of the smallest footprint; hardly any record stays in the heap.
_COLLECTOR = "-XX:+UseSerialGC"
#: Variables with options of every JVM. One that finds two collectors does not start.
_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
#: The main program, and the beginning of its line with the port.
_MAIN = "org.mmapqueue.bridge.PythonServer"
_READY = "mmapqueue.port="
#: The maximum time from the end of this process to that of the JVM: less than the default of lock_timeout.
_GRACE_SECONDS = 3.0
#: The same for a JVM that writes an archive of classes at its end, which this process waits for.
_EXIT_SECONDS = 10.0
#: A waiting start looks at the JVM's state this often, and at once when that changes.
_LOOK_SECONDS = 0.2
#: The lines of the JVM's output that the error of a failed start quotes.
_QUOTED_LINES = 20
_OLD_JAVA = "UnsupportedClassVersionError"
_NO_JAR = f"ClassNotFoundException: {_MAIN}"
#: Python's levels by the names of java.util.logging.
_LEVELS = {"SEVERE": logging.ERROR, "WARNING": logging.WARNING, "INFO": logging.INFO}

# Reentrant, as a signal handler may open a queue while this thread starts the JVM.
_lock = threading.RLock()
# Held while the JVM's process is started, to delay forks of other threads: a child forked then would inherit the pipe
# on which Popen waits for exec, and Popen would wait for that child's end. Reentrant, as a signal handler may fork in
# between.
_forking = threading.RLock()
# The pipes that keep the JVMs of this process alive. A forked child closes its copies, also a child that was forked
# while a JVM started.
_lifelines: set[int] = set()
_running: "_Jvm | None" = None
# Set until the start has ended. A signal handler may end the start that it interrupts.
_starting: "_Start | None" = None
# A start that no call has asked for yet.
_ahead: "_Start | None" = None
_is_quick = False
_is_small = False
#: Entries of the class path beside the jars of this package.
_further: list[str] = []
#: The JVM's heap, in MiB.
_heap = 64


def start_quickly() -> None:
    """Makes the JVM of this process start faster, if it does not run yet; its code runs slower then."""
    global _is_quick
    _is_quick = True


def start_small() -> None:
    """Makes the JVM of this process take less memory, if it does not run yet; its code runs slower then."""
    global _is_small
    _is_small = True


def start_with(class_path: list[str], heap: int) -> None:
    """Makes the JVM of this process start with more jars and at least this heap, if it does not run yet.

    Args:
        class_path: Entries as Java takes them: jars, directories of classes, `DIR/*`.
        heap: The heap in MiB.
    """
    global _heap
    with _lock:
        _further.extend(each for each in class_path if each not in _further)
        _heap = max(_heap, heap)


def has_further_jars() -> bool:
    """Whether `start_with` was given jars."""
    return bool(_further)


def jvm() -> Any:
    """The classes of the JVM. Starts the JVM if it does not run.

    Raises:
        Closed: The program is ending.
        MmapQueueError: Java is missing, or does not start.
        JarNotFound: The jars are missing.
    """
    global _running
    finalizers.check()
    with _lock:
        if _running is None or has_ended():
            _running = None
            _start_java()
        assert _running is not None
        return _running.gateway.jvm


def start_ahead(directory: str | None) -> None:
    """Starts the process of the JVM, and returns before it serves: for a program that is going to use it.

    Args:
        directory: The queue that the program is going to read: the JVM warms up with it. None for no warm-up.

    `jvm` uses that process if its settings are still those, and starts another one otherwise. An error is reported
    there, too. Does nothing if the JVM runs. For the main thread.
    """
    global _ahead
    if _running is not None or _ahead is not None:
        return
    with suppress(MmapQueueError, OSError), Shield():
        java = _java()
        class_path = _class_path()
        _ahead = _Start(java, class_path, _archive(java, class_path), directory)
        atexit.register(_abort_ahead)


def _abort_ahead() -> None:
    global _ahead
    ahead, _ahead = _ahead, None
    if ahead is not None:
        ahead.abort()


def _taken_ahead() -> "_Start | None":
    """The start ahead, if it is of these settings; otherwise aborts it."""
    global _ahead
    if _ahead is None or _ahead.settings != _settings():
        _abort_ahead()
        return None
    ahead, _ahead = _ahead, None
    return ahead


def has_ended() -> bool:
    """Whether the JVM that this process has started has ended, or is ending, which means that it was killed."""
    running = _running
    return running is not None and (running.process.poll() is not None or lock_holders.is_dead(running.process.pid))


def _start_java() -> None:
    java = _java()
    class_path = _class_path()
    ahead = _taken_ahead()
    archive = ahead.archive if ahead is not None else _archive(java, class_path)
    try:
        _start(java, class_path, archive, ahead)
    except MmapQueueError:
        if archive is None or not archive.discard():
            raise
        _start(java, class_path, None)


def _class_path() -> list[Path]:
    return [_py4j_jar(), *jars.standalone_class_path()]


def _archive(java: str, class_path: list[Path]) -> ClassArchive | None:
    # An archive is of one class path. With an archive the JVM's own log is off, which a program's options may ask for.
    if _further or (not _is_quick and any(map(os.environ.get, _VARIABLES))):
        return None
    return ClassArchive(java, class_path)


def _settings() -> tuple[object, ...]:
    return _is_quick, _is_small, _heap, *_further


def _start(java: str, class_path: list[Path], archive: ClassArchive | None, ahead: "_Start | None" = None) -> None:
    """Starts a JVM, or waits for the one that was started ahead, or that an interrupted call of this thread starts."""
    global _running, _starting
    starting: _Start | None = ahead
    try:
        with Shield():
            starting = _starting = _starting or ahead or _Start(java, class_path, archive)
        starting.await_port()
        with Shield():
            # A signal handler within this call may have been the first.
            _running = _running or starting.connected()
    except BaseException:
        if starting is not None and _running is None:
            starting.abort()
        raise
    finally:
        _starting = None


class _Start:
    """The process of a JVM until it has said that it serves."""

    def __init__(
        self, java: str, class_path: list[Path], archive: ClassArchive | None, directory: str | None = None
    ) -> None:
        chosen = [*(_QUICK_OPTIONS if _is_quick else []), *(_SMALL_OPTIONS if _is_small else [])]
        options = [*chosen, *(archive.options if archive else [])]
        grace = _EXIT_SECONDS if archive is not None and archive.is_made else _GRACE_SECONDS
        self.settings = _settings()
        self.archive = archive
        self._java = java
        # Clients must send it.
        self._token = secrets.token_hex(32)
        self._port: int | None = None
        # The last lines of the output before the start.
        self._said: deque[str] = deque(maxlen=_QUOTED_LINES)
        # Released when the output has the port, or ends: a lock alone, since a signal handler may wait within a wait.
        self._changed = threading.Lock()
        self._changed.acquire()
        with _forking:
            its_end, self.lifeline = os.pipe()
            _lifelines.add(self.lifeline)
            try:
                self.process = subprocess.Popen(
                    [
                        java,
                        f"-Xmx{_heap}m",
                        *_OPTIONS,
                        *_collector(),
                        *options,
                        f"{lock_holders.OWNER}{os.getpid()}",
                        "-cp",
                        os.pathsep.join([*map(str, class_path), *_further]),
                        _MAIN,
                        str(int(grace * 1000)),
                        *([] if directory is None else [directory]),
                    ],
                    stdin=its_end,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    encoding="utf-8",
                    errors="replace",
                    # Java decodes paths by the locale's encoding; Python uses UTF-8 in any locale.
                    env={**os.environ, "LC_ALL": "C.UTF-8"},
                    # A session of its own: a Ctrl-C in the terminal is sent to every process of the foreground group.
                    start_new_session=True,
                )
            except OSError as error:
                close_lifeline(self.lifeline)
                raise MmapQueueError(f"{java} does not start: {error}") from None
            finally:
                os.close(its_end)
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        # The JVM's output must be read: the JVM blocks once the pipe is full.
        self._readers = [
            _start_reader(self.process.stdout, self._read, self._wake),
            _start_reader(self.process.stderr, self._log(), lambda: None),
        ]
        # A JVM that has ended has closed the pipe.
        with suppress(OSError):
            os.write(self.lifeline, f"{self._token}\n".encode())

    def _read(self, line: str) -> None:
        """Takes a line of the JVM's stdout, which may also have lines of agents, and of the JVM itself."""
        if self._port is None and line.startswith(_READY):
            self._port = int(line.removeprefix(_READY))
            self._wake()
        elif line:
            self._said.append(line)
            with printing_errors():
                _LOG.debug("%s", line)

    def _log(self) -> Callable[[str], None]:
        log = _Log()

        def read(line: str) -> None:
            self._said.append(line)
            log(line)

        return read

    def _wake(self) -> None:
        with suppress(RuntimeError):  # It was released already.
            self._changed.release()

    def await_port(self) -> None:
        """Waits until the JVM serves.

        Raises:
            MmapQueueError: The JVM has ended.
            JarNotFound: The class path has no jar of mmapqueue.
        """
        while self._port is None and self._readers[0].is_alive():
            # The flags are read again after each wait: a signal handler within this one may have taken the lock.
            self._changed.acquire(timeout=_LOOK_SECONDS)
        if self._port is None:
            raise self._failure()

    def connected(self) -> "_Jvm":
        """The connection, after `await_port`."""
        assert self._port is not None
        return _Jvm(self.process, self.lifeline, self._readers, self._port, self._token, self.archive)

    def _failure(self) -> MmapQueueError:
        self.abort()
        said = " ".join(self._said)
        if _OLD_JAVA in said:
            return MmapQueueError(f"Java 17 or newer is needed, and {self._java} is older: {said}")
        if _NO_JAR in said:
            return JarNotFound(f"the JVM does not have the jar of mmapqueue on its class path; {jars.how_to_add()}")
        return MmapQueueError(f"{self._java} did not start a JVM: {said or 'it ended without output'}")

    def abort(self) -> None:
        """Ends the JVM, and waits for it. Does nothing when repeated."""
        with Shield():
            close_lifeline(self.lifeline)
            if self.process.returncode is None:
                # The whole session: `java` may be a script that has started the JVM.
                with suppress(ProcessLookupError):
                    os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            for reader in self._readers:
                reader.join(_EXIT_SECONDS)


class _Jvm:
    """The process of a JVM that serves, and the connection to it."""

    def __init__(
        self,
        process: "subprocess.Popen[str]",
        lifeline: int,
        readers: list[threading.Thread],
        port: int,
        token: str,
        archive: ClassArchive | None,
    ) -> None:
        self.process = process
        self.lifeline = lifeline
        self.readers = readers
        self.archive = archive
        self.gateway = Gateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
        atexit.register(self.end, os.getpid())

    def end(self, pid: int) -> None:
        """Ends the JVM and waits for it, in the process that has started it."""
        if pid != os.getpid():
            return
        finalizers.close_all()
        # From here on, py4j does not report collected objects to the JVM.
        self.gateway._gateway_client.is_connected = False
        self.gateway.close(keep_callback_server=True)
        if (_is_quick or _is_small) and self.archive is not None and not self.archive.is_made:
            # All queues are closed. An orderly exit would wait some 0.3 s for threads of the JVM that read from
            # sockets.
            self.process.kill()
        close_lifeline(self.lifeline)
        try:
            self.process.wait(_EXIT_SECONDS)
            if self.archive is not None and self.process.returncode == 0:
                self.archive.keep()
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for reader in self.readers:
            reader.join()

    def abandon(self) -> None:
        """Closes the copies of the connections in a forked child, and sends nothing to the JVM."""
        self.process.returncode = 0  # It is not a child of this process.
        client = self.gateway._gateway_client
        client.is_connected = False  # Otherwise collected objects are reported over the parent's connections.
        for connection in client.deque:
            # Closes the descriptor alone: py4j would shut the connection down, for the parent too.
            os.close(connection.socket.detach())


def close_lifeline(lifeline: int) -> None:
    """Closes this process's end of the pipe that keeps a JVM alive. Does nothing when repeated."""
    with _forking:
        if lifeline in _lifelines:
            _lifelines.remove(lifeline)
            os.close(lifeline)


class _Log:
    """Forwards the JVM's log. A line without a level has the level of the line before."""

    def __init__(self) -> None:
        self._level = logging.INFO

    def __call__(self, line: str) -> None:
        first, _, rest = line.partition(" ")
        level = _LEVELS.get(first)
        if level is not None:
            self._level, line = level, rest
        with printing_errors():
            _LOG.log(self._level, "%s", line)


def _start_reader(stream: IO[str], sink: Callable[[str], None], end: Callable[[], None]) -> threading.Thread:
    """Starts a thread that passes lines to a sink, and calls another function at the end of the stream."""

    def read() -> None:
        with stream:
            for line in stream:
                sink(line.rstrip())
        end()

    reader = threading.Thread(target=read, name="mmapqueue-jvm-output", daemon=True)
    reader.start()
    return reader


def _collector() -> list[str]:
    chosen = any(re.search(r"-XX:\+Use\w+GC\b", os.environ.get(name, "")) for name in _VARIABLES)
    return [] if chosen else [_COLLECTOR]


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    if home:
        java = shutil.which("java", path=str(Path(home) / "bin"))
        if java is None:
            raise MmapQueueError(f"JAVA_HOME is {home}, and its bin has no java; Java 17 or newer is needed")
        return java
    java = shutil.which("java")
    if java is None:
        raise MmapQueueError("PATH has no java, and JAVA_HOME is not set; Java 17 or newer is needed")
    return java


def _py4j_jar() -> Path:
    """The jar of the Python package py4j, so that both ends of a connection are of one version."""
    found = find_jar_path()
    if not found:
        raise MmapQueueError("py4j's jar is not where pip puts it (share/py4j): install py4j with pip")
    return Path(found).resolve()


def _after_fork_in_child() -> None:
    """Abandons the JVM in a forked child, which must neither keep it alive by the pipe's copy nor call it."""
    global _lock, _running, _starting, _ahead
    _forking.release()
    while _lifelines:
        os.close(_lifelines.pop())
    _lock = threading.RLock()
    _starting = _ahead = None
    if _running is not None:
        _running.abandon()
        _running = None


os.register_at_fork(before=_forking.acquire, after_in_parent=_forking.release, after_in_child=_after_fork_in_child)
