"""What the programs have in common that kill processes of a queue and its archive."""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from conftest import children, eventually, has_ended

#: For anything that a process is waited for.
SECONDS = 120.0


def started(directory: Path, *words: object) -> "subprocess.Popen[str]":
    """A Python process with these arguments that has printed a line that begins with "ready"."""
    with (directory / "errors").open("a") as errors:
        command = [sys.executable, *map(str, words)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("ready"), (directory / "errors").read_text()[-3000:]
    return process


def kill(process: "subprocess.Popen[str]") -> None:
    """Kills a process and its JVM; returns when both have ended."""
    begun = children(process.pid)
    for pid in (*begun, process.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()
    for pid in begun:
        assert eventually(partial(has_ended, pid), SECONDS)


def wait_a_moment(chance: random.Random, *bounds: float) -> None:
    """The load: a kill comes at any moment before one of these numbers of seconds."""
    time.sleep(chance.random() * chance.choice(bounds))


def main(doc: str | None, run: Callable[[int, Path, int], dict[str, object]]) -> None:
    """Runs a loop with the arguments of the command line, and prints its counts."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("kills", type=int)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--directory", type=Path)
    wanted = parser.parse_args()
    directory = wanted.directory or Path(tempfile.mkdtemp())
    print(f"seed {wanted.seed}, in {directory}", flush=True)
    print(json.dumps(run(wanted.kills, directory, wanted.seed)))
