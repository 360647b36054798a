"""Tasks, threads and cancellations share a consumer: no record is lost, and none is delivered twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import aclosing, suppress
from typing import Any

import pytest
from interleaving import Scheduler, StepLoop, consumer, run_seeds, stepped
from memory_queue import MemoryQueue

from mmapqueue._queue import async_iteration, deadline, opening, threads
from mmapqueue._queue.consuming.ahead import Ahead
from mmapqueue._values.errors import Closed, Empty, OutOfRange
from mmapqueue._values.message import AnyMessage

RECORDS = 16
AHEAD = Ahead(prefetch=4096, ack_linger=1000.0)


class Handled(Exception):
    """Raised in a block."""


def one_run(seed: int, lines: bool) -> None:
    """Two tasks, which a third one cancels, beside a thread, and one that seeks or closes."""
    scheduler = Scheduler(seed, lines)
    random = scheduler.random
    end = random.choice(("nothing", "nothing", "seek", "close", "close the queue"))
    ways = random.choice((("apop",), ("block",), ("apop_many",), ("aconsume",), ("apop", "block", "apop_many")))
    delivered: Counter[int] = Counter()
    # The offsets of acks that were begun, and of those that have returned.
    begun: set[int] = set()
    acked: set[int] = set()
    redelivers = end == "seek"

    with (
        stepped(scheduler, async_iteration, threads, deadline),
        consumer(scheduler, AHEAD) as (popper, port, upkeep),
    ):
        port.push(*[b"x"] * RECORDS)
        queue = MemoryQueue(port)
        reader = queue.consumer(popper)

        def receive(message: AnyMessage) -> None:
            delivered[message.offset] += 1
            scheduler.step("handle")

        async def ack(message: AnyMessage) -> None:
            begun.add(message.offset)
            await reader.aack(message)
            acked.add(message.offset)

        async def pop(way: str) -> None:
            if way == "apop":
                message = await reader.apop(timeout=0.01)
                receive(message)
                await ack(message)
            elif way == "block":
                async with reader.apop(timeout=0.01) as message:
                    receive(message)
                    begun.add(message.offset)
                acked.add(message.offset)
            elif way == "apop_many":
                messages = await reader.apop_many(3)
                for message in messages:
                    receive(message)
                for message in messages:
                    await ack(message)
            else:
                async with aclosing(reader.aconsume(timeout=0.01, max_records=4)) as iterator:
                    async for message in iterator:
                        receive(message)
                        if random.random() < 0.3:
                            break
                        await ack(message)

        async def task() -> None:
            for _ in range(4):
                try:
                    await pop(random.choice(ways))
                except (asyncio.CancelledError, Empty):
                    continue
                except (Closed, OutOfRange):
                    if end == "nothing":
                        raise

        async def main() -> None:
            tasks = [asyncio.create_task(task()) for _ in range(2)]
            for _ in range(random.choice((0, 2, 5))):
                await asyncio.sleep(random.choice((0, 0.001, 0.005)))
                random.choice(tasks).cancel()
            for result in await asyncio.gather(*tasks, return_exceptions=True):
                # A task that was cancelled before its first step.
                assert result is None or isinstance(result, asyncio.CancelledError), result
            if end == "nothing" or end == "seek":
                upkeep.stopped = True

        def sync() -> None:
            with suppress(Closed):
                for _ in range(4):
                    for message in reader.pop_many(2):
                        receive(message)
                        begun.add(message.offset)
                        # Released by the seek; or by the close, beside which another caller may have it, too.
                        with suppress(OutOfRange):
                            reader.ack(message)
                            acked.add(message.offset)

        def finish() -> None:
            for _ in range(random.choice((0, 20, 100))):
                scheduler.step("before the end")
            if end == "seek":
                reader.seek("committed")
            elif end.startswith("close"):
                reader.close() if end == "close" else queue.close()
                upkeep.stopped = True

        loop = StepLoop(scheduler)
        scheduler.run(lambda: loop.run(main()), sync, upkeep.work, finish)
        if end.startswith("close"):
            assert acked <= port.acked, "an ack that met the close is lost"
        else:
            popper.send_acks()
            assert acked <= port.acked or redelivers, "an ack is lost"
            assert (
                port.unacked() - popper.delivery.ahead()
                == sum(count for offset, count in delivered.items() if offset not in port.acked)
                or redelivers
            ), "a record is neither delivered nor requeued"
            drained = Counter(message.offset for message in reader.pop_many(1000))
            lost = set(range(RECORDS)) - set(delivered) - set(drained)
            assert not lost, f"lost: {lost}"
            twice = [offset for offset, count in (delivered + drained).items() if count > 1]
            assert redelivers or not twice, f"delivered twice: {twice}"
        assert port.acked <= begun, "a record is acked that no caller has acked"


def one_run_of_opens(seed: int, lines: bool) -> None:
    """Tasks that open a queue, and are cancelled: each queue has a caller, or is closed."""
    scheduler = Scheduler(seed, lines)
    random = scheduler.random
    opened: list[Any] = []
    received: list[Any] = []

    class Opened:
        closed = False

        def close(self) -> None:
            scheduler.step("close")
            assert not self.closed
            self.closed = True

    def opens() -> Any:
        scheduler.step("open")
        if random.random() < 0.2:
            raise Closed("not opened")
        queue = Opened()
        opened.append(queue)
        scheduler.step("opened")
        return queue

    async def task() -> None:
        with suppress(Closed):
            received.append(await opening._aopen(opens))

    async def main() -> None:
        tasks = [asyncio.create_task(task()) for _ in range(3)]
        for each in tasks:
            await asyncio.sleep(random.choice((0, 0, 0.001, 0.002)))
            if random.random() < 0.7:
                each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    with stepped(scheduler, opening), pytest.MonkeyPatch.context() as patch:
        patch.setattr("concurrent.futures.ThreadPoolExecutor", scheduler.replacements()["ThreadPoolExecutor"])
        scheduler.run(lambda: StepLoop(scheduler).run(main()))
    assert {id(each) for each in opened if not each.closed} == set(map(id, received))


@pytest.mark.long_form
@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("run", [one_run, one_run_of_opens])
def test_tasks_that_are_cancelled(run: Any, lines: bool) -> None:
    run_seeds(run, lines, 30 if lines else 60)
