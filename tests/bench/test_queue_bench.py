"""The benchmark of the Python module, in its shortest form."""

from __future__ import annotations

import json
import sys
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "python" / "benchmarks"))

from queue_bench import __main__ as bench
from queue_bench import redis_server, rounds
from queue_bench.rounds import Measurement
from queue_bench.workload import Popped, Step, Workload, times

SHORT = ["--rounds", "1", "--seconds", "0.001", "--ring", "8", "--segment-size", "64k", "--payloads", "100"]


def run(directory: Path, *more: str) -> Any:
    bench.main([*SHORT, "--directory", str(directory), *more])
    return json.loads((directory / "python.json").read_text())


def test_all_operations_are_measured(tmp_path: Path) -> None:
    found = run(tmp_path, "--only", r"^(mmapqueue|queue\.Queue): ", "--batches", "1,1000")
    singles = ["push", "pop", "round_trip"]
    one_by_one = ["ack_single", "push_handle", "push_handle_sync", "pop_ack"]
    both = ["push_many", "pop_many", "ack_many", "round_trip_many", "consume", "ack"]
    arrow = ["push_arrow", "pop_arrow", "round_trip_arrow"]
    many = [*both, *arrow, "aconsume", "consume_2_workers", "read_many"]
    assert {(row["subject"], row["operation"], row["batch"]) for row in found["results"]} == {
        *(("queue.Queue", operation, 1) for operation in [*singles, "ack"]),
        *(("mmapqueue", operation, 1) for operation in [*singles, *one_by_one, *both, *arrow]),
        *(("mmapqueue", operation, 1000) for operation in many),
    }
    assert len(found["results"]) == 4 + 16 + 12
    for row in found["results"]:
        assert set(row) == {"subject", "operation", "batch", "payload", "per_second", "us_per_call", "null_calls"}
        assert row["payload"] == 100
        assert len(row["per_second"]) == found["rounds"] == 1
        # Both are rounded: a call of some seconds leaves one digit of its rate.
        assert row["per_second"][0] == pytest.approx(row["batch"] * 1e6 / row["us_per_call"], rel=0.05, abs=0.06)
        # Every single call has a figure in null calls, also those of peers.
        assert len(row["null_calls"]) == (row["batch"] == 1 or row["subject"] == "mmapqueue")
    assert list(found["unit_null_call_us"]) == ["mmapqueue"]
    assert found["unit_null_call_us"]["mmapqueue"][0] > 0
    assert set(found["subjects"]) == {"mmapqueue", "queue.Queue"}
    assert found["subjects"]["queue.Queue"]["survives"] == "nothing: memory"
    assert [file.name for file in tmp_path.iterdir()] == ["python.json"]


def test_peers_that_are_not_installed_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(redis_server, "_BINARY", "no-such-server")
    found = run(tmp_path, "--only", r"^queue\.Queue: ")
    assert "there is no no-such-server" in found["missing"]["Redis list"]
    assert "Redis stream: not found (there is no no-such-server" in capsys.readouterr().err
    # No null call was timed.
    assert found["unit_null_call_us"] == {}
    assert all(row["null_calls"] == [] for row in found["results"])


def test_list_prints_the_workloads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
def test_bad_arguments_raise(words: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main(words)
    assert why in capsys.readouterr().err


def test_a_lost_or_changed_record_fails_the_measurement() -> None:
    popped = Popped(b"record")
    workload = Workload([Step("pop", popped.keep(lambda: b"rec0rd"), 1)], popped.check(1, lambda payload: (payload,)))
    with pytest.raises(RuntimeError, match="0 records of 1 popped unchanged"):
        Measurement("", "peer", 6, workload, None, 1 << 20).measure(0.0)


def test_a_cycle_stays_within_the_room(monkeypatch: pytest.MonkeyPatch) -> None:
    # A clock by which each step is short, so that cycles grow.
    ticks = count(step=10_000)
    clock = SimpleNamespace(perf_counter=lambda: next(ticks) / 1e9, perf_counter_ns=lambda: next(ticks))
    monkeypatch.setattr(rounds, "time", clock)
    most: list[int] = []
    workload = Workload([Step("push", times(lambda: None), 10)], most.append)
    Measurement("", "peer", 100, workload, None, 64_000).measure(0.05)
    assert max(most) == 64
