"""Notes on which machine, when and under which load a part of the benchmarks ran: machine.json beside its results.

The notes hold neither names of hosts nor paths.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

NAME = "machine.json"
#: The parts of a run; each begins and ends by itself.
PARTS = ("jmh", "latency", "pipeline", "python", "real-time", "scale", "spark")


def facts(directory: Path) -> dict[str, Any]:
    """Returns the facts of the machine; `directory` is on the file system of the queues."""
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
    resolved = directory.resolve()
    found = (-1, "unknown")
    for line in mounts.splitlines():
        _device, point, kind, *_options = line.split()
        mounted = Path(point.replace("\\040", " "))
        # Of two mounts on one path, the later one is on top.
        if mounted in (resolved, *resolved.parents) and len(mounted.parts) >= found[0]:
            found = (len(mounted.parts), kind)
    return found[1]


def begin(part: str, name: str, run: Path) -> None:
    """Notes that a part of the run begins, in place of the notes of an earlier run of this part."""
    run.mkdir(parents=True, exist_ok=True)
    notes = _read(run)
    notes["machine"] = facts(run)
    notes["parts"][part] = {"command": name, "commit": _commit(), "begin": _now()}
    _write(run, notes)


def end(part: str, run: Path) -> None:
    """Notes that the part has ended."""
    notes = _read(run)
    notes["parts"][part]["end"] = _now()
    _write(run, notes)


def _now() -> dict[str, Any]:
    # The average of one minute: at the beginning the load of other programs, at the end including the benchmark.
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
    output = _output("java", "-XshowSettings:properties", "-version")
    names = ("java.vm.name", "java.runtime.version")
    values = [re.search(rf"^\s*{re.escape(name)} = (.+)$", output, re.MULTILINE) for name in names]
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
