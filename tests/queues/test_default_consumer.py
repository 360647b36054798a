"""The consumer `default` is made by the first call that reads as it, and by no other."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import mmapqueue
from conftest import Open, Ring, Script

SMALL = Ring(segment_size="4k", queue_capacity_segments=8, max_in_mem_segments=10, max_event_size=3000)

READS: dict[str, Callable[[mmapqueue.Queue], object]] = {
    "pop": lambda queue: queue.pop(),
    "pop_many": lambda queue: queue.pop_many(),
    "iter": lambda queue: list(queue),
    "consume": lambda queue: list(queue.consume(timeout=0)),
    "handler": lambda queue: queue.process(str, timeout=0),
    "seek": lambda queue: queue.seek("latest"),
    "consumer": lambda queue: queue.consumer("default"),
}
LOOKS: dict[str, Callable[[mmapqueue.Queue], object]] = {
    "peek": lambda queue: queue.peek(),
    "size": lambda queue: queue.qsize(),
    "lag": lambda queue: queue.lag(),
    "unacked": lambda queue: queue.unacked(),
    "empty": lambda queue: queue.empty(),
    "stats": lambda queue: queue.stats(),
    "consumer_stats": lambda queue: queue.consumer_stats(),
    "acked_ranges": lambda queue: queue.acked_ranges("default"),
    "get": lambda queue: queue.read_at(0),
    "full": lambda queue: queue.full(),
    "flush": lambda queue: queue.flush(),
    "gc": lambda queue: queue.gc(),
}
ACKS: dict[str, Callable[[mmapqueue.Queue], object]] = {
    "ack": lambda queue: queue.ack(0),
    "ack_up_to": lambda queue: queue.ack_up_to(0),
    "ack_many": lambda queue: queue.ack_many([0]),
    "nack": lambda queue: queue.nack(0),
}


@pytest.mark.parametrize("call", READS.values(), ids=READS)
def test_a_call_that_reads_makes_it(open_queue: Open, call: Callable[[mmapqueue.Queue], object]) -> None:
    queue = open_queue(**SMALL)
    queue.push_many([b"one", b"two"])
    assert queue.consumers() == []
    call(queue)
    assert queue.consumers() == ["default"]


@pytest.mark.parametrize("call", LOOKS.values(), ids=LOOKS)
def test_a_call_that_looks_does_not(open_queue: Open, call: Callable[[mmapqueue.Queue], object]) -> None:
    queue = open_queue(**SMALL)
    queue.push_many([b"one", b"two"])
    call(queue)
    assert queue.consumers() == []
    queue.pop()
    queue.delete_consumer("default")
    call(queue)
    assert queue.consumers() == []


@pytest.mark.parametrize("call", ACKS.values(), ids=ACKS)
def test_an_ack_does_not_and_raises(open_queue: Open, call: Callable[[mmapqueue.Queue], object]) -> None:
    queue = open_queue(**SMALL)
    queue.push_many([b"one", b"two"])
    with pytest.raises(mmapqueue.OutOfRange):
        call(queue)
    assert queue.consumers() == []
    assert queue.pop().offset == 0
    queue.delete_consumer("default")
    with pytest.raises(mmapqueue.OutOfRange):
        call(queue)
    assert queue.consumers() == []


def test_what_is_seen_without_it(open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    assert queue.peek() is None
    assert (queue.qsize(), queue.lag(), queue.unacked(), queue.empty()) == (0, 0, 0, True)
    queue.push_many([b"one", b"two"])
    message = queue.peek()
    assert message is not None
    assert (message.offset, message.data, message.attempts) == (0, b"one", 1)
    assert (queue.qsize(), queue.lag(), queue.unacked(), queue.empty()) == (2, 2, 0, False)


def test_a_pop_after_its_deletion_makes_it_again(open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    queue.push_many([b"one", b"two", b"three"])
    queue.ack_many(queue.pop_many(2))
    queue.delete_consumer("default")
    assert queue.consumers() == []
    assert queue.pop().data == b"three"
    assert queue.consumers() == ["default"]


def test_full_and_stats_say_which_consumer_holds_the_ring(open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    assert queue.stats().slowest_consumer is None
    with pytest.raises(mmapqueue.Full, match="it has no consumer"):
        queue.push_many([b"x" * 500] * 100, block=False)
    fast = queue.consumer("fast")
    fast.pop()
    queue.create_consumer("slow")
    fast.ack_up_to(fast.pop())
    assert queue.stats().slowest_consumer == "slow"
    with pytest.raises(mmapqueue.Full, match=r"the slowest consumer is slow, [0-9]+ bytes behind"):
        queue.push_many([b"x" * 500] * 100, block=False)


READER = """
    import sys
    import mmapqueue
    with mmapqueue.Queue(sys.argv[1], read_only=True) as queue:
        assert queue.consumers() == [], queue.consumers()
        assert queue.peek().data == b"0"
        assert queue.consumers() == [], queue.consumers()
        for message in queue:
            queue.ack(message)
        print(queue.consumers(), message.offset)
"""


def test_a_process_that_only_reads_makes_it(open_queue: Open, script: Script) -> None:
    queue = open_queue(**SMALL)
    queue.push_many(b"%d" % i for i in range(20))
    assert script.run(READER, queue.path) == "['default'] 19\n"
    assert queue.consumers() == ["default"]
    queue.push_many([b"x" * 500] * 30)
    with pytest.raises(mmapqueue.Full, match="slowest consumer is default"):
        queue.push_many([b"x" * 500] * 100, block=False)
