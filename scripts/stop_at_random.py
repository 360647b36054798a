"""Runs a command, and stops its processes at random for up to two seconds, as a busy machine does.

    python scripts/stop_at_random.py --seed 1 make test-python

Its exit status is that of the command. A seed repeats the pauses, but not what the processes do meanwhile.
"""

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

#: Seconds between two stops, and the maximum for which a process is stopped.
BETWEEN, STOPPED = 0.5, 2.0


def descendants(root: int) -> list[int]:
    """The processes that a process has started, directly or not."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # The name, in parentheses, may have spaces.
            number, _, rest = stat.read_text().partition(" (")
            children.setdefault(int(rest.rpartition(")")[2].split()[1]), []).append(int(number))

    def below(number: int) -> Iterator[int]:
        for child in children.get(number, ()):
            yield child
            yield from below(child)

    return sorted(below(root))


def ended(process: "subprocess.Popen[bytes]", seconds: float) -> bool:
    """Waits for the end of a process, for this time at most."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def run(command: list[str], random: Random) -> int:
    """Runs the command; returns its exit status."""
    process = subprocess.Popen(command)
    stops = 0
    while not ended(process, random.uniform(0, 2 * BETWEEN)):
        below = descendants(process.pid)
        if not below:
            continue
        chosen = random.choice(below)
        try:
            os.kill(chosen, signal.SIGSTOP)
        except ProcessLookupError:
            continue
        stops += 1
        ended(process, random.uniform(0, STOPPED))
        with suppress(ProcessLookupError):
            os.kill(chosen, signal.SIGCONT)
    print(f"stopped {stops} times; exit status {process.returncode}", file=sys.stderr)
    return process.returncode


def main() -> int:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=None, help="of the random pauses")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    if not arguments.command:
        parser.error("a command is needed")
    return run(arguments.command, Random(arguments.seed))


if __name__ == "__main__":
    sys.exit(main())
