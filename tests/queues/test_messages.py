"""Messages ack themselves, and decode what they hold."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import gc
import json
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from memory_consumer import Clock, MemoryConsumer

import mmapqueue
from conftest import SMALL, Open


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def memory(clock: Clock) -> MemoryConsumer:
    """A consumer without a JVM, whose time passes in waits alone."""
    return MemoryConsumer(clock)


def pushed(queue: Any, *records: bytes) -> list[Any]:
    queue.push_many(records)
    return list(queue.pop_many())


# Ack and nack


def test_a_message_acks_itself_alone(any_queue: mmapqueue.Queue) -> None:
    one, two, three = pushed(any_queue, b"one", b"two", b"three")
    two.ack()
    assert (any_queue.lag(), any_queue.unacked()) == (2, 2)
    one.ack()
    assert (any_queue.lag(), any_queue.unacked()) == (1, 1)
    three.ack()
    three.ack()
    assert (any_queue.lag(), any_queue.unacked()) == (0, 0)


def test_a_message_requeues_itself(memory: MemoryConsumer) -> None:
    one, two = pushed(memory, b"one", b"two")
    one.nack()
    two.nack(delay="1h")
    again = memory.pop(block=False)
    assert (again.data, again.attempts) == (b"one", 2)
    with pytest.raises(mmapqueue.Empty):
        memory.pop(block=False)
    again.ack()
    with pytest.raises(mmapqueue.OutOfRange):
        again.nack()
    with pytest.raises(mmapqueue.ConfigError, match="delay = 'soon' is invalid"):
        two.nack(delay="soon")


@pytest.mark.parametrize("pop", ["pop", "pop_many", "consume", "iter", "process"])
def test_messages_of_every_call_ack_themselves(memory: MemoryConsumer, pop: str) -> None:
    memory.push(b"one")
    if pop == "process":
        memory.process(lambda message: message.ack(), timeout=0)
    else:
        calls: dict[str, Callable[[], mmapqueue.Message]] = {
            "pop": memory.pop,
            "pop_many": lambda: memory.pop_many()[0],
            "consume": lambda: next(memory.consume()),
            "iter": lambda: next(iter(memory)),
        }
        calls[pop]().ack()
    assert memory.lag() == 0


def test_a_message_of_a_named_consumer_is_acked_by_it(small_queue: mmapqueue.Queue) -> None:
    small_queue.push(b"one")
    other = small_queue.consumer("other")
    small_queue.pop()
    other.pop().ack()
    assert (small_queue.lag(), other.lag()) == (1, 0)


def test_a_peeked_message_was_not_popped(small_queue: mmapqueue.Queue) -> None:
    small_queue.push_many([b"one", b"two"])
    first = small_queue.peek()
    assert first is not None
    with pytest.raises(mmapqueue.Foreign, match="offset 0, which was peeked at"):
        first.ack()
    small_queue.pop()
    second = small_queue.peek()
    assert second is not None
    with pytest.raises(mmapqueue.OutOfRange):
        second.ack()
    assert small_queue.lag() == 2


# Blocks


def test_a_block_acks_at_its_end(memory: MemoryConsumer) -> None:
    memory.push_many([b"one", b"two"])
    with memory.pop() as message:
        assert message.data == b"one"
        assert memory.unacked() == 1
    assert (memory.lag(), memory.unacked()) == (1, 0)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_block_that_raises_requeues(clock: Clock, memory: MemoryConsumer, error: type[BaseException]) -> None:
    memory.push(b"one")
    with pytest.raises(error), memory.pop() as message:
        raise error
    requeued = clock()
    assert message.data == b"one"
    again = memory.pop(timeout="10s")
    assert clock() - requeued >= 0.05
    assert (again.data, again.attempts) == (b"one", 2)


@pytest.mark.parametrize("how", ["message", "queue", "many"])
def test_a_block_that_has_nacked_does_not_ack(memory: MemoryConsumer, how: str) -> None:
    memory.push(b"one")
    with memory.pop() as message:
        message.nack(delay="1h") if how == "message" else memory.nack(message, delay="1h")
    assert (memory.lag(), memory.qsize()) == (1, 1)


@pytest.mark.parametrize("how", ["nack", "release"])
def test_a_block_does_not_ack_the_redelivery_that_another_block_has(memory: MemoryConsumer, how: str) -> None:
    memory.push(b"one")
    with contextlib.ExitStack() as another:
        with memory.pop() as message:
            message.nack() if how == "nack" else memory.release([message])
            another.enter_context(memory.pop())
        assert (memory.lag(), memory.unacked()) == (1, 1)
    assert memory.lag() == 0


def test_a_block_that_has_acked_does_not_ack_again(memory: MemoryConsumer) -> None:
    memory.push(b"one")
    with memory.pop() as message:
        message.ack()
        memory.seek("earliest")
    assert memory.lag() <= 1


def test_an_error_of_the_block_comes_first(small_queue: mmapqueue.Queue) -> None:
    small_queue.push(b"one")

    def closing() -> None:
        with small_queue.pop():
            small_queue.close()
            raise ValueError("of the block")

    with pytest.raises(ValueError, match="of the block") as caught:
        closing()
    notes = getattr(caught.value, "__notes__", ["the record was not requeued: the queue is closed"])
    assert "was not requeued" in notes[0]


def test_a_block_whose_record_cannot_be_acked_raises(memory: MemoryConsumer) -> None:
    memory.push(b"one")
    with pytest.raises(mmapqueue.Closed), memory.pop():
        memory.close()


def test_messages_of_one_loop_may_be_blocks(memory: MemoryConsumer) -> None:
    memory.push_many(b"%d" % number for number in range(10))
    for message in memory:
        try:
            with message:
                assert message.offset % 3
        except AssertionError:
            pass
    # Each is redelivered after a delay: the loop has ended.
    assert (memory.qsize(), memory.lag()) == (4, 4)
    assert memory.pop(timeout="10s").offset % 3 == 0


# Messages that no consumer of this process has popped


def test_a_message_that_was_read_cannot_be_acked_by_itself(small_queue: mmapqueue.Queue) -> None:
    small_queue.push(b"one")
    small_queue.pop()
    message = small_queue.read_at(0)
    for call in (message.ack, message.nack, message.__enter__):
        with pytest.raises(mmapqueue.Foreign, match="offset 0, which was read by offset"):
            call()
    small_queue.ack(message)
    assert small_queue.lag() == 0


def test_an_unpickled_message_cannot_be_acked_by_itself(memory: MemoryConsumer) -> None:
    (message,) = pushed(memory, b"one")
    unpickled = pickle.loads(pickle.dumps(message))
    assert unpickled == message
    assert type(unpickled.origin) is mmapqueue.Origin
    assert repr(unpickled) == repr(message)
    for call in (unpickled.ack, unpickled.nack, unpickled.__enter__, lambda: unpickled.value):
        with pytest.raises(mmapqueue.Foreign, match=r"offset 0, which knows no open queue: it was unpickled"):
            call()
    memory.ack(unpickled)
    assert memory.lag() == 0


def test_a_message_of_a_program_has_no_queue() -> None:
    message = mmapqueue.Message(b"{}", 7, 0, 1)
    assert (message.json(), message.text, message.timestamp) == ({}, "{}", None)
    with pytest.raises(mmapqueue.Foreign, match=r"offset 7.*a program has made it"):
        message.ack()


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda message: message._replace(attempts=5)])
def test_a_copy_of_a_message_acks_the_record(memory: MemoryConsumer, duplicate: Any) -> None:
    (message,) = pushed(memory, b"one")
    duplicate(message).ack()
    assert memory.lag() == 0


def test_a_message_keeps_no_queue_in_memory(tmp_path: Any) -> None:
    with mmapqueue.Queue(tmp_path / "queue") as queue:
        queue.push(b"one")
        message = queue.pop()
    reference = weakref.ref(queue)
    del queue
    gc.collect()
    assert reference() is None
    with pytest.raises(mmapqueue.Closed, match="offset 0"):
        message.ack()
    assert message.value == b"one"


def test_a_message_of_a_closed_consumer_raises_closed(small_queue: mmapqueue.Queue) -> None:
    small_queue.push(b"one")
    other = small_queue.consumer("other")
    message = other.pop()
    other.close()
    with pytest.raises(mmapqueue.Closed, match="other"):
        message.ack()


# Content


def test_text_and_json(small_queue: mmapqueue.Queue) -> None:
    text, number, bad = pushed(small_queue, "Zürich".encode(), b'{"a": [1, null]}', b"\xff{")
    assert (text.text, number.json()) == ("Zürich", {"a": [1, None]})
    for call in (lambda: bad.text, bad.json, text.json):
        with pytest.raises(mmapqueue.Undecodable, match="the record at offset") as caught:
            call()
        assert isinstance(caught.value, ValueError)
        assert isinstance(caught.value.__cause__, ValueError)
    assert caught.value.offset == 0
    assert small_queue.unacked() == 3


# Serializers


@dataclasses.dataclass
class Order:
    number: int


class Orders:
    def dumps(self, item: Order) -> bytes:
        return b"%d" % item.number

    def loads(self, data: bytes) -> Order:
        return Order(int(data))


VALUES = [
    ("json", [{"id": 7, "name": "Zürich"}, [1, None], "text", 1.5]),
    ("pickle", [{"id": (7, b"x")}, {1, 2}, Order(3)]),
    (json, [{"id": 7}, "text"]),
    (Orders(), [Order(1), Order(2)]),
]


@pytest.mark.parametrize(("serializer", "values"), VALUES, ids=["json", "pickle", "module", "own"])
def test_a_serializer_takes_objects_and_gives_values(open_queue: Open, serializer: Any, values: list[Any]) -> None:
    queue = open_queue(serializer=serializer, **SMALL)
    queue.push(values[0])
    assert queue.push_many(iter(values)) == len(values)
    queue.push_once("producer", 1, values)
    expected = [values[0], *values, *values]
    assert [message.value for message in queue.read_many(0, 100)] == expected
    peeked = queue.peek()
    assert peeked is not None
    assert peeked.value == values[0]
    assert [message.value for message in queue] == expected
    assert queue.consumer("other").pop().value == values[0]


def test_without_a_serializer_the_value_is_the_data(small_queue: mmapqueue.Queue) -> None:
    (message,) = pushed(small_queue, b"one")
    assert message.value is message.data


def test_what_a_serializer_raises_comes_from_push(open_queue: Open) -> None:
    queue = open_queue(serializer="json", **SMALL)
    with pytest.raises(TypeError, match="not JSON serializable"):
        queue.push({1, 2})
    with pytest.raises(TypeError, match="not JSON serializable") as caught:
        queue.push_many([*range(1000), {1}])
    assert caught.value.pushed == queue.qsize() <= 1000  # type: ignore[attr-defined]


def test_a_record_that_cannot_be_decoded_is_not_lost(open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    queue.push_many([b"1", b"broken", b"3"])
    decoding = open_queue(serializer="json")
    values: list[int] = []
    broken: list[tuple[int, str]] = []
    for message in decoding:
        try:
            with message:
                values.append(message.value)
        except mmapqueue.Undecodable as error:
            broken.append((error.offset, str(error).partition(":")[0]))
    text = f"the record at offset 1 of the queue in {queue.path} is not what the serializer json reads"
    assert (values, broken, queue.lag(), queue.qsize()) == ([1, 3], [(1, text)], 1, 1)


def test_serializers_are_checked_before_anything_is_opened(open_queue: Open, tmp_path: Any) -> None:
    with pytest.raises(mmapqueue.ConfigError, match="serializer = 'yaml' is invalid"):
        open_queue(serializer="yaml")
    with pytest.raises(TypeError, match="serializer = 7 is invalid"):
        open_queue(serializer=7)
    assert not (tmp_path / "queue").exists()


def test_the_repr_of_a_large_message_is_short(open_queue: Open) -> None:
    queue = open_queue(capacity="16m", max_event_size="1m")
    queue.push_many([b"small", bytes(1 << 20)])
    small, large = queue.pop_many(2)
    assert repr(small).startswith("Message(data=b'small', offset=0, timestamp_micros=")
    assert len(repr(large)) < 600
    assert "\\x00'… of 1048576 bytes, offset=1, " in repr(large)
