"""Reading: pop, ack, iteration, consumers; under every configuration."""

from itertools import islice

import pytest
from memory_consumer import Clock, MemoryConsumer

import mmapqueue
from conftest import SMALL, Open, data, fill


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def memory(clock: Clock) -> MemoryConsumer:
    """A consumer without a JVM, whose time passes in waits alone."""
    return MemoryConsumer(clock)


def test_pop_many_keeps_its_limits(any_queue: mmapqueue.Queue) -> None:
    records = [bytes([i]) * (i * 7 % 300) for i in range(100)]
    any_queue.push_many(records)
    assert data(any_queue.pop_many(10)) == records[:10]
    assert data(any_queue.pop_many(1)) == records[10:11]
    # As many as fit, and one if none does.
    assert data(any_queue.pop_many(max_bytes=500)) == records[11:16]
    assert data(any_queue.pop_many(max_bytes=1)) == records[16:17]
    assert data(any_queue.pop_many(1000)) == records[17:]
    for limits in ({"max_records": 0}, {"max_records": -1}, {"max_bytes": 0}):
        with pytest.raises(ValueError, match="at least 1"):
            any_queue.pop_many(**limits)


def test_pop_many_never_gives_more_bytes_than_asked_for(open_queue: Open) -> None:
    queue = open_queue(capacity="64m")
    records = [b"x" * (i * 37 % 2000) for i in range(5000)]
    queue.push_many(records)
    got = []
    while batch := queue.pop_many(10**12, max_bytes=300_000):
        assert sum(map(len, data(batch))) <= 300_000
        got += data(batch)
    assert got == records


def test_pop_many_waits_for_the_first_alone(clock: Clock, memory: MemoryConsumer) -> None:
    assert memory.pop_many(timeout=25) == []
    assert 25 <= clock() < 25.1
    memory.push(b"one")
    assert data(memory.pop_many(timeout=None)) == [b"one"]
    memory.push(b"two")
    assert data(memory.pop_many(timeout="1h")) == [b"two"]


def test_peek_moves_nothing(any_queue: mmapqueue.Queue) -> None:
    any_queue.push_many([b"one", b"two"])
    peeked = any_queue.peek()
    assert peeked == any_queue.peek()
    assert any_queue.qsize() == 2
    assert any_queue.pop() == peeked
    assert data([any_queue.peek()]) == [b"two"]


def test_ack_is_cumulative(any_queue: mmapqueue.Queue) -> None:
    any_queue.push_many([b"%d" % i for i in range(10)])
    messages = any_queue.pop_many(6)
    any_queue.ack_up_to(messages[3])
    assert any_queue.lag() == 6
    any_queue.ack_up_to(1)
    assert any_queue.lag() == 6
    any_queue.ack_up_to(5)
    assert any_queue.lag() == 4
    assert any_queue.qsize() == 4


def test_ack_of_what_was_not_popped_is_out_of_range(any_queue: mmapqueue.Queue) -> None:
    any_queue.push_many([b"%d" % i for i in range(10)])
    any_queue.pop_many(3)
    for offset in (3, 9, 10, -1, 10**15):
        with pytest.raises(mmapqueue.OutOfRange) as caught:
            any_queue.ack(offset)
        assert (caught.value.requested, caught.value.first, caught.value.last) == (offset, 0, 2)
    for wrong in ("0", 1.0, None, b"0"):
        with pytest.raises(TypeError):
            any_queue.ack(wrong)
    assert any_queue.lag() == 10


def test_records_that_were_not_acked_are_redelivered(open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    queue.push_many([b"%d" % i for i in range(10)])
    queue.ack_up_to(queue.pop_many(7)[4])
    queue.close()
    again = open_queue(**SMALL)
    assert [(m.offset, m.data) for m in again] == [(i, b"%d" % i) for i in range(5, 10)]
    assert again.push(b"10") == 10


def test_a_left_loop_keeps_the_rest_of_its_batch(memory: MemoryConsumer) -> None:
    memory.push_many([b"%d" % i for i in range(50)])
    assert data(islice(memory, 5)) == [b"0", b"1", b"2", b"3", b"4"]
    assert memory.qsize() == 45
    assert memory.pop().data == b"5"
    assert data([memory.peek()]) == [b"6"]
    assert data(memory.pop_many(2)) == [b"6", b"7"]
    for message in memory.consume(timeout=0, max_records=10):
        if message.data == b"20":
            break

    def fail() -> None:
        for message in memory.consume():
            assert message.data == b"21"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    memory.ack_up_to(21)
    assert memory.lag() == 28
    assert data(memory.pop_many(max_bytes=5)) == [b"22", b"23"]
    memory.push(b"50")
    assert data(memory) == [b"%d" % i for i in range(24, 51)]
    assert memory.empty()


def test_two_iterators_share_the_records(memory: MemoryConsumer) -> None:
    memory.push_many([b"%d" % i for i in range(20)])
    one, two = memory.consume(timeout=0, max_records=5), memory.consume(timeout=0, max_records=5)
    assert [next(one).data, next(two).data, next(one).data] == [b"0", b"5", b"1"]
    one.close()
    assert [next(two).data for _ in range(4)] == [b"6", b"7", b"8", b"9"]
    assert next(two).data == b"2"


def test_consume_ends_when_nothing_comes(clock: Clock, memory: MemoryConsumer) -> None:
    memory.push_many([b"one", b"two"])
    assert data(memory.consume(timeout=30)) == [b"one", b"two"]
    assert 30 <= clock() < 30.1


def test_consumers_are_independent(open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    queue.push_many([b"one", b"two"])
    early = queue.consumer("early")
    late = queue.consumer("late", start="latest")
    assert queue.consumer("early") is early
    assert queue.consumer("default").pop().data == b"one"
    queue.push(b"three")
    assert data(early) == [b"one", b"two", b"three"]
    assert data(late) == [b"three"]
    assert (early.name, early.lag(), late.lag(), queue.lag()) == ("early", 3, 1, 3)
    early.ack_up_to(1)
    queue.close()
    with open_queue(consumer="early") as again:
        assert data(again) == [b"three"]
        assert data(again.consumer("late", start="latest")) == [b"three"]
        assert data(again.consumer("default")) == [b"one", b"two", b"three"]


def test_every_consumer_keeps_its_records(open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    slow = queue.consumer("slow")
    room = fill(queue)
    for message in queue:
        queue.ack(message)
    assert fill(queue) == 0
    slow.ack_up_to(slow.pop_many(room)[-1])
    assert fill(queue) > 0


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "x" * 101, "ü"])
def test_a_bad_name_of_a_consumer_is_refused(small_queue: mmapqueue.Queue, name: str) -> None:
    with pytest.raises(mmapqueue.ConfigError) as caught:
        small_queue.consumer(name)
    assert (caught.value.key, caught.value.value) == ("consumer", name)


def test_a_bad_start_of_a_consumer_is_refused(small_queue: mmapqueue.Queue) -> None:
    with pytest.raises(mmapqueue.ConfigError, match="earliest or latest"):
        small_queue.consumer("name", start="middle")


def test_membership_is_refused_and_pops_nothing(memory: MemoryConsumer) -> None:
    memory.push_many([b"a", b"b", b"c"])
    with pytest.raises(TypeError, match="a search would pop records"):
        _ = b"b" in memory
    with pytest.raises(TypeError, match="a search would pop records"):
        _ = b"b" not in memory
    assert (memory.qsize(), memory.unacked()) == (3, 0)


def test_a_loop_over_a_queue_pops_and_releases_what_it_does_not_take(memory: MemoryConsumer) -> None:
    memory.push_many([b"a", b"b", b"c"])
    assert any(message.data == b"a" for message in memory)
    assert (memory.qsize(), memory.unacked()) == (2, 1)
    with pytest.raises(TypeError):
        reversed(memory)  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        memory[0]  # type: ignore[index]
    assert (memory.qsize(), memory.unacked()) == (2, 1)
    assert data(list(memory)) == [b"b", b"c"]
