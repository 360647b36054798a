"""Consumers: where they start, their statistics, their release and deletion."""

from collections.abc import Callable
from concurrent.futures import Future
from datetime import date, datetime, timedelta, timezone
from typing import Any

import pytest

import mmapqueue
from conftest import SMALL, Open, Script, Waits, data, fill

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def test_where_a_consumer_begins(open_queue: Open) -> None:
    queue = open_queue(retain_bytes="1m")
    queue.push_many(b"%d" % i for i in range(10))
    queue.ack_up_to(queue.pop_many(4)[-1])
    middle = queue.read_at(5).timestamp
    assert middle is not None
    of_middle = queue.find(middle)
    assert of_middle is not None
    starts: dict[str | int | datetime, int] = {
        "earliest": 0, "Latest": 10, 0: 0, 7: 7, 10: 10, EPOCH: 0, middle: of_middle,
        datetime.max.replace(tzinfo=timezone.utc): 10,
    }  # fmt: skip
    for number, (start, first) in enumerate(starts.items()):
        consumer = queue.consumer(f"c{number}", start=start)
        assert [m.offset for m in consumer] == list(range(first, 10)), start
        queue.delete_consumer(f"c{number}")
        queue.create_consumer(f"d{number}", start=start)
        assert [m.offset for m in queue.consumer(f"d{number}", start=3)] == list(range(first, 10)), start
        queue.delete_consumer(f"d{number}")


def test_one_instant_in_any_time_zone(open_queue: Open) -> None:
    queue = open_queue()
    queue.push(b"one")
    time = queue.read_at(0).timestamp
    assert time is not None
    for offset in (-23.5, -1, 0, 5.75, 14):
        there = time.astimezone(timezone(timedelta(hours=offset)))
        assert queue.find(there) == 0
        assert queue.find(there + timedelta(microseconds=1)) is None
        assert data(queue.consumer(f"c{int(offset) + 24}", start=there)) == [b"one"]
        queue.delete_consumer(f"c{int(offset) + 24}")


def test_a_bad_start(small_queue: mmapqueue.Queue) -> None:
    calls = (small_queue.consumer, small_queue.create_consumer)
    for call in calls:
        for word in ("middle", "", "committed", "offset:1", "time:1", "1", "0\0x"):
            with pytest.raises(mmapqueue.ConfigError, match="earliest or latest") as caught:
                call("name", start=word)
            assert (caught.value.key, caught.value.value) == ("start", word)
        with pytest.raises(ValueError, match="naive"):
            call("name", start=datetime(2024, 1, 1))
        for wrong in (1.5, True, None, b"earliest", date(2024, 1, 1)):
            with pytest.raises(TypeError, match=type(wrong).__name__):
                call("name", start=wrong)  # type: ignore[arg-type]
        for offset in (-1, 1, 2**63, -(2**70)):
            with pytest.raises(mmapqueue.OutOfRange):
                call("name", start=offset)
    assert small_queue.consumers() == []


def test_a_time_needs_timestamps(open_queue: Open) -> None:
    queue = open_queue(timestamps=False)
    queue.push(b"one")
    for call in (
        lambda: queue.consumer("c", start=EPOCH),
        lambda: queue.create_consumer("c", start=EPOCH),
        lambda: queue.seek(EPOCH),
        lambda: queue.find(EPOCH),
    ):
        with pytest.raises(mmapqueue.ConfigError, match="timestamps"):
            call()


def test_names_and_figures(open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    queue.create_consumer("default")
    queue.push_many([b"x" * 100] * 10)
    beta, alpha = queue.consumer("beta"), queue.consumer("alpha")
    queue.create_consumer("elsewhere", start="latest")
    assert queue.consumers() == ["alpha", "beta", "default", "elsewhere"]
    alpha.pop_many(6)
    alpha.ack_up_to(1)
    alpha.ack(4)
    beta.ack_up_to(beta.pop_many()[-1])
    first, second, default, other = queue.consumer_stats().values()
    at, acked, end = first.read_position, first.committed_position, second.read_position
    assert first == mmapqueue.ConsumerStats("alpha", 2, acked, 7, first.lag_bytes, first.lag_seconds, 6, at, 3, 0, 0)
    assert second == mmapqueue.ConsumerStats("beta", 10, end, 0, 0, 0.0, 10, end, 0, 0, 0)
    assert other == mmapqueue.ConsumerStats("elsewhere", 10, end, 0, 0, 0.0, 10, end, 0, 0, 0)
    assert (default.name, default.lag_records, default.unacked) == ("default", 10, 0)
    assert 0 == default.committed_position < acked < at
    assert 0 < first.read_position < second.read_position
    assert 8 * 100 < first.lag_bytes < default.lag_bytes < 10 * 150
    assert isinstance(first.lag_seconds, float)
    assert 0 < first.lag_seconds < 600
    assert 0 < default.lag_seconds < 600
    with pytest.raises(AttributeError):
        first.unacked = 0  # type: ignore[misc]


def test_a_closed_consumer(
    open_queue: Open, in_thread: Callable[[Callable[[], Any]], "Future[Any]"], waits: Waits
) -> None:
    queue = open_queue(**SMALL)
    consumer = queue.consumer("other")
    waiting = [
        in_thread(consumer.pop),
        in_thread(lambda: consumer.pop_many(timeout=None)),
        in_thread(lambda: next(consumer.consume())),
    ]
    waits.until(threads=3)
    assert not any(task.done() for task in waiting)
    consumer.close()
    consumer.close()
    for task in waiting:
        assert isinstance(task.exception(60), mmapqueue.Closed)
        assert str(task.exception()) == f"the consumer other of the queue in {queue.path} is closed"
    assert consumer.closed
    assert repr(consumer).endswith("(closed)>")
    calls: tuple[Callable[[], object], ...] = (
        consumer.pop,
        consumer.pop_many,
        consumer.peek,
        consumer.qsize,
        consumer.lag,
        consumer.unacked,
        consumer.__enter__,
        lambda: consumer.ack(0),
        lambda: consumer.ack_up_to(0),
        lambda: consumer.ack_many([0]),
        lambda: consumer.nack(0),
        lambda: consumer.seek("earliest"),
        lambda: list(consumer),
        lambda: consumer.process(print),
    )
    for call in calls:
        with pytest.raises(mmapqueue.Closed, match="consumer other"):
            call()
    assert queue.push(b"still open") == 0
    assert queue.pop().data == b"still open"


def test_a_closed_consumer_is_taken_up_where_it_was(open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    queue.create_consumer("default")
    queue.push_many(b"%d" % i for i in range(10))
    with queue.consumer("other") as consumer:
        iterator = iter(consumer)
        next(iterator)
        consumer.ack_up_to(next(iterator))
        next(iterator)
    assert consumer.closed
    assert not queue.closed
    # What it had popped and not given is not given any more.
    with pytest.raises(mmapqueue.Closed):
        next(iterator)
    again = queue.consumer("other")
    assert again is not consumer
    assert [m.offset for m in again] == list(range(2, 10))
    default = queue.consumer("default")
    default.close()
    with pytest.raises(mmapqueue.Closed, match="consumer default"):
        default.pop()
    # The queue's own calls take it up again.
    assert queue.pop().offset == 0
    assert queue.consumer("default").pop().offset == 1


def test_a_consumer_that_another_handle_closed(open_queue: Open) -> None:
    one, two = open_queue(**SMALL), open_queue()
    one.push(b"one")
    first, second = one.consumer("other"), two.consumer("other")
    second.close()
    with pytest.raises(mmapqueue.Closed, match="consumer other"):
        first.pop()
    assert first.closed
    assert one.consumer("other").pop().data == b"one"


OTHER_PROCESS = """
    import sys
    import mmapqueue
    with mmapqueue.Queue(sys.argv[1], read_only=True) as queue:
        try:
            consumer = queue.consumer("other")
        except mmapqueue.Locked as locked:
            print(locked.pid)
        else:
            message = consumer.pop()
            consumer.ack(message)
            print(message.data.decode())
"""


def test_a_closed_consumer_is_for_another_process(open_queue: Open, script: Script) -> None:
    queue = open_queue(**SMALL)
    queue.push_many([b"one", b"two"])
    consumer = queue.consumer("other")
    assert consumer.pop().data == b"one"
    assert script.run(OTHER_PROCESS, queue.path) != "one\n"
    consumer.close()
    assert script.run(OTHER_PROCESS, queue.path) == "one\n"
    assert queue.consumer("other").pop().data == b"two"


def test_delete(open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    queue.push_many([b"x" * 1000] * 10)
    other = queue.consumer("other")
    other.pop()
    queue.delete_consumer("other")
    assert other.closed
    with pytest.raises(mmapqueue.Closed, match="consumer other"):
        other.pop()
    for name in ("other", "never", "a/b"):
        with pytest.raises(mmapqueue.ConfigError) as caught:
            queue.delete_consumer(name)
        assert caught.value.value == name
    # One of the same name begins anew.
    assert queue.consumer("other", start="latest").qsize() == 0
    queue.close()
    assert open_queue().consumers() == ["other"]


def test_the_default_consumer_can_be_deleted(open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    queue.push_many([b"one", b"two"])
    queue.consumer("other")
    queue.pop()
    default = queue.consumer("default")
    queue.delete_consumer("default")
    assert queue.consumers() == ["other"]
    with pytest.raises(mmapqueue.Closed, match="consumer default"):
        default.pop()
    assert queue.consumer("other").pop().data == b"one"


def test_a_deleted_consumer_holds_no_space(open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    queue.consumer("slow")
    fill(queue)
    queue.ack_up_to(queue.pop_many()[-1])
    with pytest.raises(mmapqueue.Full):
        queue.push(b"x" * 500, block=False)
    queue.delete_consumer("slow")
    for _ in range(200):
        queue.push(b"x" * 1000, block=False)
        queue.ack(queue.pop())


def test_consumers_that_were_closed_keep_no_shared_buffers(small_queue: mmapqueue.Queue) -> None:
    small_queue.push(b"one")
    for number in range(20):
        with small_queue.consumer(f"reader-{number}") as consumer:
            assert consumer.pop().data == b"one"
        small_queue.delete_consumer(consumer.name)
    assert len(small_queue._handle.pool._made) <= 3


def test_a_consumer_in_a_forked_child(script: Script) -> None:
    out = script.run(
        """
        import os, sys, warnings
        import mmapqueue
        from datetime import datetime, timezone
        warnings.simplefilter("ignore", DeprecationWarning)
        queue = mmapqueue.Queue(sys.argv[1])
        queue.push_many([b"one", b"two", b"three"])
        consumer = queue.consumer("other")
        iterator = consumer.consume()
        next(iterator)
        child = os.fork()
        if not child:
            refused = 0
            calls = [lambda: consumer.seek(0), lambda: consumer.nack(0), lambda: consumer.ack_many([0]),
                     lambda: consumer.unacked(), lambda: queue.read_at(0), lambda: queue.read_many(0, 2),
                     lambda: queue.find(datetime.now(timezone.utc)), queue.consumers, queue.consumer_stats, queue.gc,
                     lambda: consumer.process(print), lambda: queue.consumer("new"), consumer.__enter__]
            for call in calls:
                try:
                    call()
                except mmapqueue.MmapQueueError as error:
                    assert "forked" in str(error), error
                    refused += 1
            assert refused == len(calls), refused
            consumer.close()
            queue.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert next(iterator).data == b"two"
        consumer.ack_up_to(1)
        consumer.close()
        queue.close()
        print("works")
        """,
        script.directory / "queue",
    )
    assert out == "works\n"
