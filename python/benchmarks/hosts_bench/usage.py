"""Processor time and memory of groups of processes, and the requests that a name node answers, from /proc and JMX."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Usage:
    """What processes take; memory is the highest of the samples."""

    cpu_seconds: float = 0.0
    rss: int = 0
    pss: int = 0

    def over(self, other: Usage) -> Usage:
        """What has been taken since, with the higher memory of both."""
        return Usage(self.cpu_seconds - other.cpu_seconds, max(self.rss, other.rss), max(self.pss, other.pss))


def usage(pids: Iterable[int]) -> Usage:
    """Returns what these processes take now, those that have ended left out."""
    total = Usage()
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            memory = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
        except OSError:
            continue
        total.cpu_seconds += (int(fields[11]) + int(fields[12])) / _TICKS
        total.rss += int(memory["Rss"].split()[0]) * 1024
        total.pss += int(memory["Pss"].split()[0]) * 1024
    return total
