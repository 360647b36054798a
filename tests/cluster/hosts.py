"""Hosts made of namespaces: each has a network address, a name and mounts of its own, and sees no other host's files.

All of it must run in `ENTER`, a net, mount and process namespace of its own: when its first process ends, however it
does, the kernel ends all others and removes links and mounts.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

#: Starts a command in namespaces of its own.
ENTER = ("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private")

_BRIDGE = "hosts"
_NETWORK = "10.77.0"

#: What a host's first process does: a name, a loopback device, and mounts over what it must not see. Each host has its
#: own /tmp; the directories before "--" stay in it.
_HOLD = """
hostname "$1"; shift
ip link set lo up
kept=0
mount -t tmpfs none /mnt
while [ "$1" != -- ]; do
    kept=$((kept + 1)); mkdir /mnt/$kept; mount --rbind "$1" /mnt/$kept; printf '%s' "$1" >/mnt/$kept.path; shift
done
shift
mount -t tmpfs none /tmp
for number in $(seq $kept); do
    path=$(cat /mnt/$number.path); mkdir -p "$path"; mount --move /mnt/$number "$path"
done
umount /mnt
for directory; do
    if [ -d "$directory" ]; then mount -t tmpfs -o ro none "$directory"; fi
done
echo ready
exec sleep infinity
"""
_TMP = Path("/tmp")


def kept_below_tmp() -> list[Path]:
    """The directories below /tmp that programs in hosts need: those of the checkout, of Python and of Java."""
    needed = [Path(__file__).parents[2], Path(sys.prefix), Path(sys.base_prefix)]
    if java := os.environ.get("JAVA_HOME"):
        needed.append(Path(java))
    elif java := shutil.which("java"):
        needed.append(Path(java).resolve().parents[1])
    found: list[Path] = []
    for each in sorted({path.resolve() for path in needed}):
        if _TMP in each.parents and not any(outer in each.parents for outer in found):
            found.append(each)
    return found


class Network:
    """The hosts, the bridge between them and the table of their names."""

    def __init__(self, root: Path, names: Sequence[str]) -> None:
        """Makes the hosts.

        Args:
            root: Directory of the hosts' directories; a host sees its own one alone.
            names: Of the hosts.
        """
        devices = [line.split(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines()[2:]]
        if devices != ["lo"]:
            raise RuntimeError(f"not in a network namespace of its own, as it has {devices}: make test-cluster")
        directories = {name: root / name for name in names}
        for directory in directories.values():
            directory.mkdir(parents=True)
        addresses = {name: f"{_NETWORK}.{10 + number}" for number, name in enumerate(names)}
        table = root / "names"
        table.write_text("127.0.0.1 localhost\n" + "".join(f"{ip} {name}\n" for name, ip in addresses.items()))
        _run("mount", "--bind", str(table), "/etc/hosts")
        _run("ip", "link", "set", "lo", "up")
        _run("ip", "link", "add", _BRIDGE, "type", "bridge")
        _run("ip", "link", "set", _BRIDGE, "up")
        # For this process; it is not a host.
        _run("ip", "address", "add", f"{_NETWORK}.1/24", "dev", _BRIDGE)
        self.hosts = {
            name: Host(name, ip, directories[name], [d for other, d in directories.items() if other != name])
            for name, ip in addresses.items()
        }

    def __getitem__(self, name: str) -> Host:
        return self.hosts[name]

    def end(self) -> None:
        """Ends all processes of all hosts, and the hosts."""
        for host in self.hosts.values():
            host.lose()
        subprocess.run(["ip", "link", "delete", _BRIDGE], check=False, stderr=subprocess.DEVNULL)
        _run("umount", "/etc/hosts")


class Host:
    """One host."""

    def __init__(self, name: str, address: str, directory: Path, hidden: Sequence[Path]) -> None:
        self.name = name
        self.address = address
        #: For its files; no other host sees them.
        self.directory = directory
        self._link = f"to-{name}"
        self._holder = subprocess.Popen(
            ["unshare", "--net", "--mount", "--uts", "--propagation", "private", "sh", "-ec", _HOLD, "hold", name]
            + [str(path) for path in (*kept_below_tmp(), "--", *hidden)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._holder.stdout is not None
        with self._holder.stdout as said:
            if said.readline() != "ready\n":
                raise RuntimeError(f"the host {name} does not start")
        self._started: list[Process] = []
        pid = str(self._holder.pid)
        _run("ip", "link", "add", self._link, "type", "veth", "peer", "name", "eth0", "netns", pid)
        _run("ip", "link", "set", self._link, "master", _BRIDGE)
        _run(*self.inside("ip", "address", "add", f"{address}/24", "dev", "eth0"))
        _run(*self.inside("ip", "link", "set", "eth0", "up"))
        self.link(up=True)

    def inside(self, *command: str) -> list[str]:
        """The command that runs another one in this host."""
        return ["nsenter", f"--target={self._holder.pid}", "--net", "--mount", "--uts", "--", *command]

    def start(self, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None) -> Process:
        """Starts a program, with its output in a file."""
        self._started.append(Process(self, command, log, environment or {}))
        return self._started[-1]

    def link(self, *, up: bool) -> None:
        """Connects the host with the others, or disconnects it."""
        _run("ip", "link", "set", self._link, "up" if up else "down")

    def processes(self) -> Iterator[int]:
        """The processes that run in it."""
        mine = _namespace(self._holder.pid)
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and mine is not None and _namespace(int(entry.name)) == mine:
                yield int(entry.name)

    def lose(self) -> None:
        """Ends it as a loss of power does: at once, with all that runs in it."""
        # The kernel would remove it later, with the last trace of the namespace.
        subprocess.run(["ip", "link", "delete", self._link], check=False, stderr=subprocess.DEVNULL)
        while running := [pid for pid in self.processes() if pid != self._holder.pid]:
            for pid in running:
                _send(pid, signal.SIGKILL)
            time.sleep(0.05)
        for process in self._started:
            process.wait(60)
        self._holder.kill()
        self._holder.wait()


class Process:
    """A program in a host. It is in a process group of its own, with all that it starts."""

    def __init__(self, host: Host, command: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
        self.host = host
        self.command = command
        self.log = log
        self.environment = environment
        self._start()

    def _start(self) -> None:
        with self.log.open("ab") as log:
            self._popen = subprocess.Popen(
                self.host.inside(*self.command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, **self.environment},
            )

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def status(self) -> int | None:
        """Its exit status, or None while it runs."""
        return self._popen.poll()

    def members(self) -> list[int]:
        """The program and all that it has started and that runs: children, and what is in its process group."""
        parents, groups = {}, {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    state, parent, group = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
                    if state != "Z":
                        parents[int(entry.name)], groups[int(entry.name)] = int(parent), int(group)
        found = {pid for pid, group in groups.items() if group == self.pid}
        while more := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= more
        return sorted(found)

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to all of them."""
        for pid in self.members():
            _send(pid, number)

    def kill(self) -> None:
        """Kills all of them, and returns when they are gone."""
        found: set[int] = set()
        while running := [pid for pid in found.union(self.members()) if _runs(pid)]:
            found.update(running)
            for pid in running:
                _send(pid, signal.SIGKILL)
            self._popen.poll()
            time.sleep(0.02)
        self._popen.wait()

    def stop(self, seconds: float = 60) -> int:
        """Asks the program to end; returns its status.

        Raises:
            TimeoutError: It runs still.
        """
        _send(self.pid, signal.SIGTERM)
        return self.wait(seconds)

    def wait(self, seconds: float) -> int:
        """Returns its status once it has ended.

        Raises:
            TimeoutError: It runs still.
        """
        try:
            return self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"{' '.join(self.command)[:200]} runs still:\n{self.tail()}") from None

    def restart(self) -> None:
        """Kills it and starts it again, with the same log."""
        self.kill()
        self._start()

    def said(self) -> str:
        """All that it has written."""
        return self.log.read_text(errors="replace")

    def tail(self) -> str:
        """The end of what it has written."""
        return f"… {self.log}:\n{self.said()[-4000:]}"

    def await_word(self, word: str, seconds: float = 180, times: int = 1) -> None:
        """Waits until it has written a word.

        Raises:
            RuntimeError: It has ended.
            TimeoutError: It has not written it.
        """
        deadline = time.monotonic() + seconds
        while self.said().count(word) < times:
            if self.status is not None:
                raise RuntimeError(f"ended with {self.status} before it said {word!r}: {self.tail()}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"has not said {word!r}: {self.tail()}")
            time.sleep(0.1)


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def _namespace(pid: int) -> str | None:
    try:
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return None


def _run(*command: str) -> None:
    subprocess.run(command, check=True)
