"""Faults at random: what they strike, for how long, and what ends them."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from cluster.hosts import Process
from cluster.stream import Stream


class _Fault(NamedTuple):
    """Something that is broken: what ends it, and when."""

    target: str
    heal: Callable[[], object]
    until: float


class Faults:
    """Breaks what a stream needs, and mends it after a while; several things may be broken at once."""

    def __init__(self, stream: Stream, seed: int, longest: float = 6.0) -> None:
        """Readies them.

        Args:
            stream: What it strikes.
            seed: Of all choices.
            longest: Seconds until a fault ends.
        """
        self._stream = stream
        self._chance = random.Random(seed)
        self._longest = longest
        self._broken: list[_Fault] = []
        #: How often each kind has struck.
        self.struck: Counter[str] = Counter()
        self._kinds: dict[str, tuple[int, Callable[[], tuple[str, Callable[[], object]] | None]]] = {
            "shipper killed": (4, lambda: self._killed("shipper", self._stream.shippers)),
            "shipper stopped": (3, self._stopped_shipper),
            "writer killed": (2, lambda: self._killed("writer", self._stream.writers)),
            "executor killed": (4, self._killed_executor),
            "worker killed": (2, lambda: self._killed("worker", self._stream.cluster.spark.workers)),
            "driver killed": (2, self._killed_driver),
            "data node killed": (3, lambda: self._killed("data node", self._stream.cluster.hdfs.data_nodes)),
            "name node killed": (1, self._killed_name_node),
            "link down": (3, self._link_down),
        }

    def run(self, count: int, say: Callable[[str], object] = print) -> None:
        """Strikes `count` times, and mends everything at the end."""
        while self.struck.total() < count:
            kind = self._chance.choices(list(self._kinds), [weight for weight, _ in self._kinds.values()])[0]
            found = self._kinds[kind][1]()
            if found:
                target, heal = found
                seconds = self._chance.uniform(0, self._longest)
                self._broken.append(_Fault(target, heal, time.monotonic() + seconds))
                self.struck[kind] += 1
                say(f"{self.struck.total()}: {kind}: {target}, {seconds:.1f} s")
            pause = self._chance.uniform(0, self._longest / 2)
            deadline = time.monotonic() + pause
            while (now := time.monotonic()) < deadline:
                self._mend(now)
                if self._free("driver", ["hub"]):
                    self._stream.supervise()
                time.sleep(0.05)
        self._mend(float("inf"))

    def _mend(self, now: float) -> None:
        for fault in [each for each in self._broken if each.until <= now]:
            self._broken.remove(fault)
            fault.heal()

    def _free(self, kind: str, names: list[str]) -> str | None:
        """One of these that is not broken."""
        broken = {fault.target for fault in self._broken}
        left = [name for name in names if f"{kind} {name}" not in broken]
        return self._chance.choice(left) if left else None

    def _killed(self, kind: str, processes: dict[str, Process]) -> tuple[str, Callable[[], object]] | None:
        name = self._free(kind, list(processes))
        if name is None:
            return None
        processes[name].kill()
        return f"{kind} {name}", processes[name].restart

    def _stopped_shipper(self) -> tuple[str, Callable[[], object]] | None:
        name = self._free("shipper", list(self._stream.shippers))
        if name is None:
            return None
        shipper = self._stream.shippers[name]
        shipper.signal(signal.SIGSTOP)
        return f"shipper {name}", lambda: shipper.signal(signal.SIGCONT)

    def _killed_executor(self) -> tuple[str, Callable[[], object]] | None:
        running = [
            (host.name, pid)
            for host in self._stream.cluster.hosts
            for pid in self._stream.cluster.spark.executors(host)
        ]
        if not running:
            return None
        name, pid = self._chance.choice(sorted(running))
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        # Its worker starts another one.
        return f"executor {name}", lambda: None

    def _killed_driver(self) -> tuple[str, Callable[[], object]] | None:
        if self._free("driver", ["hub"]) is None:
            return None
        self._stream.driver.kill()
        return "driver hub", self._stream.driver.restart

    def _killed_name_node(self) -> tuple[str, Callable[[], object]] | None:
        if self._free("name node", ["hub"]) is None:
            return None
        name_node = self._stream.cluster.hdfs.name_node
        name_node.kill()
        return "name node hub", name_node.restart

    def _link_down(self) -> tuple[str, Callable[[], object]] | None:
        hosts = {host.name: host for host in self._stream.cluster.hosts}
        name = self._free("link", list(hosts))
        if name is None:
            return None
        hosts[name].link(up=False)
        return f"link {name}", lambda: hosts[name].link(up=True)
