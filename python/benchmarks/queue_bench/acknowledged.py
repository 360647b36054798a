"""How long a record of a batching producer waits until its handle is done."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import repeat
from pathlib import Path
from typing import Any

import mmapqueue

#: Of the producer, in seconds: the default.
LINGER = 0.005
_PAYLOAD = 100
#: One push each: often enough that records share batches, seldom enough that no push waits for the one before.
_PAUSE = 0.0005
_PUSHES = 2000


def measure(scratch: Path, rounds: int, tell: Callable[[str], None]) -> dict[str, Any]:
    """Pushes at an even pace, and times each record from its push to the callback of its handle.

    Args:
        scratch: Where the queue is made.
        rounds: How often.
        tell: Prints progress.

    Returns:
        Percentiles of each round, in ms.
    """
    found: dict[str, Any] = {"linger_ms": LINGER * 1000, "payload": _PAYLOAD, "p50_ms": [], "p99_ms": []}
    with mmapqueue.Queue(tempfile.mkdtemp(dir=scratch), capacity="64m") as queue:
        for number in range(rounds):
            with queue.producer(linger=LINGER) as producer:
                _round(producer)
                waits = sorted(_round(producer))
            found["p50_ms"].append(round(statistics.median(waits), 3))
            found["p99_ms"].append(round(waits[int(0.99 * len(waits))], 3))
            tell(f"acknowledged, round {number + 1}: p99 {found['p99_ms'][-1]} ms")
    return found


def _round(producer: mmapqueue.BatchingProducer[bytes]) -> list[float]:
    waits: list[float] = []
    record = b"x" * _PAYLOAD
    for _ in repeat(None, _PUSHES):
        start = time.perf_counter()

        def done(_handle: mmapqueue.PushHandle, start: float = start) -> None:
            waits.append((time.perf_counter() - start) * 1000)

        producer.push(record).add_done_callback(done)
        time.sleep(_PAUSE)
    producer.flush()
    return waits
