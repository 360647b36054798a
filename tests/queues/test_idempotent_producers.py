"""Idempotent producers: retried batches are appended once."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

import mmapqueue
from conftest import SMALL, Open, Script, data, fill, kill_with_children


def test_a_retried_batch_is_appended_once(any_queue: mmapqueue.Queue) -> None:
    assert any_queue.last_sequence("sink") is None
    assert any_queue.push_once("sink", 7, [b"one", bytearray(b"two")]) == 0
    for sync in (False, True):
        assert any_queue.push_once("sink", 7, [b"again"], sync=sync) is None
        assert any_queue.push_once("sink", 3, [b"older"], sync=sync) is None
    assert any_queue.push_once("sink", 9, (item for item in [memoryview(b"three")]), sync=True) == 2
    assert any_queue.push_once("other", 7, [b"four"]) == 3
    assert any_queue.last_sequence("sink") == 9
    assert any_queue.producers() == ["other", "sink"]
    assert data(any_queue.pop_many(100)) == [b"one", b"two", b"three", b"four"]


def test_a_batch_of_nothing_counts_and_takes_nothing_along(small_queue: mmapqueue.Queue) -> None:
    small_queue.push_many([b"x"], atomic=True)
    fill(small_queue)
    end = small_queue.end_offset()
    with pytest.raises(mmapqueue.Full):  # it stays loaded
        small_queue.push_once("sink", 0, [b"y" * 5000] * 2, timeout=0)
    assert small_queue.last_sequence("sink") is None
    assert small_queue.push_once("sink", 0, [], timeout=0) == end
    assert small_queue.last_sequence("sink") == 0
    assert small_queue.push_once("sink", 0, [b"y"], timeout=0) is None
    assert small_queue.end_offset() == end


def test_it_waits_for_room(small_queue: mmapqueue.Queue, in_thread: Callable[..., "Future[Any]"]) -> None:
    end = fill(small_queue)
    waiting = in_thread(lambda: small_queue.push_once("sink", 0, [b"y" * 500] * 4))
    small_queue.pop_many(end)
    small_queue.ack_up_to(end - 1)
    assert waiting.result(60) == end
    assert data(small_queue.pop_many(10)) == [b"y" * 500] * 4


def test_a_batch_larger_than_any_buffer(open_queue: Open) -> None:
    queue = open_queue(capacity="64m")
    records = [b"%05d" % i * 60 for i in range(15_000)]
    assert queue.push_once("sink", 0, records) == 0
    assert queue.push_once("sink", 0, records) is None
    assert data(queue.pop_many(20_000)) == records


def test_it_is_known_after_a_close(open_queue: Open) -> None:
    with open_queue(**SMALL) as queue:
        queue.push_once("sink", 2**63 - 1, [b"one"])
        queue.push_once("other", 0, [b"two"])
        queue.forget_producer("other")
    queue = open_queue()
    assert queue.last_sequence("sink") == 2**63 - 1
    assert queue.producers() == ["sink"]
    assert queue.push_once("other", 0, [b"three"]) == 2


def test_invalid_batches_raise(small_queue: mmapqueue.Queue, open_queue: Open, tmp_path: Any) -> None:
    for sequence in (-1, 2**63):
        with pytest.raises(ValueError, match=f"sequence = {sequence}"):
            small_queue.push_once("sink", sequence, [b"x"])
    with pytest.raises(mmapqueue.ConfigError) as caught:
        small_queue.push_once("a/b", 0, [b"x"])
    assert caught.value.key == "producer"
    with pytest.raises(mmapqueue.ConfigError):
        small_queue.forget_producer("sink")
    with pytest.raises(TypeError):
        small_queue.push_once("sink", 0, ["text"])  # type: ignore[list-item]
    with pytest.raises(mmapqueue.TooLarge):
        small_queue.push_once("sink", 0, [b"x" * 9000])
    with pytest.raises(mmapqueue.ConfigError):
        open_queue(tmp_path / "v1", format_version=1).push_once("sink", 0, [b"x"])
    assert small_queue.end_offset() == 0
    assert small_queue.producers() == []
    assert small_queue.push_once("sink", 0, [b"x"]) == 0
    small_queue.close()
    with pytest.raises(mmapqueue.Closed):
        small_queue.push_once("sink", 1, [b"x"])


def test_a_sink_that_is_killed_and_tries_again_pushes_each_batch_once(script: Script, open_queue: Open) -> None:
    path = script.directory / "queue"
    for attempt in range(3):
        process = script.start(
            """
            import sys
            import mmapqueue
            queue = mmapqueue.Queue(sys.argv[1])
            first = queue.last_sequence("sink") or 0
            for batch in range(first, 1 << 30):
                offset = queue.push_once("sink", batch, [b"%d" % batch] * 3)
                print(batch, offset, flush=True)
            """,
            path,
        )
        assert process.stdout is not None
        for _ in range(40 + 30 * attempt):
            assert process.stdout.readline()
        kill_with_children(process)
    queue = open_queue(path)
    last = queue.last_sequence("sink")
    assert last is not None
    found = data(queue.pop_many(1 << 20))
    assert found == [b"%d" % batch for batch in range(last + 1) for _ in range(3)]
