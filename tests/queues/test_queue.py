"""The behaviour of a queue, from one thread, under every configuration."""

import asyncio
import copy
import json
import pickle
import queue as standard
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

import mmapqueue
from conftest import SMALL, Open, data, fill

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def test_records_come_in_order_with_dense_offsets(any_queue: mmapqueue.Queue) -> None:
    offsets = [any_queue.push(b"%d" % i) for i in range(200)]
    messages = [any_queue.pop() for _ in range(200)]
    assert offsets == list(range(200))
    assert [(m.offset, m.data) for m in messages] == [(i, b"%d" % i) for i in range(200)]
    assert {m.attempts for m in messages} == {1}


@pytest.mark.parametrize("make", [bytes, bytearray, memoryview, lambda b: memoryview(b + b"--")[:-2]])
def test_anything_of_bytes_can_be_pushed(
    small_queue: mmapqueue.Queue, make: Callable[[bytes], bytes | bytearray | memoryview]
) -> None:
    small_queue.push(make(b"alone"))
    small_queue.push_many([b"first", make(b"among others")])
    small_queue.push_many([make(b"atomic")], atomic=True)
    assert data(small_queue) == [b"alone", b"first", b"among others", b"atomic"]


def test_a_view_that_is_not_contiguous_is_pushed_as_it_reads(small_queue: mmapqueue.Queue) -> None:
    small_queue.push(memoryview(b"a-b-c-")[::2])
    small_queue.push_many([memoryview(b"a-b-c-")[::2]])
    assert data(small_queue) == [b"abc", b"abc"]


@pytest.mark.parametrize("wrong", ["text", 7, None, [1, 2]])
def test_anything_else_is_refused(small_queue: mmapqueue.Queue, wrong: object) -> None:
    with pytest.raises(TypeError, match=f"not {type(wrong).__name__}"):
        small_queue.push(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=f"not {type(wrong).__name__}"):
        small_queue.push_many([b"right", wrong], atomic=True)  # type: ignore[list-item]
    assert small_queue.qsize() == 0


def test_an_empty_record_is_a_record(any_queue: mmapqueue.Queue) -> None:
    any_queue.push(b"")
    any_queue.push_many([b"", b"x", b""])
    any_queue.push_many([b""] * 1000, atomic=True)
    assert data(any_queue.pop_many(2000)) == [b"", b"", b"x", b""] + [b""] * 1000


def test_a_queue_without_records_is_true(small_queue: mmapqueue.Queue) -> None:
    for each in (small_queue, small_queue.consumer("other")):
        assert (len(each), bool(each)) == (0, True)
    small_queue.close()
    assert small_queue


def test_timestamps(open_queue: Open) -> None:
    before = datetime.now(timezone.utc)
    queue = open_queue()
    queue.push(b"one")
    queue.push_many([b"two", b"three"])
    for message in queue:
        assert message.timestamp is not None
        assert message.timestamp.tzinfo is timezone.utc
        assert before - timedelta(milliseconds=1) <= message.timestamp <= datetime.now(timezone.utc)
        assert message.timestamp - timedelta(microseconds=message.timestamp_micros) == EPOCH


@pytest.mark.parametrize("micros", [1, 999_999, 1_000_000, 1_795_250_948_087_123, 2**55 + 1, -1])
def test_a_timestamp_is_exact(micros: int) -> None:
    message = mmapqueue.Message(b"", 0, micros, 1)
    assert message.timestamp is not None
    assert (message.timestamp - EPOCH) // timedelta(microseconds=1) == micros


def test_no_timestamps(open_queue: Open) -> None:
    queue = open_queue(timestamps=False)
    queue.push_many([b"one", b"two", b"three"])
    messages = [queue.pop(), *queue.pop_many()]
    assert {(m.timestamp_micros, m.timestamp) for m in messages} == {(0, None)}


def test_a_message_can_not_be_changed(small_queue: mmapqueue.Queue) -> None:
    small_queue.push(b"one")
    message = small_queue.pop()
    with pytest.raises(AttributeError):
        message.data = b"two"  # type: ignore[misc]
    assert message == mmapqueue.Message(b"one", 0, message.timestamp_micros, 1, message.origin)


def test_empty_is_the_standard_one(any_queue: mmapqueue.Queue) -> None:
    with pytest.raises(standard.Empty) as caught:
        any_queue.pop(block=False)
    assert isinstance(caught.value, mmapqueue.Empty)
    assert isinstance(caught.value, mmapqueue.MmapQueueError)
    start = time.monotonic()
    with pytest.raises(mmapqueue.Empty):
        any_queue.pop(timeout=0.3)
    assert time.monotonic() - start >= 0.3
    assert any_queue.peek() is None
    assert any_queue.pop_many() == []
    assert list(any_queue) == []


def test_full_is_the_standard_one(small_queue: mmapqueue.Queue) -> None:
    taken = fill(small_queue)
    with pytest.raises(standard.Full) as caught:
        small_queue.push(b"x" * 500, block=False)
    assert isinstance(caught.value, mmapqueue.Full)
    assert isinstance(caught.value, mmapqueue.MmapQueueError)
    start = time.monotonic()
    with pytest.raises(mmapqueue.Full):
        small_queue.push(b"x" * 500, timeout=0.3)
    assert time.monotonic() - start >= 0.3
    assert small_queue.qsize() == taken


def test_only_acks_make_room(small_queue: mmapqueue.Queue) -> None:
    taken = fill(small_queue)
    messages = small_queue.pop_many(taken)
    assert len(messages) == taken
    assert fill(small_queue) == 0
    small_queue.ack_up_to(messages[-1])
    assert fill(small_queue) >= taken // 2


@pytest.mark.parametrize("timeout", [-1, -0.001])
def test_a_negative_timeout_is_refused(small_queue: mmapqueue.Queue, timeout: float) -> None:
    for call in (
        lambda: small_queue.push(b"x", timeout=timeout),
        lambda: small_queue.push_many([b"x"], timeout=timeout),
        lambda: small_queue.pop(timeout=timeout),
        lambda: small_queue.pop_many(timeout=timeout),
        lambda: small_queue.consume(timeout=timeout),
    ):
        with pytest.raises(ValueError, match=r"timeout = .*seconds from 0 on"):
            call()


def test_a_record_may_be_as_large_as_configured_and_not_larger(small_queue: mmapqueue.Queue) -> None:
    assert small_queue.push(b"x" * 8000) == 0
    calls: tuple[Callable[[], int], ...] = (
        lambda: small_queue.push(b"x" * 8001),
        lambda: small_queue.push_many([b"x" * 8001]),
        lambda: small_queue.push_many([b"x", b"x" * 8001], atomic=True),
    )
    for call in calls:
        with pytest.raises(mmapqueue.TooLarge, match=r"8001 .* 8000") as caught:
            call()
        assert caught.value.pushed == 0
    with pytest.raises(mmapqueue.TooLarge) as caught:
        small_queue.push_many([b"a", b"b", b"x" * 8001, b"c"])
    assert caught.value.pushed == 2
    assert data(small_queue) == [b"x" * 8000, b"a", b"b"]


def test_a_record_larger_than_a_buffer(open_queue: Open) -> None:
    queue = open_queue(capacity="64m", max_event_size="8m")
    large = bytes(range(256)) * 16_384 + b"end"
    queue.push(b"before")
    assert queue.push(large, sync=True) == 1
    assert queue.push_many([b"after", large]) == 2
    with pytest.raises(mmapqueue.TooLarge) as caught:
        queue.push_many([b"small", large * 2])
    assert caught.value.pushed == 1
    assert queue.pop().data == b"before"
    peeked = queue.peek()
    assert peeked is not None
    assert peeked.data == large
    assert queue.pop().data == large
    assert data(queue.pop_many()) == [b"after", large, b"small"]


def test_as_long_as_it_is_not_full_the_largest_record_goes_in(small_queue: mmapqueue.Queue) -> None:
    assert not small_queue.full()
    pushed = 0
    while not small_queue.full():
        small_queue.push(b"x" * 8000, block=False)
        pushed += 1
    assert pushed > 4
    # Nor long before.
    with pytest.raises(mmapqueue.Full):
        small_queue.push_many([b"x" * 8000] * 2, block=False)


def test_size_and_lag(any_queue: mmapqueue.Queue) -> None:
    assert (any_queue.qsize(), any_queue.lag(), any_queue.empty()) == (0, 0, True)
    any_queue.push_many([b"x"] * 5)
    assert (any_queue.qsize(), any_queue.lag(), any_queue.empty()) == (5, 5, False)
    any_queue.pop_many(2)
    assert (any_queue.qsize(), any_queue.lag(), any_queue.empty()) == (3, 5, False)
    any_queue.ack(0)
    assert (any_queue.qsize(), any_queue.lag()) == (3, 4)


def test_after_flush_nothing_waits_to_be_written(any_queue: mmapqueue.Queue) -> None:
    any_queue.push_many([b"x" * 100] * 50)
    any_queue.flush()
    stats = any_queue.stats()
    assert stats.durable_position == stats.end_position > 0
    any_queue.push(b"synchronous", sync=True)
    stats = any_queue.stats()
    assert stats.durable_position == stats.end_position
    assert stats.end_offset == 51


def test_stats_leaves_nothing_out(small_queue: mmapqueue.Queue) -> None:
    small_queue.create_consumer("some")
    # Beside these, eight are computed; of two, the JVM has the same under the names of the format.
    assert len(json.loads(small_queue._handle.call("stats"))) == len(mmapqueue.Stats._fields) - 8
    for consumer in json.loads(small_queue._handle.call("consumerStats")):
        assert len(consumer) == len(mmapqueue.ConsumerStats._fields)
    stats = small_queue.stats()
    assert (stats.segment_size, stats.capacity_segments) == (4096, 16)


def test_close_ends_everything(open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    queue.push_many([b"one", b"two"])
    consumer = queue.consumer("other")
    iterator = iter(queue)
    next(iterator)
    queue.close()
    queue.close()
    assert queue.closed
    assert repr(queue).endswith("(closed)>")
    for call in (
        lambda: queue.push(b"x"),
        lambda: queue.push_many([b"x"]),
        lambda: queue.push_many([b"x"], atomic=True),
        queue.pop,
        queue.pop_many,
        queue.peek,
        queue.qsize,
        queue.lag,
        queue.empty,
        queue.full,
        queue.flush,
        queue.stats,
        queue.__enter__,
        consumer.pop,
        consumer.qsize,
        queue.unacked,
        queue.consumers,
        queue.consumer_stats,
        lambda: queue.acked_ranges("default"),
        queue.first_offset,
        queue.end_offset,
        queue.gc,
        lambda: queue.ack(0),
        lambda: queue.ack_up_to(0),
        lambda: queue.ack_many([0]),
        lambda: queue.ack_many([]),
        lambda: queue.nack(0),
        lambda: queue.seek("earliest"),
        lambda: queue.read_at(0),
        lambda: queue.read_many(0, 10),
        lambda: queue.find(EPOCH),
        lambda: queue.process(print),
        lambda: queue.consumer("another"),
        lambda: queue.create_consumer("another"),
        lambda: queue.delete_consumer("other"),
        lambda: list(queue),
    ):
        with pytest.raises(mmapqueue.Closed, match="is closed"):
            call()


def test_one_directory_opened_twice_is_one_queue(open_queue: Open) -> None:
    one, two = open_queue(**SMALL), open_queue()
    one.push(b"one")
    assert two.pop().data == b"one"
    one.close()
    assert two.push(b"two") == 1
    assert two.pop().data == b"two"
    with pytest.raises(mmapqueue.ConfigError) as caught:
        open_queue(segment_size="8k")
    assert caught.value.key == "segment_size"


def test_it_is_a_context_manager(open_queue: Open) -> None:
    with open_queue() as queue:
        assert not queue.closed
    assert queue.closed


def test_it_can_not_be_pickled_or_copied(small_queue: mmapqueue.Queue) -> None:
    with small_queue.producer() as producer:
        for thing in (small_queue, small_queue.consumer("other"), producer):
            for call in (pickle.dumps, copy.copy, copy.deepcopy):
                with pytest.raises(TypeError, match=f"a {type(thing).__name__} cannot be pickled"):
                    call(thing)


def test_the_path_may_be_anything_that_is_one(
    open_queue: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    strange = "ein Verzeichnis\nüber zwei Zeilen\\ %d"
    queue = open_queue(strange)
    assert queue.path == str(tmp_path / strange)
    assert queue.config["queue_dir"] == queue.path
    queue.push(b"here")
    queue.close()
    assert open_queue(tmp_path / strange).pop().data == b"here"


def test_the_path_comes_first_and_spark_by_name(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        mmapqueue.Queue(None, tmp_path)  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        mmapqueue.Queue()  # type: ignore[call-overload]


def test_sync_returns_when_the_record_is_durable(open_queue: Open) -> None:
    # Nothing is flushed by itself.
    never = 2**31 - 1
    queue = open_queue(flush_period="24d", flush_ceiling_num=never, max_event_size="1m")

    def is_durable() -> bool:
        stats = queue.stats()
        return stats.durable_position == stats.end_position

    # One that fits into a shared buffer, and one that goes through it in parts.
    for record in (b"x", b"x" * 300_000):
        queue.push(record)
        assert not is_durable()
        queue.push(record, sync=True)
        assert is_durable()
    for sequence, sync in enumerate((False, True)):
        queue.push_once("producer", sequence, [b"x", b"y"], sync=sync)
        assert is_durable() is sync
    for sync in (False, True):
        for atomic in (False, True):
            queue.push_many([b"x"] * 10, atomic=atomic, sync=sync)
            assert is_durable() is sync
            asyncio.run(queue.apush_many([b"x"] * 10, atomic=atomic, sync=sync))
            assert is_durable() is sync
    queue.push(b"x")
    assert not is_durable()
    queue.flush()
    assert is_durable()
