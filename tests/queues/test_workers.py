"""A handler in threads. What Python does alone is tested with a queue in memory."""

import asyncio
import functools
import itertools
import logging
import threading
import types
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from acking import pushed
from memory_consumer import Clock, MemoryConsumer

import mmapqueue
from conftest import SMALL, Open, Script, data, eventually


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def no_worker_is_left() -> bool:
    return not any(thread.name.startswith("mmapqueue-worker") for thread in threading.enumerate())


@pytest.mark.parametrize("workers", [1, 4])
def test_every_record_is_handled_once_and_acked(any_queue: mmapqueue.Queue, workers: int) -> None:
    handled: list[int] = []
    threads = set()

    def handle(message: mmapqueue.Message) -> None:
        assert message.data == b"%d" % message.offset
        threads.add(threading.get_ident())
        handled.append(message.offset)

    pushed(any_queue, 1500)
    assert any_queue.process(handle, workers=workers, timeout=0.1) == 1500
    assert (handled if workers == 1 else sorted(handled)) == list(range(1500))
    assert threading.get_ident() not in threads
    assert (any_queue.lag(), any_queue.unacked(), any_queue.qsize()) == (0, 0, 0)
    assert no_worker_is_left()


def test_workers_work_at_the_same_time() -> None:
    meeting = threading.Barrier(4)
    queue = pushed(MemoryConsumer(), 8)
    # Each of the four must be in the handler before any can leave it.
    assert queue.process(lambda _message: meeting.wait(60), workers=4, timeout=0) == 8


def test_a_slow_handler_holds_its_own_record_alone() -> None:
    queue = pushed(MemoryConsumer(), 500)
    release = threading.Event()
    others = []

    def handle(message: mmapqueue.Message) -> None:
        if message.offset == 0:
            assert release.wait(120)
        else:
            others.append(message.offset)
            if len(others) == 499:
                # All others were handled, and acked, beside it.
                assert eventually(lambda: queue.unacked() == 2)
                release.set()

    assert queue.process(handle, workers=2, timeout=0) == 500
    assert queue.lag() == 0


def test_it_ends_when_nothing_has_come_for_the_timeout(clock: Clock) -> None:
    queue = MemoryConsumer(clock)
    assert queue.process(print, workers=3, timeout=40) == 0
    assert 40 <= clock() < 40.1

    handled: list[int] = []

    def handle(message: mmapqueue.Message) -> None:
        handled.append(message.offset)
        if message.offset < 5:
            clock.sleep(20)
            queue.push(b"another")

    queue.push(b"first")
    assert queue.process(handle, workers=2, timeout=10) == 6
    assert handled == [0, 1, 2, 3, 4, 5]


def test_a_failed_record_is_requeued_and_logged(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    queue = pushed(MemoryConsumer(clock), 20)
    attempts: dict[int, list[int]] = {}

    def handle(message: mmapqueue.Message) -> None:
        attempts.setdefault(message.offset, []).append(message.attempts)
        if message.offset % 5 == 0 and message.attempts < 3:
            raise RuntimeError(f"no luck with {message.offset}")

    with caplog.at_level(logging.ERROR, logger="mmapqueue"):
        assert queue.process(handle, workers=3, timeout=5, retry_delay=0) == 20
    assert attempts == {i: [1, 2, 3] if i % 5 == 0 else [1] for i in range(20)}
    records = [record for record in caplog.records if record.name == "mmapqueue"]
    assert len(records) == 8
    assert {record.getMessage().split(",")[0] for record in records} == {
        f"the handler failed for the record at offset {i}" for i in (0, 5, 10, 15)
    }
    assert all(record.exc_info and record.exc_info[0] is RuntimeError for record in records)
    assert queue.lag() == 0


def test_a_record_that_its_handler_has_requeued_is_not_acked(clock: Clock) -> None:
    queue = pushed(MemoryConsumer(clock), 3)
    handled: list[tuple[int, int]] = []

    def handle(message: mmapqueue.Message) -> None:
        handled.append((message.offset, message.attempts))
        if handled[-1] == (1, 1):
            message.nack(delay="300ms")
        elif message.offset == 2:
            with message:
                pass

    assert queue.process(handle, timeout="2s") == 4
    assert handled == [(0, 1), (1, 1), (2, 1), (1, 2)]
    assert (queue.lag(), queue.unacked()) == (0, 0)


def test_a_record_that_its_handler_has_acked_before_it_raises_stays_acked(caplog: pytest.LogCaptureFixture) -> None:
    queue = pushed(MemoryConsumer(), 1)

    def handle(message: mmapqueue.Message) -> None:
        message.ack()
        raise RuntimeError("after the ack")

    with caplog.at_level(logging.ERROR, logger="mmapqueue"):
        assert queue.process(handle, timeout=0) == 0
    assert queue.lag() == 0
    assert caplog.records[0].getMessage().endswith("the handler has acked, nacked or released it")


def test_retry_delay(clock: Clock) -> None:
    queue = pushed(MemoryConsumer(clock), 3)
    times = []

    def handle(message: mmapqueue.Message) -> None:
        if message.offset == 1:
            times.append(clock())
            if message.attempts == 1:
                raise RuntimeError

    assert queue.process(handle, workers=2, retry_delay=30, timeout=40) == 3
    assert times[1] - times[0] >= 30
    queue.push(b"3")
    # The call ends; requeued records stay in the queue.
    assert queue.process(lambda _message: 1 / 0, retry_delay=600, timeout=0.1) == 0
    assert (queue.qsize(), queue.lag(), queue.unacked()) == (1, 1, 0)


def test_with_max_attempts_what_fails_always_goes_to_the_dead(open_queue: Open, tmp_path: Path) -> None:
    queue = pushed(open_queue(max_attempts=3, dead_letter_dir=tmp_path / "dead"), 10)

    def handle(message: mmapqueue.Message) -> None:
        if message.offset in (3, 7):
            raise RuntimeError

    assert queue.process(handle, workers=2, retry_delay=0, timeout=1.0) == 8
    assert queue.lag() == 0
    queue.close()
    assert sorted(data(open_queue(tmp_path / "dead"))) == [b"3", b"7"]


@pytest.mark.parametrize("retry_delay", [None, 0])
@pytest.mark.parametrize("workers", [1, 4])
def test_a_handler_that_always_raises_does_not_keep_it_going(
    clock: Clock, in_thread: Any, retry_delay: float | None, workers: int
) -> None:
    queue = pushed(MemoryConsumer(clock), 10)
    calls = []

    def handle(message: mmapqueue.Message) -> None:
        calls.append(message.offset)
        raise RuntimeError

    running = in_thread(lambda: queue.process(handle, workers=workers, timeout=0.5, retry_delay=retry_delay))
    try:
        assert running.result(60) == 0
        assert set(calls) == set(range(10))
        assert (queue.lag(), queue.qsize(), queue.unacked()) == (10, 10, 0)
    finally:
        queue.close()


def test_it_backs_off_by_itself(clock: Clock) -> None:
    queue = pushed(MemoryConsumer(clock), 1)
    times = []

    def handle(message: mmapqueue.Message) -> None:
        times.append(clock())
        if message.attempts < 4:
            raise RuntimeError

    assert queue.process(handle, timeout=8.0, max_records=1) == 1
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    # A pop of the caller's thread takes a step of the clock.
    assert all(delay <= gap < delay + 0.3 for gap, delay in zip(gaps, (0.1, 0.2, 0.4), strict=True)), gaps


def test_a_success_of_what_had_failed_keeps_it_going(clock: Clock) -> None:
    queue = pushed(MemoryConsumer(clock), 1)

    def handle(message: mmapqueue.Message) -> None:
        # Together they take longer than the timeout.
        if message.attempts == 1:
            raise RuntimeError
        if message.offset < 3:
            queue.push(b"another")

    assert queue.process(handle, timeout=5.0, retry_delay=1.5) == 4


def test_what_fails_is_seen_without_configuration(script: Script) -> None:
    process = script.start(
        """
        import sys
        import mmapqueue
        with mmapqueue.Queue(sys.argv[1]) as queue:
            queue.push(b"x")
            def handle(message):
                raise RuntimeError("no luck")
            print(queue.process(handle, timeout=0.05))
        """,
        script.directory / "queue",
    )
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "0\n")
    assert "the handler failed for the record at offset 0, at attempt 1 of consumer default" in err
    assert "it is redelivered in 0.1 s" in err
    assert "RuntimeError: no luck" in err


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_what_is_no_exception_ends_it(error: type[BaseException]) -> None:
    queue = pushed(MemoryConsumer(), 100)
    handled: list[int] = []

    def handle(message: mmapqueue.Message) -> None:
        if message.offset == 50 and message.attempts == 1:
            raise error
        handled.append(message.offset)

    with pytest.raises(error):
        queue.process(handle, workers=1)
    assert handled == list(range(50))
    assert no_worker_is_left()
    assert (queue.lag(), queue.unacked()) == (50, 0)
    rest = list(queue)
    assert sorted(m.offset for m in rest) == list(range(50, 100))
    assert {m.attempts for m in rest if m.offset != 50} == {1}


def test_closing_ends_it(open_queue: Open, in_thread: Any) -> None:
    queue = pushed(open_queue(**SMALL), 3)
    handled: list[mmapqueue.Message] = []
    running = in_thread(lambda: queue.process(handled.append, workers=2))
    assert eventually(lambda: queue.lag() == 0)
    queue.close()
    assert isinstance(running.exception(60), mmapqueue.Closed)
    assert len(handled) == 3
    assert no_worker_is_left()
    with pytest.raises(mmapqueue.Closed):
        queue.process(print)


def test_a_seek_by_a_handler() -> None:
    queue = pushed(MemoryConsumer(), 100)
    handled: list[int] = []

    def handle(message: mmapqueue.Message) -> None:
        handled.append(message.offset)
        if len(handled) == 3:
            queue.seek(90)

    queue.process(handle, workers=1, timeout=0, max_records=10)
    assert handled == [0, 1, 2, *range(90, 100)]
    assert queue.lag() == 0


def test_at_max_unacked_it_goes_on(clock: Clock) -> None:
    queue = pushed(MemoryConsumer(clock, max_unacked=5), 300)
    assert queue.process(lambda _message: clock.sleep(0.1), workers=3, timeout=0.1) == 300
    assert queue.lag() == 0


def test_what_was_away_for_longer_than_visibility_timeout(clock: Clock) -> None:
    queue = pushed(MemoryConsumer(clock, visibility=0.2), 3)
    handled: list[tuple[int, int]] = []
    held: list[int] = []

    def handle(message: mmapqueue.Message) -> None:
        handled.append((message.offset, message.attempts))
        # A lease may also end before the handler is called: then this is not the first attempt.
        if message.offset == 1 and not held:
            held.append(message.attempts)
            assert eventually(lambda: any(offset == 1 and attempt > held[0] for offset, attempt in handled))
            raise RuntimeError

    queue.process(handle, workers=2, timeout=0.5)
    assert {offset for offset, _ in handled} == {0, 1, 2}
    assert any(offset == 1 and attempt > held[0] for offset, attempt in handled)
    assert queue.lag() == 0


def test_bad_arguments() -> None:
    queue = MemoryConsumer()
    with pytest.raises(TypeError, match="handler = None is invalid"):
        queue.process(None)  # type: ignore[arg-type]
    for options in ({"workers": 0}, {"workers": -1}, {"retry_delay": -1}, {"timeout": -1}, {"max_records": 0}):
        with pytest.raises(ValueError, match=r"workers|retry_delay|timeout|max_records"):
            queue.process(print, **options)


async def handle_async(_message: mmapqueue.Message) -> None:
    pytest.fail("nothing awaits it")


def handle_lazily(_message: mmapqueue.Message) -> Iterator[None]:
    pytest.fail("nothing iterates over it")
    yield


async def handle_lazily_async(_message: mmapqueue.Message) -> AsyncIterator[None]:
    pytest.fail("nothing iterates over it")
    yield


class AsyncHandler:
    async def __call__(self, message: mmapqueue.Message) -> None:
        await handle_async(message)

    async def handle(self, message: mmapqueue.Message) -> None:
        await handle_async(message)


#: Handlers that run nothing when they are called, known before a call.
LAZY: dict[str, Callable[..., Any]] = {
    "async function": handle_async,
    "async method": AsyncHandler().handle,
    "async __call__": AsyncHandler(),
    "partial": functools.partial(functools.partial(handle_async), timeout=1),
    "partial of an async __call__": functools.partial(AsyncHandler()),
    "generator function": handle_lazily,
    "async generator function": handle_lazily_async,
}


@pytest.mark.parametrize("handler", LAZY.values(), ids=LAZY.keys())
def test_a_handler_that_runs_nothing_when_called_is_refused(handler: Callable[..., Any]) -> None:
    queue = pushed(MemoryConsumer(), 3)
    with pytest.raises(TypeError, match=r"handler = .* only makes a (coroutine|generator).*aconsume"):
        queue.process(handler, timeout=0)
    assert (queue.qsize(), queue.lag(), queue.unacked()) == (3, 3, 0)


def in_a_loop_of_its_own() -> "asyncio.Future[None]":
    loop = asyncio.new_event_loop()
    future = loop.create_future()
    loop.close()
    return future


@pytest.mark.parametrize(
    "handler",
    [
        lambda message: handle_async(message),
        lambda message: handle_lazily(message),
        lambda message: handle_lazily_async(message),
        lambda _message: in_a_loop_of_its_own(),
        lambda message: types.coroutine(handle_lazily)(message),
    ],
    ids=["coroutine", "generator", "async generator", "future", "awaitable generator"],
)
def test_a_handler_that_returns_what_it_has_not_run_ends_it(handler: Callable[..., Any]) -> None:
    queue = pushed(MemoryConsumer(), 3)
    with pytest.raises(TypeError, match=r"handler .* returned a \w+, and nothing .*aconsume"):
        queue.process(handler, timeout=0)
    assert (queue.lag(), queue.unacked()) == (3, 0)
    assert sorted(data(queue.pop_many(timeout=60))) == [b"0", b"1", b"2"]
    assert no_worker_is_left()
