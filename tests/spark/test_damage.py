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


def test_what_is_computed_from_offsets_counts_tombstones_unless_damage_is_skipped(
    lost: int, load: Load, queue_dir: Path, spark: SparkSession
) -> None:
    repaired = queue_dir.with_name("repaired")
    report = mmapqueue.repair(queue_dir, to=repaired, spark=spark)
    assert [(each.first_lost, each.last_lost) for each in report.lost] == [(lost, lost)]
    frame, exact = load(repaired), load(repaired, onDamage="skip")
    whole = [offset for offset in range(300) if offset != lost]
    for each in (frame, exact):
        assert [row.offset for row in each.select("offset", "value").collect()] == whole
    assert (frame.count(), exact.count()) == (300, 299)
    assert (len(frame.limit(lost + 1).collect()), len(exact.limit(lost + 1).collect())) == (lost, lost + 1)
    assert [row.offset for row in exact.select("offset").collect()] == whole


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
