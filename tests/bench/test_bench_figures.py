"""Figures of the benchmark report, and what is noted of the machine."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "python" / "benchmarks"))

import bench_runs
from bench_report import machine, publish, raw, tables_latency, words
from bench_report import run as runner
from bench_report.figure import Figure
from bench_report.show import aligned


def test_a_ratio_is_taken_in_each_round() -> None:
    upper, lower = Figure({"1": [7], "2": [10], "3": [3]}), Figure({"1": [10], "2": [20], "3": [4]})
    assert upper.over(lower).by_round() == {"1": 0.7, "2": 0.5, "3": 0.75}
    # Of the medians it would be 7 / 10 as well only by chance of the rounds' order.
    assert upper.over(lower).median == 0.7
    assert Figure({"1": [1], "2": [9], "3": [5]}).over(Figure({"1": [1], "2": [3], "3": [10]})).median == 1


def test_a_single_round_is_compared_with_the_median_of_all_rounds() -> None:
    assert Figure({"once": [6]}).over(Figure({"1": [2], "2": [3], "3": [4]})).median == 2


def test_the_figure_is_the_median_of_rounds_and_the_spread_that_of_rounds() -> None:
    figure = Figure({"1": [1, 2, 90], "2": [4, 4, 4], "3": [9, 9, 9]})
    assert (figure.median, figure.spread) == (4, (2, 9))
    assert Figure({"once": [1, 2, 90]}).spread == (1, 90)


def test_a_figure_without_values_raises() -> None:
    with pytest.raises(ValueError, match="a value in each of its rounds"):
        Figure({"1": []})


@pytest.mark.parametrize(
    ("value", "told"),
    [(0.1234, "0.123"), (4.567, "4.57"), (12.34, "12.3"), (456.7, "457"), (4567.8, "4 568"), (0, "0.000")],
)
def test_numbers_have_three_digits(value: float, told: str) -> None:
    assert words.number(value).replace("\u202f", " ") == told


@pytest.mark.parametrize(
    ("count", "told"),
    [(100, "100 B"), (1024, "1 KiB"), (3 << 19, "1.5 MiB"), (20 << 30, "20 GiB"), (3_199_752, "3.05 MiB")],
)
def test_sizes_are_binary(count: int, told: str) -> None:
    assert words.size(count) == told


def test_a_part_is_noted_with_its_load_and_without_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tmp_path / "run"
    made = tmp_path / "made"
    argv = ["run", "jmh", "make bench", str(run), "touch", "--", str(made)]
    monkeypatch.setattr(sys, "argv", argv)
    assert runner.main() == 0
    assert made.exists()
    monkeypatch.setattr(sys, "argv", ["run", "spark", "make bench-spark", str(run), "sh", "-c", "exit 7"])
    assert runner.main() == 7
    notes = json.loads((run / "machine.json").read_text())
    assert set(notes["machine"]) == {"cpu", "cores", "memory_gib", "kernel", "file_system", "jdk", "python"}
    assert set(notes["parts"]["jmh"]) == {"command", "commit", "begin", "end"}
    assert set(notes["parts"]["spark"]) == {"command", "commit", "begin"}
    assert notes["parts"]["jmh"]["begin"]["load"] >= 0
    assert str(tmp_path) not in json.dumps(notes)


def test_the_file_system_is_that_of_the_deepest_mount(tmp_path: Path) -> None:
    below = tmp_path / "a b" / "c"
    below.mkdir(parents=True)
    mounts = f"d / ext4 rw\nd {tmp_path} xfs rw\nd {tmp_path}/a\\040b tmpfs rw 0 0\nd {tmp_path}/a nfs rw\n"
    assert machine.file_system(below, mounts) == "tmpfs"
    assert machine.file_system(tmp_path, mounts) == "xfs"
    assert machine.file_system(Path("/"), mounts) == "ext4"


def _latency(rate: int, p99: Sequence[float], subject: str = "queue") -> raw.Latency:
    below = {"p99": Figure.of([0.5])}
    return raw.Latency(subject, 64 << 20, rate, service=below, response={"p99": Figure.of(p99)})


def test_the_quoted_rate_is_the_highest_with_response_times_within_the_bound() -> None:
    measured = [_latency(10_000, [2.0]), _latency(100_000, [30, 9.9, 4]), _latency(200_000, [10.0])]
    text = tables_latency.bounded(raw.Run(latencies=[*measured, _latency(10_000, [11.0], "chronicle")]))
    rows = [line.replace("\u202f", " ") for line in text.splitlines() if line.startswith("|")]
    assert rows[2:] == ["| mmapqueue, 64 MiB | 100 000 |", "| Chronicle Queue | – |"]
    assert tables_latency.bounded(raw.Run()) == ""


def test_an_empty_run_is_refused_and_nothing_is_removed(tmp_path: Path) -> None:
    kept = tmp_path / "raw"
    publish.publish(bench_runs.write(tmp_path / "run", ["latency"]), kept)
    (tmp_path / "empty").mkdir()
    with pytest.raises(SystemExit, match="no results of benchmarks"):
        publish.publish(tmp_path / "empty", kept)
    assert raw.load(kept).latencies


def test_a_damaged_result_is_named(tmp_path: Path) -> None:
    kept = tmp_path / "raw"
    publish.publish(bench_runs.write(tmp_path / "run", ["jmh"]), kept)
    rows = json.loads((kept / "jmh/once.json").read_text())
    del rows[2]["secondaryMetrics"]["records"]
    (kept / "jmh/once.json").write_text(json.dumps(rows))
    with pytest.raises(SystemExit, match=r"once\.json: result 2: no member 'records'"):
        raw.load(kept)
    (kept / "jmh/once.json").write_text("[{")
    with pytest.raises(SystemExit, match=r"once\.json: not JSON"):
        raw.load(kept)


def test_columns_are_aligned_in_a_terminal() -> None:
    assert aligned("Of 1 KiB:\n\n| a | b |\n| --- | --: |\n| long | 5 |") == "Of 1 KiB:\n\na     b\nlong  5"
