"""Runs a part of the benchmarks, notes the machine and its load before and after, and prints the tables.

python -m bench_report.run PART NAME RUN COMMAND …

RUN is the directory of the run's results, NAME the command that the user has typed. Only the standard library is used:
the benchmarks of the JVM run without the virtual environment.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from . import machine, publish
from .show import show


def main() -> int:
    """Runs the command between two notes, and returns its status. A part that failed has no end."""
    parser = argparse.ArgumentParser(prog="bench_report.run", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("part", choices=machine.PARTS)
    parser.add_argument("name", help="the command that the user has typed")
    parser.add_argument("run", type=Path, help="directory of the run's results")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="the program to run")
    options = parser.parse_args()
    start = time.time()
    machine.begin(options.part, options.name, options.run)
    status = subprocess.run(options.command, check=False).returncode
    if status == 0:
        machine.end(options.part, options.run)
        # A command that lists, or measures elsewhere, leaves older results alone.
        if any(path.stat().st_mtime >= start for path in publish.files(options.part, options.run)):
            print(show(options.part, options.run))
    return status


if __name__ == "__main__":
    sys.exit(main())
