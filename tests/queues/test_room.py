"""Pushes that wait long for room are reported, once for each wait."""

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

import mmapqueue
from conftest import SMALL, Open, eventually, fill
from mmapqueue._queue import room
from mmapqueue._queue.room import LONG_SECONDS, Room

REMEDY = "; to make room, ack records, delete a consumer that is not needed, or resize the queue"


class FakeQueue:
    def __init__(self) -> None:
        self.end = 7
        self.now = 100.0

    def room(self) -> Room:
        return Room(lambda: self.end, lambda seconds: f"no room for {seconds} s", lambda: self.now)


def warnings(log: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in log.records if each.levelno == logging.WARNING and each.name == "mmapqueue"]


def test_only_a_long_wait_is_reported_and_once(caplog: pytest.LogCaptureFixture) -> None:
    queue = FakeQueue()
    watched = queue.room()
    watched.is_missing()
    queue.now += LONG_SECONDS - 0.1
    watched.is_missing()
    assert warnings(caplog) == []
    queue.now += 0.1
    watched.is_missing()
    queue.now += 100
    watched.is_missing()
    assert warnings(caplog) == ["no room for 5 s"]


def test_a_stored_record_ends_the_wait(caplog: pytest.LogCaptureFixture) -> None:
    queue = FakeQueue()
    watched = queue.room()
    for _ in range(3):
        watched.is_missing()
        queue.now += LONG_SECONDS - 0.1
        watched.is_missing()
        queue.end += 1
    assert warnings(caplog) == []
    for wait in range(1, 3):
        watched.is_missing()
        queue.now += LONG_SECONDS
        watched.is_missing()
        assert len(warnings(caplog)) == wait
        queue.end += 1


def push_alone(queue: mmapqueue.Queue) -> None:
    queue.push(b"x" * 1000)


def push_with_producer(queue: mmapqueue.Queue) -> None:
    with queue.producer() as producer:
        producer.push(b"x" * 1000)


PUSHES: dict[str, Callable[[mmapqueue.Queue], Any]] = {
    "push": push_alone,
    "push_many": lambda queue: queue.push_many([b"x" * 1000] * 3),
    "atomic": lambda queue: queue.push_many([b"x" * 1000] * 3, atomic=True),
    "push_once": lambda queue: queue.push_once("p", 1, [b"x" * 1000]),
    "apush": lambda queue: asyncio.run(queue.apush(b"x" * 1000)),
    "apush_many": lambda queue: asyncio.run(queue.apush_many([b"x" * 1000] * 3)),
    "producer": push_with_producer,
}


@pytest.mark.parametrize("push", PUSHES.values(), ids=PUSHES)
def test_a_push_that_waits_is_reported_with_what_holds_the_queue(
    push: Callable[[mmapqueue.Queue], Any],
    open_queue: Open,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(room, "LONG_SECONDS", 0.0)
    queue = open_queue(**SMALL)
    fill(queue)
    thread = threading.Thread(target=push, args=(queue,))
    thread.start()
    assert eventually(lambda: bool(warnings(caplog)))
    (warning,) = warnings(caplog)
    assert warning.startswith(f"no room for 0 s: the queue in {queue.path} is full: ")
    assert warning.endswith("; it has no consumer, so no record was acked" + REMEDY)
    while messages := queue.pop_many():
        queue.ack_up_to(messages[-1])
    thread.join(60)
    assert not thread.is_alive()
    assert len(warnings(caplog)) == 1


def test_a_push_that_does_not_wait_is_not_reported(
    open_queue: Open, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "LONG_SECONDS", 0.0)
    queue = open_queue(**SMALL)
    fill(queue)
    for _ in range(3):
        with pytest.raises(mmapqueue.Full):
            queue.push(b"x" * 1000, block=False)
    assert warnings(caplog) == []
    for _ in range(2):
        with pytest.raises(mmapqueue.Full):
            queue.push(b"x" * 1000, timeout=0.001)
    assert len(warnings(caplog)) == 1


def test_a_handler_of_the_log_may_use_the_queue(
    open_queue: Open, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "LONG_SECONDS", 0.0)
    queue = open_queue(**SMALL)
    count = fill(queue)

    class MakesRoom(logging.Handler):
        def emit(self, _record: logging.LogRecord) -> None:
            while messages := queue.pop_many():
                queue.ack_up_to(messages[-1])
            queue.push(b"from the handler")

    handler = MakesRoom()
    logging.getLogger("mmapqueue").addHandler(handler)
    try:
        assert queue.push(b"x" * 1000) == count + 1
    finally:
        logging.getLogger("mmapqueue").removeHandler(handler)
    assert [message.data[:16] for message in queue.pop_many()] == [b"from the handler", b"x" * 16]
    assert len(warnings(caplog)) == 1
