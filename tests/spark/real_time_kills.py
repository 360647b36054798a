"""Kills queries in real-time mode at random moments, again and again, and compares what they have written in the end.

    PYTHONPATH=tests python -m spark.real_time_kills <kills> [--master MASTER] [--seed N] [--directory DIR]

The queries (real_time_pipeline.py) read a queue of two partitions, into which this program pushes at the same time: a
filter with posexplode and, where Spark has state in real-time mode, counts of the first partition. The process group of
the driver is killed with SIGKILL. With the master local-cluster[1,4,1024] the executor may be killed before, and
that ends the queries. In the end each row must be in its queue once, and the rows of a partition in their order.
"""

import os
import random
import signal
import time
from contextlib import ExitStack
from pathlib import Path

import mmapqueue

from .kill_loop import Pipeline, command, opened_patiently
from .real_time_pipeline import MASTER, PARTITIONS, STATE

PIPELINE = Path(__file__).with_name("real_time_pipeline.py")

#: Records at a time, for each partition, and the pause after them in s: the load.
ROUND, PAUSE = 20, 0.02

#: For rows to arrive, on a machine that is busy.
SECONDS = 180


def record(partition: int, offset: int) -> bytes:
    """Up to four words, each of which occurs once."""
    return b" ".join(b"%d:%d:%d" % (partition, offset, word) for word in range(offset % 4 + 1))


def expected_words(partition: int, end: int) -> list[str]:
    return [word for offset in range(end) if offset % 3 for word in record(partition, offset).decode().split(" ")]


def expected_counts(end: int) -> list[str]:
    return [f"{offset % 10}:{offset // 10 + 1}" for offset in range(end)]


def records(path: Path) -> list[str]:
    with opened_patiently(path) as queue:
        return [queue.read_at(offset).data.decode() for offset in range(queue.stats().end_offset)]


def count(path: Path) -> int:
    """The number of records that a queue has had, while another process may write it."""
    if not (path / "meta.dat").exists():
        return 0
    with mmapqueue.Queue(path, read_only=True) as queue:
        return queue.stats().end_offset


def difference(name: str, found: list[str], expected: list[str]) -> list[str]:
    """The first difference of two lists."""
    if found == expected:
        return []
    pairs = zip([*found, None], [*expected, None], strict=False)
    at, (own, other) = next((at, pair) for at, pair in enumerate(pairs) if pair[0] != pair[1])
    return [f"{name}: {len(found)} rows, expected {len(expected)}; row {at} is {own!r}, expected {other!r}"]


def faults(directory: Path, end: int) -> list[str]:
    """The faults in the results, once each partition has had the records 0 to end."""
    words = records(directory / "words")
    found = []
    for partition in range(PARTITIONS):
        own = [word for word in words if word.startswith(f"{partition}:")]
        found += difference(f"words of partition {partition}", own, expected_words(partition, end))
    if STATE:
        found += difference("counts", records(directory / "counts"), expected_counts(end))
    return found


def batches(directory: Path) -> int:
    """The number of batches that the checkpoints have."""
    return sum(1 for _ in directory.glob("*-checkpoint/commits/[0-9]*"))


def run(kills: int, directory: Path, master: str = MASTER, seed: int = 0, longest: float = 7.0) -> dict[str, int]:
    """Runs the loop; raises AssertionError if a row is missing, duplicate or out of order."""
    chance = random.Random(seed)
    end = repeated = executors_killed = 0
    with ExitStack() as stack:
        paths = [directory / "source" / f"p={partition}" for partition in range(PARTITIONS)]
        source = [stack.enter_context(mmapqueue.Queue(path, capacity="256m")) for path in paths]

        def push() -> None:
            nonlocal end
            for partition, queue in enumerate(source):
                queue.push_many([record(partition, offset) for offset in range(end, end + ROUND)])
            end += ROUND

        def load(seconds: float) -> None:
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline:
                push()
                time.sleep(PAUSE)

        def arrived() -> bool:
            expected = sum(len(expected_words(partition, end)) for partition in range(PARTITIONS))
            return count(directory / "words") >= expected and (
                not STATE or count(directory / "counts") >= len(expected_counts(end))
            )

        for number in range(kills + 1):
            push()
            pipeline = Pipeline(directory, master, once=False, workers=[], program=PIPELINE)
            try:
                pipeline.wait_for_start()
                before, first = batches(directory), count(directory / "words")
                deadline = time.monotonic() + SECONDS
                while count(directory / "words") == first and time.monotonic() < deadline:
                    pipeline.check()  # most kills come while rows are written, not while Spark starts
                    time.sleep(PAUSE)
                load(chance.uniform(0, longest))
                executors = pipeline.executors()
                if number < kills and executors and chance.random() < 0.7:
                    os.kill(chance.choice(executors), signal.SIGKILL)
                    executors_killed += 1
                    load(chance.uniform(0, longest))
                    continue
                if number == kills:  # this one shall end
                    deadline = time.monotonic() + SECONDS
                    while not arrived() or batches(directory) < before + 2:
                        pipeline.check()
                        assert time.monotonic() < deadline, f"rows are missing: {faults(directory, end)}"
                        time.sleep(0.1)
                pipeline.check()
                repeated += batches(directory) == before
            finally:
                pipeline.kill()
    found = faults(directory, end)
    assert not found, "\n".join([f"kills={kills} seed={seed}: {len(found)} faults", *found])
    return {
        "kills": kills,
        "executors killed alone": executors_killed,
        "kills before a batch had ended": repeated,
        "batches": batches(directory),
        "records in": PARTITIONS * end,
        "words out, each once": sum(len(expected_words(partition, end)) for partition in range(PARTITIONS)),
        "counts out, each once": len(expected_counts(end)) if STATE else 0,
    }


if __name__ == "__main__":
    command(__doc__, "real-time-kill", run, "of Spark, with at most one executor", MASTER)
