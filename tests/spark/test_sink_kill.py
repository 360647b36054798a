"""A pipeline that is killed repeatedly writes each row exactly once; `make spark-kill` has more rounds."""

from pathlib import Path

import pytest

from conftest import LONG

from .kill_loop import HOSTS, ROUND, run


@pytest.mark.slow
@pytest.mark.long_form
def test_a_pipeline_that_is_killed_writes_each_row_once(tmp_path: Path) -> None:
    kills = 3 if LONG else 1
    result = run(kills, directory=tmp_path, seed=7, longest=3.0 if LONG else 1.0)
    assert result["records out, each once"] == kills * ROUND // 2


@pytest.mark.slow
@pytest.mark.long_form
def test_speculative_attempts_of_tasks_write_nothing_twice(tmp_path: Path) -> None:
    kills = 3 if LONG else 1
    result = run(kills, directory=tmp_path, master=HOSTS, seed=7, longest=3.0 if LONG else 1.0)
    assert result["records out, each once"] == kills * ROUND // 2
    assert result["speculative attempts"] > 0
