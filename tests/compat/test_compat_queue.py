"""mmapqueue.compat.Queue: its interface, what it adds to `queue.Queue`, and what is on the disk."""

import inspect
import json
import queue
import sys
import typing
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from compat_queues import InThread, Make, drained, is_waiting, queues_in, reopened

import mmapqueue
from conftest import Script
from mmapqueue import compat


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    with queues_in(tmp_path / "jobs") as opened:
        yield opened


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
        make("jobs")
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


def test_a_flag_is_a_bool_or_0_or_1_as_in_the_standard_library(make: Make) -> None:
    jobs = make()
    for value in (5, -1, 0.5, "1s", None):
        calls: tuple[Callable[[Any], object], ...] = (jobs.get, lambda block: jobs.put("x", block))
        for call in calls:
            with pytest.raises(TypeError, match=rf"block = {value!r} is invalid; allowed: True or False; a time is"):
                call(value)
    assert jobs.qsize() == 0
    jobs.put("a", 0)  # type: ignore[arg-type]
    jobs.put("b", 1)  # type: ignore[arg-type]
    assert (jobs.get(1), jobs.get(0)) == ("a", "b")  # type: ignore[arg-type]
    with pytest.raises(compat.Empty):
        jobs.get(0)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        _ = "a" in jobs  # type: ignore[operator]


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
    put.result(60)
    assert jobs.get() == 2


def test_a_blocked_get_wakes_on_put(make: Make, in_thread: InThread) -> None:
    jobs = make()
    get = in_thread(jobs.get)
    assert is_waiting(jobs.not_empty)
    jobs.put("x")
    assert get.result(60) == "x"


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
    assert get.result(60) == {"from": "another handle"}
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


def test_the_number_of_items_has_the_names_of_persist_queue(make: Make) -> None:
    jobs = make()
    assert (len(jobs), jobs.size, bool(jobs)) == (0, 0, True)
    jobs.put("one")
    jobs.put("two")
    assert (len(jobs), jobs.size) == (2, 2)
    jobs.get()
    assert (len(jobs), jobs.size, jobs.qsize()) == (1, 1, 1)
