"""mmapqueue.compat.Queue: task_done, ack, nack, join."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from compat_queues import InThread, Make, drained, is_waiting, queues_in, reopened

import mmapqueue
from mmapqueue import compat


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    with queues_in(tmp_path / "jobs") as opened:
        yield opened


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
    jobs.nack(1, delay="1h")
    with pytest.raises(compat.Empty):
        jobs.get_nowait()
    jobs.nack(2, delay="50ms")
    assert jobs.get(timeout=60) == 2


def test_a_nack_with_a_wrong_delay_leaves_the_item_in_flight(make: Make) -> None:
    jobs = make()
    jobs.put(1)
    item = jobs.get()
    for delay in (-1, "5 parsecs"):
        with pytest.raises(ValueError, match="delay = "):
            jobs.nack(item, delay=delay)
    with pytest.raises(TypeError, match="delay is"):
        jobs.nack(item, delay=None)  # type: ignore[arg-type]
    assert jobs.unfinished_tasks == 1
    jobs.ack(item)
    jobs.join()


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


def test_a_get_that_is_interrupted_before_its_ack_leaves_the_item(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    jobs = make(auto_ack=True)
    jobs.put(1)
    jobs.put(2)
    with monkeypatch.context() as patch:
        patch.setattr(jobs._consumer, "ack", interrupted)
        with pytest.raises(KeyboardInterrupt):
            jobs.get()
        assert (jobs.qsize(), jobs.unfinished_tasks) == (2, 2)
    with monkeypatch.context() as patch:
        # No call of the JVM acks, as Ctrl-C takes effect at its end.
        patch.setattr(jobs._consumer._popper.port, "ack", interrupted)
        assert jobs.get() == 1
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
    join.result(60)


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


def test_ctrl_c_finds_no_moment_between_the_pop_of_a_get_and_its_note(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupting(mmapqueue.Empty):
        def __init__(self, *_text: str) -> None:
            raise KeyboardInterrupt

    jobs = make()
    jobs.put(1)
    with monkeypatch.context() as patch:
        patch.setattr(mmapqueue, "Empty", Interrupting)
        assert jobs.get() == 1


def test_a_get_that_is_interrupted_when_it_lets_the_lock_go_leaves_the_item(make: Make) -> None:
    class Interrupting(threading.Condition):
        def __exit__(self, *error: Any) -> None:
            super().__exit__(*error)
            raise KeyboardInterrupt

    jobs = make()
    jobs.put(1)
    whole, jobs.not_empty = jobs.not_empty, Interrupting(jobs.mutex)
    with pytest.raises(KeyboardInterrupt):
        jobs.get()
    jobs.not_empty = whole
    assert (jobs.qsize(), jobs.unfinished_tasks) == (1, 1)
    assert jobs.get(block=False) == 1
    jobs.task_done()
    jobs.join()
