"""mmapqueue.compat.Queue: what it adds to `queue.Queue`, and where the disk makes a difference."""

import inspect
import json
import logging
import queue
import sys
import threading
import typing
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import mmapqueue
from conftest import SMALL, Script, eventually
from mmapqueue import compat

Make = Callable[..., compat.Queue[Any]]
InThread = Callable[[Callable[[], Any]], "Future[Any]"]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Opens queues, all in one directory; they are closed in the end."""
    opened: list[compat.Queue[Any]] = []

    def make_one(maxsize: int = 0, **options: Any) -> compat.Queue[Any]:
        opened.append(compat.Queue(maxsize, path=tmp_path / "jobs", **options))
        return opened[-1]

    yield make_one
    for jobs in opened:
        jobs.close()


def drained(jobs: compat.Queue[Any]) -> list[Any]:
    items = []
    while not jobs.empty():
        items.append(jobs.get_nowait())
    return items


def reopened(jobs: compat.Queue[Any], make: Make, **options: Any) -> list[Any]:
    """What is redelivered after the next open."""
    jobs.close()
    return drained(make(**options))


def is_waiting(condition: threading.Condition) -> bool:
    return eventually(lambda: bool(condition._waiters))  # type: ignore[attr-defined]


# ---- interface


def test_it_is_a_queue_of_the_standard_library(make: Make) -> None:
    jobs = make()
    assert isinstance(jobs, queue.Queue)
    public = {name for name in vars(queue.Queue) if not name.startswith("_")}
    for name in public:
        theirs = list(inspect.signature(getattr(queue.Queue, name)).parameters)
        assert list(inspect.signature(getattr(compat.Queue, name)).parameters) == theirs
    assert (compat.Empty, compat.Full) == (queue.Empty, queue.Full)
    assert sys.version_info < (3, 13) or compat.ShutDown is queue.ShutDown
    assert issubclass(mmapqueue.Closed, compat.ShutDown)


def test_all_names_are_documented_and_their_annotations_resolve() -> None:
    assert compat.__all__ == sorted(compat.__all__)
    for kind in (compat.Queue, compat.FifoDiskQueue):
        assert kind.__module__ == "mmapqueue.compat"
        for name, method in vars(kind).items():
            if inspect.isfunction(method) and not name.startswith("_"):
                assert method.__doc__, name
                typing.get_type_hints(method)
        typing.get_type_hints(kind.__init__)


def test_arguments(make: Make, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="maxsize"):
        make("jobs")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="path"):
        compat.Queue(3)  # type: ignore[call-overload]
    with pytest.raises(mmapqueue.ConfigError, match="serializer"):
        make(serializer="yaml")
    assert not (tmp_path / "jobs").exists()
    jobs = make(1)
    for call in (jobs.get, lambda timeout: jobs.put(1, timeout=timeout)):
        with pytest.raises(ValueError, match="timeout"):
            call(timeout=-1)
    with pytest.raises(compat.Empty):
        jobs.get(timeout=timedelta(milliseconds=1))
    with pytest.raises(compat.Empty):
        jobs.get(timeout="1ms")
    assert jobs.path == str(tmp_path / "jobs")


def test_maxsize_counts_items_that_wait(make: Make) -> None:
    jobs = make(2)
    jobs.put(1)
    assert not jobs.full()
    jobs.put(2)
    assert jobs.full()
    with pytest.raises(compat.Full, match="maxsize = 2"):
        jobs.put_nowait(3)
    assert jobs.get() == 1
    jobs.put(3, timeout=0)
    assert drained(jobs) == [2, 3]


def test_a_blocked_put_wakes_on_get(make: Make, in_thread: InThread) -> None:
    jobs = make(1)
    jobs.put(1)
    put = in_thread(lambda: jobs.put(2))
    assert is_waiting(jobs.not_full)
    assert not put.done()
    assert jobs.get() == 1
    put.result(30)
    assert jobs.get() == 2


def test_a_blocked_get_wakes_on_put(make: Make, in_thread: InThread) -> None:
    jobs = make()
    get = in_thread(jobs.get)
    assert is_waiting(jobs.not_empty)
    jobs.put("x")
    assert get.result(30) == "x"


def test_hooks_of_subclasses(tmp_path: Path) -> None:
    class Unique(compat.Queue[int]):
        def _init(self, maxsize: int) -> None:
            super()._init(maxsize)
            self.present: set[int] = set()

        def _put(self, item: int) -> None:
            assert self.mutex.locked()
            if item not in self.present:
                self.present.add(item)
                super()._put(item + 100)

        def _get(self) -> int:
            assert self.mutex.locked()
            return super()._get() - 100

    with Unique(path=tmp_path / "jobs") as jobs:
        for item in (1, 2, 1):
            jobs.put(item)
        assert [jobs.get(), jobs.get()] == [1, 2]
        assert jobs.empty()
        assert not jobs.closed
    assert jobs.closed


# ---- on the disk


def test_items_outlive_the_queue(make: Make) -> None:
    jobs = make()
    for item in ("one", {"two": 2}, None, [3, 3.5]):
        jobs.put(item)
    assert jobs.get() == "one"
    jobs.task_done()
    assert reopened(jobs, make) == [{"two": 2}, None, [3, 3.5]]


def test_an_item_that_was_got_and_not_done_is_redelivered_after_a_kill(script: Script, tmp_path: Path) -> None:
    process = script.start(
        """
        import sys, os, signal
        from mmapqueue.compat import Queue
        jobs = Queue(path=sys.argv[1])
        for item in range(5):
            jobs.put(item)
        first, second, third = jobs.get(), jobs.get(), jobs.get()
        jobs.ack(second)
        os.kill(os.getpid(), signal.SIGKILL)
        """,
        tmp_path / "jobs",
    )
    process.communicate(timeout=120)
    with compat.Queue(path=tmp_path / "jobs") as jobs:
        assert jobs.unfinished_tasks == 4
        assert drained(jobs) == [0, 2, 3, 4]


def test_a_queue_that_is_collected_is_closed(make: Make, tmp_path: Path) -> None:
    jobs = compat.Queue(path=tmp_path / "jobs")
    jobs.put(1)
    with pytest.warns(ResourceWarning, match="was not closed"):
        del jobs
    assert drained(make()) == [1]


def test_items_of_other_handles(make: Make, in_thread: InThread, tmp_path: Path) -> None:
    jobs = make()
    get = in_thread(jobs.get)
    assert is_waiting(jobs.not_empty)
    with mmapqueue.Queue(tmp_path / "jobs") as raw:
        raw.push(b'{"from": "another handle"}')
    assert get.result(30) == {"from": "another handle"}
    jobs.task_done()
    jobs.join()


def test_serializers(make: Make) -> None:
    jobs = make()
    jobs.put(("a", 1))
    assert jobs.get() == ["a", 1]
    jobs.task_done()
    with pytest.raises(TypeError, match="JSON"):
        jobs.put(b"bytes")
    jobs.close()
    jobs = make(serializer="pickle")
    jobs.put({1: (b"bytes", {2})})
    assert jobs.get() == {1: (b"bytes", {2})}
    jobs.task_done()
    jobs.close()
    jobs = make(serializer=json)
    jobs.put([1])
    assert jobs.get() == [1]


def test_serializers_run_without_the_lock(make: Make) -> None:
    class Locked:
        def dumps(self, item: int) -> str:
            assert not jobs.mutex.locked()
            return str(item)

        def loads(self, data: bytes) -> int:
            assert not jobs.mutex.locked()
            return int(data)

    jobs = make(serializer=Locked())
    jobs.put(7)
    assert jobs.get() == 7


def test_what_the_serializer_cannot_load_counts_as_got(make: Make, tmp_path: Path) -> None:
    with mmapqueue.Queue(tmp_path / "jobs") as raw:
        raw.push_many([b"{", b"1", b"}"])
    jobs = make()
    with pytest.raises(mmapqueue.Undecodable, match=r"offset 0.*json") as caught:
        jobs.get()
    assert caught.value.offset == 0
    assert jobs.get() == 1
    with pytest.raises(mmapqueue.Undecodable) as other:
        jobs.get()
    jobs.ack(other.value)
    jobs.task_done()  # The first one.
    jobs.task_done()
    jobs.join()
    jobs.close()
    assert make().empty()


# ---- task_done, ack, nack


def test_task_done_acks_what_the_thread_got_first(make: Make, in_thread: InThread) -> None:
    jobs = make()
    for item in range(4):
        jobs.put(item)
    assert jobs.get() == 0
    assert in_thread(jobs.get).result() == 1
    assert [jobs.get(), jobs.get()] == [2, 3]
    jobs.task_done()
    jobs.task_done()
    assert reopened(jobs, make) == [1, 3]


def test_tasks_done_by_other_threads_are_acked_when_all_are_done(make: Make, in_thread: InThread) -> None:
    jobs = make()
    for item in range(3):
        jobs.put(item)
    assert [jobs.get(), jobs.get()] == [0, 1]
    in_thread(jobs.task_done).result()
    assert jobs._consumer.unacked() == 2
    in_thread(jobs.task_done).result()
    assert jobs._consumer.unacked() == 0
    assert reopened(jobs, make) == [2]


def test_ack_of_one_item_by_another_thread(make: Make, in_thread: InThread) -> None:
    jobs = make()
    for item in (["a"], ["b"], ["c"]):
        jobs.put(item)
    items = [jobs.get(), jobs.get(), jobs.get()]
    in_thread(lambda: jobs.ack(items[1])).result()
    with pytest.raises(ValueError, match="not in flight"):
        jobs.ack(items[1])
    with pytest.raises(ValueError, match="not in flight"):
        jobs.ack(["a"])
    jobs.task_done()
    assert reopened(jobs, make) == [["c"]]


def test_equal_items_are_acked_each(make: Make) -> None:
    jobs = make()
    for _ in range(3):
        jobs.put(None)
    items = [jobs.get() for _ in range(3)]
    jobs.ack(items[0])
    jobs.ack(items[1])
    assert jobs.unfinished_tasks == 1
    jobs.ack(items[2])
    with pytest.raises(ValueError, match="not in flight"):
        jobs.ack(None)
    assert reopened(jobs, make) == []


def test_nack_requeues_an_item(make: Make) -> None:
    jobs = make()
    jobs.put(1)
    jobs.put(2)
    item = jobs.get()
    jobs.nack(item)
    assert (jobs.qsize(), jobs.unfinished_tasks) == (2, 2)
    assert {jobs.get(), jobs.get()} == {1, 2}
    jobs.nack(2, delay="50ms")
    with pytest.raises(compat.Empty):
        jobs.get_nowait()
    assert jobs.get(timeout=30) == 2


def test_an_item_with_its_attempts_used_up_is_dead_lettered(make: Make, tmp_path: Path) -> None:
    jobs = make(max_attempts=2, dead_letter_dir=tmp_path / "dead")
    jobs.put("bad")
    jobs.nack(jobs.get())
    jobs.nack(jobs.get())
    jobs.join()
    jobs.close()
    with compat.Queue(path=tmp_path / "dead") as dead:
        assert drained(dead) == ["bad"]


def test_task_done_too_many_times(make: Make) -> None:
    jobs = make()
    jobs.put(1)
    with pytest.raises(ValueError, match="too many times"):
        jobs.task_done()
    jobs.get()
    jobs.task_done()
    with pytest.raises(ValueError, match="too many times"):
        jobs.task_done()


def test_auto_ack(make: Make) -> None:
    jobs = make(auto_ack=True)
    jobs.put(1)
    jobs.put(2)
    assert jobs.get() == 1
    assert jobs._consumer.unacked() == 0
    assert jobs.unfinished_tasks == 2
    jobs.task_done()
    with pytest.raises(ValueError, match="too many times"):
        jobs.task_done()
    with pytest.raises(ValueError, match="not in flight"):
        jobs.ack(1)
    assert reopened(jobs, make) == [2]


def test_join_waits_for_items_of_earlier_processes(make: Make, in_thread: InThread) -> None:
    jobs = make()
    jobs.put(1)
    jobs.put(2)
    jobs.get()
    jobs.close()
    jobs = make()
    assert jobs.unfinished_tasks == 2
    join = in_thread(jobs.join)
    assert is_waiting(jobs.all_tasks_done)
    assert drained(jobs) == [1, 2]
    assert not join.done()
    jobs.task_done()
    jobs.task_done()
    join.result(30)


def test_a_get_that_fails_leaves_the_item(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = make()
    jobs.put(1)

    def interrupted() -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(jobs, "_get", interrupted)
        with pytest.raises(KeyboardInterrupt):
            jobs.get()
    assert (jobs.qsize(), jobs.unfinished_tasks) == (1, 1)
    assert jobs.get() == 1
    jobs.task_done()
    jobs.join()


# ---- a full directory


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
    put.result(30)
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
    assert get.result(30) == 2


# ---- shutdown, close


def test_shutdown_lets_items_be_got(make: Make) -> None:
    jobs = make()
    jobs.put(1)
    jobs.shutdown()
    with pytest.raises(compat.ShutDown):
        jobs.put(2)
    assert jobs.get() == 1
    for call in (jobs.get, jobs.get_nowait, lambda: jobs.get(timeout=30)):
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
        get.result(30)
    with compat.Queue[Any](1, path=tmp_path / "other") as other:
        other.put(1)
        put = in_thread(lambda: other.put(2))
        assert is_waiting(other.not_full)
        other.shutdown()
        with pytest.raises(compat.ShutDown):
            put.result(30)


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
    join.result(30)
    assert reopened(jobs, make) == [2]


def test_close(make: Make, in_thread: InThread) -> None:
    jobs = make()
    get = in_thread(jobs.get)
    assert is_waiting(jobs.not_empty)
    jobs.put(1)
    assert get.result(30) == 1
    waiting = in_thread(jobs.get)
    assert is_waiting(jobs.not_empty)
    jobs.close()
    jobs.close()
    with pytest.raises(compat.ShutDown):
        waiting.result(30)
    with pytest.raises(compat.ShutDown):
        jobs.put(1)
    with pytest.raises(compat.ShutDown):
        jobs.flush()
    with pytest.raises(compat.ShutDown):
        jobs.task_done()
    jobs.join()
    assert "closed" in repr(jobs)
    assert drained(make()) == [1]


def test_flush_returns_when_puts_are_durable(make: Make) -> None:
    jobs = make(flush_period="1h")
    jobs.put(1)
    jobs.flush()
    stats = jobs._queue.stats()
    assert stats.durable_position == stats.end_position
