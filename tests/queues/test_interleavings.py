"""A consumer keeps its promises in any order of the steps of its threads. `SEED=n` repeats a failure."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import suppress
from operator import length_hint

import pytest
from interleaving import Scheduler, consumer

from conftest import LONG
from mmapqueue._queue.consuming.ahead import Ahead
from mmapqueue._queue.deadline import Deadline
from mmapqueue._values.errors import Closed, Empty
from mmapqueue._values.message import AnyMessage

#: Acks wait until something sends them, or the thread in the background does.
AHEAD = Ahead(prefetch=4096, ack_linger=1000.0)
SEEDS = [int(os.environ["SEED"])] if "SEED" in os.environ else range(5000 if LONG else 100)


def pop(popper: object) -> AnyMessage | None:
    """As `Queue.pop(block=False)`; None when nothing is left."""
    for message in popper.delivery.ready:  # type: ignore[attr-defined]
        return message  # type: ignore[no-any-return]
    try:
        return popper.pop_one(Deadline(False, None))  # type: ignore[attr-defined, no-any-return]
    except Empty:
        return None


def one_run(seed: int, lines: bool) -> None:
    """Two threads pop and ack beside the thread in the background, and one that seeks or closes."""
    scheduler = Scheduler(seed, lines)
    closes = scheduler.random.random() < 0.5
    # Few records: the ends of threads meet.
    pops = scheduler.random.choice((1, 2, 8))
    with consumer(scheduler, AHEAD) as (popper, port, upkeep):
        port.push(*[b"x"] * 20)
        delivered: Counter[int] = Counter()
        acked: set[int] = set()
        left = [2]

        def work() -> None:
            with suppress(Closed):
                for _ in range(pops):
                    message = pop(popper)
                    if message is None:
                        break
                    delivered[message.offset] += 1
                    scheduler.step("handle")
                    popper.ack(message.offset, message.origin)
                    acked.add(message.offset)
                    if scheduler.random.random() < 0.5:
                        popper.send_acks()
                        # The caller's next push finds the room.
                        assert closes or message.offset in port.acked, "an own ack is not sent"
            left[0] -= 1
            if not left[0] and not closes:
                upkeep.stopped = True

        def end() -> None:
            scheduler.step("before the end")
            if closes:
                popper.close()
                upkeep.stopped = True

        scheduler.run(work, work, upkeep.work, end)
        assert all(count == 1 for count in delivered.values()), "a record was delivered twice"
        if closes:
            assert acked <= port.acked, "an ack that met the close is lost"
            assert not length_hint(popper.delivery.ready)
        else:
            popper.send_acks()
            assert acked <= port.acked, "an ack is lost"
            assert port.unacked() == popper.delivery.ahead(), "a record is neither delivered nor requeued"


@pytest.mark.long_form
@pytest.mark.parametrize("lines", [False, True])
def test_threads_that_pop_and_ack_beside_a_close(lines: bool) -> None:
    for seed in SEEDS:
        try:
            one_run(seed, lines)
        except BaseException as error:
            raise AssertionError(f"SEED={seed}: {error}") from error
