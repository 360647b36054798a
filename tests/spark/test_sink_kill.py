"""A pipeline that is killed again and again writes each row exactly once; `make spark-kill` does it more often."""

from pathlib import Path

from .kill_loop import run


def test_a_pipeline_that_is_killed_writes_each_row_once(tmp_path: Path) -> None:
    result = run(kills=3, directory=tmp_path, seed=7)
    assert result["records out, each once"] == 900
