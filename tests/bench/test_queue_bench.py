"""The benchmark of the Python module, in its shortest form."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "python" / "benchmarks"))

from queue_bench import __main__ as bench
from queue_bench import redis_server
from queue_bench.course import Course, Held, Step, times
from queue_bench.rounds import Cell

SHORT = ["--rounds", "1", "--seconds", "0.001", "--ring", "8", "--segment-size", "64k", "--payloads", "100"]


def run(directory: Path, *more: str) -> Any:
    bench.main([*SHORT, "--directory", str(directory), *more])
    return json.loads((directory / "python.json").read_text())


def test_all_operations_are_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run(tmp_path, "--only", r"^(mmapqueue|queue\.Queue): ", "--batches", "1,1000")
    singles = ["push", "pop", "round_trip"]
    both = ["push_many", "pop_many", "ack_many", "round_trip_many", "consume", "ack"]
    many = [*both, "aconsume", "consume_2_workers", "get_many"]
    assert {(row["contender"], row["operation"], row["batch"]) for row in found["results"]} == {
        *(("queue.Queue", operation, 1) for operation in [*singles, "ack"]),
        *(("mmapqueue", operation, 1) for operation in [*singles, "ack_single", *both]),
        *(("mmapqueue", operation, 1000) for operation in many),
    }
    assert len(found["results"]) == 4 + 10 + 9
    for row in found["results"]:
        assert set(row) == {"contender", "operation", "batch", "payload", "per_second", "us_per_call", "null_calls"}
        assert row["payload"] == 100
        assert len(row["per_second"]) == found["rounds"] == 1
        assert row["per_second"][0] * row["us_per_call"] == pytest.approx(row["batch"] * 1e6, rel=0.05)
        # Everything of one call has a figure in null calls, whoever makes it.
        assert len(row["null_calls"]) == (row["batch"] == 1 or row["contender"] == "mmapqueue")
    assert list(found["unit_null_call_us"]) == ["mmapqueue"]
    assert found["unit_null_call_us"]["mmapqueue"][0] > 0
    assert set(found["contenders"]) == {"mmapqueue", "queue.Queue"}
    assert {"cpu", "cores", "python", "java", "load_average"} <= set(found["machine"])
    table = capsys.readouterr().out
    assert "pop_many, 100 B" in table
    assert "after a kill: nothing: memory" in table
    assert [file.name for file in tmp_path.iterdir()] == ["python.json"]


def test_peers_that_are_not_installed_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(redis_server, "_BINARY", "no-such-server")
    found = run(tmp_path, "--only", r"^queue\.Queue: ")
    assert "there is no no-such-server" in found["missing"]["Redis list"]
    assert "Redis stream: not found (there is no no-such-server" in capsys.readouterr().out
    # Nobody has told what a null call takes.
    assert found["unit_null_call_us"] == {}
    assert all(row["null_calls"] == [] for row in found["results"])


def test_the_courses_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench.main([*SHORT, "--directory", str(tmp_path), "--only", "many", "--batches", "10", "--list"])
    assert "mmapqueue: push_many, pop_many, ack_many, batch 10\n" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--rounds", "0"], "0: expected numbers from 1"),
        (["--batches", "1,x"], "--batches"),
        (["--only", "("], "no regular expression"),
    ],
)
def test_bad_arguments_are_refused(words: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main(words)
    assert why in capsys.readouterr().err


def test_what_is_lost_or_changed_is_no_figure() -> None:
    held = Held(b"record")
    course = Course([Step("pop", held.take(lambda: b"rec0rd"), 1)], held.check(1, lambda payload: (payload,)))
    with pytest.raises(RuntimeError, match="0 records came out whole of 1"):
        Cell("", "peer", 6, course, None, 1 << 20).measure(0.0)


def test_a_cycle_holds_no_more_than_there_is_room_for() -> None:
    most: list[int] = []
    course = Course([Step("push", times(lambda: None), 10)], most.append)
    Cell("", "peer", 100, course, None, 64_000).measure(0.05)
    assert max(most) == 64
