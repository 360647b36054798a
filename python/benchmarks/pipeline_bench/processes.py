"""Server processes: start, figures from /proc, kill."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_MEMORY = ("RssAnon", "RssFile", "RssShmem")


def free_port() -> int:
    """A free port of the loopback device."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    """A process and its children, in a session of their own: one signal reaches all.

    Attributes:
        port: The port it listens on.
        log: The file of its output.
    """

    def __init__(self, command: Sequence[str | Path], port: int, log: Path) -> None:
        self.port = port
        self.log = log
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                [str(word) for word in command],
                stdout=out,
                stderr=out,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    @property
    def endpoint(self) -> str:
        """Address as HOST:PORT."""
        return f"127.0.0.1:{self.port}"

    def ready(self, seconds: float = 60) -> None:
        """Waits until the server accepts connections. Raises RuntimeError with the end of its log if it ends."""
        end = time.monotonic() + seconds
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if self._process.poll() is not None or time.monotonic() > end:
                    ended = "ended" if self._process.poll() is not None else "accepts no connections"
                    self.kill()
                    tail = self.log.read_text("utf-8", "replace")[-2000:]
                    raise RuntimeError(f"{self._process.args!r} {ended}:\n{tail}") from None
                time.sleep(0.05)

    def processes(self) -> list[int]:
        """The ids of the process and all its descendants."""
        children: dict[int, list[int]] = {}
        for pid, fields in _stats():
            children.setdefault(int(fields[1]), []).append(pid)
        found = [self._process.pid]
        for pid in found:
            found += children.get(pid, ())
        return found

    def cpu_seconds(self) -> float:
        """Processor time of all its processes, in user and kernel mode."""
        pids = set(self.processes())
        return sum(int(fields[11]) + int(fields[12]) for pid, fields in _stats() if pid in pids) / _TICKS

    def stop(self, seconds: float = 30) -> None:
        """Ends the server by SIGTERM, or all its processes by SIGKILL if that fails."""
        pids = self.processes()
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        _kill(pids)
        self._process.wait()

    def kill(self) -> None:
        """Ends all its processes at once by SIGKILL."""
        _kill(self.processes())
        self._process.wait()


def _kill(pids: Sequence[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _stats() -> Iterator[tuple[int, list[str]]]:
    """The fields of /proc/*/stat from the state on."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            yield int(path.parent.name), path.read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:
            continue  # The process has ended.


@dataclass(frozen=True)
class Memory:
    """Bytes of all processes of a server.

    Attributes:
        anonymous: Heaps and stacks, which the system cannot reclaim.
        file: Pages of mapped files, binaries and queue files: page cache, which the system can reclaim.
        shared: Pages of shared memory.
    """

    anonymous: int = 0
    file: int = 0
    shared: int = 0

    @property
    def resident(self) -> int:
        """The sum."""
        return self.anonymous + self.file + self.shared


def memory(pids: Sequence[int]) -> Memory:
    """Resident memory of processes. Pages shared by two of them count twice."""
    sums = dict.fromkeys(_MEMORY, 0)
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/status").read_text("utf-8", "replace").splitlines()
        except OSError:
            continue
        for line in lines:
            name, _, value = line.partition(":")
            if name in sums:
                sums[name] += int(value.split()[0]) << 10
    return Memory(*sums.values())


class Watch:
    """Samples a server's memory four times a second, and keeps the maximum of each kind.

    Attributes:
        most: The maximum of each figure, at different times maybe.
    """

    def __init__(self, server: Server) -> None:
        self.most = Memory()
        self._server = server
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stop.wait(0.25):
            now = memory(self._server.processes())
            self.most = Memory(
                max(self.most.anonymous, now.anonymous),
                max(self.most.file, now.file),
                max(self.most.shared, now.shared),
            )


def disk_bytes(directory: Path) -> int:
    """Bytes of the blocks that the files below a directory occupy."""
    total = 0
    for path in directory.rglob("*"):
        try:
            total += path.stat().st_blocks * 512
        except OSError:
            continue
    return total
