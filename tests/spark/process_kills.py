"""Kills a query of `process_stream` at random moments, again and again, and compares what its handler got in the end.

    python process_kills.py <kills> [--master local[2,4]] [--seed N] [--directory DIR]

The query (process_pipeline.py) acks, nacks, dead-letters or leaves out records of a queue that this process writes.
Tasks fail at random and are done again. The whole process group is killed with SIGKILL. In the end

- each record is committed, once, and exactly the records of that outcome are dead letters;
- a record that came again had an attempt more, each time;
- a record whose outcome was final, and was applied, has never come again.
"""

import random
import sys
import time
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import mmapqueue
from spark import kill_loop, process_pipeline

PROGRAM = Path(process_pipeline.__file__)

#: Records that come with each round.
ROUND = 200


def batches(directory: Path) -> list[tuple[str, list[tuple[int, int]]]]:
    """The micro-batches that a handler has begun, oldest first: process; offset and attempt of each record."""
    journal = directory / "journal"
    found = []
    for line in journal.read_text().splitlines() if journal.exists() else ():
        words = line.split()
        if words and words[-1] == ".":  # else a kill has cut the line, before the handler's work
            found.append((words[0], [tuple(map(int, word.split(":"))) for word in words[1:-1]]))
    return found  # type: ignore[return-value]


def faults(directory: Path, values: int) -> list[str]:
    """The faults of what the handler got, once all records are done."""
    found = []
    seen: dict[int, int] = defaultdict(int)
    final: dict[int, int] = {}
    all_batches = batches(directory)
    for number, (process, records) in enumerate(all_batches):
        for offset, attempt in records:
            if attempt <= seen[offset]:
                found.append(f"record {offset} came as attempt {attempt} after attempt {seen[offset]}")
            seen[offset] = attempt
            if offset in final:
                found.append(f"record {offset} came in batch {number}, after its outcome in batch {final[offset]}")
        # The outcomes of a batch are applied before the same process begins another one.
        if number + 1 < len(all_batches) and all_batches[number + 1][0] == process:
            for offset, attempt in records:
                if process_pipeline.outcome(offset, attempt) in ("ack", "dead-letter"):
                    final[offset] = number
    found += [f"record {offset} has never come" for offset in range(values) if offset not in seen]
    with kill_loop.opened_patiently(directory / "work") as queue:
        workers = queue.consumer_stats()["workers"]
        if (workers.committed_offset, queue.consumer("workers").lag()) != (values, 0):
            found.append(f"{workers.committed_offset} of {values} records are committed, {workers}")
    letters = {int(record) for record in kill_loop.records(directory / "dead")}
    expected = {offset for offset in range(values) if offset % 11 == 5}
    found += [f"record {offset} is no dead letter" for offset in sorted(expected - letters)]
    found += [f"record {offset} is a dead letter" for offset in sorted(letters - expected)]
    return found


def run(kills: int, directory: Path, master: str = "local[2,4]", seed: int = 0, longest: float = 1.0) -> dict[str, int]:
    """Runs the loop; raises AssertionError if a record is lost, or came again where it must not."""
    chance = random.Random(seed)
    values = ended = 0
    with mmapqueue.Queue(directory / "work", capacity="64m") as queue:
        queue.create_consumer("workers")
        for _ in range(kills):
            queue.push_many(b"%d" % number for number in range(values, values + ROUND))
            values += ROUND
            before = len(batches(directory))
            pipeline = kill_loop.Pipeline(directory, master, once=False, workers=[], program=PROGRAM)
            try:
                pipeline.wait_for_start()
                if chance.random() < 0.8:
                    # Else the kill mostly comes before a handler has begun.
                    wait_for(pipeline, directory, before + chance.randint(1, 5))
                time.sleep(chance.uniform(0, longest))  # the load: a kill at any moment
                ended += pipeline.process.poll() is not None  # one task has failed too often
            finally:
                pipeline.kill()
        for _ in range(kill_loop.MISHAPS):
            pipeline = kill_loop.Pipeline(directory, master, once=True, workers=[], program=PROGRAM)
            try:
                pipeline.process.wait(kill_loop.SECONDS)
            finally:
                pipeline.kill()
            if pipeline.said("ended") and pipeline.process.returncode == 0:
                break
        else:
            raise RuntimeError(f"the query does not end:\n{pipeline.log.read_text(errors='replace')[-5000:]}")
    found = faults(directory, values)
    assert not found, "\n".join([f"kills={kills} seed={seed} master={master}: {len(found)} faults", *found[:20]])
    deliveries = [record for _, records in batches(directory) for record in records]
    letters = kill_loop.records(directory / "dead")
    return {
        "kills": kills,
        "ended by failed tasks": ended,
        "micro-batches": len(batches(directory)),
        "records": values,
        "deliveries": len(deliveries),
        "redeliveries": sum(attempt > 1 for _, attempt in deliveries),
        "dead letters": len(set(letters)),
        "dead letters twice": len(letters) - len(set(letters)),
    }


def wait_for(pipeline: kill_loop.Pipeline, directory: Path, count: int) -> None:
    """Waits until a number of micro-batches has begun, or the query has ended."""
    deadline = time.monotonic() + kill_loop.SECONDS
    while len(batches(directory)) < count and pipeline.process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)


if __name__ == "__main__":
    kill_loop.command(__doc__, "process-kills", run)
