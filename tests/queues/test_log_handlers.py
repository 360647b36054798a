"""A handler of the log that raises ends no thread of the package, and no call waits for ever."""

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from acking import pushed
from memory_consumer import Clock, MemoryConsumer

import mmapqueue
from mmapqueue._jvm.standalone import _Log
from mmapqueue._queue.consuming.upkeep import Next, Upkeep
from mmapqueue._values.logs import printing_errors


@pytest.fixture(autouse=True)
def raising_handler() -> Iterator[None]:
    class Raising(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise RuntimeError(f"the handler of the log refuses {record.levelname}")

    handler = Raising()
    logger = logging.getLogger("mmapqueue")
    logger.addHandler(handler)
    yield
    logger.removeHandler(handler)


def ended(call: Callable[[], Any]) -> Any:
    """What a call returns, or raises; fails if it does not end."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(call())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(30)
    assert found, "the call does not end"
    return found[0]


def test_a_failed_record_is_handled_again(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    queue = pushed(MemoryConsumer(Clock(monkeypatch)), 3)

    def handle(message: mmapqueue.Message) -> None:
        if message.attempts == 1:
            raise ValueError("no luck")

    assert ended(lambda: queue.process(handle, timeout=5, retry_delay=0)) == 3
    assert queue.lag() == 0
    assert "the handler of the log refuses ERROR" in capsys.readouterr().err


def test_a_batch_that_is_not_pushed_fails_its_handles(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = MemoryConsumer()
    producer = queue.producer(linger=1000.0)
    push_batch, failure = queue._producer.push_batch, mmapqueue.MmapQueueError("no segment could be preallocated")
    monkeypatch.setattr(queue._producer, "push_batch", lambda *_, **__: (_ for _ in ()).throw(failure))
    handle = producer.push(b"x")
    handle.add_done_callback(lambda _handle: 1 // 0)
    future = handle.future()
    assert ended(producer.flush) is failure
    assert handle.exception() is failure
    assert future.exception(timeout=30) is failure
    monkeypatch.setattr(queue._producer, "push_batch", push_batch)
    producer.push(b"y")
    assert ended(producer.close) is None
    assert queue.port.log == [b"y"]


def test_the_thread_for_acks_works_on() -> None:
    tidied = threading.Semaphore(0)

    class Owner:
        name = "default"

        def tidy(self) -> Next:
            tidied.release()
            raise mmapqueue.MmapQueueError("the JVM that has the queue does not answer")

    owner, upkeep = Owner(), Upkeep()
    ticket = upkeep.join(owner)
    for _ in range(3):
        upkeep.wake(ticket, 0.0)
        assert tidied.acquire(timeout=30)
    upkeep.end(ticket)


def test_the_log_of_the_jvm_is_read_on() -> None:
    log = _Log()
    log("WARNING org.mmapqueue: one")
    log("WARNING org.mmapqueue: two")


def test_the_error_is_printed_as_logging_prints_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for raises in (True, False):
        monkeypatch.setattr(logging, "raiseExceptions", raises)
        with printing_errors():
            logging.getLogger("mmapqueue").error("x")
        assert ("refuses ERROR" in capsys.readouterr().err) is raises
    with pytest.raises(KeyboardInterrupt), printing_errors():
        raise KeyboardInterrupt
