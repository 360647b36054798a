"""The listings of an archive: docs/scale.md and its plot follow from the kept results."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib as mpl
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "python" / "benchmarks"))

from archive_planning import KEPT, PAGE, PLOT, filled, parsed, plot

OUTPUT = """\
runs           open, ms     plan, ms    again, ms     find, ms    refresh, ms
1,000              99.0          9.0          9.0         9.00   9.00 (max 9.9)
1,000              15.7          5.0          1.2         0.11   2.40 (max 25.0)
100                 2.0          1.0          0.5         0.02   0.30 (max 1.5)

read                                    records/s         MB/s
1024 B, none                              500,000          512
"""


def test_the_last_line_of_a_number_of_runs_counts() -> None:
    small, large = parsed(OUTPUT)
    assert (small["runs"], small["open_ms"], small["refresh_max_ms"]) == (100, 2.0, 1.5)
    assert (large["runs"], large["plan_ms"], large["find_ms"], large["refresh_ms"]) == (1000, 5.0, 0.11, 2.4)


def test_an_output_without_figures_is_refused() -> None:
    with pytest.raises(ValueError, match="figures of a plan"):
        parsed("runs open, ms\n")


def test_the_page_and_the_plot_have_the_kept_results(tmp_path: Path) -> None:
    run, page = json.loads(KEPT.read_text(encoding="utf-8")), PAGE.read_text(encoding="utf-8")
    assert filled(page, run) == page
    plot(run, tmp_path / "drawn.svg")
    kept = PLOT.read_text(encoding="utf-8")
    # Another version draws other paths.
    if f"Matplotlib v{mpl.__version__}," in kept:
        assert (tmp_path / "drawn.svg").read_text(encoding="utf-8") == kept
