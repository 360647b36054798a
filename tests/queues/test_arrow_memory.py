"""The memory of batches of Apache Arrow: lent, released, copied; interrupted pops."""

import gc
import subprocess
import sys
from typing import Any

import pyarrow as pa
import pytest
from arrow_batches import KILOBYTES, RECORDS, offsets, values

import mmapqueue
from conftest import Open, Script
from mmapqueue._jvm import shared_buffer, shared_memory
from mmapqueue._jvm.shared_buffer import MAX_LENT


def test_a_batch_stays_valid(open_queue: Open) -> None:
    queue = open_queue()
    queue.push_many(KILOBYTES * 2)
    first = queue.pop_arrow(1000)
    second = queue.pop_arrow(1000)
    queue.ack(second)
    for _ in range(5):
        queue.push_many([b"other" * 200] * 1000)
        queue.ack(queue.pop_arrow())
    assert values(first) == values(second) == KILOBYTES
    queue.close()
    gc.collect()
    assert values(first) == values(second) == KILOBYTES


def test_a_part_of_a_batch_keeps_the_memory(open_queue: Open) -> None:
    queue = open_queue()
    queue.push_many(KILOBYTES)
    part = queue.pop_arrow().slice(500, 3)["value"]
    gc.collect()
    for _ in range(3):
        queue.push_many([b"other" * 200] * 1000)
        queue.ack(queue.pop_arrow())
    assert part.to_pylist() == KILOBYTES[500:503]


def addresses(batch: Any) -> int:
    address: int = batch["value"].buffers()[2].address
    return address


def test_released_memory_is_used_again(open_queue: Open) -> None:
    queue = open_queue(capacity="32m")
    queue.push_many(KILOBYTES * 8)
    held = queue.pop_arrow(1000)
    used = [addresses(held)]
    for _ in range(6):
        used.append(addresses(queue.pop_arrow(1000)))
    assert len(set(used)) == 2
    assert used.count(used[0]) == 1
    assert values(held) == KILOBYTES


def test_when_all_buffers_are_lent_batches_are_copied(open_queue: Open) -> None:
    queue = open_queue(capacity="64m")
    count = MAX_LENT + 6
    queue.push_many(KILOBYTES * count)
    held = [queue.pop_arrow(1000) for _ in range(count)]
    assert all(values(batch) == KILOBYTES for batch in held)
    assert shared_buffer._lent_left == []
    queue.close()
    assert all(values(batch) == KILOBYTES for batch in held)
    del held
    gc.collect()
    assert len(shared_buffer._lent_left) == MAX_LENT


def test_small_batches_are_copied(open_queue: Open) -> None:
    queue = open_queue()
    queue.push_many(KILOBYTES[:100] * 3)
    held = [queue.pop_arrow(100) for _ in range(3)]
    assert all(values(batch) == KILOBYTES[:100] for batch in held)
    assert len(queue._handle.pool._lent) == 0


def test_a_fork_keeps_the_batches_of_the_child(script: Script, tmp_path: Any) -> None:
    out = script.run(
        """
        import os, sys, warnings
        import mmapqueue
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads, from Python 3.12 on
        queue = mmapqueue.Queue(sys.argv[1])
        queue.push_many([b"kept" * 256] * 1000)
        batch = queue.pop_arrow()
        go, went = os.pipe()
        child = os.fork()
        if child == 0:
            os.read(go, 1)
            same = set(batch["value"].to_pylist()) == {b"kept" * 256}
            os.write(1, b"same" if same else b"changed")
            os._exit(0)
        del batch
        for _ in range(3):
            queue.push_many([b"over" * 256] * 1000)
            queue.pop_arrow()
        queue.close()
        os.write(went, b"x")
        os.waitpid(child, 0)
        """,
        tmp_path / "queue",
    )
    assert out == "same"


@pytest.mark.parametrize("shared", [True, False])
def test_memory_with_a_name_and_none_at_all(open_queue: Open, monkeypatch: pytest.MonkeyPatch, shared: bool) -> None:
    monkeypatch.setattr(shared_memory.Allocator, "_map_anonymous" if shared else "_map", lambda *_: None)
    queue = open_queue(lock_timeout=0.0)
    if shared:
        use(queue)
    else:
        with pytest.warns(RuntimeWarning, match="many times slower"):
            use(queue)


def use(queue: mmapqueue.Queue) -> None:
    assert queue.push_arrow(pa.table({"value": RECORDS})) == len(RECORDS)
    assert values(queue.read_arrow()) == RECORDS
    popped: list[bytes] = []
    while (batch := queue.pop_arrow()).num_rows:
        popped += values(batch)
        queue.ack(batch)
    assert popped == RECORDS


def test_an_interrupted_pop_loses_nothing(open_queue: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = open_queue()
    queue.push_many(KILOBYTES)
    from mmapqueue._queue.arrow import reading

    def fail(_chunks: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(reading, "record_batch", fail)
        with pytest.raises(KeyboardInterrupt):
            queue.pop_arrow()
    assert queue.unacked() == 0
    assert queue.pop().data == KILOBYTES[0]
    batch = queue.pop_arrow()
    assert (values(batch), offsets(batch)) == (KILOBYTES[1:], list(range(1, 1000)))


def test_a_pop_that_the_jvm_answered_and_python_did_not_see(open_queue: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = open_queue()
    queue.push_many(KILOBYTES)
    queue.pop_arrow(10)
    buffer = queue._handle.pool.get_lendable()
    assert buffer is not None
    queue._handle.pool.put(buffer)
    pop = buffer.pop

    def lose(*arguments: int) -> int:
        pop(*arguments)
        raise mmapqueue.MmapQueueError("the answer is lost")

    with monkeypatch.context() as patch:
        patch.setattr(buffer, "pop", lose)
        with pytest.raises(mmapqueue.MmapQueueError, match="lost"):
            queue.pop_arrow()
    assert queue.pop().data == KILOBYTES[10]
    assert values(queue.pop_arrow()) == KILOBYTES[11:]


def test_without_pyarrow_the_error_says_what_to_install(tmp_path: Any) -> None:
    code = """
import sys
sys.modules["pyarrow"] = None
import mmapqueue
with mmapqueue.Queue(sys.argv[1]) as queue:
    queue.push(b"x")
    for call in (queue.pop_arrow, queue.read_arrow, queue.iter_arrow, lambda: queue.push_arrow(None)):
        try:
            call()
        except ImportError as error:
            assert "pip install 'mmapqueue[arrow]'" in str(error), error
        else:
            raise AssertionError(call)
    assert queue.pop().data == b"x"
    queue.ack(0)
"""
    subprocess.run([sys.executable, "-c", code, tmp_path / "queue"], check=True, timeout=120)


def test_importing_the_package_imports_no_pyarrow() -> None:
    code = "import sys, mmapqueue; assert 'pyarrow' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
