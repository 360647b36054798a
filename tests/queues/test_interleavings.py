"""A consumer keeps its promises in any order of the steps of its threads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from operator import length_hint

import pytest
from interleaving import Scheduler, consumer, run_seeds

from mmapqueue._queue.consuming.ahead import Ahead
from mmapqueue._queue.consuming.popper import Popper
from mmapqueue._queue.consuming.upkeep import Next
from mmapqueue._queue.deadline import Deadline
from mmapqueue._values.errors import Closed, Empty, OutOfRange
from mmapqueue._values.message import AnyMessage

#: Acks wait until something sends them, or the thread in the background does.
AHEAD = Ahead(prefetch=4096, ack_linger=1000.0)
NOW = Deadline(block=False)


def pop(popper: Popper) -> AnyMessage | None:
    """As `Queue.pop(block=False)`; None when nothing is left."""
    for message in popper.delivery.ready:
        return message
    try:
        return popper.pop_one(NOW)
    except Empty:
        return None


def pop_many(popper: Popper, count: int) -> list[AnyMessage]:
    """As `Queue.pop_many(count, block=False)`."""
    return popper.pop_batch(count, 1 << 30, NOW).messages


def ack_up_to(popper: Popper, message: AnyMessage) -> None:
    """As `Queue.ack_up_to(message)`."""
    pending = popper.acks.pending
    if message.origin is pending.origin:
        pending.up_to.append(message.offset)
        if pending.rings:
            popper.acks.ring(pending)
    else:
        popper.ack_up_to(message.offset)


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


def one_run_of_cumulative_acks(seed: int, lines: bool) -> None:
    """Two threads pop single records and batches, and ack up to the last one; in some runs they nack, too, or seek."""
    scheduler = Scheduler(seed, lines)
    random = scheduler.random
    redelivers = random.choice(("never", "nack", "nack later", "seek"))
    with consumer(scheduler, AHEAD) as (popper, port, upkeep):
        port.push(*[b"x"] * 40)
        delivered: Counter[int] = Counter()
        left = [2]

        def work() -> None:
            while True:
                if random.random() < 0.6:
                    messages = [message] if (message := pop(popper)) else []
                else:
                    messages = list(pop_many(popper, random.choice((1, 3, 9))))
                if not messages:
                    break
                delivered.update(message.offset for message in messages)
                scheduler.step("handle")
                # The record may have been acked by the other thread, or popped before its seek.
                with suppress(OutOfRange):
                    if redelivers == "seek" and random.random() < 0.1:
                        popper.seek("committed", releases=True)
                    elif redelivers.startswith("nack") and random.random() < 0.3:
                        popper.nack(messages[0].offset, 0.1 if redelivers == "nack later" else 0)
                    else:
                        ack_up_to(popper, messages[-1])
            left[0] -= 1
            if not left[0]:
                upkeep.stopped = True

        scheduler.run(work, work, upkeep.work)
        scheduler.now += 1
        delivered.update(message.offset for message in pop_many(popper, 100))
        assert sorted(delivered) == list(range(40)), "a record that no caller has received is acked"
        if redelivers == "never":
            assert set(delivered.values()) == {1}, "a record was delivered twice"


def test_the_thread_in_the_background_meets_a_close() -> None:
    scheduler = Scheduler(0)
    with consumer(scheduler, AHEAD) as (popper, port, _):
        port.push(*[b"x"] * 20)
        first, second = pop(popper), pop(popper)
        assert first is not None
        assert second is not None
        assert popper.delivery.ahead()
        popper.nack(first.offset, 0.1)
        popper.ack(second.offset, second.origin)
        scheduler.now += 1
        port.step = lambda _: setattr(port, "closed", True)
        assert popper.tidy() == Next(None, hold=False)


@pytest.mark.long_form
@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("run", [one_run, one_run_of_cumulative_acks])
def test_threads_that_pop_and_ack(run: Callable[[int, bool], None], lines: bool) -> None:
    run_seeds(run, lines, 200, kept=(495, 1951) if run is one_run else ())
