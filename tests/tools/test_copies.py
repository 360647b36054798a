"""Copy and resize."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import mmapqueue
from conftest import Open, data
from mmapqueue._cli.main import main
from mmapqueue._tools import jobs


def test_a_copy_has_another_ring(closed: Path, records: list[bytes], tmp_path: Path, open_queue: Open) -> None:
    told: list[tuple[int, int]] = []
    report = mmapqueue.copy(
        closed,
        tmp_path / "copy",
        capacity="1m",
        segment_size="64k",
        progress=lambda done, total: told.append((done, total)),
    )
    # Of the two consumers, `other` has acked none.
    assert report == mmapqueue.CopyReport(str(tmp_path / "copy"), 100, 0, 100, 65536, 16, 0)
    assert str(report).startswith(f"{tmp_path / 'copy'}: 100 records, offsets 0 to 99\n")
    assert told[-1][0] == told[-1][1] > 0
    with open_queue(tmp_path / "copy") as copy, open_queue(closed) as queue:
        assert copy.config["segment_size"] == 65536
        assert data(copy.pop_many()) == data(queue.pop_many()) == records[10:]
        assert [m.timestamp for m in copy.read_many(0, 100)] == [m.timestamp for m in queue.read_many(0, 100)]
        assert copy.push(b"next") == 100


def test_a_copy_of_an_empty_queue_has_no_offsets(tmp_path: Path, open_queue: Open) -> None:
    open_queue(tmp_path / "queue", capacity="64k").close()
    with open_queue(tmp_path / "used") as queue:
        queue.push(b"one")
        queue.ack(queue.pop())
        queue.purge()
    assert "  records    0 whole, next offset 0, 0 bytes, " in str(mmapqueue.verify(tmp_path / "queue"))
    for name, first in (("queue", 0), ("used", 1)):
        copied = mmapqueue.copy(tmp_path / name, tmp_path / f"{name}2")
        assert str(copied).startswith(f"{tmp_path / name}2: 0 records, next offset {first}\n")


def test_resize_in_place(closed: Path, records: list[bytes], open_queue: Open) -> None:
    with open_queue(closed) as queue:
        segment_size = queue.config["segment_size"]
        with pytest.raises(mmapqueue.Locked):
            mmapqueue.resize(closed, "64m")
    assert mmapqueue.resize(closed, "64m").capacity_segments == (64 << 20) // segment_size
    assert mmapqueue.resize(str(closed), segment_size="128k").segment_size == 128 << 10
    with open_queue(closed) as queue:
        assert queue.config["capacity"] == 64 << 20
        assert data(queue.pop_many()) == records[10:]
        assert data(queue.consumer("other").pop_many()) == records
    assert mmapqueue.verify(closed).findings == []


def test_a_ring_that_is_too_small(closed: Path, records: list[bytes], open_queue: Open) -> None:
    with pytest.raises(mmapqueue.ConfigError, match=r"capacity = .*at least") as caught:
        mmapqueue.resize(closed, "8k", segment_size="4k")
    assert caught.value.key == "capacity"
    with pytest.raises(mmapqueue.ConfigError, match="capacity"):
        mmapqueue.resize(closed, "large")
    with pytest.raises(mmapqueue.NotFound):
        mmapqueue.resize(closed / "none", "1m")
    with open_queue(closed) as queue:
        assert data(queue.pop_many()) == records[10:]


def test_the_command_line(closed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["copy", str(closed), "--to", str(tmp_path / "copy"), "--capacity", "1m"]) == 0
    assert "100 records, offsets 0 to 99" in capsys.readouterr().out
    assert main(["resize", str(closed), "--capacity", "2m", "--segment-size", "64k"]) == 0
    assert "up to 32 segments of 64K" in capsys.readouterr().out
    for words in (["resize", str(closed)], ["copy", str(closed)], ["resize", str(tmp_path / "none"), "--capacity=1m"]):
        assert main(words) != 0


def test_records_over_more_segments_than_are_open_at_once(open_queue: Open, tmp_path: Path) -> None:
    records = [bytes([number]) * size for number, size in enumerate([100, 3_000_000, 5_000_000, 100, 2_000_000, 7])]
    with open_queue(capacity="32m", segment_size="128k", max_event_size="6m") as queue:
        queue.push_many(records)
    mmapqueue.copy(tmp_path / "queue", tmp_path / "copy", segment_size="256k")
    mmapqueue.resize(tmp_path / "queue", "64m")
    for each in ("queue", "copy"):
        with open_queue(tmp_path / each) as queue:
            assert data(queue) == records


@pytest.mark.parametrize("tool", ["verify", "repair", "copy", "resize"])
def test_an_interrupted_tool_has_ended(
    tool: str, open_queue: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exception in the caller's thread, as Ctrl-C raises it: the JVM stops, and releases the queue."""
    tools: dict[str, Callable[..., object]] = {
        "verify": mmapqueue.verify,
        "repair": partial(mmapqueue.repair, to=tmp_path / "copy"),
        "copy": partial(mmapqueue.copy, target=tmp_path / "copy"),
        "resize": partial(mmapqueue.resize, capacity="256m"),
    }
    with open_queue(capacity="128m", segment_size="1m", max_event_size="1m") as queue:
        queue.push_many([b"x" * (1 << 19)] * 128)
    monkeypatch.setattr(jobs, "_SLICE_MILLIS", 1)
    monkeypatch.setattr(jobs, "_CANCEL_SECONDS", 60)

    def interrupt(*_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tools[tool](tmp_path / "queue", progress=interrupt)
    with open_queue(tmp_path / "queue") as queue:
        assert queue.lag() == 128
