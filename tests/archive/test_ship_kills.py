"""No record is lost or stored twice when processes that ship are killed at any moment."""

from pathlib import Path

import pytest
import ship_kills

from conftest import LONG


@pytest.mark.slow
@pytest.mark.long_form
def test_kills_of_shippers(tmp_path: Path) -> None:
    result = ship_kills.run(200 if LONG else 6, tmp_path, seed=5)
    assert result["records"]
    assert result["shipped"]
