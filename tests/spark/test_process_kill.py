"""A query of `process_stream` that is killed repeatedly loses no record; `make process-kill` has more rounds."""

from pathlib import Path

import pytest

from conftest import LONG

from .process_kills import ROUND, run


@pytest.mark.slow
@pytest.mark.long_form
def test_a_killed_query_gives_each_record_one_final_outcome(tmp_path: Path) -> None:
    kills = 10 if LONG else 2
    result = run(kills, tmp_path, seed=7)
    assert result["records"] == kills * ROUND
    assert result["redeliveries"] > 0
