"""Batches of Apache Arrow that are popped and acked."""

import os
from collections.abc import Callable
from datetime import timezone
from typing import Any

import pyarrow as pa
import pytest
from arrow_batches import KILOBYTES, RECORDS, offsets, values

import mmapqueue
from conftest import SMALL, Open
from mmapqueue._jvm.shared_buffer import LENT_BYTES


def test_a_pop_returns_the_records(any_queue: mmapqueue.Queue) -> None:
    pushed = [b"one", b"", b"three" * 100]
    any_queue.push_many(pushed)
    batch = any_queue.pop_arrow()
    assert (values(batch), offsets(batch)) == (pushed, [0, 1, 2])
    stamped = any_queue.config["timestamps"] in ("true", True)
    times = batch["timestamp"].to_pylist()
    if stamped:
        messages = any_queue.read_many(0, 3)
        assert times == [message.timestamp for message in messages]
        assert times[0].tzinfo is not None
        assert times[0].utcoffset() == timezone.utc.utcoffset(None)
    else:
        assert times == [None, None, None]
    any_queue.ack(batch)
    assert any_queue.lag() == 0


def test_nothing_left_is_an_empty_batch(any_queue: mmapqueue.Queue) -> None:
    batch = any_queue.pop_arrow()
    assert (values(batch), batch.num_rows) == ([], 0)
    any_queue.push(b"x")
    any_queue.pop()
    any_queue.ack(batch)
    any_queue.ack_many(batch)
    assert any_queue.lag() == 1


def test_one_record(any_queue: mmapqueue.Queue) -> None:
    any_queue.push(b"one")
    assert values(any_queue.pop_arrow(1)) == [b"one"]


def test_limits(open_queue: Open) -> None:
    queue = open_queue()
    queue.push_many(KILOBYTES)
    assert queue.pop_arrow(7).num_rows == 7
    assert queue.pop_arrow(max_bytes=3000).num_rows == 2
    assert queue.pop_arrow(max_bytes="5k").num_rows == 5
    assert queue.pop_arrow(max_bytes=1).num_rows == 1
    assert offsets(queue.pop_arrow()) == list(range(15, 1000))
    for wrong in ({"max_records": 0}, {"max_bytes": 0}):
        with pytest.raises(ValueError, match="must be at least 1"):
            queue.pop_arrow(**wrong)


def test_more_than_a_buffer_holds_comes_in_several_batches(open_queue: Open) -> None:
    queue = open_queue(capacity="32m")
    queue.push_many(KILOBYTES * 9)
    batches = []
    while (batch := queue.pop_arrow()).num_rows:
        assert batch["value"].nbytes <= LENT_BYTES
        batches.append(batch)
    assert len(batches) == 3
    assert [value for batch in batches for value in values(batch)] == KILOBYTES * 9


def test_a_record_larger_than_a_buffer(open_queue: Open) -> None:
    queue = open_queue(capacity="64m", max_event_size="10m")
    large = os.urandom(LENT_BYTES + 12_345)
    assert queue.push_arrow(pa.table({"value": [b"before", large, b"after"]})) == 3
    assert [values(queue.pop_arrow()) for _ in range(3)] == [[b"before"], [large], [b"after"]]
    assert values(queue.read_arrow()) == [b"before", large, b"after"]


def test_a_pop_waits_for_the_first_record(
    small_queue: mmapqueue.Queue, in_thread: Callable[[Callable[[], Any]], Any]
) -> None:
    popped = in_thread(lambda: small_queue.pop_arrow(timeout=60))
    small_queue.push(b"late")
    assert values(popped.result()) == [b"late"]


def test_a_closed_queue_raises(small_queue: mmapqueue.Queue) -> None:
    small_queue.close()
    batch = pa.table({"value": [b"x"]})
    for call in (
        small_queue.pop_arrow, small_queue.read_arrow, small_queue.iter_arrow, lambda: small_queue.push_arrow(batch),
    ):  # fmt: skip
        with pytest.raises(mmapqueue.Closed):
            call()


def test_what_was_popped_and_not_delivered_comes_first(any_queue: mmapqueue.Queue) -> None:
    any_queue.push_many([b"%d" % i for i in range(10)])
    for message in any_queue.consume(timeout=0):
        assert message.offset == 0
        break
    assert offsets(any_queue.pop_arrow(4)) == [1, 2, 3, 4]
    assert [message.offset for message in any_queue.pop_many(2)] == [5, 6]
    assert offsets(any_queue.pop_arrow()) == [7, 8, 9]


def test_undelivered_records_and_new_ones_are_one_batch(open_queue: Open) -> None:
    queue = open_queue()
    queue.push_many(KILOBYTES)
    for _ in queue.consume(timeout=0, max_records=10):
        break
    batch = queue.pop_arrow()
    assert values(batch) == KILOBYTES[1:]
    assert offsets(batch) == list(range(1, 1000))


def test_requeued_records_are_redelivered(any_queue: mmapqueue.Queue) -> None:
    any_queue.push_many([b"a", b"b", b"c", b"d"])
    any_queue.pop_arrow(3)
    any_queue.nack(1)
    assert offsets(any_queue.pop_arrow()) == [1, 3]


def test_dropped_and_unacked_limit_are_raised(open_queue: Open) -> None:
    queue = open_queue(**SMALL, max_unacked=2)
    queue.push_many([b"x"] * 5)
    assert queue.pop_arrow().num_rows == 2
    with pytest.raises(mmapqueue.UnackedLimit):
        queue.pop_arrow()
    assert queue.unacked() == 2


def test_an_ack_of_a_batch(any_queue: mmapqueue.Queue) -> None:
    any_queue.push_many([b"x"] * 10)
    first, second, third = any_queue.pop_arrow(3), any_queue.pop_arrow(3), any_queue.pop_arrow()
    any_queue.ack_many(second)
    assert (any_queue.lag(), any_queue.unacked()) == (7, 7)
    any_queue.ack(first)
    assert (any_queue.lag(), any_queue.unacked()) == (4, 4)
    any_queue.ack(third.slice(1, 2))
    assert any_queue.unacked() == 2
    any_queue.ack_many(pa.Table.from_batches([third.slice(0, 1), third.slice(3)]))
    assert any_queue.lag() == 0
    with pytest.raises(TypeError, match="column offset"):
        any_queue.ack(third.select(["value"]))
    with pytest.raises(TypeError, match="nack takes a message or an offset, not RecordBatch"):
        any_queue.nack(third)


def test_acks_and_releases_of_several_batches(any_queue: mmapqueue.Queue) -> None:
    any_queue.push_many([b"x"] * 8)
    batches = [any_queue.pop_arrow(2), any_queue.pop_arrow(2)]
    message, *more = any_queue.pop_many(3)
    with pytest.raises(TypeError, match="ack_many takes a message or an offset, not str"):
        any_queue.ack_many([*batches, "4"])
    with pytest.raises(TypeError, match="column offset"):
        any_queue.ack_many([batches[0].select(["value"])])
    assert any_queue.lag() == 8
    any_queue.ack_many([message, *batches, more[0].offset])
    assert (any_queue.lag(), any_queue.unacked()) == (2, 1)
    last = any_queue.pop_arrow()
    any_queue.release(last)
    any_queue.release([any_queue.pop_arrow(), more[1]])
    assert (any_queue.lag(), any_queue.unacked(), any_queue.qsize()) == (2, 0, 2)


def test_records_that_were_not_popped_cannot_be_acked(any_queue: mmapqueue.Queue) -> None:
    any_queue.push_many([b"x"] * 3)
    read = any_queue.read_arrow()
    any_queue.pop_arrow(1)
    for ack in (any_queue.ack, any_queue.ack_many):
        with pytest.raises(mmapqueue.OutOfRange):
            ack(read)
    assert any_queue.lag() == 3


def test_each_record_goes_to_one_thread(open_queue: Open, in_thread: Callable[[Callable[[], Any]], Any]) -> None:
    queue = open_queue(capacity="32m")
    queue.push_many(RECORDS * 4)

    def pop() -> list[int]:
        found: list[int] = []
        while (batch := queue.pop_arrow(500)).num_rows:
            found += offsets(batch)
        return found

    popped = [in_thread(pop) for _ in range(6)]
    assert sorted(offset for each in popped for offset in each.result()) == list(range(len(RECORDS) * 4))
