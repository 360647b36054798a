"""No record is lost and none that a handle has confirmed, under kills at any moment."""

from pathlib import Path

import producer_kills
import pytest

from conftest import LONG


@pytest.mark.long_form
def test_kills_lose_nothing(tmp_path: Path) -> None:
    kills = 300 if LONG else 3
    result = producer_kills.run(kills, tmp_path, seed=11)
    assert (result["lost"], result["missing"]) == (0, 0)
    assert result["done"]
    assert result["handled"]
