"""Runs a part of the benchmarks, and notes on which machine, when and under which load that was.

machine.py PART NAME RUN COMMAND …

RUN is the directory of the run's results; the notes are its machine.json. NAME is what the user has called. Only the
standard library is used, as the benchmarks of the JVM run without the virtual environment. Neither names of hosts nor
paths are noted.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

NAME = "machine.json"
#: What a run may consist of; each part is begun and ended by itself.
PARTS = ("jmh", "latency", "pipeline", "python", "scale", "spark")


def facts(directory: Path) -> dict[str, Any]:
    """Returns what the machine is; `directory` lies on the file system where the queues are made."""
    return {
        "cpu": _field(Path("/proc/cpuinfo"), "model name") or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "kernel": platform.release(),
        "file_system": file_system(directory, Path("/proc/self/mounts").read_text(encoding="utf-8")),
        "jdk": _jdk(),
        "python": platform.python_version(),
    }


def file_system(directory: Path, mounts: str) -> str:
    """Returns the type of the file system that holds a directory, from the lines of /proc/self/mounts."""
    place = directory.resolve()
    found = (-1, "unknown")
    for line in mounts.splitlines():
        _device, point, kind, *_options = line.split()
        mounted = Path(point.replace("\\040", " "))
        # Of two on one place, the later one lies above.
        if mounted in (place, *place.parents) and len(mounted.parts) >= found[0]:
            found = (len(mounted.parts), kind)
    return found[1]


def begin(part: str, name: str, run: Path) -> None:
    """Notes that a part of the run begins; what an earlier run of this part noted is forgotten."""
    run.mkdir(parents=True, exist_ok=True)
    notes = _read(run)
    notes["machine"] = facts(run)
    notes["parts"][part] = {"command": name, "commit": _commit(), "begin": _now()}
    _write(run, notes)


def end(part: str, run: Path) -> None:
    """Notes that it has ended."""
    notes = _read(run)
    notes["parts"][part]["end"] = _now()
    _write(run, notes)


def _now() -> dict[str, Any]:
    # The average of one minute at the beginning tells of others, at the end of the benchmark itself as well.
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%MZ"),
        "load": round(os.getloadavg()[0], 2),
    }


def _read(run: Path) -> dict[str, Any]:
    path = run / NAME
    if not path.exists():
        return {"machine": {}, "parts": {}}
    notes: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return notes


def _write(run: Path, notes: dict[str, Any]) -> None:
    (run / NAME).write_text(json.dumps(notes, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _field(path: Path, name: str) -> str | None:
    found = re.search(rf"^{re.escape(name)}\s*:\s*(.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return found.group(1).strip() if found else None


def _jdk() -> str:
    told = _output("java", "-XshowSettings:properties", "-version")
    names = ("java.vm.name", "java.runtime.version")
    values = [re.search(rf"^\s*{re.escape(name)} = (.+)$", told, re.MULTILINE) for name in names]
    return " ".join(value.group(1).strip() for value in values if value) or "unknown"


def _commit() -> str:
    commit = _output("git", "rev-parse", "--short=12", "HEAD").strip()
    if not re.fullmatch("[0-9a-f]+", commit):
        return "unknown"
    changed = _output("git", "status", "--porcelain", "--untracked-files=no").strip()
    return commit + " with changes" if changed else commit


def _output(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout + done.stderr


def main() -> int:
    """Runs the command between two notes, and returns its status. A part that failed has no end."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("name", help="what the user has called")
    parser.add_argument("run", type=Path, help="directory of the run's results")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="what to run")
    options = parser.parse_args()
    begin(options.part, options.name, options.run)
    status = subprocess.run(options.command, check=False).returncode
    if status == 0:
        end(options.part, options.run)
    return status


if __name__ == "__main__":
    sys.exit(main())
