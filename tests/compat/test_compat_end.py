"""mmapqueue.compat.Queue: a full directory, shutdown and close."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from compat_queues import InThread, Make, drained, is_waiting, queues_in, reopened

import mmapqueue
from conftest import SMALL, Script
from mmapqueue import compat


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    with queues_in(tmp_path / "jobs") as opened:
        yield opened


def filled(jobs: compat.Queue[Any]) -> int:
    count = 0
    while True:
        try:
            jobs.put_nowait("x" * 500)
        except compat.Full:
            return count
        count += 1


def test_put_waits_for_room_in_the_files(make: Make, in_thread: InThread) -> None:
    jobs = make(**SMALL)
    count = filled(jobs)
    assert count > 50
    assert not jobs.full(), "full is about maxsize"
    put = in_thread(lambda: jobs.put("y" * 500))
    assert is_waiting(jobs.not_full)
    for _ in range(count):
        jobs.get()
        jobs.task_done()
    put.result(60)
    assert jobs.get() == "y" * 500


def test_items_that_nothing_marks_as_done_are_warned_of(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    jobs = make(**SMALL)
    count = filled(jobs)
    assert caplog.records == []
    for _ in range(count):
        jobs.get()
    with caplog.at_level(logging.WARNING, "mmapqueue"):
        for _ in range(2):
            with pytest.raises(compat.Full):
                jobs.put("x" * 500, timeout=0.01)
    (record,) = caplog.records
    assert "task_done()" in record.message
    assert "auto_ack=True" in record.message


def test_a_handler_of_the_warning_may_use_the_queue(make: Make, in_thread: InThread) -> None:
    jobs = make(max_unacked=1)

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            jobs.put(record.getMessage())

    handler = Handler()
    logger = logging.getLogger("mmapqueue")
    logger.addHandler(handler)
    try:
        jobs.put(1)
        jobs.put(2)
        jobs.get()
        with pytest.raises(mmapqueue.UnackedLimit):
            jobs.get_nowait()
    finally:
        logger.removeHandler(handler)
    get = in_thread(jobs.get)
    assert is_waiting(jobs.not_empty)
    jobs.task_done()
    assert get.result(60) == 2


def test_shutdown_lets_items_be_got(make: Make) -> None:
    jobs = make()
    jobs.put(1)
    jobs.shutdown()
    with pytest.raises(compat.ShutDown):
        jobs.put(2)
    assert jobs.get() == 1
    for call in (jobs.get, jobs.get_nowait, lambda: jobs.get(timeout=60)):
        with pytest.raises(compat.ShutDown):
            call()
    jobs.task_done()
    jobs.join()


def test_shutdown_wakes_waiting_threads(make: Make, in_thread: InThread, tmp_path: Path) -> None:
    jobs = make(1)
    get = in_thread(jobs.get)
    assert is_waiting(jobs.not_empty)
    jobs.shutdown()
    with pytest.raises(compat.ShutDown):
        get.result(60)
    with compat.Queue[Any](1, path=tmp_path / "other") as other:
        other.put(1)
        put = in_thread(lambda: other.put(2))
        assert is_waiting(other.not_full)
        other.shutdown()
        with pytest.raises(compat.ShutDown):
            put.result(60)


def test_an_immediate_shutdown_keeps_items_in_the_directory(make: Make, in_thread: InThread) -> None:
    jobs = make()
    jobs.put(1)
    jobs.put(2)
    assert jobs.get() == 1
    join = in_thread(jobs.join)
    assert is_waiting(jobs.all_tasks_done)
    jobs.shutdown(immediate=True)
    assert (jobs.qsize(), jobs.empty(), jobs.is_shutdown) == (0, True, True)
    with pytest.raises(compat.ShutDown):
        jobs.get()
    assert not join.done()
    jobs.task_done()
    join.result(60)
    assert reopened(jobs, make) == [2]


def test_close(make: Make, in_thread: InThread) -> None:
    jobs = make()
    get = in_thread(jobs.get)
    assert is_waiting(jobs.not_empty)
    jobs.put(1)
    assert get.result(60) == 1
    waiting = in_thread(jobs.get)
    assert is_waiting(jobs.not_empty)
    jobs.close()
    jobs.close()
    with pytest.raises(compat.ShutDown):
        waiting.result(60)
    with pytest.raises(compat.ShutDown):
        jobs.put(1)
    with pytest.raises(compat.ShutDown):
        jobs.flush()
    with pytest.raises(compat.ShutDown):
        jobs.task_done()
    jobs.join()
    assert "closed" in repr(jobs)
    assert drained(make()) == [1]


def test_a_signal_handler_may_use_the_queue_within_a_call(script: Script) -> None:
    closed = script.run(
        """
        import signal, sys
        from mmapqueue import compat

        signal.alarm(100)  # Ends a program that waits for itself.
        jobs = compat.Queue(path=sys.argv[1])
        handlers, current, got = {}, [], []

        def interrupted(name, call):
            def made(*arguments, **options):
                if name in handlers:
                    current.append(handlers.pop(name))
                    signal.raise_signal(signal.SIGUSR1)
                return call(*arguments, **options)
            return made

        signal.signal(signal.SIGUSR1, lambda *_: current.pop()())
        jobs._queue.push = interrupted("push", jobs._queue.push)
        jobs._consumer.pop = interrupted("pop", jobs._consumer.pop)
        jobs._get = interrupted("get", jobs._get)
        handlers["push"] = lambda: jobs.put("of the handler")
        jobs.put("of the call")
        assert [jobs.get(), jobs.get()] == ["of the handler", "of the call"]
        for name in ("pop", "get"):
            for item in (1, 2, 3):
                jobs.put(item)
            handlers[name] = lambda: got.append(jobs.get())
            got.append(jobs.get())
            while not jobs.empty():
                got.append(jobs.get())
            assert sorted(got) == [1, 2, 3], (name, got)
            got.clear()
        for _ in range(8):
            jobs.task_done()
        assert jobs._consumer.lag() == 0
        jobs.put("last")
        handlers["pop"] = jobs.shutdown
        assert jobs.get() == "last"
        handlers["pop"] = jobs.close
        try:
            jobs.get()
        except compat.ShutDown:
            print(jobs.closed)
        """,
        script.directory / "jobs",
    )
    assert closed == "True\n"


def test_flush_returns_when_puts_are_durable(make: Make) -> None:
    jobs = make(flush_period="1h")
    jobs.put(1)
    jobs.flush()
    stats = jobs._queue.stats()
    assert stats.durable_position == stats.end_position
