"""Queries in real-time mode that are killed repeatedly write each row once; `make real-time-kill` has more rounds."""

from pathlib import Path

import pytest

from conftest import LONG

from .real_time_kills import run
from .real_time_pipeline import MASTER
from .test_stream_real_time import needs_real_time


@pytest.mark.slow
@pytest.mark.long_form
@needs_real_time
@pytest.mark.parametrize("master", [MASTER, "local-cluster[1,4,1024]"] if LONG else [MASTER])
def test_rows_are_there_once_and_in_order_after_kills(tmp_path: Path, master: str) -> None:
    kills = 5 if LONG else 2
    result = run(kills, tmp_path, master, seed=7, longest=8.0 if LONG else 2.0)
    assert result["kills"] == kills
    assert result["words out, each once"] > 0
    assert (result["executors killed alone"] > 0) == (master != MASTER)
