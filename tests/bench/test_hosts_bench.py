"""The comparison on three hosts: latencies follow from pushes and files, and docs/scale.md from the kept results."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "python" / "benchmarks"))

from hosts_bench.latency import Push, Visible, percentiles
from hosts_bench.report import KEPT, PAGE, filled

SECOND = 10**9


def test_the_latency_of_a_record_is_that_of_its_own_file() -> None:
    pushed = [Push(0, 10, 1 * SECOND), Push(10, 20, 2 * SECOND)]
    visible = [Visible(15, 20, 5000), Visible(0, 15, 3000)]
    # 10 records after 2 s, 5 after 1 s, 5 after 3 s.
    assert percentiles(pushed, visible, (25, 50, 75, 76, 100)) == {
        "p25": 1000.0,
        "p50": 2000.0,
        "p75": 2000.0,
        "p76": 3000.0,
        "p100": 3000.0,
    }


@pytest.mark.parametrize("visible", [[], [Visible(0, 9, 1)], [Visible(1, 10, 1)]], ids=["none", "last", "first"])
def test_a_record_that_is_not_visible_has_no_latency(visible: list[Visible]) -> None:
    with pytest.raises(ValueError, match="did not become visible"):
        percentiles([Push(0, 10, SECOND)], visible)


def test_the_page_has_the_tables_of_the_kept_results() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert filled(page, json.loads(KEPT.read_text(encoding="utf-8"))) == page
