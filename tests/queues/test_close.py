"""Calls that meet the close of their queue raise Closed, whatever the JVM answers by then."""

import random
import threading
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

import mmapqueue
from conftest import LONG, Open
from mmapqueue._jvm.calls import Call

Task = Callable[[mmapqueue.Queue], object]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

#: Calls of each kind.
CALLS: dict[str, Task] = {
    "push": lambda queue: queue.push(b"x"),
    "push sync": lambda queue: queue.push(b"x", sync=True),
    "push large": lambda queue: queue.push(b"x" * 100_000),
    "push_many": lambda queue: queue.push_many([b"x"] * 3),
    "push_many large": lambda queue: queue.push_many([b"x" * 100_000] * 2),
    "push_many atomic": lambda queue: queue.push_many([b"x"] * 3, atomic=True),
    "push_once": lambda queue: queue.push_once("producer", queue.end_offset(), [b"x"]),
    "pop": lambda queue: queue.pop(timeout=0.001),
    "pop_many": lambda queue: queue.pop_many(5),
    "peek": lambda queue: queue.peek(),
    "iterate": lambda queue: next(iter(queue), None),
    "ack": lambda queue: queue.ack(queue.pop(timeout=0.001)),
    "ack_up_to": lambda queue: queue.ack_up_to(queue.pop(timeout=0.001)),
    "ack_many": lambda queue: queue.ack_many(queue.pop_many(5)),
    "nack": lambda queue: queue.nack(queue.pop(timeout=0.001)),
    "seek": lambda queue: queue.seek("latest"),
    "size": lambda queue: queue.qsize(),
    "lag": lambda queue: queue.lag(),
    "unacked": lambda queue: queue.unacked(),
    "get": lambda queue: queue.read_at(queue.first_offset()),
    "get_many": lambda queue: queue.read_many(queue.first_offset(), 1000),
    "find": lambda queue: queue.find(_EPOCH),
    "first_offset": lambda queue: queue.first_offset(),
    "end_offset": lambda queue: queue.end_offset(),
    "stats": lambda queue: queue.stats(),
    "consumer_stats": lambda queue: queue.consumer_stats(),
    "acked_ranges": lambda queue: queue.acked_ranges("default"),
    "consumers": lambda queue: queue.consumers(),
    "consumer": lambda queue: queue.consumer("second").close(),
    "create_consumer": lambda queue: queue.create_consumer("third", start="latest"),
    "delete_consumer": lambda queue: queue.delete_consumer("third"),
    "producers": lambda queue: queue.producers(),
    "last_sequence": lambda queue: queue.last_sequence("producer"),
    "forget_producer": lambda queue: queue.forget_producer("producer"),
    "full": lambda queue: queue.full(),
    "flush": lambda queue: queue.flush(),
    "gc": lambda queue: queue.gc(),
}
#: Errors of a call that has not met the close.
EXPECTED = (mmapqueue.Empty, mmapqueue.OutOfRange, mmapqueue.ConfigError, mmapqueue.Locked)


@pytest.mark.parametrize("released", [False, True], ids=["closed", "released"])
@pytest.mark.parametrize("kind", CALLS)
def test_a_call_that_is_sent_after_the_close_raises_closed(
    open_queue: Open, monkeypatch: pytest.MonkeyPatch, kind: str, released: bool
) -> None:
    """The close happens right before the call is sent; the JVM has released the object, or still knows it."""
    within = Call.within
    armed: list[mmapqueue.Queue] = []

    def within_after_close(call: Call, *arguments: Any) -> Any:
        if armed and call._lifetime is armed[0]._handle.lifetime:
            armed.pop().close()
            if released:
                call._owner._detach()
        return within(call, *arguments)

    # Queues bind the method when they open.
    monkeypatch.setattr(Call, "within", within_after_close)
    queue = open_queue(max_event_size=200_000)
    queue.push_many([b"%d" % number for number in range(20)])
    queue.create_consumer("third")
    queue.push_once("producer", 0, [b"x"])
    queue.pop()
    armed.append(queue)
    with pytest.raises(mmapqueue.Closed, match=f"the queue in {queue.path} is closed"):
        CALLS[kind](queue)
    assert not armed


@pytest.mark.parametrize("seed", range(200 if LONG else 20))
def test_threads_that_call_while_the_queue_closes_raise_closed(open_queue: Open, tmp_path: Path, seed: int) -> None:
    choice = random.Random(seed)
    calls_done = threading.Semaphore(0)
    ended: dict[str, BaseException] = {}

    def repeat(kind: str, queue: mmapqueue.Queue) -> None:
        while True:
            try:
                CALLS[kind](queue)
            except EXPECTED:
                pass
            except BaseException as error:
                ended[kind] = error
                calls_done.release()
                return
            calls_done.release()

    queue = open_queue(tmp_path / str(seed), max_event_size=200_000)
    kinds = choice.sample(list(CALLS), 6)
    threads = [threading.Thread(target=repeat, args=(kind, queue), daemon=True) for kind in kinds]
    for thread in threads:
        thread.start()
    for _ in range(choice.randrange(1, 60)):
        assert calls_done.acquire(timeout=60)
    queue.close()
    for thread in threads:
        thread.join(60)
    texts = {kind: f"{type(error).__name__}: {error}" for kind, error in ended.items()}
    assert texts == dict.fromkeys(kinds, f"Closed: the queue in {queue.path} is closed")
