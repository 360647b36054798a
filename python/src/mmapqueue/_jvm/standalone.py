"""The JVM of this process, started by the first queue that is opened without Spark.

It ends with this process, even after a kill: it reads a pipe, and only this process holds the other end.
"""

import atexit
import logging
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from py4j.java_gateway import GatewayParameters, find_jar_path

from mmapqueue._jvm import finalizers, jars, lock_holders
from mmapqueue._jvm.class_archive import ClassArchive
from mmapqueue._jvm.gateway import Gateway
from mmapqueue._values.errors import MmapQueueError

_LOG = logging.getLogger("mmapqueue.jvm")

_OPTIONS = [
    "-XX:-UsePerfData",
    "-Djava.awt.headless=true",
    f"-Djava.util.logging.config.file={Path(__file__).parent / 'logging.properties'}",
]
#: Options for programs that end soon: code that runs once is not worth a better compiler.
_QUICK_OPTIONS = ["-XX:TieredStopAtLevel=1", "-Dmmapqueue.jmx=false"]
#: The garbage collector of the smallest footprint; hardly any record stays in the heap.
_COLLECTOR = "-XX:+UseSerialGC"
#: Variables with options of every JVM. One that finds two collectors does not start.
_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
_EXIT_SECONDS = 10.0
#: Python's levels by the names of java.util.logging.
_LEVELS = {"SEVERE": logging.ERROR, "WARNING": logging.WARNING, "INFO": logging.INFO}

_lock = threading.Lock()
# Held while the JVM's process is started, to delay forks of other threads: a child forked then would inherit the pipe
# on which Popen waits for exec, and Popen would wait for that child's end. Reentrant, as a signal handler may fork in
# between.
_forking = threading.RLock()
# The pipes that keep the JVMs of this process alive. A forked child closes its copies, also a child that was forked
# while a JVM started.
_lifelines: set[int] = set()
_running: "_Jvm | None" = None
_is_quick = False
#: Entries of the class path beside the jars of this package.
_further: list[str] = []
#: The JVM's heap, in MiB.
_heap = 64


def start_quickly() -> None:
    """Makes the JVM of this process start faster, if it does not run yet; its code runs slower then."""
    global _is_quick
    _is_quick = True


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
        if _running is None or _running.process.poll() is not None:
            _running = _started()
        return _running.gateway.jvm


def has_ended() -> bool:
    """Whether the JVM that this process has started has ended, which means that it was killed."""
    running = _running
    return running is not None and running.process.poll() is not None


def _started() -> "_Jvm":
    java = _java()
    class_path = [_py4j_jar(), *jars.standalone_class_path()]
    if not _is_quick or _further:
        return _Jvm(java, class_path)
    archive = ClassArchive(java, class_path)
    try:
        return _Jvm(java, class_path, archive)
    except MmapQueueError:
        if not archive.discard():
            raise
        return _Jvm(java, class_path)


class _Jvm:
    """The process of a JVM, and the connection to it."""

    def __init__(self, java: str, class_path: list[Path], archive: ClassArchive | None = None) -> None:
        self.archive = archive
        quick = [] if archive is None else [*_QUICK_OPTIONS, *archive.options]
        # Listens on any free port of the loopback device. Clients must send the token.
        gateway = ["py4j.GatewayServer", "--die-on-broken-pipe", "--enable-auth", "0"]
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
                        *quick,
                        f"{lock_holders.OWNER}{os.getpid()}",
                        "-cp",
                        os.pathsep.join([*map(str, class_path), *_further]),
                        *gateway,
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
                self._close_lifeline()
                raise MmapQueueError(f"{java} does not start: {error}") from None
            finally:
                os.close(its_end)
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        port, token = self.process.stdout.readline().strip(), self.process.stdout.readline().strip()
        if not port.isdigit() or not token:
            self._close_lifeline()
            self.process.kill()
            said = f"{port} {token} {self.process.communicate()[1]}".strip()
            raise MmapQueueError(f"{java} did not start a JVM: {said or 'it ended without output'}")
        # The JVM's output must be read: the JVM blocks once the pipe is full.
        self.readers = [_start_reader(self.process.stdout, _LOG.debug), _start_reader(self.process.stderr, _Log())]
        self.gateway = Gateway(gateway_parameters=GatewayParameters(port=int(port), auth_token=token))
        atexit.register(self.end, os.getpid())

    def end(self, pid: int) -> None:
        """Ends the JVM and waits for it, in the process that has started it."""
        if pid != os.getpid():
            return
        finalizers.close_all()
        # From here on, py4j does not report collected objects to the JVM.
        self.gateway._gateway_client.is_connected = False
        self.gateway.close(keep_callback_server=True)
        if self.archive is not None and not self.archive.is_made:
            # All queues are closed. An orderly exit would wait some 0.3 s for threads of the JVM that read from
            # sockets.
            self.process.kill()
        self._close_lifeline()
        try:
            self.process.wait(_EXIT_SECONDS)
            if self.archive is not None and self.process.returncode == 0:
                self.archive.keep()
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for reader in self.readers:
            reader.join()

    def _close_lifeline(self) -> None:
        with _forking:
            _lifelines.remove(self.lifeline)
            os.close(self.lifeline)

    def abandon(self) -> None:
        """Closes the copies of the connections in a forked child, and sends nothing to the JVM."""
        self.process.returncode = 0  # It is not a child of this process.
        client = self.gateway._gateway_client
        client.is_connected = False  # Otherwise collected objects are reported over the parent's connections.
        for connection in client.deque:
            # Closes the descriptor alone: py4j would shut the connection down, for the parent too.
            os.close(connection.socket.detach())


class _Log:
    """Forwards the JVM's log. A line without a level has the level of the line before."""

    def __init__(self) -> None:
        self._level = logging.INFO

    def __call__(self, line: str) -> None:
        first, _, rest = line.partition(" ")
        level = _LEVELS.get(first)
        if level is not None:
            self._level, line = level, rest
        _LOG.log(self._level, "%s", line)


def _start_reader(stream: IO[str], sink: Callable[[str], None]) -> threading.Thread:
    def read() -> None:
        with stream:
            for line in stream:
                sink(line.rstrip())

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
    global _lock, _running
    _forking.release()
    while _lifelines:
        os.close(_lifelines.pop())
    _lock = threading.Lock()
    if _running is not None:
        _running.abandon()
        _running = None


os.register_at_fork(before=_forking.acquire, after_in_parent=_forking.release, after_in_child=_after_fork_in_child)
