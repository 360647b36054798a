"""No record is lost, or comes again after its ack, when processes of a queue that overflows are killed."""

from pathlib import Path

import overflow_kills
import pytest

from conftest import LONG


@pytest.mark.slow
@pytest.mark.long_form
def test_kills_of_writers_consumers_shippers_and_drivers(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    result = overflow_kills.run(200 if LONG else 8, tmp_path, seed=3)
    assert result["records"]
    assert result["behind"]
