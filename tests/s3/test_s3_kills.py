"""Shippers that are killed at any moment leave each record in the bucket once."""

from pathlib import Path

import pytest
import ship_kills

from conftest import LONG
from s3.store import Store


@pytest.mark.long_form
def test_kills_of_shippers_into_a_bucket(store: Store, archive: str, tmp_path: Path) -> None:
    result = ship_kills.run(
        40 if LONG else 8,
        tmp_path,
        seed=7,
        archive=archive,
        fetch=lambda: store.copy(archive, tmp_path / "copy"),
        await_shipping=lambda: store.await_run(archive),
    )
    print(result)
    assert result["records"]
    assert result["shipped"]
