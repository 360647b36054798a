"""Kills the processes of a queue that overflows, again and again; compares what was delivered with the archive.

    python overflow_kills.py <kills> [--seed N] [--directory DIR]

Killed are writers, which also read and mostly ship, consumers beside them, `mmapqueue ship` beside a writer that does
not ship, and drivers of a streaming query. In the end each consumer was given each record at its offset, without a gap,
and none came again after its ack had returned; each record is in one batch of the query, and a batch that was run again
had the same records.
"""

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from kill_command import SECONDS, kill, main, started, wait_a_moment

import mmapqueue
from archive_runs import payloads

PROCESS = Path(__file__).with_name("overflow_process.py")
#: Of both kinds of consumers: in the process that writes, and in one beside it.
CONSUMERS = ("inside", "outside")
#: What runs, and is killed, in a round.
ROUNDS = (("writer", "consumer"), ("writer", "consumer", "shipper"), ("writer", "consumer", "driver"))
#: The shares of the rounds: a driver takes long to start.
SHARES = (4, 3, 1)


def run(kills: int, directory: Path, seed: int = 0) -> dict[str, object]:
    """Runs the loop; returns the counts.

    Args:
        kills: How many processes are killed at least.
        directory: For the queue and the archive.
        seed: Of the moments.

    Raises:
        AssertionError: A record is missing, wrong, or came again after its ack.
    """
    chance = random.Random(seed)
    behind: Counter[str] = Counter()
    killed: Counter[str] = Counter()
    rounds = list(ROUNDS)  # each one once at least
    while killed.total() < kills or rounds:
        targets = rounds.pop(0) if rounds else chance.choices(ROUNDS, SHARES)[0]
        processes = [(target, _start(directory, target, targets)) for target in targets]
        # In any order.
        chance.shuffle(processes)
        for target, process in processes:
            wait_a_moment(chance, 0.1, 0.5, 1.5)
            kill(process)
            killed[target] += 1
        for name, lag in _lags(directory).items():
            behind[name] += lag > 0
    end = _drain(directory)
    stored = payloads(directory / "archive")
    assert len(stored) == end
    counts = {name: _check(directory, name, stored) for name in CONSUMERS}
    counts["query"] = _check_query(directory, stored)
    return {"seed": seed, "kills": dict(killed), "records": end, "behind": dict(behind), "deliveries": counts}


def _start(directory: Path, target: str, all_targets: tuple[str, ...]) -> "subprocess.Popen[str]":
    match target:
        case "writer":
            return started(directory, PROCESS, directory, "inside", "shipper" not in all_targets)
        case "consumer":
            return started(directory, PROCESS, directory, "outside")
        case "shipper":
            command = ("-m", "mmapqueue", "ship", directory / "queue", "--to", directory / "archive")
            return started(directory, *command, "--period", "20ms", "--bytes", "64k")
        case _:
            return started(directory, PROCESS, directory, "query")


def _lags(directory: Path) -> dict[str, int]:
    with mmapqueue.Queue(directory / "queue", read_only=True) as queue:
        return {name: each.archived_records for name, each in queue.consumer_stats().items() if name != "ship"}


def _drain(directory: Path) -> int:
    """Reads what is left, as the processes do; returns the log end."""
    from overflow_process import opened, read

    with opened(directory) as queue:
        end = queue.end_offset()
        for name in CONSUMERS:
            consumer = queue.consumer(name)
            with (directory / name).open("a") as journal:
                journal.write("\nstart\n")
                while queue.consumer_stats()[name].committed_offset < end:
                    read(consumer, journal, SECONDS)
        assert queue.await_shipped(end - 1, timeout=SECONDS)
        with started(directory, PROCESS, directory, "query", True) as last:
            assert last.wait(10 * SECONDS) == 0, (directory / "errors").read_text()[-3000:]
    return end


def _lines(directory: Path, name: str) -> list[list[str]]:
    """The words of the lines of a journal, without what is left of those during which the process was killed."""
    lines = [line.split() for line in (directory / name).read_text().splitlines()]
    return [words for words in lines if len(words) >= {"record": 3, "ack": 2}.get("".join(words[:1]), 1)]


def _check(directory: Path, name: str, stored: list[bytes | None]) -> int:
    count = expected = acked = 0
    starts = False
    for kind, *words in _lines(directory, name):
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


def _check_query(directory: Path, stored: list[bytes | None]) -> int:
    batches: dict[int, tuple[int, int]] = {}
    count = 0
    for words in _lines(directory, "query"):
        if words[-1:] != ["end"]:
            continue
        batch, first, end, *texts = words[:-1]
        records = (int(first), int(end))
        assert batches.setdefault(int(batch), records) == records, f"batch {batch} has {records} when it is run again"
        for offset, text in zip(range(*records), texts, strict=True):
            assert (stored[offset] or b"").startswith(text.encode()), f"record {offset} is {text} in batch {batch}"
            count += 1
    expected = 0
    for number, (begin, after) in sorted(batches.items()):
        assert begin == expected, f"batch {number} begins at {begin}, expected {expected}"
        expected = after
    assert expected == len(stored), f"the query has read up to {expected} of {len(stored)}"
    return count


if __name__ == "__main__":
    main(__doc__, run)
