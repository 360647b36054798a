"""Handlers in several threads fail, answer for themselves, stop and meet a close: no record is lost."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

import pytest
from interleaving import Scheduler, consumer, run_seeds, stepped
from memory_queue import MemoryQueue

from mmapqueue._queue import deadline, workers
from mmapqueue._queue.consuming.ahead import Ahead
from mmapqueue._values.errors import Closed
from mmapqueue._values.message import AnyMessage

RECORDS = 12
AHEAD = Ahead(prefetch=4096, ack_linger=1000.0)


class Stop(BaseException):
    """Ends a call of `process`."""


def one_run(seed: int, lines: bool) -> None:
    """A call of `process`, beside a thread that pops, and one that closes."""
    scheduler = Scheduler(seed, lines)
    random = scheduler.random
    closes = random.choice((None, None, "close", "close the queue"))
    stops = random.choice((0.0, 0.0, 0.1))
    outcomes = random.choice(
        (
            ("return",),
            ("return", "raise"),
            ("return", "ack", "ack and raise"),
            ("return", "nack", "release", "raise"),
            ("return", "nack and raise", "release and raise"),
        )
    )
    running: Counter[int] = Counter()
    returned = 0
    # Records that a caller has acked, or for which a handler has returned.
    handled: set[int] = set()
    raised: list[BaseException] = []
    left = [2]

    def check() -> None:
        """Raises Ctrl-C between two steps of the call."""
        if stops and random.random() < stops / 10:
            raise Stop

    class Shield:
        def __enter__(self) -> None:
            pass

        def __exit__(self, *error: object) -> None:
            if error[0] is None:
                check()

    with (
        stepped(scheduler, workers, deadline),
        consumer(scheduler, AHEAD) as (popper, port, upkeep),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(workers, "Shield", Shield)
        port.push(*[b"x"] * RECORDS)
        queue = MemoryQueue(port)
        reader = queue.consumer(popper)

        def handler(message: AnyMessage) -> None:
            nonlocal returned
            running[message.offset] += 1
            assert running[message.offset] == 1, f"two handlers have record {message.offset}"
            assert message.offset not in handled, f"record {message.offset} is handled twice"
            scheduler.step("handle")
            outcome = random.choice(outcomes)
            running[message.offset] -= 1
            with suppress(Closed):
                if outcome.startswith("ack"):
                    message.ack()
                    handled.add(message.offset)
                elif outcome.startswith("nack"):
                    message.nack(delay=random.choice((0, 0.005)))
                elif outcome.startswith("release"):
                    reader.release([message])
            for _ in range(random.choice((0, 1, 20))):
                scheduler.step("answered")
            if random.random() < stops / 10:
                raise Stop
            if outcome.endswith("raise"):
                raise ValueError
            if outcome == "return":
                handled.add(message.offset)
            returned += 1

        def ended() -> None:
            left[0] -= 1
            if not left[0]:
                upkeep.stopped = True

        def process() -> None:
            try:
                count = reader.process(
                    handler,
                    workers=random.choice((1, 2, 3)),
                    timeout=random.choice((0, 0.01)),
                    retry_delay=random.choice((0, 0.002)),
                    max_records=random.choice((1, 3, 100)),
                )
                assert count == returned
            except (Stop, Closed) as error:
                raised.append(error)
            ended()

        def pop() -> None:
            with suppress(Closed):
                for _ in range(3):
                    for message in reader.pop_many(1):
                        running[message.offset] += 1
                        assert running[message.offset] == 1, f"two callers have record {message.offset}"
                        scheduler.step("pop")
                        running[message.offset] -= 1
                        handled.add(message.offset)
                        message.ack()
            ended()

        def close() -> None:
            for _ in range(random.choice((10, 100))):
                scheduler.step("before the close")
            reader.close() if closes == "close" else queue.close()

        scheduler.run(process, pop, upkeep.work, *[close] * bool(closes))
        assert not any(isinstance(each, Closed) for each in raised) or closes
        assert not any(isinstance(each, Stop) for each in raised) or stops
        if not closes:
            popper.send_acks()
        assert port.acked <= handled, f"acked, and not handled: {port.acked - handled}"
        if not closes and not raised:
            if {"nack", "release", "raise"}.isdisjoint(" ".join(outcomes).split()):
                assert len(handled) == RECORDS, "the call has ended too early"
            assert handled <= port.acked, f"handled, and not acked: {handled - port.acked}"
            assert port.unacked() == popper.delivery.ahead(), "a record is neither delivered nor requeued"


@pytest.mark.long_form
@pytest.mark.parametrize("lines", [False, True])
def test_handlers(lines: bool) -> None:
    run_seeds(one_run, lines, 25 if lines else 60, kept=(110, 218, 967))
