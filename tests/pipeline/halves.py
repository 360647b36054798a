"""Both halves of a pipeline under a kill loop: started, killed in whole or in part, reloaded, drained and restarted."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import yaml

import mmapqueue
from mmapqueue.pipeline import _control
from services import Service, descendants
from view import committed

#: For a process to start or end, and for the last rows to be written.
SECONDS = 300.0
#: What a reload changes; `nothing` is a file that is equal.
CHANGES = ("receiver", "sender", "server", "nothing")
RELOAD, BAD_FILE, DRAIN, RESTART = "reload", "bad file", "drain", "restart"
#: What is no kill.
PLANNED = (RELOAD, BAD_FILE, DRAIN, RESTART)
#: A kill while something else is under way.
AMID = tuple(f"kill in a {what}" for what in (RELOAD, DRAIN, RESTART))
#: Each is a fault: the first is found when the file is read, the second when it is compared with what runs.
_BAD = ({"no_such_key": 1}, {"name": "other"})


class Halves:
    """`mmapqueue gather` and `process` of one configuration file. For one thread.

    Attributes:
        directory: Where everything lies; the pipe's queue in `queue`, its checkpoints in `checkpoints`.
        chance: Draws what is not given.
        gather, process: The halves.
        gather_kills: When gather, or a part of it, was killed, in seconds since 1970.
        done: What was done, and how often.
    """

    def __init__(
        self,
        directory: Path,
        chance: random.Random,
        processes: int,
        settings: Callable[[Counter[str]], dict[str, object]],
    ) -> None:
        """Starts nothing.

        Args:
            directory: Of the files.
            chance: Draws what is not given.
            processes: `gather.processes`.
            settings: The configuration, by how often each of `CHANGES` was changed.
        """
        self.directory = directory
        self.chance = chance
        self.gather_kills: list[float] = []
        self.done: Counter[str] = Counter()
        self._processes = processes
        self._settings = settings
        self._changed: Counter[str] = Counter()
        self._config = directory / "pipeline.yaml"
        self._write()
        (directory / "logs").mkdir()
        self.gather = self._service("gather")
        self.process = self._service("process")

    def _service(self, name: str) -> Service:
        return Service(name, self._command(name), self.directory / "logs")

    def _command(self, name: str) -> list[str]:
        return [sys.executable, "-m", "mmapqueue", name, str(self._config)]

    def _write(self, **keys: object) -> None:
        new = self._config.with_suffix(".new")
        new.write_text(yaml.safe_dump({**self._settings(self._changed), **keys}))
        new.replace(self._config)

    # ---- starts and kills

    def start_gather(self) -> None:
        """Starts gather, and waits until it is ready."""
        self.gather.start()
        wait(lambda: self.gather.said("ready:") or self.gather.ended(), "gather does not start")

    def kill_gather(self) -> None:
        """Kills gather and all that it has started."""
        self.gather_kills.append(self.gather.kill())

    def kill_part(self, part: str) -> None:
        """Kills a part of gather alone: `main`, `partition`, `JVM`, or `successor` when there is one."""
        pids = [self.gather.pid] if part == "main" else [each for each in self._parts(part) if each != self.gather.pid]
        if pids:
            with suppress(ProcessLookupError):
                os.kill(self.chance.choice(pids), signal.SIGKILL)
        self.gather_kills.append(time.time())

    def _parts(self, part: str) -> list[int]:
        if not self.gather.running:
            return []
        below = descendants(self.gather.pid)
        if part == "JVM":
            return [pid for pid in below if is_jvm(pid)]
        having = {parent_of(pid) for pid in below if is_jvm(pid)}
        return [pid for pid in having if pid and (part != "successor" or pid in self._preparing())]

    def _preparing(self) -> list[int]:
        """Successors that are being prepared: a partition then has two processes."""
        if not self.gather.running:
            return []
        serving = {found.pid for role in self._roles() if (found := _asked(role, self._config)) is not None}
        return [
            pid for pid in descendants(self.gather.pid) if pid not in serving and b"--successor" in _command_line(pid)
        ]

    def recover(self) -> None:
        """Starts gather when it does not run, and waits until each of its processes answers."""
        if not self.gather.running:
            self.start_gather()
        wait(
            lambda: all(self._serves(role) for role in self._roles()),
            "gather does not recover",
            self.gather,
        )

    def _serves(self, role: str) -> bool:
        """Whether a process answers, and has a JVM: one that has lost it ends soon."""
        found = _asked(role, self._config)
        return found is not None and any(map(is_jvm, descendants(found.pid)))

    def _roles(self) -> list[str]:
        return ["gather"] if self._processes == 1 else [f"gather-{each}" for each in range(self._processes)]

    # ---- reloads, drains, restarts

    def plan(self, what: str) -> None:
        """Does one of `PLANNED`, which must succeed; a bad file must fail."""
        if what == RELOAD:
            self._reload(self.chance.choice(CHANGES))
        elif what == BAD_FILE:
            self._reload_badly()
        elif what == DRAIN:
            self._drain()
        else:
            self._succeeds(RESTART)
            self.done[RESTART] += 1
        self.recover()

    def _reload(self, change: str) -> None:
        self._change(change)
        if self.chance.random() < 0.5:
            self._hang_up(": done in ")
            self.done[f"reload by SIGHUP: {change}"] += 1
        else:
            self._succeeds(RELOAD)
            self.done[f"reload by command: {change}"] += 1

    def _change(self, change: str) -> None:
        self._changed[change] += 1
        self._write()

    def _reload_badly(self) -> None:
        self._await_process()  # else it may read the bad file as its first one
        self._write(**self.chance.choice(_BAD))
        if self.chance.random() < 0.5:
            self._hang_up(" has failed")
            self.done["bad file by SIGHUP"] += 1
        else:
            ended = subprocess.run(self._command(RELOAD), capture_output=True, text=True, timeout=SECONDS, check=False)
            assert ended.returncode in (1, 2), ended
            assert ended.stdout == "", ended
            self.done["bad file by command"] += 1
        self._write()

    def _await_process(self) -> None:
        wait(lambda: _asked("process", self._config) is not None, "process does not start", self.process)

    def _hang_up(self, outcome: str) -> None:
        """Has gather reload by SIGHUP, and waits for the outcome of each of its processes, and process as well."""
        # With several processes, the one that gets the signal has an outcome as well, after theirs.
        halves = [(self.gather, self._processes + (self._processes > 1))]
        if _asked("process", self._config) is not None:
            halves.append((self.process, 1))
        before = [_outcomes(half, outcome) for half, _ in halves]
        for half, _ in halves:
            os.kill(half.pid, signal.SIGHUP)
        for (half, number), count in zip(halves, before, strict=True):
            wait(
                lambda half=half, least=count + number: _outcomes(half, outcome) >= least,
                f"no reload of {half.name}{outcome}",
                half,
            )

    def _succeeds(self, command: str) -> None:
        ended = subprocess.run(self._command(command), capture_output=True, text=True, timeout=SECONDS, check=False)
        assert ended.returncode == 0, ended

    def _drain(self) -> None:
        halves = self.chance.choice([(self.gather,), (self.process,), (self.gather, self.process)])
        if self.process in halves:
            self._await_process()  # else the signal may come before its handler
        for half in halves:
            half.stop()
        for half in halves:
            wait(half.ended, f"{half.name} does not end")
            self.done[f"drain of {half.name}"] += 1
        if self.process in halves:
            self.process.start()
        if self.gather in halves:
            self.start_gather()

    def kill_amid(self, what: str) -> None:
        """Kills gather or a part of it while a reload, a drain or a restart is under way, and starts what has ended."""
        asked: subprocess.Popen[bytes] | None = None
        parts = ["gather", "main", "JVM"] if self._processes == 1 else ["gather", "main", "partition", "JVM"]
        if what == DRAIN:
            self.gather.stop()
        else:
            if what == RELOAD:
                self._change(self.chance.choice(CHANGES))
            asked = subprocess.Popen(self._command(what), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if what == RESTART:
                parts.append("successor")
                wait(lambda: self._preparing() or asked.poll() is not None, "no successor is prepared")
        time.sleep(self.chance.uniform(0, 1) ** 2)  # any moment, mostly soon
        part = self.chance.choice(parts)
        if part == "gather":
            self.kill_gather()
        else:
            self.kill_part(part)
        self.done[f"{part} killed in a {what}"] += 1
        if asked is not None:
            asked.wait(SECONDS)
        if what == DRAIN or part == "main" or (part == "JVM" and self._processes == 1):
            wait(lambda: not self.gather.running, "gather does not end")
        self.recover()

    # ---- the end

    def finish(self, *senders: str) -> int:
        """Ends gather, then process when the senders have written all. Returns the records of the queue."""
        self.gather.stop()
        wait(self.gather.ended, "gather does not end")
        stored = 0
        queue = self.directory / "queue"
        for part in sorted(queue.glob("p=*")) or [queue]:
            with mmapqueue.Queue(part, read_only=True) as opened:
                stored += opened.stats().end_offset
        for name in senders:
            checkpoint = self.directory / "checkpoints" / name
            while (done := committed(checkpoint)) < stored:
                wait(
                    lambda checkpoint=checkpoint, done=done: committed(checkpoint) > done,
                    f"{name} makes no progress at {done} of {stored}",
                    self.process,
                )
        self.process.stop()
        wait(self.process.ended, "process does not end")
        return stored

    def close(self) -> None:
        """Kills what runs."""
        for each in (self.gather, self.process):
            each.kill()


def wait(holds: object, message: str, *alive: Service) -> None:
    """Waits until something holds.

    Raises:
        ServiceError: A process that must be alive has ended with an error.
        TimeoutError: It takes too long.
    """
    assert callable(holds)
    deadline = time.monotonic() + SECONDS
    while not holds():
        for service in alive:
            if service.ended():
                raise RuntimeError(f"{service.name} has ended; see {service.log}")
        if time.monotonic() > deadline:
            raise TimeoutError(message)
        time.sleep(0.05)


def _asked(role: str, config: Path) -> _control.Answer | None:
    with suppress(OSError):
        return _control.call(role, str(config), "partition")
    return None


def _outcomes(half: Service, outcome: str) -> int:
    return half.log.read_text(errors="replace").count(f"pipeline.yaml{outcome}")


def is_jvm(pid: int) -> bool:
    """Whether a process is a JVM that has not ended."""
    with suppress(OSError):
        name, _, rest = Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(")")
        return name == "java" and rest.split()[0] not in "XZ"
    return False


def parent_of(pid: int) -> int:
    """The parent of a process; 0 when it has ended."""
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def _command_line(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""
