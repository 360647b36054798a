"""Negative acknowledgements: delays, attempts, dead letters."""

import time
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
from acking import pushed, seen

import mmapqueue
from conftest import SMALL, Open, data


def test_requeued_records_come_before_new_ones(any_queue: mmapqueue.Queue) -> None:
    messages = pushed(any_queue, 10).pop_many(5)
    any_queue.nack(messages[3])
    any_queue.nack(1)
    any_queue.nack(1)
    assert (any_queue.qsize(), any_queue.unacked()) == (7, 3)
    assert any_queue.peek() == any_queue.peek() == messages[1]._replace(attempts=2)
    assert seen(any_queue.pop_many(3)) == [(1, 2), (3, 2), (5, 1)]
    any_queue.nack(3)
    assert seen([any_queue.pop()]) == [(3, 3)]
    any_queue.ack_up_to(5)
    assert seen(any_queue) == [(6, 1), (7, 1), (8, 1), (9, 1)]


def test_attempts_and_offsets_of_every_record(open_queue: Open, tmp_path: Path) -> None:
    """Each column of a batch, there or not, whatever the others are."""
    for timestamps in (True, False):
        queue = pushed(open_queue(tmp_path / f"{timestamps}", timestamps=timestamps), 3001)
        expected: dict[int, int] = {}
        messages = queue.pop_many(3001)
        assert seen(messages) == [(i, 1) for i in range(3001)]
        for wanted in ({*range(0, 3001, 3)}, {*range(3001)}, {1, 2, 3000}, {2000}):
            for offset in wanted:
                queue.nack(offset)
                expected[offset] = expected.get(offset, 1) + 1
            again = queue.pop_many(4000)
            assert seen(again) == [(offset, expected[offset]) for offset in sorted(wanted)]
            assert data(again) == [b"%d" % offset for offset in sorted(wanted)]
            assert all(message == messages[message.offset]._replace(attempts=message.attempts) for message in again)
        queue.close()


def test_a_requeued_record_can_be_acked(any_queue: mmapqueue.Queue) -> None:
    messages = pushed(any_queue, 4).pop_many()
    for message in messages:
        any_queue.nack(message)
    any_queue.ack_up_to(messages[1])
    any_queue.ack(messages[3])
    assert seen(any_queue) == [(2, 2)]


def test_nack_raises_for_records_that_were_not_popped_or_are_acked(any_queue: mmapqueue.Queue) -> None:
    pushed(any_queue, 10).pop_many(6)
    any_queue.ack_up_to(1)
    any_queue.ack(4)
    for offset in (0, 1, 4, 6, 10, -1):
        with pytest.raises(mmapqueue.OutOfRange) as caught:
            any_queue.nack(offset)
        assert caught.value.requested == offset
    for wrong in ("0", 1.0, None):
        with pytest.raises(TypeError):
            any_queue.nack(wrong)  # type: ignore[arg-type]
    for delay in (-1, -0.001, nan, -inf):
        with pytest.raises(ValueError, match="delay"):
            any_queue.nack(2, delay=delay)
    assert any_queue.pop_many() == any_queue.read_many(6, 4) or any_queue.qsize() == 0
    assert any_queue.unacked() == 7


def test_a_delay_holds_a_record_back(any_queue: mmapqueue.Queue) -> None:
    pushed(any_queue, 3).pop_many()
    given = time.monotonic()
    any_queue.nack(1, delay=0.8)
    any_queue.nack(2, delay=inf)
    assert seen([any_queue.pop(timeout=30)]) == [(1, 2)]
    assert time.monotonic() - given >= 0.798
    assert any_queue.pop_many(timeout=0.1) == []


def test_attempts_outlive_a_close(open_queue: Open) -> None:
    queue = pushed(open_queue(**SMALL), 3)
    queue.nack(queue.pop())
    queue.pop()
    queue.close()
    assert seen(open_queue(**SMALL)) == [(0, 3), (1, 1), (2, 1)]


def test_after_max_attempts_a_record_goes_to_the_dead(open_queue: Open, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    queue = pushed(open_queue(max_attempts=2, dead_letter_dir="dead"), 3)
    assert queue.config["dead_letter_dir"] == str(tmp_path / "dead")
    for attempt in (1, 2):
        message = queue.pop()
        assert (message.offset, message.attempts) == (0, attempt)
        queue.nack(message)
    assert seen(queue) == [(1, 1), (2, 1)]
    assert queue.unacked() == 2
    queue.close()
    assert data(open_queue(tmp_path / "dead")) == [b"0"]
