"""Kills processes that ship a queue, again and again; compares queue and archive in the end.

    python ship_kills.py <kills> [--seed N] [--directory DIR]

Each kill hits a process that pushes and ships, or `mmapqueue ship` beside a process that pushes. In the end the archive
has each record of the queue once, at its offset, and no other one; and each record that a shipped push has returned.
"""

import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from kill_command import SECONDS, kill, main, started, wait_a_moment

import mmapqueue
from archive_runs import payloads, runs
from conftest import eventually

TARGETS = ("writer", "shipper")


def run(
    kills: int,
    directory: Path,
    seed: int = 0,
    archive: str | None = None,
    fetch: Callable[[], Path] | None = None,
    await_shipping: Callable[[], None] = lambda: None,
) -> dict[str, object]:
    """Runs the loop; returns the counts.

    Args:
        kills: How many processes are killed.
        directory: For the queue and, without another one, the archive.
        seed: Of the moments.
        archive: The URI of another archive, which `fetch` copies into a local directory.
        fetch: See there.
        await_shipping: Returns when a process that was just started has shipped; it is killed some time later.

    Raises:
        AssertionError: Queue and archive differ.
    """
    location = archive or str(directory / "archive")
    chance = random.Random(seed)
    killed: Counter[str] = Counter()
    for number in range(kills):
        target = TARGETS[number % len(TARGETS)]
        if target == "writer":
            _kill_writer(directory, location, number, chance, await_shipping)
        else:
            _kill_shipper(directory, location, number, chance, await_shipping)
        killed[target] += 1
    return {"seed": seed, "kills": dict(killed), **_compare(directory, location, fetch)}


def _kill_writer(
    directory: Path, location: str, number: int, chance: random.Random, await_shipping: Callable[[], None]
) -> None:
    file = Path(__file__).with_name("shipping_process.py")
    journal = directory / "journal"
    words = [directory / "queue", location, journal, number]

    def has_shipped() -> bool:
        return any(line.split()[1:2] == [str(number)] for line in journal.read_text().splitlines())

    def await_push() -> None:
        await_shipping()
        if number == 0:  # the others are killed at any moment, also before
            assert eventually(has_shipped, SECONDS)

    _kill_soon(directory, [str(file), *map(str, words)], chance, await_push)


def _kill_shipper(
    directory: Path, location: str, number: int, chance: random.Random, await_shipping: Callable[[], None]
) -> None:
    stopped = threading.Event()
    with mmapqueue.Queue(directory / "queue", capacity="64m", flush_period="5ms") as queue:
        queue.create_consumer("audit")

        def push() -> None:
            for count in range(1_000_000):
                if stopped.is_set():
                    return
                queue.push_many(b"shipped %d %d %d" % (number, count, each) for each in range(20))
                time.sleep(0.002)  # the load: a producer that is slower than the shipper

        pushing = threading.Thread(target=push)
        pushing.start()
        try:
            words = ["-m", "mmapqueue", "ship", str(directory / "queue"), "--to", location]
            _kill_soon(directory, [*words, "--period", "20ms", "--bytes", "16k"], chance, await_shipping)
        finally:
            stopped.set()
            pushing.join()


def _kill_soon(directory: Path, words: list[str], chance: random.Random, await_shipping: Callable[[], None]) -> None:
    """Starts a process, and kills it with its JVM at some moment after it is ready."""
    process = started(directory, *words)
    try:
        await_shipping()
        wait_a_moment(chance, 0.05, 0.3, 1.0)
    finally:
        kill(process)


def _compare(directory: Path, location: str, fetch: Callable[[], Path] | None) -> dict[str, object]:
    with mmapqueue.Queue(directory / "queue", capacity="64m", archive_uri=location, ship_period="20ms") as queue:
        end = queue.end_offset()
        assert queue.await_shipped(end - 1, timeout=SECONDS)
        stored: list[bytes] = []
        while len(stored) < end:
            stored += [each.data for each in queue.read_many(len(stored), 10_000)]
    archive = fetch() if fetch else Path(location)
    assert payloads(archive) == stored
    lines = (directory / "journal").read_text().splitlines(keepends=True)
    journal = [line.split() for line in lines if line.endswith("\n")]
    for offset, number, count in journal:
        assert stored[int(offset)] == f"{number} {count}".encode()
    return {"records": end, "runs": len(runs(archive)), "shipped": len(journal)}


if __name__ == "__main__":
    main(__doc__, run)
