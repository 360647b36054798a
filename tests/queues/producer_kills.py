"""Kills a process that pushes through handles, prefetches and coalesces acks, again and again; compares in the end.

    python producer_kills.py <kills> [--seed N] [--directory DIR]

Each kill hits Python, its JVM, or both. In the end every record with a handle that was done is in the queue at that
offset, and every record that the consumer has acked was handled. Records that were handled and not acked are
redelivered.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path

import mmapqueue

sys.path.insert(0, str(Path(__file__).parents[1]))

from conftest import children, eventually, has_ended

TARGETS = ("python", "jvm", "both")
SECONDS = 120.0


def run(kills: int, directory: Path, seed: int = 0) -> dict[str, object]:
    """Runs the loop; returns the counts.

    Raises:
        AssertionError: A record is lost, or an acknowledged one is missing.
    """
    chance = random.Random(seed)
    killed: Counter[str] = Counter()
    for number in range(kills):
        target = TARGETS[number % len(TARGETS)]
        killed[target] += _round(directory, number, target, chance, number == kills - 1)
    return {"seed": seed, "kills": dict(killed), **compare(directory)}


def _round(directory: Path, number: int, target: str, chance: random.Random, last: bool) -> bool:
    """One process, and its kill; returns whether it was running. The last one is killed when the journal has lines."""
    words = [directory / "queue", directory / "journal", number, chance.randint(0, 1), chance.randrange(1 << 30)]
    with (directory / "errors").open("a") as errors:
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("killed_process.py")), *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == "ready\n", (directory / "errors").read_text()[-2000:]
        started = children(process.pid)
        if last:
            journal = directory / "journal"
            assert eventually(lambda: {"done", "handled"} <= set(journal.read_text().split()), SECONDS)
        # The load: a kill at any moment.
        time.sleep(chance.random() * chance.choice([0.05, 0.5, 1.0]))
        running = process.poll() is None
        if target != "python":
            _kill(started)
        if target != "jvm":
            _kill([process.pid])
        else:
            # Its threads meet the loss of the JVM at any moment; the process may end by itself, or wait.
            time.sleep(chance.random() * 0.1)
            _kill([process.pid])
        process.wait()
    for pid in started:
        assert eventually(partial(has_ended, pid), SECONDS)
    return running


def _kill(pids: list[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def compare(directory: Path) -> dict[str, object]:
    """Compares the queue with the journal.

    Raises:
        AssertionError: A record is lost, or an acknowledged one is missing.
    """
    done: dict[int, str] = {}
    handled: dict[int, str] = {}
    again = 0
    for line in (directory / "journal").read_text().splitlines():
        what, offset, data = line.split()
        again += what == "handled" and int(offset) in handled
        (done if what == "done" else handled)[int(offset)] = data
    with mmapqueue.Queue(directory / "queue", retain_bytes=1 << 30, lock_timeout=SECONDS) as queue:
        end = queue.end_offset()
        first = queue.first_offset()
        stored: dict[int, str] = {}
        while first + len(stored) < end:
            stored.update((each.offset, each.data.decode()) for each in queue.read_many(first + len(stored), 10_000))
        delivered = {message.offset for message in queue}
    missing = {offset: data for offset, data in done.items() if stored.get(offset) != data}
    assert not missing, f"{len(missing)} records with a handle that was done are missing: {[*missing.items()][:5]}"
    lost = [offset for offset in range(first, end) if offset not in delivered and offset not in handled]
    assert not lost, f"{len(lost)} records were acked that no process has handled: {lost[:5]}"
    wrong = [offset for offset, data in handled.items() if stored[offset] != data]
    assert not wrong, f"{len(wrong)} records were delivered as others: {wrong[:5]}"
    return {"done": len(done), "stored": end, "handled": len(handled), "redelivered": again, "lost": 0, "missing": 0}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("kills", type=int)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--directory", type=Path, help="where the queue and the journal are; temporary by default")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="queue-kill-") as temporary:
        directory = arguments.directory or Path(temporary)
        print(f"{arguments.kills} kills, seed {arguments.seed}, {directory}", flush=True)
        print(json.dumps(run(arguments.kills, directory, arguments.seed), indent=1))


if __name__ == "__main__":
    main()
