"""The option onDamage."""

from pathlib import Path

import pytest
from pyspark.errors import IllegalArgumentException
from pyspark.sql import SparkSession

import mmapqueue
from conftest import flip

from .conftest import SMALL, Fill, Load, QueryFailed


@pytest.fixture
def lost(fill: Fill, spark: SparkSession, queue_dir: Path) -> int:
    """The offset of a damaged record among 300."""
    fill([b"%d" % i * 20 for i in range(300)], **SMALL)
    flip(queue_dir / "1_segment.dat", 1000)
    (finding,) = mmapqueue.verify(queue_dir, spark=spark).findings
    return finding.first_lost


def test_damage_is_an_error_unless_skipped(lost: int, load: Load) -> None:
    with pytest.raises(QueryFailed, match=r"1_segment\.dat"):
        load().collect()
    frame = load(onDamage="skip")
    assert [row.offset for row in frame.collect()] == [offset for offset in range(300) if offset != lost]
    # Neither counts nor limits are computed from offsets.
    assert frame.count() == 299
    assert frame.select("offset").where(f"offset = {lost}").count() == 0
    assert len(frame.limit(lost + 1).collect()) == lost + 1
    with pytest.raises(IllegalArgumentException, match="error or skip"):
        load(onDamage="ignore").collect()
