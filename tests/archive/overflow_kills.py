"""Kills writers and consumers of a queue that overflows, again and again; compares what was delivered with the archive.

    python overflow_kills.py <kills> [--seed N] [--directory DIR]

In the end each consumer was given each record at its offset, without a gap; none came again after its ack had returned.
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

sys.path.insert(0, str(Path(__file__).parents[1]))

import mmapqueue
from archive_runs import payloads
from conftest import children, eventually, has_ended

#: Of both kinds of consumers: in the process that writes, and in one beside it.
CONSUMERS = ("inside", "outside")
SECONDS = 120.0


def run(kills: int, directory: Path, seed: int = 0) -> dict[str, object]:
    """Runs the loop; returns the counts.

    Args:
        kills: How many processes are killed, rounded up to pairs.
        directory: For the queue and the archive.
        seed: Of the moments.

    Raises:
        AssertionError: A record is missing, wrong, or came again after its ack.
    """
    chance = random.Random(seed)
    behind: Counter[str] = Counter()
    for _ in range((kills + 1) // 2):
        processes = [_start(directory, "inside"), _start(directory, "outside")]
        # The load: kills at any moment, in any order.
        chance.shuffle(processes)
        for process in processes:
            time.sleep(chance.random() * chance.choice([0.1, 0.5, 1.5]))
            _kill(process)
        for name, lag in _lags(directory).items():
            behind[name] += lag > 0
    end = _drain(directory)
    stored = payloads(directory / "archive")
    assert len(stored) == end
    counts = {name: _check(directory, name, stored) for name in CONSUMERS}
    return {"seed": seed, "records": end, "behind": dict(behind), "deliveries": counts}


def _start(directory: Path, name: str) -> "subprocess.Popen[str]":
    words = [str(Path(__file__).with_name("overflow_process.py")), str(directory), name]
    with (directory / "errors").open("a") as errors:
        process = subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, stderr=errors, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("ready"), (directory / "errors").read_text()[-3000:]
    return process


def _kill(process: "subprocess.Popen[str]") -> None:
    started = children(process.pid)
    for pid in (*started, process.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()
    for pid in started:
        assert eventually(partial(has_ended, pid), SECONDS)


def _lags(directory: Path) -> dict[str, int]:
    with mmapqueue.Queue(directory / "queue", read_only=True) as queue:
        return {each.name: each.archived_records for each in queue.consumer_stats().values() if each.name in CONSUMERS}


def _drain(directory: Path) -> int:
    """Reads what is left, as the processes do; returns the log end."""
    from overflow_process import opened, read

    with opened(directory) as queue:
        end = queue.end_offset()
        for name in CONSUMERS:
            consumer = queue.consumer(name)
            with (directory / name).open("a") as journal:
                journal.write("start\n")
                while queue.consumer_stats()[name].committed_offset < end:
                    read(consumer, journal, SECONDS)
        assert queue.await_shipped(end - 1, timeout=SECONDS)
    return end


def _check(directory: Path, name: str, stored: list[bytes | None]) -> int:
    lines = (directory / name).read_text().splitlines(keepends=True)
    count = expected = acked = 0
    starts = False
    for line in lines:
        if not line.endswith("\n"):
            continue  # the process was killed while it wrote
        kind, *words = line.split()
        if kind == "start":
            starts = True
        elif kind == "ack":
            acked = int(words[0]) + 1
        else:
            offset = int(words[0])
            if starts:
                assert acked <= offset <= expected, f"{name}: {offset} after acks up to {acked}, expected {expected}"
                starts = False
            else:
                assert offset == expected, f"{name}: {offset}, expected {expected}"
            assert (stored[offset] or b"").startswith(words[1].encode()), f"{name}: record {offset} is {words[1]}"
            expected = offset + 1
            count += 1
    assert expected == len(stored), f"{name} has read up to {expected} of {len(stored)}"
    return count


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kills", type=int)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--directory", type=Path)
    wanted = parser.parse_args()
    print(json.dumps(run(wanted.kills, wanted.directory or Path(tempfile.mkdtemp()), wanted.seed)))
